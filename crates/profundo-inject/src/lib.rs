//! Injection into a program that has a Python interpreter: something of ours is done inside of it,
//! while the interpreter's lock is held. Only a library stays behind.
//!
//! A thread of the program is borrowed (see `borrowed`) where that does no harm (`safe_point`),
//! loads the library if the program does not have it already, and asks the interpreter to call us.
//! The interpreter does so when its main thread next runs an instruction; where that thread waits,
//! a thread of ours takes the lock instead. What was written to the program's memory for that is
//! undone.

mod allocators;
mod borrowed;
mod collections;
mod copy;
mod entry;
mod filters;
mod frame;
mod held_signals;
mod library;
mod masks;
mod native;
mod parts;
mod program;
mod ptrace;
mod refused;
mod safe_point;
mod stacks;
mod steps;
mod turn;

use std::cell::Cell;
use std::io;
use std::mem::offset_of;
use std::sync::atomic::{AtomicI32, AtomicU32};
use std::time::{Duration, Instant};

use profundo_cpython::version;
use profundo_linux::headroom;
use profundo_linux::proc;
use profundo_linux::sys;
use profundo_probe::shared::{
    Outlet, REQUEST_SYMBOL, Request, refusal, request_flag, request_state, way, wish,
};
use profundo_scan::map_lines;
use profundo_session::AnnouncedCopy;
use profundo_wire::graph::{End, Item};

pub use entry::{Entry, Staying};
pub use native::{Native, NativeThread};
pub use profundo_probe::shared::part;
pub use refused::Refused;
pub use refused::why_of;

use borrowed::Borrowed;
use copy::Copy;
use program::Program;
use safe_point::{Instructions, Places};
use steps::{borrow, failed, map, may_be_entered, may_be_filtered, write_memory};
use turn::Turn;

/// The options of a walk over objects.
#[derive(Debug, Clone, Copy)]
pub struct Objects {
    /// Leaves out the contents of texts.
    pub redact: bool,
    /// The longest time until the interpreter calls us.
    pub patience: Duration,
}

/// The memory of a copy whose output is complete, while it exists.
#[derive(Debug, Clone, Copy)]
pub struct CopiedMemory {
    pid: u32,
    /// The minor version of Python 3.
    pub minor: u8,
}

impl CopiedMemory {
    /// Copies memory. Returns the number of words that could be read.
    pub fn words(&self, address: u64, out: &mut [u64]) -> usize {
        let bytes = size_of_val(out);
        // SAFETY: words are bytes, and all of them are valid.
        let out = unsafe { std::slice::from_raw_parts_mut(out.as_mut_ptr().cast(), bytes) };
        sys::read_memory(self.pid, address, out) / 8
    }

    /// The ranges of private, anonymous, writable memory.
    pub fn private(&self) -> Vec<(u64, u64)> {
        let maps = proc::read(self.pid, "maps");
        let lines = map_lines(&maps);
        lines
            .filter(|(permissions, line)| permissions.starts_with(b"rw-p") && line.inode == 0)
            .map(|(_, line)| (line.start, line.end))
            .collect()
    }
}

/// The result of a walk.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct WalkedObjects {
    /// The numbers of nodes and edges.
    pub end: End,
    /// The time for which the program was stopped for the copy.
    pub pause: Duration,
    /// The time for which threads were borrowed, in total.
    pub borrowed: Duration,
}

/// The name of the library's file in the program.
const FILE_NAME: &str = "libprofundo-agent-door";

/// Bytes for a stack, a request, and texts.
const ROOM: u64 = 256 << 10;
/// The offsets of the request and of texts; the stack is above.
const REQUEST: u64 = 0;
const TEXTS: u64 = 512;

/// The longest time that our code may run once called.
const LONGEST: Duration = Duration::from_secs(10);

