//! A waker that notes where it is cloned: what a future waits for keeps a clone, so the stack at
//! that moment shows where the task parks.
//!
//! The waker given to the future is ours only while it is polled. Its clones are plain clones of
//! the runtime's own waker, so waking costs nothing extra and our type never outlives the poll.

use std::mem::ManuallyDrop;
use std::task::{RawWaker, RawWakerVTable, Waker};

/// The target of our waker's pointer, on the stack of the poll.
struct Watched<'a> {
    task: u64,
    inner: &'a Waker,
}

static VTABLE: RawWakerVTable = RawWakerVTable::new(clone, wake_by_ref, wake_by_ref, drop_nothing);

/// Calls `f` with a waker that stands for `inner` and notes where it is cloned.
pub(super) fn with<T>(task: u64, inner: &Waker, f: impl FnOnce(&Waker) -> T) -> T {
    let watched = Watched { task, inner };
    // SAFETY: the table's functions expect a pointer to a `Watched`, which outlives the waker: it
    // is only lent to `f`, and its clones do not point here. Nothing is freed by its drop, so
    // leaving it undropped or dropping it are the same.
    let waker = unsafe { Waker::from_raw(RawWaker::new((&raw const watched).cast(), &VTABLE)) };
    let waker = ManuallyDrop::new(waker);
    f(&waker)
}

/// # Safety
/// `data` is that of a waker made by `with`, which is still running.
unsafe fn watched<'a>(data: *const ()) -> &'a Watched<'a> {
    // SAFETY: the caller vouches.
    unsafe { &*data.cast() }
}

unsafe fn clone(data: *const ()) -> RawWaker {
    // SAFETY: the table is used by our waker alone.
    let watched = unsafe { watched(data) };
    profundo_capture::note_park_here(watched.task);
    let copy = ManuallyDrop::new(watched.inner.clone());
    RawWaker::new(copy.data(), copy.vtable())
}

unsafe fn wake_by_ref(data: *const ()) {
    // SAFETY: the table is used by our waker alone.
    unsafe { watched(data) }.inner.wake_by_ref();
}

unsafe fn drop_nothing(_: *const ()) {}
