//! The share of each line of source.
//!
//! A line's own time is the time of the samples whose innermost frame, among those that are looked
//! at, is on it. Native code that a Python line calls is that line's time; and where the reader's
//! own code calls a library, the library's time is that of the calling line, since the reader can
//! change that line. A line's total time is that of the samples which have it on their stack, each
//! counted once, however often the line is there.

use profundo_model::{FileId, FrameId, Language, Profile};
use rustc_hash::FxHashMap;

use crate::interval::{Estimate, Mass};
use crate::lineless::{Lineless, lineless};
use crate::scatter::Members;

use crate::amount::Amount;
use crate::line_finder::{Finder, LinesOptions};
use crate::{Place, Selection, scatter};

/// The time of one line.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct LineShare {
    /// The line, from 1.
    pub line: u32,
    /// A frame on it.
    pub frame: FrameId,
    /// Its own share of the time.
    pub own: Estimate,
    /// Its share of the time with all callees.
    pub total: Estimate,
    /// The total of its own samples.
    pub own_amount: Amount,
    /// The total of the samples with it on their stack.
    pub total_amount: Amount,
}

/// The time of one file's lines.
#[derive(Debug, Clone, PartialEq)]
pub struct FileLines {
    /// The file.
    pub file: FileId,
    /// True for a Python file.
    pub is_python: bool,
    /// The share of its lines, together.
    pub own: Estimate,
    /// The total of its lines' samples.
    pub own_amount: Amount,
    /// Its lines on any stack, in their order.
    pub lines: Vec<LineShare>,
}

/// The shares of all lines.
#[derive(Debug, Clone, PartialEq)]
pub struct SourceShares {
    /// The files, the one with most time first.
    pub files: Vec<FileLines>,
    /// The time without a line that is looked at.
    pub elsewhere: Amount,
    /// Time without such a line, by the running function, the largest first; `None` is time without
    /// a shown frame.
    pub elsewhere_by: Vec<(Option<Place>, Amount)>,
    /// Time without such a line, by its owner: a library's threads, or a program.
    pub lineless: Vec<Lineless>,
    /// The time of library lines that only a launcher called.
    pub launched: Launched,
    /// The whole selection.
    pub whole: Mass,
}

/// The time in which the only own line on the stack is one that starts a library.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Launched {
    /// The amount.
    pub amount: Amount,
    /// The starting lines with their amounts, the largest first.
    pub by: Vec<(FrameId, Amount)>,
}

/// The shares of the lines of a selection.
pub fn lines(profile: &Profile, selection: &Selection, options: &LinesOptions) -> SourceShares {
    lines_joined(profile, selection, options, |_, line| line)
}

/// The same with some lines joined to one: `first` gives the line that a line of a file counts for,
/// which is the first one of its statement. A sample with several of a statement's lines on its
/// stack counts once.
pub fn lines_joined(
    profile: &Profile,
    selection: &Selection,
    options: &LinesOptions,
    mut first: impl FnMut(FileId, u32) -> u32,
) -> SourceShares {
    let mut finder = Finder::new(profile, options);
    let mut rows: FxHashMap<(FileId, u32), usize> = FxHashMap::default();
    let mut sums: Vec<LineSum> = Vec::new();
    let mut members = LineMembers::default();
    let mut elsewhere = Amount::default();
    let mut elsewhere_by: FxHashMap<Option<u32>, (Option<Place>, Amount)> = FxHashMap::default();
    let mut launched = Launched::default();
    let mut launched_by: FxHashMap<(FileId, u32), (FrameId, Amount)> = FxHashMap::default();
    for (stamp, stack) in (1..).zip(selection.stacks(profile)) {
        let own = finder.find(stack.stack);
        for &frame in &finder.on_stack {
            let row = profile.frames.get(frame);
            let line = first(row.file, row.line);
            let at = *rows.entry((row.file, line)).or_insert_with(|| {
                sums.push(LineSum::new(frame, line));
                sums.len() - 1
            });
            let sum = &mut sums[at];
            if sum.stamp != stamp {
                sum.stamp = stamp;
                sum.total.add(stack);
                members.total.add(at);
            }
            if own == Some(frame) && sum.own_stamp != stamp {
                sum.own_stamp = stamp;
                sum.own.add(stack);
                members.own.add(at);
                members.file.add(row.file.index());
            }
        }
        members.end_stack();
        if let Some(launcher) = finder.launcher {
            launched.amount.add(stack);
            let row = profile.frames.get(launcher);
            let entry = launched_by.entry((row.file, row.line));
            let (_, sum) = entry.or_insert((launcher, Amount::default()));
            sum.add(stack);
        }
        if own.is_none() {
            elsewhere.add(stack);
            let place = finder.leaf;
            let entry = elsewhere_by.entry(place.map(Place::key));
            let (_, sum) = entry.or_insert((place, Amount::default()));
            sum.add(stack);
        }
    }
    let whole = selection.mass(profile);
    let mut elsewhere_by: Vec<_> = elsewhere_by.into_values().collect();
    elsewhere_by.sort_by_key(|(place, sum)| (std::cmp::Reverse(sum.weight), *place));
    launched.by = launched_by.into_values().collect();
    launched
        .by
        .sort_by_key(|&(frame, sum)| (std::cmp::Reverse(sum.weight), frame));
    SourceShares {
        lineless: lineless(profile, selection, &mut finder),
        launched,
        files: files(profile, selection, &sums, &members),
        elsewhere,
        elsewhere_by,
        whole,
    }
}

