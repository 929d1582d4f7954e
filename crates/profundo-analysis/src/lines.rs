//! The share of each line of source.
//!
//! A line's own time is the time of the samples whose innermost frame, among those that are looked
//! at, is on it. Native code that a Python line calls is that line's time; and where the reader's
//! own code calls a library, the library's time is that of the calling line, since the reader can
//! change that line. A line's total time is that of the samples which have it on their stack, each
//! counted once, however often the line is there.

use profundo_model::{FileId, FrameId, Language, LocationId, Profile};
use rustc_hash::FxHashMap;

use crate::interval::{Estimate, Mass};
use crate::lineless::{Lineless, lineless};
use crate::scatter::Members;

use crate::amount::Amount;
use crate::line_finder::{Finder, Found, LinesOptions};
use crate::tally::{Keep, Rule, Tallies, Tally, Thing, tally};
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
    let find = || lines_joined(profile, selection, options, |_, line| line);
    SourceShares::clone(&selection.lines().get(options.clone(), find))
}

/// The same with some lines joined to one: `first` gives the line that a line of a file counts for,
/// which is the first one of its statement. A sample with several of a statement's lines on its
/// stack counts once.
pub fn lines_joined(
    profile: &Profile,
    selection: &Selection,
    options: &LinesOptions,
    first: impl FnMut(FileId, u32) -> u32,
) -> SourceShares {
    let stacks = selection.stacks(profile);
    let mut rule = LineRule::new(profile, options, first, stacks.len());
    let tallies = tally(profile, selection, &mut rule, Keep::Members);
    let mut elsewhere = Amount::default();
    let mut elsewhere_by: FxHashMap<Option<u32>, (Option<Place>, Amount)> = FxHashMap::default();
    let mut launched = Launched::default();
    let mut launched_by: FxHashMap<(FileId, u32), (FrameId, Amount)> = FxHashMap::default();
    for (stack, found) in stacks.iter().zip(&rule.found) {
        if let Some(launcher) = found.launcher {
            launched.amount.add(stack);
            let row = profile.frames.get(launcher);
            let entry = launched_by.entry((row.file, row.line));
            let (_, sum) = entry.or_insert((launcher, Amount::default()));
            sum.add(stack);
        }
        if found.own.is_none() {
            elsewhere.add(stack);
            let entry = elsewhere_by.entry(found.leaf.map(Place::key));
            let (_, sum) = entry.or_insert((found.leaf, Amount::default()));
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
        lineless: lineless(profile, selection, |stack| rule.found[stack].own),
        launched,
        files: files(profile, selection, &tallies, &rule.starts),
        elsewhere,
        elsewhere_by,
        whole,
    }
}

/// The lines as the contents of stacks.
struct LineRule<'a, F> {
    finder: Finder<'a>,
    profile: &'a Profile,
    /// The line that a line of a file counts for.
    first: F,
    /// By frame that was looked at, the number of its line, and the line.
    lines: Vec<u32>,
    starts: Vec<u32>,
    numbers: FxHashMap<(FileId, u32), u32>,
    /// By stack, what was found.
    found: Vec<Lines>,
}

/// The number of the line of a frame that was not looked at.
const UNSEEN: u32 = u32::MAX;

/// The lines of one stack.
#[derive(Clone, Copy, Default)]
struct Lines {
    own: Option<FrameId>,
    launcher: Option<FrameId>,
    leaf: Option<Place>,
}

impl<'a, F: FnMut(FileId, u32) -> u32> LineRule<'a, F> {
    fn new(profile: &'a Profile, options: &LinesOptions, first: F, stacks: usize) -> Self {
        Self {
            finder: Finder::new(profile, options),
            profile,
            first,
            lines: vec![UNSEEN; profile.frames.len()],
            starts: vec![0; profile.frames.len()],
            numbers: FxHashMap::default(),
            found: vec![Lines::default(); stacks],
        }
    }
}

impl<F: FnMut(FileId, u32) -> u32> Rule for LineRule<'_, F> {
    type State = Found;

    fn root(&self) -> Found {
        Found::default()
    }

    fn enter(&mut self, state: &Found, location: LocationId, things: &mut Vec<Thing>) -> Found {
        let Self {
            finder, profile, ..
        } = self;
        finder.level(state, location, |frame| {
            let slot = &mut self.lines[frame.index()];
            if *slot == UNSEEN {
                let row = profile.frames.get(frame);
                let line = (self.first)(row.file, row.line);
                let next = self.numbers.len() as u32;
                *slot = *self.numbers.entry((row.file, line)).or_insert(next);
                self.starts[frame.index()] = line;
            }
            things.push(Thing {
                slot: *slot,
                place: Place::Frame(frame),
                location,
            });
        })
    }

    fn own(&self, state: &Found) -> Option<u32> {
        state.own().map(|frame| self.lines[frame.index()])
    }

    fn end(&mut self, number: u32, state: &Found) {
        self.found[number as usize] = Lines {
            own: state.own(),
            launcher: state.launcher(),
            leaf: state.leaf,
        };
    }
}

/// The lines of files. `starts` has the line of each frame.
fn files(
    profile: &Profile,
    selection: &Selection,
    tallies: &Tallies,
    starts: &[u32],
) -> Vec<FileLines> {
    let estimates = |members: &Members, amounts: &[Amount]| {
        scatter::estimates(profile, selection, members, amounts)
    };
    // A line is a frame, since only frames are looked at.
    let frames: Vec<FrameId> = (tallies.list.iter())
        .filter_map(|tally| match tally.place {
            Place::Frame(frame) => Some(frame),
            Place::Reason(_) | Place::Unknown => None,
        })
        .collect();
    let file_of = |row: u32| profile.frames.get(frames[row as usize]).file;
    let amounts = |of: fn(&Tally) -> Amount| tallies.list.iter().map(of).collect::<Vec<_>>();
    let own = estimates(&tallies.own, &amounts(|tally| tally.own));
    let total = estimates(&tallies.total, &amounts(|tally| tally.total));
    let mut by_file = vec![Amount::default(); profile.files.len()];
    for (row, tally) in (0..).zip(&tallies.list) {
        by_file[file_of(row).index()] += tally.own;
    }
    let in_files = tallies.own.map(|row| file_of(row).0);
    let of_files = estimates(&in_files, &by_file);
    let mut numbers: FxHashMap<FileId, usize> = FxHashMap::default();
    let mut files: Vec<FileLines> = Vec::new();
    for (((tally, &frame), own), total) in tallies.list.iter().zip(&frames).zip(own).zip(total) {
        let row = profile.frames.get(frame);
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
        files[at].lines.push(LineShare {
            line: starts[frame.index()],
            frame,
            own,
            total,
            own_amount: tally.own,
            total_amount: tally.total,
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
