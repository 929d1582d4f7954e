//! The hot source lines, which a recording carries so that it can be read where the files are not,
//! or are others by then.

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;
use std::time::{Duration, SystemTime};

use profundo_model::{FileId, FrameId, Language, LocationId, Profile};
use rustc_hash::FxHashMap;

use command_line::Programs;

pub use in_memory::InMemory;

mod command_line;
mod in_memory;
mod zipped;

/// Kept around a line, so that it can be understood.
const AROUND: u32 = 2;
/// A file that is no longer is kept whole: what it does as a whole says whether it only starts a library.
const SHORT_FILE: usize = 40;
/// A longer line is data, or was made by a program.
const LONGEST_LINE: usize = 400;
/// A larger file as well.
const LARGEST_FILE: u64 = 8 << 20;
/// How much text is kept altogether.
const MOST_BYTES: usize = 1 << 20;

/// Reads the lines on which time was spent, the hottest first, as far as there is room. `weights`
/// are those of the stacks.
pub fn keep(profile: &mut Profile, weights: &[u64], in_memory: &InMemory) {
    let mut hot: Vec<((FileId, u32), u64)> = by_line(profile, weights).into_iter().collect();
    hot.sort_unstable_by_key(|&(place, weight)| (std::cmp::Reverse(weight), place));
    let began = SystemTime::UNIX_EPOCH + Duration::from_nanos(profile.meta.started_at_unix);
    let mut files: FxHashMap<FileId, Option<Vec<String>>> = FxHashMap::default();
    let mut kept: BTreeSet<(FileId, u32)> = BTreeSet::new();
    let programs = Programs::of(profile);
    let mut room = MOST_BYTES;
    for ((file, line), _) in hot {
        let path = profile.strings.get(profile.files.get(file).path);
        let is_program = path == command_line::STRING;
        let texts = if is_program {
            programs.of_line(line)
        } else if let Some(texts) = in_memory.lines(file) {
            Some(texts)
        } else {
            let texts = files.entry(file);
            (texts.or_insert_with(|| read(Path::new(path), began))).as_deref()
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
                return;
            }
            if text.len() <= LONGEST_LINE && kept.insert((file, number)) {
                room -= text.len();
                let id = profile.strings.intern(text);
                profile.sources.insert(file, number, id);
            }
        }
    }
}

/// What each line weighs with all that it called.
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
        *by_location.entry(stack.location).or_default() += weight;
        if let Some(parent) = stack.parent {
            by_stack[parent.index()] += weight;
        }
    }
    let mut lines: FxHashMap<(FileId, u32), u64> = FxHashMap::default();
    for (location, weight) in by_location {
        for &frame in &profile.locations.get(location).frames {
            if let Some(place) = place(profile, frame) {
                *lines.entry(place).or_default() += weight;
            }
        }
    }
    lines
}

fn place(profile: &Profile, frame: FrameId) -> Option<(FileId, u32)> {
    let frame = profile.frames.get(frame);
    let has_source = !matches!(frame.language, Language::Runtime | Language::Synthetic);
    (has_source && frame.line > 0 && frame.file != FileId(0)).then_some((frame.file, frame.line))
}

/// The file's lines, if it is the one that ran: not changed since the recording began.
pub fn read(path: &Path, began: SystemTime) -> Option<Vec<String>> {
    let bytes = match fs::metadata(path) {
        Ok(metadata) => {
            let is_older = metadata.modified().is_ok_and(|modified| modified <= began);
            if !metadata.is_file() || metadata.len() > LARGEST_FILE || !is_older {
                return None;
            }
            fs::read(path).ok()?
        }
        Err(_) => zipped::read(path, began, LARGEST_FILE)?,
    };
    let text = String::from_utf8_lossy(&bytes);
    Some(text.lines().map(str::to_owned).collect())
}

#[cfg(test)]
mod tests {
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
        // The recording began before the file was last changed: it may have been another one.
        keep(&mut profile, &weights, &InMemory::default());
        assert!(profile.sources.is_empty());
        profile.meta.started_at_unix = u64::MAX / 2;
        keep(&mut profile, &weights, &InMemory::default());
        let kept: Vec<&str> = profile
            .sources
            .iter()
            .map(|(_, _, text)| profile.strings.get(text))
            .collect();
        let wanted = [1, 2, 3, 8, 9, 10, 11, 12].map(|number| format!("line {number}"));
        assert_eq!(kept, wanted);
        // A short file is kept whole.
        fs::write(&path, text(SHORT_FILE)).unwrap();
        keep(&mut profile, &weights, &InMemory::default());
        assert_eq!(profile.sources.iter().count(), SHORT_FILE);
        fs::remove_file(path).unwrap();
    }
}
