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
    /// Elapsed time of threads, in nanoseconds: in rows, what is not CPU time, and in queries all
    /// of it.
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

    /// The words in the column `type` of the rows that have this kind. CPU time is a part of
    /// elapsed time, and is written once.
    pub fn words(self) -> &'static [&'static str] {
        match self {
            Self::Cpu => &["cpu"],
            Self::Wall => &["cpu", "wall"],
            Self::Alloc => &["alloc"],
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

/// The powers of two between 1 and 2 that a spread has: 2^(0/16) to 2^(15/16).
///
/// They are written down because the `exp2` of another machine may differ in the last bit.
const STEPS: [f64; 16] = [
    1.0,
    1.044_273_782_427_413_8,
    1.090_507_732_665_257_7,
    1.138_788_634_756_691_6,
    1.189_207_115_002_721,
    1.241_857_812_073_484,
    1.296_839_554_651_009_6,
    1.354_255_546_936_892_7,
    std::f64::consts::SQRT_2,
    1.476_826_145_939_499_3,
    1.542_210_825_407_940_7,
    1.610_490_331_949_254_3,
    1.681_792_830_507_429,
    1.756_252_160_373_299_5,
    1.834_008_086_409_342_4,
    1.915_206_561_397_147_3,
];
/// The spread of rows whose squares are 0.
const NONE: i32 = i32::MIN;
/// The parts of 1 that [`whole_squares`] counts.
const PARTS: f64 = 256.0;
/// The greatest sum of squares of a row, in those parts.
const MOST: u128 = 10_u128.pow(28) - 1;

/// The sum of the squares of the weights of a row's samples. It is `value² / count` where all
/// weights are equal, and that times `2^(spread / 16)` otherwise.
pub fn squares(value: i64, count: i64, spread: i32) -> f64 {
    if spread == NONE {
        return 0.0;
    }
    let even = value as f64 * value as f64 / count.max(1) as f64;
    match spread {
        0 => even,
        spread => even * STEPS[spread.rem_euclid(16) as usize] * doubled(spread.div_euclid(16)),
    }
}

/// Two to the power of a whole number, from the bits of a number with floating point.
fn doubled(times: i32) -> f64 {
    f64::from_bits(((times.clamp(-1022, 1023) + 1023) as u64) << 52)
}

/// The sum of the squares in whole parts, of which 1 has 256. Whole numbers have one sum, in
/// whatever order they are added.
pub fn whole_squares(value: i64, count: i64, spread: i32) -> u128 {
    let parts = (squares(value, count, spread) * PARTS).round();
    match parts < u64::MAX as f64 {
        true => u128::from(parts as u64),
        false => (parts as u128).min(MOST),
    }
}

/// A sum of [`whole_squares`] as a number.
pub(crate) fn squares_of(whole: u128) -> f64 {
    whole as f64 / PARTS
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
    ((sum / even).log2() * STEPS.len() as f64)
        .round()
        .clamp(-1e6, 1e6) as i32
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

    #[test]
    fn whole_squares_are_near_and_have_a_bound() {
        for (step, power) in STEPS.iter().enumerate() {
            assert!(
                (power - (step as f64 / 16.0).exp2()).abs() < 1e-15,
                "{step}"
            );
        }
        for spread in [-400, -33, -16, -1, 0, 1, 15, 16, 17, 31, 160] {
            let wanted = 1e14 / 3.0 * (f64::from(spread) / 16.0).exp2();
            let found = squares_of(whole_squares(10_000_000, 3, spread));
            let off = (found - wanted).abs();
            assert!(
                off <= 1.0 / 512.0 + wanted * 1e-15,
                "{spread}: {found} for {wanted}"
            );
        }
        assert_eq!(whole_squares(3, 2, 0), 4 * 256 + 128);
        assert_eq!(whole_squares(1 << 40, 1, 0), 1 << 88);
        assert_eq!(whole_squares(i64::MAX, 1, 0), MOST);
        assert_eq!(whole_squares(7, 1, i32::MAX), MOST);
        assert_eq!(whole_squares(i64::MIN, i64::MIN, NONE), 0);
    }
}
