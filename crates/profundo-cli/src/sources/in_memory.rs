//! The text of files that are on no disk: IPython's cells. It is read from the program's memory as soon as their code is
//! known, because it is gone when the program has ended.

use std::path::Path;
use std::time::{Duration, Instant};

use profundo_model::{FileId, ProcessId, Profile};
use profundo_remote::SourceReader;
use rustc_hash::{FxHashMap, FxHashSet};

use super::command_line;

/// How many bytes are kept altogether.
const MOST_BYTES: usize = 4 << 20;
/// How long programs are looked at, altogether.
const MOST_TIME: Duration = Duration::from_secs(2);

/// Such texts.
#[derive(Debug, Default)]
pub struct InMemory {
    reader: SourceReader,
    /// So many code objects were looked at.
    seen: usize,
    asked: FxHashSet<(ProcessId, FileId)>,
    texts: FxHashMap<FileId, Vec<String>>,
    bytes: usize,
    spent: Duration,
}

impl InMemory {
    /// The lines of a file.
    pub(super) fn lines(&self, file: FileId) -> Option<&[String]> {
        self.texts.get(&file).map(Vec::as_slice)
    }

    /// Looks for the texts of code objects that are new in the profile, and calls cells by their numbers.
    pub fn look(&mut self, profile: &mut Profile) {
        let codes = &profile.growing.codes;
        let new = codes.get(self.seen..).unwrap_or(codes);
        let new: Vec<_> = (new.iter())
            .filter(|code| !self.texts.contains_key(&code.file))
            .map(|code| (code.process, code.file, code.minor))
            .collect();
        self.seen = codes.len();
        for (process, file, minor) in new {
            if self.spent < MOST_TIME && self.asked.insert((process, file)) {
                self.ask(profile, process, file, minor);
            }
        }
    }

    fn ask(&mut self, profile: &mut Profile, process: ProcessId, file: FileId, minor: u8) {
        let Some(pid) = (profile.processes.get(process.index())).map(|it| it.pid) else {
            return;
        };
        let name = profile.strings.get(profile.files.get(file).path);
        if name.starts_with("<frozen ") || name == command_line::STRING || is_on_disk(pid, name) {
            return;
        }
        let began = Instant::now();
        let found = self.reader.read(pid, minor, name);
        self.spent += began.elapsed();
        let Some(found) = found else { return };
        let bytes: usize = found.lines.iter().map(String::len).sum();
        if self.bytes + bytes > MOST_BYTES {
            return;
        }
        self.bytes += bytes;
        self.texts.insert(file, found.lines);
        if let Some(number) = found.cell {
            let rest = profile.strings.intern(&format!("In [{number}]"));
            profile.files.set_rest(file, rest);
        }
    }
}

/// Whether a process finds a file of this name.
fn is_on_disk(pid: u32, name: &str) -> bool {
    let path = match name.strip_prefix('/') {
        Some(inside) => format!("/proc/{pid}/root/{inside}"),
        None => format!("/proc/{pid}/cwd/{name}"),
    };
    Path::new(&path).exists() || Path::new(name).exists()
}
