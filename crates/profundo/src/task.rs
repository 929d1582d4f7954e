//! Tasks: futures that reports distinguish, whatever runtime polls them.
//!
//! ```
//! use profundo::TaskExt;
//!
//! async fn serve() -> u32 { 42 }
//!
//! let future = serve().profiled("serve"); // give this to your executor's `spawn`
//! # drop(future);
//! ```
//!
//! While a wrapped future is polled, samples of its thread carry its number, and `group_by` can
//! separate them. While it is parked, the wall-clock profiler shows its wait: the stack from which
//! it last handed out its waker. Futures that are not wrapped are invisible, except as part of the
//! thread that runs them.

mod waker;

use std::future::Future;
use std::panic::Location;
use std::pin::Pin;
use std::task::{Context, Poll};

use profundo_capture::TaskHandle;

/// Wraps any future into a [`Profiled`] one.
pub trait TaskExt: Future + Sized {
    /// Gives the future a number and a name under which reports show it. The name should be that of
    /// a kind of work, for reports keep 8192 of them, each of up to 200 bytes; the number
    /// distinguishes tasks of one name.
    #[track_caller]
    fn profiled(self, name: impl AsRef<str>) -> Profiled<Self> {
        Profiled {
            task: TaskHandle::new(name.as_ref(), Location::caller()),
            future: self,
        }
    }
}

impl<F: Future> TaskExt for F {}

/// A future whose samples carry its task number.
#[derive(Debug)]
#[must_use = "futures do nothing unless polled"]
pub struct Profiled<F> {
    task: TaskHandle,
    future: F,
}

impl<F> Profiled<F> {
    /// The number in reports, for `report().tasks(…)`.
    pub fn id(&self) -> u64 {
        self.task.number()
    }
}

impl<F: Future> Future for Profiled<F> {
    type Output = F::Output;

    fn poll(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<F::Output> {
        // SAFETY: `future` is pinned with `self` and never moved out of it; `task` is not pinned
        // and nothing hands out a pinned reference to it.
        let (task, future) = unsafe {
            let this = self.get_unchecked_mut();
            (&this.task, Pin::new_unchecked(&mut this.future))
        };
        let _entered = task.enter();
        if !profundo_capture::wants_parked_stacks() {
            return future.poll(context);
        }
        waker::with(task.number(), context.waker(), |waker| {
            future.poll(&mut Context::from_waker(waker))
        })
    }
}
