//! The names of this machine's system calls, by their numbers.

use std::borrow::Cow;
use std::collections::HashMap;
use std::sync::OnceLock;

use libc::c_long;

/// The name of the call with this number; of an unknown one, the number.
pub fn syscall_name(number: i64) -> Cow<'static, str> {
    static NAMES: OnceLock<HashMap<c_long, &'static str>> = OnceLock::new();
    let names = NAMES.get_or_init(|| COMMON.iter().chain(&OWN).copied().collect());
    match names.get(&number) {
        Some(name) => Cow::Borrowed(name),
        None => Cow::Owned(format!("syscall {number}")),
    }
}

/// On all machines.
#[rustfmt::skip]
const COMMON: [(c_long, &str); 301] = [
    (libc::SYS_accept, "accept"), (libc::SYS_accept4, "accept4"), (libc::SYS_acct, "acct"),
    (libc::SYS_add_key, "add_key"), (libc::SYS_adjtimex, "adjtimex"), (libc::SYS_bind, "bind"),
    (libc::SYS_bpf, "bpf"), (libc::SYS_brk, "brk"), (libc::SYS_capget, "capget"),
    (libc::SYS_capset, "capset"), (libc::SYS_chdir, "chdir"), (libc::SYS_chroot, "chroot"),
    (libc::SYS_clock_adjtime, "clock_adjtime"), (libc::SYS_clock_getres, "clock_getres"),
    (libc::SYS_clock_gettime, "clock_gettime"), (libc::SYS_clock_nanosleep, "clock_nanosleep"),
    (libc::SYS_clock_settime, "clock_settime"), (libc::SYS_clone, "clone"),
    (libc::SYS_clone3, "clone3"), (libc::SYS_close, "close"),
    (libc::SYS_close_range, "close_range"), (libc::SYS_connect, "connect"),
    (libc::SYS_copy_file_range, "copy_file_range"), (libc::SYS_delete_module, "delete_module"),
    (libc::SYS_dup, "dup"), (libc::SYS_dup3, "dup3"), (libc::SYS_epoll_create1, "epoll_create1"),
    (libc::SYS_epoll_ctl, "epoll_ctl"), (libc::SYS_epoll_pwait, "epoll_pwait"),
    (libc::SYS_epoll_pwait2, "epoll_pwait2"), (libc::SYS_eventfd2, "eventfd2"),
    (libc::SYS_execve, "execve"), (libc::SYS_execveat, "execveat"), (libc::SYS_exit, "exit"),
    (libc::SYS_exit_group, "exit_group"), (libc::SYS_faccessat, "faccessat"),
    (libc::SYS_faccessat2, "faccessat2"), (libc::SYS_fadvise64, "fadvise64"),
    (libc::SYS_fallocate, "fallocate"), (libc::SYS_fanotify_init, "fanotify_init"),
    (libc::SYS_fanotify_mark, "fanotify_mark"), (libc::SYS_fchdir, "fchdir"),
    (libc::SYS_fchmod, "fchmod"), (libc::SYS_fchmodat, "fchmodat"), (libc::SYS_fchown, "fchown"),
    (libc::SYS_fchownat, "fchownat"), (libc::SYS_fcntl, "fcntl"),
    (libc::SYS_fdatasync, "fdatasync"), (libc::SYS_fgetxattr, "fgetxattr"),
    (libc::SYS_finit_module, "finit_module"), (libc::SYS_flistxattr, "flistxattr"),
    (libc::SYS_flock, "flock"), (libc::SYS_fremovexattr, "fremovexattr"),
    (libc::SYS_fsconfig, "fsconfig"), (libc::SYS_fsetxattr, "fsetxattr"),
    (libc::SYS_fsmount, "fsmount"), (libc::SYS_fsopen, "fsopen"), (libc::SYS_fspick, "fspick"),
    (libc::SYS_fstat, "fstat"), (libc::SYS_fstatfs, "fstatfs"), (libc::SYS_fsync, "fsync"),
    (libc::SYS_ftruncate, "ftruncate"), (libc::SYS_futex, "futex"),
    (libc::SYS_futex_waitv, "futex_waitv"), (libc::SYS_get_mempolicy, "get_mempolicy"),
    (libc::SYS_get_robust_list, "get_robust_list"), (libc::SYS_getcpu, "getcpu"),
    (libc::SYS_getcwd, "getcwd"), (libc::SYS_getdents64, "getdents64"),
    (libc::SYS_getegid, "getegid"), (libc::SYS_geteuid, "geteuid"), (libc::SYS_getgid, "getgid"),
    (libc::SYS_getgroups, "getgroups"), (libc::SYS_getitimer, "getitimer"),
    (libc::SYS_getpeername, "getpeername"), (libc::SYS_getpgid, "getpgid"),
    (libc::SYS_getpid, "getpid"), (libc::SYS_getppid, "getppid"),
    (libc::SYS_getpriority, "getpriority"), (libc::SYS_getrandom, "getrandom"),
    (libc::SYS_getresgid, "getresgid"), (libc::SYS_getresuid, "getresuid"),
    (libc::SYS_getrusage, "getrusage"), (libc::SYS_getsid, "getsid"),
    (libc::SYS_getsockname, "getsockname"), (libc::SYS_getsockopt, "getsockopt"),
    (libc::SYS_gettid, "gettid"), (libc::SYS_gettimeofday, "gettimeofday"),
    (libc::SYS_getuid, "getuid"), (libc::SYS_getxattr, "getxattr"),
    (libc::SYS_init_module, "init_module"), (libc::SYS_inotify_add_watch, "inotify_add_watch"),
    (libc::SYS_inotify_init1, "inotify_init1"), (libc::SYS_inotify_rm_watch, "inotify_rm_watch"),
    (libc::SYS_io_cancel, "io_cancel"), (libc::SYS_io_destroy, "io_destroy"),
    (libc::SYS_io_getevents, "io_getevents"), (libc::SYS_io_setup, "io_setup"),
    (libc::SYS_io_submit, "io_submit"), (libc::SYS_io_uring_enter, "io_uring_enter"),
    (libc::SYS_io_uring_register, "io_uring_register"),
    (libc::SYS_io_uring_setup, "io_uring_setup"), (libc::SYS_ioctl, "ioctl"),
    (libc::SYS_ioprio_get, "ioprio_get"), (libc::SYS_ioprio_set, "ioprio_set"),
    (libc::SYS_kcmp, "kcmp"), (libc::SYS_kexec_load, "kexec_load"), (libc::SYS_keyctl, "keyctl"),
    (libc::SYS_kill, "kill"), (libc::SYS_landlock_add_rule, "landlock_add_rule"),
    (libc::SYS_landlock_create_ruleset, "landlock_create_ruleset"),
    (libc::SYS_landlock_restrict_self, "landlock_restrict_self"),
    (libc::SYS_lgetxattr, "lgetxattr"), (libc::SYS_linkat, "linkat"), (libc::SYS_listen, "listen"),
    (libc::SYS_listxattr, "listxattr"), (libc::SYS_llistxattr, "llistxattr"),
    (libc::SYS_lookup_dcookie, "lookup_dcookie"), (libc::SYS_lremovexattr, "lremovexattr"),
    (libc::SYS_lseek, "lseek"), (libc::SYS_lsetxattr, "lsetxattr"), (libc::SYS_madvise, "madvise"),
    (libc::SYS_mbind, "mbind"), (libc::SYS_membarrier, "membarrier"),
    (libc::SYS_memfd_create, "memfd_create"), (libc::SYS_memfd_secret, "memfd_secret"),
    (libc::SYS_migrate_pages, "migrate_pages"), (libc::SYS_mincore, "mincore"),
    (libc::SYS_mkdirat, "mkdirat"), (libc::SYS_mknodat, "mknodat"), (libc::SYS_mlock, "mlock"),
    (libc::SYS_mlock2, "mlock2"), (libc::SYS_mlockall, "mlockall"), (libc::SYS_mmap, "mmap"),
    (libc::SYS_mount, "mount"), (libc::SYS_mount_setattr, "mount_setattr"),
    (libc::SYS_move_mount, "move_mount"), (libc::SYS_move_pages, "move_pages"),
    (libc::SYS_mprotect, "mprotect"), (libc::SYS_mq_getsetattr, "mq_getsetattr"),
    (libc::SYS_mq_notify, "mq_notify"), (libc::SYS_mq_open, "mq_open"),
    (libc::SYS_mq_timedreceive, "mq_timedreceive"), (libc::SYS_mq_timedsend, "mq_timedsend"),
    (libc::SYS_mq_unlink, "mq_unlink"), (libc::SYS_mremap, "mremap"), (libc::SYS_mseal, "mseal"),
    (libc::SYS_msgctl, "msgctl"), (libc::SYS_msgget, "msgget"), (libc::SYS_msgrcv, "msgrcv"),
    (libc::SYS_msgsnd, "msgsnd"), (libc::SYS_msync, "msync"), (libc::SYS_munlock, "munlock"),
    (libc::SYS_munlockall, "munlockall"), (libc::SYS_munmap, "munmap"),
    (libc::SYS_name_to_handle_at, "name_to_handle_at"), (libc::SYS_nanosleep, "nanosleep"),
    (libc::SYS_newfstatat, "newfstatat"), (libc::SYS_nfsservctl, "nfsservctl"),
    (libc::SYS_open_by_handle_at, "open_by_handle_at"), (libc::SYS_open_tree, "open_tree"),
    (libc::SYS_openat, "openat"), (libc::SYS_openat2, "openat2"),
    (libc::SYS_perf_event_open, "perf_event_open"), (libc::SYS_personality, "personality"),
    (libc::SYS_pidfd_getfd, "pidfd_getfd"), (libc::SYS_pidfd_open, "pidfd_open"),
    (libc::SYS_pidfd_send_signal, "pidfd_send_signal"), (libc::SYS_pipe2, "pipe2"),
    (libc::SYS_pivot_root, "pivot_root"), (libc::SYS_pkey_alloc, "pkey_alloc"),
    (libc::SYS_pkey_free, "pkey_free"), (libc::SYS_pkey_mprotect, "pkey_mprotect"),
    (libc::SYS_ppoll, "ppoll"), (libc::SYS_prctl, "prctl"), (libc::SYS_pread64, "pread64"),
    (libc::SYS_preadv, "preadv"), (libc::SYS_preadv2, "preadv2"),
    (libc::SYS_prlimit64, "prlimit64"), (libc::SYS_process_madvise, "process_madvise"),
    (libc::SYS_process_mrelease, "process_mrelease"),
    (libc::SYS_process_vm_readv, "process_vm_readv"),
    (libc::SYS_process_vm_writev, "process_vm_writev"), (libc::SYS_pselect6, "pselect6"),
    (libc::SYS_ptrace, "ptrace"), (libc::SYS_pwrite64, "pwrite64"), (libc::SYS_pwritev, "pwritev"),
    (libc::SYS_pwritev2, "pwritev2"), (libc::SYS_quotactl, "quotactl"),
    (libc::SYS_quotactl_fd, "quotactl_fd"), (libc::SYS_read, "read"),
    (libc::SYS_readahead, "readahead"), (libc::SYS_readlinkat, "readlinkat"),
    (libc::SYS_readv, "readv"), (libc::SYS_reboot, "reboot"), (libc::SYS_recvfrom, "recvfrom"),
    (libc::SYS_recvmmsg, "recvmmsg"), (libc::SYS_recvmsg, "recvmsg"),
    (libc::SYS_remap_file_pages, "remap_file_pages"), (libc::SYS_removexattr, "removexattr"),
    (libc::SYS_renameat2, "renameat2"), (libc::SYS_request_key, "request_key"),
    (libc::SYS_restart_syscall, "restart_syscall"), (libc::SYS_rseq, "rseq"),
    (libc::SYS_rt_sigaction, "rt_sigaction"), (libc::SYS_rt_sigpending, "rt_sigpending"),
    (libc::SYS_rt_sigprocmask, "rt_sigprocmask"), (libc::SYS_rt_sigqueueinfo, "rt_sigqueueinfo"),
    (libc::SYS_rt_sigreturn, "rt_sigreturn"), (libc::SYS_rt_sigsuspend, "rt_sigsuspend"),
    (libc::SYS_rt_sigtimedwait, "rt_sigtimedwait"),
    (libc::SYS_rt_tgsigqueueinfo, "rt_tgsigqueueinfo"),
    (libc::SYS_sched_get_priority_max, "sched_get_priority_max"),
    (libc::SYS_sched_get_priority_min, "sched_get_priority_min"),
    (libc::SYS_sched_getaffinity, "sched_getaffinity"), (libc::SYS_sched_getattr, "sched_getattr"),
    (libc::SYS_sched_getparam, "sched_getparam"),
    (libc::SYS_sched_getscheduler, "sched_getscheduler"),
    (libc::SYS_sched_rr_get_interval, "sched_rr_get_interval"),
    (libc::SYS_sched_setaffinity, "sched_setaffinity"), (libc::SYS_sched_setattr, "sched_setattr"),
    (libc::SYS_sched_setparam, "sched_setparam"),
    (libc::SYS_sched_setscheduler, "sched_setscheduler"), (libc::SYS_sched_yield, "sched_yield"),
    (libc::SYS_seccomp, "seccomp"), (libc::SYS_semctl, "semctl"), (libc::SYS_semget, "semget"),
    (libc::SYS_semop, "semop"), (libc::SYS_semtimedop, "semtimedop"),
    (libc::SYS_sendfile, "sendfile"), (libc::SYS_sendmmsg, "sendmmsg"),
    (libc::SYS_sendmsg, "sendmsg"), (libc::SYS_sendto, "sendto"),
    (libc::SYS_set_mempolicy, "set_mempolicy"),
    (libc::SYS_set_mempolicy_home_node, "set_mempolicy_home_node"),
    (libc::SYS_set_robust_list, "set_robust_list"), (libc::SYS_set_tid_address, "set_tid_address"),
    (libc::SYS_setdomainname, "setdomainname"), (libc::SYS_setfsgid, "setfsgid"),
    (libc::SYS_setfsuid, "setfsuid"), (libc::SYS_setgid, "setgid"),
    (libc::SYS_setgroups, "setgroups"), (libc::SYS_sethostname, "sethostname"),
    (libc::SYS_setitimer, "setitimer"), (libc::SYS_setns, "setns"), (libc::SYS_setpgid, "setpgid"),
    (libc::SYS_setpriority, "setpriority"), (libc::SYS_setregid, "setregid"),
    (libc::SYS_setresgid, "setresgid"), (libc::SYS_setresuid, "setresuid"),
    (libc::SYS_setreuid, "setreuid"), (libc::SYS_setsid, "setsid"),
    (libc::SYS_setsockopt, "setsockopt"), (libc::SYS_settimeofday, "settimeofday"),
    (libc::SYS_setuid, "setuid"), (libc::SYS_setxattr, "setxattr"), (libc::SYS_shmat, "shmat"),
    (libc::SYS_shmctl, "shmctl"), (libc::SYS_shmdt, "shmdt"), (libc::SYS_shmget, "shmget"),
    (libc::SYS_shutdown, "shutdown"), (libc::SYS_sigaltstack, "sigaltstack"),
    (libc::SYS_signalfd4, "signalfd4"), (libc::SYS_socket, "socket"),
    (libc::SYS_socketpair, "socketpair"), (libc::SYS_splice, "splice"),
    (libc::SYS_statfs, "statfs"), (libc::SYS_statx, "statx"), (libc::SYS_swapoff, "swapoff"),
    (libc::SYS_swapon, "swapon"), (libc::SYS_symlinkat, "symlinkat"), (libc::SYS_sync, "sync"),
    (libc::SYS_syncfs, "syncfs"), (libc::SYS_sysinfo, "sysinfo"), (libc::SYS_syslog, "syslog"),
    (libc::SYS_tee, "tee"), (libc::SYS_tgkill, "tgkill"), (libc::SYS_timer_create, "timer_create"),
    (libc::SYS_timer_delete, "timer_delete"), (libc::SYS_timer_getoverrun, "timer_getoverrun"),
    (libc::SYS_timer_gettime, "timer_gettime"), (libc::SYS_timer_settime, "timer_settime"),
    (libc::SYS_timerfd_create, "timerfd_create"), (libc::SYS_timerfd_gettime, "timerfd_gettime"),
    (libc::SYS_timerfd_settime, "timerfd_settime"), (libc::SYS_times, "times"),
    (libc::SYS_tkill, "tkill"), (libc::SYS_truncate, "truncate"), (libc::SYS_umask, "umask"),
    (libc::SYS_umount2, "umount2"), (libc::SYS_uname, "uname"), (libc::SYS_unlinkat, "unlinkat"),
    (libc::SYS_unshare, "unshare"), (libc::SYS_userfaultfd, "userfaultfd"),
    (libc::SYS_utimensat, "utimensat"), (libc::SYS_vhangup, "vhangup"),
    (libc::SYS_vmsplice, "vmsplice"), (libc::SYS_wait4, "wait4"), (libc::SYS_waitid, "waitid"),
    (libc::SYS_write, "write"), (libc::SYS_writev, "writev"),
];

