//! Spans and marks: stretches of work and instants that the program names.
//!
//! ```
//! # fn answer(_: &str) {}
//! # let requests = ["/a", "/b"];
//! for path in requests {
//!     let _span = profundo::span!("request", route = path);
//!     answer(path);
//! } // the span ends with its guard
//! profundo::mark!("all answered");
//! ```
//!
//! Samples and allocations that are taken in a span carry it, with the spans around it. The command
//! shows spans with `profundo report FILE spans`, and every report, export and picture takes
//! `--span NAME`.
//!
//! A guard belongs to its thread. The span of a future is [`SpanExt::in_span`]: it goes with the
//! future from thread to thread, and counts as entered only while the future is polled.
//!
//! ```
//! use profundo::SpanExt;
//!
//! async fn answer(path: &str) -> usize { path.len() }
//!
//! let path = "/a";
//! let future = answer(path).in_span(profundo::label!("request", route = path));
//! # drop(future);
//! ```
//!
//! Spans are known from the start of a session on. Entering and leaving one takes some 0.06 µs
//! while a session runs, twice that with an attribute, and a nanosecond otherwise: attributes are
//! not even evaluated then. The memory is bounded. Of the first 131 072 spans each is kept, of the
//! others sums with percentiles. An attribute may have a thousand or so different values for one
//! name of a span; beyond these, its value is `…`.

use std::fmt::{Arguments, Display};
use std::future::Future;
use std::marker::PhantomData;
use std::pin::Pin;
use std::task::{Context, Poll};

#[doc(hidden)]
pub use profundo_capture::span::Callsite;
use profundo_capture::span::{self as recorded, Entered, FutureSpan};

/// Enters a span on the calling thread; the guard that this returns leaves it.
///
/// The name is a constant. Attributes are `key = value` with any value that can be displayed. They
/// are evaluated only while a session runs.
///
/// ```
/// let step = 3;
/// let span = profundo::span!("step", number = step, kind = "warm-up");
/// drop(span);
/// ```
#[macro_export]
macro_rules! span {
    ($name:expr $(, $key:ident = $value:expr)* $(,)?) => {{
        static SITE: $crate::span::Callsite = $crate::span::Callsite::new($name);
        match $crate::span::is_wanted() {
            true => $crate::span::enter(
                &SITE,
                &[$((::core::stringify!($key), &$value as &dyn ::core::fmt::Display)),*],
            ),
            false => $crate::span::SpanGuard::default(),
        }
    }};
}

/// The name and the attributes of a span, for [`SpanExt::in_span`]: as those of
/// [`span!`](crate::span!).
#[macro_export]
macro_rules! label {
    ($name:expr $(, $key:ident = $value:expr)* $(,)?) => {{
        static SITE: $crate::span::Callsite = $crate::span::Callsite::new($name);
        match $crate::span::is_wanted() {
            true => $crate::span::label(
                &SITE,
                &[$((::core::stringify!($key), &$value as &dyn ::core::fmt::Display)),*],
            ),
            false => $crate::span::label(&SITE, &[]),
        }
    }};
}

/// Notes a named instant. The name is text as that of `println!`.
///
/// ```
/// let epoch = 3;
/// profundo::mark!("epoch {epoch}");
/// ```
#[macro_export]
macro_rules! mark {
    ($($name:tt)+) => {
        if $crate::span::is_wanted() {
            $crate::span::mark(::core::format_args!($($name)+));
        }
    };
}

/// Leaves a span when it drops, on the thread that entered it.
///
/// ```compile_fail
/// let span = profundo::span!("here");
/// std::thread::spawn(move || drop(span));
/// ```
#[derive(Debug, Default)]
#[must_use = "the span ends with its guard"]
pub struct SpanGuard {
    entered: Option<Entered>,
    _here: PhantomData<*const ()>,
}

impl Drop for SpanGuard {
    #[inline]
    fn drop(&mut self) {
        if let Some(entered) = self.entered.take() {
            recorded::leave(&entered);
        }
    }
}

/// Whether spans are recorded now.
#[doc(hidden)]
#[inline]
pub fn is_wanted() -> bool {
    recorded::wants_spans()
}

#[doc(hidden)]
pub fn enter(site: &'static Callsite, attributes: &[(&'static str, &dyn Display)]) -> SpanGuard {
    SpanGuard {
        entered: recorded::enter(site, attributes),
        _here: PhantomData,
    }
}

#[doc(hidden)]
pub fn label(site: &'static Callsite, attributes: &[(&'static str, &dyn Display)]) -> Label {
    Label(recorded::Label::new(site, attributes))
}

#[doc(hidden)]
pub fn mark(name: Arguments<'_>) {
    recorded::mark(&name);
}

/// The name and the attributes of a span: see [`label!`](crate::label!).
#[derive(Debug, Clone)]
pub struct Label(recorded::Label);

/// Wraps any future into an [`InSpan`] one.
pub trait SpanExt: Future + Sized {
    /// Gives the future a span: from its first poll to its end, or until it is dropped. Samples are
    /// in it while the future is polled.
    fn in_span(self, label: Label) -> InSpan<Self> {
        InSpan {
            label,
            span: Begun::Not,
            future: self,
        }
    }
}

impl<F: Future> SpanExt for F {}

/// A future with a span.
#[derive(Debug)]
#[must_use = "futures do nothing unless polled"]
pub struct InSpan<F> {
    label: Label,
    span: Begun,
    future: F,
}

/// The span of a future: it begins at the first poll, if a session runs then.
#[derive(Debug)]
enum Begun {
    Not,
    Yes(Option<FutureSpan>),
}

impl<F: Future> Future for InSpan<F> {
    type Output = F::Output;

    fn poll(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<F::Output> {
        // SAFETY: `future` is pinned with `self` and never moved out of it; the others are not
        // pinned, and nothing hands out a pinned reference to them.
        let (label, span, future) = unsafe {
            let this = self.get_unchecked_mut();
            let future = Pin::new_unchecked(&mut this.future);
            (&this.label, &mut this.span, future)
        };
        if let Begun::Not = span {
            *span = Begun::Yes(FutureSpan::begin(&label.0));
        }
        let Begun::Yes(Some(its)) = &span else {
            return future.poll(context);
        };
        let polled = its.poll();
        let result = future.poll(context);
        drop(polled);
        if result.is_ready() {
            *span = Begun::Yes(None);
        }
        result
    }
}
