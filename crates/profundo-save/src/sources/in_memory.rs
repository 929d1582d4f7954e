//! Texts that are read while the program runs, because they may be gone or changed when it has
//! ended: of own files, of files that only the program sees, and of texts on no disk, such as
//! IPython's cells. Each is read as soon as code of it is known.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use profundo_analysis::Rules;
use profundo_model::{FileId, ProcessId, Profile, SourceFile};
use profundo_process::reading::SourceReader;
use rustc_hash::FxHashMap;

use super::command_line;
use super::disk::{self, OnDisk, Version};
use super::in_use::InUse;
use super::places::{Found, Places};

/// The total bytes that are kept.
const MOST_BYTES: usize = 4 << 20;
/// The bytes kept of libraries that only the program sees. Own files and cells have the rest.
const MOST_OF_LIBRARIES: usize = 2 << 20;
/// The total time spent on reading from programs.
const MOST_TIME: Duration = Duration::from_secs(2);

/// Texts that were read while the program ran.
#[derive(Debug, Default)]
pub struct InMemory {
    reader: SourceReader,
    found: Places,
    in_use: InUse,
    /// The number of code objects that were examined.
    seen: usize,
    /// The path at which a process finds a file of which it has code, if it is a file.
    places: FxHashMap<(ProcessId, FileId), Option<PathBuf>>,
    files: FxHashMap<FileId, Known>,
    bytes: usize,
    spent: Duration,
}

/// The state of a file.
#[derive(Debug, Default)]
struct Known {
    text: Option<String>,
    state: Option<SourceFile>,
    version: Option<Version>,
    /// A process finds the file where we do.
    is_here: bool,
    /// A process has another file under this name.
    is_elsewhere: bool,
}

impl InMemory {
    /// The text of a file.
    pub(super) fn text(&self, file: FileId) -> Option<&str> {
        self.files.get(&file)?.text.as_deref()
    }

    /// The text of a file that ran, if that is known already.
    pub(super) fn state(&self, file: FileId) -> Option<SourceFile> {
        let known = self.files.get(&file)?;
        (known.state).or(known.is_elsewhere.then_some(SourceFile::Apart))
    }

    /// The earliest time at which a file may have been in use, in nanoseconds since 1970.
    pub(super) fn in_use_since(&self, profile: &Profile, file: FileId) -> u64 {
        self.in_use.since(profile, file)
    }

    /// Notes when the processes of a whole recording began, of which no text was read meanwhile.
    pub fn note_starts(&mut self, profile: &Profile) {
        self.in_use.note_roots(profile);
        self.in_use.note_modules(profile, 0);
    }

    /// Notes the modules that processes have loaded: the profile's mappings from this one on.
    pub fn note_modules(&mut self, profile: &Profile, first: usize) {
        self.in_use.note_modules(profile, first);
    }

    /// Notes the files that native code was compiled from, when it has its names.
    pub(super) fn note_native_files(&mut self, profile: &Profile) {
        self.in_use.note_native_files(profile);
    }

    /// Looks for the texts of new code objects in the profile, and names cells by their numbers.
    pub fn read_new(&mut self, profile: &mut Profile) {
        self.in_use.note_roots(profile);
        let codes = &profile.growing.codes;
        let new = codes.get(self.seen..).unwrap_or(codes);
        let new: BTreeMap<_, _> = (new.iter())
            .map(|code| ((code.process, code.file), code.minor))
            .collect();
        self.seen = codes.len();
        for ((process, file), minor) in new {
            let began = Instant::now();
            match self.places.get(&(process, file)) {
                None => self.ask(profile, process, file, minor),
                Some(None) => {}
                Some(Some(path)) => {
                    let path = path.clone();
                    self.read_again(file, &path);
                }
            }
            self.spent += began.elapsed();
        }
    }

    /// Looks for the texts of files whose functions were counted, and names cells by their numbers.
    pub fn read_counted(
        &mut self,
        profile: &mut Profile,
        process: ProcessId,
        files: impl IntoIterator<Item = FileId>,
    ) {
        let runtime = (profile.processes.get(process.index()))
            .map_or("", |process| profile.strings.get(process.runtime));
        let minor = runtime
            .split('.')
            .nth(1)
            .and_then(|minor| minor.parse().ok());
        let Some(minor) = minor else { return };
        self.in_use.note_roots(profile);
        for file in files {
            if self.places.contains_key(&(process, file)) {
                continue;
            }
            let began = Instant::now();
            self.ask(profile, process, file, minor);
            self.spent += began.elapsed();
        }
    }

