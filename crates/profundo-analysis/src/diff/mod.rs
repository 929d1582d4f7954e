//! The difference of two recordings, or of two sets of them: what has changed, by how much, and how
//! sure that is.
//!
//! Functions and lines of both sides are matched first ([`matching`]), so that moved, edited and
//! renamed code is the same row. Amounts are brought to a common scale ([`scale`]). A factor that
//! all rows share is taken out ([`factor`]), and each row is tested ([`test`]). Only what passes
//! the test is a change; the rest is chance, as far as these recordings can say.

mod assumed;
mod boxes;
mod code;
mod draft;
pub(crate) mod factor;
mod joint;
mod matching;
mod measure;
mod scale;
mod stacks;
pub(crate) mod student;
mod table;
pub(crate) mod test;
#[cfg(test)]
mod tests;

use profundo_model::{Frame, FrameId, Language, Profile, SampleKind, c_name};
use rustc_hash::FxHashSet;

pub use assumed::Assumed;
pub use boxes::{DiffBox, DiffBoxOf, DiffPicture, Widths};
pub use scale::{Per, Scale};
pub use stacks::{StackNode, StackTree, Trend};
pub use table::{Change, Row, Subject, Table};
pub use test::{Cell, Difference, FALSE_ALARMS};

use crate::{Filter, LinesOptions, Selection, Shown};
use code::Code;
use factor::Factor;
use matching::Matching;
use test::{Runs, Spread};

/// The rows of a comparison.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum By {
    /// By function.
    Function,
    /// By line of source.
    Line,
    /// By call path.
    Stack,
    /// By the type of allocated blocks.
    Type,
    /// By thread.
    Thread,
    /// By program.
    Process,
    /// By task.
    Task,
    /// By kind of time: Python, native, system, waiting.
    Kind,
    /// By wait: for what, and at which line.
    Wait,
    /// By file, socket or pipe that was read or written.
    Io,
    /// By the span that samples are in.
    Span,
    /// By counted calls.
    Calls,
    /// By counted runs of lines.
    Hits,
}

impl By {
    /// All, by their names in options.
    pub const CHOICES: [(&'static str, Self); 13] = [
        ("function", Self::Function),
        ("line", Self::Line),
        ("stack", Self::Stack),
        ("type", Self::Type),
        ("thread", Self::Thread),
        ("process", Self::Process),
        ("task", Self::Task),
        ("kind", Self::Kind),
        ("wait", Self::Wait),
        ("io", Self::Io),
        ("span", Self::Span),
        ("calls", Self::Calls),
        ("hits", Self::Hits),
    ];

    /// The name in options and in JSON.
    pub fn name(self) -> &'static str {
        let mut choices = Self::CHOICES.iter();
        choices
            .find(|(_, by)| *by == self)
            .map_or("", |(name, _)| name)
    }

    /// Whether all rows may share a factor, as on a slower machine. Counts do not depend on its
    /// speed, and a wait lasts as long as what is waited for.
    pub fn has_factor(self) -> bool {
        !matches!(self, Self::Wait | Self::Io | Self::Calls | Self::Hits)
    }

    /// Whether the rows are so many and so different that a factor of all of them can be told from
    /// a change. Two threads of the same work are not.
    fn tells_factor(self) -> bool {
        matches!(self, Self::Function | Self::Line | Self::Stack | Self::Type)
    }
}

/// The unit of a table's amounts.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Unit {
    /// Nanoseconds.
    Time,
    /// Bytes.
    Bytes,
    /// A number of things.
    Count,
}

/// The options of a comparison.
#[derive(Debug, Clone, Default)]
pub struct Options {
    /// The tables, in their order. None: those that suit the recordings.
    pub by: Vec<By>,
    /// The samples.
    pub filter: Filter,
    /// The shown part of their stacks.
    pub shown: Shown,
    /// The common scale.
    pub per: Per,
    /// Whether both sides are parts of one run. Then nothing made all of one side faster, and no
    /// factor is taken out.
    pub is_one_run: bool,
}

/// The reason why recordings cannot be compared.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum CompareError {
    /// One side has no recordings.
    #[error("there is nothing to compare with")]
    Nothing,
    /// They measure different things.
    #[error("one measures {0} and the other {1}, which cannot be compared")]
    Kinds(String, String),
    /// The table needs what was not recorded.
    #[error("there is no table by {0} for these recordings: {1}")]
    NotRecorded(&'static str, &'static str),
    /// The scale needs a duration that is not known.
    #[error("the length of a recording is not known, so nothing can be given per second")]
    NoDuration,
    /// The function of the scale does not run.
    #[error("the work is measured by `{0}`, which is in no sample or call of the recording {1}")]
    NoWork(String, &'static str),
    /// No calls were counted.
    #[error(
        "calls were not counted in these recordings: `--per FUNCTION` takes a function's time instead"
    )]
    NoCalls,
}

