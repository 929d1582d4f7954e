//! The choice of the clock that samples a thread.
//!
//! | pace | clock | it costs | it gives |
//! |---|---|---|---|
//! | [`TICKS`] | the thread's own CPU timer, which runs out at ticks of the kernel's | nothing at a switch of threads | a sample at each tick |
//! | [`CLOCK`] | a task clock, which the command opens | some microseconds at each switch | a sample each period, between the ticks too |
//!
//! At a switch between two threads with task clocks the kernel stops one timer of the machine's and
//! starts another. In a virtual machine each is an exit to the host, so a switch takes several
//! times as long as without clocks. A thread begins at the pace of ticks. It asks for a clock when
//! it has run for a while and was seldom switched, and gives the clock back when it is switched
//! often.

/// The thread's own CPU timer samples it.
pub const TICKS: u32 = 0;
/// A task clock samples it.
pub const CLOCK: u32 = 1;

/// A thread that is switched less often than this per second of CPU time gets a clock.
const SELDOM: u64 = 800;
/// A thread that is switched more often than this gives its clock back. The two differ, so that a
/// thread near the limit does not change its clock all the time.
const OFTEN: u64 = 1200;
/// The time that a thread runs before it is judged: a number of the kernel's ticks, or of
/// nanoseconds if that is longer and it has a clock.
const LOOK: u64 = 2;
const LATER_LOOK: u64 = 20_000_000;

/// The run of a thread since its pace was last judged.
#[derive(Debug, Clone, Copy)]
pub struct Stretch {
    /// Its CPU time in nanoseconds.
    pub ran: u64,
    /// The number of its switches.
    pub switches: u64,
}

/// The pace for a thread that has run like that. `None`: it has not run long enough.
pub fn judge(pace: u32, stretch: Stretch, tick: u64) -> Option<u32> {
    let Stretch { ran, switches } = stretch;
    let least = match pace {
        CLOCK => LATER_LOOK.max(LOOK * tick),
        _ => LOOK * tick,
    };
    if ran < least {
        return None;
    }
    let limit = if pace == CLOCK { OFTEN } else { SELDOM };
    let allowed = u128::from(ran) * u128::from(limit) / 1_000_000_000;
    Some(match u128::from(switches) <= allowed {
        true => CLOCK,
        false => TICKS,
    })
}

/// Whether a thread with so many switches in so much CPU time is off its CPU most of the time, so
/// that ticks hit it at random.
pub fn is_switched_often(ran: u64, switches: u64, tick: u64) -> bool {
    // One switch is the one that made the thread run.
    switches.saturating_sub(1).saturating_mul(tick) > ran
}

#[cfg(test)]
mod tests {
    use super::{CLOCK, Stretch, TICKS};

    fn judge(pace: u32, ran: u64, switches: u64) -> Option<u32> {
        super::judge(pace, Stretch { ran, switches }, TICK)
    }

    const TICK: u64 = 4_000_000;

    #[test]
    fn a_thread_that_is_seldom_switched_gets_a_clock() {
        assert_eq!(judge(TICKS, TICK, 0), None);
        assert_eq!(judge(TICKS, 2 * TICK, 2), Some(CLOCK));
        assert_eq!(judge(TICKS, 2 * TICK, 100), Some(TICKS));
    }

    #[test]
    fn a_thread_with_a_clock_is_judged_later_and_more_mildly() {
        let at = |rate: u64| judge(CLOCK, 100_000_000, rate / 10);
        assert_eq!(judge(CLOCK, 2 * TICK, 1000), None);
        assert_eq!(at(1000), Some(CLOCK));
        assert_eq!(at(2000), Some(TICKS));
        assert_eq!(judge(TICKS, 100_000_000, 100), Some(TICKS));
    }
}
