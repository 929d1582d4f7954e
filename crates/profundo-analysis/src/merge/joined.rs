//! The pieces of one recording become one profile again. Unlike recordings that are merged, they
//! have the same clock, and their processes, threads and tasks are the same.
//!
//! A piece may have rows of processes and threads that ended before it. Those are left out unless
//! something of the piece is theirs.

use profundo_model::{
    BlockEnd, Nanos, Process, ProcessId, Profile, StringId, Task, TaskId, Thread, ThreadId,
};
use rustc_hash::FxHashMap;

use super::meta::add_loss;
use super::places::{Maps, Places};
use super::{Rows, events};

/// A piece of a recording.
#[derive(Debug)]
pub struct JoinedPiece<'a> {
    /// Its profile, with the figures of its own time, on the clock of the whole.
    pub profile: &'a Profile,
    /// The keys of its processes, by their rows.
    pub keys: &'a [u32],
    /// The time of its beginning.
    pub from: Nanos,
    /// The number of blocks of all pieces before it, and its own.
    pub blocks: (u64, u64),
    /// The ends of blocks of earlier pieces, by their rows in all pieces.
    pub ends: &'a [BlockEnd],
    /// Blocks of earlier pieces that are unreachable.
    pub unreachable: &'a [u64],
}

/// The pieces so far, as one profile.
#[derive(Debug)]
pub struct Joining {
    profile: Profile,
    places: Places,
    processes: FxHashMap<u32, ProcessId>,
    threads: FxHashMap<(ProcessId, u64), ThreadId>,
    tasks: FxHashMap<u64, TaskId>,
    sites: usize,
    /// The first row of a piece's blocks in all pieces, their number, and their first row here.
    blocks: Vec<(u64, u64, usize)>,
    /// Whether a piece was added.
    has_any: bool,
    /// Whether blocks of some piece were left out of its file.
    has_thinned: bool,
}

impl Default for Joining {
    fn default() -> Self {
        Self {
            profile: Profile::default(),
            places: Places::of_pieces(),
            processes: FxHashMap::default(),
            threads: FxHashMap::default(),
            tasks: FxHashMap::default(),
            sites: 0,
            blocks: Vec::new(),
            has_any: false,
            has_thinned: false,
        }
    }
}

impl Joining {
    /// Adds the next piece.
    pub fn add(&mut self, piece: &JoinedPiece<'_>) {
        let input = piece.profile;
        self.add_meta(input);
        let maps = self.places.add(&mut self.profile, input);
        let used = Used::new(piece);
        let processes = self.add_processes(piece, &used, &maps);
        let threads = self.add_threads(input, &used, &processes, &maps);
        let tasks = self.add_tasks(input, &maps);
        let rows = Rows {
            maps,
            processes,
            threads,
            tasks,
            begins: Nanos(0),
        };
        let blocks = self.profile.heap.blocks.len();
        events::add(&mut self.profile, input, &rows, &mut self.sites);
        self.add_block_ends(piece, blocks);
    }

    /// The profile of all pieces.
    pub fn finish(mut self) -> Profile {
        let searched = &mut self.profile.heap.searched;
        searched.sort_unstable();
        searched.dedup();
        if self.has_thinned {
            let note = "fewer of the recorded blocks were kept, as the size of the recording is limited: \
                        of some it is not known whether they were freed later";
            self.profile.meta.notes.push(note.to_owned());
        }
        self.profile
    }

    fn add_meta(&mut self, input: &Profile) {
        let (profile, from) = (&mut self.profile, &input.meta);
        if !std::mem::replace(&mut self.has_any, true) {
            let heap = &input.heap;
            profile.meta = from.clone();
            profile.heap.sampling = heap.sampling;
            (profile.heap.copying, profile.heap.copies_from) = (heap.copying, heap.copies_from);
            return;
        }
        let meta = &mut profile.meta;
        meta.duration = sum(meta.duration, from.duration);
        meta.cpu = of_both(meta.cpu, from.cpu);
        meta.own_cost = of_both(meta.own_cost, from.own_cost);
        meta.by_ticks = of_any(meta.by_ticks, from.by_ticks);
        add_loss(&mut meta.loss, &from.loss);
        for note in &from.notes {
            if !meta.notes.contains(note) {
                meta.notes.push(note.clone());
            }
        }
    }

    fn add_processes(
        &mut self,
        piece: &JoinedPiece<'_>,
        used: &Used,
        maps: &Maps,
    ) -> Vec<ProcessId> {
        let (profile, input) = (&mut self.profile, piece.profile);
        let text = |id: StringId| maps.strings[id.index()];
        let mut ids: Vec<Option<ProcessId>> = vec![None; input.processes.len()];
        for (index, process) in input.processes.iter().enumerate() {
            let key = piece.keys.get(index).copied().unwrap_or_default();
            let known = self.processes.get(&key).copied();
            if known.is_none() && !used.processes[index] {
                continue;
            }
            let id = known.unwrap_or_else(|| {
                let id = ProcessId::from_index(profile.processes.len());
                profile.processes.push(Process {
                    pid: process.pid,
                    started: process.started,
                    ..Process::default()
                });
                self.processes.insert(key, id);
                id
            });
            ids[index] = Some(id);
            let row = &mut profile.processes[id.index()];
            row.user = of_any(row.user, process.user);
            row.system = of_any(row.system, process.system);
            if process.ended.is_some() {
                (row.ended, row.end) = (process.ended, process.end);
            }
            if process.command != StringId(0) {
                row.command = text(process.command);
            }
            if process.runtime != StringId(0) {
                row.runtime = text(process.runtime);
            }
            if row.environment.is_empty() {
                row.environment = process.environment.iter().copied().map(text).collect();
                let labels = process.labels.iter();
                row.labels = labels
                    .map(|&(key, value)| (text(key), text(value)))
                    .collect();
            }
        }
        for (index, process) in input.processes.iter().enumerate() {
            let parent = process.parent.and_then(|parent| ids[parent.index()]);
            if let (Some(id), Some(parent)) = (ids[index], parent) {
                profile.processes[id.index()].parent = Some(parent);
            }
        }
        ids.into_iter().map(Option::unwrap_or_default).collect()
    }

