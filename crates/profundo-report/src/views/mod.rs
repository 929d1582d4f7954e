//! The reports of the command: each is a builder that knows what it is about ([`Choices`]), how it
//! looks ([`Look`](crate::Look)), and gives its answer as text or as JSON.

mod allocs;
mod calls;
mod chart;
mod counted_lines;
mod functions;
mod heap;
mod json;
mod launched;
mod lineless;
mod lines;
mod memory;
mod memory_lines;
mod next_steps;
mod short_tree;
mod stacks;
mod statprof;
mod summary;
mod totals;
mod trace;
mod traffic;

use std::io;

use profundo_analysis::{Estimate, KindShares, Selection, joules_per_nanosecond};
use profundo_model::{Kind, Profile};

pub use allocs::Allocs;
pub use calls::Callers;
pub use counted_lines::CountedLines;
pub use functions::Functions;
pub use heap::{HeapQuestion, HeapSnapshot};
pub(crate) use json::{SCHEMA, amounts_members, head_members, place};
pub use lines::Lines;
pub use memory::Memory;
pub use memory_lines::MemoryLines;
pub use next_steps::NextStep;
use next_steps::write_next;
pub use stacks::Stacks;
pub use statprof::Statprof;
pub use summary::Summary;
pub use trace::{CallOrder, Neighbours, Only, Trace};
pub use traffic::Io;

use crate::line::{Line, Style};
use crate::palette::Color;
use crate::printer::Page;
use crate::units::{duration, joules, percent, plus_minus, range, said, whole_percent};
use crate::warning::Warning;
use crate::weighs::Weighs;
use crate::{Choices, Unit};

/// What all of these reports can do. They have to bring
/// `fn report(&self) -> &'static str`, the name that JSON has for it,
/// `fn text(&self, page: &mut Page<'_>, selection: &Selection) -> io::Result<()>` and
/// `fn members(&self, profile: &Profile, selection: &Selection, json: &mut Json<'_>)`.
macro_rules! view {
    ($name:ident) => {
        impl $name {
            /// What the report is about.
            pub fn choices(mut self, choices: $crate::Choices) -> Self {
                self.choices = choices;
                self
            }

            /// How the report looks.
            pub fn look(mut self, look: $crate::Look) -> Self {
                self.look = look;
                self
            }

            /// Whether the line on quality and the notes are shown. Where it is not set, the line
            /// is shown for profiles whose engine is known, and the notes always.
            pub fn quality(mut self, quality: bool) -> Self {
                self.quality = Some(quality);
                self
            }

            /// Writes the report on `profile` as text.
            pub fn write(
                &self,
                profile: &profundo_model::Profile,
                out: impl std::io::Write,
            ) -> Result<(), $crate::Error> {
                let mut out = std::io::BufWriter::new(out);
                let mut page = $crate::printer::Page::new(&self.look, profile, &mut out);
                page.breaks = self.look.is_terminal();
                self.text(&mut page, &self.choices.select(profile))?;
                Ok(std::io::Write::flush(&mut out)?)
            }

            /// The report as text.
            pub fn render(
                &self,
                profile: &profundo_model::Profile,
            ) -> Result<String, $crate::Error> {
                let mut out = Vec::new();
                self.write(profile, &mut out)?;
                Ok(String::from_utf8(out).expect("a report is text"))
            }

            /// Writes the report on `profile` as JSON: the schema is in `docs/json.md`.
            pub fn write_json(
                &self,
                profile: &profundo_model::Profile,
                mut out: impl std::io::Write,
            ) -> Result<(), $crate::Error> {
                let selection = self.choices.select(profile);
                $crate::json::Json::document(&mut out, |json| {
                    $crate::views::head_members(
                        json,
                        self.report(),
                        profile,
                        &self.choices,
                        &selection,
                    );
                    self.members(profile, &selection, json);
                })?;
                Ok(out.flush()?)
            }

            /// The report as JSON: the schema is in `docs/json.md`.
            pub fn json(&self, profile: &profundo_model::Profile) -> Result<String, $crate::Error> {
                let mut out = Vec::new();
                self.write_json(profile, &mut out)?;
                Ok(String::from_utf8(out).expect("JSON is text"))
            }
        }
    };
}
pub(crate) use totals::signal_name;
pub(crate) use view;

/// From how many columns on there is room for ranges in full.
const WIDE: usize = 110;

/// With fewer columns there is no room for the kinds of time.
const NARROW: usize = 72;

/// Writes what was left out by the filter, and the line on quality.
fn write_end(
    page: &mut Page<'_>,
    choices: &Choices,
    selection: &Selection,
    quality: Option<bool>,
) -> io::Result<()> {
    write_warnings(page, choices, selection)?;
    crate::quality::write(page, selection, quality)
}

