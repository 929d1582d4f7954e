//! The picture as SVG: arrows with their labels, boxes, and the head above them.

use std::fmt::Write as _;
use std::io::{self, Write};

use profundo_analysis::palette::{Hue, Tint};

use super::super::head::{Head, LETTER};
use super::super::text::{escaped, shortened};
use super::drawn::{Arrow, Card, SMALL, SMALLEST, places};
use super::source::Source;

const STYLE: &str = include_str!("style.css");
const SCRIPT: &str = include_str!("script.js");

const MARGIN: f64 = 16.0;
/// The width that the head needs.
const LEAST_WIDTH: f64 = 1200.0;
const HINT: &str = "Point at a box or an arrow for its figures · click a box for its callers and callees · drag and wheel to look around · 0 fits the window";

pub(super) fn write(source: &Source, out: &mut impl Write) -> io::Result<()> {
    let graph = &source.graph;
    let (cards, arrows, (inner_width, inner_height)) = places(source);
    let undrawn = arrows.iter().filter(|arrow| arrow.is_none()).count();
    let width = (inner_width + 2.0 * MARGIN).max(LEAST_WIDTH).ceil();
    let (head, top) = head(source, undrawn, width);
    let height = (top + inner_height + MARGIN).ceil();
    write!(
        out,
        r#"<?xml version="1.0" encoding="UTF-8"?>
<svg xmlns="http://www.w3.org/2000/svg" width="{width}" height="{height}" viewBox="0 0 {width} {height}" data-graph="{}" data-top="{top}">
"#,
        graph.nodes.len()
    )?;
    let (light, dark) = (colours(|tint| tint.light), colours(|tint| tint.dark));
    write!(
        out,
        "<style><![CDATA[\n{STYLE}{light}\n@media (prefers-color-scheme:dark){{\n{dark}\n}}\n]]></style>\n<rect class=\"back\" width=\"100%\" height=\"100%\"/>\n<g class=\"graph\" transform=\"translate({MARGIN} {top})\" data-width=\"{inner_width:.0}\" data-height=\"{inner_height:.0}\">\n"
    )?;
    // The heaviest arrows last, so that they lie over the others.
    for (row, arrow) in arrows.iter().enumerate().rev() {
        if let Some(arrow) = arrow {
            arrow_of(out, source, arrow, row)?;
        }
    }
    for (row, card) in cards.iter().enumerate() {
        box_of(out, source, row, card)?;
    }
    writeln!(out, "</g>\n{head}")?;
    write!(out, "<script><![CDATA[\n{SCRIPT}]]></script>\n</svg>\n")
}

/// The rules for each kind of code.
fn colours(of: fn(Tint) -> &'static str) -> String {
    let rule = |hue: Hue| format!(".{}{{fill:{}}}", class(Some(hue)), of(hue.tint()));
    Hue::ALL.map(rule).concat()
}

fn class(hue: Option<Hue>) -> &'static str {
    match hue {
        Some(Hue::Python) => "hp",
        Some(Hue::Native) => "hn",
        Some(Hue::System) => "hs",
        Some(Hue::Waiting) => "hw",
        Some(Hue::Garbage) => "hg",
        Some(Hue::Unreadable) => "hx",
        None => "hm",
    }
}

fn share_of(weight: u64, source: &Source) -> f64 {
    weight as f64 / source.graph.whole.max(1) as f64
}

fn arrow_of(out: &mut impl Write, source: &Source, arrow: &Arrow, row: usize) -> io::Result<()> {
    let edge = &source.graph.edges[row];
    let share = share_of(edge.amount.weight, source);
    let mut text = format!(
        "<g class=\"e{}\" data-a=\"{}\" data-b=\"{}\"><title>{}</title>",
        if edge.is_bridge { " bridge" } else { "" },
        edge.caller,
        edge.callee,
        escaped(&source.edge_details(edge)),
    );
    let _ = write!(
        text,
        "<path d=\"{}\" stroke-width=\"{:.1}\" stroke-opacity=\"{:.2}\"/>",
        arrow.line,
        arrow.width,
        0.45 + 0.5 * share.sqrt()
    );
    let _ = write!(text, "<polygon points=\"{}\"/>", arrow.tip);
    if let Some([x, y, width, height]) = arrow.label_area {
        let _ = write!(
            text,
            "<rect class=\"back\" x=\"{x:.1}\" y=\"{y:.1}\" width=\"{width:.1}\" height=\"{height:.1}\"/><text x=\"{:.1}\" y=\"{:.1}\">{}</text>",
            x + width / 2.0,
            y + SMALL,
            escaped(&arrow.label)
        );
    }
    text.push_str("</g>\n");
    out.write_all(text.as_bytes())
}

