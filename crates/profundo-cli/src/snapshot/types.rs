//! The types of the blocks of a recorded program: the recorder has noted where each was allocated.

use std::collections::{HashMap, HashSet};
use std::path::Path;
use std::thread::sleep;
use std::time::{Duration, Instant};

use profundo_analysis::{Named, holds_text};
use profundo_formats::read_file;
use profundo_ingest::graph::Type;
use profundo_model::{ProcessId, Profile, StackId};
use profundo_save::naming;
use profundo_scan::Block;

/// The time in which new stacks reach the recording.
const SOON: Duration = Duration::from_secs(2);
const PAUSE: Duration = Duration::from_millis(100);

/// The types, each in a row of its own.
#[derive(Debug, Default)]
pub(super) struct Types {
    all: Vec<Type>,
    rows: HashMap<String, u32>,
    /// The rows by allocation stack number plus one. 0: the type is unknown.
    by_site: Vec<u32>,
    /// The rows of all other blocks, by size.
    by_size: HashMap<u64, u32>,
}

impl Types {
    /// The types of the blocks of a process that is recorded into a file. Each block's `whose` is
    /// its stack number.
    pub(super) fn of(pid: u32, recording: Option<&Path>, blocks: &[Block], redact: bool) -> Self {
        let mut types = Self::default();
        let wanted: HashSet<u32> = blocks.iter().map(|block| block.whose).collect();
        let Some((mut profile, stacks)) =
            recording.and_then(|recording| read(recording, pid, &wanted))
        else {
            return types;
        };
        let count = profile.heap.sites.len();
        naming::complete(&mut profile, count);
        for (site, stack) in stacks {
            let named = Named::by(&profile, stack);
            // Blocks of unknown type are grouped by size.
            if named == Named::default() {
                continue;
            }
            let row = types.add(named, redact);
            let site = site as usize;
            types.by_site.resize(types.by_site.len().max(site + 1), 0);
            if let Some(place) = types.by_site.get_mut(site) {
                *place = row + 1;
            }
        }
        types
    }

    fn add(&mut self, named: Named, redact: bool) -> u32 {
        let Named { name, is_known } = named;
        let all = &mut self.all;
        *self.rows.entry(name).or_insert_with_key(|name| {
            all.push(Type {
                name: name.clone(),
                is_known,
                shows_text: !redact && holds_text(name),
            });
            all.len() as u32 - 1
        })
    }

    /// The row of a block with this stack and this size.
    pub(super) fn row(&mut self, site: u32, size: u64) -> u32 {
        match self.by_site.get(site as usize) {
            Some(&row) if row > 0 => row - 1,
            _ => *self.by_size.entry(size).or_insert_with(|| {
                let bytes = if size == 1 { "byte" } else { "bytes" };
                self.all.push(Type {
                    name: format!("block of {size} {bytes}"),
                    ..Type::default()
                });
                self.all.len() as u32 - 1
            }),
        }
    }

    /// All types.
    pub(super) fn all(&self) -> &[Type] {
        &self.all
    }
}

/// The recording so far, and the stacks of a process in it by their numbers. Waits for the wanted
/// ones.
fn read(
    recording: &Path,
    pid: u32,
    wanted: &HashSet<u32>,
) -> Option<(Profile, HashMap<u32, StackId>)> {
    let began = Instant::now();
    loop {
        let found = read_file(recording).ok();
        let found = found.map(|(profile, _)| (stacks(&profile, pid), profile));
        let is_whole = found.as_ref().is_some_and(|(stacks, _)| {
            (wanted.iter()).all(|site| *site == 0 || stacks.contains_key(site))
        });
        if is_whole || began.elapsed() > SOON {
            return found.map(|(stacks, profile)| (profile, stacks));
        }
        sleep(PAUSE);
    }
}

fn stacks(profile: &Profile, pid: u32) -> HashMap<u32, StackId> {
    // A process that has executed another program has a row for each; the last one is the one that
    // runs.
    let process = profile
        .processes
        .iter()
        .rposition(|process| process.pid == pid);
    let process = process.map(|row| ProcessId(row as u32));
    let sites = profile.heap.sites.iter();
    let sites = sites.filter(|site| Some(site.process) == process && site.number > 0);
    sites.map(|site| (site.number, site.stack)).collect()
}
