//! The line of source that a sample's time belongs to.
//!
//! The innermost line of the reader's own comes first, one in Python before others; then lines of
//! libraries, the line that only starts one, and that of an importer.

use profundo_model::{FileId, FrameId, Language, LocationId, Profile, StackId};

use crate::ownership::Ownership;
use crate::shown::{Libraries, Shown};
use crate::{Pattern, Place, pattern};

/// The lines that are looked at.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct LinesOptions {
    /// The shown frames. Where libraries are shown, their lines have time of their own; where they
    /// are folded, only where no line of the reader's own is on the stack; where they are hidden,
    /// never.
    pub shown: Shown,
    /// Only lines of these files, where there are any. A sample is then its innermost such line's.
    pub files: Vec<Pattern>,
}

/// The rank of a line that only starts libraries, among those that may have a sample's time.
const LAUNCHER: usize = 4;
/// The rank of an importer's line. The line with the import says more.
const IMPORTER: usize = 5;

/// Finds the line that a sample's time belongs to.
pub(crate) struct Finder<'a> {
    profile: &'a Profile,
    owners: Ownership<'a>,
    libraries: Libraries,
    /// By frame, whether its line is looked at.
    looked_at: Vec<bool>,
    /// By frame, whether it belongs to Python's own importer.
    imports: Vec<bool>,
    /// By location, the range of its lines in `known`, and its innermost place that matters.
    ranges: Vec<Option<(u32, u32, Option<Place>)>>,
    /// Frames whose lines are looked at, each with its rank.
    known: Vec<(FrameId, u8)>,
    /// The frames of the last stack whose lines are looked at, innermost first.
    pub(crate) on_stack: Vec<FrameId>,
    /// The innermost place of the last stack that is not plumbing.
    pub(crate) leaf: Option<Place>,
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
            // Files requested by name count, whatever their owner.
            libraries: if files.is_some() {
                Libraries::Shown
            } else {
                options.shown.libraries
            },
            looked_at,
            imports: (profile.frames.iter())
                .map(|frame| is_importer(profile.strings.get(profile.files.get(frame.file).path)))
                .collect(),
            ranges: vec![None; profile.locations.len()],
            known: Vec::new(),
            on_stack: Vec::new(),
            leaf: None,
        }
    }

    /// Whether a frame is of Python, or of a module compiled by Cython.
    fn is_like_python(&self, frame: FrameId) -> bool {
        let row = self.profile.frames.get(frame);
        let cython = || matches!(file_ending(self.profile, row.file), "pyx" | "pxd" | "pxi");
        row.language == Language::Python || cython()
    }

    /// The frame whose line owns the samples of a stack.
    pub(crate) fn find(&mut self, stack: StackId) -> Option<FrameId> {
        let mut on_stack = std::mem::take(&mut self.on_stack);
        on_stack.clear();
        let path: Vec<LocationId> = self.profile.stacks.locations(stack).collect();
        let mut found = Found::default();
        for location in path.into_iter().rev() {
            found = self.level(&found, location, |frame| on_stack.push(frame));
        }
        on_stack.reverse();
        self.on_stack = on_stack;
        self.leaf = found.leaf;
        found.own()
    }

    /// Goes one level up. `visit` gets the frames whose lines are looked at, the outermost first.
    pub(crate) fn level(
        &mut self,
        callers: &Found,
        location: LocationId,
        mut visit: impl FnMut(FrameId),
    ) -> Found {
        let (start, end, leaf) = match self.ranges[location.index()] {
            Some(known) => known,
            None => {
                let known = self.look_at(location);
                self.ranges[location.index()] = Some(known);
                known
            }
        };
        let mut found = *callers;
        found.leaf = leaf.or(found.leaf);
        for &(frame, class) in &self.known[start as usize..end as usize] {
            visit(frame);
            found.innermost[class as usize] = Some(frame);
        }
        found
    }

    /// Finds the lines of a location: their range in `known`, and the innermost place that is not
    /// plumbing.
    fn look_at(&mut self, location: LocationId) -> (u32, u32, Option<Place>) {
        let start = self.known.len();
        let mut leaf = None;
        for place in crate::place::places(self.profile, location) {
            let Place::Frame(frame) = place else {
                leaf = Some(place);
                continue;
            };
            let language = self.profile.frames.get(frame).language;
            if language != Language::Runtime {
                leaf = Some(place);
            }
            if !self.looked_at[frame.index()] {
                continue;
            }
            let is_library =
                self.libraries != Libraries::Shown && self.owners.is_library(place, location);
            if is_library && self.libraries == Libraries::Hidden {
                continue;
            }
            let class = match () {
                () if is_library && self.owners.is_launcher(frame) => LAUNCHER,
                () if is_library && self.imports[frame.index()] => IMPORTER,
                () => 2 * usize::from(is_library) + usize::from(!self.is_like_python(frame)),
            };
            self.known.push((frame, class as u8));
        }
        // There are fewer than 2^32 frames at all locations.
        (start as u32, self.known.len() as u32, leaf)
    }
}

/// The lines of a stack, up to one of its levels.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Found {
    /// The innermost own line in Python, the innermost own line in another language, the same for
    /// libraries, their launcher, and their importer.
    innermost: [Option<FrameId>; 6],
    /// The innermost place that is not plumbing.
    pub leaf: Option<Place>,
}

impl Found {
    /// The frame whose line owns the samples of a stack that ends here.
    pub(crate) fn own(&self) -> Option<FrameId> {
        self.innermost.into_iter().flatten().next()
    }

    /// The line that only started the stack, where no other is the reader's own.
    pub(crate) fn launcher(&self) -> Option<FrameId> {
        match self.innermost[0].or(self.innermost[1]) {
            Some(_) => None,
            None => self.innermost[LAUNCHER],
        }
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

/// The ending of a file's name.
fn file_ending(profile: &Profile, file: FileId) -> &str {
    let path = profile.strings.get(profile.files.get(file).path);
    path.rsplit_once('.').map_or("", |(_, ending)| ending)
}
