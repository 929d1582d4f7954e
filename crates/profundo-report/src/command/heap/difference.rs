//! The differences of a later snapshot, by type and by the owner of containers.

use std::io;

use profundo_analysis::graph::{
    Alive, Difference, Owners, SplitTypes, TypeChange, TypeId, Types, difference,
    difference_by_owner,
};
use profundo_model::graph::{Graph, NodeId};

use rustc_hash::FxHashMap;

use super::json::{head_members, snapshot_members};
use super::object;
use super::sheet::Sheet;
use super::text::write_more;
use crate::json::Json;
use crate::page::units::{bytes, counted, short_count};

/// A snapshot whose containers have owners.
struct Side<'a> {
    graph: &'a Graph,
    types: Types,
    owners: Owners,
    split: SplitTypes,
}

impl<'a> Side<'a> {
    fn new(graph: &'a Graph) -> Self {
        let types = Types::new(graph);
        let owners = Owners::new(graph, &Alive::new(graph));
        let split = SplitTypes::new(graph, &types, &owners);
        Self {
            graph,
            types,
            owners,
            split,
        }
    }

    /// The type and the owner that a row has in its name.
    fn parts(&self) -> impl Iterator<Item = (&str, (&str, Option<&str>))> {
        let rows = self.split.types.names().enumerate();
        rows.map(|(row, name)| {
            let (of, owner) = self.split.whole(TypeId(row as u32));
            let owner = owner.map(|owner| self.owners.name(owner));
            (name, (self.types.name(of), owner))
        })
    }
}

/// Two snapshots of one program.
pub(super) struct Compared<'a> {
    before: Side<'a>,
    now: Side<'a>,
    /// The rows by type, and those of containers by owner.
    by_owner: Difference,
    limit: usize,
}

impl<'a> Compared<'a> {
    /// Compares two snapshots. Lists at most `limit` new objects.
    pub(super) fn new(before: &'a Graph, now: &'a Graph, limit: usize) -> Self {
        let (before, now) = (Side::new(before), Side::new(now));
        let by_owner = difference_by_owner(
            (before.graph, &before.types, &before.split),
            (now.graph, &now.types, &now.split),
            limit,
        );
        Self {
            before,
            now,
            by_owner,
            limit,
        }
    }

    fn by_type(&self) -> Difference {
        let sides = [&self.before, &self.now].map(|side| (side.graph, &side.types));
        difference(sides[0], sides[1], self.limit)
    }

    /// An object with its owner.
    fn shown(&self, node: NodeId) -> String {
        let Side {
            graph,
            types,
            owners,
            ..
        } = &self.now;
        let shown = object::shown(graph, types, node);
        let Some(owner) = owners.of(node) else {
            return shown;
        };
        let at = shown.rfind(" @").unwrap_or(shown.len());
        let (of, id) = shown.split_at(at);
        format!("{of} {}{id}", owners.phrase(owner))
    }
}

