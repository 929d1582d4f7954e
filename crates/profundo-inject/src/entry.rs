//! The agent comes into a program that runs already, Python or not, and leaves it again.
//!
//! A thread of the program is borrowed where that does no harm, loads the agent if the program does
//! not have it yet, and calls it. All else is the agent's work: it enters the program's threads one
//! by one, and none of them is stopped for that.

use std::mem::MaybeUninit;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;
use std::time::Duration;

use profundo_linux::sys;
use profundo_permits::may_be_read;
use profundo_probe::shared::{
    Answer, ENTER_SYMBOL, FALL_SILENT_SYMBOL, LEAVE_SYMBOL, MASKED_SYMBOL, MaskChange,
};

use super::ROOM;
use super::borrowed::Borrowed;
use super::library;
use super::masks;
use super::program::Program;
use super::refused::Refused;
use super::safe_point::{Instructions, Places};
use super::steps::{borrow, has_more_filters, map, write_memory};

/// The offsets of the answer and of the two paths in our memory; the stack is above.
const ANSWER: u64 = 0;
const DIRECTORY: u64 = 16 << 10;
const AGENT: u64 = DIRECTORY + PATH;
/// The longest path that the kernel takes.
const PATH: u64 = 4096;

/// The exported function of the agent that begins to record allocations.
const FOLLOW_MEMORY_SYMBOL: &str = "profundo_follow_memory_1";

/// No answer: the function was not called.
const UNANSWERED: i32 = i32::MIN;

/// A program that the agent can come into.
#[derive(Debug)]
pub struct Entry<'a> {
    pid: u32,
    library: &'a [u8],
    program: Program,
    places: Places,
    instructions: Instructions,
    /// The longest time for which a thread was borrowed.
    longest: Duration,
}

impl<'a> Entry<'a> {
    /// Finds out whether the agent can come into a program. `library`: the bytes of the agent's
    /// file. `filtered`: also if it restricts its system calls.
    pub fn of(pid: u32, library: &'a [u8], filtered: bool) -> Result<Self, Refused> {
        may_be_read(pid).map_err(Refused::Machine)?;
        if !filtered && has_more_filters(pid) {
            return Err(Refused::Filtered);
        }
        let program = Program::of(pid).ok_or(Refused::Gone)?;
        if program.is_stopped() {
            return Err(Refused::Stopped);
        }
        let places = Places::of(pid)?;
        if let Some(name) = places.sanitizer() {
            return Err(Refused::Sanitized(name));
        }
        let Some(instructions) = places.instructions() else {
            return Err(program.is_another(pid).unwrap_or(Refused::Static));
        };
        Ok(Self {
            pid,
            library,
            program,
            places,
            instructions,
            longest: Duration::ZERO,
        })
    }

    /// Has the agent enter the session in a directory. Programs that this one executes load the
    /// agent from the file at `agent`. The recorder answers the agent afterwards.
    pub fn enter(&mut self, directory: &Path, agent: &Path) -> Result<(), Refused> {
        let pid = self.pid;
        let masks = self.in_room(|entry, thread, room| {
            library::close_left(pid, thread)?;
            let known = library::function_in(pid, entry.library, ENTER_SYMBOL);
            let function = match known {
                Some(function) => function,
                None => {
                    let texts = room + DIRECTORY;
                    library::load(pid, thread, &entry.places, entry.library, texts)?;
                    library::function_in(pid, entry.library, ENTER_SYMBOL)
                        .ok_or_else(|| library::no_function(ENTER_SYMBOL))?
                }
            };
            put_path(pid, room + DIRECTORY, directory)?;
            put_path(pid, room + AGENT, agent)?;
            let arguments = [room + DIRECTORY, room + AGENT, room + ANSWER];
            call(pid, thread, function, arguments, room)
        })?;
        if masks.is_empty() {
            return Ok(());
        }
        masks::change(pid, &masks);
        let Some(function) = library::function_in(pid, self.library, MASKED_SYMBOL) else {
            return Err(library::no_function(MASKED_SYMBOL));
        };
        self.in_room(|_, thread, _| {
            thread.call(function, [0; 3])?;
            Ok(Vec::new())
        })?;
        Ok(())
    }

