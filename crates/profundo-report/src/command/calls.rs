//! The callers and callees of a function.

use std::io;

use profundo_analysis::{Call, Calls, Estimate, Pattern, Selection, calls, nearest, traced};
use profundo_model::Profile;

use super::functions::push_name;
use super::{
    BOLD, FEW, GRAY, KindColumns, View, ViewOptions, push_share, share_width, write_empty,
    write_end,
};
use crate::json::{Json, amounts_members, share_members};
use crate::naming::Names;
use crate::naming::weighs::Weighs;
use crate::page::Page;
use crate::page::line::{Line, Style};
use crate::page::palette::Color;
use crate::page::units::{plus_minus, share_of_whole, share_text, share_title};
use crate::table::{Column, Table, undrawn};

/// The callers of a function, what it calls, or both.
#[derive(Debug, Clone)]
pub struct Callers {
    options: ViewOptions,
    name: Pattern,
    callers: bool,
    callees: bool,
}

impl Callers {
    /// The callers of the functions that `name` means: a glob that fits the whole name; or the
    /// whole name or its last segments; or, where no name ends like that, a part of it.
    pub fn new(name: impl Into<Pattern>) -> Self {
        Self {
            options: ViewOptions::default(),
            name: name.into(),
            callers: true,
            callees: false,
        }
    }

    /// The functions that these functions call.
    pub fn callees_of(name: impl Into<Pattern>) -> Self {
        Self {
            callers: false,
            callees: true,
            ..Self::new(name)
        }
    }

    /// The callers and callees of this function.
    pub fn both(name: impl Into<Pattern>) -> Self {
        Self {
            callees: true,
            ..Self::new(name)
        }
    }

    /// True if any function that is shown and was recorded has this name.
    pub fn finds(&self, profile: &Profile) -> bool {
        let choices = &self.options.choices;
        let selection = Selection::new(profile, &choices.filter);
        let calls = calls(profile, &selection, &self.name, choices.shown);
        !calls.functions.is_empty()
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
                    .map(|counted| counted.begun.calls)
                    .fold(0, u64::saturating_add)
            }
            _ => calls.total_amount.samples,
        };
        let total = share_of_whole(&calls.total, weighs.whole());
        if calls.own.few.is_some() {
            return page.plain(&format!("{total}, {} by itself.", share_text(&calls.own)));
        }
        let own = match share_text(&calls.own) {
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

    /// Functions that may have been meant, where there is none of this name.
    fn nearest<'a>(&self, profile: &'a Profile, selection: &Selection) -> Vec<&'a str> {
        const MOST: usize = 3;
        nearest(
            profile,
            selection,
            &self.name,
            self.options.choices.shown,
            MOST,
        )
    }
}

