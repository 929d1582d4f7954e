//! Memory: a counter for each process, and allocations with their stacks.

use std::io::{self, Write};

use profundo_model::{Gauge, Profile, StackId, ThreadId};

use super::columns::{length, numbers, times};
use crate::export::{json, owner};

/// An allocation, or its end with negative bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Change {
    pub time: u64,
    pub bytes: i64,
    pub stack: StackId,
    /// The number of the block, where blocks are known one by one. The page joins a block's end
    /// with its allocation by it, as by an address.
    pub block: Option<u64>,
}

/// The allocations of each thread in the order of time. Blocks of a sample have the bytes that they
/// stand for; sums change where a moment of the recording shows it, on the process's first thread.
pub(super) fn changes(profile: &Profile) -> Vec<Vec<Change>> {
    let heap = &profile.heap;
    let mut threads: Vec<Vec<Change>> = vec![Vec::new(); profile.threads.len()];
    for (number, block) in (1..).zip(&heap.blocks) {
        let bytes = (heap.sampling.weight_of(block) * block.size as f64).round() as i64;
        let changes = &mut threads[block.thread.index()];
        let change = |time, bytes| Change {
            time,
            bytes,
            stack: block.stack,
            block: Some(number),
        };
        changes.push(change(block.time.0, bytes));
        if let Some(freed) = block.freed {
            changes.push(change(freed.0, -bytes));
        }
    }
    let first = |process| {
        let mut threads = profile.threads.iter();
        threads.find(|(_, thread)| thread.process == process)
    };
    let end = profile.meta.duration.0;
    let mut so_far = vec![(0_u64, 0_u64); heap.sites.len()];
    let moments = heap.moments.iter().map(|moment| {
        let freed = moment.allocated.bytes.saturating_sub(moment.live.bytes);
        (
            moment.site as usize,
            moment.time.0,
            moment.allocated.bytes,
            freed,
        )
    });
    let ends = heap.sites.iter().enumerate();
    let ends = ends.map(|(row, site)| (row, end, site.allocated.bytes, site.freed.bytes));
    for (row, time, allocated, freed) in moments.chain(ends) {
        let Some(site) = heap.sites.get(row) else {
            continue;
        };
        let Some((thread, _)) = first(site.process) else {
            continue;
        };
        let before = std::mem::replace(&mut so_far[row], (allocated, freed));
        let more = allocated.saturating_sub(before.0) as i64;
        let less = freed.saturating_sub(before.1) as i64;
        for bytes in [more, less.saturating_neg()] {
            if bytes != 0 {
                threads[thread.index()].push(Change {
                    time,
                    bytes,
                    stack: site.stack,
                    block: None,
                });
            }
        }
    }
    for changes in &mut threads {
        changes.sort_by_key(|change| change.time);
    }
    threads
}

/// Writes the memory of each process over time: the resident bytes, and those in live blocks where
/// they are known.
pub(super) fn counters(
    profile: &Profile,
    threads: &[ThreadId],
    out: &mut impl Write,
) -> io::Result<()> {
    type Value = fn(&Gauge) -> Option<u64>;
    let values: [(&str, &str, Value); 2] = [
        ("resident", "Resident memory of the process", |gauge| {
            Some(gauge.resident)
        }),
        (
            "in use",
            "Bytes in live blocks of the allocators",
            |gauge| gauge.in_use,
        ),
    ];
    let mut processes: Vec<_> = profile
        .heap
        .gauges
        .iter()
        .map(|gauge| gauge.process)
        .collect();
    processes.sort_unstable();
    processes.dedup();
    let mut counters = Vec::new();
    for process in processes {
        let of = |thread: &ThreadId| profile.threads.get(*thread).process == process;
        let Some(main) = threads.iter().position(of) else {
            continue;
        };
        for (name, about, value) in values {
            let gauges = profile.heap.gauges.iter();
            let gauges = gauges.filter(|gauge| gauge.process == process);
            let readings: Vec<(u64, u64)> = gauges
                .filter_map(|gauge| Some((gauge.time.0, value(gauge)?)))
                .collect();
            if !readings.is_empty() {
                counters.push((main, name, about, readings));
            }
        }
    }
    json::list(
        out,
        "counters",
        counters,
        |out, (main, name, about, readings)| {
            write!(
                out,
                "{{\"name\":\"{name}\",\"category\":\"Memory\",\"description\":\"{about}\",\
             \"pid\":\"{}\",\"mainThreadIndex\":{main},\"samples\":{{",
                owner::pid(profile, threads[main])
            )?;
            times(out, "time", readings.iter().map(|&(time, _)| time))?;
            // A row has the difference from the one before.
            let mut last = 0;
            let changes = readings.iter().map(|&(_, bytes)| {
                Some(i128::from(bytes) - i128::from(std::mem::replace(&mut last, bytes)))
            });
            numbers(out, "count", changes)?;
            length(out, readings.len())?;
            out.write_all(b"}")
        },
    )
}
