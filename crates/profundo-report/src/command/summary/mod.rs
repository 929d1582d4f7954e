//! The summary after a program's end: what ran, which lines and functions took the time, their
//! callers, the other processes and threads, the quality of the figures, and the next commands. On
//! one screen, if possible.

mod calls;
mod head;
mod hot;
mod json;
mod part;
mod text;
mod verdict;
mod waiting;

use std::io;

use profundo_analysis::{
    Allocations, Amount, FunctionShare, Io, Launched, Libraries, LineShare, Lineless, LinesOptions,
    Place, ProcessMemory, Selection, Totals, WaitRow, lines, shares, totals, waits,
};
use profundo_model::{FileId, Profile};

use super::functions::sort;
use super::lineless::Pools;
use super::memory;
use super::short_tree::{Limits, ShortTree, short_tree};
use super::{NextStep, allocs, traffic};
use super::{View, ViewOptions};
use crate::SortBy;
use crate::json::Json;
use crate::naming::Names;
use crate::naming::weighs::Weighs;
use crate::page::Page;
pub use part::SummaryPart;

/// The summary of a recording.
#[derive(Debug, Clone)]
pub struct Summary {
    options: ViewOptions,
    lines: usize,
    functions: usize,
    tree: usize,
    table: usize,
    next: Vec<NextStep>,
    from_disk: bool,
    by_command: bool,
    least: f64,
    /// `None` is the whole.
    parts: Option<Vec<SummaryPart>>,
}

impl Default for Summary {
    fn default() -> Self {
        Self {
            options: ViewOptions::default(),
            lines: 8,
            functions: 8,
            tree: 16,
            table: 6,
            next: Vec::new(),
            from_disk: true,
            by_command: false,
            least: 0.01,
            parts: None,
        }
    }
}

impl Summary {
    /// A summary that fits on one screen of most terminals.
    pub fn new() -> Self {
        Self::default()
    }

    /// Sets the number of lines of source that are shown at most.
    pub fn lines(mut self, lines: usize) -> Self {
        self.lines = lines;
        self
    }

    /// Sets the number of functions that are shown at most.
    pub fn functions(mut self, functions: usize) -> Self {
        self.functions = functions;
        self
    }

    /// Sets the number of lines that the tree has at most.
    pub fn tree(mut self, lines: usize) -> Self {
        self.tree = lines;
        self
    }

    /// Sets the number of threads and of processes that are shown at most.
    pub fn table(mut self, rows: usize) -> Self {
        self.table = rows;
        self
    }

    /// Sets whether threads and processes with less than a hundredth of the time have rows, as far
    /// as [`table`](Self::table) goes.
    pub fn small_rows(mut self, small_rows: bool) -> Self {
        self.least = if small_rows { 0.0 } else { 0.01 };
        self
    }

    /// The commands to type next, from the caller.
    pub fn next(mut self, steps: impl IntoIterator<Item = NextStep>) -> Self {
        self.next = steps.into_iter().collect();
        self
    }

    /// Sets whether processes that run one program are one row, in place of a row for each process.
    pub fn by_command(mut self, by_command: bool) -> Self {
        self.by_command = by_command;
        self
    }

    /// Sets whether source that the profile does not carry is looked for on the disk.
    pub fn from_disk(mut self, from_disk: bool) -> Self {
        self.from_disk = from_disk;
        self
    }

    /// Sets the parts that JSON has beside the head; `None` is all of them.
    pub fn parts(mut self, parts: Option<Vec<SummaryPart>>) -> Self {
        self.parts = parts;
        self
    }

    /// True if JSON has a part.
    fn has(&self, part: SummaryPart) -> bool {
        self.parts
            .as_ref()
            .is_none_or(|parts| parts.contains(&part))
    }

    /// True if a part is written, or the verdict looks at it.
    fn needs(&self, part: SummaryPart) -> bool {
        self.has(part) || self.has(SummaryPart::Verdict)
    }

