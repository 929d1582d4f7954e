//! Text as `perf script` prints it, for `stackcollapse-perf.pl`, inferno, speedscope, the Firefox
//! Profiler and everything else that reads it.
//!
//! ```text
//! comm  pid/tid  seconds:  period event:
//!               address symbol+0xoffset (module)
//!               …, the innermost function first
//!                                                    an empty line behind each sample
//! ```
//!
//! Each sample has its own entry with its weight as its period: nanoseconds of a clock, bytes, or a
//! number of events. Readers that count entries count samples. A Python function is
//! `py::NAME:FILE`, as CPython itself names it for perf. Lines are not in it.

use std::io::{self, Write};

use profundo_model::{LocationId, LocationKind, Profile, Sample, SampleKind};

use super::format::{Holds, Row};
use super::view::{Side, View};
use super::{Counts, Format, Options, Weights, measured, owner};
use crate::Error;

impl Format {
    /// See [`perf_script`](self).
    pub const PERF_SCRIPT: Self = Self(&Row {
        name: "perf-script",
        aliases: &["perf"],
        extensions: &["linux-perf.txt", "perf.txt", "perf"],
        about: "Text as `perf script` prints it",
        file: "text of perf script",
        holds: Holds::Samples,
        has_title: false,
        is_in_order: true,
        has_memory_too: false,
        misfit: |options| {
            if options.processes || options.threads {
                Some(
                    "each sample of perf script has its process and its thread; it needs no option for them",
                )
            } else if options.tasks {
                Some("perf script has no tasks; collapsed and speedscope take --tasks")
            } else if options.kinds {
                Some("perf script has no kinds; collapsed has")
            } else if options.merge.is_some() {
                Some("perf script has functions and addresses; collapsed takes --frames line")
            } else {
                None
            }
        },
        is_start,
        write: |profile, options, mut out| write(profile, options, &mut out),
    });
}

/// Writes the samples, the oldest first.
pub fn write(profile: &Profile, options: &Options, out: &mut impl Write) -> Result<(), Error> {
    let weights = Weights::or_time(options.weights, profile);
    let view = View::new(profile, options);
    let writer = Writer {
        frames: frames(&view),
        names: (profile.threads.iter())
            .map(|(id, row)| {
                let tid = match row.tid {
                    0 => row.number,
                    tid => u64::from(tid),
                };
                let name = command(&owner::thread_name(profile, id));
                format!("{name} {}/{tid}", owner::pid(profile, id))
            })
            .collect(),
        event: event(profile, weights),
        counts: Counts::new(profile),
        weights,
        view,
    };
    writer.write(out).map_err(Error::Write)
}

/// Whether a file begins with an entry.
fn is_start(start: &[u8]) -> bool {
    let text = String::from_utf8_lossy(&start[..start.len().min(4096)]);
    let mut lines = text.lines();
    let (Some(head), Some(frame)) = (lines.next(), lines.next()) else {
        return false;
    };
    let is_head = head.ends_with(": ") && head.contains('/') && !head.starts_with([' ', '\t']);
    let frame = frame.trim_start_matches('\t').trim_start();
    let address = frame.split(' ').next().unwrap_or_default();
    is_head && frame.ends_with(')') && u64::from_str_radix(address, 16).is_ok()
}

/// The name of the counted events. The kernel's own names are of its own clocks.
fn event(profile: &Profile, weights: Weights) -> String {
    let name = match (profile.meta.kind, weights) {
        (SampleKind::Heap(measure), _) => match measured::pprof(measure) {
            Some((name, _)) => name.to_owned(),
            None => format!("{:?}", measure.part).to_lowercase(),
        },
        (SampleKind::Events, _) if !profile.meta.event.is_empty() => {
            profile.meta.event.replace([' ', '\t', '\n'], "-")
        }
        (SampleKind::Cpu, Weights::Time) => "cpu-clock".into(),
        (SampleKind::Wall, Weights::Time) => "wall-clock".into(),
        (SampleKind::Traced, Weights::Time) => "traced-time".into(),
        (SampleKind::Traced, Weights::Samples) => "calls".into(),
        _ => "samples".into(),
    };
    name.trim_matches(':').to_owned()
}

