//! The picture as SVG: the widest boxes with their words, the head above them, the data for the
//! script, style and script.

use std::cmp::Reverse;
use std::fmt::Write as _;
use std::io::{self, Write};

use super::super::head::{Head as Words, LETTER};
use super::super::text::{escaped, shortened, time};
use super::encode;
use super::picture::{Lane, Picture, Rows};
use super::theme::rules;
use super::words::{amounts, fit, short};

const STYLE: &str = include_str!("style.css");
const SCRIPT: &[&str] = &[
    include_str!("script/data.js"),
    include_str!("script/words.js"),
    include_str!("script/draw.js"),
    include_str!("script/head.js"),
    include_str!("script/keys.js"),
];

/// The width for which the picture is drawn; a browser's own width replaces it.
const WIDTH: f64 = 1200.0;
/// The height of a row with the gap below it. The script knows these too.
const ROW: u32 = 17;
/// The space around a name.
const MARGIN: f64 = 3.0;
/// The width below which a box has no border.
const THIN: f64 = 4.0;
/// The most boxes that are drawn without the script, and their least width.
const MOST_DRAWN: usize = 1_500;
const LEAST_WIDTH: f64 = 0.25;
/// The height of the time axis, of a lane's label, and of the gap below a lane.
const AXIS: u32 = 20;
const LABEL: u32 = 20;
const GAP: u32 = 10;

const HINT: &str =
    "Click a box to zoom · arrows and Enter do too · / to search · Esc to go back · ? for more";

pub(super) fn write(picture: &Picture, out: &mut impl Write) -> io::Result<()> {
    let rows = Rows::new(picture);
    let head = head(picture);
    let mut top = head.height;
    let places: Vec<u32> = (picture.lanes.iter())
        .map(|lane| {
            let label = if lane.label.is_empty() { 0 } else { LABEL };
            let place = top + axis_height(picture) + label;
            top = place - axis_height(picture) + rows.height(lane) * ROW + GAP;
            place
        })
        .collect();
    let height = top + axis_height(picture);
    let title = escaped(&shortened(&picture.title, 400));
    write!(
        out,
        "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{WIDTH}\" height=\"{height}\" viewBox=\"0 0 {WIDTH} {height}\" data-top=\"{}\" data-inverted=\"{}\">\n<title>{title}</title>\n",
        head.height,
        u8::from(picture.is_icicle),
    )?;
    let rules = rules(&picture.looks);
    write!(out, "<style><![CDATA[\n{STYLE}{rules}]]></style>\n")?;
    out.write_all(
        b"<rect class=\"ground\" width=\"100%\" height=\"100%\"/>\n<g class=\"boxes\">\n",
    )?;
    let mut text = String::new();
    if picture.is_timed {
        axis(&mut text, picture, head.height);
    }
    for (lane, &place) in picture.lanes.iter().zip(&places) {
        draw_lane(&mut text, picture, &rows, lane, place);
    }
    out.write_all(text.as_bytes())?;
    // Last, so that it lies over the boxes that are scrolled below it.
    write!(out, "</g>\n{}", head.svg)?;
    out.write_all(b"<script type=\"application/json\" class=\"data\"><![CDATA[\n")?;
    encode::write(picture, out)?;
    out.write_all(b"]]></script>\n<script><![CDATA[\n(async () => {\n'use strict';\n")?;
    for part in SCRIPT {
        // The browser paints and listens between the parts.
        writeln!(out, "{part}await pause();")?;
    }
    out.write_all(b"})();\n]]></script>\n</svg>\n")
}

fn axis_height(picture: &Picture) -> u32 {
    if picture.is_timed { AXIS } else { 0 }
}

struct Head {
    svg: String,
    height: u32,
}

