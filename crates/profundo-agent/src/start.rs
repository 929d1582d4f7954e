//! The start: before the program's first instruction, and often before the constructors of the
//! libraries that it uses.

use core::ffi::c_int;
use core::ffi::{CStr, c_char};
use core::sync::atomic::{AtomicU32, Ordering};

use profundo_probe::shared::{COMMAND_BYTES, Control, SessionState, start_kind};
use profundo_probe::urgent;

use crate::home::{self, Home, home};
use crate::{
    c_library, command, deferred, ends, environment, fork, hello, lifecycle, next_symbols, proc,
    process, session, symbols, threads, variables,
};

/// Before, during and after the start.
mod phase {
    pub const BEFORE: u32 = 0;
    pub const DURING: u32 = 1;
    pub const AFTER: u32 = 2;
}

static PHASE: AtomicU32 = AtomicU32::new(phase::BEFORE);

/// Called by the loader.
#[used]
#[unsafe(link_section = ".init_array")]
static CONSTRUCTOR: extern "C" fn(c_int, *const *const c_char, *const *const c_char) = constructor;

extern "C" fn constructor(count: c_int, words: *const *const c_char, _: *const *const c_char) {
    if symbols::comes_late() {
        // Other threads run, and may be about to fork: nothing is looked up yet.
        fork::watch();
        PHASE.store(phase::AFTER, Ordering::Relaxed);
        return;
    }
    let arguments = match c_library::passes_arguments() {
        true => Arguments::Given {
            count: usize::try_from(count).unwrap_or(0),
            words,
        },
        false => Arguments::Asked,
    };
    if PHASE.load(Ordering::Relaxed) == phase::BEFORE {
        start(Some(arguments));
    } else if let Some(home) = home().filter(|home| home.records()) {
        note_command(home, arguments);
    }
}

/// The program's arguments.
#[derive(Clone, Copy)]
enum Arguments {
    /// As the loader passes them, and their count.
    Given {
        count: usize,
        words: *const *const c_char,
    },
    /// The loader does not pass them: the kernel is asked.
    Asked,
}

impl Arguments {
    /// Writes them down as far as there is room for them, each with its NUL. Returns the length.
    fn write(self, text: &mut [u8]) -> usize {
        let Self::Given { count, words } = self else {
            return proc::read(c"/proc/self/cmdline", text).len();
        };
        let mut end = 0;
        for index in 0..count {
            // SAFETY: so many strings are there.
            let word = unsafe { CStr::from_ptr(*words.add(index)) }.to_bytes_with_nul();
            let room = text.get_mut(end..).unwrap_or_default();
            let length = word.len().min(room.len());
            room.iter_mut().zip(word).for_each(|(to, &from)| *to = from);
            end += length;
        }
        end
    }
}

/// Writes down the command line, as far as there is room for it.
fn note_command(home: Home, arguments: Arguments) {
    let mut text = [0_u8; COMMAND_BYTES];
    let end = arguments.write(&mut text);
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
    // Not a lock: a thread that another one makes meanwhile is not worth waiting for.
    let first = PHASE.compare_exchange(
        phase::BEFORE,
        phase::DURING,
        Ordering::Relaxed,
        Ordering::Relaxed,
    );
    if first.is_err() {
        return;
    }
    let began = hello::cpu_time();
    next_symbols::resolve();
    // SAFETY: the program has not begun.
    if let Some((control, is_behind)) = unsafe { find_session() } {
        record(control, is_behind, arguments);
        hello::note_cost(began);
    }
    PHASE.store(phase::AFTER, Ordering::Relaxed);
}

/// Takes the session out of the environment, and joins it. Also says whether this library was
/// loaded behind the runtime of a sanitizer.
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

/// Takes a ring, and announces the process to the command. Where a step fails, the program still
/// runs, and the programs that it executes are followed.
fn record(control: &'static Control, is_behind: bool, arguments: Option<Arguments>) -> Option<()> {
    if control.state.load(Ordering::Relaxed) == SessionState::Over as u32
        || !command::shares_pid_namespace(control)
    {
        return None;
    }
    let memory = home::reserve()?;
    let patience = session::patience_for_ring(control, hello::PATIENCE_FOR_RING);
    let ring = session::take_ring(control, patience)?;
    // SAFETY: the memory was reserved, and the ring is mapped for ever.
    unsafe { home::settle(memory, ring.memory) };
    let home = home()?;
    home.take();
    home.ring_number().store(ring.number, Ordering::Relaxed);
    home.main_stack_end()
        .store(main_stack_end(), Ordering::Relaxed);
    // SAFETY: no handler is installed, and there is one thread.
    unsafe { home.make_probe(control, process::process_id()) };
    let header = &home.ring().header;
    let behind_sanitizer = u32::from(is_behind);
    header
        .behind_sanitizer
        .store(behind_sanitizer, Ordering::Relaxed);
    ends::watch();
    fork::watch();
    lifecycle::begin(control, home, is_behind);
    if let Some(arguments) = arguments {
        note_command(home, arguments);
    }
    if control.defers.load(Ordering::Relaxed) != 0 {
        // Most programs are short, and never need the command's answer.
        deferred::await_answer_later();
        hello::introduce(home, start_kind::EXEC, threads::enter_current);
    } else {
        // SAFETY: the probe was made before.
        urgent::set_probe(Some(unsafe { home.probe() }));
        hello::introduce(home, start_kind::EXEC, threads::enter_current);
        hello::await_answer(home, control);
    }
    Some(())
}

/// The end of the main thread's stack: below what the kernel has put there for the program, which
/// may be more than all frames and is never walked. The program's path is near the very top: the
/// string, and eight zero bytes.
pub fn main_stack_end() -> u64 {
    const PAGE: u64 = 4096;
    // SAFETY: libc keeps the vector; the string is the kernel's.
    unsafe {
        let path = libc::getauxval(libc::AT_EXECFN) as *const c_char;
        if path.is_null() {
            return 0;
        }
        let end = path as u64 + CStr::from_ptr(path).to_bytes_with_nul().len() as u64 + 8;
        let end = end.next_multiple_of(PAGE);
        let (here, words) = ((&raw const path) as u64, variables::current() as u64);
        // A program that has moved the environment has not moved the stack.
        let is_there = here < words && words < end && words.is_multiple_of(8);
        if is_there { words } else { end }
    }
}
