//! The task clock of a thread in a program that profiles itself: the ticks that count, their
//! weights, and the changes of the period.
//!
//! A thread begins with an inherited clock. The period of such a clock is unknown: it is the one
//! that its parent's clock had at that moment, the kernel never changes it afterwards, and threads
//! that take turns on a CPU may exchange their clocks. So a tick stands for the CPU time that the
//! kernel has counted for the thread since the tick before, less the system time that has had
//! samples of its own meanwhile. That is right for any period, and nothing is lost where a clock
//! replaces another.
//!
//! A period that stays the same for long can be in step with a loop of the program's. So a thread
//! that never waits asks for a clock of its own, unless it is switched often ([`crate::pace`]); one
//! that has a clock of its own and is switched often asks for a CPU timer. The handler changes its
//! period after so many ticks: just after a tick, because the kernel starts a clock anew whose
//! period changes.

use core::sync::atomic::{AtomicBool, AtomicU32, AtomicU64, Ordering};

use crate::pace::{self, Stretch};
use crate::random::PeriodDraw;
use crate::sys::{self, ThreadUsage};

/// The number of ticks after which the period of an own clock changes.
const STRETCH: u32 = 50;
/// The number of ticks after which a thread with an inherited clock asks for its own.
const SETTLED: u32 = 25;
/// The kernels' longest tick, in nanoseconds: a thread is judged by two of them at least.
pub const TICK: u64 = 10_000_000;
/// The time of ticks to come that samples of system time may cover.
const AHEAD: u64 = TICK;

/// The part of a tag for the session; the rest is the clock's number in its session.
const SESSION: u64 = 0xFFFF_FFFF_FFFF_0000;

/// One bit for each number of a clock: whether such a clock is open.
static OPEN: [AtomicU64; 1024] = [const { AtomicU64::new(0) }; 1024];

/// Whether a thread has asked for a clock since the last look.
static ASKED: AtomicBool = AtomicBool::new(false);

/// Sets whether the clock with this tag is open: only then it keeps others from sampling its
/// threads.
pub fn set_open(tag: u64, is_open: bool) {
    let number = tag & !SESSION;
    if let Some(bits) = OPEN.get(number as usize / 64) {
        let bit = 1 << (number % 64);
        match is_open {
            true => bits.fetch_or(bit, Ordering::Relaxed),
            false => bits.fetch_and(!bit, Ordering::Relaxed),
        };
    }
}

/// Whether a clock of the present session with this tag is open.
pub fn is_open(tag: u64) -> bool {
    let number = tag & !SESSION;
    let bits = OPEN.get(number as usize / 64);
    bits.is_some_and(|bits| bits.load(Ordering::Relaxed) & 1 << (number % 64) != 0)
}

/// Whether a thread has asked for a clock since the last time.
pub fn take_asked() -> bool {
    ASKED.swap(false, Ordering::Relaxed)
}

/// The state of a thread's task clock. All zero is a thread that has just begun.
#[derive(Debug)]
pub struct ThreadClock {
    /// The clock whose ticks count: the first one that ticked, or the thread's own. Another one
    /// would count double.
    tag: AtomicU64,
    /// Another clock that ticks as well.
    double: AtomicU64,
    /// The descriptor of the thread's own clock, plus one; 0: it has none.
    descriptor: AtomicU32,
    /// Whether the thread has a CPU timer in place of a clock.
    is_timed: AtomicBool,
    /// Set while the handler uses the descriptor.
    is_in_use: AtomicBool,
    /// The source of periods.
    periods: AtomicU64,
    /// Ticks since the period changed, or since the thread was judged.
    ticks: AtomicU32,
    /// The last judgement: one of [`crate::pace`]'s.
    pace: AtomicU32,
    is_judged: AtomicBool,
    /// CPU time and switches when the thread was last judged.
    judged: [AtomicU64; 2],
    /// The CPU time of the thread at the last tick.
    cpu: AtomicU64,
    /// The time covered by samples of another kind since then.
    covered: AtomicU64,
}

