//! The table: each figure with its unit and with what it means, or over several runs with how it
//! scatters.

use std::io::{self, Write};

use profundo_analysis::Spread;
use profundo_analysis::usage::{Measured, Quantity, Run};

use super::{Time, remarks};
use crate::page::line::{Line, Style};
use crate::page::palette::Color;
use crate::page::units::{bytes, counted, duration};
use crate::page::width::{broken, width};

/// A group of rows: what they are called, and which quantities they are.
const GROUPS: [&[(&str, Quantity)]; 4] = [
    &[
        ("real", Quantity::Real),
        ("user", Quantity::User),
        ("sys", Quantity::System),
        ("CPU", Quantity::Cpu),
    ],
    &[
        ("Peak memory", Quantity::PeakResident),
        ("", Quantity::TreeResident),
        ("Page faults", Quantity::MinorFaults),
        ("", Quantity::MajorFaults),
    ],
    &[
        ("Read", Quantity::Read),
        ("", Quantity::DiskRead),
        ("Written", Quantity::Written),
        ("", Quantity::DiskWritten),
    ],
    &[
        ("Switches", Quantity::Voluntary),
        ("", Quantity::Involuntary),
        ("Processes", Quantity::Processes),
        ("Threads", Quantity::Threads),
    ],
];

/// The columns of what a row is called, and of its figure.
const LABEL: usize = 12;
const FIGURE: usize = 12;

const BOLD: Style = Style {
    bold: true,
    color: None,
    link: false,
};

const UNKNOWN: &str = "unknown";

pub(super) fn write(time: &Time, out: &mut dyn Write) -> io::Result<()> {
    let colored = time.look.is_colored();
    let columns = time.look.columns();
    let mut line = Line::default();
    let end = |line: &mut Line, out: &mut dyn Write| {
        line.truncate(columns);
        line.write(out, colored)
    };
    match time.runs.as_slice() {
        [] => {
            line.push("no run was measured", Style::PLAIN);
            end(&mut line, out)?;
        }
        [run] => {
            line.push(&time.command, BOLD);
            end(&mut line, out)?;
            let rows = GROUPS.iter().map(|group| rows_of(group, run));
            for mut rows in rows.chain([endings(run)]) {
                if let Some(first) = rows.first_mut() {
                    first.opens = true;
                }
                for row in rows {
                    if row.opens {
                        end(&mut line, out)?;
                    }
                    row.push(&mut line);
                    end(&mut line, out)?;
                }
            }
        }
        runs => {
            line.push(&heading(runs.len(), time.warmups), Style::PLAIN);
            line.push(&time.command, BOLD);
            end(&mut line, out)?;
            let table = spreads(runs);
            let widest = |title: &str, of: fn(&Scattered) -> &str| {
                let all = table.iter().flatten().map(of).chain([title]);
                all.map(width).max().unwrap_or(0)
            };
            let [mean, deviation, least, most] = TITLES;
            let widths = [
                widest(mean, |row| &row.mean),
                widest(deviation, |row| &row.deviation),
                widest(least, |row| &row.least),
                widest(most, |row| &row.most),
            ];
            end(&mut line, out)?;
            titles(&mut line, widths);
            end(&mut line, out)?;
            for (index, group) in table.iter().enumerate() {
                if index > 0 {
                    end(&mut line, out)?;
                }
                for row in group {
                    row.push(&mut line, widths);
                    end(&mut line, out)?;
                }
            }
        }
    }
    notes(time, out, columns, colored)
}

fn notes(time: &Time, out: &mut dyn Write, columns: usize, colored: bool) -> io::Result<()> {
    const MARK: &str = "Note: ";
    let mut line = Line::default();
    let sentences = remarks::sentences(time);
    if !sentences.is_empty() {
        line.write(out, colored)?;
    }
    for sentence in sentences {
        let room = columns.saturating_sub(MARK.len()).max(20);
        for (index, text) in broken(&sentence, room).iter().enumerate() {
            match index {
                0 => line.push(
                    MARK,
                    Style {
                        bold: true,
                        ..Style::color(Color::Yellow)
                    },
                ),
                _ => line.push_spaces(MARK.len()),
            }
            line.push(text, Style::PLAIN);
            line.write(out, colored)?;
        }
    }
    Ok(())
}

