//! The start: before the program's first instruction, and often before the constructors of the
//! libraries that it uses.

use core::ffi::c_int;
use core::ffi::{CStr, c_char};
use core::sync::atomic::{AtomicU32, Ordering};

use profundo_probe::shared::{COMMAND_BYTES, Control, MAGIC, SessionState, ring_state, start_kind};
use profundo_probe::{clock, sys, urgent};

use crate::home::{self, Home, home};
use crate::patience::Wait;
use crate::{
    claims, deferred, ends, environment, fork, memory, next_symbols, process, python, session,
    signals, symbols, threads, traps,
};

/// Before, during and after the start.
mod phase {
    pub const BEFORE: u32 = 0;
    pub const DURING: u32 = 1;
    pub const AFTER: u32 = 2;
}

static PHASE: AtomicU32 = AtomicU32::new(phase::BEFORE);

/// How long the program waits for the command to be ready, in nanoseconds, while the command has its turns.
const PATIENCE: u64 = 100_000_000;

/// How long it waits for a ring: a part of that.
pub const PATIENCE_FOR_RING: u64 = 50_000_000;

/// Called by the loader.
#[used]
#[unsafe(link_section = ".init_array")]
static CONSTRUCTOR: extern "C" fn(c_int, *const *const c_char, *const *const c_char) = constructor;

extern "C" fn constructor(count: c_int, words: *const *const c_char, _: *const *const c_char) {
    let arguments = Arguments {
        count: usize::try_from(count).unwrap_or(0),
        words,
    };
    if PHASE.load(Ordering::Relaxed) == phase::BEFORE {
        start(Some(arguments));
    } else if let Some(home) = home().filter(|home| home.records()) {
        note_command(home, arguments);
    }
}

/// The program's arguments, as the loader passes them: so many strings.
#[derive(Clone, Copy)]
struct Arguments {
    count: usize,
    words: *const *const c_char,
}

/// Writes down the command line, as far as there is room for it.
fn note_command(home: Home, Arguments { count, words }: Arguments) {
    let mut text = [0_u8; COMMAND_BYTES];
    let mut end = 0;
    for index in 0..count {
        // SAFETY: so many strings are there.
        let word = unsafe { CStr::from_ptr(*words.add(index)) }.to_bytes_with_nul();
        let room = text.get_mut(end..).unwrap_or_default();
        let length = word.len().min(room.len());
        room.iter_mut().zip(word).for_each(|(to, &from)| *to = from);
        end += length;
    }
    let header = &home.ring().header;
    let (chunks, _) = text.as_chunks();
    for (to, from) in header.command.iter().zip(chunks).take(end.div_ceil(8)) {
        to.store(u64::from_ne_bytes(*from), Ordering::Relaxed);
    }
    // Release pairs with the acquire of the command.
    header.command_bytes.store(end as u32, Ordering::Release);
}

/// Starts the agent, if it has not been started: a library that was initialised before us may make
/// threads in its constructor.
#[inline]
pub fn ensure() {
    if PHASE.load(Ordering::Relaxed) == phase::BEFORE {
        start(None);
    }
}

#[cold]
fn start(arguments: Option<Arguments>) {
    // Not a lock: a thread that is made meanwhile by another one is not worth waiting for.
    let first = PHASE.compare_exchange(
        phase::BEFORE,
        phase::DURING,
        Ordering::Relaxed,
        Ordering::Relaxed,
    );
    if first.is_err() {
        return;
    }
    let began = cpu_time();
    next_symbols::resolve();
    // SAFETY: the program has not begun.
    if let Some((control, is_behind)) = unsafe { find_session() } {
        record(control, is_behind, arguments);
        note_cost(began);
    }
    PHASE.store(phase::AFTER, Ordering::Relaxed);
}

/// Takes the session out of the environment, and joins it. Also says whether this library was loaded
/// behind the runtime of a sanitizer.
///
/// # Safety
/// There is one thread.
unsafe fn find_session() -> Option<(&'static Control, bool)> {
    // SAFETY: passed on. The strings stay where they are when the list is changed.
    unsafe {
        let directory = environment::find()?;
        symbols::own_path(|path: &CStr| {
            let control = session::join_session(directory, path.to_bytes());
            let is_behind = environment::hide(path.to_bytes());
            control.map(|control| (control, is_behind))
        })?
    }
}

