//! The graph as a text for Graphviz: `dot -Tsvg x.dot -o x.svg`. Fonts and colours are like those
//! of the picture.

use std::io::{self, Write};

use super::super::text::shortened;
use super::DOT_START;
use super::source::Source;

pub(super) fn write(source: &Source, out: &mut impl Write) -> io::Result<()> {
    let graph = &source.graph;
    write!(out, "{DOT_START}")?;
    writeln!(out, "digraph calls {{")?;
    let mut label = vec![quoted(&source.title)];
    let lines = source.lines(0).into_iter().filter(|line| !line.is_empty());
    label.extend(lines.map(|line| quoted(&line)));
    writeln!(
        out,
        "  graph [label=\"{}\\l\", labelloc=t, labeljust=l, fontname=\"monospace\", fontsize=12];",
        label.join("\\l")
    )?;
    writeln!(
        out,
        "  node [shape=box, style=\"filled,rounded\", fontname=\"monospace\", color=\"#8c959f\", margin=\"0.1,0.05\"];"
    )?;
    writeln!(
        out,
        "  edge [fontname=\"monospace\", fontsize=10, color=\"#57606a\"];"
    )?;
    let largest = graph.nodes.iter().map(|node| node.own.weight).max();
    let largest = largest.unwrap_or(0).max(1) as f64;
    let whole = graph.whole.max(1) as f64;
    for (row, node) in graph.nodes.iter().enumerate() {
        let font = 11.0 + 11.0 * (node.own.weight as f64 / largest).sqrt();
        let mut lines = vec![shortened(&node.name, 60)];
        let place = Source::place(node);
        if !place.is_empty() {
            lines.push(shortened(Source::short_place(&place), 60));
        }
        lines.push(source.figures(node));
        let lines: Vec<String> = lines.iter().map(|line| quoted(line)).collect();
        let heat = (node.total.weight as f64 / whole).clamp(0.0, 1.0).powf(0.7) * 0.62;
        writeln!(
            out,
            "  n{row} [label=\"{}\", tooltip=\"{}\", fontsize={font:.1}, fillcolor=\"{}\"];",
            lines.join("\\n"),
            quoted(&format!("{}: {}", node.name, source.node_details(node))),
            mixed(heat),
        )?;
    }
    for edge in &graph.edges {
        let share = edge.amount.weight as f64 / whole;
        let style = if edge.is_bridge { ", style=dashed" } else { "" };
        writeln!(
            out,
            "  n{} -> n{} [label=\" {}\", tooltip=\"{}\", penwidth={:.1}, weight={}{style}];",
            edge.caller,
            edge.callee,
            quoted(&source.edge_label(edge)),
            quoted(&source.edge_details(edge)),
            0.8 + 4.0 * share,
            1 + (share * 100.0) as u32,
        )?;
    }
    writeln!(out, "}}")
}

/// White with a part of the heat's colour.
fn mixed(part: f64) -> String {
    let mix = |colour: f64| (255.0 + (colour - 255.0) * part).round() as u8;
    format!("#{:02x}{:02x}{:02x}", mix(229.0), mix(83.0), mix(61.0))
}

/// A text between quotation marks. A backslash begins an escape of Graphviz's, so it is doubled.
fn quoted(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for letter in text.chars() {
        match letter {
            '"' => out.push_str("\\\""),
            '\\' => out.push_str("\\\\"),
            // Graphviz knows HTML's names of characters.
            '&' => out.push_str("&amp;"),
            letter if letter.is_control() => out.push(' '),
            letter => out.push(letter),
        }
    }
    out
}