/// A row on a single run.
struct Row {
    label: &'static str,
    figure: String,
    meaning: String,
    /// True if a group begins with it.
    opens: bool,
}

impl Row {
    fn new(label: &'static str, figure: String, meaning: impl Into<String>) -> Self {
        Self {
            label,
            figure,
            meaning: meaning.into(),
            opens: false,
        }
    }

    fn push(&self, line: &mut Line) {
        line.push(self.label, BOLD);
        let room = (LABEL + FIGURE).saturating_sub(line.width() + width(&self.figure));
        line.push_spaces(room.max(2));
        line.push(&self.figure, Style::PLAIN);
        if !self.meaning.is_empty() {
            line.push_spaces(3);
            line.push(&self.meaning, Style::color(Color::Gray));
        }
    }
}

fn rows_of(group: &[(&'static str, Quantity)], run: &Run) -> Vec<Row> {
    let row = |(label, quantity): &(&'static str, Quantity)| {
        let known = quantity.of(run);
        // The figure of all processes together is that of a process alone, in whose row its threads
        // are.
        if *quantity == Quantity::TreeResident && known.is_none() {
            return None;
        }
        let figure = match known {
            None => UNKNOWN.to_owned(),
            Some(value) if *quantity == Quantity::PeakResident && run.peak_is_bound => {
                format!("≤ {}", figure(*quantity, value))
            }
            Some(value) => figure(*quantity, value),
        };
        Some(Row::new(label, figure, meaning(*quantity, run)))
    };
    group.iter().filter_map(row).collect()
}

fn endings(run: &Run) -> Vec<Row> {
    vec![
        Row::new(
            "Signals",
            UNKNOWN.to_owned(),
            "Linux does not count those that were received",
        ),
        Row::new("Ended with", remarks::ending(run.ending), ""),
    ]
}

/// The meaning of a figure, for new readers.
fn meaning(quantity: Quantity, run: &Run) -> String {
    match quantity {
        Quantity::Real if run.real >= 60_000_000_000 => {
            format!("from its start to its end ({})", duration(run.real))
        }
        Quantity::Real => "from its start to its end".into(),
        Quantity::User => "on CPUs, in programs and libraries".into(),
        Quantity::System => "on CPUs, in the kernel, at work for them".into(),
        Quantity::Cpu => format!(
            "user + sys by real: 100 % is one CPU, of {}",
            run.around.cpus
        ),
        Quantity::PeakResident if run.peak_is_bound => "of one process (RSS), if not less".into(),
        Quantity::PeakResident => "of the largest process (RSS)".into(),
        Quantity::TreeResident => "of all at once, as seen ten times per second".into(),
        Quantity::MinorFaults => "minor: memory used first, or shared".into(),
        Quantity::MajorFaults => "major: read from a disk".into(),
        Quantity::Voluntary => "voluntary: a thread waited for something".into(),
        Quantity::Involuntary => "involuntary: another one got its CPU".into(),
        Quantity::Read if run.calls.is_none() => "by calls: the kernel does not count them".into(),
        Quantity::Read => "by calls, from files, pipes, terminals …".into(),
        Quantity::Written if run.calls.is_none() => String::new(),
        Quantity::Written => "by calls".into(),
        Quantity::DiskRead => "from disks".into(),
        Quantity::DiskWritten => "to disks, then or later".into(),
        Quantity::Processes | Quantity::Threads if quantity.of(run).is_none() => {
            "how many began was not told".into()
        }
        Quantity::Processes => "its own and all that it started".into(),
        Quantity::Threads => "in all of them".into(),
    }
}

fn heading(runs: usize, warmups: u64) -> String {
    match warmups {
        0 => format!("{runs} runs of "),
        count => format!(
            "{runs} runs, after {} to warm up, of ",
            counted(count, "run")
        ),
    }
}

/// A row on several runs.
struct Scattered {
    label: &'static str,
    mean: String,
    deviation: String,
    least: String,
    most: String,
    what: &'static str,
}

fn spreads(runs: &[Run]) -> Vec<Vec<Scattered>> {
    let scattered = |(label, quantity): &(&'static str, Quantity)| {
        let spread = quantity.over(runs);
        if *quantity == Quantity::TreeResident && spread.is_none() {
            return None;
        }
        let mut row = Scattered::new(label, *quantity, spread);
        if *quantity == Quantity::PeakResident && runs.iter().any(|run| run.peak_is_bound) {
            row.mean.insert_str(0, "≤ ");
        }
        Some(row)
    };
    let group = |group: &&[(&'static str, Quantity)]| group.iter().filter_map(scattered).collect();
    GROUPS.iter().map(group).collect()
}

impl Scattered {
    fn new(label: &'static str, quantity: Quantity, spread: Option<Spread>) -> Self {
        let what = match quantity {
            Quantity::MinorFaults => "minor",
            Quantity::MajorFaults => "major",
            Quantity::Voluntary => "voluntary",
            Quantity::Involuntary => "involuntary",
            Quantity::Read | Quantity::Written => "by calls",
            Quantity::DiskRead => "from disks",
            Quantity::DiskWritten => "to disks",
            Quantity::TreeResident => "of all at once",
            _ => "",
        };
        let Some(spread) = spread else {
            return Self {
                label,
                mean: UNKNOWN.into(),
                deviation: String::new(),
                least: String::new(),
                most: String::new(),
                what,
            };
        };
        let is_whole = quantity.measured() == Measured::Count;
        let mean = match is_whole && spread.mean.fract() > 0.0 && spread.mean < 1e4 {
            true => format!("{:.1}", spread.mean),
            false => like(quantity, spread.mean, spread.mean),
        };
        Self {
            label,
            deviation: spread.deviation.map_or_else(String::new, |deviation| {
                match is_whole && deviation < 1e4 {
                    true => format!("± {deviation:.1}"),
                    false => format!("± {}", like(quantity, deviation, spread.mean)),
                }
            }),
            mean,
            least: like(quantity, spread.least, spread.mean),
            most: like(quantity, spread.most, spread.mean),
            what,
        }
    }

    fn push(&self, line: &mut Line, [mean, deviation, least, most]: [usize; 4]) {
        line.push(self.label, BOLD);
        let mut at = LABEL;
        for (text, columns) in [
            (&self.mean, mean),
            (&self.deviation, deviation),
            (&self.least, least + 2),
        ] {
            at += columns + 1;
            line.push_spaces(at.saturating_sub(line.width() + width(text)));
            line.push(text, Style::PLAIN);
        }
        at += most + 3;
        if !self.most.is_empty() {
            line.push(" … ", Style::color(Color::Gray));
            line.push_spaces(at.saturating_sub(line.width() + width(&self.most)));
            line.push(&self.most, Style::PLAIN);
        }
        if !self.what.is_empty() {
            line.push_spaces((at + 2).saturating_sub(line.width()));
            line.push(self.what, Style::color(Color::Gray));
        }
    }
}

const TITLES: [&str; 4] = ["mean", "± std. dev.", "least", "most"];

fn titles(line: &mut Line, [mean, deviation, least, most]: [usize; 4]) {
    let mut at = LABEL;
    // As wide as the rows, which have more before the least and the most.
    for (title, columns) in TITLES.iter().zip([mean, deviation, least + 2, most + 2]) {
        at += columns + 1;
        line.push_spaces(at.saturating_sub(line.width() + width(title)));
        line.push(title, Style::color(Color::Gray));
    }
}

/// A figure with its unit.
fn figure(quantity: Quantity, value: f64) -> String {
    like(quantity, value, value)
}

/// The figure in the unit that suits another value.
fn like(quantity: Quantity, value: f64, other: f64) -> String {
    match quantity.measured() {
        Measured::Time if other >= 1e9 => format!("{:.3} s", value / 1e9),
        Measured::Time => format!("{:.3} ms", value / 1e6),
        Measured::Share => format!("{:.1} %", value * 100.0),
        Measured::Bytes => bytes(value.round() as u64),
        Measured::Count => format!("{:.0}", value),
    }
}
