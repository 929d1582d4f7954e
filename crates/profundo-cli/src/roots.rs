//! Where the files of processes are that see other files than we do: in a container, or in a mount namespace or a root
//! of their own. The kernel shows them below the process's own folder, as long as the process lives.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

use profundo_model::Profile;

/// The roots of the recording's processes that are not ours, each once.
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

/// Whether a process sees other files than we do.
pub fn is_apart(pid: u32) -> bool {
    seen_by(&pid.to_string()).is_some_and(|seen| Some(seen) != seen_by("self"))
}

/// Which mounts a process sees, and what its root is among them.
fn seen_by(pid: &str) -> Option<(PathBuf, PathBuf)> {
    let folder = Path::new("/proc").join(pid);
    let mounts = fs::read_link(folder.join("ns/mnt")).ok()?;
    let root = fs::read_link(folder.join("root")).ok()?;
    Some((mounts, root))
}
