//! A flame graph as a Vega-Lite chart, for notebooks, the Vega editor and pages of one's own: a
//! rectangle for each call, which a pointer describes and a wheel enlarges.
//!
//! ```text
//! { "$schema", "title", "params": […], "mark": "rect", "encoding": { "x", "x2", "y", … },
//!   "data": { "values": [{ "x", "x2", "y": level, "status", "function", "file", "value", "share",
//!                          "own" }…] } }
//! ```
//!
//! Calls too narrow to be seen are left out, and the subtitle says how many.

use std::io::{self, Write};

use profundo_model::{Kinds, Profile, SampleKind};

use super::calls::{Callee, Calls, Manner};
use super::format::{Holds, Row, has};
use super::view::{Side, View};
use super::{Format, Options, Order, Weights, json, measured, owner};
use crate::Error;

impl Format {
    /// See [`vega_lite`](self).
    pub const VEGA_LITE: Self = Self(&Row {
        name: "vega-lite",
        aliases: &["vega"],
        extensions: &["vl.json", "vega.json", "vega-lite.json"],
        about: "A flame graph as a chart of Vega-Lite",
        file: "chart of Vega-Lite",
        holds: Holds::Samples,
        has_title: true,
        is_in_order: false,
        has_memory_too: false,
        misfit: |options| {
            options
                .kinds
                .then_some("a chart is coloured by kind; it needs no --kinds")
        },
        is_start: |start| start.starts_with(b"{\"$schema\"") && has(start, b"/schema/vega-lite/"),
        write: |profile, options, mut out| write(profile, options, &mut out),
    });
}

/// The least share of a call that is drawn: a fifth of a pixel.
const LEAST: f64 = 1.0 / 6_000.0;
/// The most rectangles.
const MOST: usize = 20_000;
const WIDTH: u32 = 1_200;
const HEIGHT: u32 = 16;

/// The kinds of rectangles with their colours, as in our flame graphs.
const STATUS: [(&str, &str); 8] = [
    ("Python", "#6ba5d8"),
    ("native", "#eda05e"),
    ("generated", "#e5cf5e"),
    ("system", "#b08bd0"),
    ("garbage collection", "#7fbf7f"),
    ("waiting", "#dcdcdc"),
    ("runtime", "#a9a9a9"),
    ("other", "#c8b8a8"),
];

/// Writes the chart.
pub fn write(profile: &Profile, options: &Options, out: &mut impl Write) -> Result<(), Error> {
    let view = View::new(profile, options);
    let weights = Weights::or_time(options.weights, profile);
    let calls = Calls::new(
        &view,
        &Kinds::of(profile),
        Manner::new(options, weights, false),
    );
    let boxes = Boxes::new(&view, &calls, options);
    chart(&view, &calls, &boxes, (options, weights), out).map_err(Error::Write)
}

/// A rectangle.
struct Rectangle {
    call: u32,
    level: u32,
    from: u64,
    length: u64,
}

struct Boxes {
    rectangles: Vec<Rectangle>,
    left_out: usize,
    whole: u64,
    levels: u32,
}

impl Boxes {
    fn new(view: &View<'_>, calls: &Calls, options: &Options) -> Self {
        let totals: Vec<u64> = calls.totals().iter().map(|&(weight, _)| weight).collect();
        let (roots, children) = match options.order {
            Order::Name => calls.children(|call| (0, name(view, calls, call).0.to_owned())),
            _ => calls.children(|call| {
                (
                    u64::MAX - totals[call as usize],
                    name(view, calls, call).0.to_owned(),
                )
            }),
        };
        let whole = (roots.iter()).fold(0_u64, |sum, &root| {
            sum.saturating_add(totals[root as usize])
        });
        let least = options.min_share.unwrap_or(LEAST) * whole as f64;
        let mut rectangles = Vec::new();
        let mut open: Vec<(&[u32], u64, u32)> = vec![(&roots, 0, 0)];
        while let Some((siblings, mut from, level)) = open.pop() {
            for &call in siblings {
                let length = totals[call as usize];
                if length > 0 && length as f64 >= least {
                    rectangles.push(Rectangle {
                        call,
                        level,
                        from,
                        length,
                    });
                    open.push((&children[call as usize], from, level + 1));
                }
                from = from.saturating_add(length);
            }
        }
        rectangles.sort_by_key(|row| std::cmp::Reverse(row.length));
        rectangles.truncate(MOST);
        rectangles.sort_by_key(|row| (row.level, row.from));
        Self {
            left_out: calls.calls.len() - rectangles.len(),
            levels: rectangles
                .iter()
                .map(|row| row.level + 1)
                .max()
                .unwrap_or(1),
            rectangles,
            whole,
        }
    }
}

