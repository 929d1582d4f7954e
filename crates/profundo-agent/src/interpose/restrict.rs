//! Programs that restrict their own system calls (seccomp): the agent leaves the process just
//! before, see [`leave`](crate::leave).

use core::ffi::{c_int, c_long, c_ulong};

use crate::interpose::interpose;
use crate::leave::leave;
use crate::next_symbols::missing;

/// Has each reading of the cycle counter raise a signal that kills the program.
const PR_SET_TSC: c_int = 26;
const PR_TSC_SIGSEGV: c_ulong = 2;

interpose! {
    // Its arguments all have the size of a word.
    extern "C" fn prctl(
        option: c_int,
        first: c_ulong,
        second: c_ulong,
        third: c_ulong,
        fourth: c_ulong,
    ) -> c_int {
        let next = prctl or missing();
        if option == libc::PR_SET_SECCOMP {
            // In strict mode the kernel forbids reading the clock as well.
            leave(first != libc::SECCOMP_MODE_STRICT.into());
        } else if (option, first) == (PR_SET_TSC, PR_TSC_SIGSEGV) {
            leave(false);
        }
        next(option, first, second, third, fourth)
    }
}

/// Called when the program calls `seccomp` by its number.
pub fn before_seccomp(operation: c_long) {
    /// The operations from here on are queries; the first two install a filter.
    const QUESTIONS: c_long = 2;
    const STRICT: c_long = 0;
    if (0..QUESTIONS).contains(&operation) {
        leave(operation != STRICT);
    }
}
