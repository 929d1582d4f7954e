//! The tree of this process, and the stack of each of its threads.

use core::cell::{Cell, UnsafeCell};
use core::ffi::CStr;
use core::mem::MaybeUninit;
use core::ptr::{NonNull, null_mut};
use core::sync::atomic::{AtomicBool, AtomicPtr, AtomicU32, AtomicU64, Ordering};

use profundo_cpython::Layout;
use profundo_probe::calls::{Described, Memory, Pile, Run, Stack, Tree};
use profundo_probe::shared::{CALLS_FILE, CallsFile, CallsHeader, call_clock};
use profundo_probe::{clock, regs, sys};

use super::api::{Calls, Object};
use super::{describe, frames};
use crate::{files, left, process, session};

/// Memory of ours, and of the file of this process.
#[derive(Debug)]
pub struct Mapped {
    /// The number of the ring that the file is beside.
    pub number: AtomicU32,
}

impl Memory for Mapped {
    fn map(&self, bytes: usize) -> Option<NonNull<u8>> {
        match left::has_left() {
            true => None,
            false => files::map_zeroed(bytes),
        }
    }

    fn unmap(&self, at: NonNull<u8>, bytes: usize) {
        if !left::has_left() {
            // SAFETY: it came from `map`, and its owner has done with it.
            unsafe { files::unmap(at, bytes) };
        }
    }

    fn fill(&self, from: usize, bytes: usize) -> bool {
        if left::has_left() {
            return false;
        }
        let mut room = [0; session::PATH];
        let number = self.number.load(Ordering::Relaxed);
        let bytes = bytes.min(CallsFile::BYTES.saturating_sub(from));
        session::file_of(&mut room, CALLS_FILE, number)
            .is_some_and(|path| files::allocate(path, from, bytes))
    }
}

/// How many threads there can be at one time; those beyond are not counted.
const THREADS: usize = 4096;

/// A thread and its stack. All zero is none.
#[repr(C)]
struct Entry {
    /// What `pthread_self` says there; 0: there was none. Never taken out, only changed to another one's.
    thread: AtomicU64,
    /// One if the thread is there.
    is_there: AtomicU32,
    stack: UnsafeCell<Stack>,
    runs: UnsafeCell<Pile<Run>>,
    /// Where frames are evaluated by us: the first address, and how many; 0: it was not asked for yet.
    part: Cell<(u64, u64)>,
}

/// All of it.
#[repr(C)]
pub struct State {
    pub tree: Tree<Mapped>,
    pub calls: &'static Calls,
    pub layout: Layout,
    /// Whether functions of C's count.
    pub has_builtins: bool,
    /// Whether it is of interest for how long lines are run.
    pub has_line_times: bool,
    /// Whether it is only of interest which lines are run at all.
    pub is_once: bool,
    uses_cpu: bool,
    /// Whether the program itself has begun: before that, the interpreter looks for what it is to run.
    has_begun: bool,
    entries: NonNull<Entry>,
    /// The thread that was asked for last, and its entry.
    last: AtomicU64,
    last_entry: *mut Entry,
    /// A frame that is about to be evaluated by us; 0: none was.
    entered: u64,
}

struct Place(UnsafeCell<MaybeUninit<State>>);

// SAFETY: written before anybody knows of it, and used with the interpreter's lock held.
unsafe impl Sync for Place {}

static PLACE: Place = Place(UnsafeCell::new(MaybeUninit::uninit()));
static STATE: AtomicPtr<State> = AtomicPtr::new(null_mut());
/// Set once nothing is to be counted any more.
static IS_OVER: AtomicBool = AtomicBool::new(false);

/// What there is, if calls are counted.
///
/// # Safety
/// The interpreter's lock is held, and no other reference is alive.
#[inline]
pub unsafe fn state<'a>() -> Option<&'a mut State> {
    // SAFETY: the caller vouches.
    unsafe { STATE.load(Ordering::Relaxed).as_mut() }
}

/// Whether calls are counted.
pub fn is_on() -> bool {
    !STATE.load(Ordering::Relaxed).is_null()
}

/// Counts no more.
pub fn stop() {
    STATE.store(null_mut(), Ordering::Relaxed);
}

