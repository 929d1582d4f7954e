//! The JSON of `json-split`: rows of numbers, the columns' names after them, and the tree of nodes
//! that the numbers of some columns stand for.
//!
//! ```text
//! { "data": [ [ 1, 0.000486, 4 ], … ], "columns": [ "count", "time", "path" ],
//!   "column_metadata": [ { "is_value": true }, … ],
//!   "nodes": [ { "label": "main", "column": "path" }, { "label": "solve", "parent": 0, … }, … ] }
//! ```

use profundo_model::StackId;

use super::metric::{self, Choice, Metric};
use super::records::{Record, Records, is_callpath, is_rank, is_thread};
use crate::encoding::json::{ENDS_EARLY, Json, Read, first, member, members};
use crate::{Builder, Error, Named, Source, Unit, Warning};

pub(super) fn is_start(start: &[u8]) -> bool {
    let members = members(start);
    let has = |key| member(&members, key).is_some();
    let Some((key, data)) = members.first() else {
        return false;
    };
    // A row of numbers, of which some may be missing.
    let row = first(data).filter(|row| row.starts_with(b"["));
    let is_number = |byte: &u8| byte.is_ascii_digit() || b" \n\r\t,[.-+enul".contains(byte);
    let row = row.and_then(|row| row.split(|&byte| byte == b']').next());
    let is_rows = row.is_some_and(|row| row.iter().all(is_number));
    let is_whole = has("columns") && has("column_metadata") && has("nodes");
    let is_cut = || members.len() == 1 && Json::new(data).skip().is_err();
    key == "data" && is_rows && (is_whole || is_cut())
}

/// A column of the rows.
#[derive(Debug, Default)]
struct Column {
    metric: Metric,
    is_value: bool,
}

/// What a column has.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Role {
    Path,
    Rank,
    Thread,
    Number(usize),
    Other,
}

/// A node of the tree.
#[derive(Debug)]
struct Node {
    label: Box<str>,
    /// Its path, for a node of the column of paths.
    stack: Option<StackId>,
}

#[derive(Default)]
struct Head {
    columns: Vec<Column>,
    nodes: Vec<Node>,
    is_old: bool,
}

pub(super) fn fill(source: &Source<'_>, builder: &mut Builder) -> Result<(), Error> {
    let members = members(source.bytes);
    let mut head = Head {
        is_old: member(&members, "cali.caliper.version").is_none(),
        ..Head::default()
    };
    let damaged = |builder: &mut Builder| {
        builder.warn(Warning::Damaged {
            offset: source.bytes.len() as u64,
            what: ENDS_EARLY.to_owned(),
        });
    };
    let columns = member(&members, "columns").map(|text| head.read_columns(text));
    let about = member(&members, "column_metadata").map(|text| head.read_about(text));
    if !matches!((columns, about), (Some(Ok(())), Some(Ok(())))) {
        damaged(builder);
        return Ok(());
    }
    let path = head.path();
    let nodes = member(&members, "nodes").map(|text| head.read_nodes(text, builder, path));
    if !matches!(nodes, Some(Ok(()))) {
        damaged(builder);
    }
    let (roles, metrics) = head.roles(path);
    let choice = metric::choice(&metrics, source.options.value.as_deref())?;
    let Some(choice) = choice else {
        builder.note("the file has no numbers");
        return Ok(());
    };
    let unit = metrics.get(choice.value).map(|it| it.unit(head.is_old));
    let mut records = Records::new(unit.unwrap_or(Unit::Count));
    let data = member(&members, "data").unwrap_or_default();
    let rows = Json::new(data).array(|json| {
        let (record, stack) = head.row(json, &roles, choice)?;
        if let Some(record) = record {
            records.add(builder, stack, &record);
        }
        Ok(())
    });
    if let Err(damage) = rows {
        builder.warn(damage.warning());
    }
    records.finish(builder, &metrics, choice);
    Ok(())
}

impl Head {
    fn read_columns(&mut self, text: &[u8]) -> Read<()> {
        Json::new(text).array(|json| {
            let name = json.text()?.unwrap_or_default();
            self.columns.push(Column::default());
            if let Some(column) = self.columns.last_mut() {
                column.metric.name = name.into_owned();
            }
            Ok(())
        })
    }

