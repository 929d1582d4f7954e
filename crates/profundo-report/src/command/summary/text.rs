//! The summary as text: which parts there are, and in which order. The verdict comes first, then
//! the warnings for readers of the tables, then the tables, the one with the verdict's subject
//! first.

use std::io;

use profundo_analysis::{Selection, Totals, Whole};

use super::calls::write_tree;
use super::head::{write_head, write_kinds};
use super::hot::{write_functions, write_lines};
use super::verdict::verdict;
use super::waiting::{self, waited, write_waits};
use super::{Answers, Summary};
use crate::command::totals::{Rows, write_commands, write_processes, write_threads};
use crate::command::{GRAY, KindColumns, write_empty, write_next, write_warnings};
use crate::command::{allocs, launched, memory, traffic};
use crate::naming::Names;
use crate::naming::statements::Statements;
use crate::page::Page;
use crate::page::line::Line;
use crate::page::palette::Color;
use crate::page::units::duration;
use crate::quality;
use crate::quality::warning::Warning;

/// Writes the report.
pub(super) fn write(view: &Summary, page: &mut Page<'_>, selection: &Selection) -> io::Result<()> {
    let profile = page.profile;
    let kinds = KindColumns::new(profile, selection, page.columns);
    write_head(page, &view.options.choices, selection)?;
    if write_empty(page, &view.options.choices, selection)? {
        return write_without_samples(view, page, selection);
    }
    let is_few = kinds.few.is_some();
    if !is_few {
        write_kinds(page, selection, kinds)?;
        write_whole(page, selection)?;
    }
    let answers = view.answers(profile, selection);
    let all = selection.weight(profile);
    let whole = waiting::Whole {
        weight: all,
        is_few,
    };
    let shows_traffic = traffic::matters(&answers.io, all);
    let mut shown = quality::SAMPLED.to_vec();
    shown.extend(answers.allocations.is_some().then_some(Whole::Allocated));
    shown.extend(shows_traffic.then_some(Whole::Traffic));
    let names = answers.names(profile);
    let verdict = verdict(profile, selection, &answers, &names);
    if !verdict.is_empty() {
        page.plain("")?;
        for sentence in &verdict {
            page.sentence(sentence)?;
        }
    }
    quality::write_grave(page, view.options.quality, &shown)?;
    write_nothing_sampled(page)?;
    write_warnings(page, &view.options.choices, selection)?;
    page.plain("")?;
    let split = selection.split(profile);
    let on_cpu = split.sum() - split.waiting;
    let mostly_waits = waited(&answers.waits) > on_cpu;
    if mostly_waits {
        write_waits(page, &answers.waits, &names, whole, view.lines)?;
        page.plain("")?;
    }
    if !answers.lines.is_empty() {
        write_lines(page, &answers, selection, &names, kinds, view.from_disk)?;
        launched::write(page, &answers.launched, selection.mass(profile))?;
        page.plain("")?;
    }
    if let Some(found) = &answers.allocations {
        let filter = &view.options.choices.filter;
        allocs::write_memory(page, found, filter, &names, view.lines, view.from_disk)?;
        page.plain("")?;
    }
    if answers.functions.is_empty() && on_cpu == 0 {
        // Nothing is hidden: where threads wait has a table of its own.
    } else if answers.functions.is_empty() {
        let text = format!(" {}", Warning::OnlyC.text(true));
        page.marked("Warning:", Color::Yellow, &text)?;
    } else {
        write_functions(page, &answers, selection, &names, kinds)?;
        page.plain("")?;
    }
    if !answers.waits.is_empty() && !mostly_waits {
        write_waits(page, &answers.waits, &names, whole, view.lines)?;
        page.plain("")?;
    }
    if shows_traffic {
        traffic::write(
            page,
            &answers.io,
            &names,
            &Statements::none(profile),
            view.table,
        )?;
        page.plain("")?;
    }
    let branches = &answers.tree.branches;
    if branches.len() > 1 || branches.iter().any(|branch| branch.chain.len() > 1) {
        write_tree(page, &answers.tree, &names, is_few)?;
        page.plain("")?;
    }
    if !answers.memory.is_empty() {
        memory::write(page, &view.options.choices, &answers.memory, view.table)?;
        page.plain("")?;
    }
    view.write_totals(page, &answers, kinds, all)?;
    crate::command::energy::write(page)?;
    quality::write_plainly(page, selection, view.options.quality)?;
    write_next(page, &view.next)
}

/// Writes the rest of a report without samples: memory, energy and quality.
fn write_without_samples(
    view: &Summary,
    page: &mut Page<'_>,
    selection: &Selection,
) -> io::Result<()> {
    let profile = page.profile;
    if let Some(found) = allocs::of(profile, &view.options.choices) {
        quality::write_grave(page, view.options.quality, &[Whole::Allocated])?;
        page.plain("")?;
        let names = Names::of_places(profile, allocs::places(&found));
        let filter = &view.options.choices.filter;
        allocs::write_memory(page, &found, filter, &names, view.lines, view.from_disk)?;
        page.plain("")?;
    }
    // A sleeping process has memory all the same.
    let memory = memory::of(profile, selection, &view.options.choices);
    if !memory.is_empty() {
        page.plain("")?;
        memory::write(page, &view.options.choices, &memory, view.table)?;
        page.plain("")?;
    }
    crate::command::energy::write(page)?;
    quality::write(page, selection, view.options.quality)?;
    write_next(page, &view.next)
}

impl Summary {
    /// Writes the processes and threads.
    fn write_totals(
        &self,
        page: &mut Page<'_>,
        answers: &Answers<'_>,
        kinds: KindColumns,
        all: u64,
    ) -> io::Result<()> {
        let totals = &answers.totals;
        let rows = Rows {
            most: self.table,
            least: self.least,
            all,
        };
        if self.by_command || has_many_of_a_kind(totals, self.table) {
            write_commands(page, totals, kinds, rows)?;
            page.plain("")?;
        }
        if totals.processes.len() > 1 && !self.by_command {
            write_processes(page, totals, kinds, rows)?;
            page.plain("")?;
        }
        // Of processes with one thread each, the table of processes is enough.
        if totals.threads.len() > totals.processes.len() {
            write_threads(page, totals, kinds, rows)?;
            page.plain("")?;
        }
        Ok(())
    }
}

/// True if a table of processes would be long, and one of commands is shorter.
fn has_many_of_a_kind(totals: &Totals, limit: usize) -> bool {
    totals.processes.len() > limit && totals.commands.len() < totals.processes.len()
}

/// Writes why there is no sample, where processes have rows all the same: with the CPU time that
/// the kernel counted.
fn write_nothing_sampled(page: &mut Page<'_>) -> io::Result<()> {
    let profile = page.profile;
    if profile.meta.settled.is_none() || profile.samples_taken() > 0 {
        return Ok(());
    }
    let text = format!(" {}", Warning::NoSamples.sentence(profile, true));
    page.marked("Warning:", Color::Yellow, &text)
}

/// Writes what 100 % is where waiting counts: a sum that stands nowhere else.
fn write_whole(page: &mut Page<'_>, selection: &Selection) -> io::Result<()> {
    let profile = page.profile;
    if selection.split(profile).waiting == 0 {
        return Ok(());
    }
    let of = match profile.thread_count() {
        1 => "the thread's time, with its waits".to_owned(),
        several => format!("the time of {several} threads, with their waits"),
    };
    let mut line = Line::default();
    let text = format!("  100 % is {}: {of}", duration(selection.weight(profile)));
    line.push(&text, GRAY);
    line.truncate(page.columns);
    page.line(&mut line)
}
