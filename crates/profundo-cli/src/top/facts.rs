//! What stands above a table, worked out: what the program is and takes, and what is missing of it.

use std::time::{Duration, Instant};

use profundo_analysis::{Cause, Missing, unread};
use profundo_model::Profile;

use super::answer::{self, with_samples};
use super::picture::{Head, Memory, View};
use super::processes::{Processes, alive};
use super::window::{Part, Span, is_waiting};

/// Over how long our own CPU time is measured.
const MEASURED: Duration = Duration::from_secs(10);

/// The share of a CPU that we took in the last seconds.
pub fn own_share(spent: &mut Vec<(Instant, u64)>) -> f64 {
    let (now, cpu) = (Instant::now(), super::own_cpu());
    spent.push((now, cpu));
    while spent.len() > 2 && now - spent[1].0 >= MEASURED {
        spent.remove(0);
    }
    let (then, before) = spent[0];
    (cpu - before) as f64 / (now - then).as_nanos().max(1) as f64
}

/// What samples tell of all that is recorded.
pub fn head(profile: &Profile, part: &Part, elapsed: u64) -> Head {
    let length = part.measured() as f64;
    let busy = part.rows.iter().filter(|sample| !is_waiting(sample));
    let weight: u64 = busy.map(|sample| sample.weight.0).sum();
    let first = profile.processes.first();
    // Another program may have taken its place since.
    let mut same = profile.processes.iter().rev();
    let process = same.find(|it| Some(it.pid) == first.map(|first| first.pid));
    Head {
        command: process.map_or_else(String::new, |process| {
            short_command(profile.strings.get(process.command))
        }),
        pid: process.map_or(0, |process| process.pid),
        others: alive(profile).len().saturating_sub(1),
        elapsed,
        cpu: weight as f64 / length,
        rate: part.samples as f64 * 1e9 / length,
        note: profile.meta.notes.last().cloned(),
        ..Head::default()
    }
}

/// Adds what the kernel has counted, which is surer than what was sampled, unless some were not looked at.
pub fn count(head: &mut Head, profile: &Profile, processes: &Processes, span: Span, part: &Part) {
    let alive = alive(profile);
    let sizes: Vec<_> = (alive.iter())
        .filter_map(|it| processes.sizes(it.pid, span))
        .collect();
    let is_all = sizes.len() == alive.len();
    if sizes.is_empty() || !is_all {
        return;
    }
    head.threads = sizes.iter().map(|it| it.threads).sum();
    let grown: Option<Vec<i64>> = sizes.iter().map(|it| it.grown).collect();
    head.memory = Some(Memory {
        resident: sizes.iter().map(|it| it.resident).sum(),
        grown: grown.map(|grown| grown.iter().sum()),
        peak: (sizes.len() == 1).then(|| sizes[0].peak),
    });
    // Of those that have ended meanwhile only samples tell.
    let have_ended = profile.processes.iter().filter_map(|it| it.ended);
    let began = head.elapsed.saturating_sub(part.length);
    let has_lost_some = have_ended.max().is_some_and(|last| last.0 >= began);
    if !has_lost_some && sizes.iter().all(|it| it.length > 0) {
        head.cpu = (sizes.iter())
            .map(|it| it.cpu as f64 / it.length as f64)
            .sum();
    }
}

/// What is to be said of CPU time that could not be read, or was lost: a warning, if it is much, or else a figure.
/// Nobody knows when samples were lost.
pub fn unseen(profile: &mut Profile, part: &Part, span: Span) -> (Option<String>, Option<String>) {
    let period = profile.meta.period.0;
    let loss = profile.meta.loss;
    let mut missing = with_samples(profile, part.only(false), unread);
    if span == Span::SinceStart {
        let lost = loss.buffer_full.saturating_mul(period);
        missing.used = missing.used.saturating_add(lost);
        missing.causes.push((Cause::BufferFull, lost));
        missing.causes.retain(|&(_, time)| time > 0);
    }
    if missing.is_grave(period) && !answer::is_few(part, View::Functions) {
        return (Some(profundo_report::text::missing(&missing)), None);
    }
    let mut said = Vec::new();
    if missing.sum() > 0 {
        said.push(not_read(&missing, profile, part));
    }
    for (count, what) in [
        (loss.lost(), "lost"),
        (loss.truncated, "deeper than stacks are read"),
    ] {
        match count {
            0 => {}
            1 => said.push(format!("1 sample {what} since the start")),
            count => said.push(format!("{count} samples {what} since the start")),
        }
    }
    (None, (!said.is_empty()).then(|| said.join("; ")))
}

/// How much could not be read, and why.
fn not_read(missing: &Missing, profile: &mut Profile, part: &Part) -> String {
    if !answer::is_few(part, View::Functions) {
        let share = missing.share(missing.sum()) * 100.0;
        let causes: Vec<String> = (missing.causes.iter())
            .map(|&(cause, time)| format!("{} {:.1} %", cause.words(), missing.share(time) * 100.0))
            .collect();
        return format!(
            "{share:.1} % of the CPU time not readable: {}",
            causes.join(", ")
        );
    }
    let counted = with_samples(profile, part.counted().only(false), unread);
    let causes: Vec<String> = (counted.causes.iter())
        .map(|&(cause, count)| format!("{} {count}", cause.words()))
        .collect();
    let (sum, all) = (counted.sum(), counted.used);
    format!("{sum} of {all} samples not readable: {}", causes.join(", "))
}

/// A command line whose program is called by its name alone.
pub fn short_command(command: &str) -> String {
    let end = command.find(' ').unwrap_or(command.len());
    let start = command[..end].rfind('/').map_or(0, |slash| slash + 1);
    command[start..].to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_samples_are_no_billion_of_percent() {
        let sample = profundo_model::Sample {
            weight: profundo_model::Nanos(10_000_000),
            ..profundo_model::Sample::default()
        };
        let part = Part {
            rows: vec![sample],
            counts: vec![1],
            samples: 1,
            length: 1,
        };
        let head = head(&Profile::default(), &part, 1);
        assert!(head.cpu <= 0.1, "{}", head.cpu);
        assert!(head.rate <= 10.0, "{}", head.rate);
    }

    #[test]
    fn a_program_is_called_by_its_name() {
        for (command, short) in [
            (
                "/usr/bin/python3 /home/me/app.py",
                "python3 /home/me/app.py",
            ),
            ("./server", "server"),
            ("sort /tmp/x", "sort /tmp/x"),
            ("", ""),
        ] {
            assert_eq!(short_command(command), short);
        }
    }
}
