//! The frame of a report: headings, what each section sums up to, footer, warnings, quality.

use std::io;

use profundo_analysis::{
    FlatOptions, Group, GroupBy, Selection, TreeOptions, command_name, flat, groups, shares, tree,
    utilization,
};
use profundo_model::{ProcessId, Profile, StringId, TaskId, ThreadId};

use super::order::Order;
use super::printer::Printer;
use crate::command::write_filter;
use crate::naming::origins::group_label;
use crate::naming::weighs::Weighs;
use crate::page::line::{Line, Style};
use crate::page::palette::Color;
use crate::page::units::{counted, duration};
use crate::page::width::keep_head;
use crate::quality::warning::Warning;
use crate::{Format, Report, SortBy, Unit, quality};

/// The numbers of a section, ready to be shown.
pub(crate) enum Body {
    Tree(profundo_analysis::Tree),
    Flat(Vec<profundo_analysis::FlatRow>),
    Functions(Vec<profundo_analysis::FunctionShare>),
}

/// Writes the whole report.
pub(crate) fn write(printer: &mut Printer<'_>) -> io::Result<()> {
    let report = printer.report;
    let profile = printer.profile;
    let order = Order::new(
        profile,
        report.sorted_by.unwrap_or_default(),
        report.hot_first,
    );
    if report.unit == Unit::Snapshots {
        quality::write_grave(printer, report.quality, quality::SAMPLED)?;
    }
    if report.format == Format::Tree {
        super::tree::write_header(printer)?;
    }
    let filter = report.choices.filter.for_groups(&report.group_by);
    let groups = groups(profile, &filter, &report.group_by);
    let all = Selection::new(profile, &filter);
    let mut warnings = Vec::new();
    if report.group_by == GroupBy::None {
        let body = Body::new(report, profile, &order, &all);
        if body.is_empty() {
            warnings.push(Warning::no_samples(profile, &all, report.unit));
        } else {
            body.write(printer, &all)?;
            write_footer(printer, &all)?;
        }
    } else if groups.is_empty() {
        warnings.push(Warning::no_samples(profile, &all, report.unit));
    } else if !write_groups(printer, &order, &groups)? {
        warnings.push(Warning::EmptyGroups);
    }
    if report.choices.is_command {
        write_filter(printer, &report.choices, &all)?;
    }
    if profile.meta.buffer_was_full {
        warnings.push(Warning::full(profile, report.unit));
    }
    for warning in warnings {
        let text = warning.sentence(profile, report.choices.is_command);
        printer.marked("Warning:", Color::Yellow, &format!(" {text}"))?;
    }
    if report.format == Format::Functions {
        quality::write_few(printer, &all, report.choices.is_command)?;
    }
    quality::write(printer, &all, report.quality)
}

impl Body {
    pub(crate) fn new(
        report: &Report,
        profile: &Profile,
        order: &Order<'_>,
        selection: &Selection,
    ) -> Self {
        match report.format {
            Format::Tree => {
                let options = TreeOptions {
                    shown: report.choices.shown,
                    combine: report.combine,
                    recur: report.recur,
                    ..TreeOptions::default()
                };
                let mut tree = tree(profile, selection, &options);
                tree.sort_children(|a, b| order.nodes(a, b));
                Self::Tree(tree)
            }
            Format::Flat => {
                let (shown, combine) = (report.choices.shown, report.combine);
                let mut rows = flat(profile, selection, &FlatOptions { shown, combine });
                rows.sort_by(|a, b| order.rows(a, b));
                Self::Flat(rows)
            }
            Format::Functions => {
                let mut rows = shares(profile, selection, report.choices.shown);
                match report.sorted_by {
                    Some(SortBy::FileFuncLine) => {
                        rows.sort_by(|a, b| order.sources(a.place, b.place));
                    }
                    // Without an order asked for, the hottest is first, where the eye begins.
                    None => rows.sort_by(|a, b| order.functions(b, a)),
                    Some(_) if report.hot_first => rows.sort_by(|a, b| order.functions(b, a)),
                    Some(_) => rows.sort_by(|a, b| order.functions(a, b)),
                }
                Self::Functions(rows)
            }
        }
    }

    fn is_empty(&self) -> bool {
        match self {
            Self::Tree(tree) => tree.is_empty(),
            Self::Flat(rows) => rows.is_empty(),
            Self::Functions(rows) => rows.is_empty(),
        }
    }

