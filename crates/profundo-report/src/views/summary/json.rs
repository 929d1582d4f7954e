//! The summary as JSON.

use profundo_analysis::Selection;
use profundo_model::{Profile, Wait};

use super::verdict::verdict;
use super::{Others, Summary};
use crate::json::Json;
use crate::source::Source;
use crate::views::functions::function_members;
use crate::views::json::share_members;
use crate::views::{allocs, amounts_members, launched, lineless, memory, place, totals, traffic};

impl Summary {
    pub(super) fn report(&self) -> &'static str {
        "summary"
    }

    pub(super) fn members(&self, profile: &Profile, selection: &Selection, json: &mut Json<'_>) {
        let answers = self.answers(profile, selection);
        let all = selection.weight(profile);
        let verdict = verdict(profile, selection, &answers, &answers.names(profile));
        json.text("verdict", &verdict.join(" "));
        json.array("lines", |json| {
            for (file, row) in &answers.lines {
                let source = Source::of(profile, *file, self.from_disk);
                let path = profile.strings.get(profile.files.get(*file).path);
                json.row("", |json| {
                    json.text("file", path);
                    json.number("line", u64::from(row.line));
                    json.text_or_null("function", profile.function_name(row.frame));
                    amounts_members(
                        json,
                        (&row.own, &row.own_amount),
                        (&row.total, &row.total_amount),
                        all,
                    );
                    match source.line(profile, *file, row.line) {
                        Some(text) => json.text("text", text),
                        None => json.null("text"),
                    }
                });
            }
        });
        let whole = selection.mass(profile);
        let others_members = |json: &mut Json<'_>, name: &str, others: Others| {
            json.row(name, |json| {
                json.number("count", others.count as u64);
                share_members(json, "", &others.amount.share(whole), &others.amount, all);
            });
        };
        others_members(json, "other_lines", answers.other_lines);
        lineless::members(json, profile, &answers.lineless, whole);
        if answers.launched.amount.weight > 0 {
            launched::members(json, profile, &answers.launched, whole);
        }
        json.array("functions", |json| {
            for row in &answers.functions {
                json.row("", |json| function_members(json, profile, row, all));
            }
        });
        others_members(json, "other_functions", answers.other_functions);
        if !answers.waits.is_empty() {
            json.array("waits", |json| {
                for row in &answers.waits {
                    json.object("", |json| {
                        let kind = row.wait.map_or("", Wait::name);
                        json.text_or_null("kind", if row.is_idle { "idle" } else { kind });
                        match row.what {
                            Some(what) => json.row("what", |json| place(json, profile, what)),
                            None => json.null("what"),
                        }
                        match row.at {
                            Some(at) => json.row("at", |json| place(json, profile, at)),
                            None => json.null("at"),
                        }
                        match row.inside {
                            Some(inside) => {
                                json.row("inside", |json| place(json, profile, inside));
                            }
                            None => json.null("inside"),
                        }
                        let number = row.whats.len() as u64;
                        match row.wait.filter(|_| !row.is_idle) {
                            Some(Wait::Lock) => json.number("locks", number),
                            Some(Wait::Child) => json.number("children", number),
                            Some(Wait::Thread) => json.number("joined_threads", number),
                            _ => {}
                        }
                        json.seconds("seconds", Some(row.weight));
                        json.number("threads", row.threads as u64);
                    });
                }
            });
        }
        if !profile.traffic.is_empty() {
            json.object("io", |json| traffic::members(json, profile, &answers.io));
        }
        if !profile.heap.gauges.is_empty() {
            memory::members(json, profile, &answers.memory);
        }
        if let Some(found) = &answers.allocations {
            json.object("allocations", |json| {
                allocs::memory_members(json, profile, found)
            });
        }
        totals::members(json, profile, &answers.totals, selection);
    }
}