    /// Works out what its tables begin with. The selection keeps it, so that a server can do this
    /// before the first question comes.
    pub fn prepare(&self, profile: &Profile, selection: &Selection) {
        let shown = self.options.choices.shown;
        let lines = || drop(lines(profile, selection, &self.lines_options()));
        std::thread::scope(|scope| {
            let thread = std::thread::Builder::new().name("profundo prepare".into());
            let other = thread.spawn_scoped(scope, lines);
            drop(shares(profile, selection, shown));
            if other.is_err() {
                lines();
            }
        });
    }

    /// The user cannot change a library's line: its time is that of the line that called it.
    fn lines_options(&self) -> LinesOptions {
        let choices = &self.options.choices;
        let mut shown = choices.shown;
        if shown.libraries == Libraries::Shown {
            shown.libraries = Libraries::Folded;
        }
        LinesOptions {
            shown,
            files: choices.filter.files.clone(),
        }
    }

    fn answers<'a>(&self, profile: &'a Profile, selection: &Selection) -> Answers<'a> {
        let choices = &self.options.choices;
        let shown = choices.shown;
        let has_functions = self.needs(SummaryPart::Functions);
        let mut functions = match has_functions {
            true => shares(profile, selection, shown),
            false => Vec::new(),
        };
        sort(profile, &mut functions, SortBy::Overhead);
        let waits = match has_functions || self.needs(SummaryPart::Waits) {
            true => waits(profile, selection, shown),
            false => Vec::new(),
        };
        // What is waited for has a table of its own.
        let waited_for: Vec<Place> = waits
            .iter()
            .flat_map(|row| row.whats.iter().copied())
            .collect();
        functions.retain(|row| row.own_amount.weight > 0 && !waited_for.contains(&row.place));
        let hottest = hot(self.functions, functions.iter().map(|row| row.own.share));
        let other_functions = Others::new(
            functions
                .split_off(hottest)
                .iter()
                .map(|row| row.own_amount),
        );
        let source = match Weighs::of(profile) {
            // All the time of a function stands at its first line.
            Weighs::Traced => None,
            _ if !self.needs(SummaryPart::Lines) => None,
            _ => Some(lines(profile, selection, &self.lines_options())),
        };
        let (files, launched, lineless) = match source {
            Some(source) => (source.files, source.launched, source.lineless),
            None => Default::default(),
        };
        let of_file = |file: profundo_analysis::FileLines| {
            let lines = file.lines.into_iter();
            lines
                .filter(|line| line.own_amount.weight > 0)
                .map(move |line| (file.file, line))
        };
        let mut lines: Vec<(FileId, LineShare)> = files.into_iter().flat_map(of_file).collect();
        // What a pool did for a line makes the line hot, too.
        let pools = Pools::new(&lineless, selection.mass(profile));
        let weight = |file: FileId, line: &LineShare| {
            let of_pools = pools.of_line(profile, file, line.line);
            let of_pools: u64 = of_pools.map(|(_, amount)| amount.weight).sum();
            line.own_amount.weight + of_pools
        };
        lines.sort_by_cached_key(|(file, line)| {
            let heat = std::cmp::Reverse(weight(*file, line));
            (heat, *file, line.line)
        });
        let all = selection.weight(profile).max(1) as f64;
        let shares = lines
            .iter()
            .map(|(file, line)| weight(*file, line) as f64 / all);
        let hottest = hot(self.lines, shares);
        let others = lines.split_off(hottest);
        let other_lines = Others::new(others.iter().map(|(_, line)| line.own_amount));
        let limits = Limits {
            lines: self.tree,
            levels: 10,
            min_share: 0.01,
        };
        let mut shown = self.options.choices.shown;
        // Where the reader has libraries folded, the other tables give their time to the caller
        // too.
        let is_folded_own = shown.libraries == Libraries::Folded;
        // Where a library's code is all there is, folding it would leave one row.
        if launched.amount.weight > selection.weight(profile) / 2 {
            shown.libraries = Libraries::Shown;
        } else if shown.libraries == Libraries::Shown {
            shown.libraries = Libraries::Folded;
        }
        Answers {
            lines,
            other_lines,
            launched,
            lineless,
            functions,
            other_functions,
            // Names are as short as the files of all tables permit.
            tree: match self.has(SummaryPart::Verdict) {
                true => short_tree(profile, selection, shown, is_folded_own, limits),
                false => ShortTree::default(),
            },
            totals: match self.has(SummaryPart::Totals) {
                true => totals(profile, selection),
                false => Totals::default(),
            },
            waits,
            io: match self.needs(SummaryPart::Io) {
                true => traffic::of(profile, selection, choices),
                false => Io::default(),
            },
            memory: match self.has(SummaryPart::Memory) {
                true => memory::of(profile, selection, choices),
                false => Vec::new(),
            },
            allocations: match self.needs(SummaryPart::Allocations) {
                true => allocs::of(profile, choices),
                false => None,
            },
        }
    }
}

