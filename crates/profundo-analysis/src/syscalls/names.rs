//! The names of system calls, and those that C libraries have for them. A function of the C library
//! by another name is no call: `memcpy` is in the kernel only for a page fault.

/// Whether a function's bare name is that of a system call.
pub(super) fn is_call(name: &str) -> bool {
    CALLS.binary_search(&name).is_ok()
}

/// The calls by which a C library's function of this name is carried out, if there are others than
/// the one of its name. Which one it is depends on the library and the machine.
pub(super) fn calls_of(name: &str) -> &'static [&'static str] {
    match CARRIED_OUT_BY.binary_search_by_key(&name, |(name, _)| name) {
        Ok(at) => CARRIED_OUT_BY[at].1,
        Err(_) => &[],
    }
}

/// In the order of the alphabet.
#[rustfmt::skip]
const CARRIED_OUT_BY: [(&str, &[&str]); 68] = [
    ("accept", &["accept4"]),
    ("access", &["faccessat", "faccessat2"]),
    ("chmod", &["fchmodat", "fchmodat2"]),
    ("chown", &["fchownat"]),
    ("creat", &["openat", "open"]),
    ("dup2", &["dup3"]),
    ("epoll_create", &["epoll_create1"]),
    ("epoll_wait", &["epoll_pwait"]),
    ("eventfd", &["eventfd2"]),
    ("fork", &["clone"]),
    ("fstat", &["newfstatat"]),
    ("fstat64", &["fstat", "newfstatat"]),
    ("fstatat", &["newfstatat"]),
    ("fstatat64", &["newfstatat"]),
    ("ftruncate64", &["ftruncate"]),
    ("futimesat", &["utimensat"]),
    ("fxstat", &["fstat", "newfstatat"]),
    ("getdents", &["getdents64"]),
    ("getrlimit", &["prlimit64"]),
    ("inotify_init", &["inotify_init1"]),
    ("lchown", &["fchownat"]),
    ("link", &["linkat"]),
    ("lseek64", &["lseek"]),
    ("lstat", &["newfstatat"]),
    ("lstat64", &["lstat", "newfstatat"]),
    ("lxstat", &["lstat", "newfstatat"]),
    ("mkdir", &["mkdirat"]),
    ("mknod", &["mknodat"]),
    ("mmap64", &["mmap"]),
    ("nanosleep", &["clock_nanosleep"]),
    ("open", &["openat"]),
    ("open64", &["openat", "open"]),
    ("openat64", &["openat"]),
    ("pause", &["ppoll"]),
    ("pipe", &["pipe2"]),
    ("poll", &["ppoll"]),
    ("posix_fadvise", &["fadvise64"]),
    ("posix_fallocate", &["fallocate"]),
    ("pread", &["pread64"]),
    ("preadv64", &["preadv"]),
    ("preadv64v2", &["preadv2"]),
    ("pwrite", &["pwrite64"]),
    ("pwritev64", &["pwritev"]),
    ("pwritev64v2", &["pwritev2"]),
    ("readlink", &["readlinkat"]),
    ("recv", &["recvfrom"]),
    ("rename", &["renameat", "renameat2"]),
    ("rmdir", &["unlinkat"]),
    ("select", &["pselect6"]),
    ("send", &["sendto"]),
    ("sendfile64", &["sendfile"]),
    ("setrlimit", &["prlimit64"]),
    ("signalfd", &["signalfd4"]),
    ("sigsuspend", &["rt_sigsuspend"]),
    ("sigtimedwait", &["rt_sigtimedwait"]),
    ("sleep", &["clock_nanosleep", "nanosleep"]),
    ("stat", &["newfstatat"]),
    ("stat64", &["stat", "newfstatat"]),
    ("symlink", &["symlinkat"]),
    ("truncate64", &["truncate"]),
    ("unlink", &["unlinkat"]),
    ("usleep", &["clock_nanosleep", "nanosleep"]),
    ("utime", &["utimensat"]),
    ("utimes", &["utimensat"]),
    ("vfork", &["clone"]),
    ("wait", &["wait4"]),
    ("waitpid", &["wait4"]),
    ("xstat", &["stat", "newfstatat"]),
];

