//! The functions that ours interpose: the next definition of each name in the order of loading.
//!
//! They are looked up all at once when the agent starts: in the child of a fork, the loader's lock
//! may be held for ever by a thread that does not exist there. A call before the start (from the
//! constructor of another library) looks them up itself.

use core::ffi::{c_char, c_int, c_long, c_uint, c_ulong, c_void};

use libc::{
    epoll_event, fd_set, pid_t, pollfd, posix_spawn_file_actions_t, posix_spawnattr_t,
    pthread_attr_t, pthread_cond_t, pthread_mutex_t, pthread_t, siginfo_t, sigset_t, timespec,
};

use crate::following::functions;

/// The list of arguments, or of variables, of a program.
pub type Strings = *const *const c_char;
/// A function that jumps back to where `setjmp` was called.
pub type Jump = unsafe extern "C-unwind" fn(*const c_ulong, c_int) -> !;
/// The start function of a thread.
pub type ThreadFunction = unsafe extern "C" fn(*mut c_void) -> *mut c_void;
/// The start function of a C11 thread.
pub type ThrdFunction = unsafe extern "C" fn(*mut c_void) -> c_int;
/// A handler as `signal` takes it.
pub type Handler = usize;

functions! {
    execve: fn(*const c_char, Strings, Strings) -> c_int;
    execvpe: fn(*const c_char, Strings, Strings) -> c_int;
    fexecve: fn(c_int, Strings, Strings) -> c_int;
    execveat: fn(c_int, *const c_char, Strings, Strings, c_int) -> c_int;
    posix_spawn: fn(*mut pid_t, *const c_char, *const posix_spawn_file_actions_t, *const posix_spawnattr_t, Strings, Strings) -> c_int;
    posix_spawnp: fn(*mut pid_t, *const c_char, *const posix_spawn_file_actions_t, *const posix_spawnattr_t, Strings, Strings) -> c_int;
    pidfd_spawn: fn(*mut c_int, *const c_char, *const posix_spawn_file_actions_t, *const posix_spawnattr_t, Strings, Strings) -> c_int;
    pidfd_spawnp: fn(*mut c_int, *const c_char, *const posix_spawn_file_actions_t, *const posix_spawnattr_t, Strings, Strings) -> c_int;
    system: fn(*const c_char) -> c_int;
    popen: fn(*const c_char, *const c_char) -> *mut libc::FILE;
    pthread_create: fn(*mut pthread_t, *const pthread_attr_t, ThreadFunction, *mut c_void) -> c_int;
    thrd_create: fn(*mut pthread_t, ThrdFunction, *mut c_void) -> c_int;
    pthread_cond_wait: fn(*mut pthread_cond_t, *mut pthread_mutex_t) -> c_int;
    pthread_cond_timedwait: fn(*mut pthread_cond_t, *mut pthread_mutex_t, *const timespec) -> c_int;
    pthread_cond_clockwait: fn(*mut pthread_cond_t, *mut pthread_mutex_t, libc::clockid_t, *const timespec) -> c_int;
    _exit: fn(c_int) -> !;
    quick_exit: fn(c_int) -> !;
    longjmp: fn(*const c_ulong, c_int) -> !;
    __longjmp_chk: fn(*const c_ulong, c_int) -> !;
    mcount: fn() -> ();
    __fentry__: fn() -> ();
    open: fn(*const c_char, c_int, c_uint) -> c_int;
    open64 or open: fn(*const c_char, c_int, c_uint) -> c_int;
    sigaction: fn(c_int, *const libc::sigaction, *mut libc::sigaction) -> c_int;
    signal: fn(c_int, Handler) -> Handler;
    sysv_signal: fn(c_int, Handler) -> Handler;
    sigset: fn(c_int, Handler) -> Handler;
    sigignore: fn(c_int) -> c_int;
    siginterrupt: fn(c_int, c_int) -> c_int;
    sigwaitinfo: fn(*const sigset_t, *mut siginfo_t) -> c_int;
    sigtimedwait: fn(*const sigset_t, *mut siginfo_t, *const timespec) -> c_int;
    sigsuspend: fn(*const sigset_t) -> c_int;
    sigpending: fn(*mut sigset_t) -> c_int;
    sigprocmask: fn(c_int, *const sigset_t, *mut sigset_t) -> c_int;
    pthread_sigmask: fn(c_int, *const sigset_t, *mut sigset_t) -> c_int;
    ppoll: fn(*mut pollfd, libc::nfds_t, *const timespec, *const sigset_t) -> c_int;
    __ppoll_chk: fn(*mut pollfd, libc::nfds_t, *const timespec, *const sigset_t, usize) -> c_int;
    pselect: fn(c_int, *mut fd_set, *mut fd_set, *mut fd_set, *const timespec, *const sigset_t) -> c_int;
    epoll_pwait: fn(c_int, *mut epoll_event, c_int, c_int, *const sigset_t) -> c_int;
    epoll_pwait2: fn(c_int, *mut epoll_event, c_int, *const timespec, *const sigset_t) -> c_int;
    signalfd: fn(c_int, *const sigset_t, c_int) -> c_int;
    _pthread_cleanup_push: fn(*mut c_void, unsafe extern "C" fn(*mut c_void), *mut c_void) -> ();
    _pthread_cleanup_pop: fn(*mut c_void, c_int) -> ();
    on_exit: fn(unsafe extern "C" fn(c_int, *mut c_void), *mut c_void) -> c_int;
    prctl: fn(c_int, c_ulong, c_ulong, c_ulong, c_ulong) -> c_int;
    syscall: fn(c_long) -> c_long;
    ptrace: fn(c_uint, pid_t, *mut c_void, *mut c_void) -> c_long;
    waitpid: fn(pid_t, *mut c_int, c_int) -> pid_t;
    kill: fn(pid_t, c_int) -> c_int;
    pthread_attr_getstack: fn(*const pthread_attr_t, *mut *mut c_void, *mut usize) -> c_int;
    pthread_attr_getstacksize: fn(*const pthread_attr_t, *mut usize) -> c_int;
    pthread_attr_setstacksize: fn(*mut pthread_attr_t, usize) -> c_int;
    pthread_key_create: fn(*mut c_uint, Option<unsafe extern "C" fn(*mut c_void)>) -> c_int;
    pthread_setspecific: fn(c_uint, *const c_void) -> c_int;
    dlopen: fn(*const c_char, c_int) -> *mut c_void;
    dlmopen: fn(c_long, *const c_char, c_int) -> *mut c_void;
    dlsym: fn(*mut c_void, *const c_char) -> *mut c_void;
    dlvsym: fn(*mut c_void, *const c_char, *const c_char) -> *mut c_void;
    __register_atfork: fn(*mut c_void, *mut c_void, *mut c_void, *mut c_void) -> c_int;
    pthread_atfork: fn(*mut c_void, *mut c_void, *mut c_void) -> c_int;
    __cxa_atexit: fn(unsafe extern "C" fn(*mut c_void), *mut c_void, *mut c_void) -> c_int;
    __dls3: fn() -> ();
}

/// Sets `errno`.
pub fn set_errno(error: c_int) {
    // SAFETY: libc's own place for it, the calling thread's.
    unsafe { *libc::__errno_location() = error };
}

/// The value of `errno`.
pub fn errno() -> c_int {
    // SAFETY: as above.
    unsafe { *libc::__errno_location() }
}

/// Fails, for a function that the C library does not have.
pub fn missing() -> c_int {
    set_errno(libc::ENOSYS);
    -1
}
