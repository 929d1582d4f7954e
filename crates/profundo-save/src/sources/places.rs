//! The paths at which a process finds the files that it names. In a container, a chroot or a mount
//! namespace the same names lead to other files.

use std::collections::VecDeque;
use std::ffi::OsString;
use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::{Component, Path, PathBuf};

use profundo_model::ProcessId;
use rustc_hash::FxHashMap;

use crate::process_roots;

/// A path with more links is a circle.
const MOST_LINKS: usize = 40;

/// The path at which a process finds a file.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Found {
    /// Under the same name as here, or at an unknown place.
    Here,
    /// In another file system: our path to it while the process lives.
    Elsewhere(PathBuf),
    /// No such file exists.
    Nowhere,
}

/// The processes that have another file system root or mounts.
#[derive(Debug, Default)]
pub(super) struct Places(FxHashMap<ProcessId, bool>);

impl Places {
    /// Finds a file of a process.
    pub(super) fn find(&mut self, process: ProcessId, pid: u32, name: &str) -> Found {
        let is_apart = *(self.0.entry(process)).or_insert_with(|| process_roots::is_apart(pid));
        let root = PathBuf::from(format!("/proc/{pid}/root"));
        if is_apart && name.starts_with('/') {
            return match inside(&root, Path::new(name)) {
                Some(path) if is_same(&path, Path::new(name)) => Found::Here,
                Some(path) => Found::Elsewhere(path),
                None => Found::Nowhere,
            };
        }
        let path = match name.strip_prefix('/') {
            Some(name) => root.join(name),
            // The process may have changed its folder since, so this shows only that such a file
            // exists.
            None => PathBuf::from(format!("/proc/{pid}/cwd/{name}")),
        };
        match path.exists() || Path::new(name).exists() {
            true => Found::Here,
            false => Found::Nowhere,
        }
    }
}

fn is_same(one: &Path, other: &Path) -> bool {
    let place = |path: &Path| fs::metadata(path).ok().map(|file| (file.dev(), file.ino()));
    place(one).is_some_and(|one| Some(one) == place(other))
}

/// The path of a file below a root, with the links on the way followed as a process with this root
/// does. The kernel would follow an absolute link from our root.
fn inside(root: &Path, name: &Path) -> Option<PathBuf> {
    let parts = |path: &Path| -> Vec<OsString> {
        let names = path.components().filter_map(|part| match part {
            Component::Normal(name) => Some(name.to_owned()),
            Component::ParentDir => Some("..".into()),
            _ => None,
        });
        names.collect()
    };
    let mut left: VecDeque<OsString> = parts(name).into();
    let mut done: Vec<OsString> = Vec::new();
    let mut links = 0;
    while let Some(part) = left.pop_front() {
        if part == ".." {
            done.pop();
            continue;
        }
        done.push(part);
        let path = root.join(done.iter().collect::<PathBuf>());
        if !fs::symlink_metadata(&path).ok()?.is_symlink() {
            continue;
        }
        links += 1;
        if links > MOST_LINKS {
            return None;
        }
        let target = fs::read_link(&path).ok()?;
        match target.is_absolute() {
            true => done.clear(),
            false => done.truncate(done.len() - 1),
        }
        for part in parts(&target).into_iter().rev() {
            left.push_front(part);
        }
    }
    Some(root.join(done.iter().collect::<PathBuf>()))
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::symlink;

    use super::*;

    #[test]
    fn links_are_followed_below_the_root() {
        let root = std::env::temp_dir().join(format!("profundo-places-{}", std::process::id()));
        fs::create_dir_all(root.join("srv/v2")).unwrap();
        fs::write(root.join("srv/v2/app.py"), "x").unwrap();
        symlink("/srv/v2", root.join("srv/now")).unwrap();
        symlink("../../../srv/now/app.py", root.join("srv/v2/up.py")).unwrap();
        symlink("circle", root.join("circle")).unwrap();
        let find = |name: &str| inside(&root, Path::new(name));
        let file = root.join("srv/v2/app.py");
        assert_eq!(find("/srv/now/app.py").as_ref(), Some(&file));
        assert_eq!(find("/srv/v2/up.py").as_ref(), Some(&file));
        assert_eq!(find("/srv/now/../v2/app.py").as_ref(), Some(&file));
        assert_eq!(find("/circle"), None);
        assert_eq!(find("/srv/gone.py"), None);
        fs::remove_dir_all(root).unwrap();
    }

    #[test]
    fn our_own_files_are_here() {
        let mut places = Places::default();
        let ours = std::env::current_exe().unwrap();
        let pid = std::process::id();
        let mut find = |name: &str| places.find(ProcessId(0), pid, name);
        assert_eq!(find(ours.to_str().unwrap()), Found::Here);
        assert_eq!(find("/nowhere/app.py"), Found::Nowhere);
        assert_eq!(find("<ipython-input-1-0123456789ab>"), Found::Nowhere);
    }
}
