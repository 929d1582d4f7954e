//! A heatmap: time against the offset within each second or minute, as one SVG file.
//!
//! A column is a second (or a minute, …), from bottom to top; darker cells had more time on a CPU.
//! The picture is whole without scripts. In a browser, the cell below the mouse is described, and
//! two clicks choose a stretch of time for the filters of other commands.

use std::fmt::Write as _;
use std::io::{self, Write};

use profundo_analysis::{Cell, Grid, Heatmap, Place, Shown, heatmap};
use profundo_model::Profile;

use super::flame::about;
use super::flame::theme::PAGE;
use super::format::{Format, Holds, Row, has};
use super::head::{Head, LETTER};
use super::text::{escaped, percent, plain, plural, shortened, time};
use super::{Options, json};
use crate::Error;

const STYLE: &str = include_str!("style.css");
const SCRIPT: &str = include_str!("script.js");

/// The width of the picture, of its margins, and the height of the cells altogether.
const WIDTH: f64 = 1200.0;
const LEFT: f64 = 70.0;
const RIGHT: f64 = 20.0;
const HEIGHT: f64 = 500.0;
/// The widest cell.
const WIDEST: f64 = 40.0;

/// From little to most, on a light and on a dark ground.
const SHADES: [(&str, &str); 9] = [
    ("#d5e5f9", "#1c2736"),
    ("#bdd3ef", "#233449"),
    ("#a6c2e5", "#2b415d"),
    ("#8fb1db", "#334e72"),
    ("#79a0d1", "#3b5c87"),
    ("#628fc7", "#436b9d"),
    ("#4c7ebc", "#4b79b4"),
    ("#356db2", "#5488cb"),
    ("#1a5ca7", "#5c97e2"),
];

impl Format {
    /// See [`heatmap`](self). It is none of [`Format::ALL`]: it has a verb of its own.
    pub const HEATMAP: Self = Self(&Row {
        name: "heatmap",
        aliases: &[],
        extensions: &["heatmap.svg"],
        about: "Time against the offset within each second",
        file: "heatmap of profundo's",
        holds: Holds::Samples,
        has_title: true,
        is_in_order: true,
        has_memory_too: false,
        misfit: |_| None,
        is_start: |start| has(start, b"<svg ") && has(start, b" data-heatmap=\""),
        write: |profile, options, mut out| write(profile, options, &mut out),
    });
}

/// Writes the picture.
pub fn write(profile: &Profile, options: &Options, out: &mut impl Write) -> Result<(), Error> {
    if !profile.has_times() {
        return Err(Error::NoOrder);
    }
    let grid = Grid {
        column: options.column,
        row: options.row,
    };
    let shown = match options.include_runtime {
        true => Shown::ALL,
        false => Shown::COMMAND,
    };
    let Some(map) = heatmap(profile, grid, shown) else {
        return Err(match profile.samples.is_empty() {
            true => Error::NoOrder,
            false => Error::TooManyCells,
        });
    };
    let picture = Picture::new(profile, &map, options);
    picture.write(out).map_err(Error::Write)
}

/// The shown quantity of a cell.
fn amount(cell: &Cell, is_waiting: bool) -> u64 {
    if is_waiting { cell.waiting } else { cell.busy }
}

struct Picture<'a> {
    profile: &'a Profile,
    map: &'a Heatmap,
    options: &'a Options,
    /// The size of a cell.
    across: f64,
    up: f64,
    /// The most of a cell.
    most: u64,
    /// The top of the cells.
    top: f64,
    head: Head,
}

impl<'a> Picture<'a> {
    fn new(profile: &'a Profile, map: &'a Heatmap, options: &'a Options) -> Self {
        let room = WIDTH - LEFT - RIGHT;
        let mut head = Head::new(&about::title(profile, options), 8.0, WIDTH);
        for line in lines(profile, map, options) {
            head.line(&line);
        }
        let amounts = map.cells.iter().map(|cell| amount(cell, options.waiting));
        Self {
            profile,
            map,
            options,
            across: (room / map.columns as f64).min(WIDEST),
            up: HEIGHT / map.rows as f64,
            most: amounts.max().unwrap_or(0),
            top: f64::from(head.y) + 22.0,
            head,
        }
    }

    /// The shade of a cell: 0 for nothing.
    fn shade(&self, cell: &Cell) -> usize {
        let part = amount(cell, self.options.waiting) as f64 / self.most.max(1) as f64;
        (part * SHADES.len() as f64).ceil() as usize
    }

