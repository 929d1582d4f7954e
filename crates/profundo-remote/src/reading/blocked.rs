//! Where a thread blocks, as the kernel tells it to whoever may trace the process. Nothing is done to
//! the thread.

use std::collections::HashMap;
use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt;

use crate::sys;

/// A blocked thread.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Blocked {
    /// The system call's number; -1 outside of one, as in a page fault.
    pub(crate) call: i64,
    pub(crate) arguments: [u64; 6],
    pub(crate) sp: u64,
    pub(crate) ip: u64,
    /// How often the thread had been given a CPU, where the kernel counts it.
    pub(crate) turns: Option<u64>,
}

/// What a thread is doing.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Look {
    /// On a CPU, or waiting for one.
    Running,
    Blocked(Blocked),
    Ended,
    /// The kernel does not let us look.
    Hidden,
}

/// Looks at a thread without touching it.
pub(crate) fn look(pid: u32, tid: u32) -> Look {
    let mut text = [0; 256];
    let turns = turns(pid, tid);
    let read = open(pid, tid, "syscall").and_then(|file| file.read_at(&mut text, 0));
    seen(turns, read, &text)
}

/// Looks at the same threads again and again, and keeps their files open for that.
#[derive(Debug, Default)]
pub(crate) struct Looker {
    files: HashMap<u32, File>,
}

impl Looker {
    /// As [`look`] does.
    pub(crate) fn look(&mut self, pid: u32, tid: u32) -> Look {
        /// So many are kept open.
        const MOST: usize = 64;
        let mut text = [0; 256];
        let turns = turns(pid, tid);
        // A file stays that of the thread that it was opened for, which may have ended.
        if let Some(file) = self.files.get(&tid) {
            match file.read_at(&mut text, 0) {
                Ok(length @ 1..) => return seen(turns, Ok(length), &text),
                _ => drop(self.files.remove(&tid)),
            }
        }
        let read = open(pid, tid, "syscall").and_then(|file| {
            let read = file.read_at(&mut text, 0);
            if self.files.len() >= MOST {
                self.files.clear();
            }
            self.files.insert(tid, file);
            read
        });
        seen(turns, read, &text)
    }
}

/// What the kernel has said of a thread. `turns` was read before that. What is read of the thread's memory from then on is of
/// one moment if a later look has the same number: read behind, it might count a turn that the thread takes meanwhile.
fn seen(turns: Option<u64>, read: io::Result<usize>, text: &[u8]) -> Look {
    let length = match read {
        Ok(length) => length,
        Err(error) => match error.raw_os_error() {
            Some(libc::EACCES | libc::EPERM | libc::EMFILE | libc::ENFILE) => return Look::Hidden,
            _ => return Look::Ended,
        },
    };
    let text = text.get(..length).unwrap_or_default();
    match parse(std::str::from_utf8(text).unwrap_or_default()) {
        Some(blocked) => Look::Blocked(Blocked { turns, ..blocked }),
        // Of a thread that has ended and was not asked for the file is empty.
        None if text.is_empty() => Look::Ended,
        None => Look::Running,
    }
}

/// Whether a thread that was in the kernel had called it, by where it goes on: one that did not is there
/// because of a fault or an interrupt, and is not about to sleep as a call may.
pub(crate) fn is_after_a_call(pid: u32, ip: u64) -> bool {
    #[cfg(target_arch = "x86_64")]
    const CALLS: [&[u8]; 3] = [b"\x0f\x05", b"\x0f\x34", b"\xcd\x80"];
    #[cfg(not(target_arch = "x86_64"))]
    const CALLS: [&[u8]; 1] = [b"\x01\x00\x00\xd4"];
    let mut before = [0; CALLS[0].len()];
    let start = ip.wrapping_sub(before.len() as u64);
    let is_read = sys::read_memory(pid, start, &mut before) == before.len();
    !is_read || CALLS.contains(&&before[..])
}

/// How often the thread has been given a CPU: one that ran in between and blocks at the same place
/// again has a higher number.
pub(crate) fn turns(pid: u32, tid: u32) -> Option<u64> {
    schedule(pid, tid).map(|(_, turns)| turns)
}

/// For how long a thread has run, in nanoseconds, and how often it was given a CPU.
pub(crate) fn schedule(pid: u32, tid: u32) -> Option<(u64, u64)> {
    let mut text = [0; 128];
    let file = open(pid, tid, "schedstat").ok()?;
    let length = file.read_at(&mut text, 0).ok()?;
    let mut words = std::str::from_utf8(text.get(..length)?)
        .ok()?
        .split_ascii_whitespace();
    let ran = words.next()?.parse().ok()?;
    Some((ran, words.nth(1)?.parse().ok()?))
}

