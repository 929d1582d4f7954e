//! The layout of statprof: a row for each function at each line, its share, and seconds.

use std::io;

use profundo_analysis::{FunctionShare, Selection, line_shares};
use profundo_model::Profile;

use super::functions::sort;
use super::{View, ViewOptions, functions, write_empty, write_filter};
use crate::SortBy;
use crate::json::Json;
use crate::naming::Names;
use crate::naming::weighs::Weighs;
use crate::page::Page;
use crate::page::line::{Line, Style};

/// A row for each function at each line, by own time, as statprof prints it.
#[derive(Debug, Clone)]
pub struct Statprof {
    options: ViewOptions,
}

impl Default for Statprof {
    fn default() -> Self {
        Self {
            options: ViewOptions {
                quality: Some(false),
                ..ViewOptions::default()
            },
        }
    }
}

impl Statprof {
    /// A report of all lines.
    pub fn new() -> Self {
        Self::default()
    }

    fn rows(&self, profile: &Profile, selection: &Selection) -> Vec<FunctionShare> {
        let mut rows = line_shares(profile, selection, self.options.choices.shown);
        sort(profile, &mut rows, SortBy::Overhead);
        rows
    }
}

impl View for Statprof {
    fn name(&self) -> &'static str {
        "statprof"
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
        crate::quality::write_grave(page, self.options.quality, crate::quality::SAMPLED)?;
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
        write_filter(page, &self.options.choices, selection)?;
        crate::quality::write(page, selection, self.options.quality)
    }

    fn members(&self, profile: &Profile, selection: &Selection, json: &mut Json<'_>) {
        let rows = self.rows(profile, selection);
        json.array("lines", |json| {
            functions::members(json, profile, selection, &rows)
        });
    }
}