    fn add_threads(
        &mut self,
        input: &Profile,
        used: &Used,
        processes: &[ProcessId],
        maps: &Maps,
    ) -> Vec<ThreadId> {
        let profile = &mut self.profile;
        let mut ids = Vec::with_capacity(input.threads.len());
        for (id, thread) in input.threads.iter() {
            let process = processes.get(thread.process.index()).copied();
            let process = process.unwrap_or_default();
            let key = (process, thread.number);
            let known = self.threads.get(&key).copied();
            if known.is_none() && !used.threads[id.index()] {
                ids.push(ThreadId::default());
                continue;
            }
            let name = maps.strings[thread.name.index()];
            let Some(known) = known else {
                let id = profile.threads.push(Thread {
                    name,
                    process,
                    ..*thread
                });
                self.threads.insert(key, id);
                ids.push(id);
                continue;
            };
            let row = profile.threads.get_mut(known);
            row.alive = of_any(row.alive, thread.alive);
            row.cpu = of_any(row.cpu, thread.cpu);
            row.gil_wait = of_any(row.gil_wait, thread.gil_wait);
            if name != StringId(0) {
                row.name = name;
            }
            ids.push(known);
        }
        ids
    }

    fn add_tasks(&mut self, input: &Profile, maps: &Maps) -> Vec<TaskId> {
        let (profile, known) = (&mut self.profile, &mut self.tasks);
        let tasks = input.tasks.iter().map(|(_, task)| {
            let name = maps.strings[task.name.index()];
            let id = *known.entry(task.number).or_insert_with(|| {
                profile.tasks.push(Task {
                    spawned_at: maps.strings[task.spawned_at.index()],
                    ..*task
                })
            });
            profile.tasks.get_mut(id).name = name;
            id
        });
        tasks.collect()
    }

    /// Ends blocks of earlier pieces that were freed in this one.
    fn add_block_ends(&mut self, piece: &JoinedPiece<'_>, first: usize) {
        let (before, own) = piece.blocks;
        let blocks = &mut self.profile.heap.blocks;
        match blocks.len() - first == own as usize {
            true => self.blocks.push((before, own, first)),
            false => self.has_thinned = true,
        }
        let known = &self.blocks;
        let index = |row: u64| {
            let at = known
                .partition_point(|&(first, ..)| first <= row)
                .checked_sub(1)?;
            let (first, count, here) = known[at];
            (row - first < count).then(|| here + (row - first) as usize)
        };
        for end in piece.ends {
            if let Some(block) = index(end.row).and_then(|index| blocks.get_mut(index)) {
                block.freed = Some(end.freed.max(block.time));
                block.is_temporary = end.is_temporary;
            }
        }
        for &row in piece.unreachable {
            if let Some(block) = index(row).and_then(|index| blocks.get_mut(index)) {
                block.is_unreachable = true;
            }
        }
    }
}

/// The processes and threads of which a piece has anything.
struct Used {
    processes: Vec<bool>,
    threads: Vec<bool>,
}

impl Used {
    fn new(piece: &JoinedPiece<'_>) -> Self {
        let profile = piece.profile;
        let has_time = |time: Option<Nanos>| time.is_some_and(|time| time > Nanos(0));
        let threads = profile.threads.iter();
        let mut used = Self {
            processes: (profile.processes.iter())
                .map(|process| {
                    let lives = process.ended.is_none_or(|ended| ended >= piece.from);
                    lives && process.pid != 0
                })
                .collect(),
            threads: threads
                .map(|(_, thread)| has_time(thread.alive) || has_time(thread.cpu))
                .collect(),
        };
        let spans = &profile.spans;
        let seen = (profile.samples.iter().map(|row| row.thread))
            .chain(profile.traffic.iter().map(|row| row.thread))
            .chain(profile.syscalls.iter().map(|row| row.thread))
            .chain(profile.heap.blocks.iter().map(|row| row.thread))
            .chain(profile.heap.copies.iter().map(|row| row.thread))
            .chain(spans.each.iter().map(|row| row.thread))
            .chain(spans.marks.iter().map(|row| row.thread))
            .chain(spans.sums.iter().filter_map(|row| row.thread));
        seen.for_each(|thread| used.threads[thread.index()] = true);
        let owners = profile.threads.iter();
        let owners = owners.filter(|(id, _)| used.threads[id.index()]);
        let owners: Vec<ProcessId> = (owners.map(|(_, thread)| thread.process))
            .chain(profile.heap.gauges.iter().map(|row| row.process))
            .chain(profile.heap.searched.iter().copied())
            .chain(spans.sums.iter().map(|row| row.process))
            .collect();
        for process in owners {
            if let Some(used) = used.processes.get_mut(process.index()) {
                *used = true;
            }
        }
        used
    }
}

fn sum(one: Nanos, other: Nanos) -> Nanos {
    Nanos(one.0.saturating_add(other.0))
}

/// The sum of two figures, if both are known.
fn of_both(one: Option<Nanos>, other: Option<Nanos>) -> Option<Nanos> {
    Some(sum(one?, other?))
}

/// The sum of the known ones of two figures.
fn of_any(one: Option<Nanos>, other: Option<Nanos>) -> Option<Nanos> {
    match (one, other) {
        (Some(one), Some(other)) => Some(sum(one, other)),
        (one, other) => one.or(other),
    }
}
