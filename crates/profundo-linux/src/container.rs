//! Processes in a container, seen from outside of it: their numbers inside, which differ from ours
//! in another pid namespace, and the user whose files they may open.

use std::collections::HashMap;
use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::Path;

use crate::{proc, sys};

/// The numbers that processes have in the pid namespace of one of them.
#[derive(Debug, Default)]
pub struct Numbers {
    /// `None`: it is ours, so that the numbers are the same.
    namespace: Option<u64>,
    /// Our numbers of processes, by theirs.
    known: HashMap<u32, u32>,
}

impl Numbers {
    /// The numbers in the namespace of a process.
    pub fn of(pid: u32) -> Self {
        Self {
            namespace: other_namespace(pid),
            known: HashMap::new(),
        }
    }

    /// The number of the namespace, if it is another one than ours.
    pub fn namespace(&self) -> Option<u64> {
        self.namespace
    }

    /// Our number of a process. `None`: it is not there any more, or is not one of the namespace.
    pub fn outside(&mut self, inside: u32) -> Option<u32> {
        let Some(namespace) = self.namespace else {
            return Some(inside);
        };
        let is_it = |pid: u32| {
            proc::number_inside(pid, pid) == Some(inside)
                && proc::pid_namespace_of(pid) == Some(namespace)
        };
        if let Some(&known) = self.known.get(&inside)
            && is_it(known)
        {
            return Some(known);
        }
        let found = (proc::children().into_iter())
            .map(|(pid, _)| pid)
            .find(|&pid| is_it(pid));
        if let Some(found) = found {
            self.known.insert(inside, found);
        }
        // It may have ended since.
        self.known.get(&inside).copied()
    }

    /// Notes a process that has just begun, while it is there.
    pub fn learn(&mut self, outside: u32) {
        if self.namespace.is_none() || self.known.values().any(|&known| known == outside) {
            return;
        }
        if let Some(inside) = self.inside(outside) {
            self.known.insert(inside, outside);
        }
    }

    /// Notes the number of a process that has ended.
    pub fn note(&mut self, inside: u32, outside: u32) {
        self.known.insert(inside, outside);
    }

    /// A process's number in the namespace. `None`: it is not there any more, or is not one of the
    /// namespace.
    pub fn inside(&self, outside: u32) -> Option<u32> {
        let Some(namespace) = self.namespace else {
            return Some(outside);
        };
        let known = self.known.iter().find(|(_, known)| **known == outside);
        if let Some((&inside, _)) = known {
            return Some(inside);
        }
        proc::number_inside(outside, outside)
            .filter(|_| proc::pid_namespace_of(outside) == Some(namespace))
    }
}

/// The number of a process's pid namespace, if it is another one than ours.
pub fn other_namespace(pid: u32) -> Option<u64> {
    let ours = proc::pid_namespace()?;
    proc::pid_namespace_of(pid).filter(|its| *its != ours)
}

/// The numbers of a process's threads: ours, by those that they have in their own pid namespace.
pub fn threads(pid: u32) -> HashMap<u32, u32> {
    let threads = proc::threads(pid).into_iter();
    threads
        .filter_map(|tid| Some((proc::number_inside(pid, tid)?, tid)))
        .collect()
}

/// The user and the group by which a process opens files.
pub fn file_user(pid: u32) -> Option<(u32, u32)> {
    let status = proc::read(pid, "status");
    let status = String::from_utf8_lossy(&status);
    let last = |name: &str| {
        let line = status.lines().find_map(|line| line.strip_prefix(name))?;
        line.split_whitespace().nth(3)?.parse().ok()
    };
    Some((last("Uid:")?, last("Gid:")?))
}

/// While it lives, the calling thread makes and opens files as another user does: a container's
/// file system may know no user of ours.
#[derive(Debug)]
pub struct AsUser {
    former: (u32, u32),
}

impl AsUser {
    /// The owner of a folder. `None`: it is us, or it is not known.
    pub fn owning(folder: &Path) -> Option<Self> {
        let owner = fs::metadata(folder).ok()?;
        Self::of(owner.uid(), owner.gid())
    }

    /// A user. `None`: it is us.
    pub fn of(user: u32, group: u32) -> Option<Self> {
        if (user, group) == (sys::user(), sys::group()) {
            return None;
        }
        // The group first, while there is the right to.
        // SAFETY: calls that change only how this thread opens files. Refused ones change nothing.
        let (group, user) = unsafe { (libc::setfsgid(group), libc::setfsuid(user)) };
        Some(Self {
            former: (user as u32, group as u32),
        })
    }
}

impl Drop for AsUser {
    fn drop(&mut self) {
        let (user, group) = self.former;
        // SAFETY: as above.
        unsafe {
            libc::setfsuid(user);
            libc::setfsgid(group);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_the_same_in_ones_own_namespace() {
        let own = std::process::id();
        let mut numbers = Numbers::of(own);
        assert_eq!(numbers.namespace(), None);
        assert_eq!(numbers.outside(7), Some(7));
        assert_eq!(numbers.inside(7), Some(7));
        assert_eq!(threads(own).get(&own), Some(&own));
    }

    #[test]
    fn files_are_made_as_another_user_for_a_while() {
        if sys::user() != 0 {
            profundo_testing::skip("only root becomes another user");
            return;
        }
        let folder = std::env::temp_dir().join(format!("profundo-as-user-{}", std::process::id()));
        fs::create_dir(&folder).unwrap();
        std::os::unix::fs::chown(&folder, Some(12345), Some(12346)).unwrap();
        let guard = AsUser::owning(&folder);
        fs::write(folder.join("theirs"), "").unwrap();
        drop(guard);
        fs::write(folder.join("ours"), "").unwrap();
        let owner = |name: &str| {
            let data = fs::metadata(folder.join(name)).unwrap();
            (data.uid(), data.gid())
        };
        assert_eq!(owner("theirs"), (12345, 12346));
        assert_eq!(owner("ours"), (0, sys::group()));
        fs::remove_dir_all(folder).unwrap();
    }
}
