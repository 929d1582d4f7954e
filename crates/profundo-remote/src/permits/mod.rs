//! What this machine permits, and the sentences for what it does not: why something is refused, and the
//! one thing to do about it. Errors, notes in recordings and `profundo doctor` say the same words,
//! because they are made here alone.
//!
//! What is refused is known from trying. Only why is read from the machine's settings.

mod energy;
mod files;
mod gap;
mod gauge;
mod machine;
mod perf;
mod proc_files;
mod process;
mod python;
mod room;
mod settings;
mod target;
mod traffic;
mod unrelated_process;

pub(crate) use energy::refused as energy_refused;
pub use files::enough_descriptors;
pub use gap::{Finding, Gap, Mend, Verdict};
pub(crate) use gauge::refused as gauge_refused;
pub(crate) use perf::refused as perf_refused;
pub(crate) use proc_files::without as without_proc;
pub(crate) use process::may_be_read;
pub(crate) use python::unread as python_unread;
pub(crate) use room::no_room;
pub(crate) use traffic::{refused as traffic_refused, try_own as try_traffic};

pub use python::first_library as first_python_library;
pub use target::files_of;

use settings::Settings;

/// What this machine permits, by topic.
pub fn of_machine() -> Vec<Finding> {
    machine::findings(&Settings::read())
}

/// What may be done with a process that runs. It goes on untouched.
pub fn of_process(pid: u32) -> Vec<Finding> {
    target::findings(pid, &Settings::read())
}

/// What this machine is, in a few words: the kernel, the processors, who asks, and where.
pub fn surroundings() -> String {
    Settings::read().surroundings()
}

/// How separate debug files of a package are installed here, where that is known. `package` is named
/// after Debian and after Fedora.
pub fn install_debug_files(debian: &str, fedora: &str) -> Option<Mend> {
    Settings::read().install_debug_files(debian, fedora)
}
