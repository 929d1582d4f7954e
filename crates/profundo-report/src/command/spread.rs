//! The time of each function over the merged recordings: the least, the median, the most, and how
//! uneven they are.

use std::io;

use profundo_analysis::{FunctionInOrigins, OriginSpread, OriginTimes, Selection, origin_spread};
use profundo_model::{Profile, SampleKind};

use super::functions::push_name;
use super::shares::{BOLD, GRAY};
use super::{View, ViewOptions, write_empty, write_end};
use crate::json::{Json, place};
use crate::naming::Names;
use crate::naming::origins::write_merged;
use crate::page::Page;
use crate::page::line::{Line, Style};
use crate::page::palette::Color;
use crate::page::units::{bytes, duration};
use crate::page::width::{keep_head, width};

/// The functions over the merged recordings.
#[derive(Debug, Clone)]
pub struct Spread {
    options: ViewOptions,
    limit: usize,
    total: bool,
}

impl Default for Spread {
    fn default() -> Self {
        Self {
            options: ViewOptions::default(),
            limit: 30,
            total: false,
        }
    }
}

impl Spread {
    /// The functions by their own time.
    pub fn new() -> Self {
        Self::default()
    }

    /// Sets the number of functions that are shown at most.
    pub fn limit(mut self, limit: usize) -> Self {
        self.limit = limit;
        self
    }

    /// Sets whether the times are those with callees.
    pub fn total(mut self, total: bool) -> Self {
        self.total = total;
        self
    }

    fn times<'a>(&self, row: &'a FunctionInOrigins) -> &'a OriginTimes {
        match self.total {
            true => &row.total,
            false => &row.own,
        }
    }

    /// The spread with its rows in order, and the number of rows that are left out.
    fn rows(&self, profile: &Profile, selection: &Selection) -> Option<(OriginSpread, usize)> {
        let mut spread = origin_spread(profile, selection, self.options.choices.shown)?;
        if self.total {
            (spread.functions).sort_by_key(|row| std::cmp::Reverse((row.total.most, row.own.most)));
        }
        spread.functions.retain(|row| self.times(row).most > 0);
        let all = spread.functions.len();
        spread.functions.truncate(self.limit);
        let left_out = all - spread.functions.len();
        Some((spread, left_out))
    }
}

/// The width of a number.
const NUMBER: usize = 10;