/// What is wanted.
#[derive(Debug, Clone, Copy)]
pub struct Wanted {
    pub has_builtins: bool,
    pub uses_cpu: bool,
    /// Whether lines are looked at, instead of calls; and for how long they are run.
    pub has_lines: bool,
    pub has_line_times: bool,
    /// Whether it is only of interest which lines are run at all.
    pub is_once: bool,
}

/// Makes the file, and all that is needed to fill it.
pub fn begin(number: u32, calls: &'static Calls, layout: &Layout, wanted: Wanted) -> Option<()> {
    let file = make_file(number)?;
    let memory = Mapped {
        number: AtomicU32::new(number),
    };
    // SAFETY: it was made for this, and stays mapped.
    let tree = unsafe { Tree::new(file, memory) }?;
    let clock = match wanted.uses_cpu {
        true => call_clock::CPU,
        false => call_clock::WALL,
    };
    let header = &tree.file().header;
    header.clock.store(clock, Ordering::Relaxed);
    let has_times = u32::from(wanted.has_line_times);
    header.has_line_times.store(has_times, Ordering::Relaxed);
    let entries = files::map_zeroed(THREADS * size_of::<Entry>())?.cast();
    // SAFETY: nobody knows of it yet.
    unsafe {
        let place = PLACE.0.get().cast::<State>();
        place.write(State {
            tree,
            calls,
            layout: *layout,
            has_builtins: wanted.has_builtins,
            has_line_times: wanted.has_line_times,
            is_once: wanted.is_once,
            uses_cpu: wanted.uses_cpu,
            has_begun: false,
            entries,
            last: AtomicU64::new(0),
            last_entry: null_mut(),
            entered: 0,
        });
        // Release: who sees it sees all of it.
        STATE.store(place, Ordering::Release);
    }
    Some(())
}

/// The time: of the thread, or on the wall.
#[inline]
pub fn time(uses_cpu: bool) -> u64 {
    match uses_cpu {
        false => clock::now(),
        true => process::time(libc::CLOCK_THREAD_CPUTIME_ID),
    }
}

fn make_file(number: u32) -> Option<NonNull<CallsFile>> {
    let mut room = [0; session::PATH];
    let path: &CStr = session::file_of(&mut room, CALLS_FILE, number)?;
    let file = files::make_and_map(path, CallsFile::BYTES, size_of::<CallsHeader>());
    Some(file.ok()?.cast())
}

impl State {
    /// The time, on the clock that is wanted.
    #[inline]
    pub fn now(&self) -> u64 {
        time(self.uses_cpu)
    }

    /// Whether that is the CPU time of the thread.
    #[inline]
    pub fn uses_cpu(&self) -> bool {
        self.uses_cpu
    }

    /// The stack of the calling thread.
    #[inline]
    pub fn stack<'a>(&mut self) -> Option<&'a mut Stack> {
        // SAFETY: an entry is never unmapped, and the lock is held: nobody else uses what is in it.
        unsafe { Some(&mut *(*self.own()?).stack.get()) }
    }

    /// The calls of the calling thread whose lines are looked at.
    #[inline]
    pub fn runs<'a>(&mut self) -> Option<&'a mut Pile<Run>> {
        // SAFETY: as above.
        unsafe { Some(&mut *(*self.own()?).runs.get()) }
    }

    /// Whether frames may be evaluated by us so far down the calling thread's stack.
    #[inline]
    pub fn has_stack_left(&mut self, frame: u64, place: u64) -> bool {
        self.entered = frame;
        let entry = self.own();
        self.entered = 0;
        let Some(entry) = entry else { return false };
        // SAFETY: as above.
        let part = unsafe { &(*entry).part };
        if part.get().1 == 0 {
            part.set(frames::part_of_stack(place));
        }
        let (first, length) = part.get();
        place.wrapping_sub(first) < length
    }

    /// A function of Python's begins, or goes on.
    ///
    /// # Safety
    /// It is its code object.
    #[inline]
    pub unsafe fn enter_code(&mut self, code: u64, goes_on: bool) {
        let Some(stack) = self.stack() else { return };
        if self.may_begin(stack) {
            self.look_at_first(code);
        }
        let (layout, calls, uses_cpu) = (self.layout, self.calls, self.uses_cpu());
        let describe = |tell: &mut dyn FnMut(Described<'_>)| {
            // SAFETY: as the caller says. It is kept, so that no other one comes to lie there.
            unsafe {
                (calls.retain)(code as Object);
                describe::code(&layout, code, tell);
            }
        };
        self.tree
            .enter(stack, (code, goes_on), || time(uses_cpu), describe);
    }