    fn write(&self, out: &mut impl Write) -> io::Result<()> {
        let (top, bottom) = (self.top, self.top + HEIGHT);
        let height = bottom + 76.0;
        let title = escaped(&shortened(&about::title(self.profile, self.options), 400));
        write!(
            out,
            "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{WIDTH}\" height=\"{height}\" viewBox=\"0 0 {WIDTH} {height}\" data-heatmap=\"1\">\n<title>{title}</title>\n<style><![CDATA[\n{STYLE}{}]]></style>\n",
            rules()
        )?;
        let mut text = format!(
            "<rect class=\"ground\" width=\"100%\" height=\"100%\"/>\n{}",
            self.head.svg
        );
        self.legend(&mut text, top - 14.0);
        self.cells(&mut text);
        self.axes(&mut text);
        let _ = writeln!(
            text,
            "<text class=\"details\" x=\"8\" y=\"{}\"></text><text class=\"details faint\" x=\"8\" y=\"{}\"></text>",
            bottom + 46.0,
            bottom + 63.0
        );
        out.write_all(text.as_bytes())?;
        out.write_all(b"<script type=\"application/json\" class=\"data\"><![CDATA[\n")?;
        out.write_all(self.data()?.replace("]]>", "]]\\u003e").as_bytes())?;
        write!(
            out,
            "]]></script>\n<script><![CDATA[\n{SCRIPT}]]></script>\n</svg>\n"
        )
    }

    /// One path for each shade: few elements, however many cells.
    fn cells(&self, text: &mut String) {
        let mut paths = vec![String::new(); SHADES.len() + 1];
        for (index, cell) in self.map.cells.iter().enumerate() {
            let shade = self.shade(cell);
            if shade > 0 {
                let (column, row) = (index / self.map.rows, index % self.map.rows);
                let _ = write!(
                    paths[shade],
                    "M{:.1} {:.1}h{:.1}v{:.1}h-{:.1}z",
                    LEFT + column as f64 * self.across,
                    self.top + HEIGHT - (row + 1) as f64 * self.up,
                    self.across,
                    self.up,
                    self.across
                );
            }
        }
        let _ = writeln!(
            text,
            "<rect class=\"frame\" x=\"{LEFT}\" y=\"{}\" width=\"{:.1}\" height=\"{HEIGHT}\"/>",
            self.top,
            self.across * self.map.columns as f64
        );
        text.push_str("<g class=\"cells\">\n");
        for (shade, path) in paths.iter().enumerate().skip(1) {
            if !path.is_empty() {
                let _ = writeln!(text, "<path class=\"s{shade}\" d=\"{path}\"/>");
            }
        }
        text.push_str("</g>\n");
    }

    fn legend(&self, text: &mut String, y: f64) {
        let what = match self.options.waiting {
            true => "waiting",
            false => "on a CPU",
        };
        let cell = time(self.map.row);
        let _ = write!(
            text,
            "<text x=\"8\" y=\"{y}\">Time {what} in {cell}: 0</text>"
        );
        let mut x = 8.0 + LETTER * (13.0 + what.len() as f64 + cell.len() as f64);
        for shade in 1..=SHADES.len() {
            let _ = write!(
                text,
                "<rect class=\"s{shade}\" x=\"{x:.0}\" y=\"{:.0}\" width=\"18\" height=\"12\"/>",
                y - 10.0
            );
            x += 18.0;
        }
        let threads = self.most as f64 / self.map.row.max(1) as f64;
        let _ = writeln!(
            text,
            "<text x=\"{:.0}\" y=\"{y}\">{} ({threads:.2} threads)</text>",
            x + 6.0,
            time(self.most)
        );
    }

    fn axes(&self, text: &mut String) {
        let map = self.map;
        let bottom = self.top + HEIGHT;
        // A label about every 80 pixels.
        let each = (80.0 / self.across).ceil().max(1.0) as usize;
        for column in (0..map.columns).step_by(each) {
            let x = LEFT + column as f64 * self.across;
            let at = map.start + column as u64 * map.column;
            let _ = write!(
                text,
                "<path class=\"tick\" d=\"M{x:.1} {bottom}v5\"/><text class=\"faint\" x=\"{x:.1}\" y=\"{}\">{}</text>",
                bottom + 17.0,
                instant(at)
            );
        }
        for quarter in 0..=4_u32 {
            let y = bottom - HEIGHT * f64::from(quarter) / 4.0;
            let at = map.column * u64::from(quarter) / 4;
            let _ = write!(
                text,
                "<path class=\"tick\" d=\"M{} {y:.1}h5\"/><text class=\"faint\" text-anchor=\"end\" x=\"{}\" y=\"{:.1}\">{}</text>",
                LEFT - 5.0,
                LEFT - 8.0,
                y + 4.0,
                if quarter == 0 {
                    "0".to_owned()
                } else {
                    time(at)
                }
            );
        }
        text.push('\n');
    }

