//! Threads: each enters itself when it begins, and says at its end what it was called and used.
//!
//! The thread begins in a few instructions of ours, which jump to the program's function and leave
//! nothing on the stack. Its end is told by the destructor of a key of ours, however it comes: by
//! return, by `pthread_exit` or by cancellation.

use core::arch::naked_asm;
use core::ffi::{c_int, c_uint, c_void};
use core::ptr;
use core::sync::atomic::{AtomicU32, AtomicUsize, Ordering};

use libc::{pthread_attr_t, pthread_t};
use profundo_probe::shared::RECORDS;
use profundo_probe::{regs, sys};

use crate::home::Home;
use crate::next_symbols::{self, ThrdFunction, ThreadFunction};
use crate::{blocked, calls, home, left, memory, process, python, session, start, timers};

/// How many threads can be in the making at one time; others are not entered.
const PLACES: usize = 512;

/// What threads that are being made are to run. All zero is empty.
#[repr(C)]
pub struct Starts {
    next: AtomicU32,
    places: [Start; PLACES],
}

#[repr(C)]
pub struct Start {
    /// 0: free.
    taken: AtomicU32,
    function: AtomicUsize,
    argument: AtomicUsize,
}

impl Starts {
    /// A place with a function and its argument in it. `None`: all are taken.
    fn put(&self, function: usize, argument: *mut c_void) -> Option<&Start> {
        for _ in 0..PLACES {
            let index = self.next.fetch_add(1, Ordering::Relaxed) as usize % PLACES;
            let place = self.places.get(index)?;
            // Acquire pairs with the release in `take`.
            if place
                .taken
                .compare_exchange(0, 1, Ordering::Acquire, Ordering::Relaxed)
                .is_ok()
            {
                place.function.store(function, Ordering::Relaxed);
                place.argument.store(argument as usize, Ordering::Relaxed);
                return Some(place);
            }
        }
        None
    }
}

impl Start {
    fn take(&self) -> Begun {
        let begun = Begun {
            function: self.function.load(Ordering::Relaxed),
            argument: self.argument.load(Ordering::Relaxed),
        };
        self.taken.store(0, Ordering::Release);
        begun
    }
}

/// What a new thread goes on with: returned in two registers.
#[repr(C)]
struct Begun {
    function: usize,
    argument: usize,
}

/// Enters the calling thread, which was just made.
unsafe extern "C" fn begin(place: *const Start) -> Begun {
    // SAFETY: `pthread_create` below passes the address of a place, which stays.
    let begun = unsafe { (*place).take() };
    if let Some(home) = home::current() {
        blocked::begin_thread();
        enter_quietly(home);
        tell(home);
    }
    begun
}

/// The first that a thread runs: the program's function is jumped to, so its caller is the C
/// library, as it would be without us.
#[unsafe(naked)]
unsafe extern "C" fn first(place: *mut c_void) -> *mut c_void {
    naked_asm!(
        ".cfi_startproc",
        "push rax",
        ".cfi_adjust_cfa_offset 8",
        "call {begin}",
        "pop rcx",
        ".cfi_adjust_cfa_offset -8",
        "mov rdi, rdx",
        "jmp rax",
        ".cfi_endproc",
        begin = sym begin,
    )
}

/// # Safety
/// As for `pthread_create`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn pthread_create(
    thread: *mut pthread_t,
    attributes: *const pthread_attr_t,
    function: ThreadFunction,
    argument: *mut c_void,
) -> c_int {
    let Some(real) = next_symbols::pthread_create() else {
        return libc::EAGAIN;
    };
    // SAFETY: the caller's arguments, passed on.
    unsafe {
        with_start(function as usize, argument, |start| match start {
            Some(start) => real(thread, attributes, first, start),
            None => real(thread, attributes, function, argument),
        })
    }
}

/// # Safety
/// As for `thrd_create`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn thrd_create(
    thread: *mut pthread_t,
    function: ThrdFunction,
    argument: *mut c_void,
) -> c_int {
    /// `thrd_error`.
    const FAILED: c_int = 2;
    let Some(real) = next_symbols::thrd_create() else {
        return FAILED;
    };
    // SAFETY: the caller's arguments, passed on. What `first` returns is what the program's
    // function has left in the register, so its type is of no account.
    unsafe {
        let first = core::mem::transmute::<ThreadFunction, ThrdFunction>(first);
        with_start(function as usize, argument, |start| match start {
            Some(start) => real(thread, first, start),
            None => real(thread, function, argument),
        })
    }
}

