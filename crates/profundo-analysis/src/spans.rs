//! Spans by name, or by one attribute: how many there were, how long they took, and the time of the
//! samples in them.
//!
//! A sample counts once for each name on its path, and its innermost span owns it. So the own
//! times of all rows and the time outside of spans add up to the whole, while a span's time
//! includes that of the spans in it.
//!
//! Lengths come from the spans themselves, not from samples: from each span where it has a row,
//! else from sums. Sums have no times: a filter on time leaves them out, and [`Spans::unplaced`]
//! has their number.

use profundo_model::{Kind, Lengths, Mark, Nanos, Profile, SpanId, State, StringId};
use rustc_hash::FxHashMap;

use crate::admit::Admitted;
use crate::amount::Amount;
use crate::group::span_names;
use crate::interval::Estimate;
use crate::kind::Split;
use crate::weights::{Squares, weight_of};
use crate::{Filter, GroupBy, Selection};

/// The spans of one name, or with one value of an attribute.
#[derive(Debug, Clone, PartialEq)]
pub struct SpanRow {
    /// The name, or the value.
    pub name: StringId,
    /// The lengths of the spans that have ended.
    pub lengths: Lengths,
    /// The median, the 95th and the 99th percentile of these lengths, where there are any.
    pub percentiles: Option<[u64; 3]>,
    /// True if the percentiles are those of the lengths themselves, not of a histogram.
    pub is_exact: bool,
    /// The number of spans that were open at the end.
    pub open: u64,
    /// The samples in these spans.
    pub total: Amount,
    /// Their share of the time.
    pub total_share: Estimate,
    /// The samples of which such a span is the innermost one.
    pub own: Amount,
    /// Their share of the time.
    pub own_share: Estimate,
}

/// All spans and marks that pass.
#[derive(Debug, Clone, PartialEq)]
pub struct Spans {
    /// The rows: the one with most time first, then the one with the longest spans.
    pub rows: Vec<SpanRow>,
    /// The samples outside of all rows.
    pub outside: Amount,
    /// Their share of the time.
    pub outside_share: Estimate,
    /// Spans, each in one row.
    pub count: u64,
    /// Those of them that have no row of their own in the recording.
    pub summed: u64,
    /// Further spans that were left out because the filter names a time, and theirs is unknown.
    pub unplaced: u64,
    /// Marks, in the order of time.
    pub marks: Vec<Mark>,
}

/// A row in the making.
#[derive(Default)]
struct Draft {
    lengths: Lengths,
    each: Vec<u64>,
    has_sums: bool,
    open: u64,
    total: Amount,
    own: Amount,
}

/// The spans by name, or with [`GroupBy::SpanOf`] by an attribute. `selection` has the samples that
/// pass the filter.
pub fn spans(profile: &Profile, selection: &Selection, filter: &Filter, by: &GroupBy) -> Spans {
    let by = match by {
        GroupBy::SpanOf(_) => by,
        _ => &GroupBy::Span,
    };
    let paths = Paths::new(profile, by);
    let mut drafts: FxHashMap<StringId, Draft> = FxHashMap::default();
    let outside = add_samples(profile, selection, &paths, &mut drafts);
    let admitted = Admitted::new(profile, filter);
    let all = &profile.spans;
    let mut found = Spans {
        rows: Vec::new(),
        outside,
        outside_share: outside.share(selection.mass(profile)),
        count: 0,
        summed: 0,
        unplaced: 0,
        marks: Vec::new(),
    };
    for span in &all.each {
        let passes = admitted.owner(span.thread, span.task, span.path);
        let is_then = admitted.overlaps(span.from, span.to);
        let Some(name) = paths.own(span.path).filter(|_| passes && is_then) else {
            continue;
        };
        found.count += 1;
        let draft = drafts.entry(name).or_default();
        match span.length() {
            Some(length) => {
                draft.lengths.add(length);
                draft.each.push(length);
            }
            None => draft.open += 1,
        }
    }
    let has_time = filter.from.is_some() || filter.to.is_some();
    for sum in &all.sums {
        let passes = admitted.sum_of_spans(sum.process, sum.thread, sum.path);
        let Some(name) = paths.own(sum.path).filter(|_| passes) else {
            continue;
        };
        let count = sum.lengths.count;
        if has_time {
            found.unplaced = found.unplaced.saturating_add(count);
            continue;
        }
        found.count = found.count.saturating_add(count);
        found.summed = found.summed.saturating_add(count);
        let draft = drafts.entry(name).or_default();
        draft.lengths.merge(&sum.lengths);
        draft.has_sums = true;
    }
    let marks = all.marks.iter().filter(|mark| {
        let is_then = admitted.overlaps(mark.time, Some(mark.time));
        admitted.owner(mark.thread, mark.task, mark.span) && is_then
    });
    found.marks = marks.copied().collect();
    found.marks.sort_by_key(|mark| mark.time);
    let whole = selection.mass(profile);
    found.rows = (drafts.into_iter())
        .map(|(name, draft)| SpanRow {
            name,
            is_exact: !draft.has_sums,
            percentiles: percentiles(&draft.lengths, draft.each, draft.has_sums),
            lengths: draft.lengths,
            open: draft.open,
            total_share: draft.total.share(whole),
            total: draft.total,
            own_share: draft.own.share(whole),
            own: draft.own,
        })
        .collect();
    found.rows.sort_by_key(|row| {
        let most = (row.total.weight, row.lengths.total);
        (std::cmp::Reverse(most), row.name)
    });
    found
}

