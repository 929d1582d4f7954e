//! The spans of one thread.

use std::cell::RefCell;
use std::collections::HashMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use profundo_probe::{Slot, clock, regs, sys};
use profundo_wire::{Span, SpanOwner, span_limit};
use rustc_hash::FxHashMap;

use super::names::{Numbered, OTHERS};
use super::sums::Totals;
use super::{Callsite, GENERATION, with};
use crate::heap::exclude_allocations;
use crate::probe;

/// The numbers of spans that a thread takes at once.
const PORTION: u64 = 1024;
static NUMBERS: AtomicU64 = AtomicU64::new(1);

/// The state of a thread.
#[derive(Debug)]
pub(super) struct ThreadSpans {
    generation: u32,
    slot: &'static Slot,
    tid: u32,
    /// Taken by the thread itself, and by readers.
    inner: Mutex<Inner>,
}

#[derive(Debug, Default)]
struct Inner {
    /// Entered spans, and futures being polled: the last is the innermost.
    open: Vec<Open>,
    totals: Totals,
    /// Known paths, by the path around them and the label.
    paths: FxHashMap<(u32, u32), u32>,
    /// Known labels with attributes.
    labels: HashMap<Box<str>, u32>,
    /// The labels of places whose further attributes are not kept.
    full: FxHashMap<usize, u32>,
    /// The text of a label in the making.
    text: String,
    /// Free numbers: the next, and the end.
    numbers: (u64, u64),
    /// Spans whose attributes were not kept, and those without a name.
    losses: [u64; 2],
}

#[derive(Debug, Clone, Copy)]
struct Open {
    span: Span,
    /// Whether it is of a future, which others know to be open.
    is_polled: bool,
}

thread_local! {
    static LOCAL: Local = const {
        Local {
            spans: RefCell::new(None),
        }
    };
}

/// The calling thread's state, made at its first span.
#[derive(Debug)]
pub(super) struct Local {
    spans: RefCell<Option<Arc<ThreadSpans>>>,
}

impl Local {
    /// Calls `f` with the calling thread's spans. `None`: it is ending, there is no room for it, or
    /// it is in here already, and was interrupted by a signal handler.
    #[inline]
    pub(super) fn with<T>(f: impl FnOnce(&ThreadSpans) -> T) -> Option<T> {
        let _excluded = exclude_allocations();
        LOCAL
            .try_with(|local| {
                let mut spans = local.spans.try_borrow_mut().ok()?;
                let generation = GENERATION.load(Ordering::Relaxed);
                if (spans.as_ref()).is_none_or(|spans| spans.generation != generation) {
                    let new = ThreadSpans::begin(generation)?;
                    // The parent's: its lock may be held for ever.
                    std::mem::forget(spans.replace(new));
                }
                Some(f(spans.as_ref()?))
            })
            .ok()?
    }
}

impl Drop for Local {
    fn drop(&mut self) {
        let Some(spans) = self.spans.get_mut().take() else {
            return;
        };
        if spans.generation == GENERATION.load(Ordering::Relaxed) {
            spans.end();
        }
    }
}

impl ThreadSpans {
    #[cold]
    fn begin(generation: u32) -> Option<Arc<Self>> {
        let probe = probe::probe()?;
        let tid = sys::thread_id();
        let slot = probe.threads.enter(tid, regs::thread_pointer())?;
        let spans = Arc::new(Self {
            generation,
            slot,
            tid,
            inner: Mutex::default(),
        });
        with(|registry| registry.threads.push(Arc::clone(&spans)));
        Some(spans)
    }

    /// The thread ends: its remains are kept with those of others.
    fn end(&self) {
        self.slot.set_span(0);
        with(|registry| {
            registry
                .threads
                .retain(|thread| !std::ptr::eq(&raw const **thread, self));
            let mut inner = self.lock();
            registry.totals().take_over(&mut inner.totals);
            let losses = inner.losses;
            registry.names().lose(losses);
        });
    }

    pub(super) fn generation(&self) -> u32 {
        self.generation
    }

