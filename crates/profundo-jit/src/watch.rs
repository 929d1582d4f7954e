//! One process's announcements of generated code, polled from time to time.

use std::fs::{self, File};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use rustc_hash::FxHashSet;

use crate::code::{At, Change};
use crate::descriptor::Descriptors;
use crate::files::{self, Bytes};
use crate::gdb::{Memory, Registered};
use crate::jitdump::JitDump;
use crate::perf_map::PerfMap;

/// The limits of one poll, in bytes of a perf map and records of a jitdump file: it is to take some
/// milliseconds at most.
const MAP_AT_ONCE: usize = 1 << 20;
const DUMP_AT_ONCE: usize = 1 << 14;
/// The limit for a whole perf map.
const LARGEST_MAP: u64 = 256 << 20;
/// The largest number of pieces of code of one process. A program with more never stops compiling,
/// and would fill our memory.
const MOST_CODES: usize = 1 << 20;

/// A file that is mapped into the process with permission to execute.
#[derive(Debug, Clone, Copy)]
pub struct Mapped<'a> {
    /// Its path, as the process sees it.
    pub path: &'a str,
    /// The load bias.
    pub bias: u64,
}

/// The state of one process.
#[derive(Debug)]
pub struct Watch {
    pid: u32,
    /// Older files are those of another process with the same id.
    began: SystemTime,
    /// Its id in its own namespace, and its user; gone with the process.
    namespace_pid: Option<u32>,
    owner: Option<u32>,
    map: Option<Map>,
    dumps: Vec<Dump>,
    /// Files that were searched for the head of GDB's list.
    searched: FxHashSet<PathBuf>,
    lists: Vec<(u64, Registered)>,
    /// The beginning of the last poll.
    last_poll: At,
    /// The number of changes so far.
    reported: usize,
}

#[derive(Debug)]
struct Map {
    file: File,
    /// Device and inode.
    identity: (u64, u64),
    offset: u64,
    reader: PerfMap,
}

#[derive(Debug)]
struct Dump {
    path: PathBuf,
    file: File,
    reader: JitDump,
}

impl Watch {
    /// Watches a process that began at `began` or earlier, if `/proc` says so: its observer need
    /// not know the time.
    pub fn new(pid: u32, began: SystemTime) -> Self {
        let began = files::began(pid).map_or(began, |forked| forked.min(began));
        Self {
            pid,
            began,
            namespace_pid: None,
            owner: None,
            map: None,
            dumps: Vec::new(),
            searched: FxHashSet::default(),
            lists: Vec::new(),
            last_poll: At::Always,
            reported: 0,
        }
    }

    /// True if the limit is reached, so that the rest is dropped.
    pub fn is_full(&self) -> bool {
        self.reported >= MOST_CODES
    }

