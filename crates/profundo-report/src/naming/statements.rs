//! The statements of the files of a report, found in their text when the first line of a file is
//! asked for. Reports whose rows are lines share them.

use std::cell::RefCell;
use std::ops::RangeInclusive;

use profundo_analysis::{Grammar, Place, statements};
use profundo_model::{FileId, Profile};
use rustc_hash::FxHashMap;

use crate::naming::source::Source;

/// The statements that stand on several lines, by file.
#[derive(Debug)]
pub(crate) struct Statements<'a> {
    profile: &'a Profile,
    is_asked: bool,
    from_disk: bool,
    /// By file, the last line whose text was kept.
    kept: FxHashMap<FileId, u32>,
    by_file: RefCell<FxHashMap<FileId, Vec<RangeInclusive<u32>>>>,
}

impl<'a> Statements<'a> {
    /// Those of the files that will be asked for; none where lines count for themselves.
    pub(crate) fn new(profile: &'a Profile, is_asked: bool, from_disk: bool) -> Self {
        let mut kept = FxHashMap::default();
        for (file, line, _) in profile.sources.iter().filter(|_| is_asked) {
            let last = kept.entry(file).or_insert(0);
            *last = line.max(*last);
        }
        Self {
            profile,
            is_asked,
            from_disk,
            kept,
            by_file: RefCell::default(),
        }
    }

    /// Of reports whose lines count for themselves.
    pub(crate) fn none(profile: &'a Profile) -> Self {
        Self::new(profile, false, false)
    }

    /// The profile whose lines they are.
    pub(crate) fn profile(&self) -> &'a Profile {
        self.profile
    }

    /// The first line of the statement that a line is in; where lines count for themselves, the
    /// line.
    pub(crate) fn first(&self, file: FileId, line: u32) -> u32 {
        self.around(file, line).map_or(line, |found| *found.start())
    }

    /// The last line of the statement that a line is in.
    pub(crate) fn last(&self, file: FileId, line: u32) -> u32 {
        self.around(file, line).map_or(line, |found| *found.end())
    }

    /// The line that a place counts for; 0 where it is unknown.
    pub(crate) fn line(&self, place: Place) -> u32 {
        match place {
            Place::Frame(frame) => {
                let row = self.profile.frames.get(frame);
                self.first(row.file, row.line)
            }
            Place::Reason(_) | Place::Unknown => 0,
        }
    }

    /// True if statements count as one.
    pub(crate) fn is_asked(&self) -> bool {
        self.is_asked
    }

    fn around(&self, file: FileId, line: u32) -> Option<RangeInclusive<u32>> {
        if !self.is_asked {
            return None;
        }
        let mut by_file = self.by_file.borrow_mut();
        let known = by_file.entry(file).or_insert_with(|| {
            let kept = self.kept.get(&file).copied().unwrap_or(0);
            of_file(self.profile, file, self.from_disk, kept)
        });
        at(known, line).cloned()
    }
}

fn at(known: &[RangeInclusive<u32>], line: u32) -> Option<&RangeInclusive<u32>> {
    let after = known.partition_point(|one| *one.start() <= line);
    let found = known.get(after.checked_sub(1)?)?;
    found.contains(&line).then_some(found)
}

fn of_file(
    profile: &Profile,
    file: FileId,
    from_disk: bool,
    kept: u32,
) -> Vec<RangeInclusive<u32>> {
    let path = profile.strings.get(profile.files.get(file).path);
    let Some(grammar) = Grammar::of_path(path) else {
        return Vec::new();
    };
    let source = Source::of(profile, file, from_disk);
    let last = kept.max(source.len().unwrap_or(0));
    let text = (1..=last).map(|line| source.line(profile, file, line));
    statements(text, grammar)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_is_in_the_statement_around_it() {
        let known = [2..=4, 7..=9];
        let found = |line| at(&known, line).map(|one| *one.start());
        let expected = [None, Some(2), Some(2), Some(2), None, None, Some(7)];
        assert_eq!((1..=7).map(found).collect::<Vec<_>>(), expected);
        assert_eq!(found(10), None);
    }
}
