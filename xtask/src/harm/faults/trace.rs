//! What `strace` writes: a line for each call, and with `-k` its stack below it.

/// Calls that cannot fail, or that end or begin the process. `close` closes in any case, `brk`
/// returns no error, and a `futex` that wakes cannot be told from one that waits, so that a failure
/// of them by `strace` is none of the kernel's.
const UNFAILING: &[&str] = &[
    "arch_prctl",
    "brk",
    "clock_gettime",
    "close",
    "execve",
    "exit",
    "exit_group",
    "futex",
    "getegid",
    "geteuid",
    "getgid",
    "getpid",
    "getppid",
    "gettid",
    "getuid",
    "munmap",
    "rseq",
    "rt_sigprocmask",
    "rt_sigreturn",
    "sched_yield",
    "set_robust_list",
    "set_tid_address",
    "restart_syscall",
];

/// Calls that fail by few of the errors: those of the kernel's own documentation.
const SELDOM: &[(&str, &[&str])] = &[
    ("clock_nanosleep", &["EINTR"]),
    ("getrandom", &["EINTR", "EPERM"]),
    ("kill", &["EPERM"]),
    ("wait4", &["EINTR"]),
    ("waitid", &["EINTR"]),
];

/// True if a call can fail by this error.
pub fn fails_by(call: &str, error: &str) -> bool {
    let seldom = SELDOM.iter().find(|(name, _)| *name == call);
    seldom.is_none_or(|(_, errors)| errors.contains(&error))
}

/// A call in a trace.
#[derive(Debug, PartialEq, Eq)]
pub struct Call {
    pub name: String,
    /// The number among the calls of this name, from one on.
    pub number: usize,
    /// A frame of its stack is in the agent.
    pub is_agents: bool,
}

impl Call {
    /// True if the call may fail, so that a failure is worth a try.
    pub fn may_fail(&self) -> bool {
        !UNFAILING.contains(&self.name.as_str())
    }
}

/// The calls of a trace, in their order.
pub fn calls(trace: &str) -> Vec<Call> {
    let mut calls: Vec<Call> = Vec::new();
    let mut counts = std::collections::HashMap::new();
    for line in trace.lines() {
        if let Some(frame) = line.strip_prefix(" > ") {
            if let Some(last) = calls.last_mut() {
                last.is_agents |= frame.contains("libprofundo-agent");
            }
            continue;
        }
        let Some((name, _)) = line.split_once('(') else {
            continue;
        };
        let is_name = |c: char| c.is_ascii_alphanumeric() || c == '_';
        if name.is_empty() || !name.chars().all(is_name) {
            continue;
        }
        let number = counts.entry(name.to_owned()).or_insert(0);
        *number += 1;
        calls.push(Call {
            name: name.to_owned(),
            number: *number,
            is_agents: false,
        });
    }
    calls
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn calls_are_counted_by_name_and_belong_to_whose_stack_it_is() {
        let trace = "openat(AT_FDCWD, \"a(b\") = 3\n > /lib/ld.so(f+0x1) [0x2]\n\
                     --- SIGURG {si_signo=SIGURG} ---\nread(3, \"\", 1) = 0\n\
                     openat(AT_FDCWD, \"c\") = 3\n > /x/libprofundo-agent-1.so(g+0x1) [0x2]\n";
        let calls = calls(trace);
        let told: Vec<_> = calls
            .iter()
            .map(|call| (call.name.as_str(), call.number, call.is_agents))
            .collect();
        assert_eq!(
            told,
            [
                ("openat", 1, false),
                ("read", 1, false),
                ("openat", 2, true)
            ]
        );
        assert!(calls[0].may_fail());
    }
}
