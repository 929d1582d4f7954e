//! The agent comes into a program that runs already, Python or not, and leaves it again.
//!
//! A thread of the program is borrowed where that does no harm, loads the agent if the program does
//! not have it yet, and calls it. All else is the agent's work: it enters the program's threads one
//! by one, and none of them is stopped for that.

use std::mem::{MaybeUninit, offset_of};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::MetadataExt;
use std::path::Path;
use std::time::{Duration, Instant};

use profundo_linux::container::other_namespace;
use profundo_linux::{proc, sys};
use profundo_probe::loading::Why;
use profundo_probe::shared::{
    Answer, ENTER_SYMBOL, FALL_SILENT_SYMBOL, LEAVE_SYMBOL, MASKED_SYMBOL,
};
use profundo_process::loading::why_nothing;
use profundo_scan::map_lines;
use profundo_session::{is_recorded_inside, is_recorded_within};

use super::ROOM;
use super::borrowed::Borrowed;
use super::library;
use super::masks;
use super::program::Program;
use super::refused::Refused;
use super::safe_point::{Instructions, Places};
use super::steps::{borrow, map, may_be_entered, may_be_filtered, most_filters, write_memory};
use super::turn::Turn;

/// The offsets of the answer and of the two paths in our memory; the stack is above.
const ANSWER: u64 = 0;
const DIRECTORY: u64 = 16 << 10;
const AGENT: u64 = DIRECTORY + PATH;
/// The longest path that the kernel takes.
const PATH: u64 = 4096;

/// The exported function of the agent that begins to record allocations.
const FOLLOW_MEMORY_SYMBOL: &str = "profundo_follow_memory_1";
/// The agent cannot do its work yet, because a thread of the program is in a handler of ours. It
/// may have to wait for a CPU.
const LATER: i32 = -libc::EAGAIN;

/// The longest time to ask again, where the answer is needed, and where it is not.
const PATIENCE: Duration = Duration::from_secs(5);
const SHORT_PATIENCE: Duration = Duration::from_millis(200);

/// The longest time until other commands have come in or left, each of which may ask for as long.
const OTHERS: Duration = Duration::from_secs(20);

/// What the agent leaves behind in a program.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Staying {
    /// The number of threads whose masks may have fewer signals than the program has set.
    pub masks: usize,
    /// The signals whose handlers stay, because one of ours may wait for a thread that blocks it:
    /// bit n for signal n + 1.
    pub handlers: u32,
    /// Whether the memory of the recording stays: a handler did not come to its end.
    pub memory: bool,
}

impl Staying {
    /// Whether nothing stays.
    pub fn is_nothing(&self) -> bool {
        *self == Self::default()
    }
}

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
    /// Whether to come in even if the program restricts its system calls.
    filtered: bool,
    /// The most filters that a thread of it had.
    most_filters: u64,
    /// The longest time for which a thread was borrowed.
    longest: Duration,
}

