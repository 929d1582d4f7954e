//! The walks of one program that are done again: what they need is looked for, and what they lead to
//! that is nowhere is remembered.

use std::borrow::Cow;
use std::collections::HashSet;
use std::sync::atomic::Ordering;

use profundo_probe::buffer::CHUNK_WORDS;
use profundo_probe::shared::CHUNKS;
use profundo_wire::recording::Event;

use crate::agent::Words;
use crate::copied_stack::modules;
use crate::modules::Store;
use crate::program::Program;
use crate::rewalk::{Outcome, Walker};

/// How many words a program's handlers may write between two looks so that walks can be done again: a
/// quarter of its ring.
const MOST: u32 = (CHUNKS * CHUNK_WORDS / 4) as u32;

/// Less is as good as nothing.
const LEAST: u32 = CHUNK_WORDS as u32 / 2;

/// Words that may wait for tables.
const MOST_WAITING: usize = 1 << 20;

/// Pages that may be known to be nowhere.
const MOST_NOWHERE: usize = 64;

/// What is remembered of a program between two looks.
#[derive(Debug)]
pub(crate) struct AgainState {
    /// How many words its handlers may write; less when nothing comes of it.
    allowed: u32,
    /// Pages of code that was looked for in vain since the last change.
    nowhere: HashSet<u64>,
    /// Samples whose modules' tables are being compiled.
    waiting: Vec<u64>,
}

impl AgainState {
    pub(crate) fn new() -> Self {
        Self {
            allowed: MOST,
            nowhere: HashSet::new(),
            waiting: Vec::new(),
        }
    }
}

impl Program {
    /// Says how much its handlers may write.
    pub(crate) fn allow_again(&self) {
        if let Some(agent) = self.agent() {
            let allowed = &agent.header().again;
            allowed.store(self.again.allowed, Ordering::Relaxed);
        }
    }

    /// The modules, or what is known of them, are others than they were.
    pub(crate) fn expect_again(&mut self) {
        self.again.allowed = MOST;
        self.again.nowhere.clear();
    }

    /// Walks again what the words say, and what has waited. Returns whether modules were found.
    pub(crate) fn walk_again(
        &mut self,
        words: &mut Words,
        is_last: bool,
        now: u64,
        store: &mut Store,
        sink: &mut dyn FnMut(Event<'_>),
    ) -> bool {
        if !words.is_unfinished() && self.again.waiting.is_empty() {
            return false;
        }
        let has_news = words.is_unfinished();
        words.put_first(&std::mem::take(&mut self.again.waiting));
        let (mut found, mut outcome) = self.rewritten(words, is_last, store);
        let nowhere = &mut self.again.nowhere;
        let is_new = outcome.unknown.iter().any(|page| !nowhere.contains(page));
        let mut changed = false;
        if is_new && nowhere.len() < MOST_NOWHERE {
            changed = self.look_for_modules(now, store, sink);
            if changed {
                self.expect_again();
            }
            (found, outcome) = self.rewritten(words, is_last, store);
            self.again.nowhere.extend(outcome.unknown);
        }
        if has_news && outcome.better == 0 && outcome.pending.is_empty() {
            let less = self.again.allowed / 2;
            self.again.allowed = if less < LEAST { 0 } else { less };
        }
        self.again.waiting = outcome.pending;
        *words = found;
        changed
    }

    fn rewritten(&self, words: &Words, is_last: bool, store: &Store) -> (Words, Outcome) {
        let listed = modules(&self.modules, store);
        let modules = |clock| match self.told.is_settled(clock) {
            true => Cow::Borrowed(&listed[..]),
            false => Cow::Owned(self.told.modules_at(&self.modules, clock, store)),
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