/// The comparison.
#[derive(Debug)]
pub struct Comparison {
    /// The scale.
    pub scale: Scale,
    /// The unit of the whole.
    pub unit: Unit,
    /// The number of runs before and after.
    pub runs: [usize; 2],
    /// Whether everything was counted, so that no chance is in it.
    pub is_exact: bool,
    /// The factor that all rows share beyond their own changes; 1 where there is none.
    pub factor: f64,
    /// The whole.
    pub whole: Difference,
    /// The tables.
    pub tables: Vec<Table>,
    /// The relative spread between runs that the tests used, and whether it was measured.
    pub spread: (f64, bool),
    /// The spread that is assumed for single runs.
    pub assumed: Assumed,
    /// The smallest change of any row that would have been seen, as a part of the whole before, and
    /// that of the whole.
    pub resolution: [f64; 2],
}

impl Comparison {
    /// The table of these rows.
    pub fn table(&self, by: By) -> Option<&Table> {
        self.tables.iter().find(|table| table.by == by)
    }

    /// Whether anything has changed.
    pub fn is_any(&self) -> bool {
        let rows = self.tables.iter().flat_map(|table| &table.rows);
        self.whole.is_significant || rows.into_iter().any(Row::is_significant)
    }
}

/// All that is prepared for a comparison.
pub(crate) struct Prepared<'a> {
    pub profiles: [Vec<&'a Profile>; 2],
    pub selections: [Vec<Selection>; 2],
    pub codes: [Code<'a>; 2],
    pub matching: Matching,
    pub scale: Scale,
    pub unit: Unit,
    pub is_exact: bool,
    pub assumed: Assumed,
    pub options: Options,
}

impl std::fmt::Debug for Prepared<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Prepared").finish_non_exhaustive()
    }
}

