//! `/proc`, which has a process's mappings: without it no address has a name.

use std::path::{Path, PathBuf};

use super::gap::Gap;

/// The gap where `/proc` has nothing about our processes; `None` if it has.
pub fn without() -> Option<Gap> {
    let link = std::fs::read_link("/proc/self").ok();
    of(
        link,
        std::process::id(),
        Path::new("/proc/self/maps").exists(),
    )
}

/// `link`: the target of `/proc/self`.
fn of(link: Option<PathBuf>, process: u32, has_maps: bool) -> Option<Gap> {
    let why = match link {
        Some(link) if link.as_os_str() == &*process.to_string() => return None,
        Some(_) => "/proc is that of another pid namespace",
        None if has_maps => return None,
        None => "there is no /proc here (a chroot, or a container without it)",
    };
    Some(Gap::command(
        format!("{why}, so nothing has a name and stacks cannot be walked"),
        "mount -t proc proc /proc",
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_proc_lacks_is_said() {
        assert_eq!(without(), None);
        assert_eq!(of(Some("12".into()), 12, true), None);
        let foreign = of(Some("12".into()), 2, true).unwrap().to_string();
        assert!(foreign.contains("another pid namespace"), "{foreign}");
        assert!(foreign.contains("mount -t proc"), "{foreign}");
        let none = of(None, 2, false).unwrap().to_string();
        assert!(none.contains("there is no /proc"), "{none}");
    }
}