    fn write(&self, printer: &mut Printer<'_>, selection: &Selection) -> io::Result<()> {
        match self {
            Self::Tree(tree) => super::tree::write_rows(printer, tree),
            Self::Flat(rows) => super::flat::write(printer, rows, selection),
            Self::Functions(rows) => super::functions::write(printer, rows),
        }
    }
}

fn write_footer(printer: &mut Printer<'_>, all: &Selection) -> io::Result<()> {
    let total = all.total(printer.profile);
    let weighs = Weighs::of(printer.profile);
    if weighs == Weighs::Traced {
        let sum = sum_of_calls(printer.profile, all);
        return printer.plain(&format!("Total: {sum}"));
    }
    if weighs != Weighs::Time {
        let what = match weighs.whole() {
            whole @ ("copies" | "samples" | "events") => format!("Total {whole}: {total}"),
            whole => format!("Total {whole} {}: {total}", weighs.which()),
        };
        return printer.plain(&what);
    }
    if let Some(what) = printer.report.unit.of_allocations() {
        printer.plain(&format!("Total snapshots: {}", all.len()))?;
        printer.plain(&format!("Total {what}: {total}"))?;
        return match &printer.report.remark {
            Some(remark) => printer.plain(remark),
            None => Ok(()),
        };
    }
    let text = match utilization(printer.profile, all) {
        Some(share) => {
            let advice = match printer.report.choices.is_command {
                true => "",
                false => " Use `group_by` to break down by thread and/or task.",
            };
            let share = percent(share);
            format!(
                "Total snapshots: {total}. Utilization: {share}% across all threads and \
                 tasks.{advice}"
            )
        }
        None => format!("Total snapshots: {total}"),
    };
    printer.plain(&text)
}

/// The sum of the counted calls.
fn sum_of_calls(profile: &Profile, selection: &Selection) -> String {
    let calls = counted(selection.calls(profile), "function call");
    format!("{calls} in {}", duration(selection.weight(profile)))
}

/// A share as whole percent; a tie goes to the even neighbour.
fn percent(share: f64) -> f64 {
    (share * 100.0).round_ties_even()
}

/// Writes each group under its heading. Returns whether all of them had something to show.
fn write_groups(
    printer: &mut Printer<'_>,
    order: &Order<'_>,
    groups: &[Group],
) -> io::Result<bool> {
    let mut all_full = true;
    let mut line = Line::default();
    let by = &printer.report.group_by;
    let outer = |group: &Group| match by {
        GroupBy::Thread | GroupBy::ThreadTask => (None, group.thread, None),
        _ if by.is_of_processes() => (group.process, None, None),
        _ => (None, None, group.task),
    };
    let is_nested = matches!(by, GroupBy::ThreadTask | GroupBy::TaskThread);
    for run in groups.chunk_by(|a, b| outer(a) == outer(b) && a.span == b.span) {
        let (process, thread, task) = outer(&run[0]);
        if let Some(span) = run[0].span {
            push_span(printer, &mut line, span);
        }
        match (by, process) {
            (GroupBy::Command, Some(first)) => push_command(printer, &mut line, first),
            (GroupBy::Label | GroupBy::LabelOf(_), Some(first)) => {
                push_label(printer, &mut line, first);
            }
            (_, Some(process)) => push_process(printer, &mut line, process),
            (_, None) => {}
        }
        push_headings(printer, &mut line, thread, task);
        // Several groups in one get a heading of their own; a single one shares the line.
        if run.len() > 1 {
            printer.line(&mut line)?;
        }
        for group in run {
            if is_nested {
                line.push_spaces(1);
                push_headings(
                    printer,
                    &mut line,
                    group.thread.filter(|_| thread.is_none()),
                    group.task.filter(|_| task.is_none()),
                );
            }
            line.push_spaces(1);
            let body = Body::new(printer.report, printer.profile, order, &group.selection);
            all_full &= !body.is_empty();
            write_sum(printer, &mut line, &group.selection, body.is_empty())?;
            if !body.is_empty() {
                body.write(printer, &group.selection)?;
            }
            printer.plain("")?;
        }
    }
    Ok(all_full)
}

fn push_span(printer: &Printer<'_>, line: &mut Line, span: StringId) {
    let heading = span_heading(printer.profile, &printer.report.group_by, span);
    let style = Style {
        bold: true,
        ..Style::color(Color::Magenta)
    };
    line.push(&heading, style);
}