    /// Has the agent begin to record allocations. The recorder has answered it before.
    pub fn follow_memory(&mut self) -> Result<(), Refused> {
        let pid = self.pid;
        let function = library::function_in(pid, self.library, FOLLOW_MEMORY_SYMBOL);
        let function = function.ok_or_else(|| library::no_function(FOLLOW_MEMORY_SYMBOL))?;
        self.in_room(|_, thread, room| call(pid, thread, function, [room + ANSWER, 0, 0], room))?;
        Ok(())
    }

    /// Has the agent leave. The recorder has closed its clocks before.
    pub fn leave(&mut self) -> Result<(), Refused> {
        let pid = self.pid;
        for name in [FALL_SILENT_SYMBOL, LEAVE_SYMBOL] {
            let Some(function) = library::function_in(pid, self.library, name) else {
                return Ok(());
            };
            let masks = self.in_room(|_, thread, room| {
                call(pid, thread, function, [room + ANSWER, 0, 0], room)
            })?;
            masks::change(pid, &masks);
        }
        Ok(())
    }

    /// The longest time for which a thread of the program was borrowed.
    pub fn longest_pause(&self) -> Duration {
        self.longest
    }

    /// Borrows a thread, which has memory of ours meanwhile.
    fn in_room(
        &mut self,
        f: impl FnOnce(&Self, &mut Borrowed, u64) -> Result<Vec<MaskChange>, Refused>,
    ) -> Result<Vec<MaskChange>, Refused> {
        let (mut thread, since) =
            borrow(self.pid, &self.program, self.instructions, &mut self.places)?;
        let room = map(&mut thread, ROOM)?;
        thread.put_frame(room + ROOM)?;
        let result = f(self, &mut thread, room);
        // A thread that does not come back still uses its stack.
        if !matches!(result, Err(Refused::Hangs | Refused::Gone)) {
            thread.put_frame_on_own_stack()?;
            thread.system(libc::SYS_munmap, [room, ROOM, 0, 0, 0, 0])?;
        }
        drop(thread);
        self.longest = self.longest.max(since.elapsed());
        result
    }
}

fn put_path(pid: u32, address: u64, path: &Path) -> Result<(), Refused> {
    let mut bytes = path.as_os_str().as_bytes().to_vec();
    bytes.push(0);
    if bytes.len() as u64 > PATH {
        return Err(Refused::NotLoaded("a path is too long".to_owned()));
    }
    write_memory(pid, address, &bytes)?;
    Ok(())
}

/// Calls a function of the agent, which writes its answer. Returns the masks that are to be
/// changed.
fn call(
    pid: u32,
    thread: &mut Borrowed,
    function: u64,
    arguments: [u64; 3],
    room: u64,
) -> Result<Vec<MaskChange>, Refused> {
    write_memory(pid, room + ANSWER, &UNANSWERED.to_le_bytes())?;
    thread.call(function, arguments)?;
    let mut bytes = vec![0; size_of::<Answer>()];
    if sys::read_memory(pid, room + ANSWER, &mut bytes) != bytes.len() {
        return Err(Refused::Gone);
    }
    let mut answer = MaybeUninit::<Answer>::zeroed();
    // SAFETY: an answer is made of numbers, and as long as the bytes.
    let answer = unsafe {
        answer
            .as_mut_ptr()
            .cast::<u8>()
            .copy_from(bytes.as_ptr(), bytes.len());
        answer.assume_init()
    };
    match answer.result.into_inner() {
        0 => Ok(answer.masks.all().collect()),
        error => Err(Refused::NotEntered(-error)),
    }
}

const _: () = assert!(size_of::<Answer>() as u64 <= DIRECTORY);
