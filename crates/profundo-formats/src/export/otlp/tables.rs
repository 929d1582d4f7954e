//! The tables of the dictionary. The first row of each stands for nothing, no row is there twice,
//! and a row is added only when something refers to it.

use std::io::{self, Write};

use rustc_hash::FxHashMap;

use crate::export::protobuf::{self, Message};

/// The rows of a table as they are written.
#[derive(Debug)]
pub(super) struct Table {
    ids: FxHashMap<Box<[u8]>, u64>,
    rows: Vec<Box<[u8]>>,
}

impl Default for Table {
    fn default() -> Self {
        let mut table = Self {
            ids: FxHashMap::default(),
            rows: Vec::new(),
        };
        table.id(b"");
        table
    }
}

impl Table {
    /// The number of a row.
    pub(super) fn id(&mut self, row: &[u8]) -> u64 {
        if let Some(&id) = self.ids.get(row) {
            return id;
        }
        let id = self.rows.len() as u64;
        self.rows.push(row.into());
        self.ids.insert(row.into(), id);
        id
    }

    /// The number of a message.
    pub(super) fn row(&mut self, fill: impl FnOnce(&mut Message)) -> u64 {
        let mut message = Message::default();
        fill(&mut message);
        self.id(message.bytes())
    }
}

/// All tables.
#[derive(Debug, Default)]
pub(super) struct Tables {
    pub mappings: Table,
    pub locations: Table,
    pub functions: Table,
    pub strings: Table,
    pub attributes: Table,
    pub stacks: Table,
}

impl Tables {
    pub(super) fn text(&mut self, text: &str) -> u64 {
        self.strings.id(text.as_bytes())
    }

    /// The number of an attribute that is a text.
    pub(super) fn text_attribute(&mut self, key: &str, text: &str) -> u64 {
        let key = self.text(key);
        self.attributes.row(|row| {
            row.number(1, key);
            row.inner(2, |value| value.text(1, text));
        })
    }

    /// The number of an attribute that is a number.
    pub(super) fn number_attribute(&mut self, key: &str, number: u64) -> u64 {
        let key = self.text(key);
        self.attributes.row(|row| {
            row.number(1, key);
            row.inner(2, |value| value.number_or_zero(3, number));
        })
    }

    /// Writes the dictionary as `field` of a message.
    pub(super) fn write(&self, field: u32, out: &mut impl Write) -> io::Result<()> {
        let mut dictionary = Message::default();
        // There are no links to spans of traces: one that stands for nothing.
        let links = Table::default();
        let tables = [
            (1, &self.mappings),
            (2, &self.locations),
            (3, &self.functions),
            (4, &links),
            (5, &self.strings),
            (6, &self.attributes),
            (7, &self.stacks),
        ];
        for (number, table) in tables {
            for row in &table.rows {
                dictionary.framed(number, row);
            }
        }
        protobuf::write(field, dictionary.bytes(), out)
    }
}
