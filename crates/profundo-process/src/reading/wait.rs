//! A blocked thread's wait, by its system call.

use std::fs;

use profundo_linux::proc;
use profundo_linux::sys;
use profundo_wire::WaitKind;

use super::blocked::Blocked;
use super::{calls, parked};

/// The object of a wait.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Wait {
    pub kind: WaitKind,
    /// The lock's address, the file's path, the call's name; or empty.
    pub what: String,
}

impl Wait {
    /// The wait of a blocked thread. `is_gil`: it waits for the interpreter's lock.
    pub fn of(pid: u32, blocked: &Blocked, is_gil: bool) -> Self {
        let wait = |kind, what| Self { kind, what };
        if is_gil {
            return wait(WaitKind::Gil, String::new());
        }
        if blocked.call < 0 {
            // Outside of a system call the whole program may be stopped.
            let kind = match proc::stat(pid).map(|stat| stat.state) {
                Some(b'T') => WaitKind::Signal,
                Some(b't') => WaitKind::Other,
                _ => WaitKind::Fault,
            };
            return wait(kind, String::new());
        }
        let [first, second, third, ..] = blocked.arguments;
        match blocked.call {
            libc::SYS_futex => match joined(pid, second, third) {
                Some(thread) => wait(WaitKind::Thread, thread),
                None => wait(WaitKind::Lock, lock(pid, blocked.sp, first, second)),
            },
            SYS_FUTEX_WAITV => wait(WaitKind::Lock, String::new()),
            libc::SYS_nanosleep | libc::SYS_clock_nanosleep => wait(WaitKind::Sleep, String::new()),
            libc::SYS_wait4 | libc::SYS_waitid => {
                let child = match blocked.call {
                    libc::SYS_wait4 => first as i32,
                    _ if first == u64::from(libc::P_PID) => second as i32,
                    _ => -1,
                };
                let child = if child > 0 {
                    child.to_string()
                } else {
                    String::new()
                };
                wait(WaitKind::Child, child)
            }
            call if reads(call) => wait(WaitKind::Read, file(pid, first)),
            call if writes(call) => wait(WaitKind::Write, file(pid, first)),
            libc::SYS_sendfile => wait(WaitKind::Write, file(pid, first)),
            libc::SYS_splice => wait(WaitKind::Read, file(pid, first)),
            libc::SYS_copy_file_range => wait(WaitKind::Write, file(pid, third)),
            libc::SYS_accept | libc::SYS_accept4 => wait(WaitKind::Accept, file(pid, first)),
            libc::SYS_connect => wait(WaitKind::Connect, file(pid, first)),
            libc::SYS_flock | libc::SYS_fcntl => wait(WaitKind::FileLock, file(pid, first)),
            // Without descriptors it waits for time alone, as old programs sleep.
            call if polls(call) && descriptors(call, &blocked.arguments) == 0 => {
                wait(WaitKind::Sleep, String::new())
            }
            call if polls(call) => wait(WaitKind::Poll, String::new()),
            call if awaits_signal(call) => wait(WaitKind::Signal, String::new()),
            libc::SYS_fsync | libc::SYS_fdatasync | libc::SYS_sync_file_range => {
                wait(WaitKind::Write, file(pid, first))
            }
            call => {
                let name = calls::name(call).map(str::to_owned);
                let name = name.unwrap_or_else(|| format!("system call {call}"));
                wait(WaitKind::Other, name)
            }
        }
    }
}

/// The thread that is joined, as by `pthread_join`: the waiter waits until the kernel clears the
/// word with the thread's number, and that futex is not private.
fn joined(pid: u32, operation: u64, expected: u64) -> Option<String> {
    const FUTEX_WAIT: i32 = 0;
    const FUTEX_WAIT_BITSET: i32 = 9;
    const FUTEX_PRIVATE: i32 = 0x80;
    let operation = operation as i32;
    let is_wait = matches!(operation & FUTEX_COMMAND, FUTEX_WAIT | FUTEX_WAIT_BITSET);
    if !is_wait || operation & FUTEX_PRIVATE != 0 {
        return None;
    }
    let thread = u32::try_from(expected).ok().filter(|&thread| thread > 1)?;
    let name = fs::read_to_string(format!("/proc/{pid}/task/{thread}/comm")).ok()?;
    Some(format!("{thread} ({})", name.trim_end()))
}

/// A lock: its address, and its owner, as far as the lock names it.
fn lock(pid: u32, sp: u64, address: u64, operation: u64) -> String {
    if let Some(lock) = parked::lock(pid, sp, address) {
        return format!("{lock:#x}");
    }
    let Some(holder) = holder(pid, address, operation) else {
        return format!("{address:#x}");
    };
    let name = fs::read_to_string(format!("/proc/{pid}/task/{holder}/comm")).unwrap_or_default();
    format!(
        "{address:#x}, held by thread {holder} ({})",
        name.trim_end()
    )
}