fn head(picture: &Picture) -> Head {
    let mut head = Words::new(&picture.title, 8.0, WIDTH);
    for line in &picture.lines {
        head.line(line);
    }
    let Words { mut svg, mut y, .. } = head;
    svg.push_str("<g class=\"legend\">");
    let mut x = 8.0;
    let look = picture.looks.first();
    for (row, words) in look.iter().flat_map(|look| &look.legend) {
        let width = 17.0 + LETTER * words.chars().count() as f64 + 20.0;
        if x > 8.0 && x + width > WIDTH {
            x = 8.0;
            y += 19;
        }
        let class = look.map(|look| look.fills.class(*row)).unwrap_or_default();
        let _ = write!(
            svg,
            "<rect class=\"{class}\" x=\"{x:.0}\" y=\"{}\" width=\"12\" height=\"12\" rx=\"2\"/><text x=\"{:.0}\" y=\"{y}\">{}</text>",
            y - 10,
            x + 17.0,
            escaped(words)
        );
        x += width;
    }
    y += 12;
    let button = |class: &str, words: &str, title: &str| {
        format!("<button class=\"{class}\" type=\"button\" title=\"{title}\">{words}</button>")
    };
    let mut buttons = button("reset", "Reset zoom", "0") + &button("flip", "Flip", "i");
    if picture.looks.len() > 1 {
        buttons += &button("colours", "Colours", "c");
    }
    buttons += &(button("theme", "Dark", "d") + &button("keys", "?", "the keys"));
    let _ = write!(
        svg,
        "</g>\n<foreignObject class=\"tools\" x=\"8\" y=\"{y}\" width=\"100%\" height=\"28\"><div xmlns=\"http://www.w3.org/1999/xhtml\"><input type=\"search\" placeholder=\"Search (/)\" aria-label=\"Search names and files\" spellcheck=\"false\"/>{buttons}<span class=\"matched\" role=\"status\"></span></div></foreignObject>\n<text class=\"static faint\" x=\"8\" y=\"{}\">In a browser, boxes can be zoomed and searched.</text><text class=\"details\" x=\"8\" y=\"{}\"></text><text class=\"details faint\" x=\"8\" y=\"{}\">{HINT}</text>\n",
        y + 18,
        y + 46,
        y + 62,
    );
    // Without the script, there are no details.
    let height = y + 74;
    Head {
        svg: format!(
            "<g class=\"head\"><rect class=\"ground\" width=\"100%\" height=\"{}\"/>\n{svg}</g>\n<g class=\"help\"></g>\n",
            height - 3
        ),
        height,
    }
}

/// Ticks at round times.
fn axis(out: &mut String, picture: &Picture, top: u32) {
    let span = picture.span.max(1) as f64;
    let step = round_step(span / 10.0);
    let origin = picture.origin as f64;
    let mut at = (origin / step).ceil() * step;
    while at <= origin + span {
        let x = short((at - origin) / span * 100.0);
        let words = match at > 0.0 {
            true => time(at as u64),
            false => "0".into(),
        };
        let _ = writeln!(
            out,
            "<g class=\"tick\"><line x1=\"{x}%\" x2=\"{x}%\" y1=\"{top}\" y2=\"100%\"/><text class=\"faint\" x=\"{x}%\" dx=\"3\" y=\"{}\">{words}</text></g>",
            top + 12
        );
        at += step;
    }
}

/// The least of 1, 2, 5, 10, … that is not below `step`.
pub(super) fn round_step(step: f64) -> f64 {
    let power = 10_f64.powf(step.max(1.0).log10().floor());
    let found = [1.0, 2.0, 5.0].into_iter().map(|digit| digit * power);
    found
        .into_iter()
        .find(|&round| round >= step)
        .unwrap_or(10.0 * power)
}

