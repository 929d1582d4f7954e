//! Names that are not in files with symbols: of generated code, from the lists that programs write
//! (`perf-PID.map`), and of the running kernel.

use std::collections::BTreeMap;
use std::fs::{self, File};
use std::io::Read;
use std::path::{Path, PathBuf};

use profundo_jit::{At, Change, PerfMap};
use rustc_hash::FxHashMap;

use super::elf::build_id_in;

/// The functions that a process has generated, by address.
type Functions = BTreeMap<u64, (u64, Box<str>)>;

/// The lists of generated code, read when they are needed.
#[derive(Debug, Default)]
pub(super) struct GeneratedCode {
    folders: Vec<PathBuf>,
    by_pid: FxHashMap<u32, Functions>,
}

impl GeneratedCode {
    /// Looks for lists beside the recording, and where programs write them.
    pub(super) fn beside(recording: Option<&Path>) -> Self {
        let beside = recording.and_then(Path::parent).map(Path::to_owned);
        // A recording without a path says nothing of this machine.
        let written = recording.map(|_| PathBuf::from("/tmp"));
        Self {
            folders: beside.into_iter().chain(written).collect(),
            by_pid: FxHashMap::default(),
        }
    }

    /// The name of the function at an address.
    pub(super) fn name(&mut self, pid: u32, address: u64) -> Option<&str> {
        let folders = &self.folders;
        let functions = (self.by_pid.entry(pid)).or_insert_with(|| functions(folders, pid));
        let (start, (size, name)) = functions.range(..=address).next_back()?;
        (address - start < *size).then_some(name)
    }
}

fn functions(folders: &[PathBuf], pid: u32) -> Functions {
    let mut found = Functions::new();
    let paths = folders.iter().map(|it| it.join(format!("perf-{pid}.map")));
    for path in paths {
        if let Some(text) = read(&path) {
            let (mut map, mut changes) = (PerfMap::default(), Vec::new());
            map.feed(&text, At::Always, &mut changes);
            map.finish(At::Always, &mut changes);
            for change in changes {
                if let Change::Loaded(code) = change {
                    found.insert(code.start, (code.size, (*code.name).into()));
                }
            }
            break;
        }
    }
    found
}

/// A file of moderate size.
fn read(path: &Path) -> Option<Vec<u8>> {
    const MOST: u64 = 1 << 28;
    if !fs::metadata(path).is_ok_and(|about| about.is_file()) {
        return None;
    }
    let mut text = Vec::new();
    File::open(path)
        .ok()?
        .take(MOST)
        .read_to_end(&mut text)
        .ok()?;
    Some(text)
}

/// The functions of the kernel, where the one that runs is the one of the recording.
#[derive(Debug, Default)]
pub(super) struct KernelFunctions {
    text: String,
    /// The addresses, and where their names stand in the text.
    starts: Vec<(u64, (usize, usize))>,
}

/// The kernel in a recording.
#[derive(Debug, Clone, Default)]
pub(super) struct KernelMark {
    /// Its build id; empty where the recording has none.
    pub build_id: Vec<u8>,
    pub release: String,
    /// A symbol, and its address since that start of the machine.
    pub symbol: Option<(String, u64)>,
}

impl KernelFunctions {
    /// Reads the running kernel's table, if it is the recording's kernel since the same start of
    /// the machine.
    pub(super) fn read(mark: &KernelMark) -> Self {
        let is_same = || match &mark.build_id[..] {
            [] => {
                let release = read(Path::new("/proc/sys/kernel/osrelease"))?;
                Some(release.trim_ascii_end() == mark.release.as_bytes())
            }
            build_id => {
                let notes = read(Path::new("/sys/kernel/notes"))?;
                Some(build_id_in(&notes)? == build_id)
            }
        };
        if is_same() != Some(true) {
            return Self::default();
        }
        let text = read(Path::new("/proc/kallsyms")).and_then(|text| String::from_utf8(text).ok());
        Self::parse(text.unwrap_or_default(), mark)
    }

    fn parse(text: String, mark: &KernelMark) -> Self {
        let mut starts = Vec::new();
        let mut is_same_start = false;
        let mut at = 0;
        for line in text.split_inclusive('\n') {
            let start = at;
            at += line.len();
            let mut words = line.split_ascii_whitespace();
            let (Some(address), Some(kind), Some(name)) =
                (words.next(), words.next(), words.next())
            else {
                continue;
            };
            let Ok(address) = u64::from_str_radix(address, 16) else {
                continue;
            };
            if let Some((symbol, there)) = &mark.symbol
                && symbol == name
            {
                is_same_start = *there == address;
            }
            if matches!(kind, "t" | "T" | "w" | "W") {
                let offset = line.find(name).unwrap_or(0);
                starts.push((address, (start + offset, name.len())));
            }
        }
        if !is_same_start {
            return Self::default();
        }
        starts.sort_by_key(|&(address, _)| address);
        Self { text, starts }
    }

    pub(super) fn is_empty(&self) -> bool {
        self.starts.is_empty()
    }

    pub(super) fn name(&self, address: u64) -> Option<&str> {
        /// Functions are smaller. What is farther from any is no code of the kernel's.
        const LARGEST: u64 = 1 << 20;
        let behind = self.starts.partition_point(|&(start, _)| start <= address);
        let (start, (at, size)) = self.starts.get(behind.checked_sub(1)?)?;
        if address - start > LARGEST {
            return None;
        }
        // The bytes before a function's first one have a name of their own.
        let name = self.text.get(*at..at + size)?;
        Some(name.strip_prefix("__pfx_").unwrap_or(name))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_kernels_table_is_used_for_the_same_start_of_the_machine() {
        const TEXT: &str = "ffffffff81000000 T _text\nffffffff810000f0 t __pfx_do_work\nffffffff81000100 t do_work\n\
                            ffffffff82000000 d data\nffffffffc0000010 t in_module\t[ext4]\n";
        let read = |address| {
            let mark = KernelMark {
                symbol: Some(("_text".to_owned(), address)),
                ..KernelMark::default()
            };
            KernelFunctions::parse(TEXT.to_owned(), &mark)
        };
        let table = read(0xffff_ffff_8100_0000);
        assert_eq!(table.name(0xffff_ffff_8100_01ff), Some("do_work"));
        assert_eq!(table.name(0xffff_ffff_8100_00ff), Some("do_work"));
        assert_eq!(table.name(0xffff_ffff_c000_0020), Some("in_module"));
        assert_eq!(table.name(0xffff_ffff_8000_0000), None);
        assert_eq!(
            read(0xffff_ffff_9900_0000).name(0xffff_ffff_8100_01ff),
            None
        );
    }

    #[test]
    fn generated_code_is_looked_up_beside_the_recording() {
        let folder = std::env::temp_dir().join(format!("profundo-perf-{}", std::process::id()));
        fs::create_dir_all(&folder).unwrap();
        fs::write(folder.join("perf-7.map"), "1000 10 py::hot:/x.py\n").unwrap();
        let mut code = GeneratedCode::beside(Some(&folder.join("perf.data")));
        assert_eq!(code.name(7, 0x100f), Some("py::hot:/x.py"));
        assert_eq!(code.name(7, 0x1010), None);
        assert_eq!(code.name(8, 0x1000), None);
        fs::remove_dir_all(&folder).unwrap();
    }
}
