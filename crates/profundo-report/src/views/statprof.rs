//! The layout of statprof, for those who know it: a row for each function at each line, its share,
//! and seconds.

use std::io;

use profundo_analysis::{FunctionShare, Selection, line_shares};
use profundo_model::Profile;

use super::functions::{function_members, sort};
use super::{view, write_empty, write_filter};
use crate::json::Json;
use crate::line::{Line, Style};
use crate::names::Names;
use crate::printer::Page;
use crate::weighs::Weighs;
use crate::{Choices, Look, SortBy};

/// A row for each function at each line, by own time, as statprof prints it.
#[derive(Debug, Clone)]
pub struct Statprof {
    choices: Choices,
    look: Look,
    quality: Option<bool>,
}

impl Default for Statprof {
    fn default() -> Self {
        Self {
            choices: Choices::command(),
            look: Look::default(),
            quality: Some(false),
        }
    }
}

view!(Statprof);

impl Statprof {
    /// All lines.
    pub fn new() -> Self {
        Self::default()
    }

    fn rows(&self, profile: &Profile, selection: &Selection) -> Vec<FunctionShare> {
        let mut rows = line_shares(profile, selection, self.choices.shown);
        sort(profile, &mut rows, SortBy::Overhead);
        rows
    }

    fn text(&self, page: &mut Page<'_>, selection: &Selection) -> io::Result<()> {
        let profile = page.profile;
        if write_empty(page, &self.choices, selection)? {
            return crate::quality::write(page, selection, self.quality);
        }
        crate::quality::write_grave(page, self.quality, crate::quality::SAMPLED)?;
        let rows = self.rows(profile, selection);
        let names = Names::of_places(profile, rows.iter().map(|row| row.place));
        page.plain("  %   cumulative      self")?;
        page.plain(" time    seconds   seconds  name")?;
        let mut line = Line::default();
        for row in &rows {
            let seconds = |nanos: u64| nanos as f64 / 1e9;
            line.push_fmt(
                format_args!(
                    "{:6.2}  {:9.2} {:9.2}  ",
                    row.own.share * 100.0,
                    seconds(row.total_amount.weight),
                    seconds(row.own_amount.weight),
                ),
                Style::PLAIN,
            );
            let at = names.at(row.place);
            if !at.is_empty() {
                line.push(&at, Style::LINK);
                line.push(":", Style::PLAIN);
            }
            if let profundo_analysis::Place::Frame(frame) = row.place {
                let frame = profile.frames.get(frame);
                line.link = page.link(frame.file, frame.line);
            }
            line.push(names.function(row.place), Style::PLAIN);
            page.line(&mut line)?;
        }
        page.plain("---")?;
        match Weighs::of(profile) {
            Weighs::Traced => {
                page.plain(&format!("Function calls: {}", selection.calls(profile)))?
            }
            _ => page.plain(&format!("Sample count: {}", selection.len()))?,
        }
        let total = selection.weight(profile) as f64 / 1e9;
        page.plain(&format!("Total time: {total:.6} seconds"))?;
        write_filter(page, &self.choices, selection)?;
        crate::quality::write(page, selection, self.quality)
    }

    fn report(&self) -> &'static str {
        "statprof"
    }

    fn members(&self, profile: &Profile, selection: &Selection, json: &mut Json<'_>) {
        let all = selection.weight(profile);
        json.array("lines", |json| {
            for row in &self.rows(profile, selection) {
                json.row("", |json| function_members(json, profile, row, all));
            }
        });
    }
}