    pub(super) fn slot(&self) -> &'static Slot {
        self.slot
    }

    /// The thread, and its innermost path.
    pub(super) fn owner(&self) -> SpanOwner {
        SpanOwner {
            path: self.slot.span(),
            thread: self.slot.number(),
            tid: self.tid,
        }
    }

    fn lock(&self) -> MutexGuard<'_, Inner> {
        self.inner.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The number of a label with attributes; `write` writes its text.
    pub(super) fn label(&self, site: &'static Callsite, write: impl FnOnce(&mut String)) -> u32 {
        let mut inner = self.lock();
        let mut text = std::mem::take(&mut inner.text);
        // `write` calls the program's own code, which may enter spans.
        drop(inner);
        text.clear();
        write(&mut text);
        let mut inner = self.lock();
        let known = inner.labels.get(&*text).copied();
        let label = match (known, inner.full.get(&site.key()).copied()) {
            (Some(label), _) => label,
            (None, Some(label)) => {
                inner.losses[0] += 1;
                label
            }
            (None, None) => {
                drop(inner);
                let numbered = with(|registry| registry.names().label(&text));
                inner = self.lock();
                inner.learn(site, &text, numbered);
                numbered.label
            }
        };
        inner.text = text;
        label
    }

    /// Begins a span, which `enter` may enter at once. `None`: it is too deep.
    fn begin_with(&self, label: u32, enter: impl FnOnce(&mut Inner, Span)) -> Option<Span> {
        let around = self.slot.span();
        let mut inner = self.lock();
        let known = inner.paths.get(&(around, label)).copied();
        let path = match known {
            Some(path) => path,
            None => {
                drop(inner);
                let path = with(|registry| registry.names().path(around, label));
                inner = self.lock();
                inner.learn_path((around, label), path);
                path
            }
        };
        if path == OTHERS {
            inner.losses[1] += 1;
        }
        if inner.open.len() >= span_limit::DEPTH {
            inner.losses[1] += 1;
            return None;
        }
        let span = Span {
            owner: SpanOwner {
                path,
                ..self.owner()
            },
            task: self.slot.task(),
            number: inner.number(),
            parent: inner.open.last().map_or(0, |open| open.span.number),
            began: clock::now(),
            ended: 0,
        };
        enter(&mut inner, span);
        Some(span)
    }

    /// A span of a future that begins now, and is entered when the future is polled.
    pub(super) fn begin_future(&self, label: u32) -> Option<Span> {
        self.begin_with(label, |_, _| {})
    }

    /// Enters a span; returns its number.
    pub(super) fn enter(&self, label: u32) -> Option<u64> {
        let span = self.begin_with(label, |inner, span| {
            let is_polled = false;
            inner.open.push(Open { span, is_polled });
            self.slot.set_span(span.owner.path);
        });
        span.map(|span| span.number)
    }

    /// Leaves a span that was entered on this thread.
    pub(super) fn leave(&self, number: u64) {
        let mut inner = self.lock();
        if let Some(span) = inner.close(number) {
            self.slot.set_span(inner.innermost());
            let ended = clock::now();
            inner.totals.add(Span { ended, ..span });
        }
    }

    /// Enters the span of a future, which is polled.
    pub(super) fn reenter(&self, span: &Span) {
        let mut inner = self.lock();
        inner.open.push(Open {
            span: *span,
            is_polled: true,
        });
        self.slot.set_span(span.owner.path);
    }

    /// Leaves the span of a future, which goes on.
    pub(super) fn suspend(&self, number: u64) {
        let mut inner = self.lock();
        if inner.close(number).is_some() {
            self.slot.set_span(inner.innermost());
        }
    }

    /// Keeps the span of a future that has ended.
    pub(super) fn keep(&self, span: Span) {
        self.lock().totals.add(span);
    }

    /// Drops ended spans.
    pub(super) fn clear(&self) {
        let mut inner = self.lock();
        inner.totals.clear();
        inner.losses = [0; 2];
    }

    /// Appends the records of its spans; returns the losses.
    pub(super) fn write(&self, out: &mut Vec<u64>) -> [u64; 2] {
        let inner = self.lock();
        inner.totals.write(out);
        let open = inner.open.iter().filter(|open| !open.is_polled);
        out.extend(open.flat_map(|open| open.span.to_words()));
        inner.losses
    }
}

impl Inner {
    fn innermost(&self) -> u32 {
        self.open.last().map_or(0, |open| open.span.owner.path)
    }

    /// Takes an open span out.
    fn close(&mut self, number: u64) -> Option<Span> {
        let at = self
            .open
            .iter()
            .rposition(|open| open.span.number == number)?;
        Some(self.open.remove(at).span)
    }

    fn number(&mut self) -> u64 {
        if self.numbers.0 == self.numbers.1 {
            let first = NUMBERS.fetch_add(PORTION, Ordering::Relaxed);
            self.numbers = (first, first + PORTION);
        }
        self.numbers.0 += 1;
        self.numbers.0 - 1
    }

    fn learn_path(&mut self, place: (u32, u32), path: u32) {
        /// Few programs have so many on one thread.
        const MOST: usize = 1 << 14;
        if self.paths.len() >= MOST {
            self.paths.clear();
        }
        self.paths.insert(place, path);
    }

    fn learn(&mut self, site: &'static Callsite, text: &str, numbered: Numbered) {
        /// Room for the attributes of some names.
        const MOST: usize = 4 * span_limit::LABELS_OF_NAME as usize;
        if numbered.is_one_for_many {
            self.losses[0] += 1;
            self.full.insert(site.key(), numbered.label);
            return;
        }
        if self.labels.len() >= MOST {
            self.labels.clear();
        }
        self.labels.insert(text.into(), numbered.label);
    }
}
