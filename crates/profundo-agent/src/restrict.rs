//! Programs that restrict their own system calls (seccomp). A handler of ours would make one that is
//! not permitted, and the program would be killed for it. So the agent leaves the process just
//! before: no handler of ours runs any more, and nothing of ours calls the kernel.

use core::ffi::{c_int, c_long, c_ulong};

use core::sync::atomic::Ordering;

use profundo_probe::urgent;

use crate::{calls, claims, deferred, home, left, memory, next_symbols, signals, threads, traps};

/// Lets the program be told of each reading of the cycle counter, by a signal that kills it.
const PR_SET_TSC: c_int = 26;
const PR_TSC_SIGSEGV: c_ulong = 2;

/// Leaves. `has_clock`: the processor's may be read on.
fn leave(has_clock: bool) {
    if let Some(home) = home::current() {
        calls::before_leaving();
        // Before SIGTRAP, or the command would open clocks that send the other signal.
        let is_quiet = claims::send_nothing(home);
        traps::leave();
        left::set();
        calls::leave(has_clock);
        memory::leave();
        home.set_records(false);
        // Our handler goes before its probe: without one it would take a tick for the program's.
        signals::withdraw(is_quiet);
        deferred::forget();
        urgent::set_probe(None);
        // Release pairs with the acquire of the command.
        home.ring().header.left.store(1, Ordering::Release);
        threads::tell(home);
    }
}

/// # Safety
/// As for `prctl`, whose arguments are all of one size.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn prctl(
    option: c_int,
    first: c_ulong,
    second: c_ulong,
    third: c_ulong,
    fourth: c_ulong,
) -> c_int {
    if option == libc::PR_SET_SECCOMP {
        // In strict mode the kernel forbids that as well.
        leave(first != libc::SECCOMP_MODE_STRICT.into());
    } else if (option, first) == (PR_SET_TSC, PR_TSC_SIGSEGV) {
        leave(false);
    }
    match next_symbols::prctl() {
        // SAFETY: the caller's arguments, passed on.
        Some(real) => unsafe { real(option, first, second, third, fourth) },
        None => next_symbols::missing(),
    }
}

/// The program calls `seccomp` by its number.
pub fn before_seccomp(operation: c_long) {
    /// The first two install a filter, the others ask.
    const QUESTIONS: c_long = 2;
    const STRICT: c_long = 0;
    if (0..QUESTIONS).contains(&operation) {
        leave(operation != STRICT);
    }
}