impl<'a> Entry<'a> {
    /// Finds out whether the agent can come into a program. `library`: the bytes of the agent's
    /// file. `filtered`: also if it restricts its system calls.
    pub fn of(pid: u32, library: &'a [u8], filtered: bool) -> Result<Self, Refused> {
        may_be_entered(pid)?;
        let most_filters = may_be_filtered(pid, filtered)?;
        let program = Program::of(pid).ok_or(Refused::Gone)?;
        if program.is_stopped() {
            return Err(Refused::Stopped);
        }
        let places = Places::of_begun(pid)?;
        // A program without names shows its sanitizer in other ways.
        let sanitizer = places.sanitizer().or_else(|| match why_nothing(pid) {
            Some(Why::Sanitizer(sanitizer)) => Some(sanitizer.name()),
            _ => None,
        });
        if let Some(name) = sanitizer {
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
            filtered,
            most_filters,
            longest: Duration::ZERO,
        })
    }

    /// Has the agent enter the session in a directory. Programs that this one executes load the
    /// agent from the file at `agent`. The recorder answers the agent afterwards.
    pub fn enter(&mut self, directory: &Path, agent: &Path) -> Result<(), Refused> {
        let _turn = self.turn()?;
        numbers_are_its_own(self.pid)?;
        // The program may have another agent, as one that was started under `run` has.
        if has_session(self.pid) {
            return Err(Refused::NotEntered(libc::EBUSY));
        }
        let mut answer = patiently(PATIENCE, || self.enter_once(directory, agent))?;
        if *answer.result.get_mut() != 0 {
            return Err(Refused::NotEntered(libc::EAGAIN));
        }
        let asked: Vec<u32> = answer.masks.all().map(|(tid, _)| tid).collect();
        if asked.is_empty() {
            return Ok(());
        }
        let pid = self.pid;
        let Some(function) = library::function_in(pid, self.library, MASKED_SYMBOL) else {
            return Err(library::no_function(MASKED_SYMBOL));
        };
        let mut answer = empty();
        for (tid, mask) in masks::read(pid, &asked) {
            answer.masks.add(tid, mask);
        }
        self.in_room(|_, thread, room| {
            write_memory(pid, room + ANSWER, bytes_of(&mut answer))?;
            call(pid, thread, function, [room + ANSWER, 0, 0], room)
        })?;
        Ok(())
    }

    /// Has the agent begin to record allocations. The recorder has answered it before.
    pub fn follow_memory(&mut self) -> Result<(), Refused> {
        let _turn = self.turn()?;
        let answer = self.ask(FOLLOW_MEMORY_SYMBOL, PATIENCE)?;
        let answer = answer.ok_or_else(|| {
            let gone = self.program.is_another(self.pid);
            gone.unwrap_or_else(|| library::no_function(FOLLOW_MEMORY_SYMBOL))
        })?;
        match answer.result.into_inner() {
            0 => Ok(()),
            error => Err(Refused::NotEntered(-error)),
        }
    }

    fn enter_once(&mut self, directory: &Path, agent: &Path) -> Result<Box<Answer>, Refused> {
        let pid = self.pid;
        // All that takes a while comes before the thread is stopped.
        let value = library::value_in(self.library, ENTER_SYMBOL)
            .ok_or_else(|| library::no_function(ENTER_SYMBOL))?;
        let loader = self.places.loader();
        // An ending program has no files left.
        let loader =
            loader.ok_or_else(|| self.program.is_another(pid).unwrap_or(Refused::Static))?;
        if library::begin(pid, self.library).is_none() {
            self.in_room(|entry, thread, room| {
                library::close_left(pid, thread)?;
                library::load(pid, thread, loader, entry.library, room + DIRECTORY)?;
                Ok(empty())
            })?;
            library::let_forks_end(pid);
        }
        self.in_room(|entry, thread, room| {
            library::close_left(pid, thread)?;
            let function = library::begin(pid, entry.library)
                .ok_or_else(|| library::no_function(ENTER_SYMBOL))?
                + value;
            put_path(pid, room + DIRECTORY, directory)?;
            put_path(pid, room + AGENT, agent)?;
            let arguments = [room + DIRECTORY, room + AGENT, room + ANSWER];
            call(pid, thread, function, arguments, room)
        })
    }

    /// Has the agent leave. The recorder has closed its clocks before. Returns what stays.
    pub fn leave(&mut self) -> Result<Staying, Refused> {
        /// A mask that is given back may be inherited meanwhile.
        const ROUNDS: usize = 4;
        let pid = self.pid;
        // To stay for good would be worse than to leave while another comes in.
        let _turn = self.turn();
        let mut staying = Staying::default();
        for _ in 0..ROUNDS {
            let Some(answer) = self.ask(FALL_SILENT_SYMBOL, SHORT_PATIENCE)? else {
                return Ok(staying);
            };
            let tids: Vec<u32> = answer.masks.all().map(|(tid, _)| tid).collect();
            let (changed, left) = masks::restore(pid, &tids, &answer.known());
            staying.masks = left.len();
            if changed == 0 {
                break;
            }
        }
        if let Some(mut answer) = self.ask(LEAVE_SYMBOL, PATIENCE)? {
            staying.handlers = *answer.staying.get_mut();
            staying.memory = *answer.result.get_mut() != 0;
        }
        Ok(staying)
    }

    fn turn(&self) -> Result<Turn, Refused> {
        Turn::wait(self.pid, OTHERS).ok_or(Refused::NotEntered(libc::EALREADY))
    }

    /// Calls a function of the agent until it has done its work. `None`: there is no agent.
    fn ask(&mut self, name: &str, longest: Duration) -> Result<Option<Box<Answer>>, Refused> {
        let pid = self.pid;
        let Some(function) = library::function_in(pid, self.library, name) else {
            return Ok(None);
        };
        let once = || {
            self.in_room(|_, thread, room| call(pid, thread, function, [room + ANSWER, 0, 0], room))
        };
        patiently(longest, once).map(Some)
    }

    /// The longest time for which a thread of the program was borrowed.
    pub fn longest_pause(&self) -> Duration {
        self.longest
    }

    /// Borrows a thread, which has memory of ours meanwhile.
    fn in_room(
        &mut self,
        f: impl FnOnce(&Self, &mut Borrowed, u64) -> Result<Box<Answer>, Refused>,
    ) -> Result<Box<Answer>, Refused> {
        let (mut thread, mut since) = self.borrow()?;
        let room = map(&mut thread, ROOM)?;
        thread.put_frame(room + ROOM)?;
        let result = f(self, &mut thread, room);
        if thread.is_back() {
            drop(thread);
            self.longest = self.longest.max(since.elapsed());
            match self.borrow() {
                Ok(again) => (thread, since) = again,
                // Its memory stays.
                Err(_) => return result,
            }
        }
        // A thread that does not come back still uses its stack.
        if !matches!(result, Err(Refused::Hangs | Refused::Gone)) {
            thread.put_frame_on_own_stack()?;
            thread.system(libc::SYS_munmap, [room, ROOM, 0, 0, 0, 0])?;
        }
        drop(thread);
        self.longest = self.longest.max(since.elapsed());
        result
    }

    fn borrow(&mut self) -> Result<(Borrowed, Instant), Refused> {
        let (thread, since) = borrow(self.pid, &self.program, self.instructions, &mut self.places)?;
        // The program may have begun to restrict itself since it was looked at. A held thread does
        // not.
        match !self.filtered && most_filters(self.pid) > self.most_filters {
            true => Err(Refused::Filtered),
            false => Ok((thread, since)),
        }
    }
}

