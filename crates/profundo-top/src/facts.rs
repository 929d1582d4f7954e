//! The head above a table: the program, its figures, and what is missing from them.

use std::time::{Duration, Instant};

use profundo_analysis::{Cause, Missing, unread};
use profundo_model::Profile;
use profundo_report::text::duration;

use super::answer::{self, with_samples};
use super::picture::{Head, Memory, View, short_command};
use super::processes::Processes;
use super::window::{Part, Span, is_waiting};

/// The interval over which our own CPU time is measured.
const MEASURED: Duration = Duration::from_secs(10);

/// Our own share of a CPU in the last seconds.
pub fn own_share(spent: &mut Vec<(Instant, u64)>) -> f64 {
    let (now, cpu) = (Instant::now(), super::own_cpu());
    spent.push((now, cpu));
    while spent.len() > 2 && now - spent[1].0 >= MEASURED {
        spent.remove(0);
    }
    let (then, before) = spent[0];
    (cpu - before) as f64 / (now - then).as_nanos().max(1) as f64
}

/// The head, as far as samples show it.
pub fn head(profile: &Profile, part: &Part, elapsed: u64) -> Head {
    let length = part.measured() as f64;
    let busy = part.rows.iter().filter(|sample| !is_waiting(sample));
    let weight: u64 = busy.map(|sample| sample.weight.0).sum();
    let first = profile.processes.first();
    // Another program may have replaced it since.
    let mut same = profile.processes.iter().rev();
    let process = same.find(|process| Some(process.pid) == first.map(|first| first.pid));
    let process = process.filter(|_| !profile.meta.is_of_machine);
    Head {
        command: match process {
            Some(process) => short_command(profile.strings.get(process.command)),
            None if profile.meta.is_of_machine => "all processes".to_owned(),
            None => String::new(),
        },
        pid: process.map_or(0, |process| process.pid),
        elapsed,
        cpu: weight as f64 / length,
        rate: part.samples as f64 * 1e9 / length,
        note: profile.meta.notes.last().cloned(),
        ..Head::default()
    }
}

/// Adds the kernel's counts, which are more exact than samples, if they are known for all
/// processes.
pub fn count(head: &mut Head, processes: &Processes, span: Span, part: &Part) {
    let alive = processes.alive().len();
    head.others = alive.saturating_sub(1);
    let Some(sum) = processes.sum(span).filter(|_| alive > 0) else {
        return;
    };
    head.threads = sum.threads;
    head.memory = Some(Memory {
        resident: sum.resident,
        grown: sum.grown,
        peak: (alive == 1).then_some(sum.peak),
    });
    if sum.length > 0 {
        head.cpu = sum.cpu as f64 / sum.length as f64;
        head.counted = Some((head.cpu * part.length as f64) as u64);
    }
}

/// Sentences on CPU time that could not be read, or was lost. At most one of them is there.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Unseen {
    /// The warning, if it is much.
    pub warning: Option<String>,
    /// The figures, if it is little.
    pub figures: Option<String>,
}

/// The CPU time that could not be read, or was lost. The times of lost samples are unknown.
/// `counted` is the kernel's count of that CPU time.
pub fn unseen(profile: &mut Profile, part: &Part, span: Span, counted: Option<u64>) -> Unseen {
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
        return Unseen {
            warning: Some(profundo_report::text::missing(&missing)),
            figures: None,
        };
    }
    let mut parts = Vec::new();
    if missing.sum() > 0 {
        parts.push(not_read(&missing, profile, part));
    }
    if let Some(unsampled) = unsampled(part, period, counted) {
        parts.push(unsampled);
    }
    for (count, what) in [
        (loss.lost(), "lost"),
        (loss.truncated, "deeper than stacks are read"),
    ] {
        match count {
            0 => {}
            1 => parts.push(format!("1 sample {what} since the start")),
            count => parts.push(format!("{count} samples {what} since the start")),
        }
    }
    Unseen {
        warning: None,
        figures: (!parts.is_empty()).then(|| parts.join("; ")),
    }
}

