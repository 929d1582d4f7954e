//! The reports after Julia's as JSON: the same rows, in the same order, group by group.
//!
//! A tree is a list of nodes in which each names its caller, because recursion may be deeper than
//! readers of JSON can nest.

use profundo_analysis::{
    FlatRow, Group, GroupBy, NodeId, Selection, Tree, command_name, groups, utilization,
};
use profundo_model::{LocationId, Profile};

use super::order::Order;
use super::section::Body;
use crate::json::{Json, amounts_members, head_members, place};
use crate::naming::label::address;
use crate::naming::origins::group_label;
use crate::{Format, Report};

/// Writes the whole report.
pub(crate) fn members(report: &Report, profile: &Profile, json: &mut Json<'_>) {
    let order = Order::new(
        profile,
        report.sorted_by.unwrap_or_default(),
        report.hot_first,
    );
    let mut choices = report.choices.clone();
    choices.filter = choices.filter.for_groups(&report.group_by);
    let groups = groups(profile, &choices.filter, &report.group_by);
    let all = match (&report.group_by, &groups[..]) {
        (GroupBy::None, [group]) => group.selection.clone(),
        _ => Selection::new(profile, &choices.filter),
    };
    let name = match report.format {
        Format::Tree => "tree",
        Format::Flat => "flat",
        Format::Functions => "function_groups",
    };
    head_members(json, name, profile, &choices, &all);
    json.array("groups", |json| {
        for group in &groups {
            json.object("", |json| {
                group_members(json, profile, group, &report.group_by);
                match Body::new(report, profile, &order, &group.selection) {
                    Body::Tree(tree) => tree_members(json, report, profile, &tree),
                    Body::Flat(rows) => flat_members(json, report, profile, &rows),
                    Body::Functions(rows) => json.array("functions", |json| {
                        let weight = group.selection.weight(profile);
                        for row in rows.iter().filter(|row| row.count >= report.mincount) {
                            json.row("", |json| {
                                place(json, profile, row.place);
                                amounts_members(
                                    json,
                                    (&row.own, &row.own_amount),
                                    (&row.total, &row.total_amount),
                                    weight,
                                );
                            });
                        }
                    }),
                }
            });
        }
    });
}

/// The members that name the samples of a group.
fn group_members(json: &mut Json<'_>, profile: &Profile, group: &Group, by: &GroupBy) {
    let selection = &group.selection;
    match (by, group.process) {
        (GroupBy::Command, Some(first)) => {
            json.text("command", command_name(profile, first));
            json.null("process");
        }
        (GroupBy::Label | GroupBy::LabelOf(_), Some(first)) => {
            json.text("label", &group_label(profile, by, first));
            json.null("process");
        }
        (_, process) => json.number_or_null("process", process.map(|process| u64::from(process.0))),
    }
    if let Some(span) = group.span {
        json.text_or_null("span", profile.strings.get(span));
    }
    json.number_or_null(
        "thread",
        group
            .thread
            .map(|thread| profile.threads.get(thread).number),
    );
    // Numbers of tasks use all 64 bits, more than many readers of JSON keep.
    match group.task.map(|task| profile.tasks.get(task).number) {
        Some(number) => json.text("task", &format!("{number:#x}")),
        None => json.null("task"),
    }
    let name = group
        .task
        .map(|task| profile.strings.get(profile.tasks.get(task).name));
    match name {
        Some(name) if !name.is_empty() => json.text("task_name", name),
        _ => json.null("task_name"),
    }
    json.number("count", selection.total(profile));
    json.share("utilization", utilization(profile, selection));
}

fn tree_members(json: &mut Json<'_>, report: &Report, profile: &Profile, tree: &Tree) {
    let mut number = 0;
    let mut pending: Vec<(NodeId, u64)> = Vec::new();
    let push = |pending: &mut Vec<(NodeId, u64)>, of: NodeId, caller: u64| {
        let shown = super::tree::shown_children(report, tree, of);
        let start = pending.len();
        pending.extend(shown.map(|child| (child, caller)));
        pending[start..].reverse();
    };
    push(&mut pending, tree.root(), 0);
    json.array("nodes", |json| {
        while let Some((id, caller)) = pending.pop() {
            number += 1;
            let node = tree.node(id);
            json.row("", |json| {
                json.number("node", number);
                json.number_or_null("caller", (caller > 0).then_some(caller));
                json.number("level", u64::from(node.level));
                json.number("count", node.count);
                json.number("overhead", node.overhead);
                json.weight("self_", node.own_weight);
                place(json, profile, node.place);
                address_members(json, profile, node.location);
            });
            if node.level as usize <= report.maxdepth {
                push(&mut pending, id, number);
            }
        }
    });
}

fn flat_members(json: &mut Json<'_>, report: &Report, profile: &Profile, rows: &[FlatRow]) {
    json.array("rows", |json| {
        for row in rows.iter().filter(|row| row.count >= report.mincount) {
            json.row("", |json| {
                json.number("count", row.count);
                json.number("overhead", row.overhead);
                place(json, profile, row.place);
                address_members(json, profile, row.location);
            });
        }
    });
}

fn address_members(json: &mut Json<'_>, profile: &Profile, location: Option<LocationId>) {
    if let Some(location) = location {
        match address(profile, location) {
            Some(address) => json.text("address", &format!("{address:#x}")),
            None => json.null("address"),
        }
    }
}
