//! The summary as JSON.

use profundo_analysis::Selection;
use profundo_model::Profile;

use super::verdict::verdict;
use super::{Others, Summary, SummaryPart};
use super::{hot, waiting};
use crate::command::{allocs, launched, lineless, memory, totals, traffic};
use crate::json::{Json, share_members};
use crate::naming::statements::Statements;

/// Writes the report.
pub(super) fn members(
    view: &Summary,
    profile: &Profile,
    selection: &Selection,
    json: &mut Json<'_>,
) {
    let answers = view.answers(profile, selection);
    let all = selection.weight(profile);
    let whole = selection.mass(profile);
    let others_members = |json: &mut Json<'_>, name: &str, others: Others| {
        json.row(name, |json| {
            json.number("count", others.count as u64);
            share_members(json, "", &others.amount.share(whole), &others.amount, all);
        });
    };
    if view.has(SummaryPart::Verdict) {
        let verdict = verdict(profile, selection, &answers, &answers.names(profile));
        json.text("verdict", &verdict.join(" "));
    }
    if view.has(SummaryPart::Lines) {
        json.array("lines", |json| {
            hot::lines_members(json, profile, &answers, selection, view.from_disk);
        });
        others_members(json, "other_lines", answers.other_lines);
        lineless::members(json, profile, &answers.lineless, whole);
        if answers.launched.amount.weight > 0 {
            launched::members(json, profile, &answers.launched, whole);
        }
    }
    if view.has(SummaryPart::Functions) {
        json.array("functions", |json| {
            hot::functions_members(json, profile, &answers, selection);
        });
        others_members(json, "other_functions", answers.other_functions);
    }
    if view.has(SummaryPart::Waits) && !answers.waits.is_empty() {
        json.array("waits", |json| {
            waiting::members(json, profile, &answers.waits)
        });
    }
    if view.has(SummaryPart::Io) && !profile.traffic.is_empty() {
        json.object("io", |json| {
            traffic::members(json, &Statements::none(profile), &answers.io)
        });
    }
    if view.has(SummaryPart::Memory) && !profile.heap.gauges.is_empty() {
        memory::members(json, profile, &answers.memory);
    }
    if let Some(found) = &answers.allocations
        && view.has(SummaryPart::Allocations)
    {
        json.object("allocations", |json| {
            allocs::memory_members(json, &Statements::none(profile), found, usize::MAX)
        });
    }
    if view.has(SummaryPart::Totals) {
        totals::members(json, profile, &answers.totals, selection);
    }
}
