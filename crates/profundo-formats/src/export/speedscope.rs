//! The JSON of <https://www.speedscope.app>: one `sampled` profile a thread, in the order of time.
//!
//! ```text
//! { "shared": { "frames": [{ "name", "file", "line" }…] },
//!   "profiles": [{ "type": "sampled", "name": thread, "unit": "nanoseconds",
//!                  "samples": [[frame, …root first], …], "weights": [n, …] }…] }
//! ```
//!
//! Frames are lines of functions by default. Samples in a row with one stack are one
//! entry. If that is still too much for a page, the entries within a short time are added up by
//! stack, and within a longer one, until they are few enough: the order in that time is lost, no
//! weight is.

use std::io::{self, Write};

use profundo_model::{Kind, Kinds, Profile, ThreadId};
use rustc_hash::FxHashMap;

use super::Format;
use super::calls::{Callee, Calls, Manner};
use super::format::{Holds, Row, has};
use super::view::View;
use super::{Counts, Merge, Options, Weights, add, json, measured, owner};
use crate::Error;

/// The most frame numbers in all entries: about 50 MB of text, which a page reads in seconds.
const MOST_NUMBERS: u64 = 8_000_000;

impl Format {
    /// See [`speedscope`](self).
    pub const SPEEDSCOPE: Self = Self(&Row {
        name: "speedscope",
        aliases: &[],
        extensions: &["speedscope.json", "json", "speedscope"],
        about: "JSON for speedscope.app",
        file: "speedscope file",
        holds: Holds::Samples,
        has_title: true,
        is_in_order: true,
        has_memory_too: false,
        misfit: |options| {
            (options.processes || options.threads).then_some(
                "speedscope shows each thread by itself; it needs no --threads or --processes",
            )
        },
        is_start: |start| {
            start.starts_with(b"{") && has(start, b"speedscope.app/file-format-schema.json")
        },
        write: |profile, options, mut out| write(profile, options, &mut out),
    });
}

/// Writes the profile. Its time has no gaps: unsampled time of a thread is an empty stack.
pub fn write(profile: &Profile, options: &Options, out: &mut impl Write) -> Result<(), Error> {
    bounded(profile, options, MOST_NUMBERS, out)
}

fn bounded(
    profile: &Profile,
    options: &Options,
    most_numbers: u64,
    out: &mut impl Write,
) -> Result<(), Error> {
    let view = View::new(profile, options);
    let weights = Weights::or_time(options.weights, profile);
    let options = Options {
        merge: Some(options.merge.unwrap_or(Merge::Line)),
        ..options.clone()
    };
    let manner = Manner::new(&options, weights, options.kinds);
    let mut runs = Runs::new(&view, manner);
    runs.bound(most_numbers);
    runs.write(&view, &options, weights, out)
        .map_err(Error::Write)
}

/// An entry: its start, the call at its leaf, and its weight.
type Run = (u64, u32, u64);

struct Runs {
    calls: Calls,
    depths: Vec<u32>,
    /// The entries of each thread that has any.
    threads: Vec<(ThreadId, Vec<Run>)>,
}

impl Runs {
    fn new(view: &View<'_>, manner: Manner) -> Self {
        let profile = view.profile;
        let kinds = Kinds::of(profile);
        let mut calls = Calls::new(view, &kinds, manner);
        let mut runs: Vec<Vec<Run>> = vec![Vec::new(); profile.threads.len()];
        let counts = Counts::new(profile);
        for (row, sample) in profile.samples.iter().enumerate() {
            let is_system = manner.system && kinds.kind(sample) == Kind::System;
            let call = calls.of_sample(view, sample, is_system);
            let weight = manner.weights.of(&counts, row, sample);
            let runs = &mut runs[sample.thread.index()];
            match runs.last_mut() {
                Some((_, last, sum)) if *last == call => add(sum, weight),
                _ => runs.push((sample.time.0, call, weight)),
            }
        }
        let mut depths: Vec<u32> = Vec::with_capacity(calls.calls.len());
        for call in &calls.calls {
            let above = call.parent.map_or(0, |parent| depths[parent as usize]);
            depths.push(above + 1);
        }
        let threads = (0..).map(ThreadId).zip(runs);
        Self {
            calls,
            depths,
            threads: threads.filter(|(_, runs)| !runs.is_empty()).collect(),
        }
    }

    fn numbers(&self) -> u64 {
        let depth = |&(_, call, _): &Run| u64::from(self.depths[call as usize]);
        let runs = self.threads.iter().flat_map(|(_, runs)| runs);
        runs.map(depth).sum()
    }

    /// Adds up entries by stack within windows of time, which grow until the entries are few
    /// enough.
    fn bound(&mut self, most: u64) {
        // One millisecond; in the end, one window holds everything.
        let mut window = 1 << 20;
        while self.numbers() > most && window < 1 << 62 {
            for (_, runs) in &mut self.threads {
                *runs = within(window, runs);
            }
            window <<= 1;
        }
    }

