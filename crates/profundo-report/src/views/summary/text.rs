//! The summary as text.

use std::io;

use profundo_analysis::{
    FunctionShare, Place, Selection, Totals, WaitRow, Whole, cpu_used, garbage, totals, traced,
};
use profundo_model::{Engine, FileId, ProcessId, Profile, Wait};
use rustc_hash::FxHashMap;

use super::verdict::verdict;
use super::{Answers, Summary};
use crate::line::{Line, Style};
use crate::names::Names;
use crate::palette::Color;
use crate::printer::Page;
use crate::source::{Source, sentences, shown};
use crate::units::{counted, duration, percent, said, share_title};
use crate::views::functions::push_name;
use crate::views::lineless::Pools;
use crate::views::short_tree::Branch;
use crate::views::totals::{command, end, write_commands, write_processes, write_threads};
use crate::views::{
    BOLD, GRAY, KindColumns, heat, push_share, share_width, write_empty, write_end, write_next,
};
use crate::views::{allocs, launched, memory, traffic};
use crate::warning::Warning;
use crate::weighs::Weighs;
use crate::width::{keep_head, keep_tail, width};

impl Summary {
    pub(super) fn text(&self, page: &mut Page<'_>, selection: &Selection) -> io::Result<()> {
        let profile = page.profile;
        let kinds = KindColumns::new(profile, selection, page.columns);
        write_head(page, selection)?;
        if write_empty(page, &self.choices, selection)? {
            if let Some(found) = allocs::of(profile, &self.choices) {
                crate::quality::write_grave(page, self.quality, &[Whole::Allocated])?;
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
            crate::quality::write(page, selection, self.quality)?;
            return write_next(page, &self.next);
        }
        let is_few = kinds.few.is_some();
        if !is_few {
            write_kinds(page, selection, kinds)?;
        }
        let answers = self.answers(profile, selection);
        let all = selection.weight(profile);
        let shows_traffic = traffic::matters(&answers.io, all);
        let mut shown = crate::quality::SAMPLED.to_vec();
        shown.extend(answers.allocations.is_some().then_some(Whole::Allocated));
        shown.extend(shows_traffic.then_some(Whole::Traffic));
        let names = answers.names(profile);
        let verdict = verdict(profile, selection, &answers, &names);
        if !verdict.is_empty() {
            page.plain("")?;
            page.sentence(&verdict.join(" "))?;
        }
        crate::quality::write_grave(page, self.quality, &shown)?;
        write_nothing_sampled(page)?;
        page.plain("")?;
        if !answers.lines.is_empty() {
            self.write_lines(page, &answers, selection, &names, kinds)?;
            launched::write(page, &answers.launched, selection.mass(profile))?;
            page.plain("")?;
        }
        let split = selection.split(profile);
        let was_on_cpu = split.sum() > split.waiting;
        if answers.functions.is_empty() && !was_on_cpu {
            // Nothing is hidden: where threads wait has a table of its own.
        } else if answers.functions.is_empty() {
            let text = format!(" {}", Warning::OnlyC.text(true));
            page.marked("Warning:", Color::Yellow, &text)?;
        } else {
            write_functions(page, selection, &answers.functions, &names, kinds)?;
            page.plain("")?;
        }
        if !answers.waits.is_empty() {
            write_waits(page, &answers.waits, &names, (all, is_few), self.lines)?;
            page.plain("")?;
        }
        if shows_traffic {
            traffic::write(page, &answers.io, &names, self.table)?;
            page.plain("")?;
        }
        if let Some(found) = &answers.allocations {
            allocs::write_memory(page, found, &names, self.lines, self.from_disk)?;
            page.plain("")?;
        }
        if answers.tree.iter().any(|branch| branch.chain.len() > 1) || answers.tree.len() > 1 {
            write_tree(page, &answers.tree, &names, is_few)?;
            page.plain("")?;
        }
        if !answers.memory.is_empty() {
            memory::write(page, &self.choices, &answers.memory, self.table)?;
            page.plain("")?;
        }
        if self.by_command || has_many_of_a_kind(&answers.totals, self.table) {
            write_commands(page, &answers.totals, kinds, all, self.table)?;
            page.plain("")?;
        }
        if answers.totals.processes.len() > 1 && !self.by_command {
            write_processes(page, &answers.totals, kinds, all, self.table)?;
            page.plain("")?;
        }
        if answers.totals.threads.len() > 1 {
            write_threads(page, &answers.totals, kinds, all, self.table)?;
            page.plain("")?;
        }
        crate::energy::write(page)?;
        write_end(page, &self.choices, selection, self.quality)?;
        write_next(page, &self.next)
    }

    fn write_lines(
        &self,
        page: &mut Page<'_>,
        answers: &Answers<'_>,
        selection: &Selection,
        names: &Names<'_>,
        kinds: KindColumns,
    ) -> io::Result<()> {
        let profile = page.profile;
        let rows = &answers.lines;
        let (all, whole) = (selection.weight(profile), selection.mass(profile));
        let pools = Pools::new(&answers.lineless, whole);
        let share = share_width(page);
        let mut line = Line::default();
        let title = share_title("Time %", kinds.few.is_some());
        line.push_fmt(format_args!("{title:<share$}"), BOLD);
        kinds.push_titles(&mut line, BOLD);
        line.push("  Hottest lines", BOLD);
        page.line(&mut line)?;
        let at: Vec<String> = (rows.iter())
            .map(|(file, row)| format!("{}:{}", names.file(*file), row.line))
            .collect();
        let taken = share + kinds.all() + 2;
        let room = page.columns.saturating_sub(taken).max(20);
        let longest = at.iter().map(|at| width(at)).max().unwrap_or(0);
        let mut sources: FxHashMap<FileId, Source> = FxHashMap::default();
        for (file, _) in rows {
            let source = || Source::of(profile, *file, self.from_disk);
            sources.entry(*file).or_insert_with(source);
        }
        let for_at = longest.min(room / 2);
        for ((file, row), at) in rows.iter().zip(&at) {
            push_share(&mut line, &row.own, share);
            kinds.push(&mut line, row.own_amount.split.shares(all));
            line.push_spaces(2);
            let style = Style {
                link: true,
                ..Style::color(Color::Blue)
            };
            let at = keep_tail(at, for_at);
            line.push(&at, style);
            line.link = page.link(*file, row.line);
            line.push_spaces(for_at.saturating_sub(width(&at)) + 2);
            let text = sources[file].line(profile, *file, row.line).map(shown);
            match text.as_deref().map(str::trim_start) {
                Some(text) if !text.is_empty() => line.push(text, Style::PLAIN),
                _ => {
                    line.push("in ", GRAY);
                    line.push(names.function(Place::Frame(row.frame)), GRAY);
                }
            }
            line.truncate(page.columns);
            page.line(&mut line)?;
            for (row, amount) in pools.of_line(profile, *file, row.line) {
                push_share(&mut line, &amount.share(whole), share);
                kinds.push(&mut line, amount.split.shares(all));
                line.push_spaces(2 + for_at + 2);
                line.push_fmt(format_args!("in {}", pools.threads(profile, row)), GRAY);
                line.truncate(page.columns);
                page.line(&mut line)?;
            }
        }
        let rest = pools.rest(profile, rows.iter().map(|(file, row)| (*file, row.line)));
        let others = answers.other_lines;
        let other_lines = counted(others.count as u64, "other line");
        for (amount, text) in [(others.amount, other_lines), (rest.amount, rest.text)] {
            let estimate = amount.share(whole);
            if amount.weight == 0 {
                continue;
            }
            push_share(&mut line, &estimate, share);
            kinds.push(&mut line, amount.split.shares(all));
            line.push_spaces(2);
            line.push(&text, GRAY);
            line.truncate(page.columns);
            page.line(&mut line)?;
        }
        let shown = (sources.iter()).map(|(file, source)| (source, names.file(*file)));
        for sentence in sentences(shown) {
            page.sentence(&sentence)?;
        }
        Ok(())
    }
}

/// Whether a table of processes would be long, and one of commands is shorter.
fn has_many_of_a_kind(totals: &Totals, limit: usize) -> bool {
    totals.processes.len() > limit && totals.commands.len() < totals.processes.len()
}

/// Writes what ran, for how long, and how it ended.
fn write_head(page: &mut Page<'_>, selection: &Selection) -> io::Result<()> {
    let profile = page.profile;
    let first = ProcessId(0);
    let mut line = Line::default();
    let main = main_program(profile, selection);
    let name = match command(profile, main) {
        "" => "The program",
        name => name,
    };
    line.push(&keep_head(name, page.columns), BOLD);
    page.line(&mut line)?;
    let begun_as = command(profile, first);
    if main != first && !begun_as.is_empty() {
        line.push("started by ", GRAY);
        let columns = page.columns.saturating_sub(line.width());
        line.push(&keep_head(begun_as, columns), GRAY);
        page.line(&mut line)?;
    }
    let mut parts = Vec::new();
    let wall = profile.meta.duration.0;
    if wall > 0 {
        parts.push(format!("{} wall", duration(wall)));
    }
    let is_counted = profile.cpu_used().is_some();
    let cpu = cpu_used(profile).map(|(all, _)| all.0);
    let cpu = cpu.filter(|&cpu| cpu > 0 || is_counted);
    let is_traced = Weighs::of(profile) == Weighs::Traced;
    let cpu = cpu.or_else(|| {
        let split = selection.split(profile);
        (!is_traced).then(|| split.sum().saturating_sub(split.waiting))
    });
    if let Some(cpu) = cpu {
        let mut used = format!("{} CPU", duration(cpu));
        if wall > 0 {
            used += &format!(" ({:.0} %)", cpu as f64 / wall as f64 * 100.0);
        }
        parts.push(used);
    }
    if is_traced {
        let (calls, time) = (selection.calls(profile), selection.weight(profile));
        parts.push(format!(
            "{} in {}",
            counted(calls, "function call"),
            duration(time)
        ));
    }
    parts.push(counted(profile.process_count() as u64, "process"));
    parts.push(threads(profile));
    let runtime = profile
        .processes
        .iter()
        .map(|it| profile.strings.get(it.runtime));
    if let Some(runtime) = runtime.into_iter().find(|runtime| !runtime.is_empty()) {
        parts.push(runtime.to_owned());
    }
    let programs = profile.programs();
    let last = profile.processes.get(programs.last(first).index());
    if let Some(end) = last.and_then(|it| end(it.end)) {
        line.push(&end, Style::color(Color::Red));
        line.push(" · ", Style::PLAIN);
    }
    line.push(&parts.join(" · "), Style::PLAIN);
    line.truncate(page.columns);
    page.line(&mut line)
}

/// The program that has most of the time, if it has more than half; otherwise the one that was started.
fn main_program(profile: &Profile, selection: &Selection) -> ProcessId {
    let totals = totals(profile, selection);
    let all = selection.weight(profile);
    let programs = totals.processes.iter().flat_map(|it| &it.programs);
    let most = programs.max_by_key(|it| it.amount.weight);
    match most {
        Some(most) if most.amount.weight > all / 2 => most.program,
        _ => ProcessId(0),
    }
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

/// How many threads there were. An engine that samples from outside knows only those that ran.
fn threads(profile: &Profile) -> String {
    let number = counted(profile.thread_count() as u64, "thread");
    let programs = profile.programs();
    let mut has_thread = vec![false; profile.processes.len()];
    for (_, thread) in profile.threads.iter() {
        if let Some(has) = has_thread.get_mut(programs.first(thread.process).index()) {
            *has = true;
        }
    }
    let mut firsts = (0..has_thread.len()).map(ProcessId::from_index);
    let is_missing = |id: ProcessId| programs.first(id) == id && !has_thread[id.index()];
    let is_outside = matches!(profile.meta.engine, Engine::PerfRing | Engine::ProcPoll);
    match is_outside && firsts.any(is_missing) {
        true => format!("{number} that ran"),
        false => number,
    }
}

/// Writes a bar of the kinds of time, told apart by their filling too.
fn write_kinds(page: &mut Page<'_>, selection: &Selection, kinds: KindColumns) -> io::Result<()> {
    let profile = page.profile;
    let shares = selection.split(profile).shares(selection.weight(profile));
    let parts = [
        ("Python", '█', Color::Cyan, shares.python),
        ("native", '▓', Color::Green, shares.native),
        ("system", '░', Color::Yellow, shares.system),
        ("waiting", '·', Color::Gray, shares.waiting),
        ("unreadable", '?', Color::Red, shares.unreadable),
    ];
    let wide = if kinds.waits { 100 } else { 80 };
    let columns: f64 = match (kinds.unreadable, page.columns >= wide) {
        (false, true) => 30.0,
        (false, false) => 15.0,
        // All parts are to be seen, and so what they add up to.
        (true, _) => {
            let words = if kinds.waits { 86 } else { 70 };
            page.columns.saturating_sub(words).clamp(5, 30) as f64
        }
    };
    let mut line = Line::default();
    let (mut upto, mut done) = (0.0, 0);
    for (_, filling, color, share) in parts {
        upto += share;
        let end = (upto * columns).round() as usize;
        let part: String = std::iter::repeat_n(filling, end - done).collect();
        line.push(&part, Style::color(color));
        done = end;
    }
    for (at, (name, filling, color, share)) in parts.into_iter().enumerate() {
        if !kinds.has(at) {
            continue;
        }
        line.push_spaces(2);
        line.push_fmt(format_args!("{filling}"), Style::color(color));
        let share = match percent(share) {
            none if none.is_empty() => "0".to_owned(),
            text => text,
        };
        line.push_fmt(format_args!(" {name} {share} %"), Style::PLAIN);
    }
    let garbage = garbage(profile, selection) as f64 / selection.weight(profile).max(1) as f64;
    let collecting = percent(garbage);
    if !collecting.is_empty() {
        let text = format!("  of it garbage collection {collecting} %");
        // Cut off, it would be missed by those who look for it.
        if line.width() + width(&text) > page.columns {
            line.truncate(page.columns);
            page.line(&mut line)?;
        }
        line.push(&text, Style::PLAIN);
    }
    line.truncate(page.columns);
    page.line(&mut line)
}

fn write_functions(
    page: &mut Page<'_>,
    selection: &Selection,
    rows: &[FunctionShare],
    names: &Names<'_>,
    kinds: KindColumns,
) -> io::Result<()> {
    let all = selection.weight(page.profile);
    let calls = Weighs::of(page.profile) == Weighs::Traced;
    let calls = calls.then(|| traced(page.profile, selection));
    let share = share_width(page);
    let mut line = Line::default();
    let is_few = kinds.few.is_some();
    let own = share_title("Self %", is_few);
    line.push_fmt(format_args!("{own:<share$}"), BOLD);
    kinds.push_titles(&mut line, BOLD);
    let total = share_title("Total %", is_few);
    line.push_fmt(format_args!("{total:>9}"), BOLD);
    if calls.is_some() {
        line.push_fmt(format_args!("{:>CALLS$}", "Calls"), BOLD);
    }
    line.push("  Hottest functions", BOLD);
    page.line(&mut line)?;
    let taken = share + kinds.all() + 9 + 2 + calls.as_ref().map_or(0, |_| CALLS);
    for row in rows {
        push_share(&mut line, &row.own, share);
        kinds.push(&mut line, row.own_amount.split.shares(all));
        line.push_fmt(format_args!("{:>9}", said(&row.total)), Style::PLAIN);
        if let Some(calls) = &calls {
            let counted = calls.of(page.profile, row.place);
            let number = counted.map_or(0, |it| it.begun.calls);
            line.push_fmt(format_args!("{number:>CALLS$}"), Style::PLAIN);
        }
        line.push_spaces(2);
        let columns = page.columns.saturating_sub(taken);
        push_name(page, &mut line, names, row.place, columns);
        line.truncate(page.columns);
        page.line(&mut line)?;
    }
    Ok(())
}

/// How wide a number of calls is.
const CALLS: usize = 11;

/// Writes what was waited for, and which lines did.
fn write_waits(
    page: &mut Page<'_>,
    rows: &[WaitRow],
    names: &Names<'_>,
    (all, is_few): (u64, bool),
    limit: usize,
) -> io::Result<()> {
    let mut line = Line::default();
    let title = if is_few { "" } else { "Time %" };
    line.push_fmt(
        format_args!("{title:<6}      Waited Threads  Where threads wait"),
        BOLD,
    );
    page.line(&mut line)?;
    // Those that are idle stand last, however few rows are wanted.
    let (idle, rows): (Vec<_>, Vec<_>) = rows.iter().partition(|row| row.is_idle);
    for row in rows.into_iter().take(limit).chain(idle) {
        let share = row.weight as f64 / all.max(1) as f64;
        let text = if is_few {
            String::new()
        } else {
            percent(share)
        };
        line.push_fmt(format_args!("{text:>6}"), heat(share));
        line.push_fmt(format_args!("{:>12}", duration(row.weight)), Style::PLAIN);
        line.push_fmt(format_args!("{:>8}  ", row.threads), Style::PLAIN);
        if row.is_idle {
            line.push("idle: never worked, waiting in ", GRAY);
            line.push(row.at.map_or("", |at| names.function(at)), Style::PLAIN);
            line.push_spaces(2);
        }
        let at = row.at.map(|at| names.at(at)).unwrap_or_default();
        if !at.is_empty() {
            line.push(&at, Style::color(Color::Blue));
            line.push_spaces(2);
        }
        if let Some(at) = row.at.filter(|_| !row.is_idle) {
            line.push(names.function(at), Style::PLAIN);
            line.push_spaces(2);
        }
        if let Some(inside) = row.inside {
            line.push_fmt(format_args!("› {}  ", names.at(inside)), GRAY);
        }
        let locks = locks(page.profile, row, names);
        let what = match row.what {
            _ if row.is_idle => "",
            _ if locks.is_some() => locks.as_deref().unwrap_or_default(),
            Some(what) => names.function(what),
            None => "[waits]",
        };
        line.push(what, GRAY);
        line.truncate(page.columns);
        page.line(&mut line)?;
    }
    Ok(())
}

/// Locks that one line waits for: how many there are and who holds them, where either is to be said.
fn locks(profile: &Profile, row: &WaitRow, names: &Names<'_>) -> Option<String> {
    if row.wait != Some(Wait::Lock) {
        return None;
    }
    let holder = |&what: &Place| {
        let (_, holder) = names.function(what).split_once(", held by thread ")?;
        Some(holder.trim_end_matches(']').to_owned())
    };
    let mut holders: Vec<String> = row.whats.iter().filter_map(holder).collect();
    holders.sort_unstable();
    holders.dedup();
    let count = row.whats.len();
    let what = match count {
        0 | 1 if holders.is_empty() => return None,
        0 | 1 => "a lock".to_owned(),
        several => format!("{several} locks"),
    };
    Some(match &holders[..] {
        [] => format!("[waits for {what}]"),
        [one] => format!("[waits for {what} held by {}]", thread(profile, one)),
        several => format!("[waits for {what} held by {} threads]", several.len()),
    })
}

/// A thread by the number and the name that the other tables have, where it is in them: `1234 (name)` otherwise.
fn thread(profile: &Profile, holder: &str) -> String {
    let tid = holder
        .split_once(' ')
        .and_then(|(tid, _)| tid.parse::<u32>().ok());
    let known = profile
        .threads
        .iter()
        .find(|(_, thread)| Some(thread.tid) == tid);
    match known {
        Some((_, thread)) => {
            let name = profile.strings.get(thread.name);
            format!("thread {} {name}", thread.number)
        }
        None => format!("thread {holder}"),
    }
}

fn write_tree(
    page: &mut Page<'_>,
    branches: &[Branch],
    names: &Names<'_>,
    is_few: bool,
) -> io::Result<()> {
    let mut line = Line::default();
    let title = if is_few {
        "Calls"
    } else {
        "Total %  Self  Calls"
    };
    line.push(title, BOLD);
    page.line(&mut line)?;
    for branch in branches {
        if !is_few {
            let (total, own) = (percent(branch.total), percent(branch.own));
            line.push_fmt(format_args!("{total:>7}"), heat(branch.total));
            line.push_fmt(format_args!("{own:>6}  "), Style::PLAIN);
        }
        if let [middle @ .., last] = &branch.guides[1..] {
            for &goes_on in middle {
                line.push(if goes_on { "│ " } else { "  " }, GRAY);
            }
            line.push(if *last { "├ " } else { "└ " }, GRAY);
        }
        for (at, &place) in branch.chain.iter().enumerate() {
            if at > 0 {
                line.push(" › ", GRAY);
            }
            if at == 1 && branch.skipped > 0 {
                line.push("… › ", GRAY);
            }
            let is_last = at + 1 == branch.chain.len();
            match is_last {
                true => line.push(names.function(place), Style::PLAIN),
                false => line.push(&names.alone(place), Style::PLAIN),
            }
        }
        if branch.folds {
            line.push(" › …", GRAY);
        }
        let at = branch
            .chain
            .last()
            .map_or(String::new(), |&last| names.at(last));
        if !at.is_empty() && line.width() + 2 + width(&at) <= page.columns {
            line.push_spaces(2);
            line.push(&at, GRAY);
        }
        line.truncate(page.columns);
        page.line(&mut line)?;
    }
    Ok(())
}
