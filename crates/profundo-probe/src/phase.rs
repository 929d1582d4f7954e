//! What each tick of a thread's clock stands for, so that the weights of its samples add up to its CPU time,
//! however short it lives and whichever clock it has.
//!
//! **At the pace of ticks** ([`crate::pace`]) a sample stands for the CPU time since the one before. What comes
//! after a thread's last tick is never seen, so the first tick stands for as much more as that will be on
//! average. Of a thread that runs on and on, ticks are one tick apart, and the first one stands for a whole
//! tick. A thread that is switched often is hit at random: if its first tick comes at time t, then t and a tick
//! are right for each length of its life.
//!
//! Where the period is longer than a tick, only some ticks are samples. Marks lie one period of CPU time
//! apart, the first one at a random place, and a tick that comes after a mark stands for a period.
//!
//! **A task clock** ticks each period in user code. Its first tick goes on where the kernel's ticks have ended:
//! it stands for the time since the last of them. Beside the clock the timer looks for system time alone.

use core::sync::atomic::{AtomicBool, AtomicU32, AtomicU64, Ordering};

use profundo_wire::State;

use crate::records::ThreadRecord;
use crate::sample::{Event, SystemCall};
use crate::sys::ThreadUsage;
use crate::threads::Slot;
use crate::{Probe, Recorder, clock, pace, sys};

/// How far the samples of a living thread have come. All zero is a thread that nobody looks at.
#[derive(Debug)]
pub struct Phase {
    /// The CPU time of the thread at the last tick of its timer.
    cpu: AtomicU64,
    /// How much CPU time is left until the next mark.
    until_mark: AtomicU64,
    /// How much longer the samples say that the thread has run than it has.
    ahead: AtomicU64,
    /// CPU time and switches when the thread's pace was judged last.
    judged: [AtomicU64; 2],
    /// The thread's switches that were counted so far.
    switches: AtomicU64,
    /// What [`Header::resumed`] was at the last tick.
    ///
    /// [`Header::resumed`]: crate::shared::Header::resumed
    resumed: AtomicU32,
    /// Whether the timer has ticked.
    has_begun: AtomicBool,
}

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

/// The periods of one task clock, one after another: half of the nominal one to one and a half. A loop of the
/// program's can be in step with one of them, but not with all.
///
/// The first is drawn by chance, and each next one lies a golden section farther on, round the whole range. So a few
/// of them fill the range as evenly as many drawn by chance do, and seldom two in a row suit the same loop.
#[derive(Debug, Clone, Copy)]
pub struct PeriodDraw(u64);

impl PeriodDraw {
    /// Begins at a random place.
    pub fn new(salt: u64) -> Self {
        Self(random_below(u64::MAX, salt))
    }

    /// Goes on where [`Self::bits`] was.
    pub(crate) fn from_bits(bits: u64) -> Self {
        Self(bits)
    }

    /// How far it has come.
    pub(crate) fn bits(self) -> u64 {
        self.0
    }

    /// The next period.
    pub fn next(&mut self, nominal: u64) -> u64 {
        /// The golden section, in parts of the range of numbers.
        const STEP: u64 = 0x9E37_79B9_7F4A_7C15;
        self.0 = self.0.wrapping_add(STEP);
        let part = (u128::from(self.0) * u128::from(nominal + 1)) >> 64;
        (nominal / 2 + part as u64).max(1)
    }
}

/// How often the timer of a thread runs out, at the pace of ticks: so often that nearly each tick of the kernel's
/// that hits the thread finds that it has.
pub fn timer_interval(tick: u64) -> u64 {
    const PARTS: u64 = 16;
    const LEAST: u64 = 50_000;
    (tick / PARTS).max(LEAST)
}

impl Phase {
    /// Notes how often sampling was resumed before the thread began.
    pub(crate) fn note_resumed(&self, times: u32) {
        self.resumed.store(times, Ordering::Relaxed);
    }

    /// Begins with a thread that has run for `cpu` nanoseconds. Samples are to lie a period apart.
    pub(crate) fn begin(&self, (cpu, usage): (u64, ThreadUsage), period: u64, salt: u64) {
        self.cpu.store(cpu, Ordering::Relaxed);
        let mark = 1 + random_below(period, salt);
        self.until_mark.store(mark, Ordering::Relaxed);
        self.ahead.store(0, Ordering::Relaxed);
        self.has_begun.store(false, Ordering::Relaxed);
        self.switches.store(usage.switches, Ordering::Relaxed);
        self.note_judged(cpu, usage.switches);
    }

