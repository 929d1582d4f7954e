//! The table of calls as JSON.

use profundo_analysis::{Counted, GroupBy, Selection, groups};
use profundo_model::{Clock, Profile};

use super::sheet::Sheet;
use super::{Neighbours, Trace};
use crate::json::Json;
use crate::naming::origins::group_label;

pub(super) fn members(view: &Trace, profile: &Profile, json: &mut Json<'_>) {
    json.text(
        "clock",
        match profile.traced.clock {
            Clock::Wall => "wall",
            Clock::Cpu => "cpu",
            Clock::None => "none",
        },
    );
    json.array("groups", |json| {
        for group in groups(profile, &view.options.choices.filter, &view.group_by) {
            json.object("", |json| {
                match (&view.group_by, group.process) {
                    (GroupBy::Label | GroupBy::LabelOf(_), Some(first)) => {
                        json.text("label", &group_label(profile, &view.group_by, first));
                        json.null("process");
                    }
                    (_, process) => {
                        json.number_or_null("process", process.map(|process| u64::from(process.0)));
                    }
                }
                let thread = group
                    .thread
                    .map(|thread| profile.threads.get(thread).number);
                json.number_or_null("thread", thread);
                table_members(view, profile, &group.selection, json);
            });
        }
    });
}

fn table_members(view: &Trace, profile: &Profile, selection: &Selection, json: &mut Json<'_>) {
    let sheet = Sheet::new(profile, selection, view);
    let functions = &sheet.table.functions;
    json.row("all", |json| {
        counted_members(json, &sheet, &sheet.table.sum())
    });
    json.array("functions", |json| {
        for &row in &sheet.rows {
            let function = &functions[row];
            json.row("", |json| {
                crate::json::place(json, profile, function.place);
                json.text("name", &sheet.standard[row]);
                counted_members(json, &sheet, &function.counted);
                for (key, neighbours) in [
                    ("callers", Neighbours::Callers),
                    ("callees", Neighbours::Callees),
                ] {
                    let neighbours = match view.is_bare {
                        true => Neighbours::None,
                        false => neighbours,
                    };
                    json.array(key, |json| {
                        for (other, between) in neighbours.of(&sheet, row) {
                            json.row("", |json| {
                                json.text("name", &sheet.standard[other]);
                                counted_members(json, &sheet, &between.counted);
                            });
                        }
                    });
                }
            });
        }
    });
    json.number(
        "functions_left_out",
        (functions.len() - sheet.rows.len()) as u64,
    );
}

fn counted_members(json: &mut Json<'_>, sheet: &Sheet<'_>, counted: &Counted) {
    let time = |nanos| sheet.is_timed.then_some(nanos);
    json.number("calls", counted.begun.calls);
    json.number("primitive_calls", counted.outermost.calls);
    json.number("resumes", counted.begun.resumes);
    json.number("primitive_resumes", counted.outermost.resumes);
    json.seconds("self_seconds", time(counted.own));
    json.seconds("total_seconds", time(counted.total));
    json.seconds("self_cost_seconds", time(counted.own_cost));
    json.seconds("total_cost_seconds", time(counted.total_cost));
}
