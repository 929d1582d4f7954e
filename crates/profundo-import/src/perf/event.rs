//! The events of a file, of which a profile has one: time for clocks, a number for others.

use profundo_model::{Nanos, SampleKind, StackId, State, ThreadId};
use rustc_hash::FxHashMap;

use crate::quantities::value::{self, Unit, Value};
use crate::{Builder, Error, Row};

/// A sample of any event.
#[derive(Debug, Clone, Copy)]
pub(super) struct Sampled {
    /// The event, by its number here.
    pub event: u16,
    /// The number of events, or nanoseconds; `None` where the file does not say it.
    pub period: Option<u64>,
    /// The number of samples that it stands for.
    pub samples: u32,
    /// The time, in nanoseconds.
    pub time: Option<u64>,
    pub stack: StackId,
    pub thread: ThreadId,
    pub state: State,
}

/// The distance of samples, as `perf record` was asked for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Interval {
    /// So many events.
    Period(u64),
    /// So many samples in a second.
    Frequency(u64),
}

/// The samples of a file, and their events.
#[derive(Debug, Default)]
pub(super) struct Events {
    names: Vec<String>,
    ids: FxHashMap<Box<[u8]>, u16>,
    intervals: FxHashMap<String, Interval>,
    counts: Vec<u64>,
    rows: Vec<Sampled>,
    last: (Vec<u8>, u16),
}

impl Events {
    /// The number of an event by its name, which may be empty.
    pub(super) fn id(&mut self, name: &[u8]) -> u16 {
        // Most lines are of the same event.
        if self.last.0 == name && !self.names.is_empty() {
            return self.last.1;
        }
        let id = match self.ids.get(name) {
            Some(&id) => id,
            // The names beyond share one.
            None if self.names.len() >= usize::from(u16::MAX) => u16::MAX - 1,
            None => {
                let id = self.names.len() as u16;
                self.names.push(String::from_utf8_lossy(name).into_owned());
                self.counts.push(0);
                self.ids.insert(name.into(), id);
                id
            }
        };
        self.last = (name.to_vec(), id);
        id
    }

    /// The distance of an event's samples, from the head of the file.
    pub(super) fn set_interval(&mut self, name: &str, interval: Interval) {
        self.intervals.insert(name.to_owned(), interval);
    }

    pub(super) fn push(&mut self, row: Sampled) {
        if let Some(count) = self.counts.get_mut(usize::from(row.event)) {
            *count += u64::from(row.samples);
        }
        self.rows.push(row);
    }

    /// Gives the profile the samples of one event: the wanted one, or that with the most samples.
    /// Returns the time of its first sample.
    pub(super) fn finish(
        self,
        builder: &mut Builder,
        wanted: Option<&str>,
    ) -> Result<Option<u64>, Error> {
        // An event without samples is not offered, but where it is the only one.
        let listed: Vec<usize> = (0..self.names.len())
            .filter(|&at| self.counts[at] > 0)
            .collect();
        let value = |&at: &usize| Value {
            name: match &self.names[at][..] {
                "" => "samples".to_owned(),
                name => name.to_owned(),
            },
            unit: Unit::Count,
        };
        let values: Vec<Value> = listed.iter().map(value).collect();
        let most = (0..listed.len()).max_by_key(|&at| (self.counts[listed[at]], usize::MAX - at));
        let wanted = wanted.map(|wanted| full_name(&values, wanted));
        let chosen = value::choose(&values, wanted, most.unwrap_or(0))?;
        let Some(&event) = listed.get(chosen) else {
            builder.weighs(SampleKind::Events, "");
            return Ok(None);
        };
        self.note_others(builder, &listed, event);
        let rows = || {
            let rows = self.rows.iter();
            rows.filter(|row| usize::from(row.event) == event)
        };
        // Where lines do not name the event, the head may.
        let mut listed = self.intervals.keys();
        let name = match (&self.names[event][..], listed.next(), listed.next()) {
            ("", Some(only), None) => only,
            (name, ..) => name,
        };
        let interval = self.intervals.get(name);
        let name = bare(name);
        let lacks_periods = rows().any(|row| row.period.is_none());
        let interval = interval.or_else(|| self.intervals.get(name)).copied();
        let weight = Weight::of(name, lacks_periods, interval);
        builder.weighs(weight.kind, weight.event);
        if let (SampleKind::Events, Some(Interval::Period(period))) = (weight.kind, interval) {
            builder.profile.meta.period = Nanos(period);
        }
        for row in rows() {
            let state = match (weight.kind, row.state) {
                (SampleKind::Wall, _) => State::WallWaiting,
                (_, state) => state,
            };
            builder.sample(Row {
                stack: row.stack,
                thread: row.thread,
                weight: weight.each.or(row.period).unwrap_or(1),
                samples: u64::from(row.samples),
                time: row.time,
                state,
            });
        }
        Ok(rows().filter_map(|row| row.time).min())
    }

