//! The steps that both ways into a program take: borrowing a thread, mapping memory by it, writing
//! to the program's memory.

use std::io;
use std::time::{Duration, Instant};

use profundo_linux::proc;
use profundo_permits::may_be_read;
use profundo_process::reading::{Held, NotHeld, Stopper};

use super::borrowed::{Borrowed, Failed};
use super::filters;
use super::program::Program;
use super::refused::Refused;
use super::safe_point::{Instructions, Places};
use super::stacks::Stacks;

/// Borrows one of a process's threads. Returns it with the time of the borrowing.
pub(super) fn borrow(
    pid: u32,
    program: &Program,
    instructions: Instructions,
    places: &mut Places,
) -> Result<(Borrowed, Instant), Refused> {
    const PATIENCE: Duration = Duration::from_secs(5);
    const PAUSE: Duration = Duration::from_millis(1);
    /// The time after which a thread is held even if its call begins anew for it.
    const GENTLE: Duration = Duration::from_secs(3);
    /// The time after which a thread on another kind of stack will do, as Go's threads have.
    const USUAL: Duration = Duration::from_millis(250);
    /// The number of refusals without a tracer.
    const UNEXPLAINED: u32 = 8;
    let mut stopper = Stopper::default();
    stopper.has_some_patience = true;
    let began = Instant::now();
    let (mut refused, mut others) = (0, false);
    loop {
        if let Some(why) = program.is_another(pid) {
            return Err(why);
        }
        let stacks = Stacks::of(pid);
        // The first thread comes last: it gets the signals of the process unless it is held.
        let mut threads = proc::threads(pid);
        threads.sort_by_key(|&tid| tid == pid);
        for tid in threads {
            if let Some(why) = program.is_another(pid) {
                return Err(why);
            }
            let held = match began.elapsed() < GENTLE {
                true => hold_awake(&mut stopper, pid, tid),
                // A call that fails is worse than one that waits for longer, once.
                false => stopper.hold_awake(pid, tid),
            };
            let held = match held {
                Ok(held) => held,
                Err(NotHeld::Refused) => match proc::tracer(pid, tid) {
                    Some(tracer) if is_profundo(tracer) => {
                        others = true;
                        continue;
                    }
                    // The tracer may have let it go meanwhile.
                    None if refused < UNEXPLAINED => {
                        refused += 1;
                        continue;
                    }
                    _ => return Err(why_not_held(pid)),
                },
                Err(_) => continue,
            };
            let since = Instant::now();
            // Checked again: a held thread does not execute another program.
            if let Some(why) = program.is_another(pid) {
                return Err(why);
            }
            if places.may_borrow(&held)
                && instructions.are_there(pid)
                && let Some(thread) = Borrowed::take(held, instructions, &stacks)?
                && (thread.is_on_usual_stack() || began.elapsed() > USUAL)
            {
                return Ok((thread, since));
            }
        }
        if began.elapsed() > PATIENCE {
            return Err(match proc::stat(pid) {
                Some(stat) if !stat.has_ended() && others => Refused::NotEntered(libc::EALREADY),
                Some(stat) if !stat.has_ended() => Refused::NeverSafe,
                _ => Refused::Gone,
            });
        }
        std::thread::sleep(PAUSE);
    }
}

/// Holds a thread, unless it waits in a call that would fail for it.
pub(super) fn hold_awake(stopper: &mut Stopper, pid: u32, tid: u32) -> Result<Held, NotHeld> {
    match waits_in_vain(pid, tid) {
        true => Err(NotHeld::Blocked),
        false => stopper.hold_awake(pid, tid),
    }
}

