//! `system` and `popen`, which start a shell by functions inside the C library that cannot be
//! interposed.
//!
//! `system` is written anew over our own `posix_spawn`, as POSIX describes it. `popen` is not: its
//! streams are known to `pclose` and `fclose` alone. While it runs, which it does until the shell
//! has begun, the program's list of variables is a copy with ours at its end. Another thread that
//! reads the environment meanwhile may see them; its changes are kept.

use core::cell::UnsafeCell;
use core::ffi::{c_char, c_int, c_void};
use core::mem::{MaybeUninit, zeroed};
use core::ptr;
use core::sync::atomic::{AtomicU32, Ordering};

use libc::{FILE, pid_t};
use profundo_probe::{hidden, sys};

use crate::interpose::interpose;
use crate::interpose::spawn::posix_spawn;
use crate::loadable::Target;
use crate::lock::Lock;
use crate::next_symbols::{self, Strings, missing};
use crate::signals::actions;
use crate::{c_library, environment, session, variables};

interpose! {
    extern "C-unwind" fn system(line: *const c_char) -> c_int {
        let next = system or missing();
        match line.is_null() || session::variables().is_none() {
            true => next(line),
            false => run(line),
        }
    }

    extern "C-unwind" fn popen(line: *const c_char, mode: *const c_char) -> *mut FILE {
        let next = popen or no_stream();
        if session::variables().is_none() {
            return next(line, mode);
        }
        hold();
        let list = variables::current();
        let shell = Target::Path(c"/bin/sh".as_ptr());
        // The new list is in use only while it exists.
        let stream = environment::with_ours(shell, list, |with_ours| {
            variables::set_current(with_ours);
            let signals = actions::before_spawn();
            let stream = next(line, mode);
            actions::after_spawn(signals);
            let error = next_symbols::errno();
            put_back(list, with_ours);
            next_symbols::set_errno(error);
            stream
        });
        CHANGED.store(0, Ordering::Release);
        stream
    }
}

/// The result of a `popen` that fails.
fn no_stream() -> *mut FILE {
    missing();
    ptr::null_mut()
}

/// The program's actions for SIGINT and SIGQUIT while a thread waits for a shell: they are ignored,
/// since the user's Ctrl-C is meant for the shell.
struct Ignored {
    lock: Lock,
    count: AtomicU32,
    actions: UnsafeCell<MaybeUninit<[libc::sigaction; 2]>>,
}

// SAFETY: the actions are reached under the lock only.
unsafe impl Sync for Ignored {}

static IGNORED: Ignored = Ignored {
    lock: Lock::new(),
    count: AtomicU32::new(0),
    actions: UnsafeCell::new(MaybeUninit::uninit()),
};

const SIGNALS: [c_int; 2] = [libc::SIGINT, libc::SIGQUIT];

fn set_action(signal: c_int, new: *const libc::sigaction, old: *mut libc::sigaction) {
    if let Some(sigaction) = next_symbols::sigaction() {
        // SAFETY: each is null or valid.
        unsafe { sigaction(signal, new, old) };
    }
}

/// Ignores both; returns the program's actions.
fn ignore() -> [libc::sigaction; 2] {
    IGNORED.lock.with(|| {
        // SAFETY: zeroed is a valid action; the place is ours under the lock.
        let (mut ignore, kept): (libc::sigaction, _) =
            unsafe { (zeroed(), &mut *IGNORED.actions.get()) };
        ignore.sa_sigaction = libc::SIG_IGN;
        if IGNORED.count.fetch_add(1, Ordering::Relaxed) == 0 {
            // SAFETY: zeroed is a valid action.
            let mut before: [libc::sigaction; 2] = unsafe { zeroed() };
            for (signal, before) in SIGNALS.into_iter().zip(&mut before) {
                set_action(signal, &ignore, before);
            }
            kept.write(before);
        }
        // SAFETY: written by the first that came.
        unsafe { kept.assume_init() }
    })
}

/// Gives the program its actions back, if no other thread waits for a shell.
fn restore() {
    IGNORED.lock.with(|| {
        if IGNORED.count.fetch_sub(1, Ordering::Relaxed) == 1 {
            // SAFETY: written by `ignore`, and ours under the lock.
            let before = unsafe { (*IGNORED.actions.get()).assume_init_ref() };
            for (signal, before) in SIGNALS.into_iter().zip(before) {
                set_action(signal, before, ptr::null_mut());
            }
        }
    });
}

/// Runs a command line and waits for it.
///
/// # Safety
/// `line` is a string.
unsafe fn run(line: *const c_char) -> c_int {
    let before = ignore();
    let mask = {
        let now = sys::set_signal_mask(u64::MAX);
        sys::set_signal_mask(now | 1 << (libc::SIGCHLD - 1));
        now
    };
    let mut shell: pid_t = 0;
    // SAFETY: passed on; the list ends in a null.
    let error = unsafe { start(&mut shell, line, mask, &before) };
    let status = if error == 0 {
        wait_or_kill(shell)
    } else {
        c_library::status_without_shell()
    };
    restore();
    sys::set_signal_mask(mask);
    if error != 0 {
        next_symbols::set_errno(error);
    }
    status
}

