//! The options of a report, and the ways to get its text.

use std::fs::File;
use std::io::{BufWriter, IsTerminal, Write};
use std::path::Path;

use profundo_analysis::{Caller, GroupBy, Hidden, Numbers, Recur};
use profundo_model::Profile;

use super::printer::Printer;
use super::{callers, json, section};
use crate::json::Json;
use crate::options::values::name_of;
use crate::{Choices, Error, Format, Look, SortBy, Unit, When};

/// A report: what to show, and how. The defaults are Julia's: a tree of all samples, C frames
/// hidden, in the order of the source.
#[derive(Debug, Clone)]
pub struct Report {
    pub(crate) format: Format,
    pub(crate) choices: Choices,
    pub(crate) combine: bool,
    pub(crate) maxdepth: usize,
    pub(crate) mincount: u64,
    /// As a part of 1.
    pub(crate) min_share: Option<f64>,
    pub(crate) noisefloor: f64,
    /// `None` is the default order, which differs between formats.
    pub(crate) sorted_by: Option<SortBy>,
    pub(crate) hot_first: bool,
    pub(crate) group_by: GroupBy,
    pub(crate) recur: Recur,
    pub(crate) unit: Unit,
    pub(crate) remark: Option<String>,
    /// `None` is "where the engine is known".
    pub(crate) quality: Option<bool>,
    look: Look,
}

impl Default for Report {
    fn default() -> Self {
        Self {
            format: Format::Tree,
            choices: Choices::default(),
            combine: true,
            maxdepth: usize::MAX,
            mincount: 0,
            min_share: None,
            noisefloor: 0.0,
            sorted_by: None,
            hot_first: false,
            group_by: GroupBy::None,
            recur: Recur::Off,
            unit: Unit::Snapshots,
            remark: None,
            quality: None,
            look: Look::default(),
        }
    }
}

impl Report {
    /// A report with the default options.
    pub fn new() -> Self {
        Self::default()
    }

    /// The shape of the report.
    pub fn format(mut self, format: Format) -> Self {
        self.format = format;
        self
    }

    /// Sets whether C frames are shown. Hidden, their samples are credited to the innermost caller
    /// that is shown.
    pub fn c(self, c: bool) -> Self {
        self.hidden(if c { Hidden::Nothing } else { Hidden::C })
    }

    /// Sets the languages that are hidden: [`Report::c`] in two words, and the command's rule.
    pub fn hidden(mut self, hidden: Hidden) -> Self {
        self.choices.shown.hidden = hidden;
        self
    }

    /// Sets the samples that the report is about, all at once.
    pub fn choices(mut self, choices: Choices) -> Self {
        self.choices = choices;
        self
    }

    /// Sets the appearance of the report, all at once.
    pub fn look(mut self, look: Look) -> Self {
        self.look = look;
        self
    }

    /// Sets whether several addresses of one line are one row. If not, rows show their address.
    pub fn combine(mut self, combine: bool) -> Self {
        self.combine = combine;
        self
    }

    /// Down to which level a tree is unfolded: at 0 only the roots are shown.
    pub fn maxdepth(mut self, maxdepth: usize) -> Self {
        self.maxdepth = maxdepth;
        self
    }

    /// Hides what has a lower count, in a tree with all that is below it.
    pub fn mincount(mut self, mincount: u64) -> Self {
        self.mincount = mincount;
        self
    }

    /// Hides what has a smaller share of all samples that pass the filter: a part of 1.
    pub fn min_share(mut self, min_share: f64) -> Self {
        self.min_share = Some(min_share);
        self
    }

    /// Hides the nodes of a tree whose count is below `noisefloor` times the square root of
    /// their caller's count; 2.0 is a good start. Roots are never hidden.
    pub fn noisefloor(mut self, noisefloor: f64) -> Self {
        self.noisefloor = noisefloor;
        self
    }

    /// The order of siblings and rows. Where it is not set, a tree and a flat table are in the
    /// order of the source, and a table of functions starts with the hottest.
    pub fn sorted_by(mut self, sorted_by: SortBy) -> Self {
        self.sorted_by = Some(sorted_by);
        self
    }

    /// Sets whether an order by counts starts with the highest. By default the highest comes last,
    /// next to the prompt.
    pub fn hot_first(mut self, hot_first: bool) -> Self {
        self.hot_first = hot_first;
        self
    }

    /// Breaks the report down.
    pub fn group_by(mut self, group_by: GroupBy) -> Self {
        self.group_by = group_by;
        self
    }

    /// Sets the treatment of recursion in a tree.
    pub fn recur(mut self, recur: Recur) -> Self {
        self.recur = recur;
        self
    }

    /// Only the samples of these threads; a report grouped by task shows all threads.
    pub fn threads(mut self, threads: impl Into<Numbers>) -> Self {
        self.choices.filter.threads = threads.into();
        self
    }

    /// Only the samples of these tasks; a report grouped by thread shows all tasks.
    pub fn tasks(mut self, tasks: impl Into<Numbers>) -> Self {
        self.choices.filter.tasks = tasks.into();
        self
    }

    /// Sets the unit of the counts. A profile of allocations counts bytes: its footer is their
    /// number and their sum.
    pub fn unit(mut self, unit: Unit) -> Self {
        self.unit = unit;
        self
    }

