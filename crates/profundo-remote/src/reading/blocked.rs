//! Where a thread blocks, as the kernel tells it to whoever may trace the process. Nothing is done to
//! the thread.

use std::fs::File;
use std::os::unix::fs::FileExt;

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
    let text = match small_file(pid, tid, "syscall", &mut text) {
        Ok(text) => text,
        Err(error) => match error.raw_os_error() {
            Some(libc::EACCES | libc::EPERM | libc::EMFILE | libc::ENFILE) => return Look::Hidden,
            _ => return Look::Ended,
        },
    };
    match parse(text) {
        Some(blocked) => Look::Blocked(Blocked {
            turns: turns(pid, tid),
            ..blocked
        }),
        // Of a thread that has ended and was not asked for the file is empty.
        None if text.is_empty() => Look::Ended,
        None => Look::Running,
    }
}

/// How often the thread has been given a CPU: one that ran in between and blocks at the same place
/// again has a higher number.
pub(crate) fn turns(pid: u32, tid: u32) -> Option<u64> {
    schedule(pid, tid).map(|(_, turns)| turns)
}

/// For how long a thread has run, in nanoseconds, and how often it was given a CPU.
pub(crate) fn schedule(pid: u32, tid: u32) -> Option<(u64, u64)> {
    let mut text = [0; 128];
    let text = small_file(pid, tid, "schedstat", &mut text).ok()?;
    let mut words = text.split_ascii_whitespace();
    let ran = words.next()?.parse().ok()?;
    Some((ran, words.nth(1)?.parse().ok()?))
}

fn small_file<'a>(
    pid: u32,
    tid: u32,
    name: &str,
    buffer: &'a mut [u8],
) -> std::io::Result<&'a str> {
    let file = File::open(format!("/proc/{pid}/task/{tid}/{name}"))?;
    let length = file.read_at(buffer, 0)?;
    let text = buffer.get(..length).unwrap_or_default();
    Ok(std::str::from_utf8(text).unwrap_or_default())
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
