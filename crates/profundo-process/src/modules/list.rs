//! The modules of one process, with those loaded and unloaded since the last refresh.

use std::sync::Arc;

use profundo_scan::{MapLine, executable};
use profundo_unwind::Module;
use profundo_wire::recording::ModuleInfo;

use super::called;
use super::file::FileEntry;
use super::mapping_history::MappingHistory;
use super::store::Store;

/// A mapped module.
#[derive(Debug, Clone)]
pub struct Loaded {
    /// The module as it is recorded.
    pub info: ModuleInfo,
    /// Its file, if it could be opened.
    pub file: Option<Arc<FileEntry>>,
    /// The executable ranges, each with its offset in the file.
    pub ranges: Vec<(u64, u64, u64)>,
    device: u64,
    inode: u64,
}

impl Loaded {
    /// A module of one range.
    pub fn new(pid: u32, line: &MapLine<'_>, now: u64, store: &mut Store) -> Self {
        let file = store.file(pid, line);
        let bias = match &file {
            Some(file) => file.bias(line.start, line.offset),
            None => None,
        };
        let (bias, start, end) = match (&file, bias) {
            (Some(file), Some(bias)) => {
                let (start, end) = file.extent();
                (bias, start.wrapping_add(bias), end.wrapping_add(bias))
            }
            _ => (line.start.wrapping_sub(line.offset), line.start, line.end),
        };
        let build_id = file.as_ref().map(|file| file.build_id.clone());
        Self {
            info: ModuleInfo {
                path: name_of(line),
                start,
                end,
                bias,
                build_id: build_id.unwrap_or_default(),
                loaded: now,
                unloaded: u64::MAX,
            },
            file,
            ranges: vec![(line.start, line.end, line.offset)],
            device: line.device,
            inode: line.inode,
        }
    }

    /// Its ranges as lines of `/proc/PID/maps`, without the path.
    pub fn lines(&self) -> impl Iterator<Item = MapLine<'static>> {
        let ranges = self.ranges.iter();
        ranges.map(|&(start, end, offset)| MapLine {
            start,
            end,
            offset,
            device: self.device,
            inode: self.inode,
            path: b"",
        })
    }

    /// Whether the line is one of its ranges.
    pub fn has(&self, line: &MapLine<'_>) -> bool {
        self.lines().any(|own| own.is_same(line))
    }

    /// One of its ranges for our own walks.
    pub fn module<'a>(&self, line: &MapLine<'_>, store: &'a Store) -> Module<'a> {
        let range = (line.start, line.end);
        store.module(range, self.file.as_deref(), self.info.bias)
    }

    /// Whether its table is being compiled.
    pub fn is_being_compiled(&self) -> bool {
        let file = self.file.as_ref();
        file.is_some_and(|file| file.compiled.get().is_none())
    }
}

/// The result of a refresh.
#[derive(Debug, Default)]
pub struct Changes {
    /// New modules, and unloaded ones with their time.
    pub modules: Vec<ModuleInfo>,
    /// Whether the list must be published.
    pub any: bool,
}

/// The modules of a process.
#[derive(Debug, Clone, Default)]
pub struct ModuleList {
    loaded: Vec<Loaded>,
}

impl ModuleList {
    /// The mapped modules.
    pub fn loaded(&self) -> &[Loaded] {
        &self.loaded
    }

    /// All modules, as recorded in a process that begins with them.
    pub fn infos(&self, now: u64) -> Vec<ModuleInfo> {
        let infos = self.loaded.iter().map(|module| module.info.clone());
        infos
            .map(|info| ModuleInfo {
                loaded: now,
                ..info
            })
            .collect()
    }

    /// Whether there is executable memory without a file, as JIT compilers make it.
    pub fn has_generated_code(&self) -> bool {
        let mut loaded = self.loaded.iter();
        loaded.any(|module| module.file.is_none() && module.info.path != "[vdso]")
    }