/// Makes a thread that enters itself, or, where that cannot be, a plain one.
fn with_start(
    function: usize,
    argument: *mut c_void,
    make: impl FnOnce(Option<*mut c_void>) -> c_int,
) -> c_int {
    start::ensure();
    let home = home::current();
    if let Some(home) = home {
        python::look_if_asked(home);
    }
    calls::new_thread();
    let place = home
        .filter(|_| session::control().is_some_and(session::has_not_ended))
        .and_then(|home| home.starts().put(function, argument));
    let result = make(place.map(|place| ptr::from_ref(place).cast_mut().cast()));
    if result != 0
        && let Some(place) = place
    {
        place.take();
    }
    result
}

/// The key whose destructor tells of a thread's end, plus one; 0 if there is none.
static KEY: AtomicU32 = AtomicU32::new(0);

/// Makes the key.
pub fn make_key() {
    /// Values of later keys lie in memory that the C library allocates.
    const FIRST_BLOCK: c_uint = 32;
    let mut key: c_uint = 0;
    if let Some(create) = next_symbols::pthread_key_create()
        // SAFETY: the key is ours to be written; the destructor stays.
        && unsafe { create(&mut key, Some(at_end)) } == 0
        && key < FIRST_BLOCK
    {
        KEY.store(key + 1, Ordering::Relaxed);
    }
}

/// The value of the key: how often the destructor is to be called again. Never null.
#[derive(Clone, Copy)]
struct Value(usize);

impl Value {
    /// Destructors run up to four times, so that those of other keys come before the last of ours.
    const ROUNDS: usize = 3;

    fn new() -> Self {
        Self((1 << 5) | Self::ROUNDS)
    }

    /// The value for the next round; `None`: this is the last.
    fn next(self) -> Option<Self> {
        (self.0 & Self::ROUNDS != 0).then(|| Self(self.0 - 1))
    }

    fn set(self) {
        if let Some(key) = KEY.load(Ordering::Relaxed).checked_sub(1)
            && let Some(set) = next_symbols::pthread_setspecific()
        {
            // SAFETY: the key is ours. The value is a number.
            unsafe { set(key, ptr::without_provenance(self.0)) };
        }
    }
}

/// Enters the calling thread: a record, a slot, its timer, the key.
pub fn enter_quietly(home: Home) {
    enter(home, None);
}

/// As [`enter_quietly`], for the only thread of a child that was forked when the cycle counter was at `began`.
pub fn enter_forked(home: Home, began: u64) {
    enter(home, Some(began));
}

fn enter(home: Home, forked: Option<u64>) {
    // SAFETY: the probe was made before the home was settled.
    let probe = unsafe { home.probe() };
    let tid = sys::thread_id();
    let entered = probe.threads.begin(tid, regs::thread_pointer());
    if entered.is_none() {
        let counter = &probe.counters.thread_table_full;
        counter.fetch_add(1, Ordering::Relaxed);
    }
    if let (Some(slot), Some(control)) = (entered, session::control()) {
        // A thread of this number may have ended without a word.
        timers::end(slot);
        match forked {
            None => probe.begin_phase(slot),
            Some(began) => {
                if let Some(record) = probe.threads.record(slot.number()) {
                    record.restart(began);
                }
                probe.begin_phase_at_fork(slot);
            }
        }
        if !timers::start(control, slot, tid) {
            probe.go_on_without_timer(slot);
        }
    }
    Value::new().set();
}

/// Tells the command that there is something to look at.
pub fn tell(home: Home) {
    // SAFETY: as above.
    if let Some(recorder) = unsafe { &home.probe().recorder } {
        recorder.ring_bell();
    }
}

/// Writes down the CPU time of the calling thread, whose process ends or becomes another program.
pub fn note_cpu(home: Home) {
    // SAFETY: as above.
    let threads = unsafe { &home.probe().threads };
    let slot = threads.find(sys::thread_id());
    if let Some(record) = slot.and_then(|slot| threads.record(slot.number())) {
        record.cpu.store(sys::thread_cpu_time(), Ordering::Relaxed);
    }
}

/// The destructor of the key.
unsafe extern "C" fn at_end(value: *mut c_void) {
    let value = Value(value as usize);
    if let Some(next) = value.next() {
        return next.set();
    }
    if left::has_left() {
        // To ask whose memory this is would be a call of the kernel's.
        return calls::end_thread();
    }
    let Some(home) = home::current() else {
        return;
    };
    // SAFETY: as in `enter_quietly`.
    let probe = unsafe { home.probe() };
    if let Some(slot) = probe.threads.find(sys::thread_id()) {
        timers::end(slot);
    }
    memory::end_thread();
    calls::end_thread();
    let cpu = process::time(libc::CLOCK_THREAD_CPUTIME_ID);
    probe.threads.end(&probe.caches, sys::thread_id(), cpu);
    let header = &home.ring().header;
    // Release pairs with the acquire of the command.
    header.news.store(1, Ordering::Release);
    if probe.threads.unused_records() < RECORDS / 4 {
        tell(home);
    }
}
