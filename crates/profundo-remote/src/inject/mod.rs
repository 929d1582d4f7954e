//! The door into a program that has a Python interpreter: something of ours is done inside of it, at a moment when the
//! interpreter's lock is held, and nothing of that is left but a library.
//!
//! A thread of the program is borrowed (see [`borrowed`]) where that does no harm ([`place`]), loads the library if
//! the program does not have it already, and asks the interpreter to let us in. The interpreter does so when its main thread
//! next runs an instruction; where that thread waits for something, a thread of ours asks for the lock instead, as
//! anybody may. What is written for that in the program's memory is taken back.

mod borrowed;
mod collections;
mod copy;
mod frame;
mod headroom;
mod held_signals;
mod library;
mod native;
mod program;
mod refused;
mod safe_point;

use std::cell::Cell;
use std::io;
use std::mem::offset_of;
use std::sync::atomic::{AtomicI32, AtomicU32};
use std::time::{Duration, Instant};

use profundo_probe::shared::{
    DOOR_SYMBOL, Outlet, Request, refusal, request_flag, request_state, way, wish,
};
use profundo_scan::map_lines;
use profundo_wire::graph::{End, Item};

use crate::permits::may_be_read;
use crate::reading::{NotHeld, Stopper};
use crate::session::Noted;
use crate::{proc, sys};
use borrowed::{Borrowed, Failed};
use copy::Copy;
pub use native::{Native, NativeThread};
use program::Program;
pub use refused::Refused;
pub(crate) use refused::why_of;
use safe_point::{Instructions, Places};

/// How objects are to be gone through.
#[derive(Debug, Clone, Copy)]
pub struct Objects {
    /// What texts hold is not told.
    pub redact: bool,
    /// How long the interpreter may take to let us in.
    pub patience: Duration,
}

/// The memory of a copy that has told everything, and is still there.
#[derive(Debug, Clone, Copy)]
pub struct CopiedMemory {
    pid: u32,
    /// Python 3.what it is.
    pub minor: u8,
}

impl CopiedMemory {
    /// Copies memory; returns how many words could be read.
    pub fn words(&self, address: u64, out: &mut [u64]) -> usize {
        let bytes = size_of_val(out);
        // SAFETY: words are bytes, and all of them are valid.
        let out = unsafe { std::slice::from_raw_parts_mut(out.as_mut_ptr().cast(), bytes) };
        sys::read_memory(self.pid, address, out) / 8
    }

    /// From where to where memory lies that is the program's alone, in no file, and can be written.
    pub fn private(&self) -> Vec<(u64, u64)> {
        let maps = proc::read(self.pid, "maps");
        let lines = map_lines(&maps);
        lines
            .filter(|(permissions, line)| permissions.starts_with(b"rw-p") && line.inode == 0)
            .map(|(_, line)| (line.start, line.end))
            .collect()
    }
}

/// What came of it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct WalkedObjects {
    /// How many nodes and edges there are.
    pub end: End,
    /// For how long the program was held up for the copy.
    pub pause: Duration,
    /// For how long one of its threads was borrowed, all in all.
    pub borrowed: Duration,
}

/// What the library's file is called in the program.
const FILE_NAME: &str = "libprofundo-agent-door";

/// For a stack, a request, and texts.
const ROOM: u64 = 256 << 10;
/// Where in it the request lies, and texts; the stack is above.
const REQUEST: u64 = 0;
const TEXTS: u64 = 512;

/// So long it may take to be done once we are in.
const LONGEST: Duration = Duration::from_secs(10);

/// A program that can be asked.
pub struct Door<'a> {
    pid: u32,
    library: &'a [u8],
    program: Program,
    places: Places,
    /// Python 3.what it is.
    minor: u8,
    instructions: Instructions,
    /// Our function in it.
    function: u64,
    /// Memory of ours in it.
    room: u64,
    borrowed: Duration,
    is_over: Box<dyn Fn() -> bool + 'a>,
}

impl std::fmt::Debug for Door<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let mut shown = f.debug_struct("Door");
        shown.field("pid", &self.pid).finish_non_exhaustive()
    }
}

