//! Tasks: the running task of each thread, and the places where the others wait.
//!
//! The wrapper of a future reports them here. A parked task shows the stack that it had when it
//! last handed out its waker, for there it went to wait.

mod registry;

use std::cell::Cell;
use std::panic::Location;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU32, AtomicU64, Ordering};

use profundo_probe::Slot;
use profundo_wire::recording::TaskInfo;

pub(crate) use registry::Picked;
use registry::Registry;

use crate::lock::{ForkLock, Fresh};
use crate::probe;

/// Task numbers are far from thread numbers, so that one is not taken for the other.
const FIRST_TASK: u64 = 0x1_0000;

static NEXT: AtomicU64 = AtomicU64::new(FIRST_TASK);
static TASKS: ForkLock<Option<Registry>> = ForkLock::new(None);

impl Fresh for Option<Registry> {
    fn fresh() -> Self {
        None
    }
}

/// The state that changes at each poll of a task, readable without a lock.
#[derive(Debug, Default)]
struct Running {
    /// The thread that polls it at this moment, 0 if it is parked.
    thread: AtomicU32,
    /// True if the task was polled while no session recorded where it parks: it may be elsewhere
    /// now.
    is_kept_park_old: AtomicBool,
}

/// A living task. Dropping this removes it from the list of living tasks.
#[derive(Debug)]
pub struct TaskHandle {
    number: u64,
    running: Arc<Running>,
}

fn with<T>(f: impl FnOnce(&mut Registry) -> T) -> T {
    f(TASKS.lock().get_or_insert_with(Registry::default))
}

impl TaskHandle {
    /// Registers a task that was made at this place. A long name is cut.
    pub fn new(name: &str, place: &'static Location<'static>) -> Self {
        let number = NEXT.fetch_add(1, Ordering::Relaxed);
        let running = Arc::new(Running::default());
        with(|registry| registry.add(number, name, place, running.clone()));
        Self { number, running }
    }

    /// The task's number, which reports show.
    pub fn number(&self) -> u64 {
        self.number
    }

    /// Notes that the calling thread polls the task from now on, where no guard can be held.
    pub fn mark_running(&self) {
        set_current_task(self.number);
        self.running.begins();
    }

    /// Ends `mark_running`.
    pub fn mark_parked(&self) {
        set_current_task(0);
        self.running.thread.store(0, Ordering::Relaxed);
    }

    /// Notes that the calling thread polls the task now, until the guard drops.
    pub fn enter(&self) -> Entered<'_> {
        let before = set_current_task(self.number);
        self.running.begins();
        Entered { task: self, before }
    }
}

impl Running {
    fn begins(&self) {
        self.thread
            .store(profundo_probe::sys::thread_id(), Ordering::Relaxed);
        if !wants_parked_stacks() {
            self.is_kept_park_old.store(true, Ordering::Relaxed);
        }
    }
}

impl Drop for TaskHandle {
    fn drop(&mut self) {
        with(|registry| registry.end(self.number));
    }
}

/// While it lives, the calling thread polls a task.
#[derive(Debug)]
pub struct Entered<'a> {
    task: &'a TaskHandle,
    before: u64,
}

impl Drop for Entered<'_> {
    fn drop(&mut self) {
        set_current_task(self.before);
        self.task.running.thread.store(0, Ordering::Relaxed);
    }
}

/// Sets the calling thread's task; returns the one before, 0 for none.
pub fn set_current_task(number: u64) -> u64 {
    thread_local! {
        static SLOT: Cell<Option<&'static Slot>> = const { Cell::new(None) };
    }
    let Some(probe) = probe::probe() else {
        return 0;
    };
    let tid = profundo_probe::sys::thread_id();
    let slot = SLOT.get().filter(|slot| slot.tid() == tid).or_else(|| {
        let slot = probe
            .threads
            .enter(tid, profundo_probe::regs::thread_pointer());
        SLOT.set(slot);
        slot
    });
    slot.map_or(0, |slot| slot.set_task(number))
}

/// Whether a session records where tasks park.
pub fn wants_parked_stacks() -> bool {
    probe::WALL.load(Ordering::Relaxed)
}

/// Keeps the stack of the function that called our caller as the place where a task waits.
/// Our caller is the function by which the task's waker is cloned.
#[inline(never)]
pub fn note_park_here(number: u64) {
    /// Deeper stacks are cut at the root: the place of the wait is near the leaf.
    const DEEPEST: usize = 256;
    /// The walk itself, this function, and the one that clones the waker.
    const OURS: usize = 3;
    let Some(probe) = probe::probe() else { return };
    let mut stack = [0; DEEPEST];
    let (depth, end) = probe.walk_here(&mut stack);
    let Some(stack) = stack.get_mut(OURS..depth) else {
        return;
    };
    if let Some(leaf) = stack.first_mut() {
        // A leaf is taken for the running instruction; this one is a return address.
        *leaf -= 1;
    }
    let span = crate::span::current_path();
    with(|registry| registry.park(number, stack, end, span));
}

/// The number of tasks alive.
pub(crate) fn living() -> usize {
    with(|registry| registry.living())
}

/// The living task at a position, in no particular order.
pub(crate) fn pick(position: usize) -> Option<Picked> {
    with(|registry| registry.pick(position))
}

/// All tasks that are alive or ended not long ago.
pub(crate) fn infos() -> Vec<TaskInfo> {
    with(|registry| registry.infos())
}