struct Writer<'a> {
    view: View<'a>,
    /// The lines of each spot.
    frames: Vec<String>,
    /// The name and the numbers of each thread.
    names: Vec<String>,
    event: String,
    counts: Counts<'a>,
    weights: Weights,
}

impl Writer<'_> {
    fn write(&self, out: &mut impl Write) -> io::Result<()> {
        let profile = self.view.profile;
        let is_timed = profile.has_times();
        // Where there are no times, samples stand one behind the other.
        let mut sum = 0_u64;
        for (row, sample) in profile.samples.iter().enumerate() {
            let weight = self.weights.of(&self.counts, row, sample);
            let time = match is_timed {
                true => sample.time.0,
                false => sum,
            };
            sum = sum.saturating_add(weight);
            self.sample(sample, time, weight, out)?;
        }
        Ok(())
    }

    fn sample(
        &self,
        sample: &Sample,
        time: u64,
        weight: u64,
        out: &mut impl Write,
    ) -> io::Result<()> {
        writeln!(
            out,
            "{} {}.{:09}: {weight:>10} {}: ",
            self.names[sample.thread.index()],
            time / 1_000_000_000,
            time % 1_000_000_000,
            self.event
        )?;
        for spot in self.view.spots_of(self.view.node(sample.stack)) {
            out.write_all(self.frames[spot as usize].as_bytes())?;
        }
        out.write_all(b"\n")
    }
}

/// The lines of each spot, the innermost inlined function first.
fn frames(view: &View<'_>) -> Vec<String> {
    let profile = view.profile;
    let mut frames = Vec::with_capacity(view.spots.len());
    for (index, points) in (0_u32..).zip(&view.spots) {
        let location = ((index as usize) < profile.locations.len())
            .then(|| profile.locations.get(LocationId(index)));
        let address = match location.map(|location| location.kind) {
            Some(LocationKind::Code(address)) => address.address().0,
            _ => 0,
        };
        let module = location.and_then(|location| location.module);
        let module = module.map_or("", |id| profile.strings.get(profile.modules.get(id).path));
        let mut text = String::new();
        for point in points {
            let function = &view.functions[point.function as usize];
            let (name, module) = match function.side {
                Side::Python => {
                    let path = view.path(function.file);
                    (format!("py::{}:{path}", function.name), "[python]")
                }
                _ => (function.name.to_string(), module),
            };
            let module = match (module, point.inlined) {
                (_, true) => "inlined",
                ("", _) => "[unknown]",
                (module, false) => module,
            };
            // The name of an unknown function is known to readers in this form.
            let name = match &name[..] {
                unknown if unknown.starts_with("[unknown") => "[unknown]".to_owned(),
                _ => symbol(&name),
            };
            text.push_str(&format!("\t{address:16x} {name} ({})\n", symbol(module)));
        }
        frames.push(text);
    }
    frames
}

/// A name of a function or a file without characters that end a line.
fn symbol(name: &str) -> String {
    match name.contains(char::is_control) {
        true => name.replace(char::is_control, " "),
        false => name.to_owned(),
    }
}

/// The name of a thread: readers know its end by the numbers behind it.
fn command(name: &str) -> String {
    let name = symbol(name);
    match name.trim() {
        "" => "unknown".into(),
        name => name.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_entry_is_one_of_perf_script() {
        let mut profile = Profile::from_folded("main;work 1").unwrap();
        profile.samples[0].time.0 = 1_500_000_000;
        let mut out = Vec::new();
        write(&profile, &Options::default(), &mut out).unwrap();
        assert!(Format::PERF_SCRIPT.is_start_of(&out));
        let expected = "main 0/1 1.500000000:    1000000 cpu-clock: \n\
                        \t               0 work ([unknown])\n\
                        \t               0 main ([unknown])\n\n";
        assert_eq!(String::from_utf8(out).unwrap(), expected);
        for other in ["main;work 3\n", "a/b: \nc\n", ""] {
            assert!(!is_start(other.as_bytes()), "{other}");
        }
    }
}
