//! The tree of this process, and the stack of each of its threads.

use core::cell::{Cell, UnsafeCell};
use core::ffi::CStr;
use core::mem::MaybeUninit;
use core::ptr::{NonNull, null_mut};
use core::sync::atomic::{AtomicBool, AtomicPtr, AtomicU32, AtomicU64, Ordering};

use profundo_cpython::Layout;
use profundo_probe::calls::{Described, Memory, Pile, Run, Stack, Tree};
use profundo_probe::shared::{CALLS_FILE, CallsFile, CallsHeader, call_clock, function_kind};
use profundo_probe::{clock, regs, sys};

use super::api::{Calls, Object};
use super::tracing::Frames;
use super::{describe, frames, late};
use crate::{files, left, process, session};

/// A mapping of ours, and the file of this process.
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
            // SAFETY: it came from `map`, and its owner uses it no more.
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

/// After so many events it is looked whether there is still a command.
const OFTEN: u32 = 1 << 20;

/// The most threads at one time; further ones are not counted.
const THREADS: usize = 4096;

/// A thread and its stack. All zero is none.
#[repr(C)]
struct Entry {
    /// The thread's `pthread_self`; 0: unused so far. Never removed, only replaced by another
    /// thread's.
    thread: AtomicU64,
    /// 1 while the thread exists.
    is_there: AtomicU32,
    stack: UnsafeCell<Stack>,
    runs: UnsafeCell<Pile<Run>>,
    exceptions: UnsafeCell<Frames>,
    /// The part of the stack on which we evaluate frames: the first address, and the length; 0: not
    /// known yet.
    part: Cell<(u64, u64)>,
}

/// The state of counting in this process.
#[repr(C)]
pub struct State {
    pub tree: Tree<Mapped>,
    pub calls: &'static Calls,
    pub layout: Layout,
    /// True if C functions count.
    pub has_builtins: bool,
    /// True if lines are counted.
    pub has_lines: bool,
    /// True if exceptions are counted.
    pub has_exceptions: bool,
    /// True if the times of lines are wanted.
    pub has_line_times: bool,
    /// True if it only matters which lines run at all.
    pub is_once: bool,
    /// The exception that a handler of groups has got last, and its traceback.
    pub group: (u64, u64),
    uses_cpu: bool,
    /// True if the program itself has begun: before that, the interpreter looks for the code to
    /// run.
    has_begun: bool,
    entries: NonNull<Entry>,
    /// The thread that was looked up last, and its entry.
    last: AtomicU64,
    last_entry: *mut Entry,
    /// A frame that we are about to evaluate; 0: none.
    entered: u64,
    /// The number of times that a thread's entry was looked for.
    looks: u32,
    /// True if counting began while the program ran.
    is_late: bool,
}

struct Place(UnsafeCell<MaybeUninit<State>>);

// SAFETY: written before it is published, and used with the interpreter's lock held.
unsafe impl Sync for Place {}

static PLACE: Place = Place(UnsafeCell::new(MaybeUninit::uninit()));
static STATE: AtomicPtr<State> = AtomicPtr::new(null_mut());
/// Set once nothing is to be counted any more.
static IS_OVER: AtomicBool = AtomicBool::new(false);
/// The state that was left behind: by the agent, because its command was killed; or in the child
/// of a fork, which has it from its parent.
static LEFT: AtomicPtr<State> = AtomicPtr::new(null_mut());
/// The table of threads, which stays for all sessions: threads that end look there without the
/// lock.
static ENTRIES: AtomicPtr<Entry> = AtomicPtr::new(null_mut());

/// The state, if calls are counted.
///
/// # Safety
/// The interpreter's lock is held, and no other reference is alive.
#[inline]
pub unsafe fn state<'a>() -> Option<&'a mut State> {
    // SAFETY: the caller vouches.
    unsafe { STATE.load(Ordering::Relaxed).as_mut() }
}