fn box_of(out: &mut impl Write, source: &Source, row: usize, card: &Card) -> io::Result<()> {
    let node = &source.graph.nodes[row];
    let place = Source::place(node);
    let heat = share_of(node.total.weight, source);
    let [x, y, width, height] = card.area;
    let mut text = format!(
        "<g class=\"n\" data-n=\"{row}\" transform=\"translate({x:.1} {y:.1})\"><title>{}{}{}\n{}</title>",
        escaped(&node.name),
        if place.is_empty() { "" } else { "\n" },
        escaped(&place),
        escaped(&source.node_details(node)),
    );
    let _ = write!(
        text,
        "<rect class=\"ground\" width=\"{width}\" height=\"{height}\" rx=\"4\"/><rect class=\"heat\" width=\"{width}\" height=\"{height}\" rx=\"4\" fill-opacity=\"{:.2}\"/><rect class=\"{}\" x=\"1\" y=\"3\" width=\"4\" height=\"{}\" rx=\"1\"/>",
        0.62 * heat.clamp(0.0, 1.0).powf(0.7),
        class(node.hue),
        height - 6.0
    );
    let middle = (width + 5.0) / 2.0;
    let mut base = 5.0 + card.font;
    let _ = write!(
        text,
        "<text x=\"{middle:.1}\" y=\"{base:.1}\" font-size=\"{:.1}\">{}</text>",
        card.font,
        escaped(&card.name)
    );
    if !card.place.is_empty() {
        base += SMALL + 3.0;
        let _ = write!(
            text,
            "<text class=\"faint\" x=\"{middle:.1}\" y=\"{base:.1}\" font-size=\"{SMALL}\">{}</text>",
            escaped(&card.place)
        );
    }
    base += SMALLEST + 4.0;
    let _ = writeln!(
        text,
        "<text x=\"{middle:.1}\" y=\"{base:.1}\" font-size=\"{SMALLEST}\">{}</text></g>",
        escaped(&card.figures)
    );
    out.write_all(text.as_bytes())
}

/// The head and its height.
fn head(source: &Source, undrawn: usize, width: f64) -> (String, f64) {
    let mut words = Head::new(&source.title, MARGIN, width.min(LEAST_WIDTH));
    for line in source.lines(undrawn) {
        words.line(&line);
    }
    let (title, y) = (escaped(&shortened(&source.title, 400)), words.y + 8);
    let mut text = String::from("<g class=\"legend\">");
    let mut x = MARGIN;
    for hue in Hue::ALL {
        if !source.graph.nodes.iter().any(|node| node.hue == Some(hue)) {
            continue;
        }
        let _ = write!(
            text,
            "<rect class=\"{}\" x=\"{x:.0}\" y=\"{}\" width=\"4\" height=\"13\" rx=\"1\"/><text x=\"{:.0}\" y=\"{y}\">{}</text>",
            class(Some(hue)),
            y - 11,
            x + 9.0,
            hue.name()
        );
        x += 9.0 + LETTER * hue.name().chars().count() as f64 + 16.0;
    }
    let _ = write!(
        text,
        "<text x=\"{x:.0}\" y=\"{y}\">name: the larger, the more of its own · colour and width: share with callees · dashed: over functions left out</text></g>\n<text class=\"details faint\" x=\"{MARGIN}\" y=\"{}\">{HINT}</text></g>",
        y + 23
    );
    let top = y + 47;
    let text = format!(
        "<title>{title}</title>\n<g class=\"head\"><rect class=\"back\" width=\"100%\" height=\"{}\"/>\n{}{text}",
        top - 8,
        words.svg
    );
    (text, f64::from(top))
}