/// The heading of a group by span, or by an attribute of spans.
pub(super) fn span_heading(profile: &Profile, by: &GroupBy, span: StringId) -> String {
    let name = profile.strings.get(span);
    match (by, name) {
        (GroupBy::SpanOf(key), "") => format!("Outside of spans with {key}"),
        (GroupBy::SpanOf(key), value) => format!("Spans with {key}={value}"),
        (_, "") => "Outside of spans".to_owned(),
        (_, name) => format!("Span {name}"),
    }
}

fn push_process(printer: &Printer<'_>, line: &mut Line, process: ProcessId) {
    let process = &printer.profile.processes[process.index()];
    let command = printer.profile.strings.get(process.command);
    let mut heading = format!("Process {}", process.pid);
    if !command.is_empty() {
        // A command line may be endless; what follows it matters more.
        let room = printer.columns.saturating_sub(heading.len() + 45).max(20);
        heading += &format!(" ({})", keep_head(command, room));
    }
    line.push(
        &heading,
        Style {
            bold: true,
            ..Style::color(Color::Magenta)
        },
    );
}

/// The heading of all recordings with the labels, or the one label, of that of `first`, a process.
fn push_label(printer: &Printer<'_>, line: &mut Line, first: ProcessId) {
    let style = Style {
        bold: true,
        ..Style::color(Color::Magenta)
    };
    let label = group_label(printer.profile, &printer.report.group_by, first);
    let name = keep_head(&label, printer.columns);
    line.push(&name, style);
}

/// The heading of all processes that run a program of one name; `first` is one of them.
fn push_command(printer: &Printer<'_>, line: &mut Line, first: ProcessId) {
    let name = match command_name(printer.profile, first) {
        "" => "without a name",
        name => name,
    };
    line.push(
        &format!("Command {name}"),
        Style {
            bold: true,
            ..Style::color(Color::Magenta)
        },
    );
}

fn push_headings(
    printer: &Printer<'_>,
    line: &mut Line,
    thread: Option<ThreadId>,
    task: Option<TaskId>,
) {
    let profile = printer.profile;
    let named = |heading: String, name: &str| {
        if name.is_empty() {
            heading
        } else {
            format!("{heading} ({name})")
        }
    };
    if let Some(thread) = thread.map(|thread| profile.threads.get(thread)) {
        let heading = named(
            format!("Thread {}", thread.number),
            profile.strings.get(thread.name),
        );
        line.push(
            &heading,
            Style {
                bold: true,
                ..Style::color(Color::Cyan)
            },
        );
    }
    if let Some(task) = task.map(|task| profile.tasks.get(task)) {
        let heading = named(
            format!("Task {:#018x}", task.number),
            profile.strings.get(task.name),
        );
        line.push(
            &heading,
            Style {
                bold: true,
                ..Style::color(Color::Blue)
            },
        );
    }
}

/// Writes what a group sums up to, on the line of its heading.
fn write_sum(
    printer: &mut Printer<'_>,
    line: &mut Line,
    selection: &Selection,
    is_empty: bool,
) -> io::Result<()> {
    let total = selection.total(printer.profile);
    let allocations = printer.report.unit.of_allocations();
    let snapshots = if allocations.is_some() {
        selection.len() as u64
    } else {
        total
    };
    let style = if is_empty {
        Style::color(Color::Yellow)
    } else {
        Style::PLAIN
    };
    let weighs = Weighs::of(printer.profile);
    if weighs == Weighs::Traced {
        line.push("Total: ", Style::PLAIN);
        line.push(&sum_of_calls(printer.profile, selection), style);
        return printer.line(line);
    }
    if weighs != Weighs::Time && !is_empty {
        line.push_fmt(format_args!("Total {}: {total}", weighs.whole()), style);
        return printer.line(line);
    }
    line.push("Total snapshots: ", Style::PLAIN);
    line.push_fmt(format_args!("{snapshots}"), style);
    if is_empty {
        // There are no more figures.
    } else if let Some(what) = allocations {
        line.push_fmt(format_args!(". Total {what}: {total}"), Style::PLAIN);
    } else if let Some(share) = utilization(printer.profile, selection) {
        line.push_fmt(
            format_args!(". Utilization: {}%", percent(share)),
            Style::PLAIN,
        );
    }
    printer.line(line)
}
