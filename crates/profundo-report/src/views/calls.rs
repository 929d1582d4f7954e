//! Who calls a function, and what it calls.

use std::io;

use profundo_analysis::{Call, Calls, Estimate, Pattern, Selection, calls, nearest, traced};
use profundo_model::Profile;

use super::functions::push_name;
use super::json::share_members;
use super::{
    BOLD, FEW, GRAY, KindColumns, amounts_members, push_share, share_width, view, write_empty,
    write_end,
};
use crate::json::Json;
use crate::line::{Line, Style};
use crate::names::Names;
use crate::palette::Color;
use crate::printer::Page;
use crate::units::{plus_minus, said, said_of, share_title};
use crate::weighs::Weighs;
use crate::{Choices, Look};

/// The callers of a function, what it calls, or both.
#[derive(Debug, Clone)]
pub struct Callers {
    choices: Choices,
    look: Look,
    quality: Option<bool>,
    name: Pattern,
    callers: bool,
    callees: bool,
}

view!(Callers);

impl Callers {
    /// The callers of the functions that `name` means: a glob that fits the whole name; or the
    /// whole name or its last segments; or, where no name ends like that, a part of it.
    pub fn new(name: impl Into<Pattern>) -> Self {
        Self {
            choices: Choices::command(),
            look: Look::default(),
            quality: None,
            name: name.into(),
            callers: true,
            callees: false,
        }
    }

    /// What these functions call.
    pub fn callees_of(name: impl Into<Pattern>) -> Self {
        Self {
            callers: false,
            callees: true,
            ..Self::new(name)
        }
    }

    /// Both.
    pub fn both(name: impl Into<Pattern>) -> Self {
        Self {
            callees: true,
            ..Self::new(name)
        }
    }

    fn text(&self, page: &mut Page<'_>, selection: &Selection) -> io::Result<()> {
        let profile = page.profile;
        if write_empty(page, &self.choices, selection)? {
            return crate::quality::write(page, selection, self.quality);
        }
        crate::quality::write_grave(page, self.quality, crate::quality::SAMPLED)?;
        let calls = calls(profile, selection, &self.name, self.choices.shown);
        if calls.functions.is_empty() {
            let name = self.name.text();
            let mut text = format!(" no function that is shown and was sampled is called “{name}”");
            let nearest = self.nearest(profile, selection);
            if !nearest.is_empty() {
                text.push_str("; nearest: ");
                text.push_str(&nearest.join(", "));
            }
            text.push('.');
            page.marked("Warning:", Color::Yellow, &text)?;
            return write_end(page, &self.choices, selection, self.quality);
        }
        let functions = calls.functions.iter().map(|&(place, _)| place);
        let neighbours = calls.callers.iter().chain(&calls.callees);
        let places = functions.chain(neighbours.filter_map(|call| call.place));
        let names = Names::of_places(profile, places);
        self.write_head(page, selection, &calls, &names)?;
        let kinds = KindColumns::new(profile, selection, page.columns);
        let all = selection.weight(profile);
        if self.callers {
            page.plain("")?;
            write_table(page, &names, kinds, all, "Callers", &calls.callers)?;
        }
        if self.callees {
            page.plain("")?;
            let itself = Call {
                place: None,
                amount: calls.own_amount,
                of_function: calls.own_of_total,
                of_all: calls.own,
            };
            let mut rows = calls.callees.clone();
            if calls.own_amount.samples > 0 {
                let at = rows.partition_point(|row| row.amount.weight > itself.amount.weight);
                rows.insert(at, itself);
            }
            write_table(page, &names, kinds, all, "Callees", &rows)?;
        }
        page.plain("")?;
        write_end(page, &self.choices, selection, self.quality)
    }

    /// Writes which functions are meant, and what they take.
    fn write_head(
        &self,
        page: &mut Page<'_>,
        selection: &Selection,
        calls: &Calls,
        names: &Names<'_>,
    ) -> io::Result<()> {
        const MOST: usize = 8;
        let mut line = Line::default();
        for (place, _) in calls.functions.iter().take(MOST) {
            line.push(names.function(*place), BOLD);
            let at = names.at(*place);
            if !at.is_empty() {
                line.push("  ", Style::PLAIN);
                line.push(&at, GRAY);
            }
            line.truncate(page.columns);
            page.line(&mut line)?;
        }
        if calls.functions.len() > MOST {
            page.plain(&format!("… and {} more", calls.functions.len() - MOST))?;
        }
        let weighs = Weighs::of(page.profile);
        let sure = |estimate: &Estimate| match estimate.is_exact() || estimate.few.is_some() {
            true => String::new(),
            false => format!(" {}", plus_minus(estimate)),
        };
        let number = match weighs {
            Weighs::Traced => {
                let table = traced(page.profile, selection);
                let counted = calls
                    .functions
                    .iter()
                    .filter_map(|(place, _)| table.of(page.profile, *place));
                counted
                    .map(|it| it.begun.calls)
                    .fold(0, u64::saturating_add)
            }
            _ => calls.total_amount.samples,
        };
        let total = said_of(&calls.total, weighs.whole());
        if calls.own.few.is_some() {
            return page.plain(&format!("{total}, {} by itself.", said(&calls.own)));
        }
        let own = match said(&calls.own) {
            none if none.is_empty() => "0".to_owned(),
            text => text,
        };
        page.plain(&format!(
            "{total}{}, {own} % by itself{}, {}.",
            sure(&calls.total),
            sure(&calls.own),
            weighs.samples(number),
        ))
    }