    /// The files that are mapped.
    pub fn mapped(&self) -> impl Iterator<Item = profundo_jit::Mapped<'_>> {
        self.loaded.iter().map(|module| profundo_jit::Mapped {
            path: &module.info.path,
            bias: module.info.bias,
        })
    }

    /// The module that holds the interpreter's evaluation loop.
    pub fn interpreter(&self) -> Option<&Loaded> {
        self.loaded.iter().find(|module| {
            let file = module.file.as_ref();
            file.is_some_and(|file| !file.compiled().evaluation.is_empty())
        })
    }

    /// The version of a loaded Python 2, as 2.7: its evaluation loop is not known.
    pub fn python_2(&self) -> Option<&str> {
        let mut paths = self.loaded.iter().map(|module| &*module.info.path);
        paths.find_map(python_2_in)
    }

    /// Whether a range is listed.
    pub fn has(&self, line: &MapLine<'_>) -> bool {
        self.loaded.iter().any(|module| module.has(line))
    }

    /// The ranges of code whose tables are being compiled.
    pub fn being_compiled(&self) -> Vec<(u64, u64)> {
        let waiting = self
            .loaded
            .iter()
            .filter(|module| module.is_being_compiled());
        let ranges = waiting.flat_map(|module| &module.ranges);
        ranges.map(|&(start, end, _)| (start, end)).collect()
    }

    /// The ranges of the evaluation loop in the process.
    pub fn evaluation(&self) -> Vec<(u64, u64)> {
        let Some(module) = self.interpreter() else {
            return Vec::new();
        };
        let file = module.file.iter();
        file.flat_map(|file| &file.compiled().evaluation)
            .map(|&(start, end)| {
                let bias = module.info.bias;
                (start.wrapping_add(bias), end.wrapping_add(bias))
            })
            .collect()
    }

    /// Compares the list with the text of `/proc/PID/maps`. `history` knows when new mappings were
    /// made.
    pub fn refresh(
        &mut self,
        pid: u32,
        maps: &[u8],
        now: u64,
        history: &MappingHistory,
        store: &mut Store,
    ) -> Changes {
        let lines: Vec<MapLine<'_>> = executable(maps)
            .filter(|line| line.path != b"[vsyscall]")
            .collect();
        let mut changes = Changes::default();
        // Two ranges are the same if their bounds and their file are.
        let is_there = |module: &Loaded, range: &(u64, u64, u64)| {
            let at = lines.partition_point(|line| line.start < range.0);
            lines.get(at).is_some_and(|line| {
                (line.start, line.end, line.offset) == *range
                    && (line.device, line.inode) == (module.device, module.inode)
            })
        };
        self.loaded.retain_mut(|module| {
            let ranges = module.ranges.len();
            let mut kept = std::mem::take(&mut module.ranges);
            kept.retain(|range| is_there(module, range));
            module.ranges = kept;
            changes.any |= module.ranges.len() != ranges;
            if module.ranges.is_empty() {
                let info = module.info.clone();
                let until = history.until(info.loaded, info.start, info.end);
                changes.modules.push(ModuleInfo {
                    unloaded: until.unwrap_or(now),
                    ..info
                });
            }
            !module.ranges.is_empty()
        });
        let mut known: Vec<u64> = self
            .loaded
            .iter()
            .flat_map(|module| module.ranges.iter().map(|range| range.0))
            .collect();
        known.sort_unstable();
        for line in &lines {
            if known.binary_search(&line.start).is_err() {
                changes.any = true;
                let came = history.came(line).unwrap_or(now);
                changes.modules.extend(self.add(pid, line, came, store));
            }
        }
        changes
    }

    /// Adds a range. Returns the module if it is new.
    pub fn add(
        &mut self,
        pid: u32,
        line: &MapLine<'_>,
        now: u64,
        store: &mut Store,
    ) -> Option<ModuleInfo> {
        let mut new = Loaded::new(pid, line, now, store);
        // The program's own file is mapped before all others.
        if self.loaded.is_empty()
            && line.path.starts_with(b"/")
            && let Some(path) = called::path(pid, line)
        {
            new.info.path = path;
        }
        let same = self.loaded.iter_mut().find(|module| {
            let identity = |module: &Loaded| (module.device, module.inode, module.info.bias);
            identity(module) == identity(&new) && line.inode != 0
        });
        if let Some(module) = same {
            module.ranges.extend(new.ranges);
            return None;
        }
        let info = new.info.clone();
        self.loaded.push(new);
        Some(info)
    }
}

fn name_of(line: &MapLine<'_>) -> String {
    match line.plain_path() {
        b"" => "[JIT]".into(),
        path => String::from_utf8_lossy(path).into_owned(),
    }
}

