//! The weight of each tick of a thread's clock. The weights of a thread's samples add up to its CPU
//! time, however short it lives and whichever clock it has.
//!
//! **At the pace of ticks** ([`crate::pace`]) a sample stands for the CPU time since the one
//! before. The time after a thread's last tick is never seen, so the first tick stands for its
//! average in addition. In a thread that never waits, ticks are one tick apart, and the first one
//! stands for a whole tick. A thread that is switched often is hit at random: if its first tick
//! comes at time t, then t and a tick are right for each length of its life.
//!
//! Where the period is longer than a tick, only some ticks are samples. Marks lie one period of CPU
//! time apart, the first one at a random place, and a tick that comes after a mark stands for a
//! period.
//!
//! **A task clock** ticks each period in user code. Its first tick goes on where the kernel's ticks
//! have ended: it stands for the time since the last of them. Beside the clock, the timer only
//! counts system time.

use core::sync::atomic::Ordering;

use profundo_wire::State;

use crate::counters::Counters;
use crate::event::{Event, SystemCall};
use crate::phase::Lengths;
use crate::probe::Probe;
use crate::recorder::Recorder;
use crate::records::ThreadRecord;
use crate::slot::Slot;
use crate::sys::ThreadUsage;
use crate::{pace, sys};

/// The interval of a thread's timer at the pace of ticks: so short that nearly each tick of the
/// kernel that hits the thread finds the timer expired.
pub fn timer_interval(tick: u64) -> u64 {
    const PARTS: u64 = 16;
    const LEAST: u64 = 50_000;
    (tick / PARTS).max(LEAST)
}

