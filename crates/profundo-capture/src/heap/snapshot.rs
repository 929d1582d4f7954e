//! The reader's view of allocations: a copy of all rows, and a recording with their stacks.
//!
//! The stacks travel as samples, whose weight is replaced by an identity: so every reader of
//! samples can read them.

use std::collections::HashMap;
use std::sync::atomic::Ordering;

use profundo_probe::MAX_DEPTH;
use profundo_probe::heap::Watch;
use profundo_wire::recording::{LossCounts, Recording};
use profundo_wire::{End, Gil, PythonEnd, SampleHead, State};

use super::memory::{self, OwnedTables};
use super::session::HEAP;
use super::{Rule, exclude_allocations};
use crate::error::Error;
use crate::probe;
use crate::state::STATE;
use crate::{proc, recording, span, task};

/// A recorded allocation.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Allocation {
    /// The number of bytes.
    pub size: u64,
    /// When it was allocated, on the cycle counter.
    pub clock: u64,
    /// When it was freed, on the cycle counter; 0 if that was not seen.
    pub freed: u64,
    /// True if it was freed before its thread allocated anything else.
    pub is_temporary: bool,
    /// The weight of the sample with its stack.
    pub stack: u64,
    /// The weight of the sample with its thread, task and span.
    pub who: u64,
    /// The rule by which it was chosen.
    pub rule: Rule,
}

/// All recorded allocations.
#[derive(Debug, Clone, Default)]
pub struct Allocations {
    /// The recorded allocations, roughly in the order in which they were made.
    pub all: Vec<Allocation>,
    /// Stacks, threads, tasks and modules. Its samples are identities: see [`Allocation`].
    pub recording: Recording,
    /// Allocations without room.
    pub lost: u64,
    /// Allocations that were not followed to their end.
    pub unfollowed: u64,
}

/// Weights from here on stand for threads and tasks, those below for stacks.
const WHO: u64 = 1 << 40;

/// A copy of everything recorded since the last `clear`. Works while allocations are recorded.
pub fn snapshot() -> Result<Allocations, Error> {
    let _excluded = exclude_allocations();
    let state = HEAP.lock();
    // Nothing was ever recorded: the result is empty.
    let (Some(tables), Some(probe)) = (&state.tables, probe::probe()) else {
        return Ok(Allocations::default());
    };
    let totals = state.totals_now();
    let (all, words) = read(tables, |rule| totals.rules.get(&rule).copied());
    let lost = tables.get().rows.lost();
    let unfollowed = |watch: &Watch| watch.unfollowed.load(Ordering::Relaxed);
    let unfollowed = memory::watch().map_or(0, unfollowed);
    let sessions = STATE.lock();
    let recording = Recording {
        chunks: vec![words, span::records()],
        started: totals.started,
        ended: totals.ended,
        duration: totals.duration,
        pid: std::process::id(),
        command: proc::command_line(),
        threads: recording::threads(probe, &sessions.totals),
        tasks: task::infos(),
        modules: sessions
            .modules
            .as_ref()
            .map(|list| list.infos())
            .unwrap_or_default(),
        loss: LossCounts {
            buffer_full: lost,
            ..LossCounts::default()
        },
        buffer_was_full: lost > 0,
        ..Recording::default()
    };
    Ok(Allocations {
        all,
        recording,
        lost,
        unfollowed,
    })
}

/// The rows, and the words of the samples for their stacks, threads and tasks.
fn read(
    tables: &OwnedTables,
    rule_of: impl Fn(u32) -> Option<Rule>,
) -> (Vec<Allocation>, Vec<u64>) {
    let tables = tables.get();
    let mut words = Vec::new();
    let mut room = vec![0; MAX_DEPTH];
    let mut stacks = HashMap::new();
    let mut owners: HashMap<(u32, u64, u32), u64> = HashMap::new();
    let mut all = Vec::with_capacity(tables.rows.len());
    for entry in tables.rows.read() {
        // A rule that is not known any more: the row was begun before the last `clear`.
        let Some(rule) = rule_of(entry.rule) else {
            continue;
        };
        let mut head = SampleHead {
            state: State::Running,
            end: End::Root,
            frames: 0,
            python: 0,
            python_end: PythonEnd::Whole,
            gil: Gil::None,
            clock: entry.clock,
            weight: u64::from(entry.trace),
            task: entry.task,
            thread: entry.thread,
            tid: 0,
            span: entry.span,
        };
        if let Some(record) = probe::probe().and_then(|probe| probe.threads.record(entry.thread)) {
            head.tid = record.tid();
        }
        stacks.entry(entry.trace).or_insert_with(|| {
            if let Some((addresses, end, clock)) = tables.traces.read(entry.trace, &mut room) {
                let head = SampleHead {
                    end: End::from_code(end).unwrap_or(End::Broken),
                    frames: addresses.len() as u16,
                    clock,
                    ..head
                };
                words.extend(head.to_words());
                words.extend(addresses);
            }
        });
        let next = WHO + owners.len() as u64;
        let who = *(owners.entry((entry.thread, entry.task, entry.span))).or_insert_with(|| {
            let weight = next;
            words.extend(SampleHead { weight, ..head }.to_words());
            weight
        });
        all.push(Allocation {
            size: entry.size,
            clock: entry.clock,
            freed: entry.freed,
            is_temporary: entry.is_temporary,
            stack: u64::from(entry.trace),
            who,
            rule,
        });
    }
    (all, words)
}