/// The state, also if it was left behind.
///
/// # Safety
/// As for [`state`].
pub unsafe fn any_state<'a>() -> Option<&'a mut State> {
    // SAFETY: the caller vouches.
    unsafe { state().or_else(|| LEFT.load(Ordering::Relaxed).as_mut()) }
}

/// True if calls are counted.
pub fn is_on() -> bool {
    !STATE.load(Ordering::Relaxed).is_null()
}

/// Stops counting.
pub fn stop() {
    STATE.store(null_mut(), Ordering::Relaxed);
}

/// The counting that the command requests.
#[derive(Debug, Clone, Copy)]
pub struct Wanted {
    pub has_builtins: bool,
    pub uses_cpu: bool,
    /// True if lines are counted instead of calls.
    pub has_lines: bool,
    /// True if the times of lines are wanted.
    pub has_line_times: bool,
    /// True if it only matters which lines run at all.
    pub is_once: bool,
    /// True if exceptions are counted, and no calls.
    pub has_exceptions: bool,
    /// True if the program runs already.
    pub is_late: bool,
}

impl Wanted {
    /// True if calls are counted.
    pub fn has_calls(&self) -> bool {
        !self.has_lines && !self.has_exceptions
    }
}

/// Makes the file, and the state that fills it.
pub fn begin(number: u32, calls: &'static Calls, layout: &Layout, wanted: Wanted) -> Option<()> {
    let file = make_file(number)?;
    let memory = Mapped {
        number: AtomicU32::new(number),
    };
    // SAFETY: it was made for this, and stays mapped.
    let mut tree = unsafe { Tree::new(file, memory) }?;
    if wanted.has_exceptions {
        tree.begin_exceptions()?;
    }
    let clock = match wanted.uses_cpu {
        true => call_clock::CPU,
        false => call_clock::WALL,
    };
    let header = &tree.file().header;
    header.clock.store(clock, Ordering::Relaxed);
    let has_times = u32::from(wanted.has_line_times);
    header.has_line_times.store(has_times, Ordering::Relaxed);
    let entries = entries()?;
    IS_OVER.store(false, Ordering::Relaxed);
    // SAFETY: it is not published yet.
    unsafe {
        let place = PLACE.0.get().cast::<State>();
        place.write(State {
            tree,
            calls,
            layout: *layout,
            has_builtins: wanted.has_builtins,
            has_lines: wanted.has_lines,
            has_exceptions: wanted.has_exceptions,
            has_line_times: wanted.has_line_times,
            is_once: wanted.is_once,
            group: (0, 0),
            uses_cpu: wanted.uses_cpu,
            has_begun: wanted.is_late,
            entries,
            last: AtomicU64::new(0),
            last_entry: null_mut(),
            entered: 0,
            looks: 1,
            is_late: wanted.is_late,
        });
        // Release: a thread that sees the state sees all of it.
        STATE.store(place, Ordering::Release);
    }
    Some(())
}

fn entries() -> Option<NonNull<Entry>> {
    if let Some(known) = NonNull::new(ENTRIES.load(Ordering::Relaxed)) {
        return Some(known);
    }
    let made = files::map_zeroed(THREADS * size_of::<Entry>())?.cast();
    ENTRIES.store(made.as_ptr(), Ordering::Relaxed);
    Some(made)
}

