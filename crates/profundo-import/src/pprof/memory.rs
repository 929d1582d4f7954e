//! The values of memory, added up by process and stack.

use profundo_model::{Amount, Copied, ProcessId, Sampling, Site, StackId, ThreadId};
use rustc_hash::FxHashMap;

use super::values::{Memory, Pair};
use crate::Builder;

/// The sites so far.
#[derive(Debug, Default)]
pub(super) struct Sites {
    rows: FxHashMap<(ProcessId, StackId), usize>,
}

impl Sites {
    /// Adds the memory of a sample.
    pub(super) fn add(
        &mut self,
        builder: &mut Builder,
        memory: &Memory,
        values: &[i64],
        (thread, stack): (ThreadId, StackId),
    ) {
        let value = |column: Option<usize>| {
            let value = column.and_then(|at| values.get(at)).copied();
            u64::try_from(value.unwrap_or(0)).unwrap_or(0)
        };
        let amount = |pair: Pair| Amount {
            count: value(pair.count),
            bytes: value(pair.bytes),
        };
        let live = amount(memory.live);
        let allocated = match memory.has_allocated() {
            true => amount(memory.allocated),
            false => live,
        };
        // Estimates were rounded each alone.
        let freed = match memory.live.bytes {
            Some(_) => Amount {
                count: allocated.count.saturating_sub(live.count),
                bytes: allocated.bytes.saturating_sub(live.bytes),
            },
            None => allocated,
        };
        let allocated = Amount {
            count: allocated.count.max(live.count),
            bytes: allocated.bytes.max(live.bytes),
        };
        let copied = value(memory.copied);
        let profile = &mut builder.profile;
        if copied > 0 {
            profile.heap.copying = Sampling::All;
            profile.heap.copies.push(Copied {
                size: copied,
                thread,
                stack,
                ..Copied::default()
            });
        }
        if allocated == Amount::default() {
            return;
        }
        let process = profile.threads.get(thread).process;
        let sites = &mut profile.heap.sites;
        let row = *self.rows.entry((process, stack)).or_insert_with(|| {
            sites.push(Site {
                process,
                stack,
                number: u32::try_from(sites.len()).unwrap_or(u32::MAX),
                ..Site::default()
            });
            sites.len() - 1
        });
        if let Some(site) = sites.get_mut(row) {
            site.allocated += allocated;
            site.freed += freed;
        }
    }
}
