//! What a reader gets: a copy of the samples and of all that their numbers point into.

use std::sync::atomic::Ordering;

use profundo_probe::Probe;
use profundo_wire::recording::{LossCounts, Recording, ThreadInfo};

use crate::error::Error;
use crate::global::{self, STATE};
use crate::modules::ModuleList;
use crate::session::{Session, Totals};
use crate::{calibrate, clock, proc, task};

/// The probe's counters at one moment.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct CounterValues {
    buffer_full: u64,
    reentrant: u64,
    thread_table_full: u64,
    cycles: u64,
    handled: u64,
}

impl CounterValues {
    pub(crate) const ZERO: Self = Self {
        buffer_full: 0,
        reentrant: 0,
        thread_table_full: 0,
        cycles: 0,
        handled: 0,
    };

    pub(crate) fn of(probe: &Probe) -> Self {
        let counters = &probe.counters;
        Self {
            buffer_full: counters.buffer_full.load(Ordering::Relaxed),
            reentrant: counters.reentrant.load(Ordering::Relaxed),
            thread_table_full: counters.thread_table_full.load(Ordering::Relaxed),
            cycles: counters.cycles.load(Ordering::Relaxed),
            handled: counters.handled.load(Ordering::Relaxed),
        }
    }
}

/// Adds a session to the totals.
pub(crate) fn add_up(totals: &mut Totals, session: &Session, cpu: u64, probe: &Probe) {
    let now = clock::now();
    totals.ended = now;
    totals.duration += now.monotonic.saturating_sub(session.started.monotonic);
    totals.cpu += cpu;
    let per_cycle = nanoseconds_per_cycle(session.started, now);
    for (number, record) in probe.threads.records() {
        let (first, last) = record.seen();
        let alive = (last.saturating_sub(first) as f64 * per_cycle) as u64;
        let cpu = record
            .cpu
            .load(Ordering::Relaxed)
            .saturating_sub(record.cpu_before.load(Ordering::Relaxed));
        let entry = totals.threads.entry(number).or_default();
        entry.0 += alive;
        entry.1 += cpu;
    }
}

fn nanoseconds_per_cycle(
    from: profundo_wire::recording::Instant,
    to: profundo_wire::recording::Instant,
) -> f64 {
    let cycles = to.cycles.wrapping_sub(from.cycles);
    if cycles == 0 {
        return 0.0;
    }
    to.monotonic.saturating_sub(from.monotonic) as f64 / cycles as f64
}

/// A copy of everything recorded since the buffer was last emptied. Works while a session runs.
pub fn snapshot() -> Result<Recording, Error> {
    let probe = global::probe().ok_or(Error::NotInitialized)?;
    let state = STATE.lock();
    let buffer = state.buffer.as_ref().ok_or(Error::NotInitialized)?;
    let chunks = buffer.copy_chunks();
    let (mut totals_now, totals);
    match &state.session {
        Some(session) => {
            totals_now = copy_of(&state.totals);
            add_up(&mut totals_now, session, session.cpu(), probe);
            totals = &totals_now;
        }
        None => totals = &state.totals,
    }
    let counters = CounterValues::of(probe);
    let before = totals.before;
    let cycles = counters.cycles - before.cycles;
    let handled = counters.handled - before.handled;
    let per_cycle = nanoseconds_per_cycle(totals.started, totals.ended);
    let own_cost = calibrate::delivery_cost()
        .map(|delivery| (cycles as f64 * per_cycle) as u64 + handled * delivery);
    Ok(Recording {
        chunks,
        engine: totals.engine,
        period: totals.period,
        started: totals.started,
        ended: totals.ended,
        duration: totals.duration,
        cpu: totals.cpu,
        own_cost,
        pid: std::process::id(),
        command: proc::command_line(),
        threads: threads(probe, totals),
        tasks: task::infos(),
        modules: state
            .modules
            .as_ref()
            .map(|list| list.infos())
            .unwrap_or_default(),
        loss: LossCounts {
            buffer_full: counters.buffer_full - before.buffer_full,
            overwritten: buffer.get().overwritten(),
            reentrant: counters.reentrant - before.reentrant,
            thread_table_full: counters.thread_table_full - before.thread_table_full,
        },
        buffer_was_full: buffer.get().is_full(),
        notes: totals.notes.clone(),
    })
}

/// How often handlers ran since the process began, and the cycles that they took. The benches
/// tell our part of a sample from the kernel's by it.
#[doc(hidden)]
pub fn handler_cost() -> (u64, u64) {
    let counters = global::probe().map_or(CounterValues::ZERO, CounterValues::of);
    (counters.handled, counters.cycles)
}

/// The bytes of all unwind tables at this moment. The benches take them out of what a session
/// adds to a process.
#[doc(hidden)]
pub fn table_bytes() -> usize {
    let state = STATE.lock();
    state.modules.as_ref().map_or(0, ModuleList::table_bytes)
}

fn copy_of(totals: &Totals) -> Totals {
    Totals {
        engine: totals.engine,
        period: totals.period,
        started: totals.started,
        ended: totals.ended,
        duration: totals.duration,
        cpu: totals.cpu,
        threads: totals.threads.clone(),
        notes: totals.notes.clone(),
        before: totals.before,
    }
}

pub(crate) fn threads(probe: &Probe, totals: &Totals) -> Vec<ThreadInfo> {
    let info = |(number, record): (u32, &'static profundo_probe::ThreadRecord)| {
        // A thread names itself after it has started: ask again while it lives.
        if proc::is_alive(record.tid()) && !record.has_ended() {
            record.set_name(proc::thread_name(record.tid()));
        }
        let name = record.name();
        let end = name
            .iter()
            .position(|&byte| byte == 0)
            .unwrap_or(name.len());
        let (alive, cpu) = totals.threads.get(&number).copied().unwrap_or_default();
        ThreadInfo {
            number,
            tid: record.tid(),
            name: String::from_utf8_lossy(&name[..end]).into_owned(),
            alive,
            cpu,
        }
    };
    probe.threads.records().map(info).collect()
}
