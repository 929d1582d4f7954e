//! Samples: the time or the bytes of a stack in a thread, in a step of time.

use std::ops::Range;

use profundo_model::{Gil, State};

use super::Table;
use crate::Error;
use crate::file::{Group, Put};
use crate::ids::Id;
use crate::texts::{Text, Texts};

/// Samples of one stack that are alike.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct SampleRow {
    /// The service.
    pub service: Text,
    /// The begin of the step of time, in milliseconds since 1970.
    pub ts: i64,
    /// The measured quantity: see [`Kind`].
    pub kind: Text,
    /// The thread, as a row of the labels.
    pub series: i64,
    /// The stack.
    pub stack: Id,
    /// Nanoseconds or bytes.
    pub value: i64,
    /// The number of samples.
    pub count: i64,
    /// The spread of the samples' weights: see [`squares`].
    pub spread: i32,
    /// The activity of the thread.
    pub state: Text,
    /// The state of the interpreter's lock.
    pub gil: Text,
    /// The path of the innermost span.
    pub span: Text,
}

impl Table for SampleRow {
    const NAME: &'static str = "samples";
    const SCHEMA: &'static str = "message samples {
        REQUIRED BYTE_ARRAY service (STRING);
        REQUIRED INT64 ts (TIMESTAMP(MILLIS,true));
        REQUIRED BYTE_ARRAY type (STRING);
        REQUIRED INT64 series;
        REQUIRED FIXED_LEN_BYTE_ARRAY (16) stack;
        REQUIRED INT64 value;
        REQUIRED INT64 count;
        REQUIRED INT32 spread;
        REQUIRED BYTE_ARRAY state (STRING);
        REQUIRED BYTE_ARRAY gil (STRING);
        REQUIRED BYTE_ARRAY span (STRING);
    }";
    const GROUP: usize = 65_536;
    const SORTED_BY: &'static [i32] = &[0, 1];

    fn write(rows: &[Self], texts: &Texts, put: &mut Put<'_, '_>) -> Result<(), Error> {
        put.texts(texts, rows.iter().map(|row| row.service))?;
        put.longs(rows.iter().map(|row| row.ts))?;
        put.texts(texts, rows.iter().map(|row| row.kind))?;
        put.longs(rows.iter().map(|row| row.series))?;
        put.ids(rows.iter().map(|row| row.stack))?;
        put.longs(rows.iter().map(|row| row.value))?;
        put.longs(rows.iter().map(|row| row.count))?;
        put.ints(rows.iter().map(|row| row.spread))?;
        put.texts(texts, rows.iter().map(|row| row.state))?;
        put.texts(texts, rows.iter().map(|row| row.gil))?;
        put.texts(texts, rows.iter().map(|row| row.span))
    }

    fn read(group: &Group<'_>, rows: Range<usize>, texts: &mut Texts) -> Result<Vec<Self>, Error> {
        let service = group.texts("service", rows.clone(), texts)?;
        let ts = group.longs("ts", rows.clone())?;
        let kind = group.texts("type", rows.clone(), texts)?;
        let series = group.longs("series", rows.clone())?;
        let stack = group.ids("stack", rows.clone())?;
        let value = group.longs("value", rows.clone())?;
        let count = group.longs("count", rows.clone())?;
        let spread = group.ints("spread", rows.clone())?;
        let state = group.texts("state", rows.clone(), texts)?;
        let gil = group.texts("gil", rows.clone(), texts)?;
        let span = group.texts("span", rows.clone(), texts)?;
        let row = |at: usize| Self {
            service: service.get(at),
            ts: ts.get(at),
            kind: kind.get(at),
            series: series.get(at),
            stack: stack[at],
            value: value.get(at),
            count: count.get(at),
            spread: spread.get(at),
            state: state.get(at),
            gil: gil.get(at),
            span: span.get(at),
        };
        Ok((0..rows.len()).map(row).collect())
    }
}

