//! jemalloc's heap profile: a text of stacks, each with the sampled blocks of all threads (`t*`)
//! and of each thread, and the list of mapped files.
//!
//! ```text
//! heap_v2/524288
//!   t*: 598: 2308003 [3622: 10069798]        live blocks: bytes [allocated blocks: bytes]
//! @ 0x7f08e88a2630 0x55b78c46a2e4            the leaf first, return addresses
//!   t*: 1: 5242880 [1: 5242880]
//!   t0: 1: 5242880 [1: 5242880]
//!
//! MAPPED_LIBRARIES:
//! 55b78c46a000-55b78c46b000 r-xp 00001000 fe:00 10387636   /usr/bin/program
//! ```
//!
//! What was allocated and freed is there only with the option `prof_accum`.

use profundo_model::{Amount, ProcessId, Sampling};

use crate::code::native_stacks::{Leaf, NativeStacks, addresses};
use crate::quantities::sampled_memory::estimate;
use crate::reader::{Reader, Table};
use crate::{Builder, Error, Source, Warning};

pub(crate) const READER: Reader = Reader(&Table {
    name: "jemalloc",
    writers: "jemalloc's heap profiler",
    is_start,
    fill,
});

pub(crate) fn is_start(start: &[u8]) -> bool {
    let mut lines = start.split(|&byte| byte == b'\n');
    let head = lines.next().and_then(distance);
    let next = lines.next().unwrap_or_default().trim_ascii_start();
    head.is_some() && (next.starts_with(b"t") || next.starts_with(b"@"))
}

/// The mean distance of two samples: `heap_v2/524288`.
fn distance(line: &[u8]) -> Option<u64> {
    let digits = line.trim_ascii_end().strip_prefix(b"heap_v2/")?;
    std::str::from_utf8(digits).ok()?.parse().ok()
}

fn fill(source: &Source<'_>, builder: &mut Builder) -> Result<(), Error> {
    read(source.bytes, NativeStacks::default(), builder);
    Ok(())
}

/// Reads the text, with the names of some addresses.
pub(crate) fn read(text: &[u8], mut stacks: NativeStacks, builder: &mut Builder) {
    builder.only_thread();
    let (body, maps) = split(text);
    for line in maps.split(|&byte| byte == b'\n') {
        stacks.mappings.add_line(builder, line);
    }
    let mut lines = body.split(|&byte| byte == b'\n').zip(1_u64..);
    let head = lines.next().and_then(|(line, _)| distance(line));
    let sampling = match head {
        Some(distance) if distance > 1 => Sampling::Bytes(distance),
        _ => Sampling::All,
    };
    builder.profile.heap.sampling = sampling;
    let mut has_freed = false;
    let mut stack: Option<Vec<u64>> = None;
    for (line, number) in lines {
        let line = line.trim_ascii();
        if let Some(row) = line.strip_prefix(b"@") {
            stack = Some(addresses(row).collect());
        } else if let Some(row) = line.strip_prefix(b"t*:") {
            let Some([live, allocated]) = amounts(row) else {
                builder.leave_out("lines", || format!("line {number}"));
                continue;
            };
            // The first such line is the sum of all.
            let Some(stack) = stack.take() else {
                continue;
            };
            let [live, allocated] = [live, allocated].map(|amount| estimate(amount, sampling));
            has_freed |= allocated != Amount::default();
            add(builder, &mut stacks, &stack, [live, allocated]);
        }
    }
    if maps.is_empty() {
        let offset = text.len() as u64;
        builder.warn(Warning::Damaged {
            offset,
            what: "the list of mapped files is missing".to_owned(),
        });
    }
    if !has_freed {
        builder.note("the file has memory in use only, and none that was freed (prof_accum:true)");
    }
}

fn add(
    builder: &mut Builder,
    stacks: &mut NativeStacks,
    addresses: &[u64],
    [live, allocated]: [Amount; 2],
) {
    let addresses = stacks.without_allocator(builder, addresses);
    let Some(stack) = stacks.stack(builder, Leaf::Return, addresses) else {
        return;
    };
    builder.site_in_use(ProcessId::default(), stack, live, allocated);
}

/// The live and the allocated blocks: `598: 2308003 [3622: 10069798]`.
pub(crate) fn amounts(row: &[u8]) -> Option<[Amount; 2]> {
    let row = std::str::from_utf8(row).ok()?;
    let (live, rest) = row.split_once('[')?;
    let (allocated, _) = rest.split_once(']')?;
    let amount = |text: &str| {
        let (count, bytes) = text.split_once(':')?;
        Some(Amount {
            count: count.trim().parse().ok()?,
            bytes: bytes.trim().parse().ok()?,
        })
    };
    Some([amount(live)?, amount(allocated)?])
}

/// The text before and behind the head of the list of mapped files.
pub(crate) fn split(text: &[u8]) -> (&[u8], &[u8]) {
    let head = ["MAPPED_LIBRARIES:", "--- Memory map: ---"]
        .iter()
        .find_map(|head| Some((memchr::memmem::find(text, head.as_bytes())?, head.len())));
    match head {
        Some((at, length)) => (&text[..at], &text[at + length..]),
        None => (text, &[]),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_heap_begins_with_its_distance() {
        assert!(is_start(b"heap_v2/16384\n  t*: 598: 2308003 [0: 0]\n"));
        assert!(!is_start(b"heap_v2/16384\n"));
        assert!(!is_start(b"heap_v2/x\n  t*: 1: 1 [0: 0]\n"));
        assert!(!is_start(b"heap profile: 1: 2 [3: 4] @ heap_v2/524288\n"));
    }
}
