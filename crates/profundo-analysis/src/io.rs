//! Input and output: its lines, its files, and its time.
//!
//! The bytes that a thread has read and written in an interval are the kernel's own count. Their
//! owners are an estimate: they are shared out to the thread's samples in calls that read or write,
//! taken within the interval or near it. Bytes without such a sample are shown as unattributed, so
//! that the sum is the kernel's. The waiting time of a call is measured; its time on a CPU is
//! sampled.

mod calls;
mod shares;

use profundo_model::{
    Bytes, FileId, LocationKind, Nanos, Profile, Sample, StackId, State, StringId, ThreadId,
    Traffic,
};
use rustc_hash::FxHashMap;

use self::calls::Calls;
use self::shares::{Act, Acts, share_out};
use crate::gathered::last_of_row;
use crate::own_line::OwnLines;
use crate::weights::weight_of;
use crate::{Filter, Place, Selection, Shown};

/// A sum of input and output.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct IoAmount {
    /// The estimated bytes read.
    pub read: u64,
    /// The estimated bytes written.
    pub written: u64,
    /// The waiting time of calls in nanoseconds.
    pub waited: u64,
    /// Their time on a CPU in nanoseconds.
    pub cpu: u64,
    /// The number of samples taken in them.
    pub samples: u64,
}

impl IoAmount {
    /// The time of the calls.
    pub fn time(&self) -> u64 {
        self.waited.saturating_add(self.cpu)
    }
}

impl std::ops::AddAssign for IoAmount {
    fn add_assign(&mut self, more: Self) {
        self.read = self.read.saturating_add(more.read);
        self.written = self.written.saturating_add(more.written);
        self.waited = self.waited.saturating_add(more.waited);
        self.cpu = self.cpu.saturating_add(more.cpu);
        self.samples = self.samples.saturating_add(more.samples);
    }
}

/// The sum for one file, or for one line.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct IoRow<K> {
    /// The file or the line. `None`: unknown.
    pub of: Option<K>,
    /// The sum.
    pub amount: IoAmount,
}

/// All input and output.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Io {
    /// By file, socket or pipe, in the reader's words.
    pub files: Vec<IoRow<String>>,
    /// By the reader's own innermost line; by a library's, where there is none.
    pub lines: Vec<IoRow<Place>>,
    /// The total.
    pub total: IoAmount,
    /// The part of the total's bytes without a sample nearby.
    pub unseen: IoAmount,
    /// Bytes fetched from storage and sent to it, by the same threads in the same time.
    pub storage: Bytes,
}

/// The input and output of a selection, which `filter` made: most first. Empty, where it was not
/// counted.
pub fn io(profile: &Profile, selection: &Selection, filter: &Filter, shown: Shown) -> Io {
    of_lines(profile, selection, filter, Lines::new(profile, shown))
}

/// The same with some lines joined to one, as [`lines_joined`](crate::lines_joined) joins them. A
/// row of several lines is named after one of them: `first` has the line that it counts for.
pub fn io_joined(
    profile: &Profile,
    selection: &Selection,
    filter: &Filter,
    shown: Shown,
    mut first: impl FnMut(FileId, u32) -> u32,
) -> Io {
    let lines = Lines {
        first: Some(&mut first),
        ..Lines::new(profile, shown)
    };
    of_lines(profile, selection, filter, lines)
}

fn of_lines(profile: &Profile, selection: &Selection, filter: &Filter, mut lines: Lines<'_>) -> Io {
    if profile.traffic.is_empty() {
        return Io::default();
    }
    let (seen, rests) = shared(profile);
    let mut io = Io::default();
    let admits = Admits::new(selection, filter);
    for (traffic, (read, written)) in profile.traffic.iter().zip(rests) {
        if admits.traffic(traffic) {
            io.storage += traffic.bytes;
            io.unseen.read = io.unseen.read.saturating_add(read);
            io.unseen.written = io.unseen.written.saturating_add(written);
        }
    }
    (io.storage.read, io.storage.written) = (0, 0);
    io.total += io.unseen;
    add_up(profile, selection, &mut lines, seen, &mut io);
    io
}