impl<'a> Door<'a> {
    /// Sees whether a program can be asked. `library` are the bytes of the agent's file.
    pub fn of(pid: u32, library: &'a [u8], filtered: bool) -> Result<Self, Refused> {
        may_be_read(pid).map_err(Refused::Machine)?;
        if !filtered && has_own_filter(pid) {
            return Err(Refused::Filtered);
        }
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
        // One that is about to end has nothing any more.
        let found = found.map_err(|why| program.is_another(pid).unwrap_or(why));
        let (minor, instructions) = found?;
        let function = library::function_in(pid, library, DOOR_SYMBOL);
        let function = function.or_else(|| places.symbol("libprofundo-agent-", DOOR_SYMBOL));
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

    /// Ends early, and in good order, as soon as this says so, which is asked often.
    pub fn until(&mut self, is_over: impl Fn() -> bool + 'a) {
        let was_over = Cell::new(false);
        self.is_over = Box::new(move || {
            was_over.set(was_over.get() || is_over());
            was_over.get()
        });
    }

    /// Tells of all its objects. `look` may then look at the memory that they lie in.
    pub fn objects(
        &mut self,
        options: Objects,
        sink: &mut dyn FnMut(Item<'_>),
        look: &mut dyn FnMut(CopiedMemory),
    ) -> Result<WalkedObjects, Refused> {
        /// A collection takes a moment.
        const ATTEMPTS: u32 = 20;
        const PAUSE: Duration = Duration::from_millis(20);
        let mut result = Err(Refused::Interpreter(refusal::COLLECTING));
        let mut calls = 0;
        for _ in 0..ATTEMPTS {
            let mut is_told = false;
            let sink = &mut |item: Item<'_>| {
                is_told = true;
                sink(item);
            };
            result = self.objects_once(options, calls, sink, look);
            match &result {
                // Another thread may have had a lock of the allocator's just then, which nobody gives back in a copy.
                Err(Refused::CopyHangs) if calls == 0 && !is_told => {
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
        look: &mut dyn FnMut(CopiedMemory),
    ) -> Result<WalkedObjects, Refused> {
        /// It is ended by us long before.
        const SECONDS: u32 = 600;
        if let Some((wanted, there)) = headroom::lacking(self.pid) {
            return Err(Refused::Headroom { wanted, there });
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
        let noted = copy.as_ref().map(|copy| Noted::copy(copy.pid, began));
        let read = match copy {
            Some(mut copy) => {
                let read = copy.read(sink, &self.is_over);
                if read.is_ok() {
                    look(CopiedMemory {
                        pid: copy.pid,
                        minor: self.minor,
                    });
                }
                read
            }
            None if proc::stat(self.pid).is_none_or(|it| it.has_ended()) => Err(Refused::Gone),
            None => Err(Refused::CopyGone),
        };
        // The copy ends: it was dropped, or was never found.
        drop(noted);
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

    /// Has it done inside.
    fn ask(&mut self, asked: Asked, patience: Duration) -> Result<(), Refused> {
        /// So long the main thread may take: if it runs Python code at all it is far sooner.
        const PENDING: Duration = Duration::from_millis(250);
        let began = Instant::now();
        let library = self.library;
        let asked = self.borrow(|door, thread| {
            if door.room == 0 {
                door.room = map(thread, ROOM)?;
            }
            thread.put_frame(door.room + ROOM)?;
            for file in library::files_left(door.pid) {
                thread.system(libc::SYS_close, [file, 0, 0, 0, 0, 0])?;
            }
            if door.function == 0 {
                door.function = load(door, thread, library)?;
            }
            door.write_request(asked)?;
            // Later nothing is done, whatever becomes of us.
            let patience = patience.as_secs().saturating_add(5);
            let patience = u32::try_from(patience).unwrap_or(u32::MAX);
            door.store(offset_of!(Request, patience), patience)?;
            door.call_in(thread)
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
        // What was asked first may be answered meanwhile: then no thread is begun.
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
            // Somebody has it, and does not come to an end: it is theirs.
            _ => self.room = 0,
        }
        Err(why)
    }

    /// Where no thread can be borrowed any more to take a request back, it is marked: who finds it does nothing. Its memory stays.
    fn abandon(&mut self, why: Refused) -> Refused {
        // What has failed is said; the program may have ended.
        let _ = self.store(offset_of!(Request, state), request_state::CANCELLED);
        self.room = 0;
        why
    }

    /// Calls our function once more, for the same request.
    fn go_in_by(&mut self, way: u32) -> Result<i32, Refused> {
        self.borrow(|door, thread| {
            thread.put_frame(door.room + ROOM)?;
            door.store(offset_of!(Request, way), way)?;
            door.call_in(thread)
        })
    }

    fn call_in(&self, thread: &mut Borrowed) -> Result<i32, Refused> {
        thread.call(self.function, [self.room + REQUEST, 0, 0])?;
        Ok(self.request()?.refused)
    }

    /// After a failure, unless a thread is still at work in it.
    fn give_room_back(&mut self, why: &Refused) {
        match why {
            Refused::Hangs | Refused::Gone => self.room = 0,
            _ if self.room != 0 => self.leave(None),
            _ => {}
        }
    }

    /// Whether it was done before the time was over.
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

    /// Takes notice of the end of a copy, and gives the memory back.
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

    /// Borrows one of its threads.
    fn borrow<R>(
        &mut self,
        f: impl FnOnce(&mut Self, &mut Borrowed) -> Result<R, Refused>,
    ) -> Result<R, Refused> {
        let target = (&self.program, self.instructions);
        let (mut thread, since) = borrow(self.pid, target, &mut self.places)?;
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

    fn request(&self) -> Result<Seen, Refused> {
        let mut bytes = [0; size_of::<Request>()];
        let read = sys::read_memory(self.pid, self.room + REQUEST, &mut bytes);
        if read != bytes.len() {
            return Err(Refused::Gone);
        }
        let word = |offset: usize| {
            let found = bytes.get(offset..).and_then(|it| it.first_chunk());
            u32::from_le_bytes(found.copied().unwrap_or_default())
        };
        let long = |offset: usize| {
            let found = bytes.get(offset..).and_then(|it| it.first_chunk());
            u64::from_le_bytes(found.copied().unwrap_or_default())
        };
        Ok(Seen {
            state: word(offset_of!(Request, state)),
            answer: word(offset_of!(Request, answer)) as i32,
            refused: word(offset_of!(Request, refused)) as i32,
            began: long(offset_of!(Request, began)),
            ended: long(offset_of!(Request, ended)),
        })
    }
}

/// Borrows one of a process's threads, since the time that it is told of.
fn borrow(
    pid: u32,
    (program, instructions): (&Program, Instructions),
    places: &mut Places,
) -> Result<(Borrowed, Instant), Refused> {
    const PATIENCE: Duration = Duration::from_secs(5);
    const PAUSE: Duration = Duration::from_millis(1);
    let mut stopper = Stopper::default();
    stopper.has_some_patience = true;
    let began = Instant::now();
    loop {
        if let Some(why) = program.is_another(pid) {
            return Err(why);
        }
        // The first one last: signals of the process go to it unless it is held.
        let mut threads = proc::threads(pid);
        threads.sort_by_key(|&tid| tid == pid);
        for tid in threads {
            if let Some(why) = program.is_another(pid) {
                return Err(why);
            }
            let held = match stopper.hold_whatever_it_does(pid, tid) {
                Ok(held) => held,
                Err(NotHeld::Refused) => return Err(why_not_held(pid)),
                Err(_) => continue,
            };
            let since = Instant::now();
            // Once more: a thread that is held does not begin another program.
            if let Some(why) = program.is_another(pid) {
                return Err(why);
            }
            if places.may_borrow(&held) && instructions.are_there(pid) {
                let thread = Borrowed::take(held, instructions).map_err(Refused::System)?;
                return Ok((thread, since));
            }
        }
        if began.elapsed() > PATIENCE {
            return Err(match proc::stat(pid) {
                Some(stat) if !stat.has_ended() => Refused::NeverSafe,
                _ => Refused::Gone,
            });
        }
        std::thread::sleep(PAUSE);
    }
}

fn why_not_held(pid: u32) -> Refused {
    let says = match proc::is_traced(pid) {
        true => "a debugger has it",
        false => "its threads cannot be held (ptrace is refused)",
    };
    Refused::Machine(crate::permits::Gap {
        why: format!("process {pid} cannot be asked: {says}"),
        mend: None,
    })
}

/// What is asked.
#[derive(Debug, Clone, Copy, Default)]
struct Asked {
    wish: u32,
    flags: u32,
    seconds: u32,
    /// Memory in the program that it is about.
    place: u64,
}

fn why_refused(answer: i32) -> Refused {
    match answer {
        refused if refused < -10_000 => Refused::Interpreter(refused),
        error => Refused::System(io::Error::from_raw_os_error(-error)),
    }
}

/// What a request says.
struct Seen {
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

/// Memory in the program.
fn map(thread: &mut Borrowed, bytes: u64) -> Result<u64, Refused> {
    let protection = (libc::PROT_READ | libc::PROT_WRITE) as u64;
    let flags = (libc::MAP_PRIVATE | libc::MAP_ANONYMOUS) as u64;
    let place = thread.system(libc::SYS_mmap, [0, bytes, protection, flags, u64::MAX, 0])?;
    if place < 0 {
        return Err(failed(place));
    }
    Ok(place as u64)
}

/// Has the program load the library, from a file that lies nowhere; returns where our function is.
fn load(door: &Door<'_>, thread: &mut Borrowed, library: &[u8]) -> Result<u64, Refused> {
    let loader = door.places.loader().ok_or(Refused::Static)?;
    let texts = door.room + TEXTS;
    let put = |text: &str| write_memory(door.pid, texts, format!("{text}\0").as_bytes());
    put(FILE_NAME)?;
    let close_on_exec = u64::from(libc::MFD_CLOEXEC);
    let file = thread.system(libc::SYS_memfd_create, [texts, close_on_exec, 0, 0, 0, 0])?;
    if file < 0 {
        return Err(failed(file));
    }
    let written = std::fs::write(format!("/proc/{}/fd/{file}", door.pid), library);
    let opened = match &written {
        Ok(()) => {
            put(&format!("/proc/self/fd/{file}"))?;
            let how = (libc::RTLD_NOW | libc::RTLD_LOCAL) as u64;
            thread.call(loader.open, [texts, how, 0])
        }
        Err(_) => Ok(()),
    };
    thread.system(libc::SYS_close, [file as u64, 0, 0, 0, 0, 0])?;
    written.map_err(|error| Refused::NotLoaded(error.to_string()))?;
    opened?;
    match library::function_in(door.pid, library, DOOR_SYMBOL) {
        Some(function) => Ok(function),
        None => {
            let text = thread.ask(loader.error, [0; 3])?;
            Err(Refused::NotLoaded(text_at(door.pid, text)))
        }
    }
}

fn text_at(pid: u32, address: u64) -> String {
    let mut bytes = [0; 256];
    let read = sys::read_memory(pid, address, &mut bytes);
    let bytes = bytes.get(..read).unwrap_or_default();
    let text = bytes.split(|&byte| byte == 0).next().unwrap_or_default();
    String::from_utf8_lossy(text).into_owned()
}

fn failed(answer: i64) -> Refused {
    Refused::System(io::Error::from_raw_os_error(-answer as i32))
}

impl From<Failed> for Refused {
    fn from(failed: Failed) -> Self {
        match failed {
            Failed::System(error) if error.raw_os_error() == Some(libc::ESRCH) => Self::Gone,
            Failed::System(error) => Self::System(error),
            Failed::Late => Self::Hangs,
        }
    }
}

impl From<io::Error> for Refused {
    fn from(error: io::Error) -> Self {
        Self::System(error)
    }
}

/// Writes into another process.
fn write_memory(pid: u32, address: u64, bytes: &[u8]) -> io::Result<()> {
    let local = libc::iovec {
        iov_base: bytes.as_ptr().cast_mut().cast(),
        iov_len: bytes.len(),
    };
    let remote = libc::iovec {
        iov_base: address as *mut libc::c_void,
        iov_len: bytes.len(),
    };
    // SAFETY: the local part is only read; the remote one is checked by the kernel.
    let written = unsafe { libc::process_vm_writev(pid as i32, &local, 1, &remote, 1, 0) };
    match usize::try_from(written) {
        Ok(written) if written == bytes.len() => Ok(()),
        Ok(_) => Err(io::ErrorKind::WriteZero.into()),
        Err(_) => Err(io::Error::last_os_error()),
    }
}

/// Whether it restricts its system calls, and more than we are restricted ourselves, as all are in a container.
fn has_own_filter(pid: u32) -> bool {
    let filters = |pid: u32| -> u64 {
        let status = proc::read(pid, "status");
        let status = String::from_utf8_lossy(&status);
        let field = |name: &str| -> Option<u64> {
            let line = status.lines().find_map(|line| line.strip_prefix(name))?;
            line.trim().parse().ok()
        };
        let mode = field("Seccomp:").unwrap_or(0);
        field("Seccomp_filters:").unwrap_or(u64::from(mode == 2)) + u64::from(mode == 1)
    };
    filters(pid) > filters(std::process::id())
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::process::Command;

    #[test]
    fn who_has_ended_is_not_waited_for() {
        let mut child = Command::new("sleep").arg("600").spawn().unwrap();
        let pid = child.id();
        let began = Instant::now();
        let found = loop {
            let places = Places::of(pid).ok();
            let found = places.and_then(|it| Some((it.instructions()?, it)));
            // Until it is `sleep`, it is this very test.
            if std::fs::read(format!("/proc/{pid}/comm")).unwrap() == b"sleep\n" && found.is_some()
            {
                break found;
            }
            assert!(began.elapsed().as_secs() < 60, "it cannot be looked into");
            std::thread::sleep(Duration::from_millis(5));
        };
        let (instructions, mut places) = found.unwrap();
        let program = Program::of(pid).unwrap();
        child.kill().unwrap();
        child.wait().unwrap();
        let began = Instant::now();
        let why = borrow(pid, (&program, instructions), &mut places).err();
        assert!(matches!(why, Some(Refused::Gone)), "{why:?}");
        assert!(
            began.elapsed() < Duration::from_secs(4),
            "it was waited for"
        );
    }
}
