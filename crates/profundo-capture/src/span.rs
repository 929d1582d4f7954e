//! Spans and marks: stretches of work and instants that the program names, while a session runs.
//!
//! The *path* of a span is its name and attributes below those of the spans around it. The thread's
//! slot has the number of the innermost path, and the handler writes it with each sample. Names and
//! paths are distinct ones, numbered once for the process ([`names`]). A thread keeps its own open
//! spans, its first ended ones and sums behind a lock that only a reader takes besides
//! ([`thread`]). All are bounded: a program may enter a span ten million times.

mod labels;
mod names;
mod sums;
mod thread;

use std::collections::HashMap;
use std::fmt::Display;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};

use profundo_probe::heap::SWITCH;
use profundo_wire::{Mark, Span, SpanLoss, span_limit};

use self::names::Names;
use self::sums::{Kept, Totals};
use self::thread::{Local, ThreadSpans};
use crate::heap::exclude_allocations;
use crate::lock::{ForkLock, Fresh};
use crate::probe;

pub use labels::{Callsite, Label};

static SPANS: ForkLock<Registry> = ForkLock::new(Registry::new());
/// Distinguishes registries: a forked child begins a new one, and numbers of the old one are not
/// used there.
static GENERATION: AtomicU32 = AtomicU32::new(1);

/// Everything about spans that threads share.
#[derive(Debug)]
struct Registry {
    /// The generation that its numbers belong to.
    generation: u32,
    names: Option<Names>,
    threads: Vec<Arc<ThreadSpans>>,
    /// The remains of ended threads.
    totals: Option<Totals>,
    /// Open spans of futures, by their numbers.
    futures: Option<HashMap<u64, Span>>,
    /// The records of marks.
    marks: Vec<Vec<u64>>,
    lost_marks: u64,
}

impl Registry {
    const fn new() -> Self {
        Self {
            generation: 0,
            names: None,
            threads: Vec::new(),
            totals: None,
            futures: None,
            marks: Vec::new(),
            lost_marks: 0,
        }
    }

    fn names(&mut self) -> &mut Names {
        self.names.get_or_insert_with(Names::new)
    }

    fn totals(&mut self) -> &mut Totals {
        self.totals.get_or_insert_default()
    }
}

impl Fresh for Registry {
    fn fresh() -> Self {
        Self::new()
    }
}

/// Calls `f` with the registry of this process.
fn with<T>(f: impl FnOnce(&mut Registry) -> T) -> T {
    let _excluded = exclude_allocations();
    let mut registry = SPANS.lock();
    let generation = GENERATION.load(Ordering::Relaxed);
    if registry.generation != generation {
        // The parent's, or none. Threads of the parent may hold locks in it for ever: it is leaked.
        let old = std::mem::replace(&mut *registry, Registry::new());
        std::mem::forget(old);
        registry.generation = generation;
        Kept::release_all();
    }
    f(&mut registry)
}

/// In the child of a fork: begins anew. No lock is taken.
pub(crate) fn reset_after_fork() {
    GENERATION.fetch_add(1, Ordering::Relaxed);
}

/// Whether spans are recorded now: while a session runs, or allocations are recorded.
#[inline]
pub fn wants_spans() -> bool {
    probe::RUNNING.load(Ordering::Relaxed) || SWITCH.load().is_recording()
}

/// The path of the calling thread's innermost span; 0 outside of spans.
pub(crate) fn current_path() -> u32 {
    Local::with(|spans| spans.slot().span()).unwrap_or(0)
}

/// A span that the calling thread has entered. It is left by [`leave`].
#[derive(Debug)]
#[must_use = "a span that is entered is left, too"]
pub struct Entered {
    generation: u32,
    number: u64,
}