/// Whether a process has the memory of a session that is being recorded. A command may still be
/// busy with a session that its agents have left.
fn has_session(pid: u32) -> bool {
    let maps = proc::read(pid, "maps");
    let is_control = |path: &[u8]| {
        path.ends_with(b"/control") && path.windows(10).any(|part| part == b"/profundo-")
    };
    let mut controls = map_lines(&maps)
        .map(|(_, line)| line.plain_path())
        .filter(|path| is_control(path));
    controls.any(|path| is_recorded_inside(pid) || is_recorded_within(pid, path))
}

/// Whether a program in another pid namespace sees its threads in its `/proc` by the numbers that
/// it has for them.
fn numbers_are_its_own(pid: u32) -> Result<(), Refused> {
    let Some(namespace) = other_namespace(pid) else {
        return Ok(());
    };
    let inside = proc::number_inside(pid, pid).ok_or(Refused::Gone)?;
    let path = format!("/proc/{pid}/root/proc/{inside}/ns/pid");
    let status = std::fs::read_to_string(format!("/proc/{pid}/root/proc/{inside}/status"));
    let numbers = status.ok().and_then(|status| {
        let line = status
            .lines()
            .find_map(|line| line.strip_prefix("NSpid:"))?;
        Some(line.split_whitespace().count())
    });
    let is_same = std::fs::metadata(path).is_ok_and(|data| data.ino() == namespace);
    match is_same && numbers == Some(1) {
        true => Ok(()),
        false => Err(Refused::NoProc),
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

/// Calls a function of the agent, which writes its answer.
fn call(
    pid: u32,
    thread: &mut Borrowed,
    function: u64,
    arguments: [u64; 3],
    room: u64,
) -> Result<Box<Answer>, Refused> {
    write_memory(pid, room + ANSWER, &UNANSWERED.to_le_bytes())?;
    let word = |at: usize| room + ANSWER + at as u64;
    let is_done = || {
        let mut bytes = UNANSWERED.to_le_bytes();
        let place = word(offset_of!(Answer, result));
        sys::read_memory(pid, place, &mut bytes) != bytes.len()
            || i32::from_le_bytes(bytes) != UNANSWERED
    };
    let see = || write_memory(pid, word(offset_of!(Answer, is_seen)), &1_u32.to_le_bytes());
    thread.call_freely(function, arguments, is_done, see, room..room + ROOM)?;
    let mut answer = empty();
    if sys::read_memory(pid, room + ANSWER, bytes_of(&mut answer)) != size_of::<Answer>() {
        return Err(Refused::Gone);
    }
    match *answer.result.get_mut() {
        0 | LATER => Ok(answer),
        error => Err(Refused::NotEntered(-error)),
    }
}

/// Asks again while the agent cannot do its work yet. Returns the last answer, with all that stays.
fn patiently(
    longest: Duration,
    mut ask: impl FnMut() -> Result<Box<Answer>, Refused>,
) -> Result<Box<Answer>, Refused> {
    const PAUSE: Duration = Duration::from_millis(1);
    let began = Instant::now();
    let mut staying = 0;
    loop {
        let mut answer = ask()?;
        staying |= *answer.staying.get_mut();
        *answer.staying.get_mut() = staying;
        if *answer.result.get_mut() == 0 || began.elapsed() > longest {
            return Ok(answer);
        }
        std::thread::sleep(PAUSE);
    }
}

/// An answer that is not written yet.
fn empty() -> Box<Answer> {
    // SAFETY: an answer is made of numbers.
    Box::new(unsafe { MaybeUninit::<Answer>::zeroed().assume_init() })
}

/// The bytes of an answer.
fn bytes_of(answer: &mut Answer) -> &mut [u8] {
    let place = std::ptr::from_mut(answer).cast::<u8>();
    // SAFETY: an answer is made of numbers, without gaps that matter: any bytes are one.
    unsafe { std::slice::from_raw_parts_mut(place, size_of::<Answer>()) }
}

const _: () = assert!(size_of::<Answer>() as u64 <= DIRECTORY);
