//! The task clocks of threads. A thread that runs on asks for one, and gives it back when it is
//! switched often (`profundo_probe::pace`).
//!
//! Each clock has a period of its own, which changes again and again (`profundo_probe::phase`), so
//! that no loop of the program can be in step with it. The kernel restarts a clock whose period
//! changes: half of a period is lost on average, which the next tick stands for.

use std::io;
use std::sync::Arc;
use std::sync::atomic::Ordering;

use profundo_linux::perf::{Signal, TaskClock};
use profundo_linux::proc;
use profundo_probe::shared::trap_state;
use profundo_probe::{ThreadRecord, pace};

use super::signal::{is_changed, is_same_program};
use super::{Agent, ClockPlan, Thread};

/// The samples after which a clock's period changes. Counting samples, and not time, keeps the
/// average rate nominal.
const STRETCH: u64 = 50;

impl Agent {
    /// Opens the clocks that threads ask for, and closes those that were given back.
    pub(crate) fn update_clocks(&mut self, plan: ClockPlan) {
        // Acquire pairs with the thread's release: its record has the request.
        if !plan.ours || self.header().paced.swap(0, Ordering::AcqRel) == 0 {
            return;
        }
        let map = Arc::clone(&self.map);
        let clocks = self.for_clocks(plan);
        let mut threads = std::mem::take(&mut self.threads);
        for thread in &mut threads {
            let Some(record) = map
                .record(thread.index)
                .filter(|record| !record.has_ended())
            else {
                continue;
            };
            let wants_clock = record.pace.load(Ordering::Acquire) == pace::CLOCK;
            match (wants_clock, &thread.clock) {
                (true, None) if !thread.is_refused => {
                    self.open_clock(thread, record, self.signal, clocks);
                }
                (false, Some(clock)) => {
                    clock.disable();
                    thread.clock = None;
                    record.clock.store(0, Ordering::Relaxed);
                }
                _ => {}
            }
        }
        self.threads = threads;
    }

    /// Opens a thread's clock with this signal.
    pub(super) fn open_clock(
        &mut self,
        thread: &mut Thread,
        record: &ThreadRecord,
        signal: Signal,
        plan: ClockPlan,
    ) {
        let place = self.header().tables.load(Ordering::Relaxed);
        let signals = Signals {
            signal,
            fallback: self.asked(),
        };
        match start_clock(thread, record, self.pid, place, signals, plan) {
            Ok(()) => {
                let sent = thread.clock.as_ref().map(|clock| clock.signal);
                if sent.is_some_and(|signal| signal != Signal::Trap) {
                    is_changed(self.header(), trap_state::USED, trap_state::WELCOME);
                }
            }
            Err(error) => {
                thread.is_refused = true;
                self.without_clock += 1;
                self.refusal = Some(error);
            }
        }
    }

    /// Draws new periods for the clocks of threads that have run for a while since the last draw.
    pub(crate) fn vary_periods(&mut self, period: u64) {
        for thread in &mut self.threads {
            let Some(clock) = &thread.clock else { continue };
            if thread.samples.saturating_sub(thread.varied) < STRETCH {
                continue;
            }
            thread.varied = thread.samples;
            if let Some(record) = self.map.record(thread.index) {
                let old = record.period.load(Ordering::Relaxed);
                let new = thread.periods.next(period);
                clock.set_period(new);
                record.period.store(new, Ordering::Relaxed);
                record.skipped.fetch_add(old / 2, Ordering::Relaxed);
            }
        }
    }
}

/// The signal of a clock, and another one where the kernel does not know it for clocks.
struct Signals {
    signal: Signal,
    fallback: Signal,
}

/// Opens a thread's clock, unless the thread has ended.
fn start_clock(
    thread: &mut Thread,
    record: &ThreadRecord,
    pid: u32,
    tables: u64,
    Signals { signal, fallback }: Signals,
    plan: ClockPlan,
) -> io::Result<()> {
    let period = thread.periods.next(plan.period);
    let opened = TaskClock::open(thread.tid, period, signal).or_else(|error| match signal {
        // The kernel does not know this signal for clocks.
        Signal::Trap => TaskClock::open(thread.tid, period, fallback),
        Signal::Asked(_) => Err(error),
    });
    let mut clock = match opened {
        Ok(clock) => clock,
        Err(error) if error.raw_os_error() == Some(libc::ESRCH) => return Ok(()),
        Err(error) => return Err(error),
    };
    // By now the process may have executed another program, which would be killed by the first
    // signal, or by a later one if the clock's signal changes. If it executes one after this check,
    // the kernel closes the clock.
    if !is_same_program(pid, tables, plan.mark) {
        if tables != 0 || clock.signal == Signal::Trap {
            return Ok(());
        }
        // The check is not possible.
        if clock.signal.is_deadly() {
            clock.send(0)?;
        }
    }
    // The thread may have ended, and its number may belong to another process.
    if !proc::has_thread(pid, thread.tid) {
        return Ok(());
    }
    thread.ran_before = thread.ran(pid, record);
    thread.varied = thread.samples;
    record.period.store(period, Ordering::Relaxed);
    // Release: the handler knows the clock before its first signal arrives.
    record
        .clock
        .store(clock.number() as u32 + 1, Ordering::Release);
    if plan.running {
        clock.enable()?;
    }
    thread.clock = Some(clock);
    Ok(())
}
