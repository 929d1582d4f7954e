//! The columns of a table, and their types: what data frames need before the first row.

use serde_json::{Map, Value};

/// The type of a column's values.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Type {
    Integer,
    Float,
    Truth,
    Text,
}

/// A column.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Column {
    pub name: String,
    pub of: Type,
}

/// All columns of some rows, in the order of their first appearance.
pub(crate) fn columns(rows: &[Map<String, Value>]) -> Vec<Column> {
    let mut columns: Vec<(Column, bool)> = Vec::new();
    for row in rows {
        for (name, value) in row {
            let of = type_of(name, value);
            let known = columns.iter_mut().find(|(column, _)| column.name == *name);
            match (known, of) {
                (None, of) => columns.push((
                    Column {
                        name: name.clone(),
                        of: of.unwrap_or(Type::Text),
                    },
                    of.is_some(),
                )),
                (Some((column, is_known)), Some(of)) => {
                    column.of = if *is_known { joined(column.of, of) } else { of };
                    *is_known = true;
                }
                (Some(_), None) => {}
            }
        }
    }
    columns.into_iter().map(|(column, _)| column).collect()
}

/// The type of a value; `None` for null. What is measured is never whole by chance only.
fn type_of(name: &str, value: &Value) -> Option<Type> {
    let is_measured = ["share", "seconds", "margin", "probability", "per_second"]
        .iter()
        .any(|part| name.contains(part));
    Some(match value {
        Value::Number(_) if is_measured => Type::Float,
        Value::Number(number) if number.is_i64() => Type::Integer,
        Value::Number(_) => Type::Float,
        Value::Bool(_) => Type::Truth,
        Value::Null => return None,
        _ => Type::Text,
    })
}

/// The type that has the values of both.
fn joined(one: Type, other: Type) -> Type {
    match (one, other) {
        _ if one == other => one,
        (Type::Integer, Type::Float) | (Type::Float, Type::Integer) => Type::Float,
        _ => Type::Text,
    }
}

/// A value as a text without quotes; `None` for null.
pub(crate) fn text(value: &Value) -> Option<String> {
    match value {
        Value::Null => None,
        Value::String(text) => Some(text.clone()),
        other => Some(other.to_string()),
    }
}
