//! The share of each line of source.
//!
//! A line's own time is the time of the samples whose innermost frame, among those that are looked
//! at, is on it. Native code that a Python line calls is that line's time; and where the reader's
//! own code calls a library, the library's time is that of the calling line, since that line is
//! what he can change. A line's total time is that of the samples which have it on their stack, each
//! counted once, however often the line is there.

use profundo_model::{FileId, FrameId, Language, Profile, StackId};
use rustc_hash::FxHashMap;

use crate::interval::{Estimate, Mass};
use crate::lineless::{Lineless, lineless};
use crate::ownership::Ownership;
use crate::scatter::Members;
use crate::shown::{Libraries, Shown};
use crate::tally::Amount;
use crate::{Pattern, Place, Selection, pattern, scatter};

/// Which lines are looked at.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct LinesOptions {
    /// What is shown. Where libraries are shown, their lines have time of their own; where they
    /// are folded, only where no line of the reader's own is on the stack; where they are hidden,
    /// never.
    pub shown: Shown,
    /// Only lines of these files, where there are any. A sample is then its innermost such line's.
    pub files: Vec<Pattern>,
}

/// What one line took.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct LineShare {
    /// The line, from 1.
    pub line: u32,
    /// A frame on it.
    pub frame: FrameId,
    /// Its own share of the time.
    pub own: Estimate,
    /// Its share of the time with all that it called.
    pub total: Estimate,
    /// What its own samples add up to.
    pub own_amount: Amount,
    /// What the samples with it on their stack add up to.
    pub total_amount: Amount,
}

/// What the lines of one file took.
#[derive(Debug, Clone, PartialEq)]
pub struct FileLines {
    /// The file.
    pub file: FileId,
    /// Whether its code is Python's.
    pub is_python: bool,
    /// The share of its lines, together.
    pub own: Estimate,
    /// What the samples of its lines add up to.
    pub own_amount: Amount,
    /// Its lines that were on a stack, in their order.
    pub lines: Vec<LineShare>,
}

/// The shares of all lines.
#[derive(Debug, Clone, PartialEq)]
pub struct SourceShares {
    /// The files, the one that took most first.
    pub files: Vec<FileLines>,
    /// What has no line of source that is looked at.
    pub elsewhere: Amount,
    /// The same by the function that ran, the one that took most first; `None` is what has nothing
    /// on its stack that is shown.
    pub elsewhere_by: Vec<(Option<Place>, Amount)>,
    /// The same by whose it is: a library's threads, or a program.
    pub lineless: Vec<Lineless>,
    /// What lines of libraries have because only a launcher called them.
    pub launched: Launched,
    /// All that was selected.
    pub whole: Mass,
}

/// The part of the time in which no line of the reader's own ran but one that starts a library.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Launched {
    /// How much it is.
    pub amount: Amount,
    /// The lines that started it, the one with most first, and what each of them did.
    pub by: Vec<(FrameId, Amount)>,
}

