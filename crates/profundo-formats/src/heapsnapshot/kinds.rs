//! The names of the kinds of objects or of references, in the order of first use.

use rustc_hash::FxHashMap;

/// Names with their numbers.
#[derive(Debug, Default)]
pub(super) struct Kinds {
    names: Vec<Box<str>>,
    numbers: FxHashMap<Box<str>, u32>,
}

impl Kinds {
    /// The number of `name`, which is added when it is new.
    pub fn number(&mut self, name: &str) -> u32 {
        if let Some(&number) = self.numbers.get(name) {
            return number;
        }
        let number = u32::try_from(self.names.len()).unwrap_or(u32::MAX);
        self.names.push(name.into());
        self.numbers.insert(name.into(), number);
        number
    }

    pub fn len(&self) -> usize {
        self.names.len()
    }

    pub fn names(&self) -> impl Iterator<Item = &str> {
        self.names.iter().map(|name| &**name)
    }
}
