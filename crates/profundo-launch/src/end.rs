//! The end of the program, and ending in the same way.

use std::io;
use std::process::ExitCode;

use profundo_wire::recording::HowEnded;

/// The end of the program.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Ended {
    /// The program ended with this code.
    Exited(u8),
    /// The program died of this signal.
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

/// The end of the child, if it has ended. It is not reaped, so its last figures can still be read.
pub fn has_ended(pid: i32) -> io::Result<Option<Ended>> {
    // SAFETY: a zeroed structure is a valid one to be filled in.
    let mut info: libc::siginfo_t = unsafe { std::mem::zeroed() };
    let how = libc::WEXITED | libc::WNOHANG | libc::WNOWAIT;
    // SAFETY: the structure is a place of ours; its fields are those of SIGCHLD.
    let (pid, code, status) = unsafe {
        while libc::waitid(libc::P_PID, pid as libc::id_t, &mut info, how) != 0 {
            let error = io::Error::last_os_error();
            if error.kind() != io::ErrorKind::Interrupted {
                return Err(error);
            }
        }
        (info.si_pid(), info.si_code, info.si_status())
    };
    Ok((pid != 0).then_some(match code {
        libc::CLD_EXITED => Ended::Exited(status as u8),
        _ => Ended::Killed(status as u8),
    }))
}

/// Reaps a child that has ended.
pub fn reap(pid: i32) {
    // SAFETY: no status is asked for.
    unsafe { libc::waitpid(pid, std::ptr::null_mut(), 0) };
}

/// True if the terminal has stopped the child since the last call. SIGSTOP is ignored: it is meant
/// for the child alone, and its continuation would not be reported.
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

/// Passes on a signal that was sent to us, unless the program or one of its children sent it: they
/// signal their whole process group, which includes the program.
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

/// Stops this process as the program was stopped, if a shell with job control can continue both: it
/// sees only this process.
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
        // Ctrl-Z has stopped this process as well, which may continue before the program does.
        std::thread::sleep(std::time::Duration::from_millis(20));
        if is_stopped(pid) {
            libc::raise(libc::SIGSTOP);
        }
    }
}

fn is_stopped(pid: i32) -> bool {
    status(pid).starts_with('T')
}

/// True if `process` is `from` or a descendant of it.
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

/// The fields of `/proc/PID/stat` from the state on; empty if there is no such process.
fn status(pid: i32) -> String {
    let status = std::fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
    // The name before it may contain anything.
    status
        .rsplit_once(") ")
        .map_or_else(String::new, |(_, rest)| rest.to_owned())
}

/// Ends as the program did: with its exit code, or by its signal without a second core file.
pub fn end_as(ended: Ended) -> ExitCode {
    match ended {
        Ended::Exited(code) => ExitCode::from(code),
        Ended::Killed(signal) => {
            die_of(i32::from(signal));
            ExitCode::from(128_u8.wrapping_add(signal))
        }
    }
}

/// Ends by SIGPIPE, as programs do whose reader has closed the pipe.
pub fn end_by_broken_pipe() -> ExitCode {
    if !super::inherited::state().ignored_pipe {
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
        // A core pattern that is a pipe ignores the limit, but not this.
        libc::prctl(libc::PR_SET_DUMPABLE, 0);
        super::inherited::dispose(signal, false);
        let mut set = std::mem::zeroed();
        libc::sigemptyset(&mut set);
        libc::sigaddset(&mut set, signal);
        libc::sigprocmask(libc::SIG_UNBLOCK, &set, std::ptr::null_mut());
        libc::raise(signal);
    }
}