/// The 2.7 of `/usr/lib/libpython2.7.so.1.0` and of `/usr/bin/python2.7`.
fn python_2_in(path: &str) -> Option<&str> {
    let name = path.rsplit('/').next()?;
    let name = name.strip_prefix("lib").unwrap_or(name);
    let version = name.strip_prefix("python")?;
    let minor = version.strip_prefix("2.")?;
    let digits = minor.bytes().take_while(u8::is_ascii_digit).count();
    (digits > 0).then(|| version.get(..2 + digits))?
}

#[cfg(test)]
mod tests {
    use super::*;
    use profundo_session::Directory;

    #[test]
    fn python_2_is_known_by_its_name() {
        assert_eq!(python_2_in("/usr/lib/libpython2.7.so.1.0"), Some("2.7"));
        assert_eq!(python_2_in("/usr/bin/python2.7"), Some("2.7"));
        assert_eq!(python_2_in("/usr/bin/python3.12"), None);
        assert_eq!(python_2_in("/usr/lib/libpython3.2.so"), None);
        assert_eq!(python_2_in("/usr/bin/python2"), None);
    }

    #[test]
    fn modules_come_and_go() {
        let directory = Directory::create(None).unwrap();
        let cache = directory.path().join("cache");
        let mut store = Store::create(directory.path(), Some(&cache)).unwrap();
        let maps = std::fs::read("/proc/self/maps").unwrap();
        let pid = std::process::id();
        let mut list = ModuleList::default();
        let changes = list.refresh(pid, &maps, 5, &MappingHistory::default(), &mut store);
        assert!(changes.any);
        let vdso = changes.modules.iter().find(|info| info.path == "[vdso]");
        assert!(vdso.is_some_and(|info| !info.build_id.is_empty()));
        let here = modules_come_and_go as fn() as usize as u64;
        let this_module = list
            .loaded()
            .iter()
            .find(|module| (module.info.start..module.info.end).contains(&here));
        let this_module = this_module.unwrap();
        let compiled = this_module.file.as_ref().unwrap().compiled();
        let table = store.table(compiled, this_module.info.bias);
        table.find(here).expect("our own code");
        assert!(list.interpreter().is_none());
        // Nothing has changed; then a library is unloaded.
        let changes = list.refresh(pid, &maps, 6, &MappingHistory::default(), &mut store);
        assert!(!changes.any && changes.modules.is_empty());
        let text = String::from_utf8(maps).unwrap();
        let fewer: String = text
            .split_inclusive('\n')
            .filter(|line| !line.contains("libc.so"))
            .collect();
        let changes = list.refresh(
            pid,
            fewer.as_bytes(),
            7,
            &MappingHistory::default(),
            &mut store,
        );
        assert_eq!(changes.modules.len(), 1);
        assert_eq!(changes.modules[0].unloaded, 7);
        // A second session finds all tables compiled.
        drop(store);
        let other = Directory::create(None).unwrap();
        let mut store = Store::create(other.path(), Some(&cache)).unwrap();
        let mut list = ModuleList::default();
        let _ = list.refresh(
            pid,
            text.as_bytes(),
            5,
            &MappingHistory::default(),
            &mut store,
        );
        let this_module = list
            .loaded()
            .iter()
            .find(|module| (module.info.start..module.info.end).contains(&here));
        let this_module = this_module.unwrap();
        let file = this_module.file.as_ref().unwrap();
        assert!(
            store
                .table(file.compiled(), this_module.info.bias)
                .find(here)
                .is_some()
        );
        let _ = std::fs::remove_dir_all(cache);
    }

    #[test]
    fn generated_code_is_listed_without_a_table() {
        let directory = Directory::create(None).unwrap();
        let cache = directory.path().join("cache");
        let mut store = Store::create(directory.path(), Some(&cache)).unwrap();
        let mut list = ModuleList::default();
        let maps = b"7f0000000000-7f0000001000 rwxp 00000000 00:00 0\n";
        let changes = list.refresh(1, maps, 5, &MappingHistory::default(), &mut store);
        assert_eq!(changes.modules[0].path, "[JIT]");
        let grown = b"7f0000000000-7f0000002000 rwxp 00000000 00:00 0\n";
        let changes = list.refresh(1, grown, 6, &MappingHistory::default(), &mut store);
        assert_eq!(changes.modules.len(), 2);
        assert_eq!(list.loaded().len(), 1);
        let _ = std::fs::remove_dir_all(cache);
    }
}