    /// Polls the living process, whose memory `memory` reads. Returns the changes since the last
    /// poll, in their order. `now` is the time on the monotonic clock.
    pub fn poll<'a>(
        &mut self,
        modules: impl IntoIterator<Item = Mapped<'a>>,
        descriptors: &mut Descriptors,
        memory: &dyn Memory,
        now: u64,
    ) -> Vec<Change> {
        let mut out = Vec::new();
        self.namespace_pid = self
            .namespace_pid
            .or_else(|| files::namespace_pid(self.pid));
        self.owner = files::owner(self.pid).or(self.owner);
        for module in modules {
            if !self.open_dump(module.path) {
                self.search(module, descriptors);
            }
        }
        self.open_map();
        let since = std::mem::replace(&mut self.last_poll, At::Monotonic(now));
        if let Some(map) = &mut self.map {
            map.read(MAP_AT_ONCE, since, &mut out);
        }
        for dump in &mut self.dumps {
            dump.reader.read(&dump.file, DUMP_AT_ONCE, &mut out);
        }
        for (descriptor, list) in &mut self.lists {
            list.poll(*descriptor, memory, since, self.last_poll, &mut out);
        }
        self.count(out)
    }

    /// The process has ended: reads the rest of its files, if they are still there.
    pub fn finish<'a>(&mut self, modules: impl IntoIterator<Item = Mapped<'a>>) -> Vec<Change> {
        let mut out = Vec::new();
        for module in modules {
            self.open_dump(module.path);
        }
        self.open_map();
        let since = self.last_poll;
        if let Some(map) = &mut self.map {
            while out.len() < MOST_CODES && map.read(MAP_AT_ONCE, since, &mut out) {}
            map.reader.finish(since, &mut out);
        }
        for dump in &mut self.dumps {
            while out.len() < MOST_CODES && dump.reader.read(&dump.file, DUMP_AT_ONCE, &mut out) {}
            dump.reader.finish(&dump.file, &mut out);
        }
        self.count(out)
    }

    fn count(&mut self, mut changes: Vec<Change>) -> Vec<Change> {
        changes.truncate(MOST_CODES.saturating_sub(self.reported));
        self.reported += changes.len();
        changes
    }

    /// A file by the process's path; by ours where the process is gone.
    fn open(&self, path: &Path) -> Option<File> {
        let mut owners = vec![files::current_user()];
        owners.extend(self.owner);
        files::open(&files::in_process(self.pid, path), &owners).or_else(|| {
            (self.owner.is_none() || self.is_gone()).then(|| files::open(path, &owners))?
        })
    }

    fn is_gone(&self) -> bool {
        fs::symlink_metadata(format!("/proc/{}/root/", self.pid)).is_err()
    }

    /// Opens the perf map, or its replacement.
    fn open_map(&mut self) {
        /// The delay of file clocks.
        const BEHIND: Duration = Duration::from_secs(1);
        let pid = self.namespace_pid.unwrap_or(self.pid);
        let path = PathBuf::from(format!("/tmp/perf-{pid}.map"));
        let Some(file) = self.open(&path) else {
            return;
        };
        let Ok(data) = file.metadata() else { return };
        let is_stale = data.modified().is_ok_and(|time| time + BEHIND < self.began);
        let identity = (data.dev(), data.ino());
        if is_stale
            || self
                .map
                .as_ref()
                .is_some_and(|map| map.identity == identity)
        {
            return;
        }
        let mut reader = PerfMap::default();
        if let Some(before) = self.map.take() {
            reader = before.reader;
            reader.restart();
        }
        self.map = Some(Map {
            file,
            identity,
            offset: 0,
            reader,
        });
    }

    /// Opens a jitdump file, if a module is one: a program maps a page of it as executable only to
    /// announce it. Returns whether it is one.
    fn open_dump(&mut self, path: &str) -> bool {
        let path = path.strip_suffix(" (deleted)").unwrap_or(path);
        let path = Path::new(path);
        let name = path.file_name().and_then(|name| name.to_str());
        let is_dump = name.is_some_and(|name| name.starts_with("jit-") && name.ends_with(".dump"));
        if is_dump
            && !self.dumps.iter().any(|dump| dump.path == path)
            && let Some(file) = self.open(path)
        {
            self.dumps.push(Dump {
                path: path.into(),
                file,
                reader: JitDump::default(),
            });
        }
        is_dump
    }

    /// Searches a module for the head of GDB's list.
    fn search(&mut self, module: Mapped<'_>, descriptors: &mut Descriptors) {
        let path = Path::new(module.path);
        if !path.is_absolute() || self.searched.contains(path) {
            return;
        }
        self.searched.insert(path.into());
        if let Some(address) = descriptors.find(&files::in_process(self.pid, path)) {
            let descriptor = address.wrapping_add(module.bias);
            self.lists.push((descriptor, Registered::default()));
        }
    }
}

impl Map {
    /// Reads the next `most` bytes. Returns whether there may be more.
    fn read(&mut self, most: usize, since: At, out: &mut Vec<Change>) -> bool {
        if self.offset > 0 && !self.file.reaches(self.offset) {
            self.reader.restart();
            self.offset = 0;
        }
        if self.offset >= LARGEST_MAP {
            return false;
        }
        let mut bytes = vec![0; most];
        let read = self.file.read_at(self.offset, &mut bytes);
        self.offset += read as u64;
        self.reader
            .feed(bytes.get(..read).unwrap_or_default(), since, out);
        read == most
    }
}
