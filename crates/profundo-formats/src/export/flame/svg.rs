//! The picture as SVG: boxes with their words, the head above them, style and script.

use std::fmt::Write as _;
use std::io::{self, Write};

use profundo_analysis::palette::{Hue, Tint};
use profundo_model::{Kind, SampleKind};

use super::super::view::View;
use super::super::{Options, Weights, measured, owner};
use super::layout::{Block, Colour, Layout};

const STYLE: &str = include_str!("style.css");
const SCRIPT: &str = include_str!("script.js");

/// The width for which the picture is drawn; a browser's own width takes its place.
const WIDTH: f64 = 1200.0;
/// The height of a row with the gap below it. The script knows these too.
const ROW: u32 = 17;
/// Where the boxes begin.
const TOP: u32 = 124;
/// The width of a letter and the space about a name.
const LETTER: f64 = 7.3;
const MARGIN: f64 = 3.0;
/// What is narrower has no border: it would be nothing else.
const THIN: f64 = 4.0;
/// Longer names end in the middle.
const LONGEST_NAME: usize = 400;

const HINT: &str = "Click a box to zoom · / or Ctrl-F to search names and files · Esc to go back";

pub(super) fn write(
    view: &View<'_>,
    layout: &Layout,
    weights: Weights,
    options: &Options,
    out: &mut impl Write,
) -> io::Result<()> {
    let height = TOP + layout.levels * ROW + 8;
    write!(
        out,
        r#"<?xml version="1.0" encoding="UTF-8"?>
<svg xmlns="http://www.w3.org/2000/svg" width="{WIDTH}" height="{height}" data-top="{TOP}" data-levels="{}" data-inverted="{}">
"#,
        layout.levels,
        u8::from(options.icicle),
    )?;
    let (light, dark) = (colours(|tint| tint.light), colours(|tint| tint.dark));
    write!(
        out,
        "<style><![CDATA[\n{STYLE}{light}\n@media (prefers-color-scheme:dark){{\n{dark}\n}}\n]]></style>\n"
    )?;
    let mut text = String::new();
    for block in &layout.blocks {
        text.clear();
        self::block(&mut text, layout, weights, options.icicle, block);
        out.write_all(text.as_bytes())?;
    }
    // Last, so that it lies over the boxes that are scrolled below it.
    head(view, layout, weights, options, out)?;
    write!(out, "<script><![CDATA[\n{SCRIPT}]]></script>\n</svg>\n")
}

/// The rules for the boxes of each hue.
fn colours(of: fn(Tint) -> &'static str) -> String {
    let rule = |hue: Hue| format!(".{}{{fill:{}}}", Colour::Of(hue).class(), of(hue.tint()));
    Hue::ALL.map(rule).concat()
}

fn head(
    view: &View<'_>,
    layout: &Layout,
    weights: Weights,
    options: &Options,
    out: &mut impl Write,
) -> io::Result<()> {
    let title = match &options.title {
        Some(title) => title.clone(),
        None => owner::title(view.profile),
    };
    let title = escaped(&shortened(&title, 150));
    let meta = &view.profile.meta;
    let clock = match meta.kind {
        SampleKind::Cpu => "CPU time",
        SampleKind::Traced => "traced time",
        SampleKind::Wall => "elapsed time of threads and tasks",
        // It is said by its weights.
        SampleKind::Heap(_) => "memory",
    };
    let measure = measured::of(view.profile);
    let mut summary = match weights {
        _ if let Some(measure) = measure => format!(
            "{} {}",
            measured::text(measure, layout.total),
            measured::which(measure)
        ),
        Weights::Time => format!(
            "{} of {clock} in {} {}",
            time(layout.total),
            layout.taken,
            layout.counted(layout.taken)
        ),
        Weights::Samples => format!("{} {}", layout.count, layout.counted(layout.count)),
    };
    let mut separator = ": ";
    // Who allocates is no kind of time.
    for kind in Kind::ALL.into_iter().filter(|_| measure.is_none()) {
        let weight = layout.kinds[kind as usize];
        // A program without Python has no share of it.
        if weight > 0 {
            let share = weight as f64 / layout.total as f64;
            let _ = write!(summary, "{separator}{} {}", kind.name(), percent(share));
            separator = ", ";
        }
    }
    let lost = meta.loss.lost();
    if lost > 0 {
        let _ = write!(summary, " · {lost} samples lost");
    }
    let (pruned, weight) = layout.pruned;
    if pruned > 0 {
        let _ = write!(
            summary,
            " · {pruned} {} too narrow to draw ({} of the {})",
            if pruned == 1 { "box" } else { "boxes" },
            percent(weight as f64 / layout.total.max(1) as f64),
            measure.map_or("time", measured::whole)
        );
    }
    write!(
        out,
        "<title>{title}</title>\n<g class=\"head\"><rect width=\"100%\" height=\"{}\"/>\n<text class=\"title\" x=\"8\" y=\"22\">{title}</text>\n<text class=\"faint\" x=\"8\" y=\"42\">{summary}</text>\n<g class=\"legend\">",
        TOP - 3
    )?;
    let mut x = 8.0;
    for colour in Colour::ALL {
        if !layout.colours.contains(&colour) {
            continue;
        }
        let words = colour.name();
        write!(
            out,
            "<rect class=\"{}\" x=\"{x:.0}\" y=\"52\" width=\"12\" height=\"12\" rx=\"2\"/><text x=\"{:.0}\" y=\"62\">{words}</text>",
            colour.class(),
            x + 17.0
        )?;
        x += 17.0 + LETTER * words.chars().count() as f64 + 20.0;
    }
    write!(
        out,
        "</g>\n<foreignObject class=\"tools\" x=\"8\" y=\"72\" width=\"100%\" height=\"28\"><div xmlns=\"http://www.w3.org/1999/xhtml\"><input type=\"search\" placeholder=\"Search\" aria-label=\"Search names and files\" spellcheck=\"false\"/><button class=\"clear\" type=\"button\">Clear</button><button class=\"reset\" type=\"button\" disabled=\"disabled\">Reset zoom</button><button class=\"flip\" type=\"button\">Flip</button><span class=\"matched\" role=\"status\"></span></div></foreignObject>\n<text class=\"details faint\" x=\"8\" y=\"116\">{HINT}</text></g>\n"
    )
}