    /// The cells for the script: their times, amounts, and hottest functions.
    fn data(&self) -> io::Result<String> {
        let map = self.map;
        let mut out = Vec::new();
        write!(
            out,
            "{{\"start\":{},\"column\":{},\"row\":{},\"columns\":{},\"rows\":{},\"left\":{LEFT},\"top\":{},\"across\":{},\"up\":{},\"names\":[",
            map.start, map.column, map.row, map.columns, map.rows, self.top, self.across, self.up
        )?;
        let mut names: Vec<String> = Vec::new();
        let mut hottest = Vec::with_capacity(map.cells.len());
        for cell in &map.cells {
            let name = cell.hottest.map(|(place, _)| name(self.profile, place));
            hottest.push(name.map(|name| {
                let known = names.iter().position(|known| *known == name);
                known.unwrap_or_else(|| {
                    names.push(name);
                    names.len() - 1
                })
            }));
        }
        for (index, name) in names.iter().enumerate() {
            if index > 0 {
                out.push(b',');
            }
            let name: String = shortened(name, 200).chars().map(plain).collect();
            json::string(&mut out, &name)?;
        }
        // A cell: microseconds on a CPU and in waits, samples, and the hottest function with its
        // microseconds; 0 for a cell with nothing.
        out.write_all(b"],\"cells\":[")?;
        for (index, (cell, hottest)) in map.cells.iter().zip(hottest).enumerate() {
            if index > 0 {
                out.push(b',');
            }
            if cell.busy == 0 && cell.waiting == 0 && cell.samples == 0 {
                out.push(b'0');
                continue;
            }
            let time = cell.hottest.map_or(0, |(_, time)| time);
            write!(
                out,
                "[{},{},{},{},{}]",
                cell.busy / 1000,
                cell.waiting / 1000,
                cell.samples,
                hottest.map_or(-1, |name| i64::try_from(name).unwrap_or(-1)),
                time / 1000
            )?;
        }
        out.write_all(b"]}\n")?;
        String::from_utf8(out).map_err(io::Error::other)
    }
}

fn name(profile: &Profile, place: Place) -> String {
    match place {
        Place::Frame(frame) => match profile.function_name(frame) {
            "" => "[unknown]".into(),
            name => name.into(),
        },
        Place::Reason(reason) => reason.name().into(),
        Place::Unknown => "[unknown]".into(),
    }
}

/// An instant on the time axis.
fn instant(nanoseconds: u64) -> String {
    let seconds = nanoseconds as f64 / 1e9;
    match seconds {
        0.0 => "0 s".into(),
        whole if whole.fract() == 0.0 => format!("{whole} s"),
        part => format!("{part:.1} s"),
    }
}

/// The rules of the shades for each ground.
fn rules() -> String {
    let rule = |under: &str, of: fn(&(&'static str, &'static str)) -> &'static str| -> String {
        (SHADES.iter().enumerate())
            .map(|(index, shade)| format!("{under}.s{}{{fill:{}}}", index + 1, of(shade)))
            .collect()
    };
    let dark = |under: &str| {
        let others = [
            ("text", "fill:#e6edf3"),
            (".ground", "fill:#14181d"),
            (".faint", "fill:#9aa4ae"),
            (".frame", "stroke:#3d444d"),
            (".tick", "stroke:#9aa4ae"),
            (".mark", "stroke:#e6edf3"),
        ];
        let others = others.map(|(parts, rules)| format!("{under}{parts}{{{rules}}}"));
        rule(under, |shade| shade.1) + &others.concat()
    };
    format!(
        "{}\n@media (prefers-color-scheme:dark){{:root:not(.light){PAGE}{}}}\n:root.dark{PAGE}{}\n",
        rule("", |shade| shade.0),
        dark("svg:not(.light) "),
        dark("svg.dark ")
    )
}

/// The lines below the title.
fn lines(profile: &Profile, map: &Heatmap, options: &Options) -> Vec<String> {
    let sum = |of: fn(&Cell) -> u64| map.cells.iter().map(of).fold(0, u64::saturating_add);
    let (busy, waiting) = (sum(|cell| cell.busy), sum(|cell| cell.waiting));
    let samples = sum(|cell| cell.samples);
    let mut first = format!("{} on a CPU", time(busy));
    if waiting > 0 {
        let _ = write!(first, " and {} waiting, of all threads,", time(waiting));
    }
    let _ = write!(
        first,
        " in {samples} samples · a column is {}, a row {}",
        time(map.column),
        time(map.row)
    );
    let mut lines = vec![first];
    lines.extend(options.passing());
    let recorded = about::recorded(profile);
    if !recorded.is_empty() {
        lines.push(recorded.join(" · "));
    }
    if let Some(idle) = map.idle {
        lines.push(format!(
            "Without idle threads: {} only waited for work, {} in all",
            plural(idle.threads as u64, "thread"),
            time(idle.waiting)
        ));
    }
    if map.uncovered > 0 {
        lines.push(format!(
            "{} of CPU time has no sample, so no place in time, and is not drawn",
            time(map.uncovered)
        ));
    }
    if options.waiting {
        return lines;
    }
    let (pauses, (from, to)) = (map.pauses(), map.covered);
    if let Some(longest) = pauses.first() {
        let sum: u64 = pauses.iter().map(|pause| pause.time).sum();
        let plural = if pauses.len() == 1 { "pause" } else { "pauses" };
        lines.push(format!(
            "{} {plural} without time on a CPU: {} ({} of the time); the longest from {} for {}",
            pauses.len(),
            time(sum),
            percent(sum as f64 / (to - from).max(1) as f64),
            time(longest.from),
            time(longest.time)
        ));
    }
    lines
}

#[cfg(test)]
mod tests;
