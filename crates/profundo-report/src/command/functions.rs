//! The table of functions: their own shares and those with their callees, how sure these are, and
//! the kinds of time.

use std::cmp::Reverse;
use std::io;

use profundo_analysis::{Estimate, FunctionShare, Place, Selection, shares, traced};
use profundo_model::{Profile, python_name};

use super::shares::{GRAY, KindColumns, push_share, share_width};
use super::{View, ViewOptions, write_empty, write_end};
use crate::SortBy;
use crate::json::{Json, place, share_members};
use crate::naming::Names;
use crate::naming::weighs::Weighs;
use crate::page::Page;
use crate::page::line::{Line, Style};
use crate::page::units::{percent, share_title};
use crate::page::width::{digits, keep_head, keep_tail, width};
use crate::table::{Column, Table, undrawn};

/// The table of functions, the hottest first.
#[derive(Debug, Clone)]
pub struct Functions {
    options: ViewOptions,
    sorted_by: SortBy,
    limit: usize,
    min_share: f64,
}

impl Default for Functions {
    fn default() -> Self {
        Self {
            options: ViewOptions::default(),
            sorted_by: SortBy::Overhead,
            limit: usize::MAX,
            min_share: 0.0,
        }
    }
}

impl Functions {
    /// The table of all functions, by their own time.
    pub fn new() -> Self {
        Self::default()
    }

    /// The order: by own time ([`SortBy::Overhead`]), with what was called ([`SortBy::Count`]), or
    /// that of the source.
    pub fn sorted_by(mut self, sorted_by: SortBy) -> Self {
        self.sorted_by = sorted_by;
        self
    }

    /// Sets the number of functions that are shown at most.
    pub fn limit(mut self, limit: usize) -> Self {
        self.limit = limit;
        self
    }

    /// Hides functions whose total share is smaller, as 0.01 for one percent.
    pub fn min_share(mut self, min_share: f64) -> Self {
        self.min_share = min_share;
        self
    }

    fn rows(&self, profile: &Profile, selection: &Selection) -> Rows {
        let mut shown = shares(profile, selection, self.options.choices.shown);
        let all = shown.len();
        let own: f64 = shown.iter().map(|row| row.own.share).sum();
        shown.retain(|row| row.total.share >= self.min_share);
        sort(profile, &mut shown, self.sorted_by);
        shown.truncate(self.limit);
        Rows {
            left_out: all - shown.len(),
            unseen: 1.0 - own,
            shown,
        }
    }
}

impl View for Functions {
    fn name(&self) -> &'static str {
        "functions"
    }

    fn options(&self) -> &ViewOptions {
        &self.options
    }

    fn options_mut(&mut self) -> &mut ViewOptions {
        &mut self.options
    }

    fn text(&self, page: &mut Page<'_>, selection: &Selection) -> io::Result<()> {
        let profile = page.profile;
        if write_empty(page, &self.options.choices, selection)? {
            return crate::quality::write(page, selection, self.options.quality);
        }
        crate::quality::write_grave(page, self.options.quality, crate::quality::SAMPLED)?;
        let rows = self.rows(profile, selection);
        let kinds = KindColumns::new(profile, selection, page.columns);
        let names = Names::of_places(profile, rows.shown.iter().map(|row| row.place));
        let weighs = Weighs::of(profile);
        let calls = (weighs == Weighs::Traced).then(|| traced(profile, selection));
        let number = |row: &FunctionShare| match &calls {
            Some(calls) => calls
                .of(profile, row.place)
                .map_or(0, |counted| counted.begun.calls),
            None => row.total_amount.samples,
        };
        let most = rows.shown.iter().map(number).max();
        let samples = digits(most.unwrap_or(0)).max(7);
        let shares = Shares::new(profile, selection, kinds, page.columns);
        let taken = 2 * shares.width + kinds.all() + samples + 3;
        let name = |page: &mut Page<'_>, line: &mut Line, row: &FunctionShare| {
            let columns = page.columns.saturating_sub(taken);
            push_name(page, line, &names, row.place, columns);
        };
        let table = table(profile, shares, samples, &number, name);
        let mut line = Line::default();
        table.push_titles(&mut line);
        page.line(&mut line)?;
        for row in &rows.shown {
            table.push_row(page, &mut line, row);
            line.truncate(page.columns);
            page.line(&mut line)?;
        }
        if rows.left_out > 0 {
            let text = format!("… and {} more", rows.left_out);
            page.plain(&text)?;
        }
        if rows.unseen > 0.0005 && kinds.few.is_none() {
            let text = format!(
                "{} % of the {} has nothing of this on its stack.",
                percent(rows.unseen),
                weighs.whole()
            );
            page.plain(&text)?;
        }
        page.plain("")?;
        write_end(page, &self.options.choices, selection, self.options.quality)
    }

    fn members(&self, profile: &Profile, selection: &Selection, json: &mut Json<'_>) {
        let rows = self.rows(profile, selection);
        json.array("functions", |json| {
            members(json, profile, selection, &rows.shown)
        });
        json.number("functions_left_out", rows.left_out as u64);
        json.share("unseen_share", Some(rows.unseen.max(0.0)));
    }
}