/// Writes what must be known to read the tables: what was left out by the filter, that there are few samples, and
/// that the buffer was too small.
fn write_warnings(page: &mut Page<'_>, choices: &Choices, selection: &Selection) -> io::Result<()> {
    write_filter(page, choices, selection)?;
    crate::quality::write_few(page, selection, true)?;
    if page.profile.meta.buffer_was_full {
        let text = format!(" {}", Warning::BufferFull.text(true));
        page.marked("Warning:", Color::Yellow, &text)?;
    }
    Ok(())
}

/// Writes how much passes the filter, where there is one.
fn write_filter(page: &mut Page<'_>, choices: &Choices, selection: &Selection) -> io::Result<()> {
    let Some(words) = choices.words() else {
        return Ok(());
    };
    let weighs = Weighs::of(page.profile);
    let (some, all) = match weighs {
        Weighs::Traced => {
            let calls = page.profile.traced.calls.iter().map(|it| it.calls);
            let all = calls.fold(0, u64::saturating_add);
            (selection.calls(page.profile), all)
        }
        _ => (selection.taken(page.profile), page.profile.samples_taken()),
    };
    let share = some as f64 / all.max(1) as f64;
    let all = weighs.samples(all);
    let text = format!(" {words}: {some} of {all} ({:.1} %).", share * 100.0);
    page.marked("Only:", Color::Cyan, &text)
}

/// Says that there is nothing to say. Returns whether that was so.
fn write_empty(page: &mut Page<'_>, choices: &Choices, selection: &Selection) -> io::Result<bool> {
    if !selection.is_empty() {
        return Ok(false);
    }
    let text = match choices.words() {
        Some(words) if !page.profile.samples.is_empty() => {
            let what = match Weighs::of(page.profile) {
                Weighs::Traced => "calls",
                _ => "samples",
            };
            format!(" no {what} pass the filter: {words}.")
        }
        _ if Weighs::of(page.profile) == Weighs::Traced => {
            " no calls were counted in this recording.".to_owned()
        }
        _ if Weighs::of(page.profile) != Weighs::Time => {
            format!(
                " nothing is known that was {}.",
                Weighs::of(page.profile).which()
            )
        }
        _ => {
            let warning = Warning::no_samples(page.profile, selection, Unit::Snapshots);
            match busy_time(page.profile) {
                Some(cpu) if warning == Warning::NoSamples => format!(
                    " no samples were taken, although the program used {} of CPU time.",
                    duration(cpu)
                ),
                _ => format!(" {}", warning.said(page.profile, true)),
            }
        }
    };
    page.marked("Warning:", Color::Yellow, &text)?;
    Ok(true)
}

/// The CPU time that the kernel counted, where it is long enough that samples were to be expected.
fn busy_time(profile: &Profile) -> Option<u64> {
    const ENOUGH: u64 = 20;
    let used = profile.processes.iter().flat_map(|it| [it.user, it.system]);
    let used = used
        .flatten()
        .fold(0_u64, |sum, it| sum.saturating_add(it.0));
    (profile.meta.period.0 > 0 && used / profile.meta.period.0 >= ENOUGH).then_some(used)
}

/// How hot a share is.
fn heat(share: f64) -> Style {
    match share {
        hot if hot >= 0.2 => Style {
            bold: true,
            ..Style::color(Color::Red)
        },
        warm if warm >= 0.05 => BOLD,
        some if some >= 0.01 => Style::PLAIN,
        _ => GRAY,
    }
}

const GRAY: Style = Style {
    bold: false,
    color: Some(Color::Gray),
    link: false,
};

const BOLD: Style = Style {
    bold: true,
    color: None,
    link: false,
};

/// The columns that say what kind of time it was.
#[derive(Debug, Clone, Copy)]
struct KindColumns {
    /// Whether there is any Python.
    python: bool,
    /// Whether anything waits.
    waits: bool,
    /// Whether Python frames could not be read anywhere.
    unreadable: bool,
    /// Whether there is room for tenths.
    wide: bool,
    /// Whether there is no room for any of these columns.
    narrow: bool,
    /// What the CPU time of all that is selected has cost, in joules, where that was recorded.
    energy: Option<f64>,
    /// What all that is selected weighs, where that is no time: then nobody knows of what kind.
    heap: Option<u64>,
    /// How many samples there are, where they are too few for shares: then there is none of these columns.
    few: Option<u64>,
    weighs: Weighs,
}

/// How wide the column of energy is, and that of sizes.
const ENERGY: usize = 9;

