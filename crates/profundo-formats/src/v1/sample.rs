//! Samples are most of a file, so each column is written as the difference from a guess, and a
//! chunk begins without memory of the one before.
//!
//! The guesses: the time by the chunk's usual step; the weight by the thread's last one or by the
//! time since the thread's last sample, whichever is nearer in this chunk; the cycle counter by the
//! time, at the chunk's mean frequency; the task by the thread's last one. The rest is noise, which
//! the file has to hold: no value is rounded.

use profundo_model::{Nanos, Sample, TaskId, ThreadId};

use super::code::{GILS, STATES, code_of};
use super::column::{Columns, Payload, put_sv, put_uv, zigzag};
use super::read::{Decoder, index};
use crate::{Damage, Error};

const TIME: u8 = 1;
const WEIGHT: u8 = 2;
const CLOCK: u8 = 3;
const THREAD: u8 = 4;
const TASK: u8 = 5;
const STACK: u8 = 6;
const STATE: u8 = 7;
const GIL: u8 = 8;
const FILE: u8 = 9;
const SPAN: u8 = 10;

/// The weight is guessed from the last weight of the thread.
const BY_WEIGHT: u64 = 0;
/// The weight is guessed from the time since the last sample of the thread.
const BY_ELAPSED: u64 = 1;

/// The last values of each thread in the present chunk.
pub(super) struct LastSeen {
    rows: Vec<Last>,
    chunk: u64,
}

#[derive(Clone, Copy, Default)]
struct Last {
    /// The chunk of these values: those of an older one do not count.
    chunk: u64,
    /// The time and the weight, once there were any.
    time: Option<u64>,
    weight: u64,
    task: u32,
}

impl Last {
    fn guess_weight(&self, by: u64, time: u64) -> u64 {
        match self.time {
            Some(last) if by == BY_ELAPSED => time.wrapping_sub(last),
            _ => self.weight,
        }
    }
}

impl LastSeen {
    pub(super) fn new() -> Self {
        Self {
            rows: Vec::new(),
            chunk: 0,
        }
    }

    fn begin(&mut self, threads: usize) {
        self.chunk += 1;
        self.rows.resize(threads, Last::default());
    }

    /// The thread must be below the number given to [`LastSeen::begin`].
    fn of(&mut self, thread: usize) -> &mut Last {
        let last = &mut self.rows[thread];
        if last.chunk != self.chunk {
            *last = Last {
                chunk: self.chunk,
                ..Last::default()
            };
        }
        last
    }
}

/// A cycle counter as a straight line in time, carried from sample to sample.
struct ClockLine {
    /// Cycles a nanosecond, times 2^32.
    slope: u64,
    time: u64,
    clock: u64,
}

impl ClockLine {
    fn new(slope: u64) -> Self {
        Self {
            slope,
            time: 0,
            clock: 0,
        }
    }

    /// The line through the ends of the batch.
    fn through(samples: &[Sample]) -> Self {
        let slope = match samples {
            [first, .., last] => {
                let cycles = i128::from(last.clock) - i128::from(first.clock);
                let nanos = i128::from(last.time.0) - i128::from(first.time.0);
                (cycles << 32)
                    .checked_div(nanos)
                    .and_then(|slope| u64::try_from(slope).ok())
            }
            _ => None,
        };
        Self::new(slope.unwrap_or(0))
    }

    fn guess(&self, time: u64) -> u64 {
        let nanos = time.wrapping_sub(self.time) as i64;
        let cycles = (i128::from(nanos) * i128::from(self.slope)) >> 32;
        self.clock.wrapping_add(cycles as u64)
    }

    fn seen(&mut self, time: u64, clock: u64) {
        (self.time, self.clock) = (time, clock);
    }
}

/// Encodes samples; the first one has the number `first` in the file, and there are `threads`
/// threads.
pub(super) fn encode(
    samples: &[Sample],
    first: usize,
    threads: usize,
    last_seen: &mut LastSeen,
) -> Result<Payload, Error> {
    let mut payload = Payload::new(first, samples.len());
    payload.column(TIME, |out| {
        let step = usual_step(samples);
        put_uv(out, step);
        let mut previous = 0_u64;
        for sample in samples {
            put_sv(
                out,
                sample.time.0.wrapping_sub(previous).wrapping_sub(step) as i64,
            );
            previous = sample.time.0;
        }
    });
    payload.column(WEIGHT, |out| {
        let by = nearer_weight(samples, threads, last_seen);
        put_uv(out, by);
        weight_residuals(samples, by, threads, last_seen, |residual| {
            put_sv(out, residual)
        });
    });
    payload.column(CLOCK, |out| {
        let mut line = ClockLine::through(samples);
        put_uv(out, line.slope);
        for sample in samples {
            put_sv(
                out,
                sample.clock.wrapping_sub(line.guess(sample.time.0)) as i64,
            );
            line.seen(sample.time.0, sample.clock);
        }
    });
    payload.plain(
        THREAD,
        samples.iter().map(|sample| u64::from(sample.thread.0)),
    );
    payload.column(TASK, |out| {
        last_seen.begin(threads);
        for sample in samples {
            let last = last_seen.of(sample.thread.index());
            put_sv(out, i64::from(sample.task.0) - i64::from(last.task));
            last.task = sample.task.0;
        }
    });
    payload.plain(
        STACK,
        samples.iter().map(|sample| u64::from(sample.stack.0)),
    );
    let states: Vec<u64> = samples
        .iter()
        .map(|sample| code_of(STATES, "state", &sample.state))
        .collect::<Result<_, _>>()?;
    payload.plain(STATE, states.into_iter());
    let gils: Vec<u64> = samples
        .iter()
        .map(|sample| code_of(GILS, "state of the lock", &sample.gil))
        .collect::<Result<_, _>>()?;
    payload.sparse(GIL, gils.into_iter());
    let files = samples.iter().map(|sample| u64::from(sample.file.0));
    payload.sparse(FILE, files);
    let spans = samples.iter().map(|sample| u64::from(sample.span.0));
    payload.sparse(SPAN, spans);
    Ok(payload)
}

