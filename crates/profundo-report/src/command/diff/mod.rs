//! What has changed between two recordings, or two sets of them: a verdict first, then the rows
//! that have changed, and how much would have been seen.

mod amounts;
mod json;
mod rows;
mod text;
mod verdict;
mod warnings;

use std::io;

use profundo_analysis::diff::{Comparison, Difference};
use profundo_model::Profile;

use super::Ready;
use crate::Look;
use crate::json::Json;
use crate::naming::Names;
use crate::page::Page;
use crate::page::units::duration;

/// A recording that is compared.
#[derive(Debug, Clone, Copy)]
pub struct Compared<'a> {
    /// Its name, without folder and ending.
    pub name: &'a str,
    /// When it was made, in words; empty where that is not known.
    pub made: &'a str,
    /// What there are several of on a side: runs, or the hosts that a store's answer is from.
    pub of: &'a str,
    /// The recording.
    pub profile: &'a Profile,
}

/// The report on a comparison.
#[derive(Debug)]
pub struct Diff<'a> {
    comparison: &'a Comparison,
    sides: [&'a [Compared<'a>]; 2],
    names: [Vec<Names<'a>>; 2],
    filter: Option<String>,
    limit: usize,
    by_chance: bool,
    fail_above: Option<f64>,
    look: Look,
}

impl<'a> Diff<'a> {
    /// The report on the comparison of these recordings.
    pub fn new(
        comparison: &'a Comparison,
        before: &'a [Compared<'a>],
        after: &'a [Compared<'a>],
    ) -> Self {
        let names = |side: &[Compared<'a>]| -> Vec<Names<'a>> {
            (side.iter())
                .map(|one| Names::of_all(one.profile))
                .collect()
        };
        Self {
            comparison,
            sides: [before, after],
            names: [names(before), names(after)],
            filter: None,
            limit: 20,
            by_chance: false,
            fail_above: None,
            look: Look::default(),
        }
    }

    /// Sets the filter, in words.
    #[must_use]
    pub fn filter(mut self, words: Option<String>) -> Self {
        self.filter = words;
        self
    }

    /// Sets the number of rows that each table has at most.
    #[must_use]
    pub fn limit(mut self, limit: usize) -> Self {
        self.limit = limit;
        self
    }

    /// Adds rows to the JSON that may be chance, behind the others.
    #[must_use]
    pub fn by_chance(mut self, by_chance: bool) -> Self {
        self.by_chance = by_chance;
        self
    }

    /// Sets the growth, as a part of the whole before, that counts as a failure.
    #[must_use]
    pub fn fail_above(mut self, share: Option<f64>) -> Self {
        self.fail_above = share;
        self
    }

    /// Whether the whole or a row has grown by more than the limit, and more than by chance.
    pub fn fails(&self) -> bool {
        self.fail_above
            .is_some_and(|limit| self.worst().is_some_and(|(share, _)| share > limit))
    }

    /// The largest growth that is no chance, as a part of the whole before, and whose it is; `None`
    /// is the whole.
    fn worst(&self) -> Option<(f64, Option<String>)> {
        let all = self.comparison.whole.before.max(f64::MIN_POSITIVE);
        let grew = |one: &Difference| one.is_significant && one.low > 0.0;
        let share = |one: &Difference| one.change / all;
        let whole = &self.comparison.whole;
        let whole = grew(whole).then(|| (share(whole), None));
        let tables = self
            .comparison
            .tables
            .iter()
            .filter(|table| !table.is_count);
        let rows = tables.flat_map(|table| &table.rows).flat_map(|row| {
            let parts = [Some(row.own), row.total].into_iter().flatten();
            parts.map(move |part| (row, part))
        });
        let rows = rows.filter(|(_, part)| grew(part));
        let rows = rows.map(|(row, part)| (share(&part), Some(self.name(row).name)));
        rows.chain(whole).max_by(|a, b| a.0.total_cmp(&b.0))
    }

    /// The two recordings in words, for the picture: `before: app-… (python3 app.py, 20.1 s)`.
    pub fn sides_in_words(&self) -> [String; 2] {
        [0, 1].map(|side| self.in_words(side))
    }

    /// The verdict in a sentence.
    pub fn verdict(&self) -> String {
        self.verdict_sentence()
    }

    /// The scale in words.
    pub fn scale(&self) -> String {
        verdict::scale(&self.comparison.scale)
    }

    fn in_words(&self, side: usize) -> String {
        let runs = self.sides[side];
        let Some(first) = runs.first() else {
            return String::new();
        };
        if let Some(question) = &first.profile.meta.question {
            let from = match runs.len() {
                1 => question.from.join(", "),
                several => format!("{several} {}", first.of),
            };
            let parts = [question.rest.as_str(), &from];
            let parts: Vec<&str> = parts.into_iter().filter(|part| !part.is_empty()).collect();
            return format!("{} ({})", question.title, parts.join(", "));
        }
        let command = command(first.profile);
        let lasted: Vec<u64> = runs.iter().map(|run| run.profile.meta.duration.0).collect();
        let (least, most) = (lasted.iter().min(), lasted.iter().max());
        let lasted = match (least, most) {
            (Some(0), _) | (None, _) => String::new(),
            (Some(least), Some(most)) if duration(*least) != duration(*most) => {
                format!("{} to {}", duration(*least), duration(*most))
            }
            (Some(least), _) => duration(*least),
        };
        let parts = [command, &lasted, first.made];
        let parts: Vec<&str> = parts.into_iter().filter(|part| !part.is_empty()).collect();
        let names = match runs {
            [one] => one.name.to_owned(),
            [first, second] => format!("2 runs, {} and {}", first.name, second.name),
            several => {
                let last = several.last().map_or("", |last| last.name);
                format!("{} runs, {} to {last}", several.len(), first.name)
            }
        };
        match parts.is_empty() {
            true => names,
            false => format!("{names} ({})", parts.join(", ")),
        }
    }
}

impl Ready for Diff<'_> {
    fn name(&self) -> &'static str {
        "diff"
    }

    fn appearance(&self) -> &Look {
        &self.look
    }

    fn appearance_mut(&mut self) -> &mut Look {
        &mut self.look
    }

    fn text(&self, page: &mut Page<'_>) -> io::Result<()> {
        self.whole_text(page)
    }

    fn members(&self, json: &mut Json<'_>) {
        self.all_members(json);
    }

    fn profile(&self) -> Option<&Profile> {
        Some(self.sides[1].first()?.profile)
    }
}

/// The command line of a recording's first process.
fn command(profile: &Profile) -> &str {
    // The answer to a query has programs of many machines.
    let first = profile.processes.first();
    let first = first.filter(|_| profile.meta.question.is_none());
    first.map_or("", |process| profile.strings.get(process.command))
}

/// Writes text to a page, sentence by sentence.
fn sentences(page: &mut Page<'_>, text: &[String]) -> io::Result<()> {
    for sentence in text {
        page.sentence(sentence)?;
    }
    Ok(())
}
