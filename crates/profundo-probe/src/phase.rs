//! The progress of a living thread's samples: the CPU time that they stand for so far, and the
//! marks at which ticks become samples ([`crate::weight`]).

use core::sync::atomic::{AtomicBool, AtomicU32, AtomicU64, Ordering};

use crate::counters::Counters;
use crate::pace::{self, Stretch};
use crate::random::random_below;
use crate::sys::ThreadUsage;

/// The progress of a living thread's samples. All zero is a thread without samples.
#[derive(Debug)]
pub struct Phase {
    /// The CPU time of the thread at the last tick of its timer.
    cpu: AtomicU64,
    /// The CPU time left until the next mark.
    until_mark: AtomicU64,
    /// The excess of the samples' time over the thread's CPU time.
    ahead: AtomicU64,
    /// CPU time and switches when the thread's pace was last judged.
    judged: [AtomicU64; 2],
    /// The counted switches of the thread.
    switches: AtomicU64,
    /// The value of [`Header::resumed`] at the last tick.
    ///
    /// [`Header::resumed`]: crate::shared::Header::resumed
    resumed: AtomicU32,
    /// Whether the timer has ticked.
    has_begun: AtomicBool,
}

/// The lengths of a tick of the kernel and of the session's period, in nanoseconds.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Lengths {
    pub(crate) tick: u64,
    pub(crate) period: u64,
}

impl Phase {
    /// Notes the count of resumes when the thread began.
    pub(crate) fn note_resumed(&self, times: u32) {
        self.resumed.store(times, Ordering::Relaxed);
    }

    /// Starts with a thread that has run for `cpu` nanoseconds. Samples are to lie a period apart.
    pub(crate) fn begin(&self, cpu: u64, usage: ThreadUsage, period: u64, salt: u64) {
        self.cpu.store(cpu, Ordering::Relaxed);
        let mark = 1 + random_below(period, salt);
        self.until_mark.store(mark, Ordering::Relaxed);
        self.ahead.store(0, Ordering::Relaxed);
        self.has_begun.store(false, Ordering::Relaxed);
        self.switches.store(usage.switches, Ordering::Relaxed);
        self.note_judged(cpu, usage.switches);
    }

    /// Counts the switches since the last time; their cost to the thread is a part of the
    /// recording's cost.
    pub(crate) fn count_switches(&self, usage: ThreadUsage, counters: &Counters, has_clock: bool) {
        let before = self.switches.swap(usage.switches, Ordering::Relaxed);
        let more = usage.switches.saturating_sub(before);
        counters.switches.fetch_add(more, Ordering::Relaxed);
        if has_clock {
            counters.clocked_switches.fetch_add(more, Ordering::Relaxed);
        }
    }

    /// Notes the CPU time and the switches at which the thread's pace was judged.
    pub(crate) fn note_judged(&self, cpu: u64, switches: u64) {
        let [at_cpu, at_switches] = &self.judged;
        at_cpu.store(cpu, Ordering::Relaxed);
        at_switches.store(switches, Ordering::Relaxed);
    }

    /// CPU time and switches since the pace was last judged.
    pub(crate) fn since_judged(&self, cpu: u64, switches: u64) -> Stretch {
        let [at_cpu, at_switches] = &self.judged;
        Stretch {
            ran: cpu.saturating_sub(at_cpu.load(Ordering::Relaxed)),
            switches: switches.saturating_sub(at_switches.load(Ordering::Relaxed)),
        }
    }

    /// Notes the count of resumes; returns whether it has changed since the last tick.
    pub(crate) fn is_resumed(&self, times: u32) -> bool {
        self.resumed.swap(times, Ordering::Relaxed) != times
    }

    /// The weight of a tick of the timer, when the thread has run for `cpu` nanoseconds.
    pub(crate) fn at_tick(
        &self,
        cpu: u64,
        recorded_for: u64,
        switches: u64,
        Lengths { tick, period }: Lengths,
    ) -> u64 {
        let ran = self.ran_since_tick(cpu);
        let span = if self.has_begun.swap(true, Ordering::Relaxed) {
            ran
        } else {
            let Stretch { switches, .. } = self.since_judged(cpu, switches);
            let whole = match pace::is_switched_often(ran, switches, tick) {
                true => ran.saturating_add(tick),
                false => tick.max(ran),
            };
            self.ahead
                .fetch_add(whole.saturating_sub(ran), Ordering::Relaxed);
            whole
        };
        self.pass_marks(span.saturating_sub(recorded_for), period)
    }

    /// The CPU time since the timer's last tick, up to now, where the thread has run for `cpu`
    /// nanoseconds.
    pub(crate) fn ran_since_tick(&self, cpu: u64) -> u64 {
        cpu.saturating_sub(self.cpu.swap(cpu, Ordering::Relaxed))
    }

