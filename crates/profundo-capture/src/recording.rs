//! The reader's view: a copy of the samples and of all lists that their numbers point into.

use profundo_probe::Probe;
use profundo_wire::recording::{LossCounts, Recording, ThreadInfo};

use crate::error::Error;
use crate::modules::ModuleList;
use crate::state::STATE;
use crate::totals::{CounterValues, ThreadTimes, Totals, nanoseconds_per_cycle};
use crate::{calibrate, probe, proc, span, task};

/// A copy of everything recorded since the buffer was last emptied. Works while a session runs.
pub fn snapshot() -> Result<Recording, Error> {
    let probe = probe::probe().ok_or(Error::NotInitialized)?;
    let state = STATE.lock();
    let buffer = state.buffer.as_ref().ok_or(Error::NotInitialized)?;
    let mut chunks = buffer.copy_chunks();
    chunks.push(span::records());
    let (mut totals_now, totals);
    match &state.session {
        Some(session) => {
            totals_now = state.totals.clone();
            totals_now.add(session.started, session.cpu(), probe);
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

/// The number of handler runs since the process began, and their cycles. With them, the benches
/// separate our part of a sample from the kernel's.
#[doc(hidden)]
pub fn handler_cost() -> (u64, u64) {
    let counters = probe::probe().map_or(CounterValues::ZERO, CounterValues::of);
    (counters.handled, counters.cycles)
}

/// The bytes of all unwind tables at this moment. The benches subtract them from the memory that a
/// session adds to a process.
#[doc(hidden)]
pub fn table_bytes() -> usize {
    let state = STATE.lock();
    state.modules.as_ref().map_or(0, ModuleList::table_bytes)
}

/// The threads, with their share of the totals.
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
        let ThreadTimes { alive, cpu } = totals.threads.get(&number).copied().unwrap_or_default();
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
