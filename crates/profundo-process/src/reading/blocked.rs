//! The place where a thread blocks, as the kernel reports it to a process that may trace it. The
//! thread is not touched.

use std::collections::HashMap;
use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt;

use profundo_linux::sys;

/// A blocked thread.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Blocked {
    /// The system call's number; -1 outside of one, as in a page fault.
    pub call: i64,
    /// The arguments of the call.
    pub arguments: [u64; 6],
    /// The stack pointer.
    pub sp: u64,
    /// The address of the next instruction.
    pub ip: u64,
    /// The number of times that the thread was given a CPU, where the kernel counts it.
    pub turns: Option<u64>,
}

/// The activity of a thread.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Activity {
    /// On a CPU, or waiting for one.
    Running,
    /// It waits in a system call, or for a page.
    Blocked(Blocked),
    /// It has ended.
    Ended,
    /// The kernel does not permit reading it.
    Hidden,
}

/// Reads a thread's activity without touching the thread.
pub fn activity(pid: u32, tid: u32) -> Activity {
    let mut text = [0; 256];
    let turns = turns(pid, tid);
    let read = open(pid, tid, "syscall").and_then(|file| file.read_at(&mut text, 0));
    seen(turns, read, &text)
}

/// Reads the same threads again and again, and keeps their files open.
#[derive(Debug, Default)]
pub struct ActivityReader {
    files: HashMap<u32, File>,
}

impl ActivityReader {
    /// Reads a thread's activity, as [`activity`] does.
    pub fn read(&mut self, pid: u32, tid: u32) -> Activity {
        /// The largest number of open files.
        const MOST: usize = 64;
        let mut text = [0; 256];
        let turns = turns(pid, tid);
        // A file stays that of the thread that it was opened for, even if that has ended.
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

/// The activity in a `syscall` file. `turns` was read before it. Memory read afterwards is of one
/// moment if a later reading has the same number. If it were read after the file, it could count a
/// turn that the thread took in between.
fn seen(turns: Option<u64>, read: io::Result<usize>, text: &[u8]) -> Activity {
    let length = match read {
        Ok(length) => length,
        Err(error) => match error.raw_os_error() {
            Some(libc::EACCES | libc::EPERM | libc::EMFILE | libc::ENFILE) => {
                return Activity::Hidden;
            }
            _ => return Activity::Ended,
        },
    };
    let text = text.get(..length).unwrap_or_default();
    match parse(std::str::from_utf8(text).unwrap_or_default()) {
        Some(blocked) => Activity::Blocked(Blocked { turns, ..blocked }),
        // The file of an unreaped thread is empty.
        None if text.is_empty() => Activity::Ended,
        None => Activity::Running,
    }
}

/// Whether a thread in the kernel is in a system call, by the instruction before its return
/// address. If not, it is in a fault or an interrupt, and does not go to sleep as a call may.
pub fn is_after_a_call(pid: u32, ip: u64) -> bool {
    #[cfg(target_arch = "x86_64")]
    const CALLS: [&[u8]; 3] = [b"\x0f\x05", b"\x0f\x34", b"\xcd\x80"];
    #[cfg(not(target_arch = "x86_64"))]
    const CALLS: [&[u8]; 1] = [b"\x01\x00\x00\xd4"];
    let mut before = [0; CALLS[0].len()];
    let start = ip.wrapping_sub(before.len() as u64);
    let is_read = sys::read_memory(pid, start, &mut before) == before.len();
    !is_read || CALLS.contains(&&before[..])
}

/// The number of times that the thread was given a CPU. If it ran and blocks at the same place
/// again, the number is higher.
pub fn turns(pid: u32, tid: u32) -> Option<u64> {
    schedule(pid, tid).map(|(_, turns)| turns)
}

/// The time that a thread has run, in nanoseconds, and the number of times that it was given a CPU.
pub fn schedule(pid: u32, tid: u32) -> Option<(u64, u64)> {
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
        let (sender, tid) = std::sync::mpsc::channel();
        let (done, wait) = std::sync::mpsc::channel::<()>();
        let spinner = std::thread::spawn(move || {
            sender.send(profundo_linux::sys::thread_id()).unwrap();
            while wait.try_recv() == Err(std::sync::mpsc::TryRecvError::Empty) {}
        });
        let (pid, tid) = (std::process::id(), tid.recv().unwrap());
        // The thread may still be sending.
        while activity(pid, tid) != Activity::Running {}
        drop(done);
        spinner.join().unwrap();
        assert_eq!(activity(pid, 1), Activity::Ended);
    }

    const SLEEPS: [i64; 2] = [libc::SYS_nanosleep, libc::SYS_clock_nanosleep];

    #[test]
    fn a_second_reading_sees_the_present() {
        let mut activities = ActivityReader::default();
        let mut child = std::process::Command::new("sleep")
            .arg("60")
            .spawn()
            .unwrap();
        let pid = child.id();
        let sleeps = |activity| matches!(activity, Activity::Blocked(blocked) if SLEEPS.contains(&blocked.call));
        while !sleeps(activities.read(pid, pid)) {}
        assert!(sleeps(activities.read(pid, pid)));
        child.kill().unwrap();
        let _ = child.wait();
        assert_eq!(activities.read(pid, pid), Activity::Ended);
    }

    #[test]
    fn calls_are_distinguished_from_faults() {
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
        let (sender, tid) = std::sync::mpsc::channel();
        let (done, wait) = std::sync::mpsc::channel::<()>();
        let sleeper = std::thread::spawn(move || {
            sender.send(profundo_linux::sys::thread_id()).unwrap();
            let _ = wait.recv();
        });
        let tid = tid.recv().unwrap();
        let found =
            std::iter::repeat_with(|| activity(pid, tid)).find_map(|activity| match activity {
                Activity::Blocked(blocked) if blocked.call == libc::SYS_futex => Some(blocked),
                _ => None,
            });
        assert!(found.unwrap().sp != 0);
        drop(done);
        sleeper.join().unwrap();
    }
}