    /// Continues at the pace of ticks with a thread that has run for `cpu` nanoseconds.
    pub(crate) fn go_back_to_ticks(&self, cpu: u64) {
        self.cpu.store(cpu, Ordering::Relaxed);
        self.has_begun.store(true, Ordering::Relaxed);
    }

    /// Advances the marks by `span`; returns the weight of the passed ones.
    fn pass_marks(&self, span: u64, period: u64) -> u64 {
        let period = period.max(1);
        let left = self.until_mark.load(Ordering::Relaxed);
        let Some(beyond) = span.checked_sub(left) else {
            self.until_mark.store(left - span, Ordering::Relaxed);
            return 0;
        };
        let next = period - beyond % period;
        self.until_mark.store(next, Ordering::Relaxed);
        (1 + beyond / period).saturating_mul(period)
    }

    /// The weight of a tick of the task clock, less the time that samples are ahead.
    pub(crate) fn less_ahead(&self, weight: u64) -> u64 {
        let ahead = self.ahead.load(Ordering::Relaxed);
        if ahead == 0 {
            return weight;
        }
        let less = ahead.min(weight);
        self.ahead.store(ahead - less, Ordering::Relaxed);
        weight - less
    }
}

#[cfg(test)]
mod tests {
    use core::sync::atomic::{AtomicBool, AtomicU32, AtomicU64};

    use super::{Lengths, Phase};
    use crate::random::random_below;
    use crate::sys::ThreadUsage;

    const LENGTHS: Lengths = Lengths {
        tick: 4000,
        period: 1000,
    };

    fn phase() -> Phase {
        Phase {
            cpu: AtomicU64::new(0),
            until_mark: AtomicU64::new(0),
            ahead: AtomicU64::new(0),
            judged: [AtomicU64::new(0), AtomicU64::new(0)],
            switches: AtomicU64::new(0),
            resumed: AtomicU32::new(0),
            has_begun: AtomicBool::new(false),
        }
    }

    /// The part of the threads' CPU time that ticks of the kernel stand for. A thread that never
    /// waits is hit each `tick`; one that is switched all the time is hit at random, once each
    /// `tick` on average.
    fn seen(life: u64, period: u64, tick: u64, is_switched: bool) -> f64 {
        const THREADS: u64 = 40_000;
        let mut sum = 0;
        let mut salt = 0;
        let mut next = || {
            salt += 1;
            match is_switched {
                true => {
                    let part = (1 + random_below(1 << 32, salt)) as f64 / (1_u64 << 32) as f64;
                    (-part.ln() * tick as f64) as u64
                }
                false => tick,
            }
        };
        for thread in 0..THREADS {
            let phase = phase();
            phase.begin(0, ThreadUsage::default(), period, thread);
            let mut at = match is_switched {
                true => next(),
                false => random_below(tick, thread ^ 0xABCD),
            };
            while at < life {
                let switches = if is_switched { 2 + at } else { 1 };
                sum += phase.at_tick(at, 0, switches, Lengths { tick, period });
                at += next();
            }
        }
        sum as f64 / THREADS as f64 / life as f64
    }

    #[test]
    fn threads_of_any_length_are_seen_for_as_long_as_they_ran() {
        for (period, tick) in [(1000, 4000), (1000, 1000), (2000, 1000), (10_000, 4000)] {
            for life in [300, 1000, 1700, 4000, 9000, 30_000] {
                for is_switched in [false, true] {
                    let seen = seen(life, period, tick, is_switched);
                    assert!(
                        (0.9..1.1).contains(&seen),
                        "{seen} of {life}, {period} at {tick}, switched: {is_switched}"
                    );
                }
            }
        }
    }

    #[test]
    fn a_clock_goes_on_where_the_ticks_have_ended() {
        let phase = phase();
        phase.begin(0, ThreadUsage::default(), 1000, 1);
        let first = phase.at_tick(700, 0, 1, LENGTHS);
        assert!((3000..=5000).contains(&first), "{first}");
        let ahead = 4000 - 700;
        let mut counted = 0;
        for _ in 0..10 {
            counted += phase.less_ahead(1000);
        }
        assert_eq!(counted, 10_000 - ahead);
    }

    #[test]
    fn time_that_the_command_has_recorded_is_not_recorded_again() {
        let phase = phase();
        phase.begin(0, ThreadUsage::default(), 1000, 1);
        phase.at_tick(4000, 0, 1, LENGTHS);
        assert_eq!(phase.at_tick(104_000, 90_000, 1, LENGTHS), 10_000);
    }
}
