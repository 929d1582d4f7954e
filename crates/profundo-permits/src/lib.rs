//! The permissions of this machine, and the sentences for what is refused: the reason, and the one
//! thing to do about it. Errors, notes in recordings and `profundo doctor` have the same
//! words, because they are all made here.
//!
//! A refusal is found by trying. Only its reason is read from the machine's settings.

mod energy;
mod files;
mod forked_memory;
mod gap;
mod gauge;
mod machine;
mod perf;
mod proc_files;
mod process;
mod python;
mod room;
mod settings;
mod symbol_files;
mod syscalls;
mod target;
mod traffic;
mod unrelated_process;

pub use energy::refused as energy_refused;
pub use files::enough_descriptors;
pub use forked_memory::without as without_forked_memory;
pub use gap::{Finding, Gap, Mend, Verdict};
pub use gauge::refused as gauge_refused;
pub use perf::{machine_refused, refused as perf_refused};
pub use proc_files::without as without_proc;
pub use process::may_be_read;
pub use python::first_library as first_python_library;
pub use python::unread as python_unread;
pub use room::no_room;
pub use symbol_files::files_of;
pub use syscalls::refused as syscalls_refused;
pub use traffic::{refused as traffic_refused, try_counts as try_traffic};

use settings::Settings;

/// The findings about this machine, by topic.
pub fn of_machine() -> Vec<Finding> {
    machine::findings(&Settings::read())
}

/// The findings about a running process. The process is not touched.
pub fn of_process(pid: u32) -> Vec<Finding> {
    target::findings(pid, &Settings::read())
}

/// This machine in a few words: the kernel, the processors, the user, and the container.
pub fn surroundings() -> String {
    Settings::read().surroundings()
}

/// The way to install separate debug files of a package here, if it is known: under its Debian or
/// its Fedora name.
pub fn install_debug_files(debian: &str, fedora: &str) -> Option<Mend> {
    Settings::read().install_debug_files(debian, fedora)
}