impl ThreadClock {
    /// Forgets a thread: the next one has just begun.
    pub(crate) fn clear(&self) {
        self.tag.store(0, Ordering::Relaxed);
        self.double.store(0, Ordering::Relaxed);
        self.descriptor.store(0, Ordering::Relaxed);
        self.begin(0);
    }

    /// Gives the thread a CPU timer in place of a clock.
    pub fn set_timed(&self) {
        self.ticks.store(0, Ordering::Relaxed);
        self.is_timed.store(true, Ordering::Relaxed);
    }

    /// Forgets the last judgement, and judges anew from here on: a thread that has run for `cpu`
    /// nanoseconds and was switched so often.
    pub fn judge_from(&self, cpu: u64, switches: u64) {
        self.is_judged.store(false, Ordering::Relaxed);
        self.judged[0].store(cpu, Ordering::Relaxed);
        self.judged[1].store(switches, Ordering::Relaxed);
    }

    /// Whether the thread has a CPU timer in place of a clock.
    pub(crate) fn is_timed(&self) -> bool {
        self.is_timed.load(Ordering::Relaxed)
    }

    /// Starts to sample a thread that has run for `cpu` nanoseconds.
    pub fn begin(&self, cpu: u64) {
        self.cpu.store(cpu, Ordering::Relaxed);
        self.covered.store(0, Ordering::Relaxed);
        self.ticks.store(0, Ordering::Relaxed);
        self.is_timed.store(false, Ordering::Relaxed);
        self.is_judged.store(false, Ordering::Relaxed);
        self.judged[0].store(cpu, Ordering::Relaxed);
        // Unknown, and not needed before the second look.
        self.judged[1].store(u64::MAX, Ordering::Relaxed);
    }

    /// The time that a sample which is no tick of the thread's clock may cover, when the thread has
    /// run for `cpu` nanoseconds: that since the last tick, and a little of the next ones.
    ///
    /// The kernel's count of system time goes by its own ticks. Where threads take turns within a
    /// tick, few of them hit this thread, and the count jumps by large parts of all its time. If
    /// such a jump were covered at once and the thread ended soon, too few ticks would follow from
    /// which it could be subtracted.
    pub(crate) fn coverable(&self, cpu: u64) -> u64 {
        let ran = cpu.saturating_sub(self.cpu.load(Ordering::Relaxed));
        (ran + AHEAD).saturating_sub(self.covered.load(Ordering::Relaxed))
    }

    /// Notes that a sample which is no tick of the thread's clock covers `nanoseconds` of its time.
    pub fn note_covered(&self, nanoseconds: u64) {
        self.covered.fetch_add(nanoseconds, Ordering::Relaxed);
    }

    /// Gives the thread a clock of its own, with the source of its periods.
    pub fn set_own(&self, tag: u64, descriptor: u32, periods: PeriodDraw) {
        self.periods.store(periods.bits(), Ordering::Relaxed);
        self.ticks.store(0, Ordering::Relaxed);
        self.is_timed.store(false, Ordering::Relaxed);
        self.tag.store(tag, Ordering::Relaxed);
        // SeqCst, as in `forget_own`: another descriptor may have been there. And the handler draws
        // from the value stored above.
        self.descriptor
            .store(descriptor.wrapping_add(1), Ordering::SeqCst);
    }

    /// True if this clock is the thread's own.
    pub fn has_own(&self, descriptor: u32) -> bool {
        self.descriptor.load(Ordering::Relaxed) == descriptor.wrapping_add(1)
    }

    /// Takes the own clock away. The tag stays, so that other ticks are still ignored while the
    /// clock is open.
    pub fn forget_own(&self) {
        // SeqCst pairs with the handler's: either it finds no descriptor, or `is_in_use` shows that
        // it has found one.
        self.descriptor.store(0, Ordering::SeqCst);
    }