/// The traffic of a selection, which `filter` made, in rows that give each of its samples the bytes
/// that it has in the whole profile. None where it was not counted.
pub(crate) fn traffic_of(
    profile: &Profile,
    selection: &Selection,
    filter: &Filter,
) -> Vec<Traffic> {
    if profile.traffic.is_empty() {
        return Vec::new();
    }
    let (seen, rests) = shared(profile);
    let admits = Admits::new(selection, filter);
    let is_selected = selection.by_row(profile);
    let mut rows: Vec<Traffic> = Vec::new();
    for (traffic, (read, written)) in profile.traffic.iter().zip(rests) {
        if admits.traffic(traffic) {
            // An interval of no length has no owner.
            rows.push(Traffic {
                from: traffic.to,
                bytes: Bytes {
                    read,
                    written,
                    ..traffic.bytes
                },
                ..*traffic
            });
        }
    }
    for (row, amount) in seen {
        let has_bytes = amount.read > 0 || amount.written > 0;
        let sample = &profile.samples[row];
        if is_selected[row] && has_bytes {
            let to = last_of_row(profile, row, sample);
            rows.push(Traffic {
                thread: sample.thread,
                from: Nanos(to.0.saturating_sub(1)),
                to,
                waits: 1,
                bytes: Bytes {
                    read: amount.read,
                    written: amount.written,
                    ..Bytes::default()
                },
            });
        }
    }
    if let (true, Some(&thread)) = (rows.is_empty(), selection.threads().first()) {
        // Nothing was read or written, which is known.
        rows.push(Traffic {
            thread,
            from: filter.from.unwrap_or_default(),
            to: filter.from.unwrap_or_default(),
            ..Traffic::default()
        });
    }
    rows.sort_by_key(|row| row.to);
    rows
}

/// By row, a sample in a call that reads or writes, and its bytes.
type Seen = Vec<(usize, IoAmount)>;

/// The samples in calls that read or write; and by row of the traffic, the bytes read and written
/// that none of them has.
fn shared(profile: &Profile) -> (Seen, Vec<(u64, u64)>) {
    let mut calls = Calls::new(profile);
    let (mut acts, mut seen) = (Acts::default(), Vec::new());
    for (row, sample) in profile.samples.iter().enumerate() {
        let Some(directions) = calls.of(sample) else {
            continue;
        };
        let act = Act {
            start: (sample.time.0)
                .saturating_sub(sample.weight.0 / profile.samples_of_row(row).max(1)),
            end: last_of_row(profile, row, sample).0,
            weight: weight_of(profile, sample),
            number: seen.len(),
        };
        acts.add(
            sample.thread,
            act,
            sample.state != State::System,
            directions,
        );
        seen.push((row, IoAmount::default()));
    }
    let rests = share_out(profile, &mut acts, |number, read, written| {
        let amount = &mut seen[number].1;
        amount.read = amount.read.saturating_add(read);
        amount.written = amount.written.saturating_add(written);
    });
    (seen, rests)
}

/// Adds up the selection's samples by file and by line.
fn add_up(
    profile: &Profile,
    selection: &Selection,
    line_of: &mut Lines<'_>,
    seen: Seen,
    io: &mut Io,
) {
    let mut files: FxHashMap<Option<&str>, IoAmount> = FxHashMap::default();
    let mut lines: FxHashMap<Option<Place>, IoAmount> = FxHashMap::default();
    let mut seen = seen.into_iter().peekable();
    selection.each(profile, |row, sample| {
        while seen.next_if(|(at, _)| *at < row as usize).is_some() {}
        let Some((_, mut amount)) = seen.next_if(|(at, _)| *at == row as usize) else {
            return;
        };
        match sample.state {
            State::System => amount.cpu = sample.weight.0,
            _ => amount.waited = sample.weight.0,
        }
        amount.samples = profile.samples_of_row(row as usize);
        io.total += amount;
        let file = file_of(profile, sample);
        *files.entry(file).or_default() += amount;
        *lines.entry(line_of.of(sample.stack)).or_default() += amount;
    });
    let files = files.into_iter().map(|(of, amount)| IoRow {
        of: of.map(str::to_owned),
        amount,
    });
    io.files = sorted(files.collect());
    io.lines = sorted(
        lines
            .into_iter()
            .map(|(of, amount)| IoRow { of, amount })
            .collect(),
    );
}