impl KindColumns {
    fn new(profile: &Profile, selection: &Selection, columns: usize) -> Self {
        let weighs = Weighs::of(profile);
        Self {
            python: selection.split(profile).has_python()
                || (profile.frames.iter())
                    .any(|frame| frame.language == profundo_model::Language::Python),
            waits: selection.split(profile).waiting > 0,
            unreadable: selection.split(profile).unreadable > 0,
            wide: columns >= WIDE,
            narrow: columns < NARROW,
            energy: joules_per_nanosecond(profile)
                .filter(|_| !selection.is_few(profile))
                .map(|each| each * selection.weight(profile) as f64),
            heap: weighs.heap().map(|_| selection.weight(profile)),
            few: selection.is_few(profile).then(|| selection.taken(profile)),
            weighs,
        }
    }

    /// How wide all of them are.
    fn all(self) -> usize {
        if self.heap.is_some() {
            return ENERGY;
        }
        if self.few.is_some() || self.narrow {
            return 0;
        }
        let energy = self.energy.map_or(0, |_| ENERGY);
        let system = usize::from(self.has(2));
        let rare = usize::from(self.waits) + usize::from(self.unreadable);
        self.width() * (1 + usize::from(self.python) + system + rare) + energy
    }

    fn width(self) -> usize {
        match (self.wide, self.waits) {
            (true, _) => 6,
            // The title is longer.
            (false, true) => 5,
            (false, false) => 4,
        }
    }

    /// Whether there is a column of that number.
    fn has(self, at: usize) -> bool {
        !self.narrow && self.is_known(at)
    }

    /// Whether it is known how much of the kind of that number there is, and that there may be some.
    fn is_known(self, at: usize) -> bool {
        match at {
            _ if self.heap.is_some() || self.few.is_some() => false,
            0 => self.python,
            // A call is measured as a whole, whatever it does.
            2 => self.weighs != Weighs::Traced,
            3 => self.waits,
            4 => self.unreadable,
            _ => true,
        }
    }

    fn push_titles(self, line: &mut Line, style: Style) {
        let width = self.width();
        let titles = if self.wide {
            ["Py %", "Nat %", "Sys %", "Wait%", "Unr %"]
        } else {
            ["Py", "Nat", "Sys", "Wait", "Unr"]
        };
        for (at, title) in titles.into_iter().enumerate() {
            if self.has(at) {
                line.push_fmt(format_args!("{title:>width$}"), style);
            }
        }
        if self.heap.is_some() {
            line.push_fmt(format_args!("{:>ENERGY$}", self.weighs.title()), style);
        }
        if self.energy.is_some() && !self.narrow {
            line.push_fmt(format_args!("{:>ENERGY$}", "Energy"), style);
        }
    }

    fn push(self, line: &mut Line, shares: KindShares) {
        let width = self.width();
        for (at, kind) in Kind::ALL.into_iter().enumerate() {
            if self.has(at) {
                let share = shares.of(kind);
                let text = if self.wide {
                    percent(share)
                } else {
                    whole_percent(share)
                };
                line.push_fmt(format_args!("{text:>width$}"), Style::hue(kind.into()));
            }
        }
        if let Some(all) = self.heap {
            let busy = shares.python + shares.native + shares.system;
            let share = busy + shares.waiting + shares.unreadable;
            let text = match (all as f64 * share).round() as u64 {
                0 => String::new(),
                some => self.weighs.text(some),
            };
            line.push_fmt(format_args!("{text:>ENERGY$}"), Style::PLAIN);
        }
        if let Some(all) = self.energy.filter(|_| !self.narrow) {
            let text =
                joules(all * (shares.python + shares.native + shares.system + shares.unreadable));
            line.push_fmt(format_args!("{text:>ENERGY$}"), Style::PLAIN);
        }
    }
}

/// How wide a share with its range is; what was measured has none.
fn share_width(page: &Page<'_>) -> usize {
    match Weighs::of(page.profile) {
        Weighs::Traced => EXACT,
        _ if page.columns >= WIDE => RANGE,
        _ => MARGIN,
    }
}

const EXACT: usize = 7;
const MARGIN: usize = 12;
const RANGE: usize = 18;

/// How wide `29 of 29` is, with what parts it from the next column.
const FEW: usize = 9;

/// Adds a share and how sure it is, in `width` columns, which are those of [`share_width`].
fn push_share(line: &mut Line, estimate: &Estimate, width: usize) {
    if estimate.share <= 0.0 {
        return line.push_spaces(width);
    }
    let style = heat(estimate.share);
    let text = said(estimate);
    if estimate.few.is_some() {
        let width = width.max(FEW);
        return line.push_fmt(format_args!("{text:<width$}"), style);
    }
    line.push_fmt(format_args!("{text:>6}"), style);
    match width {
        EXACT => line.push_spaces(1),
        RANGE => line.push_fmt(format_args!(" {:<11}", range(estimate)), GRAY),
        _ => line.push_fmt(format_args!(" {:<5}", plus_minus(estimate)), GRAY),
    }
}
