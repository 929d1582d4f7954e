//! A walk over the copy of a stack.

use profundo_linux::sys;
use profundo_unwind::{Memory, Module, Modules};
use profundo_wire::End;

use crate::modules::{ModuleList, Store};

/// The copied piece of a stack. Code, which the walk needs where there are no tables, is read from
/// the living process.
#[derive(Debug)]
pub struct Copied<'a> {
    /// The process.
    pub pid: u32,
    /// The address of the first byte.
    pub start: u64,
    /// The bytes.
    pub stack: &'a [u8],
    /// The modules of the process.
    pub modules: &'a Modules<'a>,
}

impl Copied<'_> {
    /// The reason why a walk over the copy has ended.
    pub fn end(&self, end: profundo_unwind::End) -> End {
        let copied = self.start.saturating_add(self.stack.len() as u64);
        match end {
            // An address beyond the copy is not damage: the stack was deeper than the copy.
            profundo_unwind::End::Unreadable { address } if address >= copied.saturating_sub(8) => {
                End::Truncated
            }
            end => profundo_probe::sample::wire_end(end),
        }
    }
}

impl Memory for Copied<'_> {
    fn read(&mut self, address: u64) -> Option<u64> {
        if let Some(offset) = address.checked_sub(self.start)
            && let Some(bytes) = self.stack.get(offset as usize..)
            && let Some(word) = bytes.first_chunk()
        {
            return Some(u64::from_le_bytes(*word));
        }
        // The stack has moved on since, but code stays.
        self.modules.find(address)?;
        let mut word = [0; 8];
        (sys::read_memory(self.pid, address, &mut word) == 8).then(|| u64::from_le_bytes(word))
    }
}

/// The modules of a process for our own walks, sorted.
pub fn modules<'a>(list: &ModuleList, store: &'a Store) -> Vec<Module<'a>> {
    let mut modules: Vec<Module<'a>> = list
        .loaded()
        .iter()
        .flat_map(|loaded| {
            let ranges = loaded.ranges.iter();
            ranges.map(|&(start, end, _)| {
                store.module((start, end), loaded.file.as_deref(), loaded.info.bias)
            })
        })
        .collect();
    modules.sort_by_key(|module| module.start);
    modules
}