/// A program that can be entered.
pub struct Injection<'a> {
    pid: u32,
    library: &'a [u8],
    program: Program,
    places: Places,
    /// The minor version of Python 3.
    minor: u8,
    instructions: Instructions,
    /// The address of our function in the program.
    function: u64,
    /// The address of our memory in the program.
    room: u64,
    borrowed: Duration,
    is_over: Box<dyn Fn() -> bool + 'a>,
}

impl std::fmt::Debug for Injection<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let mut shown = f.debug_struct("Injection");
        shown.field("pid", &self.pid).finish_non_exhaustive()
    }
}

impl<'a> Injection<'a> {
    /// Finds out whether a program can be entered. `library`: the bytes of the agent's file.
    pub fn of(pid: u32, library: &'a [u8], filtered: bool) -> Result<Self, Refused> {
        may_be_entered(pid)?;
        may_be_filtered(pid, filtered)?;
        let program = Program::of(pid).ok_or(Refused::Gone)?;
        if program.is_stopped() {
            return Err(Refused::Stopped);
        }
        let mut places = Places::of(pid)?;
        let found = match places.minor() {
            Some(minor) => places
                .instructions()
                .map(|instructions| (minor, instructions))
                .ok_or(Refused::Static),
            None => Err(Refused::NoPython),
        };
        // An ending program has nothing left to find.
        let found = found.map_err(|why| program.is_another(pid).unwrap_or(why));
        let (minor, instructions) = found?;
        let function = library::function_in(pid, library, REQUEST_SYMBOL);
        let function = function.or_else(|| places.symbol("libprofundo-agent-", REQUEST_SYMBOL));
        Ok(Self {
            pid,
            library,
            program,
            places,
            minor,
            instructions,
            function: function.unwrap_or(0),
            room: 0,
            borrowed: Duration::ZERO,
            is_over: Box::new(|| false),
        })
    }

    /// Ends early and cleanly as soon as this returns true. It is called often.
    pub fn until(&mut self, is_over: impl Fn() -> bool + 'a) {
        let was_over = Cell::new(false);
        self.is_over = Box::new(move || {
            was_over.set(was_over.get() || is_over());
            was_over.get()
        });
    }

    /// `Ok` if its collector is known, without which its objects cannot be listed.
    pub fn knows_collector(&self) -> Result<(), Refused> {
        match version::COLLECTOR.holds(self.minor) {
            true => Ok(()),
            false => Err(Refused::NoPython),
        }
    }

    /// Emits all objects of the program. `with_memory` may then read the memory that they lie in.
    pub fn objects(
        &mut self,
        options: Objects,
        sink: &mut dyn FnMut(Item<'_>),
        with_memory: &mut dyn FnMut(CopiedMemory),
    ) -> Result<WalkedObjects, Refused> {
        /// A collection takes a moment.
        const ATTEMPTS: u32 = 20;
        const PAUSE: Duration = Duration::from_millis(20);
        let mut result = Err(Refused::Interpreter(refusal::COLLECTING));
        let mut calls = 0;
        for _ in 0..ATTEMPTS {
            let mut has_items = false;
            let sink = &mut |item: Item<'_>| {
                has_items = true;
                sink(item);
            };
            result = self.objects_once(options, calls, sink, with_memory);
            match &result {
                // Another thread may have held an allocator's lock at that moment, which is never
                // released in a copy.
                Err(Refused::CopyHangs) if calls == 0 && !has_items => {
                    calls = request_flag::NO_CALLS;
                }
                Err(Refused::CopyFailed(why)) if *why == -refusal::COLLECTING => {
                    std::thread::sleep(PAUSE);
                }
                _ => break,
            }
        }
        result
    }