/// Enters a span on the calling thread. `None`: no session runs, or the thread is ending.
#[inline]
pub fn enter(
    site: &'static Callsite,
    attributes: &[(&'static str, &dyn Display)],
) -> Option<Entered> {
    if !wants_spans() {
        return None;
    }
    Local::with(|spans| {
        let label = labels::number(spans, site, attributes);
        let number = spans.enter(label)?;
        let generation = spans.generation();
        Some(Entered { generation, number })
    })?
}

/// Leaves a span. Spans may be left in another order than they were entered in reverse.
#[inline]
pub fn leave(entered: &Entered) {
    Local::with(|spans| {
        if spans.generation() == entered.generation {
            spans.leave(entered.number);
        }
    });
}

/// The span of a future. Dropping it ends the span.
#[derive(Debug)]
pub struct FutureSpan {
    generation: u32,
    span: Span,
}

/// While it lives, the calling thread polls the future of a span.
#[derive(Debug)]
pub struct Polled {
    entered: Entered,
}

impl FutureSpan {
    /// Begins the span of a future, below the calling thread's innermost one. `None`: no session
    /// runs.
    pub fn begin(label: &Label) -> Option<Self> {
        if !wants_spans() {
            return None;
        }
        Local::with(|spans| {
            let number = label.number(spans);
            let span = spans.begin_future(number)?;
            let generation = spans.generation();
            with(|registry| {
                let futures = registry.futures.get_or_insert_default();
                futures.insert(span.number, span);
            });
            Some(Self { generation, span })
        })?
    }

    /// Notes that the calling thread polls the future, until the guard drops.
    pub fn poll(&self) -> Option<Polled> {
        Local::with(|spans| {
            (spans.generation() == self.generation).then(|| {
                spans.reenter(&self.span);
                let entered = Entered {
                    generation: self.generation,
                    number: self.span.number,
                };
                Polled { entered }
            })
        })?
    }
}

impl Drop for Polled {
    fn drop(&mut self) {
        Local::with(|spans| spans.suspend(self.entered.number));
    }
}

impl Drop for FutureSpan {
    fn drop(&mut self) {
        if self.generation != GENERATION.load(Ordering::Relaxed) {
            return;
        }
        let known = with(|registry| registry.futures.as_mut()?.remove(&self.span.number));
        if known.is_none() {
            return;
        }
        let ended = Span {
            ended: profundo_probe::clock::now(),
            ..self.span
        };
        let kept = Local::with(|spans| spans.keep(ended));
        if kept.is_none() {
            // The thread is ending.
            with(|registry| registry.totals().add(ended));
        }
    }
}

/// Notes a named instant of the calling thread. A long name is cut.
pub fn mark(name: &dyn Display) {
    if !wants_spans() {
        return;
    }
    let clock = profundo_probe::clock::now();
    let name = labels::cleaned(name);
    let owner = Local::with(|spans| (spans.owner(), spans.slot().task()));
    let (owner, task) = owner.unwrap_or_default();
    with(|registry| {
        if registry.marks.len() < span_limit::MARKS {
            let words = Mark::words(owner, task, clock, &name);
            registry.marks.push(words);
        } else {
            registry.lost_marks += 1;
        }
    });
}

/// Drops all ended spans and all marks. Open spans go on.
pub(crate) fn clear() {
    let threads = with(|registry| {
        registry.totals = None;
        registry.marks.clear();
        registry.lost_marks = 0;
        if let Some(names) = &mut registry.names {
            names.forget_losses();
        }
        registry.threads.clone()
    });
    for thread in threads {
        thread.clear();
    }
    Kept::release_all();
}

/// The records of all spans and marks so far: the paths first.
pub(crate) fn records() -> Vec<u64> {
    with(|registry| {
        let mut words = Vec::new();
        let Some(names) = &registry.names else {
            return words;
        };
        names.write(&mut words);
        if let Some(totals) = &registry.totals {
            totals.write(&mut words);
        }
        for open in registry.futures.iter().flat_map(HashMap::values) {
            words.extend(open.to_words());
        }
        words.extend(registry.marks.iter().flatten());
        let [attributes, others] = names.losses();
        let mut loss = SpanLoss {
            marks: registry.lost_marks,
            attributes,
            names: others,
        };
        for thread in &registry.threads {
            let [attributes, names] = thread.write(&mut words);
            loss.attributes += attributes;
            loss.names += names;
        }
        if loss != SpanLoss::default() {
            words.extend(loss.to_words());
        }
        words
    })
}

#[cfg(test)]
mod tests;