/// Whether a thread waits in a call that would return `EINTR` if the thread was held: a few calls
/// do not go on after that, and a new beginning would wait for the whole time again.
fn waits_in_vain(pid: u32, tid: u32) -> bool {
    let text = proc::read(pid, &format!("task/{tid}/syscall"));
    let text = String::from_utf8_lossy(&text);
    let mut words = text.split_ascii_whitespace();
    let Some(number) = words.next().and_then(|word| word.parse::<i64>().ok()) else {
        return false;
    };
    let arguments: Vec<u64> = words
        .filter_map(|word| u64::from_str_radix(word.trim_start_matches("0x"), 16).ok())
        .collect();
    let argument = |at: usize| arguments.get(at).copied().unwrap_or(0);
    // There the kernel does not restart it if it also lets other signals in.
    let lets_signals_in = cfg!(target_arch = "aarch64") && argument(4) != 0;
    match number {
        #[cfg(target_arch = "x86_64")]
        libc::SYS_epoll_wait => argument(3) as i32 >= 0,
        libc::SYS_epoll_pwait | libc::SYS_epoll_pwait2 | libc::SYS_io_uring_enter
            if lets_signals_in =>
        {
            true
        }
        libc::SYS_epoll_pwait => argument(3) as i32 >= 0,
        libc::SYS_epoll_pwait2 | libc::SYS_semtimedop => argument(3) != 0,
        libc::SYS_rt_sigtimedwait => argument(2) != 0,
        libc::SYS_io_getevents => argument(4) != 0,
        _ => false,
    }
}

/// Whether threads of the process may be borrowed, as far as the machine is concerned.
pub(super) fn may_be_entered(pid: u32) -> Result<(), Refused> {
    // The agent's memory is laid out for these; those of aarch64 may be larger.
    const PAGE: usize = 4096;
    // SAFETY: asks for a number.
    let page = unsafe { libc::sysconf(libc::_SC_PAGESIZE) };
    if let Some(page) = usize::try_from(page).ok().filter(|&page| page != PAGE) {
        return Err(Refused::Pages(page));
    }
    may_be_read(pid).map_err(Refused::Machine)
}

/// Whether a process is another profundo, which has a thread for a moment.
fn is_profundo(tracer: u32) -> bool {
    let file = |process: &str| std::fs::read_link(format!("/proc/{process}/exe")).ok();
    let its = file(&tracer.to_string());
    its.is_some() && its == file("self")
}

pub(super) fn why_not_held(pid: u32) -> Refused {
    let reason = match proc::is_traced(pid) {
        true => "a debugger has it",
        false => "its threads cannot be held (ptrace is refused)",
    };
    Refused::Machine(profundo_permits::Gap {
        why: format!("process {pid} cannot be asked: {reason}"),
        mend: None,
    })
}

/// Maps memory in the program.
pub(super) fn map(thread: &mut Borrowed, bytes: u64) -> Result<u64, Refused> {
    let protection = (libc::PROT_READ | libc::PROT_WRITE) as u64;
    let flags = (libc::MAP_PRIVATE | libc::MAP_ANONYMOUS) as u64;
    let place = thread.system(libc::SYS_mmap, [0, bytes, protection, flags, u64::MAX, 0])?;
    if place < 0 {
        return Err(failed(place));
    }
    Ok(place as u64)
}

pub(super) fn failed(answer: i64) -> Refused {
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

/// Writes to another process.
pub(super) fn write_memory(pid: u32, address: u64, bytes: &[u8]) -> io::Result<()> {
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

/// Whether the process may be harmed by a call of ours: a thread of it restricts its system calls
/// more than we are restricted ourselves, and its filters may refuse what the agent does. Each
/// thread may have filters of its own. `Ok`: the most filters that a thread may have later.
pub(super) fn may_be_filtered(pid: u32, filtered: bool) -> Result<u64, Refused> {
    let (most, ours) = (most_filters(pid), own_filters());
    match filtered || most <= ours || filters::permit(pid) == Some(true) {
        true => Ok(most.max(ours)),
        false => Err(Refused::Filtered),
    }
}

/// The number of filters of a thread that has the most.
pub(super) fn most_filters(pid: u32) -> u64 {
    let threads = proc::threads(pid).into_iter();
    let counts = threads.map(|tid| number_of_filters(pid, tid));
    counts.max().unwrap_or(0)
}

fn own_filters() -> u64 {
    count(&proc::read(std::process::id(), "status"))
}

/// The number of a thread's filters.
pub(super) fn number_of_filters(pid: u32, tid: u32) -> u64 {
    count(&proc::read(pid, &format!("task/{tid}/status")))
}

/// The number of filters, by what the kernel says of a thread.
fn count(status: &[u8]) -> u64 {
    let status = String::from_utf8_lossy(status);
    let field = |name: &str| -> Option<u64> {
        let line = status.lines().find_map(|line| line.strip_prefix(name))?;
        line.trim().parse().ok()
    };
    let mode = field("Seccomp:").unwrap_or(0);
    field("Seccomp_filters:").unwrap_or(u64::from(mode == 2)) + u64::from(mode == 1)
}
