//! Reports of measurements: the lines that timeit and hyperfine have made known, and of several
//! candidates a table with a sentence for each pair that is compared.

mod figures;
mod json;
mod machine;
mod verdict;
mod warnings;

use std::io::{self, Write};

use profundo_analysis::bench::{Bench, Candidate, Cpu, Subject};

pub use figures::{Clocked, significant};
pub use machine::this_machine;

use crate::Look;
use crate::json::Json;
use crate::page::line::{Line, Style};
use crate::page::palette::Color;
use crate::page::units::counted;
use crate::page::width::{broken, keep_head, width};
use figures::Figures;

/// A report on a measurement.
#[derive(Debug, Clone)]
pub struct Benchmark<'a> {
    bench: &'a Bench,
    figures: Figures,
    raw: bool,
    agreed: Option<bool>,
    against: Option<Against<'a>>,
    remarks: Vec<String>,
    notes: Vec<String>,
    look: Look,
}

/// An earlier measurement.
#[derive(Debug, Clone)]
struct Against<'a> {
    name: String,
    bench: &'a Bench,
    /// The slowdown that is allowed, as a part of 1.
    threshold: f64,
}

const BOLD: Style = Style {
    bold: true,
    color: None,
    link: false,
};

/// The first word of lines that must not be missed.
const WARNING: &str = "Warning:";

/// A name is cut, if need be, but not to less than this.
const SHORTEST_NAME: usize = 12;

impl<'a> Benchmark<'a> {
    /// The report on a measurement.
    pub fn new(bench: &'a Bench) -> Self {
        Self {
            bench,
            figures: Figures::of(bench.subject),
            raw: false,
            agreed: None,
            against: None,
            remarks: Vec::new(),
            notes: Vec::new(),
            look: Look::new(),
        }
    }

    /// The unit of all times; where it is not set, each has the one that suits it.
    pub fn unit(mut self, unit: Option<Clocked>) -> Self {
        self.figures.unit = unit;
        self
    }

    /// Sets the number of digits of times.
    pub fn digits(mut self, digits: usize) -> Self {
        self.figures.digits = digits.max(1);
        self
    }

    /// Sets whether the times of all runs are printed too.
    pub fn raw(mut self, raw: bool) -> Self {
        self.raw = raw;
        self
    }

    /// Sets whether the candidates gave the same result, where that was compared.
    pub fn agreed(mut self, agreed: Option<bool>) -> Self {
        self.agreed = agreed;
        self
    }

    /// Compares it with an earlier measurement. Slower by more than `threshold`, a part of 1, is
    /// too slow.
    pub fn against(mut self, name: impl Into<String>, bench: &'a Bench, threshold: f64) -> Self {
        self.against = Some(Against {
            name: name.into(),
            bench,
            threshold,
        });
        self
    }

    /// Sentences on how it was measured.
    pub fn remarks(mut self, remarks: Vec<String>) -> Self {
        self.remarks = remarks;
        self
    }

    /// Sentences that the reader must not miss: each becomes a line that starts with `Warning:`.
    pub fn notes(mut self, notes: Vec<String>) -> Self {
        self.notes = notes;
        self
    }

    /// Sets the appearance.
    pub fn look(mut self, look: Look) -> Self {
        self.look = look;
        self
    }

    /// A time as the report has it.
    pub fn time(&self, seconds: f64) -> String {
        self.figures.time(seconds)
    }

    /// True if a candidate is certain to be slower than in the earlier measurement by more than the
    /// threshold.
    pub fn is_too_slow(&self) -> bool {
        let Some(against) = &self.against else {
            return false;
        };
        (0..self.bench.candidates.len()).any(|index| {
            let ratio = self.bench.ratio_to(index, against.bench);
            ratio.is_some_and(|ratio| against.is_past(&ratio))
        })
    }

    /// Writes it as text.
    pub fn write(&self, mut out: impl Write) -> io::Result<()> {
        let colored = self.look.is_colored();
        let mut line = Line::default();
        let candidates = &self.bench.candidates;
        if self.raw {
            self.write_raw(&mut out, &mut line)?;
        }
        match candidates.as_slice() {
            [only] => self.write_one(only, &mut out)?,
            _ => self.write_table(&mut out, &mut line)?,
        }
        let sentences = self.verdicts().into_iter().chain(self.against_sentences());
        let plain = |sentence: String| (sentence, Style::PLAIN);
        let sentences = sentences
            .map(|sentence| (sentence, BOLD))
            .chain(self.remarks.iter().cloned().map(plain))
            .chain(
                self.warnings()
                    .into_iter()
                    .map(|warning| plain(format!("{WARNING} {warning}"))),
            );
        // In a file a sentence is a line.
        let columns = match self.look.is_terminal() {
            true => self.look.columns(),
            false => usize::MAX,
        };
        for (sentence, style) in sentences {
            for text in broken(&sentence, columns) {
                let (head, rest) = match text.strip_prefix(WARNING) {
                    Some(rest) => (WARNING, rest),
                    None => ("", text.as_str()),
                };
                line.push(head, Style::color(Color::Yellow));
                line.push(rest, style);
                line.write(&mut out, colored)?;
            }
        }
        out.flush()
    }

    /// Writes it as JSON: the schema is in `docs/json.md`.
    pub fn write_json(&self, mut out: impl Write) -> io::Result<()> {
        Json::document(&mut out, |json| self.members(json))?;
        out.flush()
    }

    fn write_raw(&self, out: &mut dyn Write, line: &mut Line) -> io::Result<()> {
        for candidate in &self.bench.candidates {
            let times: Vec<String> = (candidate.runs.iter())
                .map(|run| self.figures.time(run.seconds))
                .collect();
            if self.bench.candidates.len() > 1 {
                line.push(&format!("{}: ", candidate.name), Style::PLAIN);
            }
            line.push(&format!("raw times: {}", times.join(", ")), Style::PLAIN);
            line.write(out, false)?;
        }
        writeln!(out)
    }