/// The median time between two samples.
fn usual_step(samples: &[Sample]) -> u64 {
    let mut steps: Vec<u64> = samples
        .windows(2)
        .filter_map(|pair| pair[1].time.0.checked_sub(pair[0].time.0))
        .collect();
    let middle = steps.len() / 2;
    if steps.is_empty() {
        0
    } else {
        *steps.select_nth_unstable(middle).1
    }
}

/// The guess that leaves fewer bits.
fn nearer_weight(samples: &[Sample], threads: usize, last_seen: &mut LastSeen) -> u64 {
    let mut cost = |by| {
        let mut bits = 0_u64;
        weight_residuals(samples, by, threads, last_seen, |residual| {
            bits += u64::from(u64::BITS - zigzag(residual).leading_zeros());
        });
        bits
    };
    if cost(BY_ELAPSED) < cost(BY_WEIGHT) {
        BY_ELAPSED
    } else {
        BY_WEIGHT
    }
}

fn weight_residuals(
    samples: &[Sample],
    by: u64,
    threads: usize,
    last_seen: &mut LastSeen,
    mut each: impl FnMut(i64),
) {
    last_seen.begin(threads);
    for sample in samples {
        let last = last_seen.of(sample.thread.index());
        each(
            sample
                .weight
                .0
                .wrapping_sub(last.guess_weight(by, sample.time.0)) as i64,
        );
        (last.time, last.weight) = (Some(sample.time.0), sample.weight.0);
    }
}

/// A sample in the file, with the file's own ids and codes.
#[derive(Debug, Clone, Copy)]
pub(super) struct Row {
    pub(super) time: u64,
    pub(super) weight: u64,
    pub(super) clock: u64,
    /// Its thread, a row of the table.
    pub(super) thread: usize,
    pub(super) task: u64,
    pub(super) stack: u64,
    pub(super) state: u64,
    pub(super) gil: u64,
    pub(super) file: u64,
    pub(super) span: u64,
}

/// Calls `visit` with each sample of a chunk, where there are `threads` threads.
#[inline]
pub(super) fn each(
    columns: &Columns,
    threads: usize,
    last_seen: &mut LastSeen,
    mut visit: impl FnMut(Row) -> Result<(), Damage>,
) -> Result<(), Damage> {
    let (mut times, mut weights) = (columns.need(TIME)?, columns.get(WEIGHT));
    let (mut clocks, mut of_thread) = (columns.get(CLOCK), columns.need(THREAD)?);
    let (mut tasks, mut stacks) = (columns.need(TASK)?, columns.need(STACK)?);
    let (mut states, mut gils) = (columns.get(STATE), columns.get(GIL));
    let (mut files, mut spans) = (columns.get(FILE), columns.get(SPAN));
    let step = times.plain()?;
    let by = weights.plain()?;
    if by > BY_ELAPSED {
        return Err(Damage::Column(WEIGHT));
    }
    let mut line = ClockLine::new(clocks.plain()?);
    let mut time = 0_u64;
    last_seen.begin(threads);
    for _ in 0..columns.rows {
        time = time.wrapping_add(step).wrapping_add(times.signed()? as u64);
        let clock = line.guess(time).wrapping_add(clocks.signed()? as u64);
        line.seen(time, clock);
        let thread = index(threads, "threads", of_thread.plain()?)?;
        let last = last_seen.of(thread);
        let weight = last
            .guess_weight(by, time)
            .wrapping_add(weights.signed()? as u64);
        let task = i64::from(last.task).wrapping_add(tasks.signed()?) as u64;
        (last.time, last.weight, last.task) = (Some(time), weight, task as u32);
        visit(Row {
            time,
            weight,
            clock,
            thread,
            task,
            stack: stacks.plain()?,
            state: states.plain()?,
            gil: gils.plain()?,
            file: files.plain()?,
            span: spans.plain()?,
        })?;
    }
    let when = times.finish().and(weights.finish()).and(clocks.finish());
    when.and(of_thread.finish())
        .and(tasks.finish())
        .and(stacks.finish())
        .and(states.finish())
        .and(gils.finish())
        .and(files.finish())
        .and(spans.finish())
}

pub(super) fn decode(decoder: &mut Decoder, columns: &Columns) -> Result<(), Damage> {
    decoder.profile.samples.reserve(columns.rows);
    let mut last_seen = std::mem::replace(&mut decoder.last_seen, LastSeen::new());
    let threads = decoder.profile.threads.len();
    let decoded = each(columns, threads, &mut last_seen, |row| {
        let sample = Sample {
            time: Nanos(row.time),
            weight: Nanos(row.weight),
            clock: row.clock,
            thread: ThreadId::from_index(row.thread),
            task: TaskId::from_index(decoder.task(row.task)?),
            stack: decoder.stack(row.stack)?,
            state: decoder
                .value(STATES, "state", row.state)
                .unwrap_or_default(),
            gil: decoder
                .value(GILS, "state of the lock", row.gil)
                .unwrap_or_default(),
            file: decoder.string(row.file)?,
            span: decoder.span(row.span)?,
        };
        decoder.profile.samples.push(sample);
        Ok(())
    });
    decoder.last_seen = last_seen;
    decoded
}