struct Rows {
    shown: Vec<FunctionShare>,
    left_out: usize,
    /// The share of samples on whose stack nothing is shown.
    unseen: f64,
}

/// The facts that decide about the columns of shares.
#[derive(Clone, Copy)]
struct Shares {
    kinds: KindColumns,
    /// The width of a share.
    width: usize,
    /// The time of all.
    all: u64,
}

impl Shares {
    fn new(profile: &Profile, selection: &Selection, kinds: KindColumns, columns: usize) -> Self {
        Self {
            kinds,
            width: share_width(profile, columns),
            all: selection.weight(profile),
        }
    }

    /// A share, and in JSON the whole amount.
    fn column<'a>(
        self,
        title: &'a str,
        of: fn(&FunctionShare) -> &Estimate,
    ) -> Column<'a, FunctionShare> {
        let is_few = self.kinds.few.is_some();
        let title = share_title(title, is_few);
        let column = match is_few {
            true => Column::left(title, 6),
            false => Column::right(title, 6),
        };
        let gap = self.width.saturating_sub(title.len().max(6)).max(1);
        let column = column.gap(gap).first();
        column.draw(move |_, line, row| push_share(line, of(row), self.width))
    }
}

/// The table of functions. `name` draws a function and where it is; its samples are counted by
/// `number`, in this many digits.
fn table<'a>(
    profile: &'a Profile,
    shares: Shares,
    digits: usize,
    number: &'a dyn Fn(&FunctionShare) -> u64,
    name: impl Fn(&mut Page<'_>, &mut Line, &FunctionShare) + 'a,
) -> Table<'a, FunctionShare> {
    let all = shares.all;
    let name = (Column::titled("Function").last())
        .draw(name)
        .group("place", |json, row: &FunctionShare| {
            place(json, profile, row.place)
        });
    let own = (shares.column("Self %", |row| &row.own)).group("self_ amount", move |json, row| {
        share_members(json, "self_", &row.own, &row.own_amount, all);
    });
    let total = shares.column("Total %", |row| &row.total);
    let total = total.group("total_ amount", move |json, row| {
        share_members(json, "total_", &row.total, &row.total_amount, all);
    });
    let records = match Weighs::of(profile) {
        Weighs::Time | Weighs::Events { .. } => "Samples",
        Weighs::Traced => "Calls",
        Weighs::Heap(_) => "Records",
    };
    let records = (Column::right(records, digits + 1).then(2))
        .text(|row: &FunctionShare| (number(row).to_string(), Style::PLAIN));
    let mut columns = vec![name, own, total];
    columns.extend(
        shares
            .kinds
            .columns(all, |row: &FunctionShare| Some(&row.total_amount)),
    );
    columns.push(records);
    Table::new("function", columns)
}