fn open(pid: u32, tid: u32, name: &str) -> io::Result<File> {
    File::open(format!("/proc/{pid}/task/{tid}/{name}"))
}

/// `nr a b c d e f sp pc`, or `-1 sp pc` outside a system call, or `running`.
fn parse(line: &str) -> Option<Blocked> {
    let mut words = line.split_ascii_whitespace();
    let call = words.next()?.parse().ok()?;
    let hex = |word: &str| u64::from_str_radix(word.strip_prefix("0x")?, 16).ok();
    let ip = hex(words.next_back()?)?;
    let sp = hex(words.next_back()?)?;
    let mut arguments = [0; 6];
    for (argument, word) in arguments.iter_mut().zip(words) {
        *argument = hex(word)?;
    }
    (sp != 0 && ip != 0).then_some(Blocked {
        call,
        arguments,
        sp,
        ip,
        turns: None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_kernels_line_is_read() {
        let line = "202 0x55d0 0x189 0x0 0x0 0x0 0xffffffff 0x7ffc10 0x7f3a44\n";
        let blocked = parse(line).unwrap();
        assert_eq!((blocked.call, blocked.arguments[0]), (202, 0x55d0));
        assert_eq!((blocked.arguments[5], blocked.sp), (0xffff_ffff, 0x7ffc10));
        assert_eq!(blocked.ip, 0x7f3a44);
        let outside = parse("-1 0x7ffc10 0x7f3a44").unwrap();
        assert_eq!((outside.call, outside.arguments), (-1, [0; 6]));
        assert_eq!(parse("running\n"), None);
        assert_eq!(parse(""), None);
        assert_eq!(parse("0 0x1"), None);
    }

    #[test]
    fn a_spinner_runs() {
        let (told, tid) = std::sync::mpsc::channel();
        let (done, wait) = std::sync::mpsc::channel::<()>();
        let spinner = std::thread::spawn(move || {
            told.send(crate::sys::thread_id()).unwrap();
            while wait.try_recv() == Err(std::sync::mpsc::TryRecvError::Empty) {}
        });
        let (pid, tid) = (std::process::id(), tid.recv().unwrap());
        // It may still be telling us.
        while look(pid, tid) != Look::Running {}
        drop(done);
        spinner.join().unwrap();
        assert_eq!(look(pid, 1), Look::Ended);
    }

    const SLEEPS: [i64; 2] = [libc::SYS_nanosleep, libc::SYS_clock_nanosleep];

    #[test]
    fn who_looks_again_sees_what_is_there_now() {
        let mut looker = Looker::default();
        let mut child = std::process::Command::new("sleep")
            .arg("60")
            .spawn()
            .unwrap();
        let pid = child.id();
        let sleeps = |look| matches!(look, Look::Blocked(it) if SLEEPS.contains(&it.call));
        while !sleeps(looker.look(pid, pid)) {}
        assert!(sleeps(looker.look(pid, pid)));
        child.kill().unwrap();
        let _ = child.wait();
        assert_eq!(looker.look(pid, pid), Look::Ended);
    }

    #[test]
    fn calls_are_told_from_faults() {
        let call = *b"\x90\x0f\x05\x90";
        let place = call.as_ptr() as u64;
        let pid = std::process::id();
        assert_eq!(
            is_after_a_call(pid, place + 3),
            cfg!(target_arch = "x86_64")
        );
        assert!(!is_after_a_call(pid, place + 2));
        assert!(is_after_a_call(pid, 4), "nobody knows");
    }

    #[test]
    fn a_sleeper_blocks() {
        let pid = std::process::id();
        let (told, tid) = std::sync::mpsc::channel();
        let (done, wait) = std::sync::mpsc::channel::<()>();
        let sleeper = std::thread::spawn(move || {
            told.send(crate::sys::thread_id()).unwrap();
            let _ = wait.recv();
        });
        let tid = tid.recv().unwrap();
        let found = std::iter::repeat_with(|| look(pid, tid)).find_map(|look| match look {
            Look::Blocked(blocked) if blocked.call == libc::SYS_futex => Some(blocked),
            _ => None,
        });
        assert!(found.unwrap().sp != 0);
        drop(done);
        sleeper.join().unwrap();
    }
}
