//! The texts of a profile by number.

use rustc_hash::FxHashMap;

/// The table of texts; row 0 is the empty one.
#[derive(Debug)]
pub(super) struct Strings {
    ids: FxHashMap<Box<str>, u64>,
    all: Vec<Box<str>>,
}

impl Default for Strings {
    fn default() -> Self {
        let mut strings = Self {
            ids: FxHashMap::default(),
            all: Vec::new(),
        };
        strings.id("");
        strings
    }
}

impl Strings {
    pub(super) fn id(&mut self, text: &str) -> u64 {
        if let Some(&id) = self.ids.get(text) {
            return id;
        }
        let id = self.all.len() as u64;
        self.all.push(text.into());
        self.ids.insert(text.into(), id);
        id
    }

    pub(super) fn all(&self) -> &[Box<str>] {
        &self.all
    }
}