    fn ask(&mut self, profile: &mut Profile, process: ProcessId, file: FileId, minor: u8) {
        let since = self.in_use.note(profile, process, file);
        let Some(pid) = (profile.processes.get(process.index())).map(|process| process.pid) else {
            return;
        };
        let name = profile.strings.get(profile.files.get(file).path);
        if name.starts_with("<frozen ") || name == command_line::STRING {
            self.places.insert((process, file), None);
            return;
        }
        let is_library = Rules::new(&profile.meta.mine).is_library_file(name);
        let found = self.found.find(process, pid, name);
        let known = self.files.entry(file).or_default();
        let path = match found {
            Found::Here => {
                known.is_here = true;
                // Libraries rarely change, and there are many of them: they are read at the end.
                (!is_library).then(|| PathBuf::from(name))
            }
            Found::Elsewhere(path) => {
                known.is_elsewhere = true;
                Some(path)
            }
            Found::Nowhere => None,
        };
        let is_file = known.is_here || known.is_elsewhere;
        let has_several = known.is_here && known.is_elsewhere;
        let has_text = known.text.is_some();
        self.places.insert((process, file), path.clone());
        if has_several {
            self.forget(file, SourceFile::Apart);
        } else if self.spent > MOST_TIME {
            // The end of the recording reads what is on disk then.
        } else if let Some(path) = path {
            self.read(file, &path, since, is_library);
        } else if !is_file && !has_text {
            self.read_from_memory(profile, pid, file, minor);
        }
    }

    /// Reads a file again when a process has further code of it: it may have been reloaded.
    fn read_again(&mut self, file: FileId, path: &Path) {
        let Some(known) = self.files.get_mut(&file) else {
            return;
        };
        let (Some(SourceFile::Ran(ran)), Some(before)) = (known.state, known.version) else {
            return;
        };
        let Some(now) = Version::of(path).filter(|now| *now != before) else {
            return;
        };
        if disk::fingerprint(path, now) == Some(ran) {
            known.version = Some(now);
        } else {
            self.forget(file, SourceFile::Rewritten);
        }
    }

    /// Reads a file. All processes have to run the same text under its name.
    fn read(&mut self, file: FileId, path: &Path, since: u64, is_library: bool) {
        let most = if is_library {
            MOST_OF_LIBRARIES
        } else {
            MOST_BYTES
        };
        let Some(known) = self.files.get_mut(&file) else {
            return;
        };
        match known.state {
            Some(SourceFile::Rewritten | SourceFile::Apart) => {}
            // This process began before the text was written, and another one after it.
            Some(SourceFile::Ran(_))
                if (known.version).is_some_and(|version| version.is_later(since, is_library)) =>
            {
                self.forget(file, SourceFile::Rewritten);
            }
            Some(SourceFile::Ran(_)) if known.version == Version::of(path) => {}
            Some(SourceFile::Ran(ran)) => {
                let now = Version::of(path);
                let other = match known.is_elsewhere {
                    true => SourceFile::Apart,
                    false => SourceFile::Rewritten,
                };
                if now.and_then(|now| disk::fingerprint(path, now)) != Some(ran) {
                    self.forget(file, other);
                }
            }
            None if self.bytes >= most => {}
            None => {
                let found = OnDisk::read(path, since, is_library);
                let has_room =
                    self.bytes + found.text.as_ref().map_or(0, String::len) <= MOST_BYTES;
                if !has_room && !known.is_elsewhere {
                    // The file is read at the end.
                    return;
                }
                known.state = found.state;
                known.version = found.version;
                if let Some(text) = found.text {
                    self.keep(file, text);
                }
            }
        }
    }

    /// Forgets the text: it is no longer known which one ran.
    fn forget(&mut self, file: FileId, state: SourceFile) {
        let known = self.files.entry(file).or_default();
        known.state = Some(state);
        if let Some(text) = known.text.take() {
            self.bytes -= text.len();
        }
    }

    fn keep(&mut self, file: FileId, text: String) {
        if self.bytes + text.len() <= MOST_BYTES {
            self.bytes += text.len();
            self.files.entry(file).or_default().text = Some(text);
        }
    }

    fn read_from_memory(&mut self, profile: &mut Profile, pid: u32, file: FileId, minor: u8) {
        let name = profile.strings.get(profile.files.get(file).path);
        let Some(found) = self.reader.read(pid, minor, name) else {
            return;
        };
        self.keep(file, found.lines.join("\n"));
        if let Some(number) = found.cell {
            let rest = profile.strings.intern(&format!("In [{number}]"));
            profile.files.set_rest(file, rest);
        }
    }
}