/// The sums of a line.
struct LineSum {
    frame: FrameId,
    line: u32,
    own: Amount,
    total: Amount,
    stamp: u32,
    own_stamp: u32,
}

impl LineSum {
    fn new(frame: FrameId, line: u32) -> Self {
        Self {
            frame,
            line,
            own: Amount::default(),
            total: Amount::default(),
            stamp: 0,
            own_stamp: 0,
        }
    }
}

/// By stack, its lines, and the file of its own time.
#[derive(Default)]
struct LineMembers {
    own: Members,
    total: Members,
    file: Members,
}

impl LineMembers {
    fn end_stack(&mut self) {
        for members in [&mut self.own, &mut self.total, &mut self.file] {
            members.end_stack();
        }
    }
}

fn files(
    profile: &Profile,
    selection: &Selection,
    sums: &[LineSum],
    members: &LineMembers,
) -> Vec<FileLines> {
    let estimates = |members: &Members, amounts: &[Amount]| {
        scatter::estimates(profile, selection, members, amounts)
    };
    let amounts = |amount: fn(&LineSum) -> Amount| sums.iter().map(amount).collect::<Vec<_>>();
    let own = estimates(&members.own, &amounts(|sum| sum.own));
    let total = estimates(&members.total, &amounts(|sum| sum.total));
    let mut by_file = vec![Amount::default(); profile.files.len()];
    for sum in sums {
        by_file[profile.frames.get(sum.frame).file.index()] += sum.own;
    }
    let of_files = estimates(&members.file, &by_file);
    let mut numbers: FxHashMap<FileId, usize> = FxHashMap::default();
    let mut files: Vec<FileLines> = Vec::new();
    for ((sum, own), total) in sums.iter().zip(own).zip(total) {
        let row = profile.frames.get(sum.frame);
        let at = *numbers.entry(row.file).or_insert_with(|| {
            files.push(FileLines {
                file: row.file,
                is_python: row.language == Language::Python,
                own: of_files[row.file.index()],
                own_amount: by_file[row.file.index()],
                lines: Vec::new(),
            });
            files.len() - 1
        });
        let file = &mut files[at];
        file.lines.push(LineShare {
            line: sum.line,
            frame: sum.frame,
            own,
            total,
            own_amount: sum.own,
            total_amount: sum.total,
        });
    }
    for file in &mut files {
        file.lines.sort_by_key(|line| line.line);
    }
    // Files without time of their own come in the order of their lines' total time.
    let heat = |file: &FileLines| {
        let total = file.lines.iter().map(|line| line.total_amount.weight).max();
        (file.own_amount.weight, total)
    };
    files.sort_by(|a, b| heat(b).cmp(&heat(a)).then(a.file.cmp(&b.file)));
    files
}
