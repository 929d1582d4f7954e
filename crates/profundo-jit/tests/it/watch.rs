//! A watch over this very process, with files where a program would put them.

use std::ffi::CString;
use std::fs::{self, OpenOptions};
use std::io::Write;
use std::os::unix::ffi::OsStrExt;
use std::path::PathBuf;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, SystemTime};

use profundo_jit::{Change, Descriptors, Mapped, Watch};
use profundo_testing::Folder;

use crate::jitdump::Dump;

/// There is one perf map in a process.
static MAP: Mutex<()> = Mutex::new(());

struct Map(#[expect(dead_code, reason = "held")] MutexGuard<'static, ()>);

impl Map {
    fn path() -> PathBuf {
        format!("/tmp/perf-{}.map", std::process::id()).into()
    }

    fn take() -> Self {
        let held = MAP.lock().unwrap_or_else(PoisonError::into_inner);
        let _ = fs::remove_file(Self::path());
        Self(held)
    }

    fn add(&self, text: &str) {
        let mut options = OpenOptions::new();
        let mut file = options
            .append(true)
            .create(true)
            .open(Self::path())
            .unwrap();
        file.write_all(text.as_bytes()).unwrap();
    }
}

impl Drop for Map {
    fn drop(&mut self) {
        let _ = fs::remove_file(Self::path());
    }
}

fn names(changes: Vec<Change>) -> Vec<String> {
    let names = changes.into_iter().filter_map(|change| match change {
        Change::Loaded(code) => Some(code.name.to_string()),
        Change::Unloaded { .. } => None,
    });
    names.collect()
}

fn poll(watch: &mut Watch, modules: &[&str]) -> Vec<String> {
    let modules = modules.iter().map(|path| Mapped { path, bias: 0 });
    let nothing = |_: u64, _: &mut [u8]| 0;
    names(watch.poll(modules, &mut Descriptors::default(), &nothing, 5))
}

fn watch() -> Watch {
    Watch::new(std::process::id(), SystemTime::now())
}

#[test]
fn a_perf_map_grows_is_cut_and_is_replaced() {
    let (map, mut watch) = (Map::take(), watch());
    assert!(poll(&mut watch, &[]).is_empty());
    map.add("10 10 a\n20 10 b\n30 1");
    assert_eq!(poll(&mut watch, &[]), ["a", "b"]);
    assert!(poll(&mut watch, &[]).is_empty());
    map.add("0 c\n");
    assert_eq!(poll(&mut watch, &[]), ["c"]);
    // Started anew, in its place and in another file.
    fs::write(Map::path(), "10 10 a\n40 10 d\n").unwrap();
    assert_eq!(poll(&mut watch, &[]), ["d"]);
    let beside = Map::path().with_extension("new");
    fs::write(&beside, "10 10 a\n50 10 e\n60 10 f").unwrap();
    fs::rename(&beside, Map::path()).unwrap();
    assert_eq!(poll(&mut watch, &[]), ["e"]);
    // An open file is read to its end, even without its name.
    map.add("");
    fs::remove_file(Map::path()).unwrap();
    assert_eq!(names(watch.finish([])), ["f"]);
}

#[test]
fn what_is_no_file_of_the_process_is_not_read() {
    let (map, mut watch) = (Map::take(), watch());
    let path = CString::new(Map::path().as_os_str().as_bytes()).unwrap();
    // A pipe would make us wait for ever.
    // SAFETY: the path ends in a NUL.
    assert_eq!(unsafe { libc::mkfifo(path.as_ptr(), 0o600) }, 0);
    assert!(poll(&mut watch, &[]).is_empty());
    fs::remove_file(Map::path()).unwrap();
    let secret = Map::path().with_extension("secret");
    fs::write(&secret, "10 10 secret\n").unwrap();
    std::os::unix::fs::symlink(&secret, Map::path()).unwrap();
    assert!(poll(&mut watch, &[]).is_empty());
    fs::remove_file(Map::path()).unwrap();
    fs::remove_file(&secret).unwrap();
    // The file of another process with that id.
    map.add("10 10 old\n");
    let file = fs::File::options().write(true).open(Map::path()).unwrap();
    let before = SystemTime::now() - Duration::from_secs(3600);
    file.set_modified(before).unwrap();
    assert!(poll(&mut watch, &[]).is_empty());
    map.add("20 10 new\n");
    assert_eq!(poll(&mut watch, &[]), ["old", "new"]);
}

#[test]
fn a_huge_map_is_read_in_pieces_and_bounded() {
    let (map, mut watch) = (Map::take(), watch());
    let lines: String = (1..=1_200_000)
        .map(|start| format!("{start:x}0 10 f\n"))
        .collect();
    map.add(&lines);
    let first = poll(&mut watch, &[]).len();
    assert!((50_000..200_000).contains(&first), "{first}");
    let rest = names(watch.finish([])).len();
    assert_eq!(first + rest, 1 << 20);
    assert!(watch.is_full());
}

#[test]
fn a_dump_is_found_by_its_mapping() {
    let folder = Folder::new("watch");
    let path = folder.join("jit-77.dump");
    let mapped = path.to_str().unwrap();
    let dump = Dump::new(0).load(1, 0x1000, 0x10, 1, "f");
    fs::write(&path, &dump.0).unwrap();
    let mut watch = watch();
    assert_eq!(poll(&mut watch, &["/proc/self/exe", mapped]), ["f"]);
    let more = dump
        .load(2, 0x2000, 0x10, 2, "g")
        .load(3, 0x3000, 0x40, 3, "cut");
    fs::write(&path, &more.0[..more.0.len() - 20]).unwrap();
    assert_eq!(poll(&mut watch, &[mapped]), ["g"]);
    drop(folder);
    assert_eq!(
        names(watch.finish([Mapped {
            path: mapped,
            bias: 0
        }])),
        ["cut"]
    );
}

#[test]
fn a_process_that_is_gone_has_left_its_map() {
    let _map = Map::take();
    let mut child = std::process::Command::new("true").spawn().unwrap();
    child.wait().unwrap();
    let path = PathBuf::from(format!("/tmp/perf-{}.map", child.id()));
    fs::write(&path, "10 10 f\n").unwrap();
    let mut watch = Watch::new(child.id(), SystemTime::now());
    assert_eq!(names(watch.finish([])), ["f"]);
    fs::remove_file(&path).unwrap();
}
