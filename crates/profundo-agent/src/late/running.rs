//! The threads that run already when the agent comes, from `/proc`, without an allocation.

use core::ffi::CStr;

use profundo_probe::sys;

use crate::files;
use crate::session::join;

/// A thread that runs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Running {
    /// The kernel's number of it.
    pub tid: u32,
    /// Its name, up to 15 bytes and a NUL.
    pub name: [u8; 16],
    /// The number of times that it was switched.
    pub switches: u64,
    /// The signals that it blocks: bit n for signal n + 1.
    pub blocked: u64,
    /// The signals that wait for this very thread, as those of clocks do.
    pub pending: u64,
    /// True if it may be in a call that has another mask meanwhile: `blocked` is that one.
    pub has_other_mask: bool,
}

impl Running {
    /// A thread of this process, by its number. `None`: it has ended.
    fn of(tid: &[u8]) -> Option<Self> {
        /// Longer than the file is.
        const BYTES: usize = 4096;
        let mut path = [0; 64];
        let path = join(&mut path, &[b"/proc/self/task/", tid, b"/status"])?;
        let mut text = [0; BYTES];
        // Before and after: the mask of a call that has ended meanwhile is not mistaken.
        let had_other_mask = may_have_other_mask(tid);
        let read = with_file(path, |file| read(file, &mut text))?;
        let running = Self::parse(number(tid)?, text.get(..read)?)?;
        let has_other_mask = had_other_mask || may_have_other_mask(tid);
        Some(Self {
            has_other_mask,
            ..running
        })
    }

    fn parse(tid: u32, status: &[u8]) -> Option<Self> {
        let mut running = Self {
            tid,
            name: [0; 16],
            switches: 0,
            blocked: 0,
            pending: 0,
            has_other_mask: false,
        };
        for line in status.split(|&byte| byte == b'\n') {
            if let Some(name) = line.strip_prefix(b"Name:\t") {
                let room = running.name.iter_mut().take(15);
                room.zip(name).for_each(|(to, &from)| *to = from);
            }
            if let Some(mask) = line.strip_prefix(b"SigBlk:\t") {
                running.blocked = hexadecimal(mask)?;
            }
            if let Some(pending) = line.strip_prefix(b"SigPnd:\t") {
                running.pending = hexadecimal(pending)?;
            }
            // Those that it chose, and those that it did not.
            let switches = (line.strip_prefix(b"voluntary_ctxt_switches:\t"))
                .or_else(|| line.strip_prefix(b"nonvoluntary_ctxt_switches:\t"));
            if let Some(switches) = switches {
                running.switches += u64::from(number(switches)?);
            }
        }
        Some(running)
    }
}

/// True if a thread is in a call that has another mask while it waits, or if that is not known.
fn may_have_other_mask(tid: &[u8]) -> bool {
    let mut path = [0; 64];
    let mut text = [0; 256];
    let path = join(&mut path, &[b"/proc/self/task/", tid, b"/syscall"]);
    let read = path.and_then(|path| with_file(path, |file| read(file, &mut text)));
    read.and_then(|read| text.get(..read))
        .is_none_or(has_other_mask)
}

/// True for the line of a call that has another mask while it waits.
fn has_other_mask(line: &[u8]) -> bool {
    let mut words = line.split(|&byte| byte == b' ');
    let call = words.next().and_then(number).map(i64::from);
    let is_set = |mut words: core::slice::Split<'_, u8, _>, at: usize| {
        words.nth(at).is_some_and(|word| word != b"0x0")
    };
    match call {
        Some(libc::SYS_rt_sigtimedwait | libc::SYS_rt_sigsuspend) => true,
        Some(libc::SYS_ppoll) => is_set(words, 3),
        Some(libc::SYS_epoll_pwait | libc::SYS_epoll_pwait2 | libc::SYS_io_uring_enter) => {
            is_set(words, 4)
        }
        Some(libc::SYS_pselect6 | SYS_IO_PGETEVENTS) => is_set(words, 5),
        _ => false,
    }
}