/// On this kind of machine.
#[cfg(not(target_arch = "x86_64"))]
const OWN: [(c_long, &str); 0] = [];

/// On this kind of machine.
#[cfg(target_arch = "x86_64")]
#[rustfmt::skip]
const OWN: [(c_long, &str); 58] = [
    (libc::SYS__sysctl, "_sysctl"), (libc::SYS_access, "access"),
    (libc::SYS_afs_syscall, "afs_syscall"), (libc::SYS_alarm, "alarm"),
    (libc::SYS_arch_prctl, "arch_prctl"), (libc::SYS_chmod, "chmod"), (libc::SYS_chown, "chown"),
    (libc::SYS_creat, "creat"), (libc::SYS_dup2, "dup2"), (libc::SYS_epoll_create, "epoll_create"),
    (libc::SYS_epoll_ctl_old, "epoll_ctl_old"), (libc::SYS_epoll_wait, "epoll_wait"),
    (libc::SYS_epoll_wait_old, "epoll_wait_old"), (libc::SYS_eventfd, "eventfd"),
    (libc::SYS_fchmodat2, "fchmodat2"), (libc::SYS_fork, "fork"),
    (libc::SYS_futimesat, "futimesat"), (libc::SYS_get_thread_area, "get_thread_area"),
    (libc::SYS_getdents, "getdents"), (libc::SYS_getpgrp, "getpgrp"),
    (libc::SYS_getpmsg, "getpmsg"), (libc::SYS_getrlimit, "getrlimit"),
    (libc::SYS_inotify_init, "inotify_init"), (libc::SYS_ioperm, "ioperm"),
    (libc::SYS_iopl, "iopl"), (libc::SYS_lchown, "lchown"), (libc::SYS_link, "link"),
    (libc::SYS_lstat, "lstat"), (libc::SYS_mkdir, "mkdir"), (libc::SYS_mknod, "mknod"),
    (libc::SYS_modify_ldt, "modify_ldt"), (libc::SYS_open, "open"), (libc::SYS_pause, "pause"),
    (libc::SYS_pipe, "pipe"), (libc::SYS_poll, "poll"), (libc::SYS_putpmsg, "putpmsg"),
    (libc::SYS_readlink, "readlink"), (libc::SYS_rename, "rename"),
    (libc::SYS_renameat, "renameat"), (libc::SYS_rmdir, "rmdir"), (libc::SYS_security, "security"),
    (libc::SYS_select, "select"), (libc::SYS_set_thread_area, "set_thread_area"),
    (libc::SYS_setrlimit, "setrlimit"), (libc::SYS_signalfd, "signalfd"), (libc::SYS_stat, "stat"),
    (libc::SYS_symlink, "symlink"), (libc::SYS_sync_file_range, "sync_file_range"),
    (libc::SYS_sysfs, "sysfs"), (libc::SYS_time, "time"), (libc::SYS_tuxcall, "tuxcall"),
    (libc::SYS_unlink, "unlink"), (libc::SYS_uselib, "uselib"), (libc::SYS_ustat, "ustat"),
    (libc::SYS_utime, "utime"), (libc::SYS_utimes, "utimes"), (libc::SYS_vfork, "vfork"),
    (libc::SYS_vserver, "vserver"),
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_have_names() {
        assert_eq!(syscall_name(libc::SYS_read), "read");
        assert_eq!(syscall_name(libc::SYS_futex), "futex");
        assert_eq!(syscall_name(libc::SYS_io_uring_enter), "io_uring_enter");
        assert_eq!(syscall_name(9999), "syscall 9999");
        // No two have one number.
        let mut all: Vec<_> = COMMON.iter().chain(&OWN).collect();
        all.sort_unstable();
        all.dedup_by_key(|(number, _)| *number);
        assert_eq!(all.len(), COMMON.len() + OWN.len());
    }
}
