//! The regressions as text.

use std::io;

use profundo_analysis::growth::{FEW, Of, Replicas};

use super::{Grown, Regressions, ServiceVersions};
use crate::command::{BOLD, GRAY};
use crate::page::Page;
use crate::page::line::{Line, Style};
use crate::page::palette::Color;
use crate::page::units::counted;
use crate::page::width::{keep_head, width};

/// The columns of numbers.
const CPUS: usize = 7;
const SHARE: usize = 8;
const CHANGE: usize = 8;
const RANGE: usize = 13;
/// The most services that a sentence lists.
const MOST: usize = 12;

impl Regressions {
    pub(super) fn whole_text(&self, page: &mut Page<'_>) -> io::Result<()> {
        let (own, callers) = (self.grown(Of::Itself), self.grown(Of::Callees));
        let color = match self.is_any() {
            true => Color::Red,
            false => Color::Green,
        };
        page.marked(&self.verdict(&own, &callers), color, "")?;
        page.plain("")?;
        let mut line = Line::default();
        line.push(&keep_head(&self.asked, page.columns), GRAY);
        page.line(&mut line)?;
        self.table(page, &own, "Function")?;
        self.table(page, &callers, "Function, with its callees")?;
        page.plain("")?;
        self.compared(page)?;
        self.left_out(page)?;
        page.sentence(&format!(
            "Growth of less than {} points is not shown. Of all that is, at most {} % is there by chance.",
            points(self.at_least),
            points(self.false_alarms),
        ))
    }

    fn verdict(&self, own: &[Grown<'_>], callers: &[Grown<'_>]) -> String {
        let compared = self
            .services
            .iter()
            .filter(|service| service.found.is_ok())
            .count();
        let all = counted(compared as u64, "service");
        let (rows, how) = match (own.is_empty(), callers.is_empty()) {
            (true, true) => return format!("Nothing has grown beyond chance in {all}."),
            (false, _) => (own, ""),
            (true, false) => (callers, " with their callees"),
        };
        let cost: f64 = own.iter().map(|grown| grown.cost).sum();
        let mut names: Vec<&str> = rows.iter().map(|grown| &*grown.service.service).collect();
        names.sort_unstable();
        names.dedup();
        let verb = if rows.len() == 1 { "has" } else { "have" };
        let services = match (&names[..], compared) {
            ([one], _) => (*one).to_owned(),
            (several, all) => format!("{} of {all} services", several.len()),
        };
        let cost = match own.is_empty() {
            true => String::new(),
            false => format!(", which costs {} CPUs", cpus(cost)),
        };
        format!(
            "{} of {services} {verb} grown{how}{cost}.",
            counted(rows.len() as u64, "function")
        )
    }

