//! The map as SVG: boxes with their names, and the head above them.

use std::fmt::Write as _;
use std::io::{self, Write};

use profundo_analysis::palette::{Hue, Tint};
use profundo_analysis::{Estimate, Filter, Selection};
use profundo_model::SampleKind;

use super::super::head::{Head, LETTER};
use super::super::text::{escaped, percent, plural, shortened, time};
use super::super::view::View;
use super::super::{Options, Weights, measured, owner};
use super::layout::{HEIGHT, Map, Tile, WIDTH};

const STYLE: &str = include_str!("style.css");
const SCRIPT: &str = include_str!("script.js");

const MARGIN: f64 = 8.0;
/// The width of a letter in a box.
const SMALL_LETTER: f64 = 6.7;
/// The number of shades by depth.
const DEPTHS: u32 = 4;
const HINT: &str = "Point at a box for its figures · click it to enlarge it · Esc to go back · what is free in a box is its own";

pub(super) fn write(
    view: &View<'_>,
    map: &Map<'_>,
    weights: Weights,
    options: &Options,
    out: &mut impl Write,
) -> io::Result<()> {
    let figures = Figures::new(view, map, weights);
    let (head, top) = head(view, map, &figures, options);
    let (width, height) = (WIDTH + 2.0 * MARGIN, HEIGHT + top + MARGIN);
    write!(
        out,
        r#"<?xml version="1.0" encoding="UTF-8"?>
<svg xmlns="http://www.w3.org/2000/svg" width="{width}" height="{height}" viewBox="0 0 {width} {height}" data-square="{}">
"#,
        map.tiles.len()
    )?;
    let light = colours(|tint| tint.light, 255.0);
    let dark = colours(|tint| tint.dark, 0.0);
    write!(
        out,
        "<style><![CDATA[\n{STYLE}{light}\n@media (prefers-color-scheme:dark){{\n{dark}\n}}\n]]></style>\n<rect class=\"back\" width=\"100%\" height=\"100%\"/>\n"
    )?;
    writeln!(
        out,
        "{head}<svg class=\"map\" x=\"{MARGIN}\" y=\"{top}\" width=\"{WIDTH}\" height=\"{HEIGHT}\" viewBox=\"0 0 {WIDTH} {HEIGHT}\">"
    )?;
    for tile in &map.tiles {
        tile_of(out, map, &figures, tile)?;
    }
    write!(
        out,
        "</svg>\n<script><![CDATA[\n{SCRIPT}]]></script>\n</svg>\n"
    )
}

/// The rules for each kind of code. The deeper a box, the nearer to the ground it is, so that its
/// name can be read.
fn colours(of: fn(Tint) -> &'static str, ground: f64) -> String {
    let classes = ["hp", "hn", "hs", "hw", "hg", "hx"];
    let mut rules = String::new();
    for (hue, class) in Hue::ALL.into_iter().zip(classes) {
        let colour = of(hue.tint());
        let _ = write!(rules, ".{class}{{fill:{colour}}}");
        // A box differs from the one around it.
        for depth in 1..DEPTHS {
            let fill = mixed(colour, ground, 0.16 * f64::from(depth));
            let _ = write!(rules, ".{class}.c{depth}{{fill:{fill}}}");
        }
    }
    rules
}

/// A colour `#rrggbb` with a part of white or black.
fn mixed(colour: &str, ground: f64, part: f64) -> String {
    let channel = |at: usize| {
        let text = colour.get(at..at + 2).unwrap_or_default();
        let value = f64::from(u8::from_str_radix(text, 16).unwrap_or_default());
        (value + (ground - value) * part).round() as u8
    };
    format!("#{:02x}{:02x}{:02x}", channel(1), channel(3), channel(5))
}

fn tile_of(
    out: &mut impl Write,
    map: &Map<'_>,
    figures: &Figures<'_>,
    tile: &Tile,
) -> io::Result<()> {
    let (name, place) = map.words(tile.content);
    let area = tile.area;
    let mut text = format!(
        "<g class=\"b\"><title>{}{}{}\n{}</title><rect class=\"{} c{}\" x=\"{:.2}\" y=\"{:.2}\" width=\"{:.2}\" height=\"{:.2}\"/>",
        escaped(&shortened(&name, 400)),
        if place.is_empty() { "" } else { "\n" },
        escaped(&place),
        escaped(&figures.shares(tile)),
        map.class(tile.content),
        tile.depth % DEPTHS,
        area.x,
        area.y,
        area.width,
        area.height
    );
    let letters = ((area.width - 6.0) / SMALL_LETTER).max(0.0) as usize;
    let room = if tile.has_callees { 29.0 } else { 14.0 };
    if letters >= 3 && area.height >= room {
        let name = fitting(&name, letters);
        let _ = write!(
            text,
            "<text x=\"{:.1}\" y=\"{:.1}\">{}</text>",
            area.x + 3.0,
            area.y + 11.5,
            escaped(&name)
        );
        let share = figures.share(tile);
        if !tile.has_callees && area.height >= 28.0 && share.chars().count() <= letters {
            let _ = write!(
                text,
                "<text class=\"figure\" x=\"{:.1}\" y=\"{:.1}\">{}</text>",
                area.x + 3.0,
                area.y + 24.5,
                escaped(&share)
            );
        }
    }
    text.push_str("</g>\n");
    out.write_all(text.as_bytes())
}

/// The end of a path `a::b::c` that fits, or else the start of a name.
fn fitting(name: &str, letters: usize) -> String {
    let ends = name.match_indices("::").map(|(at, _)| &name[at + 2..]);
    let mut ends = std::iter::once(name).chain(ends.filter(|end| !end.contains('<')));
    match ends.find(|end| end.chars().count() <= letters) {
        Some(end) => end.to_owned(),
        None => {
            let start: String = name.chars().take(letters - 1).collect();
            format!("{start}…")
        }
    }
}