pub(super) fn write(
    sheet: &mut Sheet<'_>,
    compared: &Compared<'_>,
    limit: usize,
) -> io::Result<()> {
    let [before, now] = [compared.before.graph, compared.now.graph];
    let found = &compared.by_owner;
    let [before_bytes, now_bytes] = found.bytes;
    // As many as each snapshot has by itself, those without a size among them.
    let [before_count, now_count] = [before, now].map(|graph| graph.node_count() as u64);
    sheet.heading(&format!(
        "Heap snapshots: {} then, {} now ({}); {} then, {} now ({})",
        counted(before_count, "object"),
        now_count,
        signed(
            i128::from(now_count) - i128::from(before_count),
            short_count
        ),
        bytes(before_bytes),
        bytes(now_bytes),
        signed(i128::from(now_bytes) - i128::from(before_bytes), bytes),
    ))?;
    if !found.has_stable_ids {
        sheet.warning(
            "hardly any object has the same id in both, as if they were of different processes: which objects are new is not told.",
        )?;
    }
    sheet.plain("")?;
    if found.types.is_empty() {
        return sheet.plain("Nothing has changed.");
    }
    sheet.heading("Types, by how much they have grown")?;
    match found.has_stable_ids {
        true => sheet.titles(&["Bytes", "Objects", "New", "Gone", "Now"], "Type")?,
        false => sheet.titles(&["Bytes", "Objects", "Now"], "Type")?,
    }
    for row in found.types.iter().take(limit) {
        sheet.number(&signed(row.grown(), bytes));
        let more = i128::from(row.count[1]) - i128::from(row.count[0]);
        sheet.number(&signed(more, short_count));
        if found.has_stable_ids {
            sheet.number(&short_count(row.new[0]));
            sheet.number(&short_count(row.gone[0]));
        }
        sheet.number(&short_count(row.count[1]));
        sheet.text(&row.name)?;
    }
    write_more(sheet, found.types.len().saturating_sub(limit), "type")?;
    if found.largest_new.is_empty() {
        return Ok(());
    }
    sheet.plain("")?;
    sheet.heading("The largest objects that are new")?;
    sheet.titles(&["Bytes"], "Object")?;
    for node in &found.largest_new {
        sheet.bytes(now.size(*node));
        sheet.text(&compared.shown(*node))?;
    }
    Ok(())
}

/// A number with its sign, in the words of `shown`.
fn signed(number: i128, shown: fn(u64) -> String) -> String {
    let size = u64::try_from(number.unsigned_abs()).unwrap_or(u64::MAX);
    match number {
        0 => shown(0),
        more if more > 0 => format!("+{}", shown(size)),
        _ => format!("-{}", shown(size)),
    }
}

pub(super) fn members(
    json: &mut Json<'_>,
    compared: &Compared<'_>,
    limit: usize,
    most_owners: usize,
) {
    let found = compared.by_type();
    let (before, now) = (&compared.before, &compared.now);
    head_members(json, "heap_difference");
    for (key, side) in [("before", before), ("now", now)] {
        json.row(key, |json| snapshot_members(json, side.graph));
    }
    json.is("has_stable_ids", found.has_stable_ids);
    let parts: FxHashMap<&str, (&str, Option<&str>)> = before.parts().chain(now.parts()).collect();
    let mut owners: FxHashMap<&str, Vec<(Option<&str>, &TypeChange)>> = FxHashMap::default();
    for row in &compared.by_owner.types {
        let (of, owner) = parts.get(&*row.name).copied().unwrap_or((&row.name, None));
        owners.entry(of).or_default().push((owner, row));
    }
    json.array("types", |json| {
        for row in found.types.iter().take(limit) {
            json.object("", |json| {
                json.text("type", &row.name);
                change_members(json, row, found.has_stable_ids);
                let rows = owners.get(&*row.name).map_or(&[][..], Vec::as_slice);
                // A type without any owner is one part, which adds nothing.
                let has_owners = rows.iter().any(|(owner, _)| owner.is_some());
                json.array("owners", |json| {
                    for (owner, row) in rows.iter().filter(|_| has_owners).take(most_owners) {
                        json.row("", |json| {
                            json.text_or_null("owner", owner.unwrap_or(""));
                            change_members(json, row, found.has_stable_ids);
                        });
                    }
                });
            });
        }
    });
    json.array("largest_new", |json| {
        for node in &found.largest_new {
            json.row("", |json| {
                object::members(json, now.graph, &now.types, *node)
            });
        }
    });
}

fn change_members(json: &mut Json<'_>, row: &TypeChange, has_stable_ids: bool) {
    json.number("objects_before", row.count[0]);
    json.number("objects_now", row.count[1]);
    json.number("bytes_before", row.bytes[0]);
    json.number("bytes_now", row.bytes[1]);
    let known = |number| has_stable_ids.then_some(number);
    json.number_or_null("new_objects", known(row.new[0]));
    json.number_or_null("new_bytes", known(row.new[1]));
    json.number_or_null("gone_objects", known(row.gone[0]));
    json.number_or_null("gone_bytes", known(row.gone[1]));
}