/// Sets the weight of a recorded thread's tick. False: it is no sample.
pub(crate) fn weigh(
    event: &mut Event,
    slot: &Slot,
    record: &ThreadRecord,
    recorder: &Recorder,
) -> bool {
    match event.system_call {
        SystemCall::Never => event.weight = weigh_clock(slot, record, recorder),
        SystemCall::Check => weigh_tick(event, slot, record, recorder),
        SystemCall::Counted if record.has_ticked.load(Ordering::Relaxed) != 0 => {
            weigh_system_time(event, slot, record, recorder);
        }
        SystemCall::Returned => event.weight = record.calls_period.load(Ordering::Relaxed),
        SystemCall::Counted => {
            event.system_call = SystemCall::Check;
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

fn counters(recorder: &Recorder) -> &Counters {
    &recorder.ring.header.counters
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
        // The time in the pause does not count.
        slot.phase.begin(cpu, usage, period, slot.tid().into());
    }
    slot.phase.count_switches(usage, counters(recorder), false);
    record.cpu.store(cpu, Ordering::Relaxed);
    let recorded_for = record.recorded_for.swap(0, Ordering::Relaxed);
    let lengths = Lengths { tick, period };
    event.weight = slot
        .phase
        .at_tick(cpu, recorded_for, usage.switches, lengths);
    let (in_kernel, ran) = slot.times_since(usage.system, cpu);
    if in_kernel > 0 && in_kernel.saturating_mul(2) >= ran {
        event.state = State::System;
    }
    if !recorder.uses_clocks() {
        return;
    }
    let since = slot.phase.since_judged(cpu, usage.switches);
    let pace = record.pace.load(Ordering::Relaxed);
    // A requested clock comes later.
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
        // It was given back, and the timer has replaced it.
        return 0;
    }
    let period = match record.period.load(Ordering::Relaxed) {
        0 => period(recorder),
        own_period => own_period,
    };
    let skipped = record.skipped.swap(0, Ordering::Relaxed);
    if record.has_ticked.swap(1, Ordering::Relaxed) != 0 {
        let recorded_for = record.recorded_for.swap(0, Ordering::Relaxed);
        let weight = period.saturating_add(skipped).saturating_sub(recorded_for);
        return slot.phase.less_ahead(weight);
    }
    let (cpu, usage) = (sys::thread_cpu_time(), sys::thread_usage());
    // A clock's last tick is followed by half a period on average.
    let ran = match is_resumed(slot, recorder) {
        true => period / 2,
        false => slot.phase.ran_since_tick(cpu),
    };
    slot.note_system_times(cpu, usage);
    slot.phase.note_judged(cpu, usage.switches);
    slot.phase.count_switches(usage, counters(recorder), false);
    if let Some(timer) = slot.timer() {
        let interval = recorder.control.system_period.load(Ordering::Relaxed);
        sys::set_timer(timer, interval, interval);
    }
    slot.phase.less_ahead(ran.saturating_add(period / 2))
}

/// A tick of the timer that counts system time beside a task clock. It stands for the system time
/// that the kernel has counted meanwhile.
fn weigh_system_time(event: &mut Event, slot: &Slot, record: &ThreadRecord, recorder: &Recorder) {
    let (cpu, usage) = (sys::thread_cpu_time(), sys::thread_usage());
    if is_resumed(slot, recorder) {
        slot.note_system_times(cpu, usage);
        slot.phase.note_judged(cpu, usage.switches);
    }
    let system_period = recorder.control.system_period.load(Ordering::Relaxed);
    let whole = system_period.max(tick(recorder));
    event.state = State::System;
    let counted = slot.system_time_since(usage.system, u64::MAX);
    // The time after a thread's last tick is not seen, so its first one is a whole one.
    event.weight = match counted > 0 && !slot.note_kernel() {
        true => counted.max(whole),
        false => counted,
    };
    slot.phase.count_switches(usage, counters(recorder), true);
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
    slot.phase.go_back_to_ticks(cpu);
    record.has_ticked.store(0, Ordering::Relaxed);
    if let Some(timer) = slot.timer() {
        let interval = timer_interval(tick(recorder));
        sys::set_timer(timer, interval, interval);
    }
    ask_for(pace::TICKS, record, recorder);
}

impl Probe {
    /// Starts to sample the calling thread, which has this slot: its samples are to lie a period
    /// apart.
    pub fn begin_phase(&self, slot: &Slot) {
        self.begin_phase_after(slot, sys::thread_cpu_time(), sys::thread_usage());
    }

    /// As [`Self::begin_phase`], for the only thread of a forked child: all its time since the fork
    /// counts.
    pub fn begin_phase_at_fork(&self, slot: &Slot) {
        self.begin_phase_after(slot, 0, ThreadUsage::default());
    }

    /// As [`Self::begin_phase`], for another thread, which has run for `cpu` nanoseconds and was
    /// switched so many times. Its system time is counted from its first tick on.
    pub fn begin_phase_of_other(&self, slot: &Slot, cpu: u64, switches: u64) {
        let usage = ThreadUsage {
            switches,
            ..ThreadUsage::default()
        };
        self.begin_phase_after(slot, cpu, usage);
        slot.forget_system_time();
    }

    fn begin_phase_after(&self, slot: &Slot, cpu: u64, usage: ThreadUsage) {
        let Some((recorder, record)) = self.recorded(slot) else {
            return;
        };
        let times = recorder.ring.header.resumed.load(Ordering::Relaxed);
        slot.phase.note_resumed(times);
        slot.begin_phase(cpu, usage, period(recorder));
        record.cpu_before.store(cpu, Ordering::Relaxed);
    }

    /// Asks for a task clock for a thread without a timer: the kernel gives no more of them, or the
    /// program uses all signals that a timer could send.
    pub fn go_on_without_timer(&self, slot: &Slot) {
        if let Some((recorder, record)) = self
            .recorded(slot)
            .filter(|(recorder, _)| recorder.uses_clocks())
        {
            ask_for(pace::CLOCK, record, recorder);
        }
    }
}

/// Asks the command for another clock.
fn ask_for(pace: u32, record: &ThreadRecord, recorder: &Recorder) {
    // Release pairs with the acquire of the command, which reads the records when this is set.
    record.pace.store(pace, Ordering::Release);
    recorder.ring.header.paced.store(1, Ordering::Release);
    recorder.ring_bell();
}
