//! `snapshot --pages`: the blocks of each page of the interpreter's allocator, like Julia's page
//! profile.

use std::io::{self, Write};
use std::path::PathBuf;
use std::process::ExitCode;

use anyhow::Result;
use profundo_console::output::{Kind, Text};
use profundo_console::stderr;
use profundo_cpython::{Pool, pool_bytes};
use profundo_inject::CopiedMemory;
use profundo_launch::process_name;
use profundo_model::graph::{Builder, Graph, NodeId};

use super::{Request, take_objects};
use crate::options::Snapshot;

/// The names of a free block, of one with an unreachable object, and of one that is in use but
/// holds no object: the items of a list, the table of a dictionary.
const EMPTY: &str = "empty";
const GARBAGE: &str = "garbage";
const MEMORY: &str = "memory";

pub fn pages(options: &Snapshot) -> Result<ExitCode> {
    let pid = options.pid;
    let out = match &options.output {
        Some(out) => out.clone(),
        None => PathBuf::from(format!("profundo.{}.{pid}.pages.json", process_name(pid))),
    };
    let text = Text::create(&out, Kind::Pages, &[], options.force)?;
    let mut heap = Builder::redacted();
    let mut pools = Vec::new();
    let request = Request {
        pid,
        verb: "snapshot",
        redact: true,
        is_native: false,
        through: &options.through,
    };
    let walked = take_objects(request, &mut heap, &mut |memory| {
        pools = find(memory);
    })?;
    let graph = heap.finish();
    let objects = Objects::of(&graph);
    text.write(|out| Ok(write(out, &pools, &objects)?))?;
    let room: u64 = pools
        .iter()
        .map(|pool| pool.size * pool.used.len() as u64)
        .sum();
    let used = pools.iter().map(|pool| pool.size * pool.in_use());
    let milliseconds = (walked.pause + walked.borrowed).as_secs_f64() * 1e3;
    stderr::note(&format!(
        "wrote {}: {} pages of {}, of whose blocks {:.1} % are in use by their bytes; the program was held up for \
         {milliseconds:.1} ms",
        out.display(),
        pools.len(),
        pools.first().map_or("any size".to_owned(), |pool| format!(
            "{} KiB",
            pool.bytes >> 10
        )),
        used.sum::<u64>() as f64 / room.max(1) as f64 * 1e2,
    ));
    Ok(ExitCode::SUCCESS)
}

/// A pool of blocks of one size.
struct Found {
    address: u64,
    bytes: u64,
    /// The size of a block.
    size: u64,
    /// The address of the first block.
    first: u64,
    /// For each block: true if it is in use.
    used: Vec<bool>,
}

impl Found {
    fn of(pool: &Pool<'_>, bytes: u64) -> Self {
        let size = pool.block_bytes();
        let first = pool.blocks().next().unwrap_or(pool.address());
        let mut used: Vec<bool> = pool
            .blocks()
            .map(|address| address < pool.begun())
            .collect();
        for free in pool.free() {
            if let Some(used) = used.get_mut(((free - first) / size) as usize) {
                *used = false;
            }
        }
        Self {
            address: pool.address(),
            bytes,
            size,
            first,
            used,
        }
    }

    fn in_use(&self) -> u64 {
        self.used.iter().filter(|&&is_used| is_used).count() as u64
    }
}

/// The pools of a process. Nothing lists them, but they can lie only at multiples of their size,
/// and nothing else looks like one.
fn find(memory: CopiedMemory) -> Vec<Found> {
    /// The bytes that are read at once.
    const PIECE: u64 = 1 << 20;
    let bytes = pool_bytes(memory.minor);
    let mut found = Vec::new();
    let mut words = vec![0_u64; (PIECE / 8) as usize];
    for (start, end) in memory.private() {
        let mut at = start.next_multiple_of(bytes);
        while at + bytes <= end {
            let length = PIECE.min((end - at) / bytes * bytes);
            let piece = words.get_mut(..(length / 8) as usize).unwrap_or_default();
            let read = memory.words(at, piece);
            for (index, pool) in piece[..read].chunks_exact((bytes / 8) as usize).enumerate() {
                if let Some(pool) = Pool::at(at + index as u64 * bytes, pool) {
                    found.push(Found::of(&pool, bytes));
                }
            }
            at += length;
        }
    }
    found
}