/// CPU time without a sample: threads end before one is due.
fn unsampled(part: &Part, period: u64, counted: Option<u64>) -> Option<String> {
    // The number of samples varies by one, and the kernel counts in hundredths of a second.
    const PERIODS: u64 = 10;
    const PART: u64 = 5;
    let counted = counted.filter(|_| part.busy() > 0)?;
    let sampled: u64 = part.only(false).iter().map(|sample| sample.weight.0).sum();
    let rest = counted.saturating_sub(sampled);
    let is_much = rest > counted / PART && rest > period.saturating_mul(PERIODS);
    is_much.then(|| {
        let [rest, counted] = [rest, counted].map(duration);
        format!("{rest} of {counted} CPU time not sampled")
    })
}

/// The time that could not be read, and why.
fn not_read(missing: &Missing, profile: &mut Profile, part: &Part) -> String {
    let is_few = answer::is_few(part, View::Functions);
    let counted = is_few.then(|| with_samples(profile, part.counted().only(false), unread));
    let (how_much, each): (String, Vec<String>) = match &counted {
        Some(counted) => (
            format!("{} of {} samples", counted.sum(), counted.used),
            counted
                .causes
                .iter()
                .map(|(_, count)| count.to_string())
                .collect(),
        ),
        None => {
            let percent = |part| format!("{:.1} %", missing.share(part) * 100.0);
            (
                format!("{} of the CPU time", percent(missing.sum())),
                missing
                    .causes
                    .iter()
                    .map(|&(_, time)| percent(time))
                    .collect(),
            )
        }
    };
    let causes = counted
        .as_ref()
        .map_or(&missing.causes, |counted| &counted.causes);
    let causes: Vec<String> = match &causes[..] {
        [(cause, _)] => vec![cause.words().to_owned()],
        all => (all.iter().zip(each))
            .map(|((cause, _), much)| format!("{} {much}", cause.words()))
            .collect(),
    };
    format!("{how_much} ({})", causes.join(", "))
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
    fn what_was_not_read_has_its_causes() {
        let mut profile = Profile::from_folded("[broken stack] 1\nmain 1").unwrap();
        let mut part = Part::default();
        let kind = |reason| profundo_model::LocationKind::Reason(reason);
        for (reason, count) in [
            (profundo_model::Reason::PythonUnreadable, 3),
            (profundo_model::Reason::SignalsBlocked, 2),
        ] {
            let location = profile.locations.intern(kind(reason), None);
            part.rows.push(profundo_model::Sample {
                stack: profile.stacks.intern(None, location),
                weight: profundo_model::Nanos(count * 1000),
                ..profundo_model::Sample::default()
            });
            part.counts.push(count);
        }
        let mut not_read = |part: &Part| unseen(&mut profile, part, Span::Last(10), None).figures;
        let text = not_read(&part).unwrap();
        assert_eq!(
            text,
            "5 of 5 samples (Python, not readable 3, signals blocked 2)"
        );
        part.rows.truncate(1);
        let text = not_read(&part).unwrap();
        assert_eq!(text, "3 of 3 samples (Python, not readable)");
    }

    #[test]
    fn time_without_samples_is_reported_where_it_is_much() {
        let part = |samples: u64| Part {
            rows: vec![profundo_model::Sample {
                weight: profundo_model::Nanos(samples * 10_000_000),
                ..profundo_model::Sample::default()
            }],
            counts: vec![samples],
            samples,
            length: 1_000_000_000,
        };
        let of = |samples, counted| unsampled(&part(samples), 10_000_000, counted);
        assert_eq!(of(90, Some(1_000_000_000)), None);
        assert_eq!(of(1, Some(100_000_000)), None, "that is chance");
        assert_eq!(of(1, None), None);
        assert_eq!(of(0, Some(900_000_000)), None, "the table says it");
        let text = of(50, Some(1_000_000_000)).unwrap();
        assert!(
            text.starts_with("500 ms of 1.00 s CPU time not sampled"),
            "{text}"
        );
    }
}