/// # Safety
/// `line` is a string.
unsafe fn start(
    shell: &mut pid_t,
    line: *const c_char,
    mask: u64,
    before: &[libc::sigaction; 2],
) -> c_int {
    let arguments = [c"sh".as_ptr(), c"-c".as_ptr(), line, ptr::null()];
    let mut attributes = MaybeUninit::<libc::posix_spawnattr_t>::zeroed();
    let attributes = attributes.as_mut_ptr();
    // SAFETY: attributes and sets are ours; a set's first eight bytes are the kernel's.
    unsafe {
        let mut signals: libc::sigset_t = zeroed();
        for (signal, before) in SIGNALS.into_iter().zip(before) {
            if before.sa_sigaction != libc::SIG_IGN {
                libc::sigaddset(&mut signals, signal);
            }
        }
        let mut blocked: libc::sigset_t = zeroed();
        (&raw mut blocked).cast::<u64>().write(hidden::shown(mask));
        let flags = libc::POSIX_SPAWN_SETSIGDEF | libc::POSIX_SPAWN_SETSIGMASK;
        libc::posix_spawnattr_init(attributes);
        libc::posix_spawnattr_setsigmask(attributes, &blocked);
        libc::posix_spawnattr_setsigdefault(attributes, &signals);
        libc::posix_spawnattr_setflags(attributes, flags as i16);
        let error = posix_spawn(
            shell,
            c"/bin/sh".as_ptr(),
            ptr::null(),
            attributes,
            arguments.as_ptr(),
            variables::current(),
        );
        libc::posix_spawnattr_destroy(attributes);
        error
    }
}

/// As the C library's `struct _pthread_cleanup_buffer`.
type CleanUp = [usize; 4];

/// Waits for the shell, and kills it if the thread is cancelled meanwhile.
fn wait_or_kill(shell: pid_t) -> c_int {
    unsafe extern "C" fn kill(shell: *mut c_void) {
        let shell = shell as usize as pid_t;
        // SAFETY: plain calls; the thread is being cancelled already, so the wait is no
        // cancellation point any more.
        unsafe {
            if let Some(kill) = next_symbols::kill() {
                kill(shell, libc::SIGKILL);
            }
            let wait = [shell as usize, 0, 0, 0, 0, 0];
            while sys::call(libc::SYS_wait4, wait) == -(libc::EINTR as isize) {}
        }
        restore();
    }
    let (Some(push), Some(pop), Some(waitpid)) = (
        next_symbols::_pthread_cleanup_push(),
        next_symbols::_pthread_cleanup_pop(),
        next_symbols::waitpid(),
    ) else {
        return -1;
    };
    let mut status = 0;
    let mut buffer: CleanUp = [0; 4];
    // SAFETY: the buffer is in use until it is popped; both calls are ones that C programs make
    // as a pair, here without a frame in between that has anything to drop.
    unsafe {
        let buffer = (&raw mut buffer).cast::<c_void>();
        push(buffer, kill, shell as usize as *mut c_void);
        let waited = loop {
            let waited = waitpid(shell, &mut status, 0);
            if waited != -1 || next_symbols::errno() != libc::EINTR {
                break waited;
            }
        };
        pop(buffer, 0);
        if waited == shell { status } else { -1 }
    }
}

/// A lock, held by the one thread that has changed the list of variables.
static CHANGED: AtomicU32 = AtomicU32::new(0);

/// In the child of a fork the lock's holder does not exist.
pub fn reset_after_fork() {
    CHANGED.store(0, Ordering::Relaxed);
}

/// Waits until no other thread has changed the list. The lock is held while a shell begins, so the
/// wait yields.
fn hold() {
    const PATIENCE: u32 = 100_000;
    for _ in 0..PATIENCE {
        let held = CHANGED.compare_exchange(0, 1, Ordering::Acquire, Ordering::Relaxed);
        if held.is_ok() {
            return;
        }
        // SAFETY: no arguments.
        unsafe { sys::call(libc::SYS_sched_yield, [0; 6]) };
    }
}

/// Gives the program its own list back, with the changes of other threads meanwhile, in our copy or
/// in a copy of that.
///
/// # Safety
/// `list` was the program's, and `with_ours` was made of it.
unsafe fn put_back(list: Strings, with_ours: Strings) {
    let now = variables::current();
    // SAFETY: both end in a null. Our copy can only have lost entries: adding one makes a new list.
    // So the rest without ours fits where it came from.
    unsafe {
        if now == with_ours {
            environment::copy_without_ours(now, list, list);
            variables::set_current(list);
        } else {
            environment::copy_without_ours(now, list, now);
        }
    }
}