/// The measured quantity of samples.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub enum Kind {
    /// CPU time, in nanoseconds.
    #[default]
    Cpu,
    /// Elapsed time of threads that run or wait, in nanoseconds.
    Wall,
    /// Allocated bytes.
    Alloc,
}

impl Kind {
    /// All kinds.
    pub const ALL: [Self; 3] = [Self::Cpu, Self::Wall, Self::Alloc];

    /// The word in the column `type` and in queries.
    pub fn name(self) -> &'static str {
        match self {
            Self::Cpu => "cpu",
            Self::Wall => "wall",
            Self::Alloc => "alloc",
        }
    }

    /// The kind of this name.
    pub fn of_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|kind| kind.name() == name)
    }
}

/// The states of threads by the word in the column `state`.
const STATES: [(State, &str); 5] = [
    (State::Running, "running"),
    (State::System, "system"),
    (State::Sleeping, "sleeping"),
    (State::WallRunning, "on"),
    (State::WallWaiting, "waiting"),
];

/// The word of a state.
pub(crate) fn state_name(state: State) -> &'static str {
    let known = STATES.iter().find(|(known, _)| *known == state);
    known.map_or("running", |&(_, name)| name)
}

/// The state behind a word. Unknown words mean running threads.
pub(crate) fn state_of(name: &str) -> State {
    let known = STATES.iter().find(|(_, known)| *known == name);
    known.map_or(State::Running, |&(state, _)| state)
}

const GILS: [(Gil, &str); 4] = [
    (Gil::None, ""),
    (Gil::Held, "held"),
    (Gil::Waiting, "waiting"),
    (Gil::Released, "released"),
];

/// The word of the lock's state.
pub(crate) fn gil_name(gil: Gil) -> &'static str {
    let known = GILS.iter().find(|(known, _)| *known == gil);
    known.map_or("", |&(_, name)| name)
}

/// The lock's state of a word.
pub(crate) fn gil_of(name: &str) -> Gil {
    let known = GILS.iter().find(|(_, known)| *known == name);
    known.map_or(Gil::None, |&(gil, _)| gil)
}

/// The steps of a doubling of the spread.
const STEPS: f64 = 16.0;
/// The spread of rows whose squares are 0.
const NONE: i32 = i32::MIN;

/// The sum of the squares of the weights of a row's samples. It is `value² / count` where all
/// weights are equal, and that times `2^(spread / 16)` otherwise.
pub fn squares(value: i64, count: i64, spread: i32) -> f64 {
    if spread == NONE {
        return 0.0;
    }
    let even = value as f64 * value as f64 / count.max(1) as f64;
    match spread {
        0 => even,
        spread => even * (f64::from(spread) / STEPS).exp2(),
    }
}

/// The spread that gives this sum of squares, within 2.2 %.
pub fn spread(value: i64, count: i64, sum: f64) -> i32 {
    let even = squares(value, count, 0);
    if even <= 0.0 {
        return 0;
    }
    if sum <= 0.0 {
        return NONE;
    }
    ((sum / even).log2() * STEPS).round().clamp(-1e6, 1e6) as i32
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn squares_come_back() {
        for (weights, within) in [
            (&[10_309_278_i64; 5][..], 1e-12),
            (&[10_309_278], 1e-12),
            (&[1, 2, 3], 0.022),
            (&[1, 1_000_000_000], 0.022),
        ] {
            let value: i64 = weights.iter().sum();
            let count = weights.len() as i64;
            let sum: f64 = weights.iter().map(|&one| (one as f64).powi(2)).sum();
            let found = squares(value, count, spread(value, count, sum));
            assert!(
                (found / sum - 1.0).abs() <= within,
                "{weights:?}: {found} for {sum}"
            );
        }
        // Waits that are measured count less than their number, down to nothing.
        assert_eq!(squares(7, 1, spread(7, 1, 0.0)), 0.0);
        assert!(squares(100, 1, spread(100, 1, 50.0)) < 52.0);
        assert_eq!(spread(0, 0, 0.0), 0);
    }
}