/// The call's number.
#[cfg(target_arch = "aarch64")]
const SYS_IO_PGETEVENTS: i64 = 292;
/// The call's number.
#[cfg(target_arch = "x86_64")]
const SYS_IO_PGETEVENTS: i64 = 333;

/// Visits the threads of this process, the main thread first. `own` is the mask of the calling
/// thread, which blocks all signals at present.
pub fn each(own: u64, mut visit: impl FnMut(&Running)) {
    let caller = sys::thread_id();
    let mut visit = |running: &Running| match running.tid == caller {
        true => visit(&Running {
            blocked: own,
            has_other_mask: false,
            ..*running
        }),
        false => visit(running),
    };
    let process = crate::process::process_id();
    let mut digits = [0; crate::session::DIGITS];
    if let Some(main) = crate::session::decimal(&mut digits, process).and_then(Running::of) {
        visit(&main);
    }
    with_file(c"/proc/self/task", |folder| {
        each_name(folder, |name| {
            if number(name).is_some_and(|tid| tid != process)
                && let Some(running) = Running::of(name)
            {
                visit(&running);
            }
        });
        Some(())
    });
}

/// True if another process traces the calling thread, as one does that has borrowed it.
pub fn is_traced() -> bool {
    let mut text = [0; 4096];
    let read = with_file(c"/proc/thread-self/status", |file| read(file, &mut text));
    let text = read.and_then(|read| text.get(..read)).unwrap_or_default();
    let mut lines = text.split(|&byte| byte == b'\n');
    let tracer = lines.find_map(|line| line.strip_prefix(b"TracerPid:\t"));
    tracer.is_some_and(|tracer| tracer != b"0")
}

/// Visits the names in a folder.
pub fn each_name(folder: usize, mut visit: impl FnMut(&[u8])) {
    /// The offsets of a record's length and of its name.
    const LENGTH: usize = 16;
    const NAME: usize = 19;
    let mut records = Records([0; 4096]);
    loop {
        let Records(room) = &mut records;
        // SAFETY: the descriptor is open, and the kernel writes no more than there is room for.
        let read = unsafe {
            let place = room.as_mut_ptr() as usize;
            sys::call(libc::SYS_getdents64, [folder, place, room.len(), 0, 0, 0])
        };
        let Some(mut rest) = usize::try_from(read).ok().and_then(|read| room.get(..read)) else {
            return;
        };
        if rest.is_empty() {
            return;
        }
        while let Some(&[low, high]) = rest.get(LENGTH..LENGTH + 2) {
            let length = usize::from(u16::from_ne_bytes([low, high]));
            let name = rest.get(NAME..length).unwrap_or_default();
            visit(name.split(|&byte| byte == 0).next().unwrap_or_default());
            let Some(more) = rest.get(length.max(1)..) else {
                return;
            };
            rest = more;
        }
    }
}

/// Records of a folder.
#[repr(C, align(8))]
struct Records([u8; 4096]);

/// A number of sixteen digits at most.
pub fn hexadecimal(digits: &[u8]) -> Option<u64> {
    let mut number = 0;
    for &digit in digits {
        let digit = char::from(digit).to_digit(16)?;
        number = number << 4 | u64::from(digit);
    }
    (1..=16).contains(&digits.len()).then_some(number)
}

/// A number of ten digits at most.
pub fn number(digits: &[u8]) -> Option<u32> {
    let mut number: u32 = 0;
    for &digit in digits {
        let digit = u32::from(digit.checked_sub(b'0').filter(|&digit| digit < 10)?);
        number = number.checked_mul(10)?.checked_add(digit)?;
    }
    (!digits.is_empty()).then_some(number)
}

/// Opens a file for reading while `f` runs.
pub fn with_file<T>(path: &CStr, f: impl FnOnce(usize) -> Option<T>) -> Option<T> {
    files::with_file(path, libc::O_RDONLY, f).ok().flatten()
}