/// Writes functions as JSON.
pub(super) fn members(
    json: &mut Json<'_>,
    profile: &Profile,
    selection: &Selection,
    rows: &[FunctionShare],
) {
    let kinds = KindColumns::new(profile, selection, 0);
    let shares = Shares::new(profile, selection, kinds, 0);
    let table = table(profile, shares, 0, &|_| 0, undrawn);
    for row in rows {
        json.row("", |json| table.members(json, row));
    }
}

#[cfg(test)]
pub(super) fn schema() -> (&'static str, Vec<String>) {
    let profile = Profile::default();
    let selection = crate::Choices::command().select(&profile);
    let kinds = KindColumns::new(&profile, &selection, 0);
    let shares = Shares::new(&profile, &selection, kinds, 0);
    table(&profile, shares, 0, &|_| 0, undrawn).schema()
}

/// Puts rows in order, the hottest first; what is as hot, by its name.
pub(super) fn sort(profile: &Profile, rows: &mut [FunctionShare], sorted_by: SortBy) {
    let names = Names::new(profile, []);
    rows.sort_by_cached_key(|row| {
        let (own, total) = (row.own_amount.weight, row.total_amount.weight);
        let heat = match sorted_by {
            SortBy::FileFuncLine => Reverse((0, 0)),
            SortBy::Overhead => Reverse((own, total)),
            SortBy::Count | SortBy::FlatCount => Reverse((total, own)),
        };
        let (file, line) = match row.place {
            Place::Frame(frame) => (
                profile.file_path(frame).to_owned(),
                profile.frames.get(frame).line,
            ),
            _ => (String::new(), 0),
        };
        (heat, file, names.function(row.place).to_owned(), line)
    });
}

/// The part of a module's name that is always shown.
const SHORTEST_MODULE: usize = 10;

/// Adds a function and its place, in at most `columns`. The longer one of both is shortened; but of
/// a function without a line, the name is more important than the module.
pub(super) fn push_name(
    page: &mut Page<'_>,
    line: &mut Line,
    names: &Names<'_>,
    place: Place,
    columns: usize,
) {
    let (function, at) = (names.function(place), names.at(place));
    let columns = columns.max(20);
    let (mut for_name, mut for_at) = (width(function), width(&at));
    let has_line = matches!(place, Place::Frame(frame) if page.profile.frames.get(frame).line > 0);
    if for_name + 2 + for_at > columns && !at.is_empty() && !has_line {
        for_at = for_at.min((columns - 2).saturating_sub(for_name).max(SHORTEST_MODULE));
        for_name = columns - 2 - for_at;
    } else if for_name + 2 + for_at > columns && !at.is_empty() {
        let half = (columns - 2) / 2;
        if for_name <= half {
            for_at = columns - 2 - for_name;
        } else if for_at <= half {
            for_name = columns - 2 - for_at;
        } else {
            (for_name, for_at) = (columns - 2 - half, half);
        }
    }
    // A name's last segments are more specific than its first.
    let is_qualified = function.contains("::") || function.contains('.');
    let name = if is_qualified || python_name(function).is_some() {
        keep_tail(function, for_name.min(columns))
    } else {
        keep_head(function, for_name.min(columns))
    };
    line.push(&name, Style::PLAIN);
    if !at.is_empty() {
        line.push_spaces(2);
        let style = Style { link: true, ..GRAY };
        // The most specific part of a place is its end, that of a module its beginning.
        let at = match has_line {
            true => keep_tail(&at, for_at),
            false => keep_head(&at, for_at),
        };
        line.push(&at, style);
        if let Place::Frame(frame) = place {
            let row = page.profile.frames.get(frame);
            line.link = page.link(row.file, row.line);
        }
    }
}
