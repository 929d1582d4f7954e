//! Each distinct string is stored once; everything else holds its number.

use rustc_hash::FxHashMap;

use crate::StringId;

/// Interned strings. Row 0 is always the empty string, which stands for "unknown".
#[derive(Debug, Clone)]
pub struct StringTable {
    strings: Vec<Box<str>>,
    ids: FxHashMap<Box<str>, StringId>,
}

impl Default for StringTable {
    fn default() -> Self {
        let mut table = Self {
            strings: Vec::new(),
            ids: FxHashMap::default(),
        };
        table.intern("");
        table
    }
}

impl StringTable {
    /// The id of `text`, which is added when it is new.
    pub fn intern(&mut self, text: &str) -> StringId {
        if let Some(&id) = self.ids.get(text) {
            return id;
        }
        let id = StringId::from_index(self.strings.len());
        self.strings.push(text.into());
        self.ids.insert(text.into(), id);
        id
    }

    /// The text of `id`.
    pub fn get(&self, id: StringId) -> &str {
        &self.strings[id.index()]
    }

    /// The id of `text`, where it is known.
    pub fn find(&self, text: &str) -> Option<StringId> {
        self.ids.get(text).copied()
    }

    /// The number of strings, the empty one included.
    pub fn len(&self) -> usize {
        self.strings.len()
    }

    /// Never true: row 0 exists from the start.
    pub fn is_empty(&self) -> bool {
        self.strings.is_empty()
    }

    /// All strings in the order of their ids.
    pub fn iter(&self) -> impl Iterator<Item = &str> {
        self.strings.iter().map(|text| &**text)
    }
}
