//! Annotated functions as text: the head of each, and its rows.

use std::collections::BTreeMap;
use std::io;

use profundo_analysis::{Amount, Annotation, Estimate, InstructionShare, Selection};
use profundo_model::{FileId, FrameId, Profile};

use super::arrows::{Arrows, Jump, Strokes};
use super::rows::Row;
use super::{Annotate, Listing};
use crate::command::{
    BOLD, FEW, GRAY, KindColumns, heat, push_share, share_width, write_empty, write_end,
};
use crate::naming::Names;
use crate::naming::source::{Source, sentences, shown};
use crate::naming::weighs::Weighs;
use crate::page::Page;
use crate::page::line::{Line, Style};
use crate::page::palette::Color;
use crate::page::units::{counted, percent, plus_minus, share_of_whole, share_text, share_title};

/// The number of lanes for arrows, on a narrow screen and on a wide one.
const LANES: [usize; 2] = [6, 10];
/// With fewer columns, arrows have the smaller number of lanes.
const WIDE: usize = 110;
/// The instructions stand so much to the right of their source.
const INDENT: usize = 2;
/// The largest number of other functions that are listed.
const OTHERS: usize = 5;

/// Writes the report.
pub(super) fn write(view: &Annotate, page: &mut Page<'_>, selection: &Selection) -> io::Result<()> {
    let profile = page.profile;
    let options = &view.options;
    if write_empty(page, &options.choices, selection)? {
        return crate::quality::write(page, selection, options.quality);
    }
    crate::quality::write_grave(page, options.quality, crate::quality::SAMPLED)?;
    let rows = view.annotated(profile, selection);
    if rows.is_empty() {
        let name = view.name.text();
        let mut text = format!(" no function that was sampled is called “{name}”");
        let nearest = view.nearest(profile, selection);
        if !nearest.is_empty() {
            text.push_str("; nearest: ");
            text.push_str(&nearest.join(", "));
        }
        text.push('.');
        page.marked("Warning:", Color::Yellow, &text)?;
        return write_end(page, &options.choices, selection, options.quality);
    }
    let places = rows.iter().map(|(listing, _)| listing.place());
    let names = Names::of_places(profile, places);
    let (shown, others): (Vec<_>, Vec<_>) =
        (rows.iter()).partition(|(listing, _)| !listing.instructions.is_empty());
    for (listing, annotation) in shown {
        let mut function = Function::new(view, page, profile, selection, listing, annotation);
        function.write_head(page, &names)?;
        function.write_rows(page, &names)?;
        page.plain("")?;
    }
    write_others(view, page, &names, &others)?;
    write_end(page, &options.choices, selection, options.quality)
}

/// Writes which other functions have the name, and how to see them.
fn write_others(
    view: &Annotate,
    page: &mut Page<'_>,
    names: &Names<'_>,
    others: &[&(&Listing, Annotation)],
) -> io::Result<()> {
    if others.is_empty() {
        return Ok(());
    }
    let mut listed: Vec<String> = (others.iter().take(OTHERS))
        .map(|(listing, annotation)| {
            let name = called(page.profile, names, listing);
            let at = names.at(listing.place());
            let share = match share_text(&annotation.total) {
                counts if annotation.total.few.is_some() => counts,
                share => format!("{share} %"),
            };
            match at.is_empty() {
                true => format!("{name} {share}"),
                false => format!("{name} ({at}) {share}"),
            }
        })
        .collect();
    if others.len() > OTHERS {
        listed.push(format!("{} more", others.len() - OTHERS));
    }
    let next = view.shown_count() + 1;
    page.sentence(&format!(
        "“{}” also means: {}; `--limit {next}` shows the next one too.",
        view.name.text(),
        listed.join(", "),
    ))
}

/// The name of a function, with the types of a generic one.
fn called<'a>(profile: &'a Profile, names: &Names<'a>, listing: &Listing) -> &'a str {
    match profile
        .strings
        .get(profile.frames.get(listing.frame).signature)
    {
        "" => names.function(listing.place()),
        signature => signature,
    }
}

/// A function that is being written.
struct Function<'a> {
    profile: &'a Profile,
    listing: &'a Listing,
    annotation: &'a Annotation,
    rows: Vec<Row>,
    arrows: Arrows,
    strokes: Strokes,
    sources: BTreeMap<FileId, Source>,
    widths: Widths,
}

/// The widths of columns.
#[derive(Debug, Clone, Copy)]
struct Widths {
    share: usize,
    /// True if there is a column for the time with callees.
    has_total: bool,
    is_few: bool,
    address: usize,
}