    fn write(
        &self,
        view: &View<'_>,
        options: &Options,
        weights: Weights,
        out: &mut impl Write,
    ) -> io::Result<()> {
        let profile = view.profile;
        let title = match &options.title {
            Some(title) => title.clone(),
            None => owner::title(profile),
        };
        write!(
            out,
            r#"{{"$schema":"https://www.speedscope.app/file-format-schema.json","exporter":"profundo {}","name":"#,
            env!("CARGO_PKG_VERSION")
        )?;
        json::string(out, &title)?;
        let sum = |runs: &[Run]| {
            runs.iter()
                .fold(0, |sum: u64, run| sum.saturating_add(run.2))
        };
        let heaviest = (self.threads.iter().enumerate())
            .max_by_key(|(index, (_, runs))| (sum(runs), std::cmp::Reverse(*index)));
        let heaviest = heaviest.map_or(0, |(index, _)| index);
        write!(
            out,
            r#","activeProfileIndex":{heaviest},"shared":{{"frames":["#
        )?;
        let numbers = self.frames(view, out)?;
        out.write_all(b"]},\"profiles\":[")?;
        let unit = match weights {
            Weights::Samples => "none",
            Weights::Time => match measured::of(profile) {
                Some(measure) if measure.counts => "none",
                Some(_) => "bytes",
                None => "nanoseconds",
            },
        };
        if self.threads.is_empty() {
            // A file without a profile is refused.
            self.profile(&title, unit, &[], &numbers, out)?;
        }
        for (index, (thread, runs)) in self.threads.iter().enumerate() {
            if index > 0 {
                out.write_all(b",")?;
            }
            let mut name = owner::thread(profile, *thread);
            if profile.processes.len() > 1 {
                name = format!("{}, {name}", owner::process(profile, *thread));
            }
            self.profile(&name, unit, runs, &numbers, out)?;
        }
        out.write_all(b"]}\n")
    }

    /// Writes the used frames, and returns the number of each call's frame.
    fn frames(&self, view: &View<'_>, out: &mut impl Write) -> io::Result<Vec<u32>> {
        let mut numbers: FxHashMap<Callee, u32> = FxHashMap::default();
        let mut of_call = Vec::with_capacity(self.calls.calls.len());
        for call in &self.calls.calls {
            let next = numbers.len() as u32;
            let number = *numbers.entry(call.callee).or_insert(next);
            of_call.push(number);
            if number < next {
                continue;
            }
            out.write_all(if number > 0 {
                b",{\"name\":"
            } else {
                b"{\"name\":"
            })?;
            match call.callee {
                Callee::Owner(owner) => json::string(out, &self.calls.owners[owner as usize])?,
                Callee::System => json::string(out, "[system]")?,
                Callee::Function { function, line } => {
                    let function = &view.functions[function as usize];
                    json::string(out, &function.name)?;
                    let path = view.path(function.file);
                    if !path.is_empty() {
                        out.write_all(b",\"file\":")?;
                        json::string(out, path)?;
                    }
                    if line > 0 {
                        write!(out, ",\"line\":{line}")?;
                    }
                }
            }
            out.write_all(b"}")?;
        }
        Ok(of_call)
    }

    fn profile(
        &self,
        name: &str,
        unit: &str,
        runs: &[Run],
        numbers: &[u32],
        out: &mut impl Write,
    ) -> io::Result<()> {
        out.write_all(b"{\"type\":\"sampled\",\"name\":")?;
        json::string(out, name)?;
        let end = runs
            .iter()
            .fold(0, |end: u64, run| end.saturating_add(run.2));
        write!(
            out,
            r#","unit":"{unit}","startValue":0,"endValue":{end},"samples":["#
        )?;
        let mut stack = Vec::new();
        for (index, &(_, call, _)) in runs.iter().enumerate() {
            stack.clear();
            let mut next = Some(call);
            while let Some(call) = next {
                stack.push(numbers[call as usize]);
                next = self.calls.calls[call as usize].parent;
            }
            out.write_all(if index > 0 { b",[" } else { b"[" })?;
            for (index, number) in stack.iter().rev().enumerate() {
                if index > 0 {
                    out.write_all(b",")?;
                }
                write!(out, "{number}")?;
            }
            out.write_all(b"]")?;
        }
        out.write_all(b"],\"weights\":[")?;
        for (index, (_, _, weight)) in runs.iter().enumerate() {
            if index > 0 {
                out.write_all(b",")?;
            }
            write!(out, "{weight}")?;
        }
        out.write_all(b"]}")
    }
}

/// The runs with those of one stack added up within each window of time, in the order of the
/// stacks' first appearance.
fn within(window: u64, runs: &[Run]) -> Vec<Run> {
    let mut sums: Vec<Run> = Vec::new();
    let mut rows: FxHashMap<u32, usize> = FxHashMap::default();
    let mut current = None;
    for &(time, call, weight) in runs {
        if current != Some(time / window) {
            current = Some(time / window);
            rows.clear();
            // A stack that continues in the next window stays one entry.
            if let Some(&(_, last, _)) = sums.last() {
                rows.insert(last, sums.len() - 1);
            }
        }
        let row = *rows.entry(call).or_insert(sums.len());
        if row == sums.len() {
            sums.push((time, call, 0));
        }
        add(&mut sums[row].2, weight);
    }
    sums
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_huge_profile_is_bounded_and_keeps_its_weight() {
        let text: String = (0..20_000)
            .map(|turn| format!("main;f{};leaf 1\n", turn % 37))
            .collect();
        let profile = Profile::from_folded(&text).unwrap();
        let written = |most| {
            let mut out = Vec::new();
            bounded(&profile, &Options::default(), most, &mut out).unwrap();
            String::from_utf8(out).unwrap()
        };
        let (whole, cut) = (written(u64::MAX), written(1_000));
        assert!(
            cut.len() * 20 < whole.len(),
            "{} {}",
            cut.len(),
            whole.len()
        );
        let end = "\"endValue\":20000000000,";
        assert!(whole.contains(end) && cut.contains(end));
        let weights = cut.split("\"weights\":[").nth(1).unwrap();
        let weights = weights.split(']').next().unwrap().split(',');
        let sum: u64 = weights.map(|weight| weight.parse::<u64>().unwrap()).sum();
        assert_eq!(sum, 20_000_000_000);
    }
}
