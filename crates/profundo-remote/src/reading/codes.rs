//! The code objects and task names of a process that were told before.

use std::collections::HashMap;

/// When a process has more, all are told again.
const MOST: usize = 1 << 20;

/// Numbers by what tells code objects apart.
#[derive(Debug, Default)]
pub(crate) struct Codes {
    numbers: HashMap<u64, u32>,
    given: u32,
}

impl Codes {
    /// Whose numbers are others than those that a sampler inside the process gives.
    pub(crate) fn beside_others() -> Self {
        Self {
            given: 1 << 29,
            ..Self::default()
        }
    }

    pub(crate) fn find(&self, hash: u64) -> Option<u32> {
        self.numbers.get(&hash).copied()
    }

    /// A number that nothing has yet.
    pub(crate) fn give(&mut self) -> u32 {
        self.given += 1;
        self.given
    }

    pub(crate) fn keep(&mut self, hash: u64, number: u32) {
        if self.numbers.len() >= MOST {
            self.numbers.clear();
        }
        self.numbers.insert(hash, number);
    }
}