impl View for Summary {
    fn name(&self) -> &'static str {
        "summary"
    }

    fn options(&self) -> &ViewOptions {
        &self.options
    }

    fn options_mut(&mut self) -> &mut ViewOptions {
        &mut self.options
    }

    fn text(&self, page: &mut Page<'_>, selection: &Selection) -> io::Result<()> {
        text::write(self, page, selection)
    }

    fn members(&self, profile: &Profile, selection: &Selection, json: &mut Json<'_>) {
        json::members(self, profile, selection, json)
    }
}

/// The number of rows that a table of the hottest shows, of these shares: a row with next to none
/// of the time is not hot, and its long name would take the room of others.
fn hot(most: usize, shares: impl Iterator<Item = f64>) -> usize {
    const LEAST: f64 = 0.003;
    /// The number of rows that are shown whatever they have.
    const ALWAYS: usize = 3;
    let rows = shares.take(most).enumerate();
    rows.take_while(|&(row, share)| row < ALWAYS || share >= LEAST)
        .count()
}

/// The rows that a table leaves out.
#[derive(Debug, Clone, Copy, Default)]
struct Others {
    count: usize,
    amount: Amount,
}

impl Others {
    fn new(rows: impl Iterator<Item = Amount>) -> Self {
        rows.fold(Self::default(), |mut others, amount| {
            others.count += 1;
            others.amount += amount;
            others
        })
    }
}

struct Answers<'p> {
    lines: Vec<(FileId, LineShare)>,
    other_lines: Others,
    launched: Launched,
    lineless: Vec<Lineless>,
    functions: Vec<FunctionShare>,
    other_functions: Others,
    tree: ShortTree,
    totals: Totals,
    waits: Vec<WaitRow>,
    io: Io,
    memory: Vec<ProcessMemory<'p>>,
    allocations: Option<Allocations>,
}

impl Answers<'_> {
    fn names<'a>(&self, profile: &'a Profile) -> Names<'a> {
        let tree = self
            .tree
            .branches
            .iter()
            .flat_map(|branch| branch.chain.iter().copied());
        let places = self.functions.iter().map(|row| row.place).chain(tree);
        let files = places.filter_map(|place| match place {
            Place::Frame(frame) => Some(profile.frames.get(frame).file),
            _ => None,
        });
        // The folder that names leave out is that of the lines: they are the reader's own.
        let lines = self.lines.iter().map(|(file, _)| *file);
        let io = self.io.lines.iter().filter_map(|row| row.of);
        let waits = self.waits.iter().filter_map(|row| row.at).chain(io);
        let memory = self.allocations.iter().flat_map(allocs::places);
        let waits = waits.chain(memory).filter_map(|at| match at {
            Place::Frame(frame) => Some(profile.frames.get(frame).file),
            _ => None,
        });
        Names::new(profile, lines.chain(files).chain(waits).collect::<Vec<_>>())
    }
}

#[cfg(test)]
pub(super) fn schemas() -> Vec<(&'static str, Vec<String>)> {
    let mut schemas = hot::schemas();
    schemas.push(waiting::schema());
    schemas
}