fn draw_lane(out: &mut String, picture: &Picture, rows: &Rows, lane: &Lane, place: u32) {
    let span = picture.span.max(1) as f64;
    if !lane.label.is_empty() {
        let label = escaped(&shortened(&lane.label, 150));
        let y = place - 6;
        let _ = writeln!(out, "<text class=\"lane\" x=\"8\" y=\"{y}\">{label}</text>");
    }
    let height = rows.height(lane);
    let wide = |&at: &usize| {
        let width = picture.extent(lane, at).1 as f64 / span * WIDTH;
        rows.of[at].is_some() && width >= LEAST_WIDTH
    };
    let mut chosen: Vec<usize> = (lane.from..lane.to).filter(wide).collect();
    let most = MOST_DRAWN / picture.lanes.len().max(1);
    if chosen.len() > most {
        chosen.sort_by_key(|&at| (Reverse(picture.extent(lane, at).1), at));
        chosen.truncate(most);
        chosen.sort_unstable();
    }
    for at in chosen {
        let row = rows.of[at].unwrap_or_default();
        let row = match picture.is_icicle {
            true => row,
            false => height - 1 - row,
        };
        draw_box(out, picture, lane, at, rows.strips[at], place + row * ROW);
    }
}

fn draw_box(out: &mut String, picture: &Picture, lane: &Lane, at: usize, strip: u32, y: u32) {
    let span = picture.span.max(1) as f64;
    let (start, width) = picture.extent(lane, at);
    // In millionths of the width, so that a zoom into the narrowest box is still exact.
    let (x, width) = (start as f64 / span * 100.0, width as f64 / span * 100.0);
    let node = &picture.nodes[at];
    let look = picture.looks.first();
    let class = look.map_or_else(String::new, |look| {
        let row = look.classes.get(node.frame as usize).copied();
        look.fills.class(row.unwrap_or(node.class))
    });
    let _ = write!(out, "<g class=\"b {class}");
    if strip > 0 {
        out.push_str(" strip");
    }
    if width / 100.0 * WIDTH < THIN {
        out.push_str(" thin");
    }
    let name = match strip {
        0 => picture.frames.name(node.frame).to_owned(),
        strip => strip_name(picture, at, strip),
    };
    let _ = write!(
        out,
        "\"><title>{}\n{}\n{}</title><rect x=\"{}%\" y=\"{y}\" width=\"{}%\" height=\"16\"/>",
        escaped(&name),
        match strip {
            0 => escaped(&picture.frames.place(node.frame)),
            _ => String::new(),
        },
        escaped(&amounts(picture, at)),
        short(x),
        short(width),
    );
    let room = (width / 100.0 * WIDTH - 2.0 * MARGIN) / LETTER;
    let label = fit(&name, room.max(0.0) as usize);
    if !label.is_empty() {
        let _ = write!(
            out,
            "<text x=\"{}%\" y=\"{}\" dx=\"{MARGIN}\">{}</text>",
            short(x),
            y + 12,
            escaped(&label)
        );
    }
    out.push_str("</g>\n");
}

/// The words on a strip.
fn strip_name(picture: &Picture, at: usize, strip: u32) -> String {
    let name = |at: usize| picture.frames.name(picture.nodes[at].frame);
    let (first, last) = (name(at), name(at + strip as usize - 1));
    format!("▸ {strip} calls with the same share: {first} … {last}")
}

#[cfg(test)]
mod tests {
    use profundo_model::Profile;

    use super::super::super::{Format, Options, write as write_format};
    use super::*;

    #[test]
    fn tiny_shares_are_text_in_xml() {
        let profile = Profile::from_folded("main;work 7998\nmain;rare 2").unwrap();
        let mut out = Vec::new();
        let options = Options {
            bottom_up: true,
            ..Options::default()
        };
        write_format(&profile, Format::FLAME, &options, &mut out).unwrap();
        let svg = String::from_utf8(out).unwrap();
        let drawn = svg.split("<script").next().unwrap();
        assert!(drawn.contains("&lt;0.01 %"), "{drawn}");
        assert!(!drawn.contains("<0"));
    }

    #[test]
    fn ticks_are_at_round_times() {
        let rows = [
            (0.3, 1.0),
            (1.0, 1.0),
            (1.2, 2.0),
            (3e8, 5e8),
            (7e8, 1e9),
            (2e9, 2e9),
        ];
        for (step, round) in rows {
            assert!((round_step(step) / round - 1.0).abs() < 1e-9, "{step}");
        }
    }
}
