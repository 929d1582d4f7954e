//! The code objects and task names of a process that were recorded.

use std::collections::HashMap;

/// The largest number; beyond it all are recorded anew.
const MOST: usize = 1 << 20;

/// Numbers of code objects, by their hash.
#[derive(Debug, Default)]
pub struct Codes {
    numbers: HashMap<u64, u32>,
    given: u32,
}

impl Codes {
    /// Numbers that differ from those of the sampler inside the process.
    pub fn beside_others() -> Self {
        Self {
            given: 1 << 29,
            ..Self::default()
        }
    }

    pub fn find(&self, hash: u64) -> Option<u32> {
        self.numbers.get(&hash).copied()
    }

    /// The next unused number.
    pub fn give(&mut self) -> u32 {
        self.given += 1;
        self.given
    }

    pub fn keep(&mut self, hash: u64, number: u32) {
        if self.numbers.len() >= MOST {
            self.numbers.clear();
        }
        self.numbers.insert(hash, number);
    }
}