    fn objects_once(
        &mut self,
        options: Objects,
        calls: u32,
        sink: &mut dyn FnMut(Item<'_>),
        with_memory: &mut dyn FnMut(CopiedMemory),
    ) -> Result<WalkedObjects, Refused> {
        /// We end the copy long before.
        const SECONDS: u32 = 600;
        if let Some(lack) = headroom::lack(self.pid) {
            return Err(Refused::Headroom {
                wanted: lack.needed,
                there: lack.available,
            });
        }
        let flags = if options.redact {
            request_flag::REDACT
        } else {
            0
        };
        let asked = Asked {
            wish: wish::OBJECTS,
            flags: flags | calls,
            seconds: SECONDS,
            place: 0,
        };
        let began = sys::nanoseconds(libc::CLOCK_MONOTONIC);
        self.ask(asked, options.patience)?;
        let request = self.request()?;
        let number = request.answer;
        if number <= 0 {
            self.leave(None);
            return Err(why_refused(number));
        }
        let copy = Copy::of(self.pid, number, self.room + REQUEST);
        let announced = copy
            .as_ref()
            .map(|copy| AnnouncedCopy::copy(copy.pid, began));
        let read = match copy {
            Some(mut copy) => {
                let read = copy.read(sink, &self.is_over);
                if read.is_ok() {
                    with_memory(CopiedMemory {
                        pid: copy.pid,
                        minor: self.minor,
                    });
                }
                read
            }
            None if proc::stat(self.pid).is_none_or(|stat| stat.has_ended()) => Err(Refused::Gone),
            None => Err(Refused::CopyGone),
        };
        // The copy ends: it was dropped, or never found.
        drop(announced);
        self.leave(Some(number));
        let end = read?;
        if end.failure != 0 {
            return Err(Refused::CopyFailed(end.failure as i32));
        }
        Ok(WalkedObjects {
            end,
            pause: Duration::from_nanos(request.ended.saturating_sub(request.began)),
            borrowed: self.borrowed,
        })
    }

    /// Loads the library, unless the program has it, and finds the function that takes requests.
    fn load(&mut self) -> Result<(), Refused> {
        let library = self.library;
        let is_new = library::begin(self.pid, library).is_none();
        self.borrow(|injection, thread| {
            injection.take_room(thread)?;
            let texts = injection.room + TEXTS;
            let loader = injection.places.loader().ok_or(Refused::Static)?;
            library::load(injection.pid, thread, loader, library, texts)?;
            injection.function = library::function_in(injection.pid, library, REQUEST_SYMBOL)
                .ok_or_else(|| library::no_function(REQUEST_SYMBOL))?;
            Ok(())
        })?;
        if is_new {
            library::let_forks_end(self.pid);
        }
        Ok(())
    }

    /// Puts the thread's frame into memory of ours, which it gets if it has none.
    fn take_room(&mut self, thread: &mut Borrowed) -> Result<(), Refused> {
        if self.room == 0 {
            self.room = map(thread, ROOM)?;
        }
        thread.put_frame(self.room + ROOM)?;
        library::close_left(self.pid, thread)
    }

    /// Makes a request and waits for its answer.
    fn ask(&mut self, asked: Asked, patience: Duration) -> Result<(), Refused> {
        /// The time given to the main thread. If it runs Python code at all, it needs far less.
        const PENDING: Duration = Duration::from_millis(250);
        let began = Instant::now();
        if self.function == 0
            && let Err(why) = self.load()
        {
            self.give_room_back(&why);
            return Err(why);
        }
        let asked = self.borrow(|injection, thread| {
            injection.take_room(thread)?;
            injection.write_request(asked)?;
            // After this time nothing is done, even if we are killed.
            let patience = patience.as_secs().saturating_add(5);
            let patience = u32::try_from(patience).unwrap_or(u32::MAX);
            injection.store(offset_of!(Request, patience), patience)?;
            injection.call_in(thread)
        });
        let refused = match asked {
            Ok(refused) => refused,
            Err(why) => {
                self.give_room_back(&why);
                return Err(why);
            }
        };
        let in_time = match refused {
            0 => self.wait(PENDING.min(patience))?,
            refusal::FULL => false,
            refused => {
                self.leave(None);
                return Err(Refused::Interpreter(refused));
            }
        };
        if in_time {
            return Ok(());
        }
        // The first request may be answered meanwhile; then no thread is started.
        let is_over = (self.is_over)();
        let refused = match is_over {
            true => Ok(0),
            false => self.go_in_by(way::THREAD),
        };
        let refused = refused.map_err(|why| self.abandon(why))?;
        let is_asked = [0, refusal::TOO_LATE].contains(&refused);
        if !is_over && is_asked && self.wait(patience.saturating_sub(began.elapsed()))? {
            return Ok(());
        }
        let why = match refused {
            _ if is_asked && (is_over || (self.is_over)()) => Refused::Interrupted,
            _ if is_asked => Refused::Busy,
            refused => Refused::Interpreter(refused),
        };
        let withdrawn = self.go_in_by(way::WITHDRAW);
        match withdrawn.map_err(|why| self.abandon(why))? {
            0 => self.leave(None),
            _ if self.wait(LONGEST)? => return Ok(()),
            // A thread still uses the memory, so it is left to it.
            _ => self.room = 0,
        }
        Err(why)
    }

    /// Marks a request as cancelled where no thread can be borrowed to withdraw it. Our code then
    /// does nothing when called. Its memory stays.
    fn abandon(&mut self, why: Refused) -> Refused {
        // The failure is reported already; the program may have ended.
        let _ = self.store(offset_of!(Request, state), request_state::CANCELLED);
        self.room = 0;
        why
    }

    /// Calls our function again for the same request, in another way.
    fn go_in_by(&mut self, way: u32) -> Result<i32, Refused> {
        self.borrow(|injection, thread| {
            thread.put_frame(injection.room + ROOM)?;
            injection.store(offset_of!(Request, way), way)?;
            injection.call_in(thread)
        })
    }

    fn call_in(&self, thread: &mut Borrowed) -> Result<i32, Refused> {
        thread.call(self.function, [self.room + REQUEST, 0, 0])?;
        Ok(self.request()?.refused)
    }

    /// Frees our memory after a failure, unless a thread still uses it.
    fn give_room_back(&mut self, why: &Refused) {
        match why {
            Refused::Hangs | Refused::Gone => self.room = 0,
            _ if self.room != 0 => self.leave(None),
            _ => {}
        }
    }

    /// Waits for the request. Returns whether it was done in time.
    fn wait(&self, patience: Duration) -> Result<bool, Refused> {
        const LONGEST_PAUSE: Duration = Duration::from_millis(1);
        let began = Instant::now();
        let mut pause = Duration::from_micros(20);
        loop {
            match self.request()?.state {
                request_state::DONE => return Ok(true),
                request_state::ASKED if began.elapsed() > patience || (self.is_over)() => {
                    return Ok(false);
                }
                _ if began.elapsed() > patience + LONGEST => return Ok(false),
                _ => std::thread::sleep(pause),
            }
            pause = (pause * 2).min(LONGEST_PAUSE);
        }
    }

    /// Reaps a copy, and frees our memory.
    fn leave(&mut self, child: Option<i32>) {
        let room = std::mem::take(&mut self.room);
        let _ = self.borrow(|_, thread| {
            if let Some(child) = child {
                // Only children that send no signal at their end.
                let any = (libc::__WCLONE | libc::WNOHANG) as u32;
                thread.system(libc::SYS_wait4, [child as u64, 0, any.into(), 0, 0, 0])?;
            }
            thread.system(libc::SYS_munmap, [room, ROOM, 0, 0, 0, 0])?;
            Ok(())
        });
    }

    /// Borrows one of the program's threads.
    fn borrow<R>(
        &mut self,
        f: impl FnOnce(&mut Self, &mut Borrowed) -> Result<R, Refused>,
    ) -> Result<R, Refused> {
        let turn = Turn::wait(self.pid, LONGEST);
        let _turn = turn.ok_or(Refused::NotEntered(libc::EALREADY))?;
        let (mut thread, since) =
            borrow(self.pid, &self.program, self.instructions, &mut self.places)?;
        let result = f(self, &mut thread);
        drop(thread);
        self.borrowed += since.elapsed();
        result
    }

    fn write_request(&self, asked: Asked) -> Result<(), Refused> {
        let zeros = [0; size_of::<Request>()];
        write_memory(self.pid, self.room + REQUEST, &zeros)?;
        let address = offset_of!(Request, outlet) + offset_of!(Outlet, address);
        let place = self.room + REQUEST + address as u64;
        write_memory(self.pid, place, &asked.place.to_le_bytes())?;
        self.store(offset_of!(Request, wish), asked.wish)?;
        self.store(offset_of!(Request, way), way::PENDING)?;
        self.store(offset_of!(Request, flags), asked.flags)?;
        self.store(offset_of!(Request, seconds), asked.seconds)?;
        self.store(offset_of!(Request, state), request_state::ASKED)
    }

    fn store(&self, offset: usize, number: u32) -> Result<(), Refused> {
        let place = self.room + REQUEST + offset as u64;
        write_memory(self.pid, place, &number.to_le_bytes())?;
        Ok(())
    }

    fn request(&self) -> Result<RequestStatus, Refused> {
        let mut bytes = [0; size_of::<Request>()];
        let read = sys::read_memory(self.pid, self.room + REQUEST, &mut bytes);
        if read != bytes.len() {
            return Err(Refused::Gone);
        }
        let word = |offset: usize| {
            let found = bytes.get(offset..).and_then(|bytes| bytes.first_chunk());
            u32::from_le_bytes(found.copied().unwrap_or_default())
        };
        let long = |offset: usize| {
            let found = bytes.get(offset..).and_then(|bytes| bytes.first_chunk());
            u64::from_le_bytes(found.copied().unwrap_or_default())
        };
        Ok(RequestStatus {
            state: word(offset_of!(Request, state)),
            answer: word(offset_of!(Request, answer)) as i32,
            refused: word(offset_of!(Request, refused)) as i32,
            began: long(offset_of!(Request, began)),
            ended: long(offset_of!(Request, ended)),
        })
    }
}

/// A request.
#[derive(Debug, Clone, Copy, Default)]
struct Asked {
    wish: u32,
    flags: u32,
    seconds: u32,
    /// The address of memory in the program that the request is about.
    place: u64,
}

fn why_refused(answer: i32) -> Refused {
    match answer {
        refused if refused < -10_000 => Refused::Interpreter(refused),
        error => Refused::System(io::Error::from_raw_os_error(-error)),
    }
}

/// The state of a request.
struct RequestStatus {
    state: u32,
    answer: i32,
    refused: i32,
    began: u64,
    ended: u64,
}

const _: () = assert!(
    size_of::<Request>() <= TEXTS as usize
        && size_of::<AtomicU32>() == 4
        && size_of::<AtomicI32>() == 4
);

#[cfg(test)]
mod tests {
    use super::*;
    use profundo_testing::wait_for;
    use std::process::Command;

    #[test]
    fn an_ended_program_is_not_waited_for() {
        let mut child = Command::new("sleep").arg("600").spawn().unwrap();
        let pid = child.id();
        let (instructions, mut places) = wait_for("a program that can be entered", || {
            let places = Places::of(pid).ok()?;
            let instructions = places.instructions()?;
            // Before its `exec`, it is this very test.
            let name = std::fs::read(format!("/proc/{pid}/comm")).unwrap();
            (name == b"sleep\n").then_some((instructions, places))
        });
        let program = Program::of(pid).unwrap();
        child.kill().unwrap();
        child.wait().unwrap();
        let began = Instant::now();
        let why = borrow(pid, &program, instructions, &mut places).err();
        assert!(matches!(why, Some(Refused::Gone)), "{why:?}");
        assert!(
            began.elapsed() < Duration::from_secs(4),
            "it was waited for"
        );
    }
}