impl<'a> Function<'a> {
    fn new(
        view: &Annotate,
        page: &Page<'_>,
        profile: &'a Profile,
        selection: &Selection,
        listing: &'a Listing,
        annotation: &'a Annotation,
    ) -> Self {
        let rows = view.choice.rows(profile, listing, annotation);
        let mut row_of = vec![None; listing.instructions.len()];
        for (at, row) in rows.iter().enumerate() {
            if let Row::Instruction(index) = row {
                row_of[*index] = Some(at);
            }
        }
        let jumps: Vec<Jump> = (listing.instructions.iter().enumerate())
            .filter_map(|(index, instruction)| {
                let to = listing.at(instruction.jump?)?;
                Some(Jump {
                    from: row_of[index]?,
                    to: row_of[to]?,
                })
            })
            .collect();
        let mut sources = BTreeMap::new();
        for row in &rows {
            if let Row::Source(frame) = row {
                let file = profile.frames.get(*frame).file;
                sources
                    .entry(file)
                    .or_insert_with(|| Source::of(profile, file, view.from_disk));
            }
        }
        let has_total = (annotation.instructions.iter())
            .any(|row| row.total_amount.weight != row.own_amount.weight);
        let kinds = KindColumns::new(profile, selection, page.columns);
        let is_few = kinds.few.is_some();
        let share = share_width(profile, page.columns);
        Self {
            profile,
            listing,
            annotation,
            rows,
            arrows: Arrows::new(&jumps, LANES[usize::from(page.columns >= WIDE)]),
            strokes: match page.is_colored() {
                true => Strokes::Box,
                false => Strokes::Ascii,
            },
            sources,
            widths: Widths {
                share: if is_few { share.max(FEW) } else { share },
                has_total,
                is_few,
                address: format!("{:x}", listing.code.end).len().max(4),
            },
        }
    }

    /// Writes which function it is, and what it takes.
    fn write_head(&self, page: &mut Page<'_>, names: &Names<'_>) -> io::Result<()> {
        let Self {
            listing,
            annotation,
            ..
        } = self;
        let mut line = Line::default();
        line.push(called(self.profile, names, listing), BOLD);
        let at = names.at(listing.place());
        if !at.is_empty() {
            line.push("  ", Style::PLAIN);
            line.push(&at, GRAY);
        }
        line.truncate(page.columns);
        page.line(&mut line)?;
        let weighs = Weighs::of(self.profile);
        let sure = |estimate: &Estimate| match estimate.is_exact() || estimate.few.is_some() {
            true => String::new(),
            false => format!(" {}", plus_minus(estimate)),
        };
        let total = share_of_whole(&annotation.total, weighs.whole());
        let own = match share_text(&annotation.own) {
            none if none.is_empty() => "0".to_owned(),
            text => text,
        };
        let (own, unit) = match annotation.own.few {
            Some(_) => (own, ""),
            None => (own, " %"),
        };
        page.plain(&format!(
            "{total}{}, {own}{unit} by itself{}, {}.",
            sure(&annotation.total),
            sure(&annotation.own),
            weighs.samples(annotation.total_amount.samples),
        ))?;
        page.sentence(&format!(
            "{} at {:#x} to {:#x} in {}. Shares below are of this function's {}.",
            counted(listing.instructions.len() as u64, "instruction"),
            listing.code.starts[0],
            listing.code.end,
            listing.file,
            weighs.whole(),
        ))?;
        if listing.build_id.is_empty() {
            let text = " the file has no build id, so nothing but its age says that it is the one that ran.";
            page.marked("Note:", Color::Cyan, text)?;
        }
        if annotation.misplaced > 0 {
            let text = format!(
                " {} that {} sampled {} no start of an instruction: the program may have changed its code, or another file ran.",
                counted(annotation.misplaced as u64, "address"),
                if annotation.misplaced == 1 {
                    "was"
                } else {
                    "were"
                },
                if annotation.misplaced == 1 {
                    "is"
                } else {
                    "are"
                },
            );
            page.marked("Warning:", Color::Yellow, &text)?;
        }
        Ok(())
    }

    fn write_rows(&mut self, page: &mut Page<'_>, names: &Names<'_>) -> io::Result<()> {
        page.plain("")?;
        let mut line = Line::default();
        self.push_titles(&mut line);
        line.truncate(page.columns);
        page.line(&mut line)?;
        for at in 0..self.rows.len() {
            match self.rows[at].clone() {
                Row::Source(frame) => self.push_source(page, &mut line, at, frame),
                Row::Instruction(index) => self.push_instruction(&mut line, at, index),
                Row::LeftOut(range) => self.push_left_out(&mut line, at, range),
            }
            line.truncate(page.columns);
            page.line(&mut line)?;
        }
        if self.arrows.left_out > 0 {
            let text = counted(self.arrows.left_out as u64, "jump");
            page.plain(&format!("({text} without an arrow: there are too many.)"))?;
        }
        let has_lines = self.rows.iter().any(|row| matches!(row, Row::Source(_)));
        if !has_lines {
            page.sentence(
                "The lines of the source are not known: the file has no debug information (`-g` adds it).",
            )?;
        }
        let files = self.sources.iter();
        let files: Vec<_> = files
            .map(|(file, source)| (source, names.file(*file)))
            .collect();
        for sentence in sentences(files) {
            page.sentence(&sentence)?;
        }
        Ok(())
    }