    /// Writes one candidate, in the words of timeit, IPython or hyperfine.
    fn write_one(&self, only: &Candidate, out: &mut dyn Write) -> io::Result<()> {
        let spread = only.spread();
        let time = |seconds| self.figures.time(seconds);
        if self.bench.subject != Subject::Command {
            let loops = counted(only.loops, "loop");
            let (runs, best) = (spread.count, time(spread.best));
            writeln!(out, "{loops}, best of {runs}: {best} per loop")?;
            if runs > 1 {
                let (mean, deviation) = (time(spread.mean), time(spread.deviation));
                writeln!(
                    out,
                    "{mean} ± {deviation} per loop (mean ± std. dev. of {runs} runs, {loops} each)"
                )?;
            }
            return Ok(());
        }
        let first = format!("{} ± {}", time(spread.mean), time(spread.deviation));
        let second = format!("{} … {}", time(spread.best), time(spread.worst));
        let columns = width(&first).max(width(&second));
        let fill = |text: &str| " ".repeat(columns - width(text));
        writeln!(out, "{}", only.name)?;
        let cpu = only.cpu().unwrap_or_default();
        let (user, system) = (time(cpu.user), time(cpu.system));
        writeln!(
            out,
            "  mean ± σ   {first}{}   user {user}, system {system}",
            fill(&first)
        )?;
        let runs = counted(spread.count as u64, "run");
        let median = time(spread.median);
        writeln!(
            out,
            "  min … max  {second}{}   {runs}, median {median}",
            fill(&second)
        )
    }

    /// Several candidates, a line each; ratios are to the first.
    fn write_table(&self, out: &mut dyn Write, line: &mut Line) -> io::Result<()> {
        let colored = self.look.is_colored();
        let mut rows = vec![self.table_head()];
        rows.extend((0..self.bench.candidates.len()).map(|index| self.table_row(index)));
        let numbers = |widths: &[usize]| -> usize { widths.iter().map(|width| width + 2).sum() };
        let mut widths = widths(&rows);
        if self.bench.subject == Subject::Command
            && numbers(&widths) + SHORTEST_NAME > self.look.columns()
        {
            // Where there is no room for all columns, those of the CPU's times are left out.
            for row in rows.iter_mut().filter(|row| row.len() > PARTS.end) {
                row.drain(PARTS);
            }
            widths.drain(PARTS);
        }
        let numbers = numbers(&widths);
        let head = rows.remove(0);
        let names = self
            .bench
            .candidates
            .iter()
            .map(|candidate| width(&shown(candidate)));
        let room = self.look.columns().saturating_sub(numbers);
        let names = names.max().unwrap_or(0).min(room.max(SHORTEST_NAME));
        line.push_spaces(names);
        for (title, width) in head.iter().zip(&widths) {
            line.push(&format!("  {title:>width$}"), BOLD);
        }
        line.write(out, colored)?;
        for (candidate, row) in self.bench.candidates.iter().zip(&rows) {
            let name = keep_head(&shown(candidate), names);
            line.push(&name, Style::PLAIN);
            line.push_spaces(names.saturating_sub(width(&name)));
            for (cell, &columns) in row.iter().zip(&widths) {
                line.push_spaces(2 + columns - width(cell));
                line.push(cell, Style::PLAIN);
            }
            line.write(out, colored)?;
        }
        writeln!(out)
    }

    fn table_head(&self) -> Vec<String> {
        let runs = self
            .bench
            .candidates
            .iter()
            .map(|candidate| candidate.runs.len())
            .max();
        let mut head = vec![format!("best of {}", runs.unwrap_or(0))];
        head.push("mean ± std. dev.".into());
        if self.bench.subject == Subject::Command {
            head.extend(["user".into(), "system".into()]);
        }
        head.push("time, first = 1 (95 % sure)".into());
        head
    }

    fn table_row(&self, index: usize) -> Vec<String> {
        let candidate = &self.bench.candidates[index];
        let spread = candidate.spread();
        let time = |seconds| self.figures.time(seconds);
        if candidate.runs.is_empty() {
            return vec!["no run".into()];
        }
        let mut row = vec![
            time(spread.best),
            format!("{} ± {}", time(spread.mean), time(spread.deviation)),
        ];
        if self.bench.subject == Subject::Command {
            let cpu = candidate.cpu();
            let part = |of: fn(Cpu) -> f64| cpu.map_or_else(String::new, |cpu| time(of(cpu)));
            row.extend([part(|cpu| cpu.user), part(|cpu| cpu.system)]);
        }
        row.push(match (index, self.bench.ratio(index, 0)) {
            (0, _) => "1".into(),
            (_, Some(ratio)) => verdict::shown(&ratio),
            (_, None) => "?".into(),
        });
        row
    }
}

/// The columns of a command's row that are its times on the CPU.
const PARTS: std::ops::Range<usize> = 2..4;

fn widths(rows: &[Vec<String>]) -> Vec<usize> {
    let mut widths = Vec::new();
    for row in rows {
        widths.resize(row.len().max(widths.len()), 0);
        for (widest, cell) in widths.iter_mut().zip(row) {
            *widest = width(cell).max(*widest);
        }
    }
    widths
}

/// A candidate's name in one line.
fn shown(candidate: &Candidate) -> String {
    let mut lines = candidate.name.lines().map(str::trim_end);
    let first = lines.next().unwrap_or_default();
    match lines.next() {
        Some(_) => format!("{first} …"),
        None => first.to_owned(),
    }
}

#[cfg(test)]
mod tests;
