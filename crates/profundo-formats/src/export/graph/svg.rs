//! The picture as SVG: arrows with their labels, boxes, and the head above them.

use std::fmt::Write as _;
use std::io::{self, Write};

use profundo_analysis::CallNode;
use profundo_analysis::palette::{Hue, Tint};

use super::super::head::{Head, LETTER};
use super::super::text::{escaped, shortened};
use super::layout::{Layout, Link, Point, Rect, Route, Size, Step, layout};
use super::source::Source;

const STYLE: &str = include_str!("style.css");
const SCRIPT: &str = include_str!("script.js");

const MARGIN: f64 = 16.0;
/// The width that the head needs.
const LEAST_WIDTH: f64 = 1200.0;
/// The width of a letter, in parts of the size of the font.
const PART: f64 = 0.61;
/// The sizes of fonts: of names without own share and with the largest one, and of all else.
const SMALLEST: f64 = 11.0;
const LARGEST: f64 = 22.0;
const SMALL: f64 = 10.0;
/// The letters of a name or a path in a box. The whole one is in the details.
const NAME: usize = 34;
const PLACE: usize = 38;
/// With more arrows than this, they have no labels.
const LABELS: usize = 400;

const HINT: &str = "Point at a box or an arrow for its figures · click a box for its callers and callees · drag and wheel to look around · 0 fits the window";

/// The text of a box and its size.
struct Card {
    font: f64,
    name: String,
    place: String,
    figures: String,
    size: Size,
}

impl Card {
    fn new(source: &Source, node: &CallNode, largest: u64) -> Self {
        let part = node.own.weight as f64 / largest.max(1) as f64;
        let font = SMALLEST + (LARGEST - SMALLEST) * part.sqrt();
        let name = shortened(&node.name, NAME);
        let place = shortened(Source::short_place(&Source::place(node)), PLACE);
        let figures = source.figures(node);
        let width = |text: &str, font: f64| text.chars().count() as f64 * font * PART;
        let widest = width(&name, font)
            .max(width(&place, SMALL))
            .max(width(&figures, SMALLEST));
        let lines = if place.is_empty() { 0.0 } else { SMALL + 3.0 };
        let size = Size {
            width: (widest + 22.0).ceil(),
            height: (font + lines + SMALLEST + 16.0).ceil(),
        };
        Self {
            font,
            name,
            place,
            figures,
            size,
        }
    }
}