    fn note_others(&self, builder: &mut Builder, listed: &[usize], event: usize) {
        let others = listed.iter().filter(|&&other| other != event);
        let others = others.map(|&other| &self.names[other][..]);
        let others: Vec<&str> = others.collect();
        if let [first, ..] = &others[..] {
            builder.note(format!(
                "these are the samples of {}; the file also has {} (`--value {first}`)",
                self.names[event],
                value::listed(others.iter().copied()),
            ));
        }
    }
}

/// The value that is meant by a name without its modifiers.
fn full_name<'a>(values: &'a [Value], wanted: &'a str) -> &'a str {
    let is_exact = |value: &&Value| value.name.eq_ignore_ascii_case(wanted);
    let is_bare = |value: &&Value| bare(&value.name).eq_ignore_ascii_case(wanted);
    let found = (values.iter().find(is_exact)).or_else(|| values.iter().find(is_bare));
    found.map_or(wanted, |value| &value.name)
}

/// The name of an event without its modifiers: `cycles` of `cycles:ppp`.
pub(super) fn bare(name: &str) -> &str {
    match name.rsplit_once(':') {
        Some((event, modifiers))
            if !event.is_empty()
                && !modifiers.is_empty()
                && modifiers
                    .bytes()
                    .all(|byte| b"ukhIGHpPSDWeb".contains(&byte)) =>
        {
            event
        }
        _ => name,
    }
}

/// The quantity of an event's samples.
struct Weight<'a> {
    kind: SampleKind,
    event: &'a str,
    /// The weight of each sample, where the samples do not have their own.
    each: Option<u64>,
}

impl<'a> Weight<'a> {
    fn of(name: &'a str, lacks_periods: bool, interval: Option<Interval>) -> Self {
        let is_clock = matches!(name, "cpu-clock" | "task-clock");
        let is_waiting = name == "offcpu-time";
        let each = match (lacks_periods, interval) {
            (false, _) => None,
            (true, Some(Interval::Period(period))) => Some(period),
            (true, Some(Interval::Frequency(frequency))) if is_clock && frequency > 0 => {
                Some(1_000_000_000 / frequency)
            }
            // Each one is recorded, unless something else is said.
            (true, _) if is_tracepoint(name) => Some(1),
            (true, _) => {
                return Self {
                    kind: SampleKind::Events,
                    event: "",
                    each: Some(1),
                };
            }
        };
        let kind = match () {
            () if is_clock => SampleKind::Cpu,
            () if is_waiting => SampleKind::Wall,
            () => SampleKind::Events,
        };
        Self {
            kind,
            event: if kind == SampleKind::Events { name } else { "" },
            each,
        }
    }
}

/// Whether it is an instant in a program or in the kernel: `sched:sched_switch`.
fn is_tracepoint(name: &str) -> bool {
    let parts = name.split_once(':');
    parts.is_some_and(|(system, event)| {
        let is_word = |text: &str| {
            let is_letter = |byte: u8| byte.is_ascii_alphanumeric() || b"_-*.@".contains(&byte);
            !text.is_empty() && text.bytes().all(is_letter)
        };
        is_word(system) && is_word(event)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_is_known_without_its_modifiers() {
        assert_eq!(bare("cycles:ppp"), "cycles");
        assert_eq!(bare("cpu-clock:u"), "cpu-clock");
        assert_eq!(bare("sched:sched_switch"), "sched:sched_switch");
        assert_eq!(bare("cpu/event=0x3c/pp"), "cpu/event=0x3c/pp");
        assert!(is_tracepoint("sched:sched_switch") && !is_tracepoint("cycles"));
    }

    #[test]
    fn a_clock_without_periods_has_the_frequency_of_the_head() {
        let weight = Weight::of("task-clock", true, Some(Interval::Frequency(100)));
        assert_eq!(
            (weight.kind, weight.each),
            (SampleKind::Cpu, Some(10_000_000))
        );
        let weight = Weight::of("task-clock", true, None);
        assert_eq!((weight.kind, weight.each), (SampleKind::Events, Some(1)));
        let weight = Weight::of("cycles", false, Some(Interval::Frequency(100)));
        assert_eq!((weight.event, weight.each), ("cycles", None));
    }
}
