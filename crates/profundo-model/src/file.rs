//! Source files, with the short form that reports show.
//!
//! The short form (`@tokio/src/runtime/mod.rs`) depends on the machine that built the program:
//! it is found where the names are found and kept, so that a saved profile prints the same
//! elsewhere.

use rustc_hash::FxHashMap;

use crate::{FileId, StringId};

/// A source file.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub struct File {
    /// The path as the debug information gives it, made absolute where it can be.
    pub path: StringId,
    /// `@std`, `@core`, `@my-crate`, or empty.
    pub prefix: StringId,
    /// The rest of the path after the prefix in a report; the whole path without a prefix.
    pub rest: StringId,
}

/// Files by id. Row 0 is the unknown file.
#[derive(Debug, Clone)]
pub struct FileTable {
    files: Vec<File>,
    ids: FxHashMap<StringId, FileId>,
}

impl Default for FileTable {
    fn default() -> Self {
        let mut table = Self {
            files: Vec::new(),
            ids: FxHashMap::default(),
        };
        table.intern(File::default());
        table
    }
}

impl FileTable {
    /// The id of `file`. Files are distinguished by path: the first short form of a path stays.
    pub fn intern(&mut self, file: File) -> FileId {
        *self.ids.entry(file.path).or_insert_with(|| {
            let id = FileId::from_index(self.files.len());
            self.files.push(file);
            id
        })
    }

    /// Changes the short form of a file without a prefix.
    pub fn set_rest(&mut self, id: FileId, rest: StringId) {
        if let Some(file) = self.files.get_mut(id.index()) {
            file.rest = rest;
        }
    }

    /// The row of `id`.
    pub fn get(&self, id: FileId) -> File {
        self.files[id.index()]
    }

    /// The id of the file with this path, where it is known.
    pub fn find(&self, path: StringId) -> Option<FileId> {
        self.ids.get(&path).copied()
    }

    /// The number of files, the unknown one included.
    pub fn len(&self) -> usize {
        self.files.len()
    }

    /// Never true: row 0 exists from the start.
    pub fn is_empty(&self) -> bool {
        self.files.is_empty()
    }

    /// All rows in the order of their ids.
    pub fn iter(&self) -> impl Iterator<Item = File> + '_ {
        self.files.iter().copied()
    }
}