    /// Counts the switches since the last time; what they cost the thread is a part of what the recording costs.
    fn count_switches(&self, usage: ThreadUsage, recorder: &Recorder, has_clock: bool) {
        let before = self.switches.swap(usage.switches, Ordering::Relaxed);
        let more = usage.switches.saturating_sub(before);
        let counters = &recorder.ring.header.counters;
        counters.switches.fetch_add(more, Ordering::Relaxed);
        if has_clock {
            counters.clocked_switches.fetch_add(more, Ordering::Relaxed);
        }
    }

    fn note_judged(&self, cpu: u64, switches: u64) {
        let [at_cpu, at_switches] = &self.judged;
        at_cpu.store(cpu, Ordering::Relaxed);
        at_switches.store(switches, Ordering::Relaxed);
    }

    /// CPU time and switches since the pace was judged last.
    fn since_judged(&self, cpu: u64, switches: u64) -> (u64, u64) {
        let [at_cpu, at_switches] = &self.judged;
        (
            cpu.saturating_sub(at_cpu.load(Ordering::Relaxed)),
            switches.saturating_sub(at_switches.load(Ordering::Relaxed)),
        )
    }

    /// Notes how often sampling was resumed; returns whether that was since the last tick.
    fn is_resumed(&self, times: u32) -> bool {
        self.resumed.swap(times, Ordering::Relaxed) != times
    }

    /// What a tick of the timer stands for that comes when the thread has run for `cpu` nanoseconds.
    fn at_tick(&self, cpu: u64, told_for: u64, switches: u64, (tick, period): (u64, u64)) -> u64 {
        let before = self.cpu.swap(cpu, Ordering::Relaxed);
        let ran = cpu.saturating_sub(before);
        let span = if self.has_begun.swap(true, Ordering::Relaxed) {
            ran
        } else {
            let (_, switches) = self.since_judged(cpu, switches);
            let whole = match pace::is_switched_often(ran, switches, tick) {
                true => ran.saturating_add(tick),
                false => tick.max(ran),
            };
            self.ahead
                .fetch_add(whole.saturating_sub(ran), Ordering::Relaxed);
            whole
        };
        self.pass_marks(span.saturating_sub(told_for), period)
    }

    /// Goes on for so long; returns what the marks stand for that were passed.
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

    /// What a tick of the task clock stands for, less what samples have said too early.
    fn less_ahead(&self, weight: u64) -> u64 {
        let ahead = self.ahead.load(Ordering::Relaxed);
        if ahead == 0 {
            return weight;
        }
        let less = ahead.min(weight);
        self.ahead.store(ahead - less, Ordering::Relaxed);
        weight - less
    }
}

/// What a tick of a recorded thread stands for. False: it is no sample.
pub(crate) fn weigh(
    event: &mut Event,
    slot: &Slot,
    record: &ThreadRecord,
    recorder: &Recorder,
) -> bool {
    match event.system_call {
        SystemCall::Never => event.weight = weigh_clock(slot, record, recorder),
        SystemCall::Tell => weigh_tick(event, slot, record, recorder),
        SystemCall::Counted if record.has_ticked.load(Ordering::Relaxed) != 0 => {
            weigh_system_time(event, slot, record, recorder);
        }
        SystemCall::Counted => {
            event.system_call = SystemCall::Tell;
            event.state = State::Running;
            weigh_tick(event, slot, record, recorder);
        }
    }
    event.weight > 0
}

fn period(recorder: &Recorder) -> u64 {
    recorder.control.period.load(Ordering::Relaxed)
}

fn tick(recorder: &Recorder) -> u64 {
    recorder.control.tick.load(Ordering::Relaxed).into()
}

fn is_resumed(slot: &Slot, recorder: &Recorder) -> bool {
    let times = recorder.ring.header.resumed.load(Ordering::Relaxed);
    slot.phase.is_resumed(times)
}