    fn read_about(&mut self, text: &[u8]) -> Read<()> {
        let mut columns = self.columns.iter_mut();
        let mut spare = Column::default();
        Json::new(text).array(|json| {
            let column = columns.next().unwrap_or(&mut spare);
            json.object(|json, key| {
                match key {
                    "is_value" => column.is_value = json.raw()?.starts_with(b"true"),
                    "attribute.alias" => {
                        column.metric.alias = json.text()?.unwrap_or_default().into_owned();
                    }
                    "attribute.unit" | "time.unit" => {
                        column.metric.unit = json.text()?.unwrap_or_default().into_owned();
                    }
                    _ => json.skip()?,
                }
                Ok(())
            })
        })
    }

    /// The column of paths.
    fn path(&self) -> Option<usize> {
        let is_other = |name: &str| {
            let is_place = name.contains("sourceloc") || name.contains("module#");
            is_place || is_rank(name) || is_thread(name)
        };
        let find = |is: &dyn Fn(&str) -> bool| {
            (self.columns.iter()).position(|column| !column.is_value && is(&column.metric.name))
        };
        find(&|name| name == "path")
            .or_else(|| find(&is_callpath))
            .or_else(|| find(&|name| !is_other(name)))
    }

    fn read_nodes(&mut self, text: &[u8], builder: &mut Builder, path: Option<usize>) -> Read<()> {
        let column = path.and_then(|path| self.columns.get(path));
        let path = column.map(|column| column.metric.name.clone());
        Json::new(text).array(|json| {
            let (mut label, mut parent, mut is_path) = (String::new(), None, false);
            json.object(|json, key| {
                match key {
                    "label" => label = json.text_or_raw()?.into_owned(),
                    "parent" => parent = json.index()?,
                    "column" => is_path = json.text()?.as_deref() == path.as_deref(),
                    _ => json.skip()?,
                }
                Ok(())
            })?;
            let stack = is_path.then(|| {
                let parent = parent.and_then(|parent| self.nodes.get(parent as usize));
                let location = builder.location(Named {
                    function: &label,
                    ..Named::default()
                });
                builder.stack(parent.and_then(|node| node.stack), location)
            });
            let label = if is_path { "".into() } else { label.into() };
            self.nodes.push(Node { label, stack });
            Ok(())
        })
    }

    fn roles(&self, path: Option<usize>) -> (Vec<Role>, Vec<Metric>) {
        let mut metrics = Vec::new();
        let roles =
            self.columns
                .iter()
                .enumerate()
                .map(|(at, column)| match &column.metric.name[..] {
                    _ if Some(at) == path => Role::Path,
                    name if is_rank(name) => Role::Rank,
                    name if is_thread(name) => Role::Thread,
                    _ if column.is_value => {
                        metrics.push(column.metric.clone());
                        Role::Number(metrics.len() - 1)
                    }
                    _ => Role::Other,
                });
        (roles.collect(), metrics)
    }

    /// Reads a row. `None`: it lacks the value.
    fn row(
        &self,
        json: &mut Json<'_>,
        roles: &[Role],
        choice: Choice,
    ) -> Read<(Option<Record>, Option<StackId>)> {
        let mut record = Record::default();
        let (mut stack, mut has_value, mut at) = (None, false, 0);
        json.array(|json| {
            let role = roles.get(at).copied().unwrap_or(Role::Other);
            let is_value = self.columns.get(at).is_some_and(|column| column.is_value);
            at += 1;
            let Some(number) = json.number()? else {
                return Ok(());
            };
            let node = || {
                (number >= 0.0)
                    .then(|| self.nodes.get(number as usize))
                    .flatten()
            };
            let label = || node().and_then(|node| node.label.trim().parse().ok());
            match role {
                Role::Path => stack = node().and_then(|node| node.stack),
                Role::Rank if is_value => record.rank = Some(number as u32),
                Role::Rank => record.rank = label().map(|rank: f64| rank as u32),
                Role::Thread if is_value => record.thread = Some(number as u64),
                Role::Thread => record.thread = label().map(|thread: f64| thread as u64),
                Role::Number(column) => {
                    if column == choice.value {
                        record.value = number;
                        has_value = true;
                    }
                    if Some(column) == choice.count {
                        record.count = number;
                    }
                }
                Role::Other => {}
            }
            Ok(())
        })?;
        Ok((has_value.then_some(record), stack))
    }
}
