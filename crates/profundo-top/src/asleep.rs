//! The activity of a process that uses no CPU time: the system call of its main thread, which the
//! kernel reports without stopping it, if we may trace the process.

use std::fs;

/// The main thread's wait, as the end of a sentence; `None` if the kernel does not report it, or
/// the thread does not wait.
pub fn waits_for(pid: u32) -> Option<&'static str> {
    let of = |name: &str| fs::read_to_string(format!("/proc/{pid}/{name}")).ok();
    let stat = of("stat")?;
    let state = stat.rsplit_once(") ")?.1.chars().next()?;
    words(state, of("syscall").as_deref().unwrap_or_default())
}

fn words(state: char, call: &str) -> Option<&'static str> {
    match state {
        'T' | 't' => return Some("is stopped: a signal (SIGCONT) lets it go on"),
        'Z' | 'X' => return Some("has ended"),
        'D' => return Some("waits for a disk, or for something else that cannot be interrupted"),
        'S' => {}
        _ => return None,
    }
    let number = call.split(' ').next()?.parse::<i64>().ok()?;
    Some(match number {
        libc::SYS_nanosleep | libc::SYS_clock_nanosleep => "sleeps until a time has come",
        libc::SYS_futex => "waits for a lock, or for another thread",
        libc::SYS_wait4 | libc::SYS_waitid => "waits for a process that it started",
        libc::SYS_read | libc::SYS_readv | libc::SYS_pread64 => "waits for something to read",
        libc::SYS_recvfrom | libc::SYS_recvmsg => "waits for data from a socket",
        libc::SYS_write | libc::SYS_writev | libc::SYS_sendto | libc::SYS_sendmsg => {
            "waits until something can be written"
        }
        libc::SYS_accept | libc::SYS_accept4 => "waits for a connection",
        libc::SYS_connect => "waits for a connection to be made",
        libc::SYS_ppoll | libc::SYS_pselect6 | libc::SYS_epoll_pwait => POLLS,
        libc::SYS_rt_sigsuspend | libc::SYS_rt_sigtimedwait => "waits for a signal",
        number if is_old_poll(number) => POLLS,
        _ => "waits in a system call",
    })
}

const POLLS: &str = "waits for files or sockets, or for time";

/// Calls that newer architectures do not have.
#[cfg(target_arch = "x86_64")]
fn is_old_poll(number: i64) -> bool {
    [libc::SYS_poll, libc::SYS_select, libc::SYS_epoll_wait].contains(&number)
}

#[cfg(not(target_arch = "x86_64"))]
fn is_old_poll(_: i64) -> bool {
    false
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_call_has_words() {
        let call = |number: i64| format!("{number} 0x1 0x2 0x3 0x4 0x5 0x6 0x7ffd 0x7f00");
        let said = |state, number| words(state, &call(number));
        assert!(
            said('S', libc::SYS_clock_nanosleep)
                .unwrap()
                .contains("sleeps")
        );
        assert!(said('S', libc::SYS_ppoll).unwrap().contains("sockets"));
        assert!(said('S', libc::SYS_wait4).unwrap().contains("started"));
        assert_eq!(said('S', libc::SYS_reboot), Some("waits in a system call"));
        assert!(said('T', -1).unwrap().contains("SIGCONT"));
        assert_eq!(said('R', libc::SYS_read), None, "it works");
        assert_eq!(words('S', "running"), None);
        assert_eq!(words('S', ""), None, "without permission nothing is known");
    }

    #[test]
    fn an_ended_process_does_nothing() {
        assert_eq!(waits_for(u32::MAX), None);
    }
}
