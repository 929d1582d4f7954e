//! The time for which a CPU quota has throttled our control groups, as those of containers do.

use std::fs;
use std::path::{Path, PathBuf};

/// Nanoseconds so far, summed over CPUs as the kernel does, of our group and its ancestors; `None`
/// if no group has a quota.
pub(super) fn held_back() -> Option<u64> {
    let groups = fs::read_to_string("/proc/self/cgroup").ok()?;
    held_back_below(Path::new("/sys/fs/cgroup"), &groups)
}

fn held_back_below(root: &Path, groups: &str) -> Option<u64> {
    let mut sum = None;
    for line in groups.lines() {
        let mut fields = line.splitn(3, ':');
        let (Some(_), Some(controllers), Some(path)) =
            (fields.next(), fields.next(), fields.next())
        else {
            continue;
        };
        let roots = match controllers {
            "" => [root.to_owned(), root.join("unified")],
            some if some.split(',').any(|one| one == "cpu") => [root.join("cpu"), root.join(some)],
            _ => continue,
        };
        let Some(folder) = roots
            .iter()
            .find(|folder| folder.join("cgroup.procs").exists())
        else {
            continue;
        };
        let mut group = PathBuf::from(path.trim_start_matches('/'));
        loop {
            if let Some(time) = of_group(&folder.join(&group)) {
                *sum.get_or_insert(0) += time;
            }
            if !group.pop() {
                break;
            }
        }
    }
    sum
}

/// The kernel reports microseconds, and in cgroup v1 nanoseconds.
fn of_group(folder: &Path) -> Option<u64> {
    let text = fs::read_to_string(folder.join("cpu.stat")).ok()?;
    let number = |name: &str| {
        let mut lines = text.lines();
        let value = lines.find_map(|line| line.strip_prefix(name)?.strip_prefix(' '))?;
        value.trim().parse::<u64>().ok()
    };
    number("throttled_time").or_else(|| Some(number("throttled_usec")? * 1_000))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn folder(name: &str, files: &[(&str, &str)]) -> PathBuf {
        let root = std::env::temp_dir().join(format!("profundo-{name}-{}", std::process::id()));
        for (file, text) in files {
            let path = root.join(file);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, text).unwrap();
        }
        root
    }

    #[test]
    fn groups_and_those_above_them_are_asked() {
        let root = folder(
            "quota",
            &[
                ("cgroup.procs", ""),
                ("cpu.stat", "usage_usec 5\n"),
                (
                    "a/cpu.stat",
                    "usage_usec 5\nnr_throttled 1\nthrottled_usec 7\n",
                ),
                ("a/b/cpu.stat", "nr_throttled 1\nthrottled_usec 20\n"),
            ],
        );
        assert_eq!(held_back_below(&root, "0::/a/b\n"), Some(27_000));
        assert_eq!(held_back_below(&root, "0::/c\n"), None);
        assert_eq!(held_back_below(&root, "1:name=systemd:/a\nbroken\n"), None);
        fs::remove_dir_all(root).unwrap();
    }

    #[test]
    fn groups_of_the_first_kind_count_nanoseconds() {
        let root = folder(
            "quota-1",
            &[
                ("cpu,cpuacct/cgroup.procs", ""),
                (
                    "cpu,cpuacct/a/cpu.stat",
                    "nr_throttled 1\nthrottled_time 12345\n",
                ),
            ],
        );
        assert_eq!(
            held_back_below(&root, "4:cpu,cpuacct:/a\n0::/\n"),
            Some(12_345)
        );
        fs::remove_dir_all(root).unwrap();
    }
}
