//! How the program ended, and ending in the same way.

use std::io;
use std::process::ExitCode;

use profundo_wire::recording::HowEnded;

/// What became of the program.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Ended {
    /// It ended with this code.
    Exited(u8),
    /// It died of this signal.
    Killed(u8),
}

impl From<Ended> for HowEnded {
    fn from(ended: Ended) -> Self {
        match ended {
            Ended::Exited(code) => Self::Exited(code),
            Ended::Killed(signal) => Self::Killed(signal),
        }
    }
}

/// How the child ended, if it has. It stays in the kernel's table, so that its last facts can
/// still be asked for.
pub fn has_ended(pid: i32) -> io::Result<Option<Ended>> {
    // SAFETY: a zeroed structure is a valid one to be filled in.
    let mut info: libc::siginfo_t = unsafe { std::mem::zeroed() };
    let how = libc::WEXITED | libc::WNOHANG | libc::WNOWAIT;
    // SAFETY: the structure is a place of ours; its fields are those of SIGCHLD.
    let (pid, code, status) = unsafe {
        if libc::waitid(libc::P_PID, pid as libc::id_t, &mut info, how) != 0 {
            return Err(io::Error::last_os_error());
        }
        (info.si_pid(), info.si_code, info.si_status())
    };
    Ok((pid != 0).then_some(match code {
        libc::CLD_EXITED => Ended::Exited(status as u8),
        _ => Ended::Killed(status as u8),
    }))
}

/// Takes the child that has ended out of the kernel's table.
pub fn bury(pid: i32) {
    // SAFETY: no status is asked for.
    unsafe { libc::waitpid(pid, std::ptr::null_mut(), 0) };
}

/// Whether the child has been stopped by its terminal since this was asked last. Who sends it
/// SIGSTOP means it alone, and nobody would tell us when to go on.
pub fn was_stopped(pid: i32) -> bool {
    // SAFETY: a zeroed structure is a valid one to be filled in.
    let mut info: libc::siginfo_t = unsafe { std::mem::zeroed() };
    let how = libc::WSTOPPED | libc::WNOHANG;
    // SAFETY: the structure is a place of ours; its fields are those of SIGCHLD.
    unsafe {
        libc::waitid(libc::P_PID, pid as libc::id_t, &mut info, how) == 0
            && info.si_pid() != 0
            && info.si_status() != libc::SIGSTOP
    }
}

/// Passes a signal on that somebody sent to us, unless the program or its children did: they signal
/// their whole group, which the program is in.
pub fn pass_on(pid: i32, signal: i32, sender: i32) {
    if descends(sender, pid) {
        return;
    }
    // SAFETY: the child has not been waited for, so the number is still its own.
    unsafe { libc::kill(pid, signal) };
}

/// Sends a signal to a process.
pub fn send(pid: u32, signal: i32) -> io::Result<()> {
    // SAFETY: sends a signal; nothing of ours is passed.
    match unsafe { libc::kill(pid as i32, signal) } {
        0 => Ok(()),
        _ => Err(io::Error::last_os_error()),
    }
}

/// Stops ourselves as the program was stopped, if a shell with job control is there to start both
/// again: it sees only us.
pub fn stop_too(pid: i32) {
    // SAFETY: asks for process groups and sessions, and stops us.
    unsafe {
        let shell = libc::getppid();
        let is_job = libc::getpgid(shell) != libc::getpgrp()
            && libc::getsid(shell) == libc::getsid(0)
            && libc::getpgid(pid) == libc::getpgrp();
        if !is_job {
            return;
        }
        // Ctrl-Z has stopped us as well, and we may be awake again before the program is.
        std::thread::sleep(std::time::Duration::from_millis(20));
        if is_stopped(pid) {
            libc::raise(libc::SIGSTOP);
        }
    }
}

fn is_stopped(pid: i32) -> bool {
    status(pid).starts_with('T')
}

/// Whether a process is another one or was started by it.
fn descends(mut process: i32, from: i32) -> bool {
    // Deeper trees do not send signals to groups.
    for _ in 0..64 {
        if process == from {
            return true;
        }
        let status = status(process);
        let parent = status
            .split(' ')
            .nth(1)
            .and_then(|parent| parent.parse().ok());
        match parent {
            Some(parent) if parent > 1 => process = parent,
            _ => return false,
        }
    }
    false
}

/// What the kernel says of a process, from its state on; empty if there is none.
fn status(pid: i32) -> String {
    let status = std::fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
    // The name before it may hold anything.
    status
        .rsplit_once(") ")
        .map_or_else(String::new, |(_, rest)| rest.to_owned())
}

/// Ends as the program did: with its code, or by its signal without a second core file.
pub fn end_as(ended: Ended) -> ExitCode {
    match ended {
        Ended::Exited(code) => ExitCode::from(code),
        Ended::Killed(signal) => {
            die_of(i32::from(signal));
            ExitCode::from(128_u8.wrapping_add(signal))
        }
    }
}

/// Ends as programs do whose reader has gone.
pub fn end_by_broken_pipe() -> ExitCode {
    if !super::beginning::look().ignored_pipe {
        die_of(libc::SIGPIPE);
    }
    ExitCode::from(1)
}

fn die_of(signal: i32) {
    // SAFETY: the default action of a signal, sent to ourselves; nothing of ours runs after it.
    unsafe {
        let none = libc::rlimit {
            rlim_cur: 0,
            rlim_max: 0,
        };
        libc::setrlimit(libc::RLIMIT_CORE, &none);
        // A pipe as core pattern ignores the limit, but not this.
        libc::prctl(libc::PR_SET_DUMPABLE, 0);
        super::beginning::dispose(signal, false);
        let mut set = std::mem::zeroed();
        libc::sigemptyset(&mut set);
        libc::sigaddset(&mut set, signal);
        libc::sigprocmask(libc::SIG_UNBLOCK, &set, std::ptr::null_mut());
        libc::raise(signal);
    }
}