/// Objects by their addresses, with their names.
struct Objects<'a> {
    graph: &'a Graph,
    by_address: Vec<(u64, NodeId)>,
    is_garbage: Vec<bool>,
}

impl<'a> Objects<'a> {
    fn of(graph: &'a Graph) -> Self {
        let objects = graph.nodes().filter(|&node| graph.id(node) != 0);
        let mut by_address: Vec<_> = objects.map(|node| (graph.id(node), node)).collect();
        by_address.sort_unstable();
        Self {
            graph,
            by_address,
            is_garbage: garbage(graph),
        }
    }

    /// The content of a block: an object begins behind the collector's header.
    fn name(&self, (start, end): (u64, u64)) -> &str {
        let at = self
            .by_address
            .partition_point(|&(address, _)| address < start);
        let Some(&(_, node)) = self
            .by_address
            .get(at)
            .filter(|(address, _)| *address < end)
        else {
            return MEMORY;
        };
        if self.is_garbage.get(node.index()) == Some(&true) {
            return GARBAGE;
        }
        match self.graph.kind_name(self.graph.kind(node)) {
            "string" => "str",
            "closure" => "function",
            "code" => "code",
            "class" => "type",
            "module" => "module",
            _ => std::str::from_utf8(self.graph.text(self.graph.name(node))).unwrap_or("object"),
        }
    }
}

/// For each node: true if only garbage leads to it.
fn garbage(graph: &Graph) -> Vec<bool> {
    let mut is_garbage = vec![true; graph.node_count()];
    let is_place = |node: NodeId| graph.text(graph.name(node)).starts_with(b"(Garbage");
    let mut next = vec![graph.root()];
    while let Some(node) = next.pop() {
        let is_known = is_garbage
            .get_mut(node.index())
            .is_none_or(|mark| !std::mem::replace(mark, false));
        if is_known || graph.kind_name(graph.kind(node)) == "synthetic" && is_place(node) {
            continue;
        }
        next.extend(graph.edges_of(node).map(|edge| graph.edge_to(edge)));
    }
    is_garbage
}

/// The beginning of the file.
const START: &[u8] = b"{\"pages\": [";

fn write(out: &mut dyn Write, pools: &[Found], objects: &Objects<'_>) -> io::Result<()> {
    out.write_all(START)?;
    for (index, pool) in pools.iter().enumerate() {
        let separator = if index > 0 { ",\n" } else { "\n" };
        write!(
            out,
            "{separator}{{\"address\": \"0x{:x}\",\"object_size\": {},\"objects\": [",
            pool.address, pool.size
        )?;
        for (index, used) in pool.used.iter().enumerate() {
            let start = pool.first + index as u64 * pool.size;
            let name = match used {
                true => objects.name((start, start + pool.size)),
                false => EMPTY,
            };
            let comma = if index > 0 { "," } else { "" };
            write!(out, "{comma}{}", quoted(name))?;
        }
        out.write_all(b"]}")?;
    }
    out.write_all(b"\n]}\n")
}

fn quoted(text: &str) -> String {
    use std::fmt::Write;
    let mut quoted = String::from("\"");
    for character in text.chars() {
        match character {
            '"' | '\\' => {
                quoted.push('\\');
                quoted.push(character);
            }
            control if control < ' ' => {
                let _ = write!(quoted, "\\u{:04x}", u32::from(control));
            }
            other => quoted.push(other),
        }
    }
    quoted.push('"');
    quoted
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_is_quoted() {
        assert_eq!(quoted("a.B"), "\"a.B\"");
        assert_eq!(quoted("\"\\\n"), "\"\\\"\\\\\\u000a\"");
    }
}
