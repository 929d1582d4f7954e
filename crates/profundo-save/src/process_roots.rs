//! The root folders of processes that see other files than we do: in a container, a mount namespace
//! or a chroot. The kernel shows them below `/proc/PID`, as long as the process lives.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

use profundo_model::Profile;

/// The roots of the recording's processes that differ from ours, each once.
pub fn of(profile: &Profile) -> Vec<PathBuf> {
    let own = seen_by("self");
    let mut seen: BTreeSet<_> = own.into_iter().collect();
    let processes = profile.processes.iter();
    processes
        .filter_map(|process| {
            let pid = process.pid.to_string();
            let is_new = seen.insert(seen_by(&pid)?);
            is_new.then(|| Path::new("/proc").join(pid).join("root"))
        })
        .collect()
}

/// True if a process sees other files than we do.
pub fn is_apart(pid: u32) -> bool {
    seen_by(&pid.to_string()).is_some_and(|seen| Some(seen) != seen_by("self"))
}

/// The mounts that a process sees, and its root among them.
fn seen_by(pid: &str) -> Option<(PathBuf, PathBuf)> {
    let folder = Path::new("/proc").join(pid);
    let mounts = fs::read_link(folder.join("ns/mnt")).ok()?;
    let root = fs::read_link(folder.join("root")).ok()?;
    Some((mounts, root))
}