/// The time: the thread's CPU time, or wall-clock time.
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

    /// True if times are the CPU time of the thread.
    #[inline]
    pub fn uses_cpu(&self) -> bool {
        self.uses_cpu
    }

    /// The stack of the calling thread.
    #[inline]
    pub fn stack<'a>(&mut self) -> Option<&'a mut Stack> {
        // SAFETY: an entry is never unmapped, and the lock is held: no other thread uses its
        // contents.
        unsafe { Some(&mut *(*self.current_entry()?).stack.get()) }
    }

    /// The open calls of the calling thread whose lines are counted.
    #[inline]
    pub fn runs<'a>(&mut self) -> Option<&'a mut Pile<Run>> {
        // SAFETY: as above.
        unsafe { Some(&mut *(*self.current_entry()?).runs.get()) }
    }

    /// The exceptions of the calling thread.
    #[inline]
    pub fn frames<'a>(&mut self) -> Option<&'a mut Frames> {
        // SAFETY: as above.
        unsafe { Some(&mut *(*self.current_entry()?).exceptions.get()) }
    }

    /// True if the program itself has begun.
    #[inline]
    pub fn has_begun(&self) -> bool {
        self.has_begun
    }

    /// The program itself has begun.
    pub fn begins(&mut self) {
        self.has_begun = true;
    }

    /// True if we may evaluate frames this far down the calling thread's stack.
    #[inline]
    pub fn has_stack_left(&mut self, frame: u64, place: u64) -> bool {
        self.entered = frame;
        let entry = self.current_entry();
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

    /// A Python function begins, or goes on.
    ///
    /// # Safety
    /// `code` is the function's code object.
    #[inline]
    pub unsafe fn enter_code(&mut self, code: u64, goes_on: bool) {
        let Some(stack) = self.stack() else { return };
        if self.may_begin(stack) {
            self.check_for_program(code);
        }
        let Self {
            tree,
            calls,
            layout,
            uses_cpu,
            ..
        } = self;
        let describe = |report: &mut dyn FnMut(Described<'_>)| {
            // SAFETY: as the caller says. It is kept, so that no other object takes its address.
            unsafe {
                (calls.retain)(code as Object);
                describe::code(layout, code, report);
            }
        };
        tree.enter(stack, code, goes_on, || time(*uses_cpu), describe);
    }

    /// The entry of the calling thread.
    #[inline]
    fn current_entry(&mut self) -> Option<*mut Entry> {
        let thread = regs::thread_pointer();
        self.looks = self.looks.wrapping_add(1);
        if thread != self.last.load(Ordering::Relaxed) || self.looks.is_multiple_of(OFTEN) {
            self.find_current_entry(thread);
        }
        (!self.last_entry.is_null()).then_some(self.last_entry)
    }

    #[cold]
    fn find_current_entry(&mut self, thread: u64) {
        self.last.store(thread, Ordering::Relaxed);
        self.last_entry = null_mut();
        if self.looks.is_multiple_of(OFTEN) && self.is_late {
            late::end_if_forgotten();
        }
        let Some(entry) = self.entry(thread, true) else {
            return;
        };
        if entry.is_there.swap(1, Ordering::Acquire) == 0 {
            // The former thread of this place has ended. SAFETY: the new one has only just come,
            // and the lock is held.
            let (stack, runs) = unsafe { (&mut *entry.stack.get(), &mut *entry.runs.get()) };
            stack.empty();
            self.tree.drop_lines(runs);
            // SAFETY: as above.
            unsafe { (*entry.exceptions.get()).empty() };
            entry.part.set((0, 0));
            self.tree.begin_thread(stack, sys::thread_id());
            let set_name = |name: &[u8]| self.tree.name_thread(stack, name);
            let entered = Some(self.entered).filter(|&frame| frame != 0);
            // SAFETY: the lock is held.
            unsafe { describe::thread(self.calls, &self.layout, entered, set_name) };
        }
        self.last_entry = core::ptr::from_ref(entry).cast_mut();
    }

    /// The stack and the lines of a thread that runs already, of which nothing is known yet.
    /// `None`: it is known, or there is no room.
    ///
    /// # Safety
    /// The lock is held, and `state` is the interpreter's state of that thread.
    pub unsafe fn begin_running<'a>(
        &mut self,
        thread: u64,
        tid: u32,
        state: u64,
    ) -> Option<(&'a mut Stack, &'a mut Pile<Run>)> {
        let entry = self.entry(thread, true)?;
        // SAFETY: as in `stack`.
        let (stack, runs) = unsafe { (&mut *entry.stack.get(), &mut *entry.runs.get()) };
        if entry.is_there.swap(1, Ordering::Acquire) != 0 {
            return (stack.open.is_empty() && runs.is_empty()).then_some((stack, runs));
        }
        stack.empty();
        runs.empty();
        // SAFETY: as above.
        unsafe { (*entry.exceptions.get()).empty() };
        entry.part.set((0, 0));
        self.tree.begin_thread(stack, tid);
        let set_name = |name: &[u8]| self.tree.name_thread(stack, name);
        // SAFETY: the caller vouches.
        unsafe { describe::thread_of(self.calls, &self.layout, state, None, set_name) };
        Some((stack, runs))
    }

    /// True if calls of a thread were counted.
    pub fn knows(&self, thread: u64) -> bool {
        let entry = self.entry(thread, false);
        entry.is_some_and(|entry| entry.is_there.load(Ordering::Relaxed) != 0)
    }

    /// Discards what was counted so far, and all that is known of threads. `false`: there is no
    /// memory.
    pub fn restart(&mut self) -> bool {
        self.drop_threads();
        self.tree.forget()
    }

    /// No thread is known any more.
    fn drop_threads(&mut self) {
        for at in 0..THREADS {
            // SAFETY: so many were mapped; the lock is held.
            unsafe {
                let entry = &*self.entries.add(at).as_ptr();
                entry.is_there.store(0, Ordering::Relaxed);
                // Their lines may be those of another tree.
                (*entry.runs.get()).empty();
            }
        }
        self.last.store(0, Ordering::Relaxed);
        self.last_entry = null_mut();
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

    /// True if a call may be the program's own beginning, and has to be checked.
    #[inline]
    pub fn may_begin(&self, stack: &Stack) -> bool {
        !self.has_begun && stack.open.is_empty()
    }

    /// Called for a call without a caller: if it is the program itself, the earlier calls are
    /// discarded.
    #[cold]
    pub fn check_for_program(&mut self, code: u64) {
        // SAFETY: it is a code object, and the lock is held.
        if !unsafe { describe::is_program(&self.layout, code) } {
            return;
        }
        self.has_begun = true;
        self.forget();
    }

    /// Discards the calls so far.
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

    /// Ends all open calls now.
    fn settle(&self) {
        let (here, tree) = (self.now(), &self.tree);
        // SAFETY: only its address is taken.
        let current =
            (!self.last_entry.is_null()).then(|| unsafe { (*self.last_entry).stack.get() });
        self.each_thread(|stack, runs| {
            let is_current = current.is_some_and(|current| core::ptr::eq(stack, current));
            let now = match self.uses_cpu && !is_current {
                true => process::cpu_time_of(tree.thread_of(stack)),
                false => here,
            };
            // A thread that has ended has no clock any more.
            if now != 0 {
                tree.settle(stack, now);
                tree.settle_lines(runs, now);
            }
        });
    }
}