/// Reads where a link leads. Returns the number of bytes.
pub fn read_link(path: &CStr, room: &mut [u8]) -> Option<usize> {
    // SAFETY: the path ends in a NUL, and the kernel writes no more than there is room for.
    let read = unsafe {
        let here = libc::AT_FDCWD as usize;
        let (path, place) = (path.as_ptr() as usize, room.as_mut_ptr() as usize);
        sys::call(libc::SYS_readlinkat, [here, path, place, room.len(), 0, 0])
    };
    usize::try_from(read).ok()
}

/// Reads the beginning of a file. Returns the number of bytes.
pub fn read(file: usize, room: &mut [u8]) -> Option<usize> {
    // SAFETY: the descriptor is open, and the kernel writes no more than there is room for.
    let read = unsafe {
        let place = room.as_mut_ptr() as usize;
        sys::call(libc::SYS_read, [file, place, room.len(), 0, 0, 0])
    };
    usize::try_from(read).ok()
}

#[cfg(test)]
mod tests {
    use std::sync::mpsc;
    use std::thread;

    use super::*;

    #[test]
    fn all_threads_are_found_by_their_names() {
        let (ready, wait) = mpsc::channel();
        let (end, go_on) = mpsc::channel::<()>();
        let body = move || {
            ready.send(sys::thread_id()).unwrap();
            let _ = go_on.recv();
        };
        let builder = thread::Builder::new().name("a long (name) of a thread".into());
        let other = builder.spawn(body).unwrap();
        let tid = wait.recv().unwrap();
        let mut found = Vec::new();
        each(5, |running| found.push(*running));
        drop(end);
        other.join().unwrap();
        assert_eq!(found[0].tid, std::process::id());
        let one = found.iter().find(|running| running.tid == tid).unwrap();
        assert_eq!(&one.name, b"a long (name) o\0");
        assert!(one.switches > 0);
        let here = found
            .iter()
            .filter(|running| running.tid == sys::thread_id());
        assert_eq!(here.map(|running| running.blocked).collect::<Vec<_>>(), [5]);
    }

    #[test]
    fn a_call_that_has_another_mask_is_known() {
        for line in ["running\n", "-1 0x7ffd5 0x7f01\n"] {
            assert!(!has_other_mask(line.as_bytes()), "{line:?}");
        }
        for (call, arguments, expected) in [
            (
                libc::SYS_rt_sigtimedwait,
                "0x7ffd5 0x0 0x0 0x8 0x0 0x0",
                true,
            ),
            (libc::SYS_rt_sigsuspend, "0x7ffd5 0x8 0x0 0x0 0x0 0x0", true),
            (libc::SYS_ppoll, "0x1 0x1 0x0 0x0 0x0 0x0", false),
            (libc::SYS_ppoll, "0x1 0x1 0x0 0x7ffd 0x8 0x0", true),
            (libc::SYS_epoll_pwait, "0x1 0x1 0x1 0x64 0x0 0x8", false),
            (libc::SYS_pselect6, "0x1 0x1 0x0 0x0 0x0 0x0", false),
            (libc::SYS_pselect6, "0x1 0x1 0x0 0x0 0x0 0x7ffc", true),
            (libc::SYS_read, "0x1 0x1 0x1 0x1 0x1 0x1", false),
        ] {
            let line = std::format!("{call} {arguments} 0x7ffd5 0x7f01\n");
            assert_eq!(has_other_mask(line.as_bytes()), expected, "{line:?}");
        }
        let own = std::format!("{}", sys::thread_id());
        assert!(!may_have_other_mask(own.as_bytes()));
    }

    #[test]
    fn a_status_that_is_cut_is_no_thread_or_a_thread() {
        let status = b"Name:\tx\nSigBlk:\tfffffffe7ffbfeff\nvoluntary_ctxt_switches:\t12\nnonvoluntary_ctxt_switches:\t30\n";
        let whole = Running::parse(7, status).unwrap();
        assert_eq!((whole.switches, whole.blocked), (42, 0xFFFF_FFFE_7FFB_FEFF));
        for end in 0..status.len() {
            let cut = Running::parse(7, &status[..end]);
            assert!(cut.is_none_or(|running| running.switches <= 42));
        }
    }
}