    fn push_titles(&self, line: &mut Line) {
        let Widths {
            share,
            has_total,
            is_few,
            address,
        } = self.widths;
        let mut column = |title: &str| {
            let title = share_title(title, is_few);
            match is_few {
                true => line.push_fmt(format_args!("{title:<share$}"), BOLD),
                false => line.push_fmt(format_args!("{:<share$}", format!("{title:>6}")), BOLD),
            }
        };
        column("Self %");
        if has_total {
            column("Total %");
        }
        line.push_fmt(format_args!(" {:>address$}  ", "Address"), BOLD);
        let used = "Address".len().saturating_sub(address);
        line.push_spaces((self.arrows.width()).saturating_sub(used));
        line.push("Instruction", BOLD);
    }

    /// Adds an empty place for the shares and the address.
    fn push_blank(&self, line: &mut Line, at: usize, address: &str) {
        let columns = 1 + usize::from(self.widths.has_total);
        line.push_spaces(columns * self.widths.share);
        let width = self.widths.address;
        line.push_fmt(format_args!(" {address:>width$}  "), GRAY);
        self.push_arrows(line, at);
    }

    fn push_arrows(&self, line: &mut Line, at: usize) {
        line.push(
            &self.arrows.draw(at, self.strokes),
            Style::color(Color::Blue),
        );
    }

    /// Adds a line of source.
    fn push_source(&self, page: &mut Page<'_>, line: &mut Line, at: usize, frame: FrameId) {
        let row = self.profile.frames.get(frame);
        self.push_blank(line, at, "");
        let path = self.profile.file_path(frame);
        let name = path.rsplit('/').next().unwrap_or(path);
        line.link = page.link(row.file, row.line);
        line.push_fmt(
            format_args!("{}:{}", shown(name), row.line),
            Style { link: true, ..GRAY },
        );
        if row.inlined {
            let function = self.profile.function_name(frame);
            line.push(" ", GRAY);
            line.push(function.rsplit("::").next().unwrap_or(function), GRAY);
        }
        let source = self.sources.get(&row.file);
        if let Some(text) = source.and_then(|file| file.line(self.profile, row.file, row.line)) {
            line.push("  ", GRAY);
            line.push(shown(text).trim_start(), GRAY);
        }
    }

    /// Adds an instruction.
    fn push_instruction(&self, line: &mut Line, at: usize, index: usize) {
        let Widths {
            share,
            has_total,
            address,
            ..
        } = self.widths;
        let found = self.share(index);
        let estimates = found.map_or([None; 2], |row| [Some(row.own), Some(row.total)]);
        for estimate in estimates.into_iter().take(1 + usize::from(has_total)) {
            match estimate.filter(|estimate| estimate.share > 0.0) {
                Some(estimate) => push_share(line, &estimate, share),
                None => line.push_spaces(share),
            }
        }
        let start = self.listing.code.starts[index];
        line.push_fmt(format_args!(" {start:>address$x}  "), GRAY);
        self.push_arrows(line, at);
        line.push_spaces(INDENT);
        let style = match found {
            Some(row) => heat(row.own.share.max(row.total.share)),
            None => Style::PLAIN,
        };
        line.push(&self.listing.instructions[index].text, style);
    }

    fn share(&self, index: usize) -> Option<&InstructionShare> {
        let rows = &self.annotation.instructions;
        let at = rows.binary_search_by_key(&index, |row| row.index).ok()?;
        Some(&rows[at])
    }

    /// Adds how much is left out.
    fn push_left_out(&self, line: &mut Line, at: usize, range: std::ops::Range<usize>) {
        let rows = &self.annotation.instructions;
        let first = rows.partition_point(|row| row.index < range.start);
        let last = rows.partition_point(|row| row.index < range.end);
        let mut own = Amount::default();
        rows[first..last]
            .iter()
            .for_each(|row| own += row.own_amount);
        self.push_blank(line, at, "");
        let count = counted(range.len() as u64, "instruction");
        let whole = self.annotation.total_amount.weight.max(1);
        let share = own.weight as f64 / whole as f64;
        let what = match (first == last, self.widths.is_few) {
            (true, _) => "without samples".to_owned(),
            (_, true) => format!("with {}", counted(own.samples, "sample")),
            (_, false) if share <= 0.0 => "with 0 %".to_owned(),
            (_, false) => format!("with {} %", percent(share)),
        };
        line.push_fmt(format_args!("… {count} {what} …"), GRAY);
    }
}
