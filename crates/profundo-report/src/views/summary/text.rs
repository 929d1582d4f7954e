//! The summary as text: which parts there are, and in which order. The verdict comes first, then what
//! must be known to read the tables, then the tables, that which the verdict is about first.

use std::io;

use profundo_analysis::{Selection, Totals, Whole};

use super::calls::write_tree;
use super::head::{write_head, write_kinds};
use super::hot::{write_functions, write_lines};
use super::verdict::verdict;
use super::waiting::{waited, write_waits};
use super::{Answers, Summary};
use crate::line::Line;
use crate::names::Names;
use crate::palette::Color;
use crate::printer::Page;
use crate::quality;
use crate::units::duration;
use crate::views::totals::{Rows, write_commands, write_processes, write_threads};
use crate::views::{GRAY, KindColumns, write_empty, write_next, write_warnings};
use crate::views::{allocs, launched, memory, traffic};
use crate::warning::Warning;

impl Summary {
    pub(super) fn text(&self, page: &mut Page<'_>, selection: &Selection) -> io::Result<()> {
        let profile = page.profile;
        let kinds = KindColumns::new(profile, selection, page.columns);
        write_head(page, selection)?;
        if write_empty(page, &self.choices, selection)? {
            if let Some(found) = allocs::of(profile, &self.choices) {
                quality::write_grave(page, self.quality, &[Whole::Allocated])?;
                page.plain("")?;
                let names = Names::of_places(profile, allocs::places(&found));
                allocs::write_memory(page, &found, &names, self.lines, self.from_disk)?;
                page.plain("")?;
            }
            // Who sleeps has memory all the same.
            let memory = memory::of(profile, selection, &self.choices);
            if !memory.is_empty() {
                page.plain("")?;
                memory::write(page, &self.choices, &memory, self.table)?;
                page.plain("")?;
            }
            crate::energy::write(page)?;
            quality::write(page, selection, self.quality)?;
            return write_next(page, &self.next);
        }
        let is_few = kinds.few.is_some();
        if !is_few {
            write_kinds(page, selection, kinds)?;
            write_whole(page, selection)?;
        }
        let answers = self.answers(profile, selection);
        let all = selection.weight(profile);
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
        quality::write_grave(page, self.quality, &shown)?;
        write_nothing_sampled(page)?;
        write_warnings(page, &self.choices, selection)?;
        page.plain("")?;
        let split = selection.split(profile);
        let on_cpu = split.sum() - split.waiting;
        let mostly_waits = waited(&answers.waits) > on_cpu;
        if mostly_waits {
            write_waits(page, &answers.waits, &names, (all, is_few), self.lines)?;
            page.plain("")?;
        }
        if !answers.lines.is_empty() {
            let how = (kinds, self.from_disk);
            write_lines(page, &answers, selection, &names, how)?;
            launched::write(page, &answers.launched, selection.mass(profile))?;
            page.plain("")?;
        }
        if let Some(found) = &answers.allocations {
            allocs::write_memory(page, found, &names, self.lines, self.from_disk)?;
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
            write_waits(page, &answers.waits, &names, (all, is_few), self.lines)?;
            page.plain("")?;
        }
        if shows_traffic {
            traffic::write(page, &answers.io, &names, self.table)?;
            page.plain("")?;
        }
        let branches = &answers.tree.branches;
        if branches.len() > 1 || branches.iter().any(|it| it.chain.len() > 1) {
            write_tree(page, &answers.tree, &names, is_few)?;
            page.plain("")?;
        }
        if !answers.memory.is_empty() {
            memory::write(page, &self.choices, &answers.memory, self.table)?;
            page.plain("")?;
        }
        self.write_totals(page, &answers, kinds, all)?;
        crate::energy::write(page)?;
        quality::write_plainly(page, selection, self.quality)?;
        write_next(page, &self.next)
    }

    /// Writes who took part.
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
        // Of processes with one thread each, the table of processes says all.
        if totals.threads.len() > totals.processes.len() {
            write_threads(page, totals, kinds, rows)?;
            page.plain("")?;
        }
        Ok(())
    }
}

/// Whether a table of processes would be long, and one of commands is shorter.
fn has_many_of_a_kind(totals: &Totals, limit: usize) -> bool {
    totals.processes.len() > limit && totals.commands.len() < totals.processes.len()
}

/// Says why there is no sample, where processes have rows all the same: with the CPU time that the kernel counted.
fn write_nothing_sampled(page: &mut Page<'_>) -> io::Result<()> {
    let profile = page.profile;
    if profile.meta.settled.is_none() || profile.samples_taken() > 0 {
        return Ok(());
    }
    let text = format!(" {}", Warning::NoSamples.said(profile, true));
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