    /// A sentence below the totals, such as how sure they are.
    pub fn remark(mut self, remark: impl Into<String>) -> Self {
        self.remark = Some(remark.into());
        self
    }

    /// Sets whether the line on quality and the notes are shown. Where it is not set, the line is
    /// shown for profiles whose engine is known, and the notes always.
    pub fn quality(mut self, quality: bool) -> Self {
        self.quality = Some(quality);
        self
    }

    /// Sets the number of columns to print for. `None` asks the environment's `COLUMNS`, then the
    /// terminal if the text goes to one, and else takes 80.
    pub fn width(mut self, width: impl Into<Option<usize>>) -> Self {
        self.look = self.look.width(width);
        self
    }

    /// Sets whether the text goes to a terminal. Only the caller knows.
    pub fn terminal(mut self, terminal: bool) -> Self {
        self.look = self.look.terminal(terminal);
        self
    }

    /// Sets whether there are colours.
    pub fn colors(mut self, colors: When) -> Self {
        self.look = self.look.colors(colors);
        self
    }

    /// Sets whether source lines are hyperlinks. Automatic means: where there are colours.
    pub fn hyperlinks(mut self, hyperlinks: When) -> Self {
        self.look = self.look.hyperlinks(hyperlinks);
        self
    }

    /// The editor that hyperlinks are meant for. Where it is not set, the environment's
    /// `PROFUNDO_EDITOR`, `VISUAL` and `EDITOR` are asked.
    pub fn editor(mut self, editor: impl Into<String>) -> Self {
        self.look = self.look.editor(editor);
        self
    }

    /// Checks that the options go together.
    pub fn check(&self) -> Result<(), Error> {
        if self.recur != Recur::Off && self.format != Format::Tree {
            let recur = name_of(self.recur, &Recur::CHOICES);
            return Err(Error::RecurWithoutTree {
                format: self.format.name(),
                recur,
            });
        }
        if !self.combine && self.format == Format::Functions {
            return Err(Error::FunctionsCombine);
        }
        if self.noisefloor.is_nan() || self.noisefloor < 0.0 {
            return Err(Error::NoiseFloor(self.noisefloor));
        }
        Ok(())
    }

    /// Writes the report on `profile`.
    pub fn write(&self, profile: &Profile, out: impl Write) -> Result<(), Error> {
        self.check()?;
        let mut out = BufWriter::new(out);
        let report = &self.with_least_count(profile);
        let mut printer = Printer::new(report, &self.look, profile, &mut out);
        section::write(&mut printer)?;
        Ok(out.flush()?)
    }

    /// Writes the report to standard output, as wide and as colourful as the terminal permits.
    pub fn print(&self, profile: &Profile) -> Result<(), Error> {
        let stdout = std::io::stdout();
        let report = self.clone().terminal(stdout.is_terminal());
        report.write(profile, stdout.lock())
    }

    /// The report as a string.
    pub fn render(&self, profile: &Profile) -> Result<String, Error> {
        let mut out = Vec::new();
        self.write(profile, &mut out)?;
        Ok(String::from_utf8(out).expect("a report is text"))
    }

    /// Writes the report on `profile` as JSON: the schema is in `docs/json.md`.
    pub fn write_json(&self, profile: &Profile, mut out: impl Write) -> Result<(), Error> {
        self.check()?;
        let report = &self.with_least_count(profile);
        Json::document(&mut out, |json| json::members(report, profile, json))?;
        Ok(out.flush()?)
    }

    /// The report as JSON: the schema is in `docs/json.md`.
    pub fn json(&self, profile: &Profile) -> Result<String, Error> {
        let mut out = Vec::new();
        self.write_json(profile, &mut out)?;
        Ok(String::from_utf8(out).expect("JSON is text"))
    }

    /// The report with the smallest share as a count of samples.
    fn with_least_count(&self, profile: &Profile) -> Self {
        let mut report = self.clone();
        if let Some(min_share) = self.min_share {
            let all = self.choices.select(profile).total(profile);
            // The cast saturates: NaN and negative numbers are 0.
            let least = (all as f64 * min_share).ceil() as u64;
            report.mincount = report.mincount.max(least);
        }
        report
    }

    /// Writes the report to a file, 1000 columns wide unless a width is set: nothing has to be
    /// cut where one can scroll.
    pub fn write_to_path(&self, profile: &Profile, path: impl AsRef<Path>) -> Result<(), Error> {
        self.check()?;
        let path = path.as_ref();
        let file = File::create(path).map_err(|source| Error::Create {
            path: path.to_owned(),
            source,
        })?;
        let report = self
            .clone()
            .terminal(false)
            .width(self.look.asked_width().unwrap_or(1000));
        report.write(profile, file)
    }

    /// Writes callers, as `profundo_analysis::callers` found them, one a row.
    pub fn write_callers(
        &self,
        profile: &Profile,
        callers: &[Caller],
        out: impl Write,
    ) -> Result<(), Error> {
        let mut out = BufWriter::new(out);
        let mut printer = Printer::new(self, &self.look, profile, &mut out);
        callers::write(&mut printer, callers)?;
        Ok(out.flush()?)
    }
}
