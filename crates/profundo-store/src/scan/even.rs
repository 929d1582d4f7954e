//! The samples of a step of time, evenly over the step.
//!
//! A store keeps the sum of each stack in a step, and no order of the samples in it. A picture over
//! time wants places. So the time of each stack is cut into pieces, the pieces of all stacks of a
//! thread take turns, and they stand beside each other with the idle time between them. There are
//! as many pieces as samples, unless there are millions:
//!
//! ```text
//! sums of a step   aaaa bb          (the step is half idle)
//! pieces           |a  b  a  a  b  a  |
//! ```
//!
//! So no moment has more time than the thread had. The threads of a host that the query does not
//! tell apart have as many such lanes as their time takes.

use profundo_model::{Nanos, Taken};

use super::sums::{Key, Sum, Sums};
use crate::Query;
use crate::names::HOUR;
use crate::query::By;

/// The number of samples above which some are put together. One takes 32 bytes.
const MANY: u64 = 4 << 20;
/// The usual length of a step, in milliseconds, where nothing says another one.
const USUAL: i64 = 10_000;
/// The golden ratio as a part of 2^32: its multiples are well apart.
const GOLDEN: u32 = 0x9E37_79B9;
const NANOS: u64 = 1_000_000;

/// The samples of all sums, in the order of time. Their times are since `start`, which is in
/// milliseconds since 1970.
pub(super) fn spread(query: &Query, sums: &Sums, start: i64) -> Vec<Taken> {
    let rows = &sums.rows;
    let most = most(rows.iter().map(|(_, sum)| sum.count));
    let steps = Steps::new(sums);
    let mut order: Vec<usize> = (0..rows.len()).collect();
    let run = |row: usize| (rows[row].0.group, rows[row].0.step);
    order.sort_by_key(|&row| run(row));
    let mut taken = Vec::new();
    for together in order.chunk_by(|&one, &other| run(one) == run(other)) {
        let time = stretch(query, &steps, rows, together);
        let begin = time.0.saturating_sub(start).max(0).cast_unsigned() * NANOS;
        let length = (time.1 - time.0).max(0).cast_unsigned() * NANOS;
        place(rows, together, most, (begin, length), &mut taken);
    }
    taken.sort_by_key(|piece| (piece.time, piece.row));
    taken
}

/// The most pieces of a sum, so that there are not too many of all.
fn most(counts: impl Iterator<Item = u64> + Clone) -> u64 {
    let pieces = |most: u64| counts.clone().map(|count| count.min(most)).sum::<u64>();
    let mut most = u64::from(u32::MAX);
    while most > 1 && pieces(most) > MANY {
        most /= 2;
    }
    most
}

/// The time of the sums of a group in a step of the query: whole steps of the store.
fn stretch(query: &Query, steps: &Steps, rows: &[(Key, Sum)], together: &[usize]) -> (i64, i64) {
    let (mut from, mut to, mut time) = (i64::MAX, i64::MIN, 0_u64);
    for &row in together {
        let sum = &rows[row].1;
        (from, to) = (from.min(sum.first), to.max(sum.last));
        time = time.saturating_add(sum.value);
    }
    let step = steps.of(rows[together[0]].0.group);
    let mut length = to.saturating_sub(from).saturating_add(step);
    if query.by == By::Thread {
        // Writers with steps of several lengths: a thread has no more time than there was.
        let needed = i64::try_from(time / NANOS).unwrap_or(HOUR).min(HOUR);
        while length < needed - step / 10 {
            length += step;
        }
    }
    (from, from.saturating_add(length))
}

/// Adds the pieces of the sums of a group in a stretch of time: its begin and its length.
fn place(
    rows: &[(Key, Sum)],
    together: &[usize],
    most: u64,
    (begin, length): (u64, u64),
    taken: &mut Vec<Taken>,
) {
    let mut pieces: Vec<(u64, usize, u64)> = Vec::new();
    let mut phase = 0_u32;
    for &row in together {
        let sum = &rows[row].1;
        let count = sum.count.clamp(1, most);
        phase = phase.wrapping_add(GOLDEN);
        for piece in 0..count {
            let turn = ((piece << 32) + u64::from(phase)) / count;
            let weight = sum.value / count + u64::from(piece < sum.value % count);
            pieces.push((turn, row, weight));
        }
    }
    pieces.sort_unstable();
    let all: u64 = (together.iter()).fold(0, |all, &row| all.saturating_add(rows[row].1.value));
    // What is more than one thread can do runs in as few lanes as can be, all equally busy.
    let length = length.max(1);
    let lane = all.div_ceil(all.div_ceil(length).max(1)).max(1);
    let idle = length.saturating_sub(lane);
    // Threads with few samples have them at different places.
    let group = rows[together[0]].0.group;
    let shift = group.wrapping_add(1).wrapping_mul(GOLDEN);
    let mut at = 0_u64;
    for (_, row, mut left) in pieces {
        while left > 0 {
            let in_lane = at % lane;
            let weight = left.min(lane - in_lane);
            // Each piece has its part of the idle time around it.
            let part = |of: u64| u128::from(idle) * u128::from(of) / u128::from(lane);
            let waited = part(in_lane) + ((part(weight) * u128::from(shift)) >> 32);
            let end = u64::try_from(waited).unwrap_or(idle) + in_lane + weight;
            taken.push(Taken {
                row: row as u32,
                time: Nanos(begin.saturating_add(end)),
                weight: Nanos(weight),
            });
            (at, left) = (at.saturating_add(weight), left - weight);
        }
    }
}

/// The length of a store's steps, which it does not say: all times are whole multiples of it.
struct Steps(Vec<i64>);

impl Steps {
    fn new(sums: &Sums) -> Self {
        let mut of_group = vec![0; sums.groups.len()];
        for (key, sum) in &sums.rows {
            let known = &mut of_group[key.group as usize];
            *known = common(common(*known, sum.first), sum.last);
        }
        for (group, known) in sums.groups.iter().zip(&mut of_group) {
            // A writer that sends what others have measured has another host than those.
            let segments = || {
                sums.segments
                    .iter()
                    .filter(|row| row.service == group.service)
            };
            let is_own = segments().any(|row| row.host == group.host);
            for row in segments().filter(|row| !is_own || row.host == group.host) {
                *known = common(common(*known, row.starts), row.ends);
            }
            *known = match *known {
                0 => USUAL,
                known => known.clamp(1, HOUR),
            };
        }
        Self(of_group)
    }

    fn of(&self, group: u32) -> i64 {
        self.0.get(group as usize).copied().unwrap_or(USUAL)
    }
}

/// The greatest common divisor.
fn common(mut one: i64, mut other: i64) -> i64 {
    while other != 0 {
        (one, other) = (other, one % other);
    }
    one.saturating_abs()
}
