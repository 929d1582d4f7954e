//! The hot source lines. A recording contains them so that it can be read where the files are
//! missing or have changed.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use profundo_analysis::{Rules, is_library_file};
use profundo_model::{FileId, FrameId, Language, LocationId, Profile, SourceFile};
use rustc_hash::{FxHashMap, FxHashSet};

use command_line::Programs;
use disk::OnDisk;

pub use in_memory::InMemory;

mod command_line;
mod disk;
mod in_memory;
mod in_use;
mod places;
mod zipped;

/// Lines of context around a line.
const AROUND: u32 = 2;
/// A file of at most this many lines is kept whole: its text as a whole shows whether it only
/// starts a library.
const SHORT_FILE: usize = 40;
/// A longer line is data, or generated.
const LONGEST_LINE: usize = 400;
/// The total size of the text that is kept.
const MOST_BYTES: usize = 1 << 20;
/// The number of files that get a fingerprint, and the bytes read for it.
const MOST_FILES: usize = 600;
const MOST_READ: usize = 8 << 20;

/// Reads the lines on which time was spent, the hottest first, as far as there is room, and notes
/// which text of their files ran. `weights` are those of the stacks.
pub fn keep(profile: &mut Profile, weights: &[u64], in_memory: &mut InMemory) {
    in_memory.note_native_files(profile);
    let in_memory = &*in_memory;
    let mut hot: Vec<((FileId, u32), u64)> = by_line(profile, weights).into_iter().collect();
    hot.sort_unstable_by_key(|&(place, weight)| (std::cmp::Reverse(weight), place));
    let mut files = Files::default();
    let mut kept: BTreeSet<(FileId, u32)> = BTreeSet::new();
    let programs = Programs::of(profile);
    let mut room = MOST_BYTES;
    'hot: for &((file, line), _) in &hot {
        let path = profile.strings.get(profile.files.get(file).path);
        let is_program = path == command_line::STRING;
        let texts = if is_program {
            programs.of_line(line)
        } else {
            files.lines(profile, in_memory, file)
        };
        let Some(texts) = texts else { continue };
        let around = if texts.len() <= SHORT_FILE {
            1..=SHORT_FILE as u32
        } else {
            line.saturating_sub(AROUND).max(1)..=line.saturating_add(AROUND)
        };
        for number in around {
            let Some(text) = texts.get(number as usize - 1) else {
                break;
            };
            if is_program && number != line && !programs.may_surround(number) {
                continue;
            }
            if text.len() > room {
                break 'hot;
            }
            if text.len() <= LONGEST_LINE && kept.insert((file, number)) {
                room -= text.len();
                let id = profile.strings.intern(text);
                profile.sources.insert(file, number, id);
            }
        }
    }
    let all: Vec<FileId> = hot.into_iter().map(|((file, _), _)| file).collect();
    profile.source_files = files.states(profile, in_memory, all);
}

/// The files that were read.
#[derive(Debug, Default)]
struct Files {
    lines: FxHashMap<FileId, Option<Vec<String>>>,
    states: BTreeMap<FileId, SourceFile>,
    bytes: usize,
}

impl Files {
    fn lines(
        &mut self,
        profile: &Profile,
        in_memory: &InMemory,
        file: FileId,
    ) -> Option<&[String]> {
        if !self.lines.contains_key(&file) {
            let split = |text: &str| text.lines().map(str::to_owned).collect();
            let known = in_memory.text(file).map(split);
            let lines = known.or_else(|| {
                self.read(profile, in_memory, file)?
                    .text
                    .as_deref()
                    .map(split)
            });
            self.lines.insert(file, lines);
        }
        self.lines.get(&file)?.as_deref()
    }

    /// Reads a file of which it is unknown which text ran.
    fn read(&mut self, profile: &Profile, in_memory: &InMemory, file: FileId) -> Option<OnDisk> {
        if let Some(state) = in_memory.state(file) {
            self.states.insert(file, state);
            return None;
        }
        let path = profile.strings.get(profile.files.get(file).path);
        let since = in_memory.in_use_since(profile, file);
        let is_library = Rules::new(&profile.meta.mine).is_library_file(path);
        let found = OnDisk::read(Path::new(path), since, is_library);
        self.bytes += found.text.as_ref().map_or(0, String::len);
        self.states.extend(found.state.map(|state| (file, state)));
        Some(found)
    }

    /// The text of each of these files that ran: libraries last, since those rarely change.
    fn states(
        mut self,
        profile: &Profile,
        in_memory: &InMemory,
        files: Vec<FileId>,
    ) -> BTreeMap<FileId, SourceFile> {
        let mut seen = FxHashSet::default();
        let rules = Rules::new(&profile.meta.mine);
        let path = |file: FileId| profile.strings.get(profile.files.get(file).path);
        let is_library = |file: FileId| rules.is_library_file(path(file));
        let (libraries, own): (Vec<FileId>, Vec<FileId>) = (files.into_iter())
            .filter(|file| seen.insert(*file))
            .partition(|file| is_library(*file));
        for file in own.into_iter().chain(libraries) {
            if let Some(state) = in_memory.state(file) {
                self.states.insert(file, state);
                continue;
            }
            let has_room = self.bytes < MOST_READ && self.states.len() < MOST_FILES;
            let is_new = !self.states.contains_key(&file) && !self.lines.contains_key(&file);
            if has_room && is_new {
                self.read(profile, in_memory, file);
            }
        }
        self.states
    }
}