impl<'a> Prepared<'a> {
    fn new(
        before: &[&'a Profile],
        after: &[&'a Profile],
        options: &Options,
    ) -> Result<Self, CompareError> {
        let (Some(first), Some(_)) = (before.first(), after.first()) else {
            return Err(CompareError::Nothing);
        };
        let kind = measure::kind_name(first);
        for other in before.iter().chain(after) {
            let other = measure::kind_name(other);
            if other != kind {
                return Err(CompareError::Kinds(kind, other));
            }
        }
        let select = |profiles: &[&Profile]| -> Vec<Selection> {
            (profiles.iter())
                .map(|profile| Selection::new(profile, &options.filter))
                .collect()
        };
        let selections = [select(before), select(after)];
        let scale = Scale::new([before, after], &selections, options)?;
        let codes = [Code::new(before), Code::new(after)];
        let matching = Matching::new(&codes[0], &codes[1]);
        Ok(Self {
            unit: measure::unit(first),
            assumed: Assumed::of(first.meta.kind, before.iter().chain(after).copied()),
            is_exact: before.iter().chain(after).all(|profile| {
                matches!(profile.meta.kind, SampleKind::Heap(_))
                    && crate::weights::is_exact(profile)
            }),
            profiles: [before.to_vec(), after.to_vec()],
            selections,
            codes,
            matching,
            scale,
            options: options.clone(),
        })
    }

    /// The lines that have time of their own.
    fn lines(&self) -> LinesOptions {
        let mut shown = self.options.shown;
        if shown.libraries == crate::Libraries::Shown {
            shown.libraries = crate::Libraries::Folded;
        }
        LinesOptions {
            shown,
            files: self.options.filter.files.clone(),
        }
    }
}

/// Makes the same functions plumbing of the interpreter in all of these profiles: those that are in
/// any. Which small helpers are shown hangs on the samples of a recording, and would look like a
/// change of them and of their callers.
pub fn hide_alike(profiles: &mut [Profile]) {
    let mut hidden: FxHashSet<(String, String)> = FxHashSet::default();
    let key = |profile: &Profile, frame: &Frame| {
        let name = profile.strings.get(frame.function);
        let path = profile.strings.get(profile.files.get(frame.file).path);
        (c_name(name).to_owned(), path.to_owned())
    };
    for profile in profiles.iter() {
        let frames = profile.frames.iter();
        let plumbing = frames.filter(|frame| frame.language == Language::Runtime);
        hidden.extend(plumbing.map(|frame| key(profile, frame)));
    }
    for profile in profiles {
        let shown: Vec<FrameId> = (profile.frames.iter().enumerate())
            .filter(|(_, frame)| frame.language == Language::Native)
            .filter(|(_, frame)| hidden.contains(&key(profile, frame)))
            .map(|(index, _)| FrameId::from_index(index))
            .collect();
        for frame in shown {
            profile.frames.set_language(frame, Language::Runtime);
        }
    }
}

/// Compares the runs before with those after.
pub fn compare(
    before: &[&Profile],
    after: &[&Profile],
    options: &Options,
) -> Result<Comparison, CompareError> {
    let mut prepared = Prepared::new(before, after, options)?;
    let by = match &options.by[..] {
        [] => measure::usual(&prepared.profiles),
        chosen => chosen.to_vec(),
    };
    for &by in &by {
        measure::check(by, &prepared.profiles)?;
    }
    let mut drafts: Vec<draft::Draft> = (by.iter())
        .map(|&by| draft::Draft::new(&mut prepared, by))
        .collect();
    let runs = [before.len(), after.len()];
    let is_single = runs == [1, 1];
    // The rows of the first table add up to the whole.
    let factors = match drafts.first() {
        Some(draft) if draft.by.tells_factor() => draft.factors(&prepared),
        _ if by.iter().all(|by| !by.has_factor()) => Vec::new(),
        _ => draft::Draft::new(&mut prepared, By::Function).factors(&prepared),
    };
    for draft in drafts.iter_mut().filter(|draft| draft.by.has_factor()) {
        draft.even_out(&factors, runs[0]);
    }
    let factor = between(&factors, runs[0]);
    let mut used = Spread::EXACT;
    let mut tables: Vec<Table> = Vec::new();
    for (at, draft) in drafts.into_iter().enumerate() {
        let spread = draft.spread(&prepared, is_single);
        if at == 0 {
            used = spread;
        }
        let factor = match draft.by.has_factor() {
            true => factor,
            false => Factor::NONE,
        };
        tables.push(draft.finish(&prepared, factor, spread));
    }
    let limit = test::mark(tables.iter_mut().flat_map(Table::own_differences));
    test::mark(tables.iter_mut().flat_map(Table::total_differences));
    for table in &mut tables {
        table.sort();
    }
    let whole = whole(&prepared, is_single);
    let resolution = resolution(&tables, &whole, limit);
    Ok(Comparison {
        scale: prepared.scale,
        unit: prepared.unit,
        runs,
        is_exact: prepared.is_exact || tables.iter().all(Table::is_counted),
        factor: factor.value,
        whole,
        tables,
        spread: (used.relative, !is_single),
        assumed: prepared.assumed,
        resolution,
    })
}

/// The factor between both sides.
fn between(factors: &[Factor], before: usize) -> Factor {
    match factors {
        [] => Factor::NONE,
        [single] => *single,
        several => {
            let (before, after) = several.split_at(before);
            let (before, after) = (draft::mean_factor(before), draft::mean_factor(after));
            Factor {
                value: after.value / before.value,
                variance: before.variance + after.variance,
            }
        }
    }
}

/// Compares the call trees of both sides, for a picture.
pub fn compare_stacks(
    before: &[&Profile],
    after: &[&Profile],
    options: &Options,
) -> Result<StackTree, CompareError> {
    let mut prepared = Prepared::new(before, after, options)?;
    Ok(stacks::tree(&mut prepared))
}

/// The difference of the whole. All CPU time is counted, so a whole has no lottery of its own.
fn whole(prepared: &Prepared<'_>, is_single: bool) -> Difference {
    let cells = |side: usize| measure::wholes(prepared, side);
    let (before, after) = (cells(0), cells(1));
    let runs = Runs {
        before: &before,
        after: &after,
    };
    let spread = match (prepared.is_exact, is_single) {
        (true, true) => Spread::EXACT,
        (false, true) => Spread {
            relative: prepared.assumed.whole,
            freedom: f64::INFINITY,
        },
        (_, false) => Spread {
            relative: prepared.assumed.whole,
            freedom: 1.0,
        },
    };
    let mut whole = test::difference(runs, Factor::NONE, spread);
    whole.is_significant = whole.p <= FALSE_ALARMS;
    whole
}

/// The smallest changes that would have been seen in nine of ten cases.
fn resolution(tables: &[Table], whole: &Difference, limit: f64) -> [f64; 2] {
    /// Nine of ten lie above the mean less so many standard deviations.
    const NINE_OF_TEN: f64 = 1.2816;
    let all = whole.before.max(whole.after).max(f64::MIN_POSITIVE);
    let seen = |deviation: f64, limit: f64| {
        deviation * (student::quantile(limit.max(1e-12), f64::INFINITY) + NINE_OF_TEN) / all
    };
    let rows = tables
        .iter()
        .filter(|table| !table.is_count)
        .flat_map(|table| &table.rows);
    let worst = rows.map(|row| row.own.deviation).fold(0.0, f64::max);
    [seen(worst, limit), seen(whole.deviation, FALSE_ALARMS)]
}