    /// The entry of the calling thread.
    #[inline]
    fn own(&mut self) -> Option<*mut Entry> {
        let thread = regs::thread_pointer();
        if thread != self.last.load(Ordering::Relaxed) {
            self.find_own(thread);
        }
        (!self.last_entry.is_null()).then_some(self.last_entry)
    }

    #[cold]
    fn find_own(&mut self, thread: u64) {
        self.last.store(thread, Ordering::Relaxed);
        self.last_entry = null_mut();
        let Some(entry) = self.entry(thread, true) else {
            return;
        };
        if entry.is_there.swap(1, Ordering::Acquire) == 0 {
            // Who had this place has ended.
            // SAFETY: the thread has only just come, and the lock is held.
            let (stack, runs) = unsafe { (&mut *entry.stack.get(), &mut *entry.runs.get()) };
            stack.empty();
            self.tree.drop_lines(runs);
            entry.part.set((0, 0));
            self.tree.begin_thread(stack, sys::thread_id());
            let tell = |name: &[u8]| self.tree.name_thread(stack, name);
            let entered = Some(self.entered).filter(|&it| it != 0);
            // SAFETY: the lock is held.
            unsafe { describe::thread(self.calls, &self.layout, entered, tell) };
        }
        self.last_entry = core::ptr::from_ref(entry).cast_mut();
    }

    /// The entry of a thread.
    fn entry<'a>(&self, thread: u64, is_new: bool) -> Option<&'a Entry> {
        let first = (thread >> 6) as usize ^ (thread >> 20) as usize;
        (0..THREADS).find_map(|step| {
            let at = (first + step) % THREADS;
            // SAFETY: so many were mapped.
            let entry = unsafe { &*self.entries.add(at).as_ptr() };
            match entry.thread.load(Ordering::Relaxed) {
                known if known == thread => Some(Some(entry)),
                0 if is_new => {
                    entry.thread.store(thread, Ordering::Relaxed);
                    Some(Some(entry))
                }
                0 => Some(None),
                _ => None,
            }
        })?
    }

    fn each_thread(&self, mut f: impl FnMut(&mut Stack, &mut Pile<Run>)) {
        for at in 0..THREADS {
            // SAFETY: so many were mapped; the caller holds the lock, or all others have ended.
            let entry = unsafe { &*self.entries.add(at).as_ptr() };
            if entry.is_there.load(Ordering::Relaxed) != 0 {
                // SAFETY: as above.
                unsafe { f(&mut *entry.stack.get(), &mut *entry.runs.get()) };
            }
        }
    }

    /// Whether this is to be looked at as what may be the program's own beginning.
    #[inline]
    pub fn may_begin(&self, stack: &Stack) -> bool {
        !self.has_begun && stack.open.is_empty()
    }

    /// What is called with nobody above it: if it is the program itself, what was called before is of no interest.
    #[cold]
    pub fn look_at_first(&mut self, code: u64) {
        // SAFETY: it is a code object, and the lock is held.
        if !unsafe { describe::is_program(&self.layout, code) } {
            return;
        }
        self.has_begun = true;
        self.forget();
    }

    /// What was called so far counts no more.
    fn forget(&mut self) {
        let mut threads: [(u64, u32); 64] = [(0, 0); 64];
        let mut count = 0;
        self.each_thread(|stack, _| {
            if let Some(place) = threads.get_mut(count) {
                *place = (
                    core::ptr::from_mut(stack) as u64,
                    self.tree.thread_of(stack),
                );
                count += 1;
            }
        });
        if !self.tree.forget() {
            return stop();
        }
        let now = self.now();
        for &(stack, thread) in threads.get(..count).unwrap_or_default() {
            // SAFETY: an entry's, which stays; the lock is held.
            let stack = unsafe { &mut *(stack as *mut Stack) };
            self.tree.begin_thread(stack, thread);
            self.tree.find_anew(stack, now);
        }
    }

