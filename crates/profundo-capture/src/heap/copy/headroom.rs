//! Whether there is memory for a copy: while it is there, the program may write to all that is its own, and each page
//! that it writes to is there twice.

use std::fs;
use std::path::Path;

use crate::error::Error;

/// Refuses a copy for which there might be too little memory.
pub(super) fn check() -> Result<(), Error> {
    check_in(Path::new("/"))
}

fn check_in(root: &Path) -> Result<(), Error> {
    let Some(needed) = field(root, "proc/self/status", "RssAnon:") else {
        return Ok(());
    };
    let machine = field(root, "proc/meminfo", "MemAvailable:").map(|left| (left, "the machine"));
    let group = group_left(root).map(|left| (left, "the control group"));
    let least = [machine, group].into_iter().flatten().min();
    match least {
        Some((available, who)) if available < needed => Err(Error::Headroom {
            needed,
            available,
            who,
        }),
        _ => Ok(()),
    }
}

/// A field of a file in which there are kilobytes, in bytes.
fn field(root: &Path, path: &str, name: &str) -> Option<u64> {
    let text = fs::read_to_string(root.join(path)).ok()?;
    let line = text.lines().find_map(|line| line.strip_prefix(name))?;
    let number: u64 = line.trim().strip_suffix(" kB")?.parse().ok()?;
    Some(number << 10)
}

/// What the process's control group, and those around it, have left.
fn group_left(root: &Path) -> Option<u64> {
    let groups = fs::read_to_string(root.join("proc/self/cgroup")).ok()?;
    let left = groups.lines().filter_map(|line| {
        // 0::/user.slice, or 4:memory:/docker/1234
        let mut parts = line.splitn(3, ':');
        let (number, controllers, path) = (parts.next()?, parts.next()?, parts.next()?);
        let folder = root.join("sys/fs/cgroup");
        match (number, controllers) {
            ("0", "") => least_left(&folder, path, &SECOND),
            (_, list) if list.split(',').any(|it| it == "memory") => {
                least_left(&folder.join("memory"), path, &FIRST)
            }
            _ => None,
        }
    });
    left.min()
}

/// How the files of a version are called, and what of the memory that is used can be had back.
struct Version {
    limit: &'static str,
    used: &'static str,
    cached: &'static str,
}

const SECOND: Version = Version {
    limit: "memory.max",
    used: "memory.current",
    cached: "inactive_file ",
};
const FIRST: Version = Version {
    limit: "memory.limit_in_bytes",
    used: "memory.usage_in_bytes",
    cached: "total_inactive_file ",
};

fn least_left(folder: &Path, path: &str, version: &Version) -> Option<u64> {
    let path = Path::new(path.trim_start_matches('/'));
    let left = path.ancestors().filter_map(|path| {
        let read = |name: &str| fs::read_to_string(folder.join(path).join(name)).ok();
        let number = |name: &str| read(name)?.trim().parse::<u64>().ok();
        let (limit, used) = (number(version.limit)?, number(version.used)?);
        let stat = read("memory.stat").unwrap_or_default();
        let cached = stat
            .lines()
            .find_map(|line| line.strip_prefix(version.cached));
        let cached = cached.and_then(|it| it.parse().ok()).unwrap_or(0);
        Some(limit.saturating_sub(used.saturating_sub(cached)))
    });
    left.min()
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::path::PathBuf;

    struct Root(PathBuf);

    impl Root {
        fn new(name: &str, files: &[(&str, &str)]) -> Self {
            let name = format!("profundo-headroom-{name}-{}", std::process::id());
            let root = Self(std::env::temp_dir().join(name));
            for (path, text) in files {
                let path = root.0.join(path);
                fs::create_dir_all(path.parent().unwrap()).unwrap();
                fs::write(path, text).unwrap();
            }
            root
        }

        fn refusal(&self) -> Option<(u64, u64, &'static str)> {
            match check_in(&self.0) {
                Ok(()) => None,
                Err(Error::Headroom {
                    needed,
                    available,
                    who,
                }) => Some((needed, available, who)),
                Err(other) => panic!("{other}"),
            }
        }
    }

    impl Drop for Root {
        fn drop(&mut self) {
            let _ = fs::remove_dir_all(&self.0);
        }
    }

    const STATUS: (&str, &str) = ("proc/self/status", "VmRSS:\t 9 kB\nRssAnon:\t    1024 kB\n");

    #[test]
    fn the_machine_has_to_have_as_much_again() {
        let with = |name, meminfo| Root::new(name, &[STATUS, ("proc/meminfo", meminfo)]);
        let enough = with("enough", "MemFree: 1 kB\nMemAvailable:    1024 kB\n");
        assert_eq!(enough.refusal(), None);
        let little = with("little", "MemFree: 9999 kB\nMemAvailable:    1023 kB\n");
        assert_eq!(little.refusal(), Some((1 << 20, 1023 << 10, "the machine")));
        // Who does not tell is not asked again.
        assert_eq!(with("silent", "").refusal(), None);
    }

    #[test]
    fn control_groups_have_to_have_it_too_and_those_around_them() {
        let meminfo = ("proc/meminfo", "MemAvailable:    999999 kB\n");
        let second = |name, inner: &str, outer: &str, stat: &str| {
            let group = ("proc/self/cgroup", "0::/outer/inner\n");
            let folder = "sys/fs/cgroup/outer";
            let path = |path: &str| format!("{folder}/{path}");
            let files = [
                (path("inner/memory.max"), inner),
                (path("inner/memory.current"), "1048576\n"),
                (path("inner/memory.stat"), stat),
                (path("memory.max"), outer),
                (path("memory.current"), "1048576\n"),
            ];
            let files = files.iter().map(|(path, text)| (path.as_str(), *text));
            let all: Vec<_> = [STATUS, meminfo, group].into_iter().chain(files).collect();
            Root::new(name, &all)
        };
        assert_eq!(second("free", "max\n", "max\n", "").refusal(), None);
        let group = "the control group";
        assert_eq!(
            second("inner", "1500000\n", "max\n", "").refusal(),
            Some((1 << 20, 1_500_000 - (1 << 20), group))
        );
        assert_eq!(
            second("outer", "max\n", "1048576\n", "").refusal(),
            Some((1 << 20, 0, group))
        );
        let cached = second("cached", "1500000\n", "max\n", "inactive_file 1000000\n");
        assert_eq!(cached.refusal(), None);
    }

    #[test]
    fn the_first_version_has_other_files() {
        let root = Root::new(
            "first",
            &[
                STATUS,
                ("proc/meminfo", "MemAvailable:    999999 kB\n"),
                (
                    "proc/self/cgroup",
                    "5:cpu:/x\n4:hugetlb,memory:/docker/12\n",
                ),
                (
                    "sys/fs/cgroup/memory/docker/12/memory.limit_in_bytes",
                    "2000000\n",
                ),
                (
                    "sys/fs/cgroup/memory/docker/12/memory.usage_in_bytes",
                    "1500000\n",
                ),
                (
                    "sys/fs/cgroup/memory/docker/12/memory.stat",
                    "total_inactive_file 100000\n",
                ),
            ],
        );
        let expected = Some((1 << 20, 600_000, "the control group"));
        assert_eq!(root.refusal(), expected);
    }
}
