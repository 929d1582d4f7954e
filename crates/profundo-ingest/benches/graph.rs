//! The speed of the scan of a heap for references: `cargo bench -p profundo-ingest --bench graph`.
//!
//! A GiB of blocks, a quarter of whose words point to other blocks, read by `process_vm_readv` like
//! the memory of a copied process. The sink drops everything, so this is the scan alone.

#![expect(
    clippy::print_stdout,
    reason = "a table on the terminal is what a bench is for"
)]

use std::convert::Infallible;
use std::time::{Duration, Instant};

use profundo_ingest::graph::{Group, Heap, Part, Read, Root, Type, write};
use profundo_model::graph::{EdgeKindId, Label, NameId, NodeId, NodeKindId, Sink};
use profundo_scan::{Block, Blocks, Memory, Unread};

const BYTES: usize = 1 << 30;

struct Own(Memory);

impl Read for Own {
    fn each_piece(&mut self, part: Part, f: &mut dyn FnMut(u64, &[u64])) -> Result<(), Unread> {
        self.0.each_piece(part.range, f)
    }

    fn bytes(&mut self, _: u64, _: &mut [u8]) -> bool {
        false
    }
}

/// Counts, so that nothing is left out as unused.
#[derive(Default)]
struct Counted(u64);

impl Sink for Counted {
    type Error = Infallible;

    fn node_kind(&mut self, _: &str) -> Result<NodeKindId, Infallible> {
        Ok(NodeKindId(0))
    }

    fn edge_kind(&mut self, _: &str) -> Result<EdgeKindId, Infallible> {
        Ok(EdgeKindId(0))
    }

    fn name(&mut self, _: &[u8]) -> Result<NameId, Infallible> {
        Ok(NameId(0))
    }

    fn content(&mut self, _: &[u8]) -> Result<NameId, Infallible> {
        Ok(NameId(0))
    }

    fn node(&mut self, _: NodeKindId, _: NameId, id: u64, _: u64) -> Result<NodeId, Infallible> {
        self.0 = self.0.wrapping_add(id);
        Ok(NodeId(0))
    }

    fn edge(
        &mut self,
        _: EdgeKindId,
        _: Label,
        from: NodeId,
        to: NodeId,
    ) -> Result<(), Infallible> {
        self.0 = self.0.wrapping_add(u64::from(from.0 ^ to.0));
        Ok(())
    }
}

fn main() {
    println!("blocks of   number      references   table    scan      peak beyond the heap");
    for size in [64, 1 << 20] {
        measure(size);
    }
}

fn measure(size: usize) {
    let mut heap = vec![0_u64; BYTES / 8];
    let start = heap.as_ptr() as u64;
    let count = BYTES / size;
    let mut random = 1_u64;
    for (index, word) in heap.iter_mut().enumerate() {
        random = random
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1_442_695_040_888_963_407);
        *word = match index % 4 {
            0 => start + (random >> 33) % count as u64 * size as u64,
            _ => random >> 40,
        };
    }
    let before = peak();
    let began = Instant::now();
    let blocks = Blocks::new((0..count as u64).map(|index| Block {
        start: start + index * size as u64,
        size: size as u64,
        whose: 0,
    }));
    let made = began.elapsed();
    let until = Instant::now() + Duration::from_secs(600);
    let mut memory = Own(Memory::open(std::process::id(), until, u64::MAX));
    let types = [Type::default()];
    let roots = [Root {
        group: Group::Other,
        name: String::new(),
        start: None,
        registers: vec![("rbx", start)],
    }];
    let parts = [Part {
        range: (start, start + BYTES as u64),
        root: 0,
        is_shared: false,
    }];
    let graph = Heap {
        blocks: &blocks,
        freed: &[],
        types: &types,
        roots: &roots,
        parts: &parts,
    };
    let mut sink = Counted::default();
    let began = Instant::now();
    let written = write(graph, &mut memory, &mut sink).expect("the memory is there");
    let scan = began.elapsed();
    std::hint::black_box(sink.0);
    println!(
        "{size:>9} {count:>8} {:>15} {:>6.2} s {:>6.2} s {:>8} MiB",
        written.edges,
        made.as_secs_f64(),
        scan.as_secs_f64(),
        (peak() - before) >> 20,
    );
}

/// The peak of the used memory.
fn peak() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"));
    let number = line.and_then(|line| line.trim().strip_suffix(" kB"));
    number
        .and_then(|number| number.parse::<u64>().ok())
        .unwrap_or(0)
        << 10
}
