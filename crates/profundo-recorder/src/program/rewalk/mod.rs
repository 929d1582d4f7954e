//! The walks of one program that are done again: missing modules are looked for, and addresses
//! outside of all modules are remembered.

mod walker;

use std::borrow::Cow;
use std::collections::HashSet;
use std::sync::atomic::Ordering;

use profundo_probe::buffer::CHUNK_WORDS;
use profundo_probe::shared::CHUNKS;
use profundo_process::copied_stack::modules;
use profundo_process::modules::Store;
use profundo_wire::recording::Event;

use crate::agent::Words;
use crate::program::Program;

use walker::{Outcome, Walker};

/// The most words that a program's handlers may write between two turns for repeated walks: a
/// quarter of its ring.
const MOST: u32 = (CHUNKS * CHUNK_WORDS / 4) as u32;

/// A smaller allowance is of no use.
const LEAST: u32 = CHUNK_WORDS as u32 / 2;

/// The most words that may wait for tables.
const MOST_WAITING: usize = 1 << 20;

/// The most pages that are remembered as outside of all modules.
const MOST_NOWHERE: usize = 64;

/// The state between two turns.
#[derive(Debug)]
pub(crate) struct RewalkState {
    /// The words that its handlers may write; fewer while repeated walks do not help.
    allowed: u32,
    /// Pages of code that were not found in any module since the last change.
    nowhere: HashSet<u64>,
    /// Samples whose modules' tables are being compiled.
    waiting: Vec<u64>,
}

impl RewalkState {
    pub(crate) fn new() -> Self {
        Self {
            allowed: MOST,
            nowhere: HashSet::new(),
            waiting: Vec::new(),
        }
    }
}

impl Program {
    /// Sets the words that its handlers may write.
    pub(crate) fn allow_rewalks(&self) {
        if let Some(agent) = self.agent() {
            let allowed = &agent.header().rewalk_words;
            allowed.store(self.rewalks.allowed, Ordering::Relaxed);
        }
    }

    /// The modules have changed: walks may lead further now.
    pub(crate) fn expect_rewalks(&mut self) {
        self.rewalks.allowed = MOST;
        self.rewalks.nowhere.clear();
    }

    /// Repeats the walks in the words, and those that have waited. Returns whether modules were
    /// found.
    pub(crate) fn rewalk(
        &mut self,
        words: &mut Words,
        is_last: bool,
        now: u64,
        store: &mut Store,
        sink: &mut dyn FnMut(Event<'_>),
    ) -> bool {
        if !words.is_unfinished() && self.rewalks.waiting.is_empty() {
            return false;
        }
        let has_news = words.is_unfinished();
        words.put_first(&std::mem::take(&mut self.rewalks.waiting));
        let (mut found, mut outcome) = self.rewritten(words, is_last, store);
        let nowhere = &mut self.rewalks.nowhere;
        let is_new = outcome.unknown.iter().any(|page| !nowhere.contains(page));
        let mut changed = false;
        if is_new && nowhere.len() < MOST_NOWHERE {
            changed = self.find_modules(now, store, sink);
            if changed {
                self.expect_rewalks();
            }
            (found, outcome) = self.rewritten(words, is_last, store);
            self.rewalks.nowhere.extend(outcome.unknown);
        }
        if has_news && outcome.better == 0 && outcome.pending.is_empty() {
            let less = self.rewalks.allowed / 2;
            self.rewalks.allowed = if less < LEAST { 0 } else { less };
        }
        self.rewalks.waiting = outcome.pending;
        *words = found;
        changed
    }

    fn rewritten(&self, words: &Words, is_last: bool, store: &Store) -> (Words, Outcome) {
        let listed = modules(&self.modules, store);
        let modules = |clock| match self.mapping_history.is_settled(clock) {
            true => Cow::Borrowed(&listed[..]),
            false => Cow::Owned(self.mapping_history.modules_at(&self.modules, clock, store)),
        };
        let compiling = self.modules.being_compiled();
        let is_pending = |address| {
            let mut ranges = compiling.iter();
            ranges.any(|&(start, end)| (start..end).contains(&address))
        };
        let walker = Walker {
            pid: self.pid,
            modules: &modules,
            is_pending: &is_pending,
            evaluation: &self.modules.evaluation(),
        };
        let mut outcome = Outcome::default();
        let found = words.rewritten(|from, to| {
            let is_last = is_last || outcome.pending.len() > MOST_WAITING;
            walker.rewrite(from, is_last, to, &mut outcome);
        });
        (found, outcome)
    }
}
