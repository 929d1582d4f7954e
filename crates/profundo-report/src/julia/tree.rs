//! The tree, a row a node. The level of a row is the indent of its count: one column a level,
//! with a guide bar every fifth. Where half of the screen is indent, it stops growing, and the
//! row says how many levels are left out.

use std::io;

use profundo_analysis::{Node, NodeId, Tree};

use super::printer::Printer;
use crate::Report;
use crate::naming::label::{Label, NO_FUNCTION, address, function, line_number};
use crate::naming::weighs::Weighs;
use crate::page::line::{Line, Style};
use crate::page::palette::Color;
use crate::page::units::duration;
use crate::page::width::{digits, width};

const BAR: &str = "╎";

/// Writes the two lines above a tree: in Julia's words for the library, in plain ones for the
/// command.
pub(crate) fn write_header(printer: &mut Printer<'_>) -> io::Result<()> {
    let is_command = printer.report.choices.is_command;
    let (own, all) = match (Weighs::of(printer.profile), is_command) {
        (Weighs::Traced, true) => ("Own time", "Time and calls, indented by depth"),
        (Weighs::Traced, false) => ("Own time", "[+additional indent] Time, calls"),
        (_, true) => ("Own", "Total, indented by depth:"),
        (_, false) => ("Overhead", "[+additional indent] Count"),
    };
    let header = format!("{own} {BAR} {all} File:Line  Function");
    let columns = width(&header);
    printer.plain(&header)?;
    printer.plain(&"=".repeat(columns))
}

/// The columns that all rows of a tree share.
struct Widths {
    overhead: usize,
    count: usize,
    weighs: Weighs,
}

impl Widths {
    fn new(printer: &Printer<'_>, tree: &Tree) -> Self {
        let weighs = Weighs::of(printer.profile);
        let widest = |text: fn(&Node, Weighs) -> String| {
            let nodes = tree.nodes().skip(1);
            let widths = nodes.map(|(_, node)| width(&text(node, weighs)));
            widths.max().unwrap_or(1)
        };
        Self {
            overhead: widest(overhead),
            count: widest(count),
            weighs,
        }
    }
}

/// The weight that ended at a node.
fn overhead(node: &Node, weighs: Weighs) -> String {
    match weighs {
        Weighs::Traced => duration(node.overhead),
        _ => node.overhead.to_string(),
    }
}

/// The weight that passed through a node, and where calls were counted, their number.
fn count(node: &Node, weighs: Weighs) -> String {
    match weighs {
        Weighs::Traced => format!("{}, {}×", duration(node.count), node.calls),
        _ => node.count.to_string(),
    }
}

/// A node that waits for its turn.
struct Pending {
    node: NodeId,
    /// The width of the highest line number among its siblings.
    line_digits: usize,
}

/// Writes the rows of a tree, whose children are in order.
pub(crate) fn write_rows(printer: &mut Printer<'_>, tree: &Tree) -> io::Result<()> {
    let widths = Widths::new(printer, tree);
    let mut line = Line::default();
    let mut pending = Vec::new();
    push_children(printer, tree, tree.root(), &mut pending);
    while let Some(next) = pending.pop() {
        push_row(printer, tree, &next, &widths, &mut line);
        line.truncate(printer.columns);
        printer.line(&mut line)?;
        if tree.node(next.node).level as usize <= printer.report.maxdepth {
            push_children(printer, tree, next.node, &mut pending);
        }
    }
    Ok(())
}

/// The children of a node that are not too small to be shown, in their order.
pub(crate) fn shown_children<'a>(
    report: &'a Report,
    tree: &'a Tree,
    id: NodeId,
) -> impl DoubleEndedIterator<Item = NodeId> + 'a {
    let floor = if id == tree.root() || report.noisefloor <= 0.0 {
        0.0
    } else {
        (report.noisefloor * (tree.node(id).count as f64).sqrt()).floor()
    };
    tree.children(id).iter().copied().filter(move |&node| {
        let count = tree.node(node).count;
        count >= report.mincount && count as f64 >= floor
    })
}

/// Lines up the children of a node that are not too small to be shown, the first one on top.
fn push_children(printer: &Printer<'_>, tree: &Tree, id: NodeId, pending: &mut Vec<Pending>) {
    let siblings = tree.children(id);
    let lines = siblings
        .iter()
        .map(|&id| Label::of(printer.profile, tree.node(id).place).line());
    let line_digits = digits(u64::from(lines.max().unwrap_or(0)));
    let shown = shown_children(printer.report, tree, id).rev();
    pending.extend(shown.map(|node| Pending { node, line_digits }));
}

fn push_row(
    printer: &mut Printer<'_>,
    tree: &Tree,
    pending: &Pending,
    widths: &Widths,
    line: &mut Line,
) {
    let profile = printer.profile;
    let node = tree.node(pending.node);
    let gray = Style {
        color: node.sleeping.then_some(Color::Gray),
        ..Style::PLAIN
    };
    line.bold = node.overhead > 0;

    if node.overhead > 0 {
        let text = overhead(node, widths.weighs);
        line.push_spaces(widths.overhead.saturating_sub(width(&text)));
        line.push(&text, gray);
    } else {
        line.push_spaces(widths.overhead);
    }
    let above = node.level as usize - 1;
    let indent = above.min(printer.columns / 2);
    line.push(BAR, Style::PLAIN);
    push_base(line, indent, above - indent);
    let text = count(node, widths.weighs);
    line.push(&text, gray);
    line.push_spaces(widths.count.saturating_sub(width(&text)) + 1);

    let at = node.location.and_then(|at| address(profile, at));
    let frame = match Label::of(profile, node.place) {
        Label::Frame(frame) => frame,
        Label::Reason(name) => return line.push(name, gray),
        Label::Unknown => {
            return match at {
                Some(at) => {
                    line.push_fmt(format_args!("{NO_FUNCTION} (pointer: {at:#018x})"), gray);
                }
                None => line.push("[unknown stackframe]", gray),
            };
        }
    };
    let (prefix, rest) = printer.path_widths(frame.file);
    // A row without file is easier to read without a place for it.
    if prefix + rest > 0 || frame.line > 0 {
        let taken = widths.overhead + indent + widths.count + (pending.line_digits + 6) + 6;
        let text = printer.columns.saturating_sub(taken).max(30);
        let path = (2 * text / 5).saturating_sub(prefix + 1).max(1);
        printer.push_path(line, frame.file, path, frame.line);
        line.push(":", Style::LINK);
        line.push(&line_number(frame.line), Style::LINK);
        line.push_spaces(2);
    }
    if let Some(at) = at {
        line.push_fmt(format_args!("{at:#018x} "), gray);
    }
    line.push(function(profile, frame), gray);
}

/// Adds what stands between the bar after the overhead and the count: `indent` columns, and how
/// many levels are left out.
fn push_base(line: &mut Line, indent: usize, left_out: usize) {
    let mut indent = indent;
    if left_out > 0 {
        indent = indent.saturating_sub(digits(left_out as u64) + 2);
    }
    if indent > 0 {
        for _ in 0..(indent - 1) / 5 {
            line.push_fmt(format_args!("    {BAR}"), Style::PLAIN);
        }
        line.push_spaces((indent - 1) % 5 + 1);
    }
    if left_out > 0 {
        line.push_fmt(format_args!("+{left_out} "), Style::PLAIN);
    }
}