/// The words for weights.
struct Figures<'a> {
    view: &'a View<'a>,
    weights: Weights,
    total: u64,
    count: u64,
    /// The number of samples of equal weight with the same information.
    samples: f64,
    is_few: bool,
    is_traced: bool,
    taken: u64,
}

impl<'a> Figures<'a> {
    fn new(view: &'a View<'a>, map: &Map<'_>, weights: Weights) -> Self {
        let all = Selection::new(view.profile, &Filter::default());
        Self {
            view,
            weights,
            total: map.total,
            count: all.total(view.profile),
            samples: all.mass(view.profile).effective_samples(),
            is_few: all.is_few(view.profile),
            is_traced: view.profile.meta.kind == SampleKind::Traced,
            taken: all.taken(view.profile),
        }
    }

    fn share(&self, tile: &Tile) -> String {
        match self.is_few && measured::of(self.view.profile).is_none() {
            true => format!("{} of {}", tile.count, self.count),
            false => percent(tile.weight as f64 / self.total.max(1) as f64),
        }
    }

    /// The share of a box, with its uncertainty, and its amount.
    fn shares(&self, tile: &Tile) -> String {
        let measure = measured::of(self.view.profile);
        let mut text = self.share(tile);
        if self.is_few && measure.is_none() {
            return format!("{text} samples");
        }
        let share = tile.weight as f64 / self.total.max(1) as f64;
        if !self.is_traced && !self.is_few {
            let interval = Estimate::new(share, self.samples).interval;
            let (low, high) = (percent(interval.low), percent(interval.high));
            let _ = write!(text, " (95 %: {low} to {high})");
        }
        let amount = match (measure, self.weights) {
            (Some(measure), _) => measured::text(measure, tile.weight),
            (None, Weights::Time) => time(tile.weight),
            (None, Weights::Samples) if self.is_traced => plural(tile.weight, "call"),
            (None, Weights::Samples) => plural(tile.weight, "sample"),
        };
        let _ = write!(text, ", {amount}");
        if tile.own > 0 && tile.own < tile.weight {
            let own = tile.own as f64 / self.total.max(1) as f64;
            let _ = write!(text, "; of its own {}", percent(own));
        }
        text
    }

    fn summary(&self) -> String {
        let whole = self.total;
        let clock = match self.view.profile.meta.kind {
            SampleKind::Traced => "traced time",
            SampleKind::Wall => "elapsed time of threads and tasks",
            _ => "CPU time",
        };
        match (measured::of(self.view.profile), self.weights) {
            (Some(measure), _) => {
                let which = measured::which(measure);
                format!("{} {which}", measured::text(measure, whole))
            }
            (None, Weights::Time) if self.is_traced => {
                format!("{} of {clock}, every call counted", time(whole))
            }
            (None, Weights::Time) => format!(
                "{} of {clock} in {}",
                time(whole),
                plural(self.taken, "sample")
            ),
            (None, Weights::Samples) if self.is_traced => {
                format!("{}, without times", plural(whole, "call"))
            }
            (None, Weights::Samples) => plural(whole, "sample"),
        }
    }
}

/// The head and its height.
fn head(view: &View<'_>, map: &Map<'_>, figures: &Figures<'_>, options: &Options) -> (String, f64) {
    let mut summary = match map.tiles.is_empty() {
        true => "There is nothing to draw: no samples were taken".into(),
        false => figures.summary(),
    };
    let lost = view.profile.meta.loss.lost();
    if lost > 0 {
        let _ = write!(summary, " · {} lost", plural(lost, "sample"));
    }
    if !figures.is_few && !figures.is_traced && figures.samples > 0.0 {
        let margin = Estimate::new(0.5, figures.samples).margin();
        let points = percent(margin).replace(" %", " points");
        let _ = write!(
            summary,
            " · shares are right within {points}, in 95 of 100 cases"
        );
    }
    if figures.is_few {
        summary.push_str(" · these are too few samples for shares");
    }
    let title = (options.title.clone()).unwrap_or_else(|| owner::title(view.profile));
    let mut words = Head::new(&title, MARGIN, WIDTH + 2.0 * MARGIN);
    words.line(&summary);
    words.line(&options.passing().unwrap_or_default());
    let title = escaped(&shortened(&title, 400));
    let mut text = format!("<title>{title}</title>\n{}", words.svg);
    let y = words.y + 5;
    let mut x = MARGIN;
    let hues = Hue::ALL.map(|hue| match hue {
        Hue::Unreadable => "not readable or not sampled",
        hue => hue.name(),
    });
    let classes = ["hp", "hn", "hs", "hw", "hg", "hx"].into_iter().zip(hues);
    for (class, name) in classes.chain([("others", "others: small shares together")]) {
        let mut tiles = map.tiles.iter();
        if !tiles.any(|tile| map.class(tile.content) == class) {
            continue;
        }
        let _ = write!(
            text,
            "<rect class=\"{class}\" x=\"{x:.0}\" y=\"{}\" width=\"12\" height=\"12\" rx=\"2\"/><text x=\"{:.0}\" y=\"{y}\">{name}</text>",
            y - 10,
            x + 17.0
        );
        x += 17.0 + LETTER * name.chars().count() as f64 + 18.0;
    }
    let _ = writeln!(
        text,
        "\n<text class=\"details faint\" x=\"{MARGIN}\" y=\"{}\">{HINT}</text>",
        y + 28
    );
    (text, f64::from(y + 50))
}
