//! The names of system calls, and those that C libraries have for them. A function of the C library
//! by another name is no call: `memcpy` is in the kernel only for a page fault.

/// Whether a function's bare name is that of a system call.
pub(super) fn is_call(name: &str) -> bool {
    CALLS.binary_search(&name).is_ok()
}

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
        assert!(!is_call("memcpy") && !is_call("malloc") && !is_call(""));
    }
}