fn percentiles(lengths: &Lengths, mut each: Vec<u64>, has_sums: bool) -> Option<[u64; 3]> {
    const PARTS: [f64; 3] = [0.5, 0.95, 0.99];
    if lengths.count == 0 {
        return None;
    }
    if has_sums {
        return Some(PARTS.map(|part| lengths.percentile(part).unwrap_or_default()));
    }
    each.sort_unstable();
    Some(PARTS.map(|part| {
        let rank = (each.len() as f64 * part).ceil() as usize;
        each[rank.clamp(1, each.len()) - 1]
    }))
}

/// By path, its rows.
struct Paths {
    /// The row of the innermost span that has one.
    innermost: Vec<StringId>,
    /// The distinct rows of the path.
    all: Vec<Vec<StringId>>,
    /// Whether the last span itself is in the innermost row.
    is_own: Vec<bool>,
}

impl Paths {
    fn new(profile: &Profile, by: &GroupBy) -> Self {
        let innermost = span_names(profile, by);
        let key = match by {
            GroupBy::SpanOf(key) => profile.strings.find(key),
            _ => None,
        };
        let mut all: Vec<Vec<StringId>> = Vec::with_capacity(innermost.len());
        let mut is_own = Vec::with_capacity(innermost.len());
        for ((id, path), &name) in profile.spans.paths.iter().zip(&innermost) {
            let mut rows = path
                .parent
                .map_or(Vec::new(), |parent| all[parent.index()].clone());
            let has_key = || path.attributes.iter().any(|&(its, _)| Some(its) == key);
            let own = match by {
                GroupBy::SpanOf(_) => has_key(),
                _ => id != SpanId(0),
            };
            if own && !rows.contains(&name) {
                rows.push(name);
            }
            all.push(rows);
            is_own.push(own);
        }
        Self {
            innermost,
            all,
            is_own,
        }
    }

    /// The row of the last span of a path.
    fn own(&self, path: SpanId) -> Option<StringId> {
        self.is_own[path.index()].then(|| self.innermost[path.index()])
    }
}

/// Adds the samples to the rows of their paths; returns what is in none.
fn add_samples(
    profile: &Profile,
    selection: &Selection,
    paths: &Paths,
    drafts: &mut FxHashMap<StringId, Draft>,
) -> Amount {
    let (squares, kinds) = (Squares::new(profile), selection.kinds(profile));
    // Samples of one path mostly follow one another, and paths are few.
    let mut by_path: Vec<Amount> = vec![Amount::default(); paths.all.len()];
    selection.each(profile, |row, sample| {
        let row = row as usize;
        let weight = weight_of(profile, sample);
        let kind = match sample.state {
            State::System => Kind::System,
            State::Sleeping | State::WallWaiting => Kind::Waiting,
            _ => match kinds.of_stack(sample.stack) {
                kind @ (Kind::Python | Kind::Unreadable) => kind,
                _ => Kind::Native,
            },
        };
        let amount = Amount {
            samples: match profile.is_counted(sample.stack) {
                true => 0,
                false => profile.samples_of_row(row),
            },
            count: profile.count_of_row(row, sample),
            weight,
            split: Split::one(kind, weight),
            squares: squares.of_row(profile, row, sample),
        };
        by_path[sample.span.index()] += amount;
    });
    let mut outside = Amount::default();
    for (index, amount) in by_path.into_iter().enumerate() {
        let rows = &paths.all[index];
        if rows.is_empty() {
            outside += amount;
            continue;
        }
        for &name in rows {
            if amount.weight > 0 {
                drafts.entry(name).or_default().total += amount;
            }
        }
        if amount.weight > 0 {
            drafts.entry(paths.innermost[index]).or_default().own += amount;
        }
    }
    outside
}

impl Admitted {
    /// Whether some time passes: from an instant to another, or to the end.
    pub(crate) fn overlaps(&self, from: Nanos, to: Option<Nanos>) -> bool {
        let (begin, end) = self.times();
        from.0 < end && to.is_none_or(|to| to.0 >= begin)
    }
}
