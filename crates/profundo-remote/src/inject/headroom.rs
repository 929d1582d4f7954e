//! Whether there is memory enough for a copy of a process: each page that the program writes to while the copy lives is
//! there twice.

use std::fs;
use std::path::Path;

use crate::proc;

/// So much is to be left over for everybody else.
const RESERVE: u64 = 64 << 20;

/// Memory that is wanted, and what there is. `None`: there is enough.
pub(super) fn lacking(pid: u32) -> Option<(u64, u64)> {
    let wanted = private(pid);
    let there = available(pid);
    (wanted.saturating_add(RESERVE) > there).then_some((wanted, there))
}

/// What may have to be there twice: what is the process's alone and in memory.
fn private(pid: u32) -> u64 {
    let status = proc::read(pid, "status");
    kilobytes(&String::from_utf8_lossy(&status), "RssAnon:").unwrap_or(0)
}

fn kilobytes(text: &str, name: &str) -> Option<u64> {
    let line = text.lines().find_map(|line| line.strip_prefix(name))?;
    let number: u64 = line.split_whitespace().next()?.parse().ok()?;
    Some(number << 10)
}

fn available(pid: u32) -> u64 {
    let machine = fs::read_to_string("/proc/meminfo").unwrap_or_default();
    let free = kilobytes(&machine, "MemAvailable:").unwrap_or(u64::MAX);
    free.min(left_in_group(pid).unwrap_or(u64::MAX))
}

/// What its control group may still take, and those that this one is in.
fn left_in_group(pid: u32) -> Option<u64> {
    let text = String::from_utf8_lossy(&proc::read(pid, "cgroup")).into_owned();
    let mut least = None;
    for line in text.lines() {
        let mut parts = line.splitn(3, ':');
        let (_, kinds, path) = (parts.next()?, parts.next()?, parts.next()?);
        // What files have in memory counts as used, and can be had back.
        let (root, limit, usage, cached) = match kinds {
            "" => (
                "/sys/fs/cgroup",
                "memory.max",
                "memory.current",
                "inactive_file ",
            ),
            kinds if kinds.split(',').any(|kind| kind == "memory") => (
                "/sys/fs/cgroup/memory",
                "memory.limit_in_bytes",
                "memory.usage_in_bytes",
                "total_inactive_file ",
            ),
            _ => continue,
        };
        let whole = format!("{root}{path}");
        let mut folder = Some(Path::new(&whole));
        while let Some(here) = folder.filter(|it| it.starts_with(root)) {
            let number = |name: &str| -> Option<u64> {
                fs::read_to_string(here.join(name))
                    .ok()?
                    .trim()
                    .parse()
                    .ok()
            };
            if let Some((limit, usage)) = number(limit).zip(number(usage)) {
                let statistics = fs::read_to_string(here.join("memory.stat")).unwrap_or_default();
                let mut lines = statistics.lines();
                let cached = lines.find_map(|line| line.strip_prefix(cached)?.trim().parse().ok());
                let usage: u64 = usage;
                let left = limit.saturating_sub(usage.saturating_sub(cached.unwrap_or(0)));
                least = Some(least.map_or(left, |it: u64| it.min(left)));
            }
            folder = here.parent();
        }
    }
    least
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_field_is_read() {
        let text = "Name:\tx\nRssAnon:\t   1234 kB\nRssFile:\t 1 kB\n";
        assert_eq!(kilobytes(text, "RssAnon:"), Some(1234 << 10));
        assert_eq!(kilobytes(text, "RssShmem:"), None);
    }

    #[test]
    fn this_process_could_be_copied() {
        let own = std::process::id();
        assert!(private(own) > 0);
        assert!(available(own) > 0);
    }
}
