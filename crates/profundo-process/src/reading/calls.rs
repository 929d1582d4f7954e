//! The names of system calls that may take long, beside those that have a kind of their own.

/// The name of a call, if it is one of them.
pub fn name(call: i64) -> Option<&'static str> {
    let of = |calls: &[(i64, &'static str)]| {
        let found = calls.iter().find(|(number, _)| *number == call);
        found.map(|(_, name)| *name)
    };
    of(&EVERYWHERE).or_else(|| of(&OLD))
}

const EVERYWHERE: [(i64, &str); 38] = [
    (libc::SYS_clone, "clone"),
    (libc::SYS_clone3, "clone3"),
    (libc::SYS_close, "close"),
    (libc::SYS_execve, "execve"),
    (libc::SYS_exit_group, "exit_group"),
    (libc::SYS_fallocate, "fallocate"),
    (libc::SYS_ftruncate, "ftruncate"),
    (libc::SYS_getrandom, "getrandom"),
    (libc::SYS_ioctl, "ioctl"),
    (libc::SYS_linkat, "linkat"),
    (libc::SYS_lseek, "lseek"),
    (libc::SYS_madvise, "madvise"),
    (libc::SYS_membarrier, "membarrier"),
    (libc::SYS_mkdirat, "mkdirat"),
    (libc::SYS_mlock, "mlock"),
    (libc::SYS_mmap, "mmap"),
    (libc::SYS_mount, "mount"),
    (libc::SYS_mprotect, "mprotect"),
    (libc::SYS_mq_timedreceive, "mq_timedreceive"),
    (libc::SYS_mq_timedsend, "mq_timedsend"),
    (libc::SYS_msgrcv, "msgrcv"),
    (libc::SYS_msgsnd, "msgsnd"),
    (libc::SYS_msync, "msync"),
    (libc::SYS_munmap, "munmap"),
    (libc::SYS_newfstatat, "newfstatat"),
    (libc::SYS_openat, "openat"),
    (libc::SYS_ptrace, "ptrace"),
    (libc::SYS_renameat2, "renameat2"),
    (libc::SYS_sched_yield, "sched_yield"),
    (libc::SYS_semop, "semop"),
    (libc::SYS_semtimedop, "semtimedop"),
    (libc::SYS_statx, "statx"),
    (libc::SYS_sync, "sync"),
    (libc::SYS_syncfs, "syncfs"),
    (libc::SYS_truncate, "truncate"),
    (libc::SYS_umount2, "umount2"),
    (libc::SYS_unlinkat, "unlinkat"),
    (libc::SYS_wait4, "wait4"),
];

#[cfg(target_arch = "x86_64")]
const OLD: [(i64, &str); 12] = [
    (libc::SYS_fork, "fork"),
    (libc::SYS_fstat, "fstat"),
    (libc::SYS_link, "link"),
    (libc::SYS_lstat, "lstat"),
    (libc::SYS_mkdir, "mkdir"),
    (libc::SYS_open, "open"),
    (libc::SYS_rename, "rename"),
    (libc::SYS_rmdir, "rmdir"),
    (libc::SYS_stat, "stat"),
    (libc::SYS_symlink, "symlink"),
    (libc::SYS_unlink, "unlink"),
    (libc::SYS_vfork, "vfork"),
];

#[cfg(not(target_arch = "x86_64"))]
const OLD: [(i64, &str); 0] = [];