/// The shares of the lines of a selection.
pub fn lines(profile: &Profile, selection: &Selection, options: &LinesOptions) -> SourceShares {
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
            let at = *rows.entry((row.file, row.line)).or_insert_with(|| {
                sums.push(LineSum::new(frame));
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

/// What a line adds up to.
struct LineSum {
    frame: FrameId,
    own: Amount,
    total: Amount,
    stamp: u32,
    own_stamp: u32,
}

impl LineSum {
    fn new(frame: FrameId) -> Self {
        Self {
            frame,
            own: Amount::default(),
            total: Amount::default(),
            stamp: 0,
            own_stamp: 0,
        }
    }
}

/// By stack, which lines it is of, and which file its own time is of.
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
    let own = estimates(&members.own, &amounts(|it| it.own));
    let total = estimates(&members.total, &amounts(|it| it.total));
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
            line: row.line,
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

/// The place of a line that only starts libraries, among those that may have a sample's time.
const LAUNCHER: usize = 4;
/// The place of a line of what imports modules. The line that asked for the module says more.
const IMPORTER: usize = 5;

/// Finds the line whose time a sample is.
pub(crate) struct Finder<'a> {
    profile: &'a Profile,
    owners: Ownership<'a>,
    libraries: Libraries,
    /// By frame, whether its line is looked at.
    looked_at: Vec<bool>,
    /// By frame, whether it is of Python's own code that imports modules.
    imports: Vec<bool>,
    /// The frames of the last stack whose lines are looked at, innermost first.
    pub(crate) on_stack: Vec<FrameId>,
    /// The innermost place of the last stack that is not plumbing.
    pub(crate) leaf: Option<Place>,
    /// The line that only started the last stack, where no other is the reader's own.
    pub(crate) launcher: Option<FrameId>,
}

impl<'a> Finder<'a> {
    pub(crate) fn new(profile: &'a Profile, options: &LinesOptions) -> Self {
        let files = (!options.files.is_empty()).then(|| pattern::files(profile, &options.files));
        let sieve = crate::shown::Sieve::new(
            profile,
            Shown {
                libraries: Libraries::Shown,
                ..options.shown
            },
        );
        let looked_at = (profile.frames.iter().enumerate())
            .map(|(index, frame)| {
                frame.line > 0
                    && frame.file != FileId(0)
                    && !matches!(frame.language, Language::Synthetic | Language::Runtime)
                    && !sieve.hides(Place::Frame(FrameId::from_index(index)))
                    && files.as_ref().is_none_or(|files| files[frame.file.index()])
            })
            .collect();
        Self {
            profile,
            owners: Ownership::new(profile),
            // Who asks for files by name means those, whoever made them.
            libraries: if files.is_some() {
                Libraries::Shown
            } else {
                options.shown.libraries
            },
            looked_at,
            imports: (profile.frames.iter())
                .map(|frame| is_importer(profile.strings.get(profile.files.get(frame.file).path)))
                .collect(),
            on_stack: Vec::new(),
            leaf: None,
            launcher: None,
        }
    }

    /// Whether a frame is of Python's, or of a module that Cython has made C of.
    fn is_like_python(&self, frame: FrameId) -> bool {
        let row = self.profile.frames.get(frame);
        let cython = || matches!(file_ending(self.profile, row.file), "pyx" | "pxd" | "pxi");
        row.language == Language::Python || cython()
    }

    /// The frame whose line the samples of a stack are the own time of.
    pub(crate) fn find(&mut self, stack: StackId) -> Option<FrameId> {
        self.on_stack.clear();
        self.leaf = None;
        self.launcher = None;
        // The innermost line of one's own in Python, of one's own in another language, the
        // same for libraries, what started them, and what imported them.
        let mut best: [Option<FrameId>; 6] = [None; 6];
        for location in self.profile.stacks.locations(stack) {
            for place in crate::place::places(self.profile, location).rev() {
                let Place::Frame(frame) = place else {
                    self.leaf = self.leaf.or(Some(place));
                    continue;
                };
                let language = self.profile.frames.get(frame).language;
                if language != Language::Runtime {
                    self.leaf = self.leaf.or(Some(place));
                }
                if !self.looked_at[frame.index()] {
                    continue;
                }
                let is_library =
                    self.libraries != Libraries::Shown && self.owners.is_library(place, location);
                if is_library && self.libraries == Libraries::Hidden {
                    continue;
                }
                self.on_stack.push(frame);
                let class = match () {
                    () if is_library && self.owners.is_launcher(frame) => LAUNCHER,
                    () if is_library && self.imports[frame.index()] => IMPORTER,
                    () => 2 * usize::from(is_library) + usize::from(!self.is_like_python(frame)),
                };
                best[class] = best[class].or(Some(frame));
            }
        }
        if best[0].or(best[1]).is_none() {
            self.launcher = best[LAUNCHER];
        }
        best.into_iter().flatten().next()
    }
}

/// Whether a file is the part of Python's library that imports modules.
fn is_importer(path: &str) -> bool {
    path.starts_with("<frozen importlib.")
        || path.ends_with("/importlib/__init__.py")
        || path.ends_with("/importlib/_bootstrap.py")
        || path.ends_with("/importlib/_bootstrap_external.py")
        || path == "<frozen zipimport>"
}

/// What stands behind the last dot of a file's name.
fn file_ending(profile: &Profile, file: FileId) -> &str {
    let path = profile.strings.get(profile.files.get(file).path);
    path.rsplit_once('.').map_or("", |(_, ending)| ending)
}
