//! From a document to tables: arrays of objects, and the arrays within their rows.

use serde_json::{Map, Value};

use crate::Error;

/// A table: rows with plain members, each a number, a text, true or false, or null.
#[derive(Debug, Clone, PartialEq)]
pub struct Table {
    /// The member of the report that has its rows.
    pub name: String,
    /// Its rows, with the members that they have.
    pub rows: Vec<Map<String, Value>>,
    /// Whether the report has a list of them, and not one alone.
    pub is_list: bool,
}

/// The tables of a report that was written as JSON, in the order of its members.
pub fn tables(report: &str) -> Result<Vec<Table>, Error> {
    let document: Value = serde_json::from_str(report)?;
    let mut tables = Vec::new();
    if let Value::Object(members) = &document {
        for (name, value) in members {
            // The head of the document is about the recording as a whole.
            if !["profundo", "recording", "selection"].contains(&&name[..]) {
                add(&mut tables, name, value, &Map::new());
            }
        }
    }
    tables.retain(|table| !table.rows.is_empty());
    Ok(tables)
}

/// The table of a name; without one, the first list.
pub fn find<'a>(tables: &'a [Table], name: Option<&str>) -> Result<&'a Table, Error> {
    let Some(name) = name else {
        let list = tables.iter().find(|table| table.is_list);
        return list.or(tables.first()).ok_or(Error::Nothing);
    };
    let found = tables.iter().find(|table| table.name == name);
    found.ok_or_else(|| Error::NoTable {
        name: name.to_owned(),
        choices: match tables {
            [] => "none".to_owned(),
            tables => {
                let names: Vec<&str> = tables.iter().map(|table| &table.name[..]).collect();
                names.join(", ")
            }
        },
    })
}

/// Adds what a member of this name holds. `around` are the plain members of the row that has it.
fn add(tables: &mut Vec<Table>, name: &str, value: &Value, around: &Map<String, Value>) {
    match value {
        Value::Array(items) if items.iter().any(Value::is_object) => {
            let rows = items.iter().filter_map(Value::as_object);
            for row in rows {
                add_row(tables, name, row, around, true);
            }
        }
        // An object of its own, such as the sums of a report, is a row; its arrays are tables.
        Value::Object(row) if !row.is_empty() => add_row(tables, name, row, around, false),
        _ => {}
    }
}

fn add_row(
    tables: &mut Vec<Table>,
    name: &str,
    row: &Map<String, Value>,
    around: &Map<String, Value>,
    is_list: bool,
) {
    let mut plain = around.clone();
    flatten(&mut plain, "", row);
    let table = match tables.iter_mut().find(|table| table.name == name) {
        Some(table) => table,
        None => {
            tables.push(Table {
                name: name.to_owned(),
                rows: Vec::new(),
                is_list,
            });
            tables.last_mut().expect("it was added")
        }
    };
    table.rows.push(plain);
    // These members tell the rows within this one apart: what it is, not how much.
    let mut outer = around.clone();
    outer.extend(
        row.iter()
            .filter(|(name, value)| is_key(name, value))
            .map(|(name, value)| {
                let name = match around.contains_key(name) {
                    true => format!("outer_{name}"),
                    false => name.clone(),
                };
                (name, value.clone())
            }),
    );
    for (name, value) in row {
        if value.is_array() {
            add(tables, name, value, &outer);
        }
    }
}

/// The plain members of a row. Those of an object within it have its name in front.
fn flatten(plain: &mut Map<String, Value>, before: &str, row: &Map<String, Value>) {
    for (name, value) in row {
        let name = format!("{before}{name}");
        match value {
            Value::Object(inner) => flatten(plain, &format!("{name}_"), inner),
            Value::Array(items) if items.iter().any(Value::is_object) => {}
            // Words beside each other, such as notes.
            Value::Array(items) => {
                let words = items.iter().map(|item| match item {
                    Value::String(text) => text.clone(),
                    other => other.to_string(),
                });
                let words: Vec<String> = words.collect();
                plain.insert(name, Value::String(words.join("; ")));
            }
            value => drop(plain.insert(name, value.clone())),
        }
    }
}

/// Whether a member says what a row is about.
fn is_key(name: &str, value: &Value) -> bool {
    const KEYS: &[&str] = &[
        "file",
        "function",
        "name",
        "process",
        "pid",
        "thread",
        "task",
        "span",
        "of",
        "key",
        "type",
        "command",
        "first_line",
        "language",
    ];
    KEYS.contains(&name) && (value.is_string() || value.is_number())
}
