//! The table of calls, each of them counted: in our own words, or in those of Python's `pstats`.

mod json;
mod neighbours;
mod only;
mod order;
mod pstats;
mod sheet;
mod table;

use std::io;

use profundo_analysis::{CallsBetween, Group, GroupBy, Selection, groups};
use profundo_model::{Clock, Profile, Tracing};

use super::{NextStep, View, ViewOptions, write_filter, write_next};
use crate::json::Json;
use crate::naming::origins::group_label;
use crate::page::Page;
use crate::page::line::{Line, Style};
use crate::page::palette::Color;
use crate::page::width::keep_head;

pub use only::Only;
pub use order::CallOrder;
use sheet::Sheet;

/// The functions that are listed beside each one.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub enum Neighbours {
    /// None: a row for each function.
    #[default]
    None,
    /// The functions that called it.
    Callers,
    /// The functions that it called.
    Callees,
}

impl Neighbours {
    /// The rows beside a row, in the order of their files, lines and names.
    fn of<'a>(self, sheet: &'a Sheet<'_>, row: usize) -> Vec<(usize, &'a CallsBetween)> {
        let function = &sheet.table.functions[row];
        let between = match self {
            Self::None => return Vec::new(),
            Self::Callers => &function.callers,
            Self::Callees => &function.callees,
        };
        let mut rows: Vec<_> = (between.iter())
            .map(|&at| {
                let between = &sheet.table.between[at];
                let other = match self {
                    Self::Callers => between.caller,
                    _ => between.callee,
                };
                (other, between)
            })
            .collect();
        rows.sort_by_key(|&(other, _)| &sheet.labels[other]);
        rows
    }
}

/// The table of calls.
#[derive(Debug, Clone)]
pub struct Trace {
    options: ViewOptions,
    sorted_by: Option<CallOrder>,
    only: Vec<Only>,
    neighbours: Neighbours,
    group_by: GroupBy,
    next: Vec<NextStep>,
    is_pstats: bool,
    is_bare: bool,
}

impl Default for Trace {
    fn default() -> Self {
        Self {
            options: ViewOptions::default(),
            sorted_by: None,
            only: Vec::new(),
            neighbours: Neighbours::None,
            group_by: GroupBy::None,
            next: Vec::new(),
            is_pstats: false,
            is_bare: false,
        }
    }
}

impl Trace {
    /// The table of all functions, by their own time.
    pub fn new() -> Self {
        Self::default()
    }

    /// The report as Python's `pstats` prints it: by standard name, with each resumption after an
    /// await counted as a call.
    pub fn pstats() -> Self {
        Self {
            is_pstats: true,
            ..Self::default()
        }
    }

    /// The order of the functions.
    pub fn sorted_by(mut self, order: CallOrder) -> Self {
        self.sorted_by = Some(order);
        self
    }

    /// Shows only some of the functions; of these, only those that the next restriction leaves.
    pub fn only(mut self, only: Only) -> Self {
        self.only.push(only);
        self
    }

    /// Sets the functions that are listed beside each one.
    pub fn neighbours(mut self, neighbours: Neighbours) -> Self {
        self.neighbours = neighbours;
        self
    }

    /// Leaves callers and callees out of the JSON.
    pub fn bare(mut self, is_bare: bool) -> Self {
        self.is_bare = is_bare;
        self
    }

    /// Breaks the table down by thread or by process.
    pub fn group_by(mut self, group_by: GroupBy) -> Self {
        self.group_by = group_by;
        self
    }

    /// The commands to type next, from the caller.
    pub fn next(mut self, steps: impl IntoIterator<Item = NextStep>) -> Self {
        self.next = steps.into_iter().collect();
        self
    }

    fn order(&self, profile: &Profile) -> CallOrder {
        let is_timed = profile.traced.clock != Clock::None;
        let default = || match self.is_pstats {
            true => CallOrder::standard_name(),
            false if !is_timed => CallOrder::calls(),
            false => CallOrder::own_time(),
        };
        self.sorted_by.clone().unwrap_or_else(default)
    }