    /// What may have been meant, where there is no such function.
    fn nearest<'a>(&self, profile: &'a Profile, selection: &Selection) -> Vec<&'a str> {
        const MOST: usize = 3;
        nearest(profile, selection, &self.name, self.choices.shown, MOST)
    }

    fn report(&self) -> &'static str {
        match (self.callers, self.callees) {
            (true, true) => "calls",
            (false, true) => "callees",
            _ => "callers",
        }
    }

    fn members(&self, profile: &Profile, selection: &Selection, json: &mut Json<'_>) {
        let calls = calls(profile, selection, &self.name, self.choices.shown);
        let all = selection.weight(profile);
        json.object("function", |json| {
            json.text("asked", self.name.text());
            json.array("places", |json| {
                for (place, amount) in &calls.functions {
                    json.row("", |json| {
                        super::place(json, profile, *place);
                        json.number("samples", amount.samples);
                        json.weight("", amount.weight);
                    });
                }
            });
            json.array("nearest", |json| {
                if calls.functions.is_empty() {
                    let names = self.nearest(profile, selection);
                    names.into_iter().for_each(|name| json.text("", name));
                }
            });
            amounts_members(
                json,
                (&calls.own, &calls.own_amount),
                (&calls.total, &calls.total_amount),
                all,
            );
        });
        let mut table = |key: &str, rows: &[Call]| {
            json.array(key, |json| {
                for call in rows {
                    json.row("", |json| call_members(json, profile, call, all));
                }
            });
        };
        if self.callers {
            table("callers", &calls.callers);
        }
        if self.callees {
            table("callees", &calls.callees);
        }
    }
}

fn call_members(json: &mut Json<'_>, profile: &Profile, call: &Call, all: u64) {
    match call.place {
        Some(place) => super::place(json, profile, place),
        None => ["function", "file", "line", "language"]
            .into_iter()
            .for_each(|key| json.null(key)),
    }
    share_members(json, "", &call.of_all, &call.amount, all);
    json.share("share_of_function", Some(call.of_function.share));
    let interval = call.of_function.known();
    json.share("share_of_function_low", interval.map(|it| it.low));
    json.share("share_of_function_high", interval.map(|it| it.high));
}

fn write_table(
    page: &mut Page<'_>,
    names: &Names<'_>,
    kinds: KindColumns,
    all: u64,
    title: &str,
    rows: &[Call],
) -> io::Result<()> {
    let share = share_width(page);
    let mut line = Line::default();
    let is_few = kinds.few.is_some();
    let all_width = if is_few { FEW } else { 5 };
    let of_it = share_title("Of it %", is_few);
    line.push_spaces(if is_few { 3 } else { 2 });
    line.push(of_it, BOLD);
    line.push_spaces(share + 1 - of_it.len() - usize::from(is_few));
    line.push_fmt(
        format_args!("{:<all_width$}", share_title("All %", is_few)),
        BOLD,
    );
    kinds.push_titles(&mut line, BOLD);
    line.push_spaces(2);
    line.push(title, BOLD);
    page.line(&mut line)?;
    let taken = 3 + share + all_width + kinds.all() + 2;
    for row in rows {
        line.push_spaces(3);
        push_share(&mut line, &row.of_function, share);
        let of_all = said(&row.of_all);
        match is_few {
            true => line.push_fmt(format_args!("{of_all:<all_width$}"), Style::PLAIN),
            false => line.push_fmt(format_args!("{of_all:>all_width$}"), Style::PLAIN),
        }
        kinds.push(&mut line, row.amount.split.shares(all));
        line.push_spaces(2);
        match row.place {
            Some(place) => {
                let columns = page.columns.saturating_sub(taken);
                push_name(page, &mut line, names, place, columns);
            }
            None if title == "Callers" => line.push("(nobody: it is a root)", GRAY),
            None => line.push("(itself)", GRAY),
        }
        line.truncate(page.columns);
        page.line(&mut line)?;
    }
    Ok(())
}