impl View for Spread {
    fn name(&self) -> &'static str {
        "spread"
    }

    fn options(&self) -> &ViewOptions {
        &self.options
    }

    fn options_mut(&mut self) -> &mut ViewOptions {
        &mut self.options
    }

    fn text(&self, page: &mut Page<'_>, selection: &Selection) -> io::Result<()> {
        let profile = page.profile;
        if write_empty(page, &self.options.choices, selection)? {
            return crate::quality::write(page, selection, self.options.quality);
        }
        let Some((spread, left_out)) = self.rows(profile, selection) else {
            let text = match profile.is_merged() {
                true => {
                    " only one recording passes the filter: there is nothing to compare it with."
                }
                false => {
                    " the recording was not merged from several: `profundo merge A B -o FILE` does that."
                }
            };
            page.marked("Warning:", Color::Yellow, text)?;
            return write_end(page, &self.options.choices, selection, self.options.quality);
        };
        write_merged(page)?;
        let own_names = profile.origin_names();
        let most_at = |times: &OriginTimes| own_names[times.most_at.index()].as_str();
        let rows = spread.functions.iter().map(|row| self.times(row));
        let rows = rows.chain([&spread.whole]);
        let widest = rows.map(|times| width(most_at(times))).max().unwrap_or(0);
        let for_name = widest.clamp("Most in".len(), (page.columns / 5).max(12));
        let mut line = Line::default();
        let is_of_store = profile.meta.question.is_some();
        let title = match (self.total, is_of_store) {
            (true, false) => "The time of each function with its callees, in one recording:",
            (false, false) => "The own time of each function, in one recording:",
            (true, true) => "The time of each function with its callees, in a version on a host:",
            (false, true) => "The own time of each function, in a version on a host:",
        };
        line.push(title, GRAY);
        page.line(&mut line)?;
        for title in ["Least", "Median", "Most"] {
            line.push_fmt(format_args!("{title:>NUMBER$}"), BOLD);
        }
        line.push_fmt(
            format_args!("  {:<for_name$}  {:>8}  Function", "Most in", "Imbal. %"),
            BOLD,
        );
        page.line(&mut line)?;
        let names = Names::of_places(profile, spread.functions.iter().map(|row| row.place));
        let taken = 3 * NUMBER + 2 + for_name + 2 + 8 + 2;
        let push = |line: &mut Line, times: &OriginTimes| {
            let style = match times.is_uneven {
                true => Style::PLAIN,
                false => GRAY,
            };
            for number in [times.least as f64, times.median, times.most as f64] {
                let text = amount(profile, number);
                line.push_fmt(format_args!("{text:>NUMBER$}"), Style::PLAIN);
            }
            let name = keep_head(most_at(times), for_name);
            line.push("  ", Style::PLAIN);
            line.push(&name, style);
            line.push_spaces(for_name - width(&name));
            let sign = if times.is_uneven { ' ' } else { '~' };
            let imbalance = format!("{sign}{:.1}", times.imbalance() * 100.0);
            line.push_fmt(format_args!("  {imbalance:>8}  "), style);
        };
        push(&mut line, &spread.whole);
        line.push("all together", BOLD);
        line.truncate(page.columns);
        page.line(&mut line)?;
        for row in &spread.functions {
            push(&mut line, self.times(row));
            let columns = page.columns.saturating_sub(taken);
            push_name(page, &mut line, &names, row.place, columns);
            line.truncate(page.columns);
            page.line(&mut line)?;
        }
        if left_out > 0 {
            page.plain(&format!("… and {left_out} more"))?;
        }
        page.plain("")?;
        let shown = spread.functions.iter().map(|row| self.times(row));
        if shown.chain([&spread.whole]).any(|times| !times.is_uneven) {
            page.plain("~ chance alone can make samples differ so much.")?;
        }
        page.plain("Imbalance: how far the most is above the mean.")?;
        page.plain("")?;
        write_end(page, &self.options.choices, selection, self.options.quality)
    }

    fn members(&self, profile: &Profile, selection: &Selection, json: &mut Json<'_>) {
        let found = self.rows(profile, selection);
        let names = profile.origin_names();
        json.number(
            "recordings",
            (found.as_ref()).map_or(0, |(spread, _)| spread.origins.len() as u64),
        );
        let Some((spread, left_out)) = found else {
            json.null("all");
            json.array("functions", |_| {});
            return json.number("functions_left_out", 0);
        };
        json.row("all", |json| times_members(json, "", &spread.whole, &names));
        json.array("functions", |json| {
            for row in &spread.functions {
                json.row("", |json| {
                    place(json, profile, row.place);
                    times_members(json, "self_", &row.own, &names);
                    times_members(json, "total_", &row.total, &names);
                });
            }
        });
        json.number("functions_left_out", left_out as u64);
    }
}

/// A weight in the unit of the profile.
fn amount(profile: &Profile, weight: f64) -> String {
    let whole = weight.round() as u64;
    match profile.meta.kind {
        SampleKind::Events => whole.to_string(),
        SampleKind::Heap(measure) if measure.counts => whole.to_string(),
        SampleKind::Heap(_) => bytes(whole),
        _ => duration(whole),
    }
}

/// The members of the times of one thing.
fn times_members(json: &mut Json<'_>, before: &str, times: &OriginTimes, names: &[String]) {
    json.weight(&format!("{before}least_"), times.least);
    json.weight(&format!("{before}median_"), times.median.round() as u64);
    json.weight(&format!("{before}most_"), times.most);
    json.weight(&format!("{before}mean_"), times.mean.round() as u64);
    json.text(&format!("{before}most_in"), &names[times.most_at.index()]);
    json.share(&format!("{before}imbalance_share"), Some(times.imbalance()));
    json.is(&format!("{before}is_uneven"), times.is_uneven);
}