pub(super) fn write(source: &Source, out: &mut impl Write) -> io::Result<()> {
    let graph = &source.graph;
    let largest = graph.nodes.iter().map(|node| node.own.weight).max();
    let cards: Vec<Card> = (graph.nodes.iter())
        .map(|node| Card::new(source, node, largest.unwrap_or(0)))
        .collect();
    let sizes: Vec<Size> = cards.iter().map(|card| card.size).collect();
    let labels: Vec<Option<String>> = (graph.edges.iter())
        .map(|edge| (graph.edges.len() <= LABELS).then(|| source.edge_label(edge)))
        .collect();
    let links: Vec<Link> = (graph.edges.iter().zip(&labels))
        .map(|(edge, label)| Link {
            from: edge.caller as u32,
            to: edge.callee as u32,
            weight: edge.amount.weight.max(1) as f64,
            label: label.as_ref().map(|text| Size {
                width: text.chars().count() as f64 * SMALL * PART + 4.0,
                height: SMALL + 3.0,
            }),
        })
        .collect();
    let drawn = layout(&sizes, &links);
    let undrawn = drawn.routes.iter().filter(|route| route.steps.is_empty());
    let undrawn = undrawn.count();
    let width = (drawn.size.width + 2.0 * MARGIN).max(LEAST_WIDTH).ceil();
    let (head, top) = head(source, undrawn, width);
    let height = (top + drawn.size.height + MARGIN).ceil();
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
        "<style><![CDATA[\n{STYLE}{light}\n@media (prefers-color-scheme:dark){{\n{dark}\n}}\n]]></style>\n<rect class=\"back\" width=\"100%\" height=\"100%\"/>\n<g class=\"graph\" transform=\"translate({MARGIN} {top})\" data-width=\"{:.0}\" data-height=\"{:.0}\">\n",
        drawn.size.width, drawn.size.height
    )?;
    // The heaviest arrows last, so that they lie over the others.
    for row in (0..links.len()).rev() {
        arrow(out, source, &drawn, &links, &labels, row)?;
    }
    for (row, card) in cards.iter().enumerate() {
        box_of(out, source, row, card, drawn.nodes[row])?;
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

fn arrow(
    out: &mut impl Write,
    source: &Source,
    drawn: &Layout,
    links: &[Link],
    labels: &[Option<String>],
    row: usize,
) -> io::Result<()> {
    let (route, edge) = (&drawn.routes[row], &source.graph.edges[row]);
    if route.steps.is_empty() {
        return Ok(());
    }
    let share = share_of(edge.amount.weight, source);
    let mut text = format!(
        "<g class=\"e{}\" data-a=\"{}\" data-b=\"{}\"><title>{}</title>",
        if edge.is_bridge { " bridge" } else { "" },
        links[row].from,
        links[row].to,
        escaped(&source.edge_details(edge)),
    );
    let _ = write!(
        text,
        "<path d=\"{}\" stroke-width=\"{:.1}\" stroke-opacity=\"{:.2}\"/>",
        path(route),
        0.8 + 5.0 * share.sqrt() * share.sqrt().max(0.2),
        0.45 + 0.5 * share.sqrt()
    );
    let _ = write!(text, "<polygon points=\"{}\"/>", tip(route, share));
    if let (Some(rect), Some(label)) = (route.label, &labels[row]) {
        let _ = write!(
            text,
            "<rect class=\"back\" x=\"{:.1}\" y=\"{:.1}\" width=\"{:.1}\" height=\"{:.1}\"/><text x=\"{:.1}\" y=\"{:.1}\">{}</text>",
            rect.x,
            rect.y,
            rect.width,
            rect.height,
            rect.centre(),
            rect.y + SMALL,
            escaped(label)
        );
    }
    text.push_str("</g>\n");
    out.write_all(text.as_bytes())
}

fn path(route: &Route) -> String {
    let at = |point: Point| format!("{:.1} {:.1}", point.x, point.y);
    let mut text = format!("M{}", at(route.start));
    for step in &route.steps {
        let _ = match *step {
            Step::Line(to) => write!(text, "L{}", at(to)),
            Step::Curve(a, b, to) => write!(text, "C{} {} {}", at(a), at(b), at(to)),
        };
    }
    text
}

/// The head of an arrow: from the end of its line to its tip.
fn tip(route: &Route, share: f64) -> String {
    let end = match route.steps.last() {
        Some(&(Step::Line(to) | Step::Curve(_, _, to))) => to,
        None => route.start,
    };
    // A turned edge has its tip at its start.
    let near = |point: Point| (point.x - route.tip.x).abs() + (point.y - route.tip.y).abs();
    let from = if near(route.start) < near(end) {
        route.start
    } else {
        end
    };
    let half = 3.0 + 2.5 * share.sqrt();
    let (dx, dy) = (route.tip.x - from.x, route.tip.y - from.y);
    let length = (dx * dx + dy * dy).sqrt().max(1e-6);
    let (nx, ny) = (-dy / length * half, dx / length * half);
    format!(
        "{:.1},{:.1} {:.1},{:.1} {:.1},{:.1}",
        from.x + nx,
        from.y + ny,
        route.tip.x,
        route.tip.y,
        from.x - nx,
        from.y - ny
    )
}

fn box_of(
    out: &mut impl Write,
    source: &Source,
    row: usize,
    card: &Card,
    rect: Rect,
) -> io::Result<()> {
    let node = &source.graph.nodes[row];
    let place = Source::place(node);
    let heat = share_of(node.total.weight, source);
    let Rect {
        x,
        y,
        width,
        height,
    } = rect;
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