/// The weight of each line with its callees.
fn by_line(profile: &Profile, weights: &[u64]) -> FxHashMap<(FileId, u32), u64> {
    let mut by_stack = weights.to_vec();
    by_stack.resize(profile.stacks.len(), 0);
    let mut by_location: FxHashMap<LocationId, u64> = FxHashMap::default();
    // Callers are stored before what they call, so backwards the sums from above are complete.
    for index in (0..by_stack.len()).rev() {
        let weight = by_stack[index];
        if weight == 0 {
            continue;
        }
        let stack = profile
            .stacks
            .get(profundo_model::StackId::from_index(index));
        let sum = by_location.entry(stack.location).or_default();
        *sum = sum.saturating_add(weight);
        if let Some(parent) = stack.parent {
            let sum = &mut by_stack[parent.index()];
            *sum = sum.saturating_add(weight);
        }
    }
    let mut lines: FxHashMap<(FileId, u32), u64> = FxHashMap::default();
    for (location, weight) in by_location {
        for &frame in &profile.locations.get(location).frames {
            if let Some(place) = place(profile, frame) {
                let sum = lines.entry(place).or_default();
                *sum = sum.saturating_add(weight);
            }
        }
    }
    // Counted lines are read from their files by the reader. Cells have none.
    let mut is_file: FxHashMap<FileId, bool> = FxHashMap::default();
    for line in &profile.traced.lines {
        let Some((file, number)) = place(profile, line.frame) else {
            continue;
        };
        let is_there = is_file.entry(file).or_insert_with(|| {
            Path::new(profile.strings.get(profile.files.get(file).path)).is_file()
        });
        if !*is_there {
            let sum = lines.entry((file, number)).or_default();
            *sum = sum.saturating_add(line.time.0.max(1));
        }
    }
    lines
}

fn place(profile: &Profile, frame: FrameId) -> Option<(FileId, u32)> {
    let frame = profile.frames.get(frame);
    let has_source = !matches!(frame.language, Language::Runtime | Language::Synthetic);
    (has_source && frame.line > 0 && frame.file != FileId(0)).then_some((frame.file, frame.line))
}

/// The file's lines, if it has not changed since this instant, in nanoseconds since 1970.
pub fn read(path: &Path, since: u64) -> Option<Vec<String>> {
    let is_library = is_library_file(path.to_str()?);
    let text = OnDisk::read(path, since, is_library).text?;
    Some(text.lines().map(str::to_owned).collect())
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;
    use profundo_model::{FrameKey, LocationKind};

    fn profile(path: &str, lines: &[(u32, u64)]) -> (Profile, Vec<u64>) {
        let mut profile = Profile::default();
        let mut weights = Vec::new();
        for &(line, weight) in lines {
            let frame = profile.frame(FrameKey {
                function: "f",
                file: path,
                line,
                language: Language::Python,
                ..FrameKey::default()
            });
            let kind = LocationKind::Python {
                frame,
                column: 0,
                is_call: false,
            };
            let location = profile.locations.intern(kind, None);
            profile.locations.set_frames(location, &[frame]);
            profile.stacks.intern(None, location);
            weights.push(weight);
        }
        (profile, weights)
    }

    #[test]
    fn hot_lines_are_kept_with_what_is_around_them() {
        let name = format!("profundo-sources-{}.py", std::process::id());
        let path = std::env::temp_dir().join(name);
        let text = |lines: usize| -> String {
            let lines = (1..=lines).map(|number| format!("line {number}\n"));
            lines.collect()
        };
        fs::write(&path, text(SHORT_FILE + 1)).unwrap();
        let (mut profile, weights) = profile(path.to_str().unwrap(), &[(1, 3), (10, 5)]);
        // The recording began before the file's last change: its text may have been another.
        keep(&mut profile, &weights, &mut InMemory::default());
        assert!(profile.sources.is_empty());
        profile.meta.started_at_unix = u64::MAX / 2;
        keep(&mut profile, &weights, &mut InMemory::default());
        let kept: Vec<&str> = profile
            .sources
            .iter()
            .map(|(_, _, text)| profile.strings.get(text))
            .collect();
        let wanted = [1, 2, 3, 8, 9, 10, 11, 12].map(|number| format!("line {number}"));
        assert_eq!(kept, wanted);
        // A short file is kept whole.
        fs::write(&path, text(SHORT_FILE)).unwrap();
        keep(&mut profile, &weights, &mut InMemory::default());
        assert_eq!(profile.sources.iter().count(), SHORT_FILE);
        fs::remove_file(path).unwrap();
    }
}
