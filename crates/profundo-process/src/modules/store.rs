//! All mapped files of any process, each read and compiled once.

use std::collections::HashMap;
use std::ffi::OsStr;
use std::fs::{self, File, Metadata};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Arc, OnceLock};

use profundo_linux::sys;
use profundo_scan::MapLine;
use profundo_unwind::{Module, TableRef};

use super::elf::{Bytes, Elf};
use super::file::{Compiled, FileEntry, Prepared, is_go, prepare};
use super::kept_files;
use super::list::Loaded;
use super::table_cache;
use super::tables::{LONGEST_NAME, Tables};

/// The identity of a file, which distinguishes it from an earlier one of the same path.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
struct Identity {
    device: u64,
    inode: u64,
    size: u64,
    changed: (i64, i64),
    touched: (i64, i64),
}

impl Identity {
    fn of(data: &Metadata) -> Self {
        Self {
            device: data.dev(),
            inode: data.ino(),
            size: data.size(),
            changed: (data.mtime(), data.mtime_nsec()),
            touched: (data.ctime(), data.ctime_nsec()),
        }
    }

    /// The name of a file without a build id.
    fn name(&self) -> Vec<u8> {
        let numbers = [self.device, self.inode, self.size];
        let times =
            [self.changed, self.touched].map(|(seconds, rest)| (seconds << 30 ^ rest) as u64);
        let numbers = numbers.into_iter().chain(times);
        // Its length differs from a build id's.
        let end = [0xFF; LONGEST_NAME - 5 * 8];
        numbers.flat_map(u64::to_ne_bytes).chain(end).collect()
    }
}

type Job = Box<dyn FnOnce() -> (Arc<FileEntry>, Prepared) + Send>;

/// A thread that compiles large files, so that starting programs do not wait.
#[derive(Debug)]
struct Worker {
    jobs: Sender<Job>,
    done: Receiver<(Arc<FileEntry>, Prepared)>,
}

impl Worker {
    fn start() -> Option<Self> {
        let (jobs, waiting) = channel::<Job>();
        let (finished, done) = channel();
        let thread = std::thread::Builder::new().name("profundo".into());
        let compile = move || {
            // The thread ends with the session, at the latest after the current file.
            for job in waiting {
                if finished.send(job()).is_err() {
                    return;
                }
            }
        };
        thread.spawn(compile).ok()?;
        Some(Self { jobs, done })
    }
}

/// The files.
#[derive(Debug)]
pub struct Store {
    files: HashMap<Identity, Option<Arc<FileEntry>>>,
    by_build_id: HashMap<Vec<u8>, Arc<FileEntry>>,
    tables: Tables,
    /// Compiles large files.
    worker: Option<Worker>,
    /// The number of compiled large files: when it changes, lists must be published again.
    pub epoch: u64,
}

impl Store {
    /// Makes the table file in the directory of a session.
    pub fn create(directory: &Path, cache: Option<&Path>) -> std::io::Result<Self> {
        Ok(Self {
            files: HashMap::new(),
            by_build_id: HashMap::new(),
            tables: table_cache::open(directory, cache)?,
            worker: None,
            epoch: 0,
        })
    }

    /// As [`Self::create`], for a directory whose programs cannot reach the user's cache.
    pub fn create_apart(directory: &Path) -> std::io::Result<Self> {
        Ok(Self {
            files: HashMap::new(),
            by_build_id: HashMap::new(),
            tables: table_cache::begin_apart(directory)?,
            worker: None,
            epoch: 0,
        })
    }

    /// Takes the tables compiled since the last call.
    pub fn collect(&mut self) {
        let Some(worker) = &self.worker else { return };
        for (entry, prepared) in worker.done.try_iter() {
            let compiled = prepared.place(&entry.name, &mut self.tables);
            let _ = entry.compiled.set(compiled);
            self.epoch += 1;
        }
    }

    /// The file of a mapping. `None`: there is none, or it is not an ELF file.
    pub fn file(&mut self, pid: u32, line: &MapLine<'_>) -> Option<Arc<FileEntry>> {
        if line.path == b"[vdso]" {
            return self.image(pid, line);
        }
        if line.inode == 0 {
            return None;
        }
        let path = path_in(pid, line);
        let seen = fs::metadata(&path)
            .ok()
            .filter(|data| data.ino() == line.inode);
        // A process that has ended has no root.
        let plain = PathBuf::from(OsStr::from_bytes(line.path));
        let is_it = |data: &Metadata| data.ino() == line.inode && device_of(data) == line.device;
        let (path, seen) = match seen {
            Some(_) => (path, seen),
            None => match fs::metadata(&plain).ok().filter(is_it) {
                Some(data) => (plain, Some(data)),
                None => (path, None),
            },
        };
        let path = match seen {
            Some(_) => path,
            // Removed, or replaced. The kernel still gives it to privileged users.
            None => map_file(pid, line),
        };
        let Some(data) = seen.or_else(|| fs::metadata(&path).ok()) else {
            return self.image(pid, line);
        };
        let identity = Identity::of(&data);
        if let Some(known) = self.files.get(&identity) {
            return known.clone();
        }
        let plain = Path::new(OsStr::from_bytes(line.path));
        let entry = File::open(&path).ok().and_then(|file| {
            let again = file.try_clone();
            let entry = self.entry(Elf::read(file)?, Some(&identity));
            if let Ok(file) = again {
                kept_files::keep(plain, &entry.build_id, &file);
            }
            Some(entry)
        });
        self.files.insert(identity, entry.clone());
        entry
    }