    /// Whether the handler may be using a descriptor that it found before [`Self::forget_own`] or
    /// [`Self::set_own`].
    pub fn is_in_use(&self) -> bool {
        self.is_in_use.load(Ordering::SeqCst)
    }

    /// The clock whose ticks count; 0 if there was none yet.
    pub fn tag(&self) -> u64 {
        self.tag.load(Ordering::Relaxed)
    }

    /// Another clock that ticks as well; 0 if there is none.
    pub fn take_double(&self) -> u64 {
        self.double.swap(0, Ordering::Relaxed)
    }

    /// Whether a clock of its own would slow the thread down, as far as known.
    pub fn is_switched_often(&self) -> bool {
        self.is_judged.load(Ordering::Relaxed) && self.pace.load(Ordering::Relaxed) == pace::TICKS
    }

    /// Whether a tick of the clock with this tag belongs to the thread. A tag of 0 is that of a
    /// clock that only the thread itself can have.
    pub(crate) fn accepts(&self, tag: u64) -> bool {
        let present = self.tag.load(Ordering::Relaxed);
        if tag == 0 || present == tag {
            return true;
        }
        if present & SESSION == tag & SESSION && is_open(present) {
            if self.double.swap(tag, Ordering::Relaxed) != tag {
                ASKED.store(true, Ordering::Relaxed);
            }
            return false;
        }
        self.tag.store(tag, Ordering::Relaxed);
        true
    }

    /// Counts a tick of the calling thread's clock, and changes the period when it is time.
    pub(crate) fn count_tick(&self, nominal: u64) {
        let ticks = self.ticks.load(Ordering::Relaxed) + 1;
        let has_own = self.descriptor.load(Ordering::Relaxed) != 0;
        let enough = if has_own { STRETCH } else { SETTLED };
        if ticks < enough {
            self.ticks.store(ticks, Ordering::Relaxed);
            return;
        }
        self.ticks.store(0, Ordering::Relaxed);
        if has_own {
            self.change_period(nominal);
        }
        self.judge(sys::thread_usage());
    }

    fn change_period(&self, nominal: u64) {
        // SeqCst pairs with that of `forget_own` and the load of `is_in_use` behind it.
        self.is_in_use.store(true, Ordering::SeqCst);
        if let Some(descriptor) = self.descriptor.load(Ordering::SeqCst).checked_sub(1) {
            let mut periods = PeriodDraw::from_bits(self.periods.load(Ordering::Relaxed));
            sys::set_perf_period(descriptor, periods.next(nominal));
            self.periods.store(periods.bits(), Ordering::Relaxed);
        }
        // Release: a thread that sees it closes the descriptor, which was used before.
        self.is_in_use.store(false, Ordering::Release);
    }

    /// Judges a thread by these counts of the kernel. One that is switched all the time is mostly
    /// in the kernel, where its clock's ticks do not count.
    pub(crate) fn look_at_switches(&self, usage: ThreadUsage) {
        if self.descriptor.load(Ordering::Relaxed) != 0 {
            self.judge(usage);
        }
    }

    /// Asks for an own clock for a thread that is seldom switched, and for a timer for one that is
    /// switched often in spite of its clock.
    fn judge(&self, ThreadUsage { switches, .. }: ThreadUsage) {
        let cpu = sys::thread_cpu_time();
        let present = match self.descriptor.load(Ordering::Relaxed) {
            0 => pace::TICKS,
            _ => pace::CLOCK,
        };
        let [at_cpu, at_switches] = &self.judged;
        let ran = cpu.saturating_sub(at_cpu.load(Ordering::Relaxed));
        let since = match at_switches.load(Ordering::Relaxed) {
            // A thread that has just begun has not been switched before.
            u64::MAX if at_cpu.load(Ordering::Relaxed) == 0 => switches,
            u64::MAX => 0,
            before => switches.saturating_sub(before),
        };
        let stretch = Stretch {
            ran,
            switches: since,
        };
        let Some(judged) = pace::judge(present, stretch, TICK) else {
            return;
        };
        at_cpu.store(cpu, Ordering::Relaxed);
        at_switches.store(switches, Ordering::Relaxed);
        self.pace.store(judged, Ordering::Relaxed);
        self.is_judged.store(true, Ordering::Relaxed);
        if judged != present {
            ASKED.store(true, Ordering::Relaxed);
        }
    }