/// The owner of a lock: priority-inheriting ones have it in their word, mutexes of the C library
/// behind it. Others (those of Python and of Rust) do not have it.
fn holder(pid: u32, address: u64, operation: u64) -> Option<u32> {
    /// The value of a mutex with waiters.
    const CONTENDED: u32 = 2;
    /// The kinds of a mutex that have an owner.
    const KINDS: u32 = 3;
    let mut bytes = [0; 20];
    if sys::read_memory(pid, address, &mut bytes) != bytes.len() {
        return None;
    }
    let mut words = bytes
        .chunks_exact(4)
        .map(|word| word.try_into().map(u32::from_ne_bytes));
    let mut word = || words.next()?.ok();
    let (lock, _, owner, users, kind) = (word()?, word()?, word()?, word()?, word()?);
    let holder = match operation as i32 & FUTEX_COMMAND {
        FUTEX_LOCK_PI | FUTEX_LOCK_PI2 => lock & FUTEX_TID,
        // The number of users counts at least the owner.
        _ if lock == CONTENDED && users > 0 && kind & !FUTEX_ELISION <= KINDS => owner,
        _ => return None,
    };
    let is_thread = holder > 0 && proc::thread_state(pid, holder).is_some();
    is_thread.then_some(holder)
}

const FUTEX_COMMAND: i32 = 0x7f;
const FUTEX_LOCK_PI: i32 = 6;
const FUTEX_LOCK_PI2: i32 = 13;
const FUTEX_TID: u32 = 0x3fff_ffff;
/// The bits of a mutex's kind for lock elision.
const FUTEX_ELISION: u32 = 0x300;

const SYS_FUTEX_WAITV: i64 = 449;

fn reads(call: i64) -> bool {
    [
        libc::SYS_read,
        libc::SYS_pread64,
        libc::SYS_readv,
        libc::SYS_preadv,
        libc::SYS_preadv2,
        libc::SYS_recvfrom,
        libc::SYS_recvmsg,
        libc::SYS_recvmmsg,
        libc::SYS_getdents64,
    ]
    .contains(&call)
}

fn writes(call: i64) -> bool {
    [
        libc::SYS_write,
        libc::SYS_pwrite64,
        libc::SYS_writev,
        libc::SYS_pwritev,
        libc::SYS_pwritev2,
        libc::SYS_sendto,
        libc::SYS_sendmsg,
        libc::SYS_sendmmsg,
    ]
    .contains(&call)
}

fn awaits_signal(call: i64) -> bool {
    #[cfg(target_arch = "x86_64")]
    if call == libc::SYS_pause {
        return true;
    }
    [libc::SYS_rt_sigtimedwait, libc::SYS_rt_sigsuspend].contains(&call)
}

#[cfg(target_arch = "x86_64")]
fn polls(call: i64) -> bool {
    let old = [libc::SYS_poll, libc::SYS_select, libc::SYS_epoll_wait];
    let new = [
        libc::SYS_ppoll,
        libc::SYS_pselect6,
        libc::SYS_epoll_pwait,
        SYS_EPOLL_PWAIT2,
        libc::SYS_io_getevents,
        libc::SYS_io_uring_enter,
    ];
    old.contains(&call) || new.contains(&call)
}

#[cfg(not(target_arch = "x86_64"))]
fn polls(call: i64) -> bool {
    [
        libc::SYS_ppoll,
        libc::SYS_pselect6,
        libc::SYS_epoll_pwait,
        SYS_EPOLL_PWAIT2,
        libc::SYS_io_getevents,
        libc::SYS_io_uring_enter,
    ]
    .contains(&call)
}

/// The number of descriptors of a polling call; one, where it is not known.
fn descriptors(call: i64, arguments: &[u64; 6]) -> u64 {
    let [first, second, ..] = *arguments;
    match call {
        #[cfg(target_arch = "x86_64")]
        libc::SYS_select => first,
        libc::SYS_pselect6 => first,
        #[cfg(target_arch = "x86_64")]
        libc::SYS_poll => second,
        libc::SYS_ppoll => second,
        _ => 1,
    }
}

const SYS_EPOLL_PWAIT2: i64 = 441;

/// The description of a descriptor, without what differs from one to the next.
pub fn file(pid: u32, descriptor: u64) -> String {
    open_file(pid, descriptor).unwrap_or_else(|| format!("descriptor {}", descriptor as i32))
}