fn block(out: &mut String, layout: &Layout, weights: Weights, inverted: bool, block: &Block) {
    let all = layout.total.max(1) as f64;
    // In millionths of the width, so that a zoom into the narrowest box is still exact.
    let (x, width) = (
        block.start as f64 / all * 100.0,
        block.weight as f64 / all * 100.0,
    );
    let row = if inverted {
        block.level
    } else {
        layout.levels - 1 - block.level
    };
    let y = TOP + row * ROW;
    let name = shortened(&block.name, LONGEST_NAME);
    let shade = match block.colour {
        Colour::Of(Hue::Python | Hue::Native | Hue::System) | Colour::Runtime => shade(&name),
        _ => 0,
    };
    let _ = write!(out, "<g class=\"b {}", block.colour.class());
    if shade > 0 {
        let _ = write!(out, " c{shade}");
    }
    if width / 100.0 * WIDTH < THIN {
        out.push_str(" thin");
    }
    let _ = write!(
        out,
        "\"><title>{}\n{}\n{}</title><rect x=\"{}%\" y=\"{y}\" width=\"{}%\" height=\"16\"/>",
        escaped(&name),
        escaped(&block.place),
        shares(layout, weights, block),
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

/// The share of a box, how sure that is, and what it stands for.
fn shares(layout: &Layout, weights: Weights, block: &Block) -> String {
    let estimate = layout.estimate(block.weight);
    if layout.is_few && layout.measure.is_none() {
        let (part, whole) = (block.count, layout.count);
        return format!("{part} of {whole} {}", layout.counted(whole));
    }
    let mut text = percent(estimate.share);
    if !estimate.is_exact() && !layout.is_few {
        let _ = write!(
            text,
            " (95 %: {} to {})",
            percent(estimate.interval.low),
            percent(estimate.interval.high),
        );
    }
    if let Some(measure) = layout.measure {
        let _ = write!(text, ", {}", measured::text(measure, block.weight));
    } else {
        if weights == Weights::Time {
            let _ = write!(text, ", {}", time(block.weight));
        }
        let _ = write!(text, ", {} {}", block.count, layout.counted(block.count));
    }
    if block.own > 0 && block.own < block.weight {
        let own = block.own as f64 / layout.total.max(1) as f64;
        let _ = write!(text, "; of its own {}", percent(own));
    }
    text
}

fn percent(share: f64) -> String {
    if share < 0.0995 && share > 0.0 {
        format!("{:.2} %", share * 100.0)
    } else {
        format!("{:.1} %", share * 100.0)
    }
}

fn time(nanoseconds: u64) -> String {
    let seconds = nanoseconds as f64 / 1e9;
    if seconds >= 100.0 {
        format!("{seconds:.0} s")
    } else if seconds >= 1.0 {
        format!("{seconds:.2} s")
    } else if seconds >= 1e-3 {
        format!("{:.1} ms", seconds * 1e3)
    } else {
        format!("{:.1} µs", seconds * 1e6)
    }
}

/// A number of per cent without the zeros that say nothing.
fn short(number: f64) -> String {
    let text = format!("{number:.6}");
    let text = text.trim_end_matches('0').trim_end_matches('.');
    text.to_owned()
}

/// One of four shades, always the same for a name, so that neighbours can be told apart.
fn shade(name: &str) -> u32 {
    let hash = (name.bytes()).fold(7_u32, |hash, byte| {
        hash.wrapping_mul(31).wrapping_add(u32::from(byte))
    });
    (hash ^ hash >> 16) % 4
}

/// The longest tail of `a::b::c` that fits, else as much of the name as does; the script has the
/// same rule.
fn fit(name: &str, room: usize) -> String {
    if name.chars().count() <= room {
        return name.into();
    }
    let (mut depth, mut rest, mut last) = (0, name, ' ');
    for (at, c) in name.char_indices() {
        match c {
            '<' => depth += 1,
            '>' if last != '-' => depth -= 1,
            ':' if depth == 0 && name[at + 1..].starts_with(':') => {
                rest = &name[at + 2..];
                if rest.chars().count() <= room {
                    return rest.into();
                }
            }
            _ => {}
        }
        last = c;
    }
    if room < 3 {
        return String::new();
    }
    let start: String = rest.chars().take(room - 1).collect();
    format!("{start}…")
}

fn shortened(name: &str, most: usize) -> String {
    if name.chars().count() <= most {
        return name.into();
    }
    let letters: Vec<char> = name.chars().collect();
    let (start, end) = (&letters[..most / 2], &letters[letters.len() - most / 2..]);
    start.iter().chain(['…'].iter()).chain(end).collect()
}

/// The text as XML holds it: some characters have no form in it at all.
fn escaped(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '&' => out.push_str("&amp;"),
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            '"' => out.push_str("&quot;"),
            '\t' | '\n' | '\r' => out.push(' '),
            '\u{fffe}' | '\u{ffff}' => out.push('\u{fffd}'),
            c if c.is_control() => out.push('\u{fffd}'),
            c => out.push(c),
        }
    }
    out
}