impl View for Callers {
    fn name(&self) -> &'static str {
        match (self.callers, self.callees) {
            (true, true) => "calls",
            (false, true) => "callees",
            _ => "callers",
        }
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
        let calls = calls(profile, selection, &self.name, self.options.choices.shown);
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
            return write_end(page, &self.options.choices, selection, self.options.quality);
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
        write_end(page, &self.options.choices, selection, self.options.quality)
    }

    fn members(&self, profile: &Profile, selection: &Selection, json: &mut Json<'_>) {
        let calls = calls(profile, selection, &self.name, self.options.choices.shown);
        let all = selection.weight(profile);
        json.object("function", |json| {
            json.text("asked", self.name.text());
            json.array("places", |json| {
                for (place, amount) in &calls.functions {
                    json.row("", |json| {
                        crate::json::place(json, profile, *place);
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
        let kinds = KindColumns::new(profile, selection, 0);
        let width = share_width(profile, 0);
        let columns = table(profile, Shares { kinds, width, all }, "", undrawn);
        let mut table = |key: &str, rows: &[Call]| {
            json.array(key, |json| {
                for call in rows {
                    json.row("", |json| columns.members(json, call));
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

/// The facts that decide about the columns of a table of callers.
#[derive(Clone, Copy)]
struct Shares {
    kinds: KindColumns,
    /// The width of a share.
    width: usize,
    /// The time of all.
    all: u64,
}

/// The table of callers or of callees, under this title.
fn table<'a>(
    profile: &'a Profile,
    shares: Shares,
    title: &'a str,
    name: impl Fn(&mut Page<'_>, &mut Line, &Call) + 'a,
) -> Table<'a, Call> {
    let Shares { kinds, width, all } = shares;
    let is_few = kinds.few.is_some();
    let place = (Column::titled(title).last()).draw(name);
    // The function itself, and a root's caller, have no place: each member is `null`.
    let schema = [
        "function: text?",
        "file: text?",
        "line: number?",
        "language: text?",
    ];
    let place = place.members(&schema, |json, call: &Call| match call.place {
        Some(place) => crate::json::place(json, profile, place),
        None => ["function", "file", "line", "language"]
            .into_iter()
            .for_each(|key| json.null(key)),
    });
    let all_title = share_title("All %", is_few);
    let all_width = if is_few { FEW } else { 5 };
    let of_all = Column::left(all_title, all_width)
        .text(move |call: &Call| {
            let text = share_text(&call.of_all);
            match is_few {
                true => (text, Style::PLAIN),
                false => (format!("{text:>all_width$}"), Style::PLAIN),
            }
        })
        .group("amount", move |json, call| {
            share_members(json, "", &call.of_all, &call.amount, all);
        });
    let title = share_title("Of it %", is_few);
    let of_it = Column::titled(title)
        .indent(if is_few { 3 } else { 2 })
        .gap(width + 1 - title.len() - usize::from(is_few))
        .first()
        .draw(move |_, line, call: &Call| {
            line.push_spaces(3);
            push_share(line, &call.of_function, width);
        })
        .group("part", |json, call| {
            let interval = call.of_function.known();
            json.share("share_of_function", Some(call.of_function.share));
            json.share("share_of_function_low", interval.map(|range| range.low));
            json.share("share_of_function_high", interval.map(|range| range.high));
        });
    let mut columns = vec![place, of_all, of_it];
    columns.extend(kinds.columns(all, |call: &Call| Some(&call.amount)));
    columns.push(
        Column::titled("")
            .gap(2)
            .draw(|_, line, _| line.push_spaces(2)),
    );
    Table::new("call", columns)
}

fn write_table(
    page: &mut Page<'_>,
    names: &Names<'_>,
    kinds: KindColumns,
    all: u64,
    title: &str,
    rows: &[Call],
) -> io::Result<()> {
    let profile = page.profile;
    let width = share_width(profile, page.columns);
    let all_width = if kinds.few.is_some() { FEW } else { 5 };
    let taken = 3 + width + all_width + kinds.all() + 2;
    let shares = Shares { kinds, width, all };
    let table = table(profile, shares, title, |page, line, call| {
        match call.place {
            Some(place) => {
                let columns = page.columns.saturating_sub(taken);
                push_name(page, line, names, place, columns);
            }
            None if title == "Callers" => line.push("(nobody: it is a root)", GRAY),
            None => line.push("(itself)", GRAY),
        }
    });
    let mut line = Line::default();
    table.push_titles(&mut line);
    page.line(&mut line)?;
    for row in rows {
        table.push_row(page, &mut line, row);
        line.truncate(page.columns);
        page.line(&mut line)?;
    }
    Ok(())
}

#[cfg(test)]
pub(super) fn schema() -> (&'static str, Vec<String>) {
    let profile = Profile::default();
    let selection = crate::Choices::command().select(&profile);
    let kinds = KindColumns::new(&profile, &selection, 0);
    let (width, all) = (share_width(&profile, 0), 0);
    table(&profile, Shares { kinds, width, all }, "", undrawn).schema()
}