/// The description of a descriptor; `None` if it is not open.
pub fn open_file(pid: u32, descriptor: u64) -> Option<String> {
    let path = fs::read_link(format!("/proc/{pid}/fd/{}", descriptor as i32)).ok()?;
    let path = path.to_string_lossy();
    Some(match path.split_once(":[") {
        // Numbers of sockets and pipes mean nothing to a reader, and each would make a row.
        Some((kind @ ("socket" | "pipe"), _)) => {
            format!("{kind}, descriptor {}", descriptor as i32)
        }
        _ => path.into_owned(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn blocked(call: i64, arguments: [u64; 6]) -> Blocked {
        Blocked {
            call,
            arguments,
            sp: 1,
            ip: 1,
            turns: None,
        }
    }

    #[test]
    fn calls_are_distinguished() {
        let pid = std::process::id();
        let of = |call, arguments| Wait::of(pid, &blocked(call, arguments), false);
        let lock = of(libc::SYS_futex, [0xAB0, 0, 0, 0, 0, 0]);
        assert_eq!((lock.kind, lock.what.as_str()), (WaitKind::Lock, "0xab0"));
        // A shared futex, with the number of an existing thread.
        let join = of(libc::SYS_futex, [0xAB0, 0x109, u64::from(pid), 0, 0, 0]);
        assert_eq!(join.kind, WaitKind::Thread);
        assert!(join.what.starts_with(&format!("{pid} (")), "{}", join.what);
        let shared = of(libc::SYS_futex, [0xAB0, 0x109, 1 << 31, 0, 0, 0]);
        assert_eq!(shared.kind, WaitKind::Lock);
        let gil = Wait::of(pid, &blocked(libc::SYS_futex, [1; 6]), true);
        assert_eq!(gil.kind, WaitKind::Gil);
        assert_eq!(of(-1, [0; 6]).kind, WaitKind::Fault);
        let child = of(libc::SYS_wait4, [77, 0, 0, 0, 0, 0]);
        assert_eq!((child.kind, child.what.as_str()), (WaitKind::Child, "77"));
        assert_eq!(of(libc::SYS_wait4, [u64::MAX; 6]).what, "");
        assert_eq!(of(libc::SYS_ppoll, [0, 2, 0, 0, 0, 0]).kind, WaitKind::Poll);
        assert_eq!(of(libc::SYS_ppoll, [0; 6]).kind, WaitKind::Sleep);
        let mount = of(libc::SYS_mount, [0; 6]);
        assert_eq!(
            (mount.kind, mount.what.as_str()),
            (WaitKind::Other, "mount")
        );
        assert_eq!(of(9999, [0; 6]).what, "system call 9999");
    }

    #[test]
    fn the_owner_of_a_mutex_is_read() {
        let pid = std::process::id();
        let tid = sys::thread_id();
        // As in `pthread_mutex_t`: the lock, how often, the owner, the users, the kind.
        let held = [2_u32, 0, tid, 1, 0];
        let wait = |words: &[u32; 5], operation: u64| {
            let address = std::ptr::from_ref(words) as u64;
            let call = blocked(libc::SYS_futex, [address, operation, 0, 0, 0, 0]);
            Wait::of(pid, &call, false).what
        };
        let holder = format!("held by thread {tid} (");
        assert!(wait(&held, 0x80).contains(&holder));
        assert!(wait(&[tid | 1 << 31, 0, 0, 0, 0], 0x86).contains(&holder));
        // A semaphore, as Python's locks are; a mutex without waiters; and one of a thread that
        // does not exist.
        for none in [[0, 0, 1, 0, 0], [1, 0, tid, 1, 0], [2, 0, 1, 1, 0]] {
            assert!(!wait(&none, 0x80).contains("held"), "{none:?}");
        }
    }

    #[test]
    fn a_stopped_thread_waits_for_a_signal() {
        let mut child = std::process::Command::new("sleep")
            .arg("60")
            .spawn()
            .unwrap();
        let pid = child.id();
        // SAFETY: the child is ours, and not waited for yet.
        unsafe { libc::kill(pid as i32, libc::SIGSTOP) };
        profundo_testing::wait_until("a stop", || proc::stat(pid).unwrap().state == b'T');
        assert_eq!(
            Wait::of(pid, &blocked(-1, [0; 6]), false).kind,
            WaitKind::Signal
        );
        child.kill().unwrap();
        let _ = child.wait();
    }

    #[test]
    fn files_have_their_paths() {
        use std::os::fd::AsRawFd;
        let pid = std::process::id();
        let null = fs::File::open("/dev/null").unwrap();
        assert_eq!(file(pid, null.as_raw_fd() as u64), "/dev/null");
        let (reader, _writer) = std::io::pipe().unwrap();
        let text = file(pid, reader.as_raw_fd() as u64);
        assert!(text.starts_with("pipe, descriptor "), "{text}");
        assert_eq!(file(pid, u64::MAX), "descriptor -1");
    }
}
