//! The code that held the memory at one moment.
//!
//! A sampled block is held from its allocation to its end. Sums by stack are known where they were
//! looked at: at a moment between two looks, the sums of the earlier one hold. A process holds
//! nothing before its start and after its end.

use profundo_model::{Amount, Block, Heap, Nanos, ProcessId, Profile};
use rustc_hash::FxHashMap;

use super::allocations::{LineKey, Owners};
use super::entries::{What, end, end_of, entries, is_live_at};
use super::figure::Sum;
use crate::admit::Admitted;
use crate::{Filter, LinesOptions, Place};

/// The bytes that a place held at a moment.
#[derive(Debug, Clone, PartialEq)]
pub struct HeldRow {
    /// The line, or the allocating function; `None` where unknown.
    pub of: Option<Place>,
    /// The blocks that it held.
    pub held: Sum,
}

/// The memory that was held at one moment.
#[derive(Debug, Clone, PartialEq)]
pub struct HeldAt {
    /// The moment.
    pub time: Nanos,
    /// The sum of all blocks.
    pub total: Sum,
    /// By line, the one that held most first.
    pub lines: Vec<HeldRow>,
    /// By the function of the line.
    pub functions: Vec<HeldRow>,
}

/// The memory that was held at a moment, by the code that had allocated it.
pub fn held_at(profile: &Profile, filter: &Filter, options: &LinesOptions, time: Nanos) -> HeldAt {
    let admitted = Admitted::new(profile, filter);
    let heap = &profile.heap;
    let alive = AliveAt::new(profile, time);
    let mut owners = Owners::new(profile, options);
    let mut lines: FxHashMap<LineKey, HeldRow> = FxHashMap::default();
    let mut functions = FxHashMap::default();
    let mut total = Sum::default();
    for entry in entries(profile) {
        let mut held = Sum::default();
        match entry.what {
            What::Block(block) if alive.has(entry.process, block) => {
                held.add_block(block.size, heap.sampling.of(block));
            }
            What::Site(_, number) => held.add_all(alive.site(number), heap.sampling),
            What::Block(_) => {}
        }
        // A site of exact sums may hold nothing at the moment.
        if held.bytes().value == 0 || !entry.passes(&admitted) {
            continue;
        }
        let owner = owners.of(entry.stack);
        let row = || HeldRow {
            of: owner.place,
            held: Sum::default(),
        };
        lines.entry(owner.line).or_insert_with(row).held += held;
        let function = functions.entry(owner.function).or_insert_with(row);
        function.held += held;
        total += held;
    }
    HeldAt {
        time,
        total,
        lines: sorted(lines.into_values()),
        functions: sorted(functions.into_values()),
    }
}

fn sorted(rows: impl Iterator<Item = HeldRow>) -> Vec<HeldRow> {
    let mut rows: Vec<HeldRow> = rows.collect();
    rows.sort_by(|a, b| {
        let most_first = b.held.weight().total_cmp(&a.held.weight());
        most_first.then(a.of.cmp(&b.of))
    });
    rows
}

/// What was alive at a moment.
pub(super) struct AliveAt {
    time: Nanos,
    /// By process: whether it ran then.
    runs: Vec<bool>,
    /// By site.
    sites: Vec<Amount>,
}

impl AliveAt {
    pub fn new(profile: &Profile, time: Nanos) -> Self {
        let end = end(profile);
        let runs: Vec<bool> = (0_u32..)
            .zip(&profile.processes)
            .map(|(id, process)| {
                let started = process.started.map_or(0, |started| started.0);
                started <= time.0 && time.0 <= end_of(profile, ProcessId(id), end)
            })
            .collect();
        let mut sites = sites_at(&profile.heap, time);
        for (site, amount) in profile.heap.sites.iter().zip(&mut sites) {
            if runs.get(site.process.index()) == Some(&false) {
                *amount = Amount::default();
            }
        }
        Self { time, runs, sites }
    }

    pub fn has(&self, process: ProcessId, block: &Block) -> bool {
        let runs = self.runs.get(process.index()).copied().unwrap_or(true);
        runs && is_live_at(block, self.time.0)
    }

    pub fn site(&self, number: usize) -> Amount {
        self.sites.get(number).copied().unwrap_or_default()
    }
}

/// The live blocks of each site at a moment.
fn sites_at(heap: &Heap, time: Nanos) -> Vec<Amount> {
    let mut sites = vec![Amount::default(); heap.sites.len()];
    for moment in heap.moments.iter().take_while(|row| row.time <= time) {
        if let Some(live) = sites.get_mut(moment.site as usize) {
            *live = moment.live;
        }
    }
    sites
}
