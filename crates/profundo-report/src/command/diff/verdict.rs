//! The verdict in sentences: how the whole has changed, where that comes from, and what would have
//! been seen.

use profundo_analysis::diff::{By, Comparison, Row, Scale, Table, Unit};

use profundo_model::SampleKind;

use super::amounts::{amount, percent};
use super::{Compared, Diff};

/// The scale in words.
pub(super) fn scale(scale: &Scale) -> String {
    match scale {
        Scale::Run => "Amounts are those of one run.".to_owned(),
        Scale::Second => "Amounts are those of one second of the recording.".to_owned(),
        Scale::Share => {
            "Amounts are parts of one second of the time of all: 10 ms are a share of 1 %."
                .to_owned()
        }
        Scale::Call {
            calls: [before, after],
        } => {
            format!(
                "Amounts are those of one call of any function ({before} calls before, {after} after)."
            )
        }
        Scale::CallOf {
            function,
            calls: [before, after],
        } => {
            format!(
                "Amounts are those of one call of `{function}` ({before} calls before, {after} after)."
            )
        }
        Scale::SecondOf { function } => format!(
            "Amounts are those of one second that `{function}` takes with its callees: its calls were not counted."
        ),
    }
}

impl Diff<'_> {
    /// The first sentence.
    pub(super) fn verdict_sentence(&self) -> String {
        let comparison = self.comparison;
        let whole = &comparison.whole;
        let count = self.changes();
        // Runs of lines are counted without any time.
        let has_whole = whole.before > 0.0 || whole.after > 0.0;
        // The sum of shares cannot change.
        let is_of_shares = comparison.scale == Scale::Share;
        if is_of_shares && count == 0 {
            return format!(
                "No difference beyond chance. A change of the share of one {} above {} points would have been seen.",
                self.noun(),
                percent(comparison.resolution[0]),
            );
        }
        let has_whole = has_whole && !is_of_shares;
        match (whole.is_significant, count) {
            (true, _) => self.whole_has_changed(),
            (false, 0) if !has_whole => "No difference.".to_owned(),
            (false, count) if !has_whole => {
                let places = self.culprits(None).unwrap_or_default();
                match count {
                    1 => format!("One {} has changed: {places}.", self.noun()),
                    _ => format!("{count} {}s have changed: {places}.", self.noun()),
                }
            }
            (false, 0) => {
                let [row, all] = comparison.resolution;
                let mut text = format!("No difference beyond chance: {}.", self.whole_in_words());
                if !comparison.is_exact && whole.before > 0.0 {
                    text += &format!(
                        " A change of the whole above {} %, or of one {} above {} % of the whole, would have been seen.",
                        percent(all),
                        self.noun(),
                        percent(row),
                    );
                }
                text
            }
            (false, count) => {
                let places = self.culprits(None);
                let noun = match count {
                    1 => format!("one {} has", self.noun()),
                    _ => format!("{count} {}s have", self.noun()),
                };
                format!(
                    "The whole has not changed beyond chance ({}), but {noun} changed{}.",
                    self.whole_in_words(),
                    places.map_or_else(String::new, |places| format!(": {places}")),
                )
            }
        }
    }

    /// The sentences on what the figures rest on.
    pub(super) fn basis(&self) -> Vec<String> {
        let comparison = self.comparison;
        let mut text = vec![scale(&comparison.scale)];
        if self.are_one() {
            text.push("Both are the same recording.".to_owned());
        }
        let has_factor = |table: &Table| table.by.has_factor();
        let with_factor = comparison.tables.iter().find(|table| has_factor(table));
        if let Some(table) = with_factor
            && (comparison.factor - 1.0).abs() >= 0.001
        {
            let share = percent(comparison.factor - 1.0);
            let way = if comparison.factor > 1.0 {
                "more"
            } else {
                "less"
            };
            text.push(format!(
                "All {}s alike take {share} % {way} after: the table has what differs beyond that.",
                match table.by {
                    By::Line | By::Stack | By::Type => noun(table.by),
                    _ => "function",
                },
            ));
        }
        let (relative, is_measured) = comparison.spread;
        let [before, after] = comparison.runs;
        text.push(match (comparison.is_exact, is_measured) {
            (true, false) => "Everything was counted: there is no chance in one run, and other runs may differ.".to_owned(),
            (_, false) => format!(
                "One run of each cannot show how much runs differ: {} % for each {} and {} % for the whole are assumed{} \
                 (several runs tell: `profundo diff A1 A2 A3 -- B1 B2 B3`).",
                percent(comparison.assumed.row),
                self.noun(),
                percent(comparison.assumed.whole),
                match comparison.assumed.is_busy() {
                    true => format!(
                        ", because other programs had {} % of the CPUs",
                        percent(comparison.assumed.busy)
                    ),
                    false => String::new(),
                },
            ),
            (_, true) if self.are_answers() => format!(
                "The spread between {} is measured: {before} before and {after} after, {} % for a {} as a rule.",
                self.sides[0][0].of,
                percent(relative),
                self.noun(),
            ),
            (_, true) => format!(
                "The spread between runs is measured: {before} before and {after} after, {} % for {} as a rule.",
                percent(relative),
                match self.noun() {
                    "allocating line" => "an allocating line".to_owned(),
                    noun => format!("a {noun}"),
                },
            ),
        });
        text
    }

    /// Whether stores have answered, and no recordings are compared.
    pub(super) fn are_answers(&self) -> bool {
        let mut all = self.sides.iter().copied().flatten();
        all.all(|run| run.profile.meta.question.is_some())
    }

    /// Whether a recording is compared with itself.
    fn are_one(&self) -> bool {
        let [[before], [after]] = self.sides else {
            return false;
        };
        if self.are_answers() {
            let question = |run: &Compared<'_>| run.profile.meta.question.clone();
            return question(before) == question(after);
        }
        let key = |run: &Compared<'_>| {
            let process = run.profile.processes.first().map(|process| process.pid);
            let meta = &run.profile.meta;
            (meta.started_at_unix, meta.duration, process)
        };
        before.profile.meta.started_at_unix > 0 && key(before) == key(after)
    }

    /// The number of rows of the first table that have changed.
    fn changes(&self) -> usize {
        let changed = |table: &Table| {
            let own = table.changed().count();
            if own > 0 {
                own
            } else {
                table.changed_with_callees().count()
            }
        };
        self.comparison
            .tables
            .iter()
            .map(changed)
            .find(|count| *count > 0)
            .unwrap_or(0)
    }

    /// What a row of the first table is.
    pub(super) fn noun(&self) -> &'static str {
        let tables = &self.comparison.tables;
        let first = tables
            .iter()
            .find(|table| table.rows.iter().any(Row::is_significant));
        first
            .or(tables.first())
            .map_or("function", |table| noun(table.by))
    }

    /// `12.0 s and 12.3 s, +2 % (±3)`.
    fn whole_in_words(&self) -> String {
        let Comparison { whole, unit, .. } = self.comparison;
        if whole.before <= 0.0 {
            return format!(
                "{} before and {} after",
                amount(*unit, whole.before),
                amount(*unit, whole.after)
            );
        }
        let sign = if whole.change < 0.0 { '−' } else { '+' };
        format!(
            "{} before and {} after, {sign}{} % (±{})",
            amount(*unit, whole.before),
            amount(*unit, whole.after),
            percent(whole.change / whole.before),
            percent(whole.margin() / whole.before),
        )
    }

    fn whole_has_changed(&self) -> String {
        let Comparison { whole, unit, .. } = self.comparison;
        let grew = whole.change > 0.0;
        let less = if grew { "more" } else { "less" };
        let size = amount(*unit, whole.change.abs());
        let (verb, word, noun) = match self.speed() {
            Ok(()) if grew => ("is", "slower", ""),
            Ok(()) => ("is", "faster", ""),
            Err((verb, noun)) => (verb, less, noun),
        };
        let by = match whole.before > 0.0 {
            true => {
                let margin = match self.comparison.is_exact && whole.margin() == 0.0 {
                    true => String::new(),
                    false => format!(" (±{})", percent(whole.margin() / whole.before)),
                };
                format!("{} %{margin} {word}", percent(whole.change / whole.before))
            }
            false => word.to_owned(),
        };
        let of_which = self.culprits(Some(grew));
        let of_which = of_which.map_or_else(String::new, |places| format!(", of which {places}"));
        format!("After {verb} {by}{noun}: {size} {less}{of_which}.")
    }

    /// Whether more of the whole means slower. If not, the words around `more`: a service that used
    /// more of a CPU in each second had more to do, and two threads that wait beside each other
    /// need no longer than one.
    fn speed(&self) -> Result<(), (&'static str, &'static str)> {
        let comparison = self.comparison;
        let is_wall = |run: &Compared<'_>| run.profile.meta.kind == SampleKind::Wall;
        let is_of_threads = |run: &Compared<'_>| {
            let samples = &run.profile.samples;
            let first = samples.first().map(|sample| sample.thread);
            is_wall(run) && samples.iter().any(|sample| Some(sample.thread) != first)
        };
        match comparison.unit {
            Unit::Bytes => Err(("has", " bytes")),
            Unit::Count => Err(("has", " blocks")),
            Unit::Time if self.sides.iter().copied().flatten().any(is_of_threads) => {
                Err(("takes", " time in all threads together"))
            }
            Unit::Time if comparison.scale == Scale::Second => {
                match self.sides.iter().copied().flatten().any(is_wall) {
                    true => Err(("takes", " time")),
                    false => Err(("takes", " CPU time")),
                }
            }
            Unit::Time => Ok(()),
        }
    }

    /// The row that changed most, and how many others did: `0.58 s in line 14 of app.py`.
    fn culprits(&self, grew: Option<bool>) -> Option<String> {
        let fits = |row: &&Row| grew.is_none_or(|grew| (row.own.change > 0.0) == grew);
        let tables = &self.comparison.tables;
        let order = [By::Line, By::Function, By::Hits];
        let of_kind = |by: By| tables.iter().find(|table| table.by == by);
        let first = order.into_iter().filter_map(of_kind).chain(tables.iter());
        let (table, row) = first
            .filter(|table| !table.is_count || self.comparison.whole.before <= 0.0)
            .find_map(|table| Some((table, table.changed().find(fits)?)))?;
        let name = self.name_with_text(table, row);
        let size = match table.by {
            By::Calls => format!("{} calls", row.own.change.abs()),
            By::Hits => format!("{} runs", row.own.change.abs()),
            _ => amount(table.unit, row.own.change.abs()),
        };
        let sign = match grew {
            Some(_) => "",
            None if row.own.change < 0.0 => "−",
            None => "+",
        };
        let place = match (table.by, name.at.rsplit_once(':')) {
            (By::Line | By::Hits, Some((file, line))) => {
                let text = match name.text.is_empty() {
                    true => String::new(),
                    false => format!(" `{}`", crate::page::width::keep_head(&name.text, 40)),
                };
                format!("line {line} of {file}{text}")
            }
            (By::Function, _) => format!("`{}`", name.name),
            _ => name.name,
        };
        let others = table.changed().count() - 1;
        let others = match others {
            0 => String::new(),
            1 => format!("; one other {} changed", noun(table.by)),
            more => format!("; {more} other {}s changed", noun(table.by)),
        };
        Some(format!("{sign}{size} in {place}{others}"))
    }
}

/// The word for a row.
pub(super) fn noun(by: By) -> &'static str {
    match by {
        By::Function | By::Calls => "function",
        By::Line | By::Hits => "line",
        By::Stack => "call path",
        By::Type => "type",
        By::Thread => "thread",
        By::Process => "program",
        By::Task => "task",
        By::Span => "span",
        By::Kind => "kind",
        By::Wait => "wait",
        By::Io => "file",
    }
}