    fn table(&self, page: &mut Page<'_>, rows: &[Grown<'_>], title: &str) -> io::Result<()> {
        if rows.is_empty() {
            return Ok(());
        }
        page.plain("")?;
        let shown = &rows[..rows.len().min(self.limit)];
        let service = |grown: &Grown<'_>| grown.service.service.clone();
        let versions = |grown: &Grown<'_>| grown.service.in_words();
        let widest = |of: &dyn Fn(&Grown<'_>) -> String, title: &str| {
            let cells = shown.iter().map(|grown| width(&of(grown)));
            cells.max().unwrap_or(0).max(title.len()).min(24)
        };
        let range = |grown: &Grown<'_>| {
            let difference = &grown.row.difference;
            format!("{} to {}", signed(difference.low), signed(difference.high))
        };
        let of_range = (widest(&range, "95 % range") + 2).max(RANGE);
        let of_service = widest(&service, "Service");
        let of_versions = widest(&versions, "Versions");
        let mut line = Line::default();
        line.push_fmt(
            format_args!(
                "{:>CPUS$}{:>SHARE$}{:>SHARE$}{:>CHANGE$}  {:<of_range$}{:<of_service$}  {:<of_versions$}  {title}",
                "CPUs", "Before", "After", "Points", "95 % range", "Service", "Versions"
            ),
            BOLD,
        );
        line.truncate(page.columns);
        page.line(&mut line)?;
        for grown in shown {
            let difference = &grown.row.difference;
            let percent = |share: f64| format!("{:.1} %", share * 100.0);
            let range = range(grown);
            line.push_fmt(format_args!("{:>CPUS$}", cpus(grown.cost)), Style::PLAIN);
            line.push_fmt(
                format_args!(
                    "{:>SHARE$}{:>SHARE$}",
                    percent(difference.before),
                    percent(difference.after)
                ),
                Style::PLAIN,
            );
            let change = signed(difference.change);
            line.push_fmt(format_args!("{change:>CHANGE$}"), Style::color(Color::Red));
            line.push_fmt(format_args!("  {range:<of_range$}"), GRAY);
            for (text, columns) in [(service(grown), of_service), (versions(grown), of_versions)] {
                let text = keep_head(&text, columns);
                let gap = columns - width(&text) + 2;
                line.push(&text, Style::PLAIN);
                line.push_spaces(gap);
            }
            line.push(&grown.row.name, BOLD);
            line.push_fmt(format_args!("  {}", grown.row.at), GRAY);
            line.truncate(page.columns);
            page.line(&mut line)?;
        }
        if rows.len() > shown.len() {
            let more = rows.len() - shown.len();
            page.plain(&format!("… and {more} more (`--limit` shows more)"))?;
        }
        Ok(())
    }

    /// What was compared, and what the intervals follow from.
    fn compared(&self, page: &mut Page<'_>) -> io::Result<()> {
        let compared = self.services.iter().filter(|service| service.found.is_ok());
        let words: Vec<String> = compared.map(ServiceVersions::basis).collect();
        if words.is_empty() {
            return Ok(());
        }
        let more = words.len().saturating_sub(MOST);
        let mut text = words[..words.len() - more].join("; ");
        if more > 0 {
            text += &format!("; and {more} more services");
        }
        page.marked("Compared:", Color::Cyan, &format!(" {text}."))?;
        let is_alone = |service: &&ServiceVersions| {
            let found = service.found.as_ref();
            found.is_ok_and(|found| found.replicas == Replicas::None)
        };
        let alone = self.services.iter().filter(is_alone).count();
        if alone > 0 {
            page.marked(
                "Note:",
                Color::Cyan,
                " one process of a version cannot show how much processes differ: its ranges follow from the number of \
                 samples alone, and are too narrow where they do.",
            )?;
        }
        Ok(())
    }

    fn left_out(&self, page: &mut Page<'_>) -> io::Result<()> {
        let why = self.services.iter().filter_map(|service| {
            let why = service.found.as_ref().err()?;
            Some(format!("{} ({why})", service.service))
        });
        let words: Vec<String> = why.collect();
        if words.is_empty() {
            return Ok(());
        }
        let more = words.len().saturating_sub(MOST);
        let mut text = words[..words.len() - more].join("; ");
        if more > 0 {
            text += &format!("; and {more} more");
        }
        page.marked("Not compared:", Color::Cyan, &format!(" {text}."))
    }
}

impl ServiceVersions {
    fn in_words(&self) -> String {
        let [before, after] = &self.versions;
        format!("{before} → {after}")
    }

    /// `api 1.4 → 1.5 (4 and 4 hosts, 2262002 and 2229867 samples)`.
    fn basis(&self) -> String {
        let Ok(found) = &self.found else {
            return String::new();
        };
        let [before, after] = found.counts;
        let replicas = match found.replicas {
            Replicas::Hosts => format!("{before} and {after} hosts, "),
            Replicas::Processes => format!("{before} and {after} processes, "),
            Replicas::None => String::new(),
        };
        let factor = match (found.factor - 1.0) * 100.0 {
            more if more >= 0.5 => format!(", of which all functions alike take {more:.0} % more"),
            less if less <= -0.5 => {
                format!(
                    ", of which all other functions alike take {:.0} % less",
                    -less
                )
            }
            _ => String::new(),
        };
        let [samples, others] = found.samples;
        let few = match samples.min(others) < FEW {
            true => ": too few",
            false => "",
        };
        format!(
            "{} {} ({replicas}{samples} and {others} samples{few}{factor})",
            self.service,
            self.in_words()
        )
    }
}

/// A part in percent, without a zero behind the point.
fn points(share: f64) -> String {
    let text = format!("{:.2}", share * 100.0);
    text.trim_end_matches('0').trim_end_matches('.').to_owned()
}

/// A difference in points, with its sign; `−` is as wide as `+`.
fn signed(share: f64) -> String {
    let sign = if share < 0.0 { '−' } else { '+' };
    format!("{sign}{:.1}", share.abs() * 100.0)
}

/// A number of CPUs.
fn cpus(number: f64) -> String {
    match number.abs() {
        few if few < 0.0995 => format!("{number:.3}"),
        some if some < 9.95 => format!("{number:.2}"),
        many if many < 99.5 => format!("{number:.1}"),
        _ => format!("{number:.0}"),
    }
}