/// Discards the calls so far. The interpreter's lock is held.
pub fn forget() {
    // SAFETY: the caller has the lock.
    if let Some(state) = unsafe { state() } {
        // Threads of a running program are noted again.
        if !state.is_late {
            state.forget();
        } else if !state.restart() {
            stop();
        }
    }
}

/// Called at thread exit. Another thread may hold the lock, so only this thread's entry is touched.
pub fn end_thread() {
    let (state, thread) = (STATE.load(Ordering::Acquire), regs::thread_pointer());
    if state.is_null() {
        return;
    }
    // SAFETY: it stays where it is. The address of the table does not change, and the rest are
    // atomics.
    unsafe {
        if let Some(entry) = (*state).entry(thread, false) {
            entry.is_there.store(0, Ordering::Release);
        }
        // Another thread may get its place.
        let last = &(*state).last;
        let _ = last.compare_exchange(thread, 0, Ordering::Relaxed, Ordering::Relaxed);
    }
}

/// The process ends, or becomes another program: open calls have lasted until now. True if they
/// were open.
pub fn end() -> bool {
    let state = STATE.load(Ordering::Acquire);
    // Another thread may be here as well, or in the middle of a call: then the time of that call is
    // a little off.
    if state.is_null() || IS_OVER.swap(true, Ordering::Relaxed) {
        return false;
    }
    // SAFETY: it stays where it is; all that is written are numbers.
    unsafe {
        if frames::were_taken(&(*state).layout) {
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
    true
}

/// Lets go of the state: nothing is counted any more, and its memory is given back. `then` is
/// called last, with each code object that was kept. `was_open`: this thread has closed the counts,
/// so that no other one reads them.
///
/// # Safety
/// The lock is held, and the interpreter reports nothing any more.
pub unsafe fn give_back(was_open: bool) {
    let left = LEFT.swap(null_mut(), Ordering::Relaxed);
    let is_left = !is_on();
    // SAFETY: the caller vouches. What was left has no other user.
    let Some(state) = (unsafe { state().or(left.as_mut()) }) else {
        return;
    };
    state.drop_threads();
    stop();
    // Another thread ends the process, or makes it another program.
    if !was_open && !is_left {
        return;
    }
    let calls = state.calls;
    let file = NonNull::from(state.tree.file());
    let functions = state.tree.file().header.functions.load(Ordering::Relaxed) as usize;
    let bytes = (functions * size_of::<u64>()).max(1);
    let room = files::map_zeroed(bytes);
    let kept: &mut [u64] = match room {
        // SAFETY: it was mapped for so many, and is ours.
        Some(room) => unsafe { core::slice::from_raw_parts_mut(room.cast().as_ptr(), functions) },
        // They stay.
        None => &mut [],
    };
    let mut places = kept.iter_mut();
    let tree = &state.tree;
    tree.each_key(function_kind::PYTHON, |key| {
        if let Some(place) = places.next() {
            *place = key;
        }
    });
    // SAFETY: nothing uses the tree any more. Each of these code objects was kept once; the
    // destructors of what refers to them weakly may run any code.
    unsafe {
        state.tree.give_back();
        files::unmap(file.cast(), CallsFile::BYTES);
        for &code in kept.iter().filter(|&&code| code != 0) {
            (calls.release)(code as Object);
        }
        if let Some(room) = room {
            files::unmap(room, bytes);
        }
    }
}

/// Undoes [`end`], after a failed `exec`.
pub fn go_on() {
    let state = STATE.load(Ordering::Acquire);
    if state.is_null() || !IS_OVER.swap(false, Ordering::Relaxed) {
        return;
    }
    // SAFETY: it stays where it is; a number is written.
    let closed = unsafe { &(*state).tree.file().header.is_closed };
    closed.store(0, Ordering::Release);
}

/// The process is about to restrict its system calls: we make none from here on.
pub fn leave() {
    _ = end();
    leave_behind();
}

/// Counts nothing from here on, and writes nothing. [`give_back`] gives back what is left.
pub fn leave_behind() {
    if is_on() {
        LEFT.store(STATE.swap(null_mut(), Ordering::Relaxed), Ordering::Relaxed);
    }
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
    // SAFETY: the new file was made for this, and is moved to its place below. All are ours, and of
    // one length.
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
    if let Some(entry) = entry.filter(|entry| entry.is_there.load(Ordering::Relaxed) != 0) {
        // SAFETY: there is one thread.
        let (stack, runs) = unsafe { (&mut *entry.stack.get(), &mut *entry.runs.get()) };
        state.tree.restart_lines(runs, now);
        state.tree.begin_thread(stack, sys::thread_id());
        state.tree.find_anew(stack, now);
    }
    Some(())
}