/// A tick of the timer, while no task clock ticks.
fn weigh_tick(event: &mut Event, slot: &Slot, record: &ThreadRecord, recorder: &Recorder) {
    let (cpu, usage) = (sys::thread_cpu_time(), sys::thread_usage());
    let (tick, period) = (tick(recorder), period(recorder));
    if is_resumed(slot, recorder) {
        // What it did in the pause does not count.
        slot.phase.begin((cpu, usage), period, slot.tid().into());
    }
    slot.phase.count_switches(usage, recorder, false);
    record.cpu.store(cpu, Ordering::Relaxed);
    let told_for = record.told_for.swap(0, Ordering::Relaxed);
    let lengths = (tick, period);
    event.weight = slot.phase.at_tick(cpu, told_for, usage.switches, lengths);
    let (in_kernel, ran) = slot.times_since(usage.system, cpu);
    if in_kernel > 0 && in_kernel.saturating_mul(2) >= ran {
        event.state = State::System;
    }
    if !recorder.uses_clocks() {
        return;
    }
    let since = slot.phase.since_judged(cpu, usage.switches);
    let pace = record.pace.load(Ordering::Relaxed);
    // A clock that was asked for comes in its time.
    if pace == pace::TICKS
        && let Some(judged) = pace::judge(pace, since, tick)
    {
        slot.phase.note_judged(cpu, usage.switches);
        if judged == pace::CLOCK {
            ask_for(judged, record, recorder);
        }
    }
}

/// A tick of the task clock.
fn weigh_clock(slot: &Slot, record: &ThreadRecord, recorder: &Recorder) -> u64 {
    if record.pace.load(Ordering::Relaxed) != pace::CLOCK {
        // It was given back, and the timer has taken its place.
        return 0;
    }
    let period = match record.period.load(Ordering::Relaxed) {
        0 => period(recorder),
        own => own,
    };
    let skipped = record.skipped.swap(0, Ordering::Relaxed);
    if record.has_ticked.swap(1, Ordering::Relaxed) != 0 {
        let told_for = record.told_for.swap(0, Ordering::Relaxed);
        let weight = period.saturating_add(skipped).saturating_sub(told_for);
        return slot.phase.less_ahead(weight);
    }
    let (cpu, usage) = (sys::thread_cpu_time(), sys::thread_usage());
    // A clock's last tick is followed by half a period on average.
    let ran = match is_resumed(slot, recorder) {
        true => period / 2,
        false => cpu.saturating_sub(slot.phase.cpu.swap(cpu, Ordering::Relaxed)),
    };
    slot.note_system_times(cpu, usage);
    slot.phase.note_judged(cpu, usage.switches);
    slot.phase.count_switches(usage, recorder, false);
    if let Some(timer) = slot.timer() {
        let interval = recorder.control.system_period.load(Ordering::Relaxed);
        sys::set_timer(timer, interval, interval);
    }
    slot.phase.less_ahead(ran.saturating_add(period / 2))
}

/// A tick of the timer that looks for system time beside a task clock. It stands for the system time that the
/// kernel has counted meanwhile.
fn weigh_system_time(event: &mut Event, slot: &Slot, record: &ThreadRecord, recorder: &Recorder) {
    let (cpu, usage) = (sys::thread_cpu_time(), sys::thread_usage());
    if is_resumed(slot, recorder) {
        slot.note_system_times(cpu, usage);
        slot.phase.note_judged(cpu, usage.switches);
    }
    let system_period = recorder.control.system_period.load(Ordering::Relaxed);
    let whole = system_period.max(tick(recorder));
    event.state = State::System;
    let counted = slot.system_time_since(usage.system);
    // What comes after a thread's last tick is not seen, so its first one is a whole one.
    event.weight = match counted > 0 && !slot.note_kernel() {
        true => counted.max(whole),
        false => counted,
    };
    slot.phase.count_switches(usage, recorder, true);
    let since = slot.phase.since_judged(cpu, usage.switches);
    if let Some(judged) = pace::judge(pace::CLOCK, since, tick(recorder)) {
        slot.phase.note_judged(cpu, usage.switches);
        if judged == pace::TICKS {
            go_back_to_ticks(slot, record, recorder, cpu);
        }
    }
}

/// From here on the timer samples the thread, and the clock's last ticks do not count.
fn go_back_to_ticks(slot: &Slot, record: &ThreadRecord, recorder: &Recorder, cpu: u64) {
    slot.phase.cpu.store(cpu, Ordering::Relaxed);
    slot.phase.has_begun.store(true, Ordering::Relaxed);
    record.has_ticked.store(0, Ordering::Relaxed);
    if let Some(timer) = slot.timer() {
        let interval = timer_interval(tick(recorder));
        sys::set_timer(timer, interval, interval);
    }
    ask_for(pace::TICKS, record, recorder);
}