    /// All that is being called has lasted until now.
    fn settle(&self) {
        let (here, tree) = (self.now(), &self.tree);
        // SAFETY: only its address is taken.
        let own = (!self.last_entry.is_null()).then(|| unsafe { (*self.last_entry).stack.get() });
        self.each_thread(|stack, runs| {
            let is_own = own.is_some_and(|own| core::ptr::eq(stack, own));
            let now = match self.uses_cpu && !is_own {
                true => process::cpu_time_of(tree.thread_of(stack)),
                false => here,
            };
            // A thread that has gone has no clock any more.
            if now != 0 {
                tree.settle(stack, now);
                tree.settle_lines(runs, now);
            }
        });
    }
}

/// What was called so far counts no more. The interpreter's lock is held.
pub fn forget() {
    // SAFETY: the caller has the lock.
    if let Some(state) = unsafe { state() } {
        state.forget();
    }
}

/// The calling thread ends. Its lock is held by whoever holds it, so nothing is touched but its own entry.
pub fn end_thread() {
    let (state, thread) = (STATE.load(Ordering::Acquire), regs::thread_pointer());
    if state.is_null() {
        return;
    }
    // SAFETY: it stays where it is. The address of the table does not change, and the rest are atomics.
    unsafe {
        if let Some(entry) = (*state).entry(thread, false) {
            entry.is_there.store(0, Ordering::Release);
        }
        // Another thread may come to have its place.
        let last = &(*state).last;
        let _ = last.compare_exchange(thread, 0, Ordering::Relaxed, Ordering::Relaxed);
    }
}

/// The process ends, or becomes another program: what has not ended by now has lasted until now.
pub fn end() {
    let state = STATE.load(Ordering::Acquire);
    // Another thread may be here as well, or in the middle of a call: then that call's time is a little off.
    if state.is_null() || IS_OVER.swap(true, Ordering::Relaxed) {
        return;
    }
    // SAFETY: it stays where it is; all that is written are numbers.
    unsafe {
        if frames::were_taken((*state).layout.minor) {
            (*state)
                .tree
                .file()
                .header
                .is_replaced
                .store(1, Ordering::Relaxed);
        }
        (*state).settle();
        (*state)
            .tree
            .file()
            .header
            .is_closed
            .store(1, Ordering::Release);
    }
}

/// What was said of the end was too early: an `exec` that failed.
pub fn go_on() {
    let state = STATE.load(Ordering::Acquire);
    if state.is_null() || !IS_OVER.swap(false, Ordering::Relaxed) {
        return;
    }
    // SAFETY: it stays where it is; a number is written.
    let closed = unsafe { &(*state).tree.file().header.is_closed };
    closed.store(0, Ordering::Release);
}

/// The process is about to restrict its calls: nothing of ours makes any from here on.
pub fn leave() {
    end();
    stop();
}

/// In the child of a fork, which has a ring of its own.
pub fn enter_child(number: u32) {
    // SAFETY: there is one thread.
    let Some(state) = (unsafe { state() }) else {
        return;
    };
    IS_OVER.store(false, Ordering::Relaxed);
    let thread = regs::thread_pointer();
    for at in 0..THREADS {
        // SAFETY: so many were mapped.
        let entry = unsafe { &*state.entries.add(at).as_ptr() };
        let is_there = entry.is_there.load(Ordering::Relaxed) != 0;
        if is_there && entry.thread.load(Ordering::Relaxed) != thread {
            entry.is_there.store(0, Ordering::Relaxed);
        }
    }
    state.last.store(0, Ordering::Relaxed);
    if begin_anew(state, number).is_none() {
        stop();
    }
}

fn begin_anew(state: &mut State, number: u32) -> Option<()> {
    let old = NonNull::from(state.tree.file());
    let new = make_file(number)?;
    state.tree.memory().number.store(number, Ordering::Relaxed);
    // SAFETY: the new file was made for this, and is moved to its place below. All are ours, and of one length.
    unsafe {
        if !state.tree.begin_anew(new)
            || !files::move_over(new.cast(), old.cast(), CallsFile::BYTES)
        {
            return None;
        }
        state.tree.moved(old);
    }
    let now = state.now();
    let entry = state.entry(regs::thread_pointer(), false);
    if let Some(entry) = entry.filter(|it| it.is_there.load(Ordering::Relaxed) != 0) {
        // SAFETY: there is one thread.
        let (stack, runs) = unsafe { (&mut *entry.stack.get(), &mut *entry.runs.get()) };
        state.tree.restart_lines(runs, now);
        state.tree.begin_thread(stack, sys::thread_id());
        state.tree.find_anew(stack, now);
    }
    Some(())
}
