//! What the first tick of a thread's clock stands for, so that threads of any length are seen as often as
//! their CPU time says.
//!
//! A clock whose first tick comes after a whole period never sees a thread that ends before, and sees the
//! same instant of each program that is started again and again. So the first period of a task clock is drawn
//! by chance. Until it ticks, which is also the time in which the command has not opened it yet, the thread's
//! own CPU timer samples in its place: it runs out at ticks of the kernel's, of which each stands for the time
//! between two.
//!
//! With a first period V drawn evenly from P/2 to 3P/2, the part P/2 < V < x has ticked at time x, and the
//! kernel's ticks stand for the time up to V. Both together are x for each x up to P if the first tick weighs
//! V - P/2, and nearly so for all others.

use core::sync::atomic::Ordering;

use profundo_wire::State;

use crate::records::ThreadRecord;
use crate::sample::{Event, SystemCall};
use crate::shared::Control;
use crate::threads::Slot;
use crate::{clock, sys};

/// A number below `bound`, by chance; 0 if that is 0. The cycle counter goes on in the child of a fork, which so
/// draws other numbers than its parent. `salt` tells apart what is drawn at one instant.
pub fn random_below(bound: u64, salt: u64) -> u64 {
    // The last steps of splitmix64.
    let mut bits = clock::now().wrapping_add(salt.wrapping_mul(0x9E37_79B9_7F4A_7C15));
    bits = (bits ^ (bits >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
    bits = (bits ^ (bits >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
    bits ^= bits >> 31;
    ((u128::from(bits) * u128::from(bound)) >> 64) as u64
}

/// The first period of a thread's task clock.
pub fn first_period(period: u64, tid: u32) -> u64 {
    (period / 2 + random_below(period, u64::from(tid))).max(1)
}

/// When a CPU timer of this period is to run out first, in nanoseconds of CPU time from now on, so that each
/// of the kernel's ticks is hit as often as the others. The next tick comes after `until_tick` if the thread goes
/// on running.
pub fn first_expiry(period: u64, tick: u64, until_tick: u64, salt: u64) -> u64 {
    // At the first tick a timer runs out that was set for any time since the tick before.
    let before = tick.saturating_sub(until_tick);
    random_below(period, salt).saturating_sub(before).max(1)
}

/// What a tick of an agent's thread stands for. False: it is no sample.
pub(crate) fn weigh(
    event: &mut Event,
    slot: &Slot,
    record: &ThreadRecord,
    control: &Control,
) -> bool {
    let tick = u64::from(control.tick.load(Ordering::Relaxed));
    match event.system_call {
        SystemCall::Never => {
            let own = record.period.load(Ordering::Relaxed);
            let is_first = record.has_ticked.swap(1, Ordering::Relaxed) == 0;
            if own != 0 {
                event.weight = match is_first {
                    true => own.saturating_sub(event.weight / 2).max(1),
                    false => own,
                };
            }
        }
        SystemCall::Tell => {
            if record.has_ticked.swap(1, Ordering::Relaxed) == 0 {
                event.weight = event.weight.max(tick);
            }
        }
        SystemCall::Counted => {
            let system_period = control.system_period.load(Ordering::Relaxed);
            let period = control.period.load(Ordering::Relaxed);
            let between = system_period.max(tick);
            weigh_counted(event, slot, record, (between, period));
        }
    }
    event.weight > 0
}

/// The same for a tick of the CPU timer that looks for system time. It stands for the time `whole` between two of
/// them, where nobody else stands for that time yet; and for a period if that is longer, as often as is due.
fn weigh_counted(
    event: &mut Event,
    slot: &Slot,
    record: &ThreadRecord,
    (whole, period): (u64, u64),
) {
    let system = sys::thread_system_time();
    if record.has_ticked.load(Ordering::Relaxed) != 0 {
        let counted = slot.system_time_since(system);
        // What comes after a thread's last tick is not seen, so its first one is a whole one.
        event.weight = match counted > 0 && !slot.note_kernel() {
            true => counted.max(whole),
            false => counted,
        };
        return;
    }
    let (in_kernel, ran) = slot.times_since(system, sys::thread_cpu_time());
    event.weight = whole.max(in_kernel);
    if in_kernel.saturating_mul(2) >= ran {
        slot.note_kernel();
    } else {
        let is_due = random_below(period.max(whole), u64::from(slot.tid())) < whole;
        event.weight = if is_due { whole.max(period) } else { 0 };
        event.state = State::Running;
    }
}

#[cfg(test)]
mod tests {
    use super::{first_expiry, random_below};

    #[test]
    fn numbers_fill_their_range_evenly() {
        let mut counts = [0_u32; 10];
        for salt in 0..20_000 {
            counts[random_below(10, salt) as usize] += 1;
        }
        assert!(
            counts.iter().all(|&it| (1700..2300).contains(&it)),
            "{counts:?}"
        );
        assert_eq!(random_below(0, 1), 0);
    }

    /// How often a timer has run out at a tick of the kernel's in a thread's life, and what that stands for.
    fn seen(life: u64, period: u64, tick: u64) -> f64 {
        const THREADS: u64 = 40_000;
        let mut sum = 0;
        for salt in 0..THREADS {
            let until_tick = 1 + random_below(tick, salt ^ 0xABCD);
            let first = first_expiry(period, tick, until_tick, salt);
            let (mut next, mut at, mut is_first) = (first, until_tick, true);
            while at <= life {
                if next <= at {
                    let ticks = (at - next) / period + 1;
                    next += ticks * period;
                    sum += match std::mem::take(&mut is_first) {
                        true => (ticks * period).max(tick),
                        false => ticks * period,
                    };
                }
                at += tick;
            }
        }
        sum as f64 / THREADS as f64 / life as f64
    }

    #[test]
    fn threads_of_any_length_are_seen_for_as_long_as_they_ran() {
        for (period, tick) in [(1000, 4000), (1000, 1000), (2000, 1000), (10_000, 4000)] {
            for life in [300, 1000, 1700, 4000, 9000, 30_000] {
                let seen = seen(life, period, tick);
                assert!(
                    (0.9..1.1).contains(&seen),
                    "{seen} of {life}, {period} at {tick}"
                );
            }
        }
    }
}
