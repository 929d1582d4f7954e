//! The resources that the process has used, written down at its end or before it becomes another
//! program.

use core::ffi::c_int;
use core::sync::atomic::Ordering;

use crate::home::{Home, Whose, home};
use crate::{left, process, threads};

/// Writes down the exit code, and the resources that the process has used.
pub fn note_end(home: Home, code: c_int) {
    threads::note_cpu(home);
    let header = &home.ring().header;
    let (used, ends) = (process::usage(), &header.ends);
    header.exit_code.store(code, Ordering::Relaxed);
    ends.user.store(used.user, Ordering::Relaxed);
    ends.system.store(used.system, Ordering::Relaxed);
    ends.peak.store(used.peak, Ordering::Relaxed);
    ends.minor_faults
        .store(used.minor_faults, Ordering::Relaxed);
    ends.major_faults
        .store(used.major_faults, Ordering::Relaxed);
    // Release pairs with the acquire of the command.
    ends.known.store(1, Ordering::Release);
}

/// Writes down the resources of a process that is about to become another program. A child that
/// borrows its parent's memory writes nothing.
pub fn note_exec() {
    let entered = home().filter(|home| home.whose() == Whose::Ours && home.records());
    if let Some(home) = entered.filter(|_| !left::has_left()) {
        threads::note_cpu(home);
        let (used, ends) = (process::usage(), &home.ring().header.ends);
        ends.user.store(used.user, Ordering::Relaxed);
        ends.system.store(used.system, Ordering::Relaxed);
        // Release pairs with the acquire of the command.
        ends.at_exec.store(1, Ordering::Release);
    }
}