    /// The file read from mapped memory: the vDSO has no other.
    fn image(&mut self, pid: u32, line: &MapLine<'_>) -> Option<Arc<FileEntry>> {
        const LARGEST: u64 = 64 << 20;
        let size = line
            .end
            .checked_sub(line.start)
            .filter(|&size| size <= LARGEST)?;
        if line.offset != 0 {
            return None;
        }
        let mut bytes = vec![0; size as usize];
        let read = sys::read_memory(pid, line.start, &mut bytes);
        bytes.truncate(read);
        Some(self.entry(Elf::read(bytes)?, None))
    }

    fn entry<B: Bytes + Send + 'static>(
        &mut self,
        elf: Elf<B>,
        identity: Option<&Identity>,
    ) -> Arc<FileEntry> {
        let build_id = elf.build_id();
        if !build_id.is_empty()
            && let Some(known) = self.by_build_id.get(&build_id)
        {
            return Arc::clone(known);
        }
        let entry = Arc::new(FileEntry {
            name: match build_id.len() {
                1..LONGEST_NAME => build_id.clone(),
                _ => identity.map_or(Vec::new(), Identity::name),
            },
            build_id: build_id.clone(),
            loads: elf.loads().copied().collect(),
            compiled: OnceLock::new(),
        });
        if let Some(compiled) = self.compiled(elf, &entry) {
            let _ = entry.compiled.set(compiled);
        }
        if !build_id.is_empty() {
            self.by_build_id.insert(build_id, Arc::clone(&entry));
        }
        entry
    }

    /// The compiled table of a file; `None` while it is being compiled.
    fn compiled<B: Bytes + Send + 'static>(
        &mut self,
        elf: Elf<B>,
        entry: &Arc<FileEntry>,
    ) -> Option<Compiled> {
        /// The size of code that takes some ten milliseconds to compile.
        const LARGE: u64 = 6 << 20;
        if let Some(compiled) = self.tables.find(&entry.name) {
            return Some(compiled);
        }
        let is_large = elf.code().is_some_and(|(start, end)| end - start > LARGE);
        if is_large && is_go(&elf.sections()) {
            // It has no tables, and must be known as Go at once.
            return Some(Compiled {
                is_go: true,
                ..Compiled::default()
            });
        }
        if is_large {
            if self.worker.is_none() {
                self.worker = Worker::start();
            }
            if let Some(worker) = &self.worker {
                let entry = Arc::clone(entry);
                let job: Job = Box::new(move || (entry, prepare(&elf)));
                worker.jobs.send(job).ok()?;
                return None;
            }
        }
        Some(prepare(&elf).place(&entry.name, &mut self.tables))
    }

    /// The table of a file that is mapped with this bias.
    pub fn table(&self, compiled: &Compiled, bias: u64) -> TableRef<'_> {
        let base = compiled.base.wrapping_add(bias);
        match compiled.place {
            Some(place) => self.tables.get(place, base),
            None => TableRef {
                base,
                ..TableRef::default()
            },
        }
    }

    /// The module of one range, for our own walks.
    pub fn module(&self, range: (u64, u64), file: Option<&FileEntry>, bias: u64) -> Module<'_> {
        let (start, end) = range;
        let table = match file {
            Some(file) => self.table(file.compiled(), bias),
            None => TableRef::default(),
        };
        Module { start, end, table }
    }

    /// The mark at the start of the tables in a program's memory.
    pub fn mark(&self) -> u64 {
        self.tables.mark
    }

    /// The reason why a table could not be kept; reported once.
    pub fn take_trouble(&mut self) -> Option<std::io::Error> {
        self.tables.trouble.take()
    }

    /// Periodic work: forgets files if there are too many.
    pub fn tidy(&mut self) {
        /// More files than any program has; but a long recording may see many programs.
        const MOST: usize = 1 << 16;
        if self.files.len() > MOST {
            self.files.clear();
        }
    }
}

/// The path as the process sees it: it may have another root.
fn path_in(pid: u32, line: &MapLine<'_>) -> PathBuf {
    let mut path = format!("/proc/{pid}/root").into_bytes();
    path.extend_from_slice(line.path);
    PathBuf::from(OsStr::from_bytes(&path))
}

/// The device, in the kernel's format of maps.
fn device_of(data: &Metadata) -> u64 {
    let device = data.dev();
    u64::from(libc::major(device)) << 32 | u64::from(libc::minor(device))
}

fn map_file(pid: u32, line: &MapLine<'_>) -> PathBuf {
    format!("/proc/{pid}/map_files/{:x}-{:x}", line.start, line.end).into()
}

/// Reads the file of a module of a process.
pub fn open_module(pid: u32, module: &Loaded) -> Option<Elf<File>> {
    let (start, end, _) = *module.ranges.first()?;
    let path = format!("/proc/{pid}/root{}", module.info.path);
    let file = File::open(format!("/proc/{pid}/map_files/{start:x}-{end:x}"));
    Elf::read(file.or_else(|_| File::open(path)).ok()?)
}

/// Reads the executable of a process.
pub fn executable_of(pid: u32) -> Option<Elf<File>> {
    Elf::read(File::open(format!("/proc/{pid}/exe")).ok()?)
}
