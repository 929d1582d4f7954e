//! The table of functions: what each takes by itself and with what it calls, how sure that is,
//! and what kind of time it is.

use std::cmp::Reverse;
use std::io;

use profundo_analysis::{FunctionShare, Place, Selection, shares, traced};
use profundo_model::{Profile, python_name};

use super::{
    BOLD, GRAY, KindColumns, amounts_members, push_share, share_width, view, write_empty, write_end,
};
use crate::json::Json;
use crate::line::{Line, Style};
use crate::names::Names;
use crate::printer::Page;
use crate::units::{percent, share_title};
use crate::weighs::Weighs;
use crate::width::{digits, keep_head, keep_tail, width};
use crate::{Choices, Look, SortBy};

/// The table of functions, the hottest first.
#[derive(Debug, Clone)]
pub struct Functions {
    choices: Choices,
    look: Look,
    quality: Option<bool>,
    sorted_by: SortBy,
    limit: usize,
    min_share: f64,
}

impl Default for Functions {
    fn default() -> Self {
        Self {
            choices: Choices::command(),
            look: Look::default(),
            quality: None,
            sorted_by: SortBy::Overhead,
            limit: usize::MAX,
            min_share: 0.0,
        }
    }
}

view!(Functions);

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

    /// How many functions are shown at most.
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
        let mut shown = shares(profile, selection, self.choices.shown);
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

    fn text(&self, page: &mut Page<'_>, selection: &Selection) -> io::Result<()> {
        let profile = page.profile;
        if write_empty(page, &self.choices, selection)? {
            return crate::quality::write(page, selection, self.quality);
        }
        crate::quality::write_grave(page, self.quality, crate::quality::SAMPLED)?;
        let rows = self.rows(profile, selection);
        let kinds = KindColumns::new(profile, selection, page.columns);
        let names = Names::of_places(profile, rows.shown.iter().map(|row| row.place));
        let weighs = Weighs::of(profile);
        let calls = (weighs == Weighs::Traced).then(|| traced(profile, selection));
        let number = |row: &FunctionShare| match &calls {
            Some(calls) => calls.of(profile, row.place).map_or(0, |it| it.begun.calls),
            None => row.total_amount.samples,
        };
        let most = rows.shown.iter().map(number).max();
        let samples = digits(most.unwrap_or(0)).max(7);
        let records = match weighs {
            Weighs::Time => "Samples",
            Weighs::Traced => "Calls",
            Weighs::Heap(_) => "Records",
        };
        let share = share_width(page);
        let mut line = Line::default();
        for title in ["Self %", "Total %"] {
            let title = share_title(title, kinds.few.is_some());
            match kinds.few {
                Some(_) => line.push_fmt(format_args!("{title:<6}"), BOLD),
                None => line.push_fmt(format_args!("{title:>6}"), BOLD),
            }
            line.push_spaces(share.saturating_sub(title.len().max(6)).max(1));
        }
        kinds.push_titles(&mut line, BOLD);
        line.push_fmt(format_args!(" {:>samples$}  ", records), BOLD);
        line.push("Function", BOLD);
        page.line(&mut line)?;
        let taken = 2 * share + kinds.all() + samples + 3;
        let all = selection.weight(profile);
        for row in &rows.shown {
            push_share(&mut line, &row.own, share);
            push_share(&mut line, &row.total, share);
            kinds.push(&mut line, row.total_amount.split.shares(all));
            line.push_fmt(format_args!(" {:>samples$}  ", number(row)), Style::PLAIN);
            let columns = page.columns.saturating_sub(taken);
            push_name(page, &mut line, &names, row.place, columns);
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
        write_end(page, &self.choices, selection, self.quality)
    }

    fn report(&self) -> &'static str {
        "functions"
    }

    fn members(&self, profile: &Profile, selection: &Selection, json: &mut Json<'_>) {
        let all = selection.weight(profile);
        let rows = self.rows(profile, selection);
        json.array("functions", |json| {
            for row in &rows.shown {
                json.row("", |json| function_members(json, profile, row, all));
            }
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

/// The members of a function.
pub(super) fn function_members(
    json: &mut Json<'_>,
    profile: &Profile,
    row: &FunctionShare,
    all: u64,
) {
    super::place(json, profile, row.place);
    amounts_members(
        json,
        (&row.own, &row.own_amount),
        (&row.total, &row.total_amount),
        all,
    );
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

/// So much of a module's name is always shown.
const SHORTEST_MODULE: usize = 10;

/// Adds a function and where it is, in at most `columns`. What there is no room for is taken from
/// the longer one of both; but of a function without a line, the name says more than the module.
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
    // A name's last segments say more than its first.
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
        // A place ends in what says most, and a module begins with it.
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