    /// The weight of a tick, when the thread has run for `cpu` nanoseconds.
    ///
    /// System time comes seldom and in large pieces. A tick keeps a quarter of its time, or of a
    /// period if that is less, and the rest is taken off later ones: otherwise a piece would take
    /// all weight from a few samples.
    pub(crate) fn weigh(&self, cpu: u64, nominal: u64) -> u64 {
        let ran = cpu.saturating_sub(self.cpu.swap(cpu, Ordering::Relaxed));
        let covered = self.covered.load(Ordering::Relaxed);
        let less = covered.min(ran - ran.min(nominal) / 4);
        if less > 0 {
            // A normal thread may add to it at this instant.
            self.covered.fetch_sub(less, Ordering::Relaxed);
        }
        ran - less
    }
}

#[cfg(test)]
mod tests {
    use super::{ThreadClock, set_open};

    const MS: u64 = 1_000_000;

    fn clock() -> ThreadClock {
        // SAFETY: all of it is atomics, for which zero is a value.
        unsafe { core::mem::zeroed() }
    }

    #[test]
    fn a_tick_stands_for_what_has_run_since_the_last() {
        let clock = clock();
        clock.begin(5 * MS);
        assert_eq!(clock.weigh(6 * MS, MS), MS);
        assert_eq!(clock.weigh(6 * MS + 700_000, MS), 700_000);
        assert_eq!(clock.weigh(6 * MS + 700_000, MS), 0);
    }

    #[test]
    fn covered_time_is_taken_off_little_by_little() {
        let clock = clock();
        clock.begin(0);
        clock.note_covered(2 * MS);
        let weights = [2 * MS, 2 * MS + MS / 2, 4 * MS, 5 * MS].map(|cpu| clock.weigh(cpu, MS));
        assert_eq!(weights, [MS / 4, MS / 4, 3 * MS / 2, MS]);
    }

    #[test]
    fn covered_time_of_a_long_run_is_taken_off_at_once() {
        let clock = clock();
        clock.begin(0);
        clock.note_covered(100 * MS);
        assert_eq!(clock.weigh(101 * MS, MS), MS);
    }

    #[test]
    fn little_of_the_time_to_come_is_covered() {
        let clock = clock();
        clock.begin(0);
        clock.weigh(100 * MS, MS);
        assert_eq!(clock.coverable(100 * MS), 10 * MS);
        assert_eq!(clock.coverable(130 * MS), 40 * MS);
        clock.note_covered(35 * MS);
        assert_eq!(clock.coverable(131 * MS), 6 * MS);
        clock.note_covered(6 * MS);
        assert_eq!(clock.coverable(131 * MS), 0);
        // All but a quarter of a period of the time until the next tick.
        assert_eq!(clock.weigh(132 * MS, MS), MS / 4);
        assert_eq!(clock.coverable(132 * MS), MS / 4 * 3);
    }

    #[test]
    fn one_clock_counts_until_it_is_closed() {
        let clock = clock();
        let [first, second, next] = [0x7_0001, 0x7_0002, 0x8_0001];
        set_open(first, true);
        set_open(second, true);
        assert!(clock.accepts(first));
        assert!(!clock.accepts(second));
        assert_eq!((clock.take_double(), clock.take_double()), (second, 0));
        set_open(first, false);
        assert!(clock.accepts(second));
        assert!(clock.accepts(next), "of another session");
        set_open(second, false);
    }
}
