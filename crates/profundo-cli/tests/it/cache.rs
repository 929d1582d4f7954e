//! The agent in the user's cache, and what becomes of those of other builds there.

use std::fs::{self, File, FileTimes};
use std::os::fd::AsRawFd;
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use crate::machine::{Folder, Outcome};

const DAY: Duration = Duration::from_secs(24 * 3600);

fn record(folder: &Folder) {
    let mut command = folder.profundo(&["record", "-o", "x.profundo", "/bin/true"]);
    command.env("XDG_CACHE_HOME", folder.path());
    Outcome::of(command.output().unwrap()).succeeded();
}

fn names(cache: &Path) -> Vec<String> {
    let entries = fs::read_dir(cache).unwrap();
    let mut names: Vec<String> = entries
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        // The unwind tables of libraries have a folder of their own there.
        .filter(|name| name != "unwind")
        .collect();
    names.sort();
    names
}

/// A file that was last marked so many days ago.
fn aged(path: PathBuf, days: u32) -> File {
    fs::write(&path, [0; 4096]).unwrap();
    let file = File::open(path).unwrap();
    let then = SystemTime::now() - days * DAY;
    file.set_times(FileTimes::new().set_modified(then)).unwrap();
    file
}

/// A page of a file that is mapped, as a program has that loaded it.
struct MappedPage(*mut libc::c_void);

impl MappedPage {
    fn of(file: &File) -> Self {
        // SAFETY: a new mapping of a file that is as long; it is not accessed.
        let page = unsafe {
            libc::mmap(
                std::ptr::null_mut(),
                4096,
                libc::PROT_READ,
                libc::MAP_PRIVATE,
                file.as_raw_fd(),
                0,
            )
        };
        assert_ne!(page, libc::MAP_FAILED);
        Self(page)
    }
}

impl Drop for MappedPage {
    fn drop(&mut self) {
        // SAFETY: the page that was mapped above.
        unsafe { libc::munmap(self.0, 4096) };
    }
}

#[test]
fn unused_agents_are_removed() {
    let folder = Folder::new();
    record(&folder);
    let cache = folder.path().join("profundo");
    let ours = names(&cache);
    assert!(
        ours.len() == 1 && ours[0].starts_with("libprofundo-agent-"),
        "{ours:?}"
    );
    let ours = cache.join(&ours[0]);
    let mark = |days: u32| {
        let then = SystemTime::now() - days * DAY;
        let times = FileTimes::new().set_modified(then);
        File::open(&ours).unwrap().set_times(times).unwrap();
    };
    let age = || fs::metadata(&ours).unwrap().modified().unwrap().elapsed();

    let agent = |name: &str, days| aged(cache.join(format!("libprofundo-agent-{name}.so")), days);
    agent("old", 31);
    agent("recent", 29);
    let mapped = agent("mapped", 400);
    let locked = agent("locked", 400);
    aged(cache.join(".libprofundo-agent-half.so.1234"), 31);
    aged(cache.join("mine.so"), 400);
    // As a program that has loaded it, and as a command that is about to mark it.
    let page = MappedPage::of(&mapped);
    locked.lock_shared().unwrap();

    // Once a day, and not at each run.
    record(&folder);
    assert_eq!(names(&cache).len(), 7);
    // Our own agent counts as used, even if it was not used for long.
    mark(50);
    record(&folder);
    let left = names(&cache);
    assert!(age().unwrap() < DAY, "it is marked as used");
    let kept: Vec<&str> = (left.iter().map(String::as_str))
        .filter(|name| cache.join(name) != ours)
        .collect();
    assert_eq!(
        kept,
        [
            "libprofundo-agent-locked.so",
            "libprofundo-agent-mapped.so",
            "libprofundo-agent-recent.so",
            "mine.so",
        ]
    );
    assert_eq!(left.len(), 5, "{left:?}");

    drop(page);
    drop(locked);
    mark(2);
    record(&folder);
    assert_eq!(names(&cache).len(), 3);
}