/// The name, the file and the kind of a call.
fn name<'a>(view: &'a View<'_>, calls: &'a Calls, call: u32) -> (&'a str, &'a str, usize) {
    match calls.calls[call as usize].callee {
        Callee::Owner(owner) => (&calls.owners[owner as usize], "", 7),
        Callee::System => ("[system]", "", 3),
        Callee::Function { function, .. } => {
            let function = &view.functions[function as usize];
            let kind = match function.side {
                Side::Python => 0,
                Side::Native => 1,
                Side::Generated => 2,
                Side::Kernel => 3,
                Side::Collects => 4,
                Side::Waits => 5,
                Side::Runtime => 6,
                Side::Missing => 7,
            };
            (&function.name, view.path(function.file), kind)
        }
    }
}

fn chart(
    view: &View<'_>,
    calls: &Calls,
    boxes: &Boxes,
    (options, weights): (&Options, Weights),
    out: &mut impl Write,
) -> io::Result<()> {
    let profile = view.profile;
    let title = match &options.title {
        Some(title) => title.clone(),
        None => owner::title(profile),
    };
    let unit = match (measured::of(profile), weights) {
        (Some(measure), _) if measure.counts => "blocks",
        (Some(_), _) => "bytes",
        (None, Weights::Time) if profile.meta.kind != SampleKind::Events => "milliseconds",
        _ if profile.meta.event.is_empty() => "samples",
        _ => &profile.meta.event[..],
    };
    let is_time = unit == "milliseconds";
    out.write_all(
        b"{\"$schema\":\"https://vega.github.io/schema/vega-lite/v6.json\",\n\"title\":{\"text\":",
    )?;
    json::string(out, &title)?;
    if boxes.left_out > 0 {
        let text = format!("{} narrow calls are not drawn", boxes.left_out);
        out.write_all(b",\"subtitle\":")?;
        json::string(out, &text)?;
    }
    let width = WIDTH;
    let height = HEIGHT * boxes.levels;
    write!(out, "}},\n\"width\":{width},\"height\":{height},\n")?;
    out.write_all(b"\"params\":[{\"name\":\"view\",\"select\":{\"type\":\"interval\",\"encodings\":[\"x\"]},\"bind\":\"scales\"},{\"name\":\"chosen\",\"select\":\"point\"}],\n")?;
    out.write_all(
        b"\"mark\":{\"type\":\"rect\",\"stroke\":\"white\",\"strokeWidth\":0.5},\n\"encoding\":{",
    )?;
    write!(
        out,
        "\"x\":{{\"field\":\"x\",\"type\":\"quantitative\",\"title\":"
    )?;
    json::string(out, unit)?;
    out.write_all(b",\"scale\":{\"domain\":[0,")?;
    amount(boxes.whole.max(1), is_time, out)?;
    // The root is at the bottom, unless it is asked for at the top.
    let sort = match options.icicle {
        true => "ascending",
        false => "descending",
    };
    write!(
        out,
        "],\"nice\":false}}}},\"x2\":{{\"field\":\"x2\"}},\
         \"y\":{{\"field\":\"y\",\"type\":\"ordinal\",\"sort\":\"{sort}\",\"axis\":null}},\
         \"opacity\":{{\"condition\":{{\"param\":\"chosen\",\"value\":1}},\"value\":0.5}},"
    )?;
    out.write_all(b"\"color\":{\"field\":\"status\",\"type\":\"nominal\",\"legend\":{\"orient\":\"bottom\",\"title\":null},\"scale\":{")?;
    let used = |kind: usize| {
        let mut rectangles = boxes.rectangles.iter();
        rectangles.any(|row| name(view, calls, row.call).2 == kind)
    };
    let used: Vec<usize> = (0..STATUS.len()).filter(|&kind| used(kind)).collect();
    json::list(out, "domain", &used, |out, &kind| {
        json::string(out, STATUS[kind].0)
    })?;
    out.write_all(b",")?;
    json::list(out, "range", &used, |out, &kind| {
        json::string(out, STATUS[kind].1)
    })?;
    out.write_all(b"}},")?;
    let fields = ["function", "file", "value", "share", "own"];
    json::list(out, "tooltip", fields, |out, field| {
        let format = match field {
            "share" => ",\"type\":\"quantitative\",\"format\":\".1%\"",
            "value" | "own" => ",\"type\":\"quantitative\",\"format\":\",~f\"",
            _ => ",\"type\":\"nominal\"",
        };
        write!(out, "{{\"field\":\"{field}\"{format}}}")
    })?;
    out.write_all(b"},\n\"data\":{")?;
    json::list(out, "values", &boxes.rectangles, |out, row| {
        let (function, file, kind) = name(view, calls, row.call);
        out.write_all(b"\n{\"x\":")?;
        amount(row.from, is_time, out)?;
        out.write_all(b",\"x2\":")?;
        amount(row.from.saturating_add(row.length), is_time, out)?;
        write!(
            out,
            ",\"y\":{},\"status\":\"{}\",\"function\":",
            row.level, STATUS[kind].0
        )?;
        let lines = calls.lines(row.call);
        let line = match calls.calls[row.call as usize].callee {
            Callee::Function { line, .. } if line > 0 => line,
            _ => lines.0,
        };
        json::string(out, function)?;
        out.write_all(b",\"file\":")?;
        match (file, line) {
            ("", _) => out.write_all(b"\"\"")?,
            (file, 0) => json::string(out, file)?,
            (file, line) => json::string(out, &format!("{file}:{line}"))?,
        }
        out.write_all(b",\"value\":")?;
        amount(row.length, is_time, out)?;
        out.write_all(b",\"own\":")?;
        amount(calls.calls[row.call as usize].own, is_time, out)?;
        let share = row.length as f64 / boxes.whole.max(1) as f64;
        write!(out, ",\"share\":{share:.5}}}")
    })?;
    out.write_all(b"}}\n")
}

/// Writes a weight: nanoseconds as milliseconds, others as they are.
fn amount(weight: u64, is_time: bool, out: &mut impl Write) -> io::Result<()> {
    match is_time {
        true => json::millionths(out, weight),
        false => write!(out, "{weight}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn callees_stand_on_their_callers() {
        let profile = Profile::from_folded("main;work 3\nmain;idle 1").unwrap();
        let mut out = Vec::new();
        write(&profile, &Options::default(), &mut out).unwrap();
        assert!(Format::VEGA_LITE.is_start_of(&out));
        let file: serde_json::Value = serde_json::from_slice(&out).unwrap();
        let values = file["data"]["values"].as_array().unwrap();
        let rows: Vec<String> = (values.iter())
            .map(|row| {
                format!(
                    "{} {} {} {}",
                    row["function"], row["x"], row["x2"], row["y"]
                )
            })
            .collect();
        assert_eq!(rows, ["\"main\" 0 4 0", "\"work\" 0 3 1", "\"idle\" 3 4 1"]);
        assert_eq!(values[1]["share"], 0.75);
    }
}
