//! The memory that a copy of a process needs, and whether there is as much. While the copy exists,
//! each private page that the program writes to exists twice.

use std::fs;
use std::path::Path;

/// Memory that is left to other programs.
const RESERVE: u64 = 64 << 20;

/// The memory that a copy lacks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Lack {
    /// Bytes that the copy may take.
    pub needed: u64,
    /// Bytes that are available.
    pub available: u64,
    /// The limit that is reached: the machine's or the control group's.
    pub who: &'static str,
}

/// The memory that a copy of a process would lack, if any.
pub fn lack(pid: u32) -> Option<Lack> {
    lack_in(Path::new("/"), pid)
}

fn lack_in(root: &Path, pid: u32) -> Option<Lack> {
    let needed = field(root, &format!("proc/{pid}/status"), "RssAnon:").unwrap_or(0);
    let machine = field(root, "proc/meminfo", "MemAvailable:").map(|left| (left, "the machine"));
    let group = group_left(root, pid).map(|left| (left, "the control group"));
    let (available, who) = [machine, group].into_iter().flatten().min()?;
    (available < needed.saturating_add(RESERVE)).then_some(Lack {
        needed,
        available,
        who,
    })
}

/// A field of a file that is given in kilobytes, in bytes.
fn field(root: &Path, path: &str, name: &str) -> Option<u64> {
    // The name of a process may be cut within a letter.
    let text = fs::read(root.join(path)).ok()?;
    let text = String::from_utf8_lossy(&text);
    let line = text.lines().find_map(|line| line.strip_prefix(name))?;
    let number: u64 = line.trim().strip_suffix(" kB")?.parse().ok()?;
    Some(number << 10)
}

/// The memory left in the process's control group and those above it.
fn group_left(root: &Path, pid: u32) -> Option<u64> {
    let groups = fs::read(root.join(format!("proc/{pid}/cgroup"))).ok()?;
    let groups = String::from_utf8_lossy(&groups);
    let left = groups.lines().filter_map(|line| {
        // 0::/user.slice, or 4:memory:/docker/1234
        let mut parts = line.splitn(3, ':');
        let (number, controllers, path) = (parts.next()?, parts.next()?, parts.next()?);
        let folder = root.join("sys/fs/cgroup");
        match (number, controllers) {
            ("0", "") => least_left(&folder, path, &SECOND),
            (_, list) if list.split(',').any(|controller| controller == "memory") => {
                least_left(&folder.join("memory"), path, &FIRST)
            }
            _ => None,
        }
    });
    left.min()
}

/// The file names of a cgroup version, and the part of the used memory that can be reclaimed.
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
        let cached = cached.and_then(|text| text.parse().ok()).unwrap_or(0);
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
            let lack = lack_in(&self.0, 7)?;
            Some((lack.needed, lack.available, lack.who))
        }
    }

    impl Drop for Root {
        fn drop(&mut self) {
            let _ = fs::remove_dir_all(&self.0);
        }
    }

    const STATUS: (&str, &str) = ("proc/7/status", "VmRSS:\t 9 kB\nRssAnon:\t    1024 kB\n");

    #[test]
    fn the_machine_has_to_have_as_much_again() {
        let with = |name, meminfo| Root::new(name, &[STATUS, ("proc/meminfo", meminfo)]);
        let enough = with("enough", "MemFree: 1 kB\nMemAvailable:    66560 kB\n");
        assert_eq!(enough.refusal(), None);
        let little = with("little", "MemFree: 9999 kB\nMemAvailable:    66559 kB\n");
        assert_eq!(
            little.refusal(),
            Some((1 << 20, 66559 << 10, "the machine"))
        );
        // A group that reports nothing is not asked again.
        assert_eq!(with("silent", "").refusal(), None);
    }

    #[test]
    fn a_name_that_is_cut_within_a_letter_hides_nothing() {
        let root = Root::new("cut", &[("proc/meminfo", "MemAvailable:    66559 kB\n")]);
        let status = b"Name:\t\xd1\x81\xd0\nRssAnon:\t    1024 kB\n";
        fs::create_dir_all(root.0.join("proc/7")).unwrap();
        fs::write(root.0.join("proc/7/status"), status).unwrap();
        let expected = Some((1 << 20, 66559 << 10, "the machine"));
        assert_eq!(root.refusal(), expected);
    }

    #[test]
    fn control_groups_and_their_ancestors_limit_it() {
        let meminfo = ("proc/meminfo", "MemAvailable:    999999 kB\n");
        let second = |name, inner: &str, outer: &str, stat: &str| {
            let group = ("proc/7/cgroup", "0::/outer/inner\n");
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
            second("inner", "69000000\n", "max\n", "").refusal(),
            Some((1 << 20, 69_000_000 - (1 << 20), group))
        );
        assert_eq!(
            second("outer", "max\n", "1048576\n", "").refusal(),
            Some((1 << 20, 0, group))
        );
        let cached = second("cached", "69000000\n", "max\n", "inactive_file 1048576\n");
        assert_eq!(cached.refusal(), None);
    }

    #[test]
    fn the_first_version_has_other_files() {
        let root = Root::new(
            "first",
            &[
                STATUS,
                ("proc/meminfo", "MemAvailable:    999999 kB\n"),
                ("proc/7/cgroup", "5:cpu:/x\n4:hugetlb,memory:/docker/12\n"),
                (
                    "sys/fs/cgroup/memory/docker/12/memory.limit_in_bytes",
                    "60500000\n",
                ),
                (
                    "sys/fs/cgroup/memory/docker/12/memory.usage_in_bytes",
                    "60000000\n",
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
