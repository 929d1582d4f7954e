//! Lines of source that a profile carries with it, so that it can be read where the files are not.

use std::collections::BTreeMap;

use crate::{FileId, StringId};

/// The texts of lines, by file and line number.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct SourceLines {
    lines: BTreeMap<(FileId, u32), StringId>,
}

impl SourceLines {
    /// Keeps the text of a line.
    pub fn insert(&mut self, file: FileId, line: u32, text: StringId) {
        self.lines.insert((file, line), text);
    }

    /// The text of a line, if it was kept.
    pub fn get(&self, file: FileId, line: u32) -> Option<StringId> {
        self.lines.get(&(file, line)).copied()
    }

    /// The number of lines.
    pub fn len(&self) -> usize {
        self.lines.len()
    }

    /// True if no line has a text.
    pub fn is_empty(&self) -> bool {
        self.lines.is_empty()
    }

    /// All lines, by file and then by number.
    pub fn iter(&self) -> impl Iterator<Item = (FileId, u32, StringId)> + '_ {
        self.lines
            .iter()
            .map(|(&(file, line), &text)| (file, line, text))
    }
}