impl Probe {
    /// Begins to sample the calling thread, which has this slot: its samples are to lie a period apart.
    pub fn begin_phase(&self, slot: &Slot) {
        self.begin_phase_after(slot, (sys::thread_cpu_time(), sys::thread_usage()));
    }

    /// As [`Self::begin_phase`], for the only thread of a forked child: all that it has run since the fork counts.
    pub fn begin_phase_at_fork(&self, slot: &Slot) {
        self.begin_phase_after(slot, (0, ThreadUsage::default()));
    }

    fn begin_phase_after(&self, slot: &Slot, (cpu, usage): (u64, ThreadUsage)) {
        let Some((recorder, record)) = self.recorded(slot) else {
            return;
        };
        let times = recorder.ring.header.resumed.load(Ordering::Relaxed);
        slot.phase.note_resumed(times);
        slot.begin_phase((cpu, usage), period(recorder));
        record.cpu_before.store(cpu, Ordering::Relaxed);
    }

    /// Asks for a task clock for a thread that has no timer: the kernel gives no more of them, or the program uses all
    /// signals that a timer could send.
    pub fn go_on_without_timer(&self, slot: &Slot) {
        if let Some((recorder, record)) = self.recorded(slot).filter(|(it, _)| it.uses_clocks()) {
            ask_for(pace::CLOCK, record, recorder);
        }
    }

    fn recorded(&self, slot: &Slot) -> Option<(&Recorder, &'static ThreadRecord)> {
        self.recorder
            .as_ref()
            .zip(self.threads.record(slot.number()))
    }
}

/// Asks the command for another clock.
fn ask_for(pace: u32, record: &ThreadRecord, recorder: &Recorder) {
    // Release pairs with the acquire of the command, which looks at the records when this is set.
    record.pace.store(pace, Ordering::Release);
    recorder.ring.header.paced.store(1, Ordering::Release);
    recorder.ring_bell();
}

#[cfg(test)]
mod tests {
    use core::sync::atomic::{AtomicBool, AtomicU32, AtomicU64};

    use super::{PeriodDraw, Phase, random_below};
    use crate::sys::ThreadUsage;

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

    #[test]
    fn a_few_periods_fill_the_range_and_are_right_on_average() {
        for salt in 0..100 {
            let mut draw = PeriodDraw::new(salt);
            let mut periods: std::vec::Vec<u64> = (0..34).map(|_| draw.next(1000)).collect();
            let mean = periods.iter().sum::<u64>() / 34;
            assert!((970..=1030).contains(&mean), "{mean}");
            periods.sort_unstable();
            let gaps = periods.windows(2).map(|two| two[1] - two[0]);
            assert!(gaps.max() < Some(80), "{periods:?}");
            assert!(periods[0] >= 500 && periods[33] <= 1500);
        }
        assert_eq!(PeriodDraw::new(1).next(0), 1);
    }

    /// The part of threads' CPU time that ticks of the kernel's stand for. A thread is hit each `tick` while it
    /// runs on and on; one that is switched all the time is hit at random, once each `tick` on average.
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
            phase.begin((0, ThreadUsage::default()), period, thread);
            let mut at = match is_switched {
                true => next(),
                false => random_below(tick, thread ^ 0xABCD),
            };
            while at < life {
                let switches = if is_switched { 2 + at } else { 1 };
                sum += phase.at_tick(at, 0, switches, (tick, period));
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
        phase.begin((0, ThreadUsage::default()), 1000, 1);
        let first = phase.at_tick(700, 0, 1, (4000, 1000));
        assert!((3000..=5000).contains(&first), "{first}");
        let ahead = 4000 - 700;
        let mut told = 0;
        for _ in 0..10 {
            told += phase.less_ahead(1000);
        }
        assert_eq!(told, 10_000 - ahead);
    }

    #[test]
    fn what_the_command_has_told_is_not_told_again() {
        let phase = phase();
        phase.begin((0, ThreadUsage::default()), 1000, 1);
        phase.at_tick(4000, 0, 1, (4000, 1000));
        assert_eq!(phase.at_tick(104_000, 90_000, 1, (4000, 1000)), 10_000);
    }
}