/// The line of each stack. Where lines are joined, one place stands for all that count as one.
struct Lines<'a> {
    profile: &'a Profile,
    own: OwnLines<'a>,
    /// The line that a line of a file counts for, where lines are joined.
    first: Option<&'a mut dyn FnMut(FileId, u32) -> u32>,
    known: FxHashMap<StackId, Option<Place>>,
    by_line: FxHashMap<(FileId, u32), Place>,
}

impl<'a> Lines<'a> {
    fn new(profile: &'a Profile, shown: Shown) -> Self {
        Self {
            profile,
            own: OwnLines::new(profile, shown),
            first: None,
            known: FxHashMap::default(),
            by_line: FxHashMap::default(),
        }
    }

    fn of(&mut self, stack: StackId) -> Option<Place> {
        if let Some(&known) = self.known.get(&stack) {
            return known;
        }
        let place = self.own.of(stack).map(|place| self.joined(place));
        self.known.insert(stack, place);
        place
    }

    fn joined(&mut self, place: Place) -> Place {
        let (Some(first), Place::Frame(frame)) = (&mut self.first, place) else {
            return place;
        };
        let row = self.profile.frames.get(frame);
        if row.line == 0 {
            return place;
        }
        let line = first(row.file, row.line);
        *self.by_line.entry((row.file, line)).or_insert(place)
    }
}

fn sorted<K: Ord>(mut rows: Vec<IoRow<K>>) -> Vec<IoRow<K>> {
    rows.sort_by(|a, b| {
        let key = |row: &IoRow<K>| {
            let amount = row.amount;
            (amount.read.saturating_add(amount.written), amount.time())
        };
        key(b).cmp(&key(a)).then_with(|| a.of.cmp(&b.of))
    });
    rows
}

/// The file of a sample's call.
fn file_of<'a>(profile: &'a Profile, sample: &Sample) -> Option<&'a str> {
    let name = match sample.file == StringId::default() {
        true => waited_for(profile, sample.stack)?,
        false => profile.strings.get(sample.file),
    };
    // A file removed while it was in use is the same as before.
    Some(name.strip_suffix(" (deleted)").unwrap_or(name)).filter(|name| !name.is_empty())
}

fn waited_for(profile: &Profile, stack: StackId) -> Option<&str> {
    let innermost = profile.stacks.locations(stack).next()?;
    match profile.locations.get(innermost).kind {
        LocationKind::Wait { frame, wait } => Some(wait.what_of(profile.function_name(frame))),
        _ => None,
    }
}

/// Whether what the kernel has counted of a thread belongs to a selection.
pub(crate) struct Admits {
    threads: Vec<ThreadId>,
    from: u64,
    to: u64,
    /// The counts have no stack and no task.
    is_possible: bool,
}

impl Admits {
    pub(crate) fn new(selection: &Selection, filter: &Filter) -> Self {
        let mut threads = selection.threads().to_vec();
        threads.sort_unstable();
        Self {
            threads,
            from: filter.from.map_or(0, |from| from.0),
            to: filter.to.map_or(u64::MAX, |to| to.0),
            is_possible: !filter.is_of_stacks()
                && filter.gil.is_empty()
                && filter.named_tasks.is_empty()
                && filter.tasks.is_all()
                && selection.task().is_none(),
        }
    }

    fn traffic(&self, traffic: &profundo_model::Traffic) -> bool {
        self.count(traffic.thread, traffic.to)
    }

    /// Whether a thread's count of the interval that ends then belongs to it.
    pub(crate) fn count(&self, thread: ThreadId, to: Nanos) -> bool {
        self.is_possible
            && (self.from..self.to).contains(&to.0)
            && self.threads.binary_search(&thread).is_ok()
    }
}

#[cfg(test)]
mod tests;
