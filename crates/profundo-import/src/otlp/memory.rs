//! Profiles of memory: each stack's blocks and bytes, allocated and in use, under the names that
//! Go's heap profiles have.

use profundo_model::{Amount, ProcessId, Sampling, StackId, ThreadId};
use rustc_hash::FxHashMap;

use crate::Builder;

/// The blocks that a value is about.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Part {
    Allocated,
    InUse,
}

/// The part of memory in a type's name.
pub(super) fn part_of(name: &str) -> Option<Part> {
    match &name.to_ascii_lowercase()[..] {
        "alloc_objects" | "alloc_space" | "allocated_objects" | "allocated_space"
        | "alloc_size" | "allocations" => Some(Part::Allocated),
        "inuse_objects" | "inuse_space" | "live_objects" | "live_space" | "heap_space" => {
            Some(Part::InUse)
        }
        _ => None,
    }
}

/// The amounts of each stack.
#[derive(Debug, Default)]
pub(super) struct Sums {
    rows: FxHashMap<(ProcessId, StackId), usize>,
    /// Allocated, in use.
    amounts: Vec<((ProcessId, StackId), [Amount; 2])>,
    has_allocated: bool,
}

impl Sums {
    pub(super) fn add(
        &mut self,
        builder: &Builder,
        (thread, stack): (ThreadId, StackId),
        part: Part,
        is_bytes: bool,
        value: u64,
    ) {
        let key = (builder.profile.threads.get(thread).process, stack);
        let next = self.amounts.len();
        let row = *self.rows.entry(key).or_insert(next);
        if row == next {
            self.amounts.push((key, Default::default()));
        }
        self.has_allocated |= part == Part::Allocated;
        let amount = &mut self.amounts[row].1[part as usize];
        *amount += match is_bytes {
            true => Amount {
                count: 0,
                bytes: value,
            },
            false => Amount {
                count: value,
                bytes: 0,
            },
        };
    }

    pub(super) fn finish(self, builder: &mut Builder) {
        if self.amounts.is_empty() {
            return;
        }
        let has_allocated = self.has_allocated;
        builder.profile.heap.sampling = Sampling::All;
        for ((process, stack), [allocated, in_use]) in self.amounts {
            builder.site_in_use(process, stack, in_use, allocated);
        }
        if !has_allocated {
            builder.note("the file has the memory in use, and not all that was allocated");
        }
    }
}