/// In the order of the alphabet.
#[rustfmt::skip]
const CALLS: [&str; 389] = [
    "_sysctl", "accept", "accept4", "access", "acct", "add_key", "adjtimex", "alarm",
    "arch_prctl", "bind", "bpf", "brk", "capget", "capset", "chdir", "chmod", "chown", "chroot",
    "clock_adjtime", "clock_getres", "clock_gettime", "clock_nanosleep", "clock_settime", "clone",
    "clone3", "close", "close_range", "connect", "copy_file_range", "creat", "create_module",
    "delete_module", "dup", "dup2", "dup3", "epoll_create", "epoll_create1", "epoll_ctl",
    "epoll_ctl_old", "epoll_pwait", "epoll_pwait2", "epoll_wait", "epoll_wait_old", "eventfd",
    "eventfd2", "execve", "execveat", "exit", "exit_group", "faccessat", "faccessat2",
    "fadvise64", "fallocate", "fanotify_init", "fanotify_mark", "fchdir", "fchmod", "fchmodat",
    "fchmodat2", "fchown", "fchownat", "fcntl", "fdatasync", "fgetxattr", "finit_module",
    "flistxattr", "flock", "fork", "fremovexattr", "fsconfig", "fsetxattr", "fsmount", "fsopen",
    "fspick", "fstat", "fstat64", "fstatat", "fstatat64", "fstatfs", "fsync", "ftruncate",
    "ftruncate64", "futex", "futex_waitv", "futimesat", "fxstat", "get_kernel_syms",
    "get_mempolicy", "get_robust_list", "get_thread_area", "getcpu", "getcwd", "getdents",
    "getdents64", "getegid", "geteuid", "getgid", "getgroups", "getitimer", "getpeername",
    "getpgid", "getpgrp", "getpid", "getpmsg", "getppid", "getpriority", "getrandom", "getresgid",
    "getresuid", "getrlimit", "getrusage", "getsid", "getsockname", "getsockopt", "gettid",
    "gettimeofday", "getuid", "getxattr", "init_module", "inotify_add_watch", "inotify_init",
    "inotify_init1", "inotify_rm_watch", "io_cancel", "io_destroy", "io_getevents", "io_setup",
    "io_submit", "io_uring_enter", "io_uring_register", "io_uring_setup", "ioctl", "ioperm",
    "iopl", "ioprio_get", "ioprio_set", "kcmp", "kexec_file_load", "kexec_load", "keyctl", "kill",
    "landlock_add_rule", "landlock_create_ruleset", "landlock_restrict_self", "lchown",
    "lgetxattr", "link", "linkat", "listen", "listxattr", "llistxattr", "lookup_dcookie",
    "lremovexattr", "lseek", "lseek64", "lsetxattr", "lstat", "lstat64", "lxstat", "madvise",
    "mbind", "membarrier", "memfd_create", "memfd_secret", "migrate_pages", "mincore", "mkdir",
    "mkdirat", "mknod", "mknodat", "mlock", "mlock2", "mlockall", "mmap", "mmap64", "modify_ldt",
    "mount", "mount_setattr", "move_mount", "move_pages", "mprotect", "mq_getsetattr",
    "mq_notify", "mq_open", "mq_timedreceive", "mq_timedsend", "mq_unlink", "mremap", "mseal",
    "msgctl", "msgget", "msgrcv", "msgsnd", "msync", "munlock", "munlockall", "munmap",
    "name_to_handle_at", "nanosleep", "newfstatat", "nfsservctl", "open", "open64",
    "open_by_handle_at", "open_tree", "openat", "openat2", "openat64", "pause", "perf_event_open",
    "personality", "pidfd_getfd", "pidfd_open", "pidfd_send_signal", "pipe", "pipe2",
    "pivot_root", "pkey_alloc", "pkey_free", "pkey_mprotect", "poll", "posix_fadvise",
    "posix_fallocate", "ppoll", "prctl", "pread", "pread64", "preadv", "preadv2", "preadv64",
    "preadv64v2", "prlimit64", "process_madvise", "process_mrelease", "process_vm_readv",
    "process_vm_writev", "pselect6", "ptrace", "putpmsg", "pwrite", "pwrite64", "pwritev",
    "pwritev2", "pwritev64", "pwritev64v2", "query_module", "quotactl", "quotactl_fd", "read",
    "readahead", "readlink", "readlinkat", "readv", "reboot", "recv", "recvfrom", "recvmmsg",
    "recvmsg", "remap_file_pages", "removexattr", "rename", "renameat", "renameat2",
    "request_key", "restart_syscall", "rmdir", "rseq", "rt_sigaction", "rt_sigpending",
    "rt_sigprocmask", "rt_sigqueueinfo", "rt_sigreturn", "rt_sigsuspend", "rt_sigtimedwait",
    "rt_tgsigqueueinfo", "sched_get_priority_max", "sched_get_priority_min", "sched_getaffinity",
    "sched_getattr", "sched_getparam", "sched_getscheduler", "sched_rr_get_interval",
    "sched_setaffinity", "sched_setattr", "sched_setparam", "sched_setscheduler", "sched_yield",
    "seccomp", "select", "semctl", "semget", "semop", "semtimedop", "send", "sendfile",
    "sendfile64", "sendmmsg", "sendmsg", "sendto", "set_mempolicy", "set_mempolicy_home_node",
    "set_robust_list", "set_thread_area", "set_tid_address", "setdomainname", "setfsgid",
    "setfsuid", "setgid", "setgroups", "sethostname", "setitimer", "setns", "setpgid",
    "setpriority", "setregid", "setresgid", "setresuid", "setreuid", "setrlimit", "setsid",
    "setsockopt", "settimeofday", "setuid", "setxattr", "shmat", "shmctl", "shmdt", "shmget",
    "shutdown", "sigaltstack", "signalfd", "signalfd4", "sigsuspend", "sigtimedwait", "sleep",
    "socket", "socketpair", "splice", "stat", "stat64", "statfs", "statx", "swapoff", "swapon",
    "symlink", "symlinkat", "sync", "sync_file_range", "syncfs", "sysfs", "sysinfo", "syslog",
    "tee", "tgkill", "time", "timer_create", "timer_delete", "timer_getoverrun", "timer_gettime",
    "timer_settime", "timerfd_create", "timerfd_gettime", "timerfd_settime", "times", "tkill",
    "truncate", "truncate64", "umask", "umount2", "uname", "unlink", "unlinkat", "unshare",
    "userfaultfd", "usleep", "ustat", "utime", "utimensat", "utimes", "vfork", "vhangup",
    "vmsplice", "wait", "wait4", "waitid", "waitpid", "write", "writev", "xstat",
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_found() {
        assert!(CALLS.is_sorted());
        for name in ["read", "openat", "futex", "pread", "write"] {
            assert!(is_call(name), "{name}");
        }
        assert!(CARRIED_OUT_BY.is_sorted_by_key(|(name, _)| name));
        let made = CARRIED_OUT_BY.iter().flat_map(|(_, calls)| calls.iter());
        assert!(made.into_iter().all(|call| is_call(call)));
        assert_eq!(calls_of("waitpid"), ["wait4"]);
        assert!(calls_of("read").is_empty());
        assert!(!is_call("memcpy") && !is_call("malloc") && !is_call(""));
    }
}
