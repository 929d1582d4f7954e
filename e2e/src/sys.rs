//! System calls of the targets, each with a safe face, and the lines that they print.

use std::io::Write;
use std::mem::MaybeUninit;
use std::time::Duration;

/// A clock of the kernel's.
pub fn clock(which: libc::clockid_t) -> Duration {
    let mut time = libc::timespec {
        tv_sec: 0,
        tv_nsec: 0,
    };
    // SAFETY: the structure is ours and is written to.
    let done = unsafe { libc::clock_gettime(which, &raw mut time) };
    assert_eq!(done, 0);
    Duration::new(time.tv_sec as u64, time.tv_nsec as u32)
}

/// Prints a line on stderr, for the reader of a failure.
pub fn note(line: &str) {
    // If stderr is closed, the line is lost.
    let _ = std::io::stderr().write_all(format!("{line}\n").as_bytes());
}

/// Prints a line on stdout, which the test compares.
pub fn print_line(line: &str) {
    let mut out = std::io::stdout();
    // If stdout is closed, the test sees that the line is missing.
    let _ = out.write_all(format!("{line}\n").as_bytes());
    let _ = out.flush();
}

/// A handler in the simple form, and in the one that gets more information.
pub type Handler = extern "C" fn(i32, *mut libc::siginfo_t, *mut libc::c_void);

/// Installs a handler; returns the earlier one.
pub fn handle(signal: i32, handler: Handler, flags: i32) -> libc::sigaction {
    // SAFETY: zeroed is a valid sigaction, all fields that matter are set, and the handlers of
    // the targets do only what handlers may.
    unsafe {
        let mut action: libc::sigaction = std::mem::zeroed();
        action.sa_sigaction = handler as *const () as usize;
        action.sa_flags = libc::SA_SIGINFO | flags;
        let mut before = MaybeUninit::<libc::sigaction>::zeroed();
        assert_eq!(libc::sigaction(signal, &action, before.as_mut_ptr()), 0);
        before.assume_init()
    }
}

/// Blocks all signals on the calling thread.
pub fn block_all_signals() {
    set_mask(true);
}

/// Lets all signals in on the calling thread.
pub fn unblock_all_signals() {
    set_mask(false);
}

fn set_mask(full: bool) {
    // SAFETY: the set is ours, and only this thread's mask changes.
    unsafe {
        let mut set: libc::sigset_t = std::mem::zeroed();
        if full {
            libc::sigfillset(&raw mut set);
        }
        let done = libc::pthread_sigmask(libc::SIG_SETMASK, &raw const set, std::ptr::null_mut());
        assert_eq!(done, 0);
    }
}

/// Sets both limits of a resource.
pub fn limit(resource: libc::__rlimit_resource_t, to: u64) {
    let limit = libc::rlimit {
        rlim_cur: to,
        rlim_max: to,
    };
    // SAFETY: the structure is ours and only read.
    let done = unsafe { libc::setrlimit(resource, &raw const limit) };
    assert_eq!(done, 0, "setrlimit: {}", std::io::Error::last_os_error());
}

/// Waits for a child; returns its exit code, or the negated signal that ended it.
pub fn wait_for(pid: libc::pid_t) -> i32 {
    let mut status = 0;
    loop {
        // SAFETY: the status is ours to be written.
        let done = unsafe { libc::waitpid(pid, &raw mut status, 0) };
        if done == pid {
            break;
        }
        let error = std::io::Error::last_os_error();
        assert_eq!(error.kind(), std::io::ErrorKind::Interrupted, "{error}");
    }
    if libc::WIFSIGNALED(status) {
        -libc::WTERMSIG(status)
    } else {
        libc::WEXITSTATUS(status)
    }
}

/// The number of descriptors that this process has open.
pub fn open_descriptors() -> usize {
    // The listing itself holds one.
    std::fs::read_dir("/proc/self/fd").map_or(0, |list| list.count() - 1)
}

/// A line of `/proc/self/status` as a number.
pub fn status(name: &str) -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status.lines().find_map(|line| line.strip_prefix(name));
    let number = line.and_then(|rest| rest.trim_start_matches(':').split_whitespace().next());
    number.and_then(|text| text.parse().ok()).unwrap_or(0)
}

/// Makes a system call fail with an error from now on, in this process and its children.
pub fn refuse(call: libc::c_long, errno: u32) {
    let statement = |code: u32, jt: u8, jf: u8, k: u32| libc::sock_filter {
        code: code as u16,
        jt,
        jf,
        k,
    };
    let load = libc::BPF_LD | libc::BPF_W | libc::BPF_ABS;
    let equal = libc::BPF_JMP | libc::BPF_JEQ | libc::BPF_K;
    let answer = libc::BPF_RET | libc::BPF_K;
    let mut filter = [
        // The number of the call is the first member of what a filter sees.
        statement(load, 0, 0, 0),
        statement(equal, 0, 1, call as u32),
        statement(answer, 0, 0, libc::SECCOMP_RET_ERRNO | errno),
        statement(answer, 0, 0, libc::SECCOMP_RET_ALLOW),
    ];
    let program = libc::sock_fprog {
        len: filter.len() as u16,
        filter: filter.as_mut_ptr(),
    };
    // SAFETY: the program is well formed, and the kernel copies it.
    unsafe {
        assert_eq!(libc::prctl(libc::PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0), 0);
        let done = libc::prctl(
            libc::PR_SET_SECCOMP,
            libc::SECCOMP_MODE_FILTER,
            &raw const program,
        );
        assert_eq!(done, 0, "{}", std::io::Error::last_os_error());
    }
}

/// The number of this process's timers; 0 if the kernel does not list them.
pub fn timers() -> usize {
    let timers = std::fs::read_to_string("/proc/self/timers").unwrap_or_default();
    timers
        .lines()
        .filter(|line| line.starts_with("ID:"))
        .count()
}
