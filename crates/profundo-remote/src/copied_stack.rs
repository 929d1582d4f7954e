//! A walk over the copy of a stack.

use profundo_unwind::{Memory, Module, Modules};
use profundo_wire::End;

use crate::modules::{ModuleList, Store};
use crate::sys;

/// The copied piece of a stack; code, which the walk needs where there are no tables, is read
/// from the living process.
pub(crate) struct Copied<'a> {
    pub(crate) pid: u32,
    pub(crate) start: u64,
    pub(crate) stack: &'a [u8],
    pub(crate) modules: &'a Modules<'a>,
}

impl Copied<'_> {
    /// Why a walk over it has ended.
    pub(crate) fn end(&self, end: profundo_unwind::End) -> End {
        let copied = self.start.saturating_add(self.stack.len() as u64);
        match end {
            // What lies beyond the copy is not damage: the stack was deeper than we copy.
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

/// The modules of a process for a walk of ours, sorted.
pub(crate) fn modules<'a>(list: &ModuleList, store: &'a Store) -> Vec<Module<'a>> {
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