    fn write_one(&self, page: &mut Page<'_>, selection: &Selection) -> io::Result<()> {
        let mut sheet = Sheet::new(page.profile, selection, self);
        if page.breaks && self.only.is_empty() && !self.is_pstats {
            sheet = sheet.for_terminal();
        }
        match (self.is_pstats, self.neighbours) {
            (true, _) => pstats::write(page, self, &sheet),
            (false, Neighbours::None) => table::write(page, self, &sheet),
            (false, _) => neighbours::write(page, self, &sheet),
        }
    }
}

impl View for Trace {
    fn name(&self) -> &'static str {
        "trace"
    }

    fn options(&self) -> &ViewOptions {
        &self.options
    }

    fn options_mut(&mut self) -> &mut ViewOptions {
        &mut self.options
    }

    fn text(&self, page: &mut Page<'_>, selection: &Selection) -> io::Result<()> {
        let profile = page.profile;
        if profile.traced.calls.is_empty() || selection.is_empty() {
            let is_none = profile.traced.calls.is_empty();
            let text = match (is_none, self.options.choices.words(), profile.traced.tracing) {
                (false, Some(words), _) => format!(" no calls pass the filter: {words}."),
                (_, _, Tracing::Calls) => " no calls were counted.".into(),
                (_, _, tracing) if tracing.is_of_lines() => {
                    " lines were counted in this recording, instead of calls: `profundo report FILE lines` shows them."
                        .into()
                }
                _ => " no calls were counted in this recording: `profundo trace` counts them.".into(),
            };
            page.marked("Warning:", Color::Yellow, &text)?;
            // The notes have the reason.
            return match is_none && !self.is_pstats {
                true => crate::quality::write_notes(page, self.options.quality),
                false => Ok(()),
            };
        }
        if !self.is_pstats {
            crate::quality::write_missing(page, self.options.quality)?;
        }
        if self.group_by == GroupBy::None {
            self.write_one(page, selection)?;
        } else {
            for group in groups(profile, &self.options.choices.filter, &self.group_by) {
                write_heading(page, &group, &self.group_by)?;
                self.write_one(page, &group.selection)?;
            }
        }
        if self.is_pstats {
            return Ok(());
        }
        write_filter(page, &self.options.choices, selection)?;
        crate::quality::write(page, selection, self.options.quality)?;
        write_next(page, &self.next)
    }

    fn members(&self, profile: &Profile, _: &Selection, json: &mut Json<'_>) {
        json::members(self, profile, json);
    }
}

/// Writes the thread, the process or the labels whose calls follow.
fn write_heading(page: &mut Page<'_>, group: &Group, by: &GroupBy) -> io::Result<()> {
    let profile = page.profile;
    let mut words = Vec::new();
    if let (GroupBy::Label | GroupBy::LabelOf(_), Some(first)) = (by, group.process) {
        words.push(group_label(profile, by, first));
    } else if let Some(process) = group.process {
        let process = &profile.processes[process.index()];
        let command = profile.strings.get(process.command);
        words.push(named(format!("Process {}", process.pid), command));
    }
    if let Some(thread) = group.thread {
        let thread = profile.threads.get(thread);
        let name = profile.strings.get(thread.name);
        words.push(named(format!("Thread {}", thread.number), name));
    }
    let color = match group.process {
        Some(_) => Color::Magenta,
        None => Color::Cyan,
    };
    let style = Style {
        bold: true,
        ..Style::color(color)
    };
    let mut line = Line::default();
    line.push(&keep_head(&words.join(" "), page.columns), style);
    page.line(&mut line)
}

fn named(heading: String, name: &str) -> String {
    match name {
        "" => heading,
        name => format!("{heading} ({name})"),
    }
}