/// Takes a ring, and tells the command that we are here. What is missing is missing: the program
/// runs, and what it executes is followed all the same.
fn record(control: &'static Control, is_behind: bool, arguments: Option<Arguments>) -> Option<()> {
    if control.state.load(Ordering::Relaxed) == SessionState::Over as u32
        || !session::is_own_namespace(control)
    {
        return None;
    }
    let memory = home::reserve()?;
    let patience = session::patience_for_ring(control, PATIENCE_FOR_RING);
    let (number, ring) = session::take_ring(control, patience)?;
    // SAFETY: the memory was reserved, and the ring is mapped for ever.
    unsafe { home::settle(memory, ring) };
    let home = home()?;
    home.take();
    home.ring_number().store(number, Ordering::Relaxed);
    home.main_stack_end()
        .store(main_stack_end(), Ordering::Relaxed);
    // SAFETY: no handler is installed, and there is one thread.
    unsafe { home.make_probe(control, process::process_id()) };
    let header = &home.ring().header;
    // Before the tables: where they are, the command takes it that there is a handler.
    traps::install();
    let (tables, bytes) = session::map_tables().unwrap_or((0, 0));
    header.tables.store(tables, Ordering::Relaxed);
    header.table_bytes.store(bytes, Ordering::Relaxed);
    threads::make_key();
    fork::watch();
    ends::watch();
    header
        .behind_sanitizer
        .store(u32::from(is_behind), Ordering::Relaxed);
    // There the runtime is the allocator, and its reports show who has called it.
    if !is_behind {
        memory::begin(control, home);
    }
    if memory::is_on() {
        memory::look_for_allocator(home);
    }
    python::look(home, true);
    home.set_records(true);
    signals::install();
    if let Some(arguments) = arguments {
        note_command(home, arguments);
    }
    if control.defers.load(Ordering::Relaxed) != 0 {
        // Most programs are short, and never need what the command has to say.
        deferred::await_answer_later();
        introduce(home, start_kind::EXEC, None);
    } else {
        // SAFETY: the probe was made before.
        urgent::set_probe(Some(unsafe { home.probe() }));
        introduce(home, start_kind::EXEC, None);
        await_answer(home, control);
    }
    Some(())
}

/// Waits for what the command has to say. Only then is there a sense in samples.
pub fn await_answer(home: Home, control: &Control) {
    if wait(home, control) == ring_state::REFUSED {
        urgent::set_probe(None);
        home.set_records(false);
        memory::leave();
        return;
    }
    // SAFETY: the probe was made before.
    urgent::set_probe(Some(unsafe { home.probe() }));
}

/// The CPU time of this process in nanoseconds.
pub fn cpu_time() -> u64 {
    process::time(libc::CLOCK_PROCESS_CPUTIME_ID)
}

/// Writes down what a start has cost, whose CPU time was `began` at first.
pub fn note_cost(began: u64) {
    if let Some(home) = home().filter(|home| home.records()) {
        let cost = cpu_time().saturating_sub(began);
        let place = &home.ring().header.ends.start_cost;
        place.store(cost, Ordering::Relaxed);
    }
}

/// Fills in the header, enters the calling thread and says hello. `began`: the cycle counter when the process was forked,
/// if that was a while ago.
pub fn introduce(home: Home, kind: u32, began: Option<u64>) {
    let header = &home.ring().header;
    let process = process::process_id();
    header.kind.store(kind, Ordering::Relaxed);
    header.pid.store(process, Ordering::Relaxed);
    header.parent.store(process::parent_id(), Ordering::Relaxed);
    header.started.store(clock::now(), Ordering::Relaxed);
    header.exit_code.store(-1, Ordering::Relaxed);
    let used = process::usage();
    let ends = &header.ends;
    ends.peak_before.store(used.peak, Ordering::Relaxed);
    header.magic.store(MAGIC, Ordering::Relaxed);
    match began {
        None => threads::enter_quietly(home),
        Some(began) => threads::enter_forked(home, began),
    }
    let signal = claims::sent() as u32;
    header.signal.store(signal, Ordering::Relaxed);
    traps::offer();
    // Release pairs with the acquire of the command, which reads the rest after it.
    header.state.store(ring_state::HELLO, Ordering::Release);
    threads::tell(home);
}

/// Waits until the command is ready, for a while, and while there is one that has its turns.
fn wait(home: Home, control: &Control) -> u32 {
    /// The command may have been killed or stopped meanwhile.
    const TURN: u64 = 10_000_000;
    let state = &home.ring().header.state;
    let is_said = || Some(state.load(Ordering::Acquire)).filter(|&it| it != ring_state::HELLO);
    if let Some(said) = is_said() {
        return said;
    }
    // Without the command no stack can be walked, and all of them count there.
    let wait = Wait::begin(
        control,
        match memory::is_on() {
            true => 20 * PATIENCE,
            false => PATIENCE,
        },
    );
    while wait.goes_on() {
        sys::futex_wait(state, ring_state::HELLO, TURN);
        if let Some(said) = is_said() {
            wait.is_answered();
            return said;
        }
    }
    state.load(Ordering::Acquire)
}

/// Where the main thread's stack ends: below what the kernel has put there for the program, which may
/// be more than all frames and is never walked. The program's path is near the very top: the string, and
/// eight zero bytes.
fn main_stack_end() -> u64 {
    const PAGE: u64 = 4096;
    // SAFETY: libc keeps the vector; the string is the kernel's.
    unsafe {
        let path = libc::getauxval(libc::AT_EXECFN) as *const c_char;
        if path.is_null() {
            return 0;
        }
        let end = path as u64 + CStr::from_ptr(path).to_bytes_with_nul().len() as u64 + 8;
        let end = end.next_multiple_of(PAGE);
        let (here, words) = ((&raw const path) as u64, environment::current() as u64);
        // Who has moved the environment has not moved the stack.
        let is_there = here < words && words < end && words.is_multiple_of(8);
        if is_there { words } else { end }
    }
}
