//! Tables of numbers: columns side by side, as <https://profiler.firefox.com> saves them, or rows
//! with a schema, as Firefox itself writes them.

use crate::encoding::json::{Json, Read};

/// The columns of a table that are wanted. What is no number is not one here either.
#[derive(Debug, Default)]
pub(super) struct Table {
    columns: Vec<(&'static str, Vec<f64>)>,
    /// A text beside the columns: the kind of the weights.
    pub weight_type: String,
}

impl Table {
    /// Whether the table is in the file.
    pub(super) fn is_any(&self) -> bool {
        !self.columns.is_empty()
    }

    /// A column; empty where the table lacks it.
    pub(super) fn column(&self, name: &str) -> &[f64] {
        let column = self.columns.iter().find(|(known, _)| *known == name);
        column.map_or(&[], |(_, values)| values)
    }

    /// The index in a column. The missing ones are `null` or -1.
    pub(super) fn index(&self, name: &str, row: usize) -> Option<usize> {
        index(self.column(name), row)
    }

    /// Reads the table with these columns.
    pub(super) fn read(&mut self, json: &mut Json<'_>, wanted: &[&'static str]) -> Read<()> {
        // The place of each wanted column in a row.
        let mut places: Vec<(usize, usize)> = Vec::new();
        // Rows before their schema are read when it is known.
        let mut early = None;
        json.object(|json, key| match key {
            "weightType" => {
                self.weight_type = json.text()?.unwrap_or_default().into_owned();
                Ok(())
            }
            "schema" => json.object(|json, key| {
                let place = json.index()?;
                if let Some(name) = wanted.iter().find(|name| **name == key)
                    && let Some(place) = place
                    && self.column(name).is_empty()
                    && !places.iter().any(|&(known, _)| known == place as usize)
                    && self.columns.len() < wanted.len()
                {
                    places.push((place as usize, self.columns.len()));
                    self.columns.push((name, Vec::new()));
                }
                Ok(())
            }),
            "data" if places.is_empty() => {
                early = Some(json.clone());
                json.skip()
            }
            "data" => json.array(|json| self.row(json, &places)),
            key => match wanted.iter().find(|name| **name == key) {
                Some(name) => {
                    self.columns.push((name, Vec::new()));
                    let values = self.columns.last_mut().map(|(_, values)| values);
                    let Some(values) = values else {
                        return json.skip();
                    };
                    json.array(|json| {
                        values.push(value(json)?);
                        Ok(())
                    })
                }
                None => json.skip(),
            },
        })?;
        match early {
            Some(mut json) => json.array(|json| self.row(json, &places)),
            None => Ok(()),
        }
    }

    /// Reads a row after the schema. It may be short.
    fn row(&mut self, json: &mut Json<'_>, places: &[(usize, usize)]) -> Read<()> {
        let rows = self.columns.first().map_or(0, |(_, values)| values.len());
        let mut at = 0;
        json.array(|json| {
            match places.iter().find(|(place, _)| *place == at) {
                Some(&(_, column)) => {
                    let value = value(json)?;
                    if let Some((_, values)) = self.columns.get_mut(column) {
                        values.push(value);
                    }
                }
                None => json.skip()?,
            }
            at += 1;
            Ok(())
        })?;
        for (_, values) in &mut self.columns {
            values.resize(rows + 1, f64::NAN);
        }
        Ok(())
    }
}

/// The index in a row of a column.
pub(super) fn index(column: &[f64], row: usize) -> Option<usize> {
    let value = column.get(row).copied()?;
    (value >= 0.0).then_some(value as usize)
}

fn value(json: &mut Json<'_>) -> Read<f64> {
    match json.peek()? {
        b't' => json.skip().map(|()| 1.0),
        b'f' => json.skip().map(|()| 0.0),
        _ => json.number().map(|number| number.unwrap_or(f64::NAN)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn both_layouts_are_one_table() {
        let check = |text: &str| {
            let mut table = Table::default();
            table
                .read(&mut Json::new(text.as_bytes()), &["prefix", "frame"])
                .unwrap();
            assert_eq!(table.column("frame"), [7.0, 8.0]);
            assert_eq!(table.index("prefix", 0), None);
            assert_eq!(table.index("prefix", 1), Some(0));
        };
        check(r#"{"frame":[7,8],"prefix":[null,0],"length":2}"#);
        check(r#"{"schema":{"prefix":1,"frame":0,"x":2},"data":[[7],[8,0,[1]]]}"#);
        check(r#"{"data":[[7],[8,0,[1]]],"schema":{"prefix":1,"frame":0,"x":2}}"#);
    }
}
