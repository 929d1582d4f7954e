//! The tables of the message, as they stand in the file, and the row that an id means.

use std::borrow::Cow;

use rustc_hash::FxHashMap;

use crate::encoding::protobuf::{Field, Fields, Value};

/// All but the samples.
#[derive(Debug, Default)]
pub(super) struct Tables<'a> {
    /// The types of the values of a sample.
    pub types: Vec<Type>,
    pub mappings: Vec<Mapping>,
    pub locations: Vec<Location<'a>>,
    pub functions: Vec<Function>,
    texts: Vec<&'a [u8]>,
    /// Patterns for functions that readers hide, and for those that they show nevertheless.
    pub drop_frames: u64,
    pub keep_frames: u64,
    pub comments: Vec<u64>,
    /// Nanoseconds since 1970.
    pub time: i64,
    pub duration: i64,
    pub period_type: Type,
    pub period: i64,
    pub default_type: u64,
    rows: Rows,
}

/// Rows by the ids that the file gives them.
#[derive(Debug, Default)]
struct Rows {
    mappings: Ids,
    locations: Ids,
    functions: Ids,
}

/// A type of value: a name and a unit, both texts.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Type {
    pub name: u64,
    pub unit: u64,
}

#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Mapping {
    id: u64,
    pub start: u64,
    pub end: u64,
    pub offset: u64,
    pub path: u64,
    pub build_id: u64,
}

#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Location<'a> {
    id: u64,
    mapping: u64,
    pub address: u64,
    message: &'a [u8],
}

#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Function {
    id: u64,
    pub name: u64,
    pub system_name: u64,
    pub file: u64,
}

/// A line of a location: a function and the number of the line.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Line {
    pub function: Option<usize>,
    pub line: u32,
}

impl<'a> Tables<'a> {
    /// Reads them, and says where the message is damaged.
    pub(super) fn of(message: &'a [u8]) -> (Self, Option<usize>) {
        let mut tables = Self::default();
        let mut damage = None;
        for field in Fields::new(message) {
            match field {
                Ok(field) => tables.add(field),
                Err(malformed) => damage = Some(malformed.offset),
            }
        }
        tables.rows = Rows {
            mappings: Ids::of(tables.mappings.iter().map(|row| row.id)),
            locations: Ids::of(tables.locations.iter().map(|row| row.id)),
            functions: Ids::of(tables.functions.iter().map(|row| row.id)),
        };
        (tables, damage)
    }

    fn add(&mut self, field: Field<'a>) {
        let Field { number, value } = field;
        match number {
            1 => self.types.push(Type::of(value)),
            3 => self.mappings.push(Mapping::of(value)),
            4 => self.locations.push(Location::of(value)),
            5 => self.functions.push(Function::of(value)),
            6 => self.texts.push(value.bytes()),
            7 => self.drop_frames = value.number(),
            8 => self.keep_frames = value.number(),
            9 => self.time = value.number() as i64,
            10 => self.duration = value.number() as i64,
            11 => self.period_type = Type::of(value),
            12 => self.period = value.number() as i64,
            13 => self.comments.extend(value.numbers()),
            14 => self.default_type = value.number(),
            _ => {}
        }
    }

    /// A text; an empty one where there is none.
    pub(super) fn text(&self, id: u64) -> Cow<'a, str> {
        let at = usize::try_from(id).ok();
        let bytes = at.and_then(|at| self.texts.get(at)).copied();
        String::from_utf8_lossy(bytes.unwrap_or_default())
    }

    /// The row of a location.
    #[inline]
    pub(super) fn location(&self, id: u64) -> Option<usize> {
        self.rows.locations.get(id)
    }

    /// The row of the mapping of a location.
    pub(super) fn mapping_of(&self, location: &Location<'_>) -> Option<usize> {
        self.rows.mappings.get(location.mapping)
    }

    /// The lines of a location, the innermost first.
    pub(super) fn lines(&self, location: &Location<'a>) -> impl Iterator<Item = Line> + '_ {
        let fields = Fields::new(location.message).flatten();
        let lines = fields.filter(|field| field.number == 4);
        lines.map(|field| {
            let (mut function, mut line) = (0, 0);
            for field in Fields::new(field.value.bytes()).flatten() {
                match field.number {
                    1 => function = field.value.number(),
                    2 => line = field.value.number(),
                    _ => {}
                }
            }
            Line {
                function: self.rows.functions.get(function),
                line: u32::try_from(line).unwrap_or(0),
            }
        })
    }
}

/// The numbers of a message of numbers: those of fields 1 to `N`.
fn numbers<const N: usize>(value: Value<'_>) -> [u64; N] {
    let mut numbers = [0; N];
    for field in Fields::new(value.bytes()).flatten() {
        let at = usize::try_from(field.number - 1).unwrap_or(N);
        if let Some(number) = numbers.get_mut(at) {
            *number = field.value.number();
        }
    }
    numbers
}

impl Type {
    fn of(value: Value<'_>) -> Self {
        let [name, unit] = numbers(value);
        Self { name, unit }
    }
}

impl Mapping {
    fn of(value: Value<'_>) -> Self {
        let [id, start, end, offset, path, build_id] = numbers(value);
        Self {
            id,
            start,
            end,
            offset,
            path,
            build_id,
        }
    }
}

impl<'a> Location<'a> {
    fn of(value: Value<'a>) -> Self {
        let [id, mapping, address] = numbers(value);
        Self {
            id,
            mapping,
            address,
            message: value.bytes(),
        }
    }
}

impl Function {
    fn of(value: Value<'_>) -> Self {
        let [id, name, system_name, file] = numbers(value);
        Self {
            id,
            name,
            system_name,
            file,
        }
    }
}

/// Rows by id. Ids are 1, 2, 3, … almost always, and any numbers sometimes.
#[derive(Debug, Default)]
struct Ids {
    /// The row of a small id, and 1.
    small: Vec<u32>,
    large: FxHashMap<u64, u32>,
}

impl Ids {
    fn of(ids: impl ExactSizeIterator<Item = u64>) -> Self {
        /// A table with this many gaps for each row is still small.
        const GAPS: usize = 4;
        let limit = ids.len().saturating_mul(GAPS).saturating_add(16);
        let mut rows = Self::default();
        for (id, row) in ids.zip(1_u32..) {
            match usize::try_from(id) {
                Ok(id) if id < limit => {
                    if rows.small.len() <= id {
                        rows.small.resize(id + 1, 0);
                    }
                    if let Some(slot) = rows.small.get_mut(id) {
                        *slot = row;
                    }
                }
                _ => _ = rows.large.insert(id, row),
            }
        }
        rows
    }

    #[inline]
    fn get(&self, id: u64) -> Option<usize> {
        let small = usize::try_from(id).ok().and_then(|id| self.small.get(id));
        let row = match small {
            Some(&row) => row,
            None => self.large.get(&id).copied().unwrap_or(0),
        };
        (row as usize).checked_sub(1)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ids_are_any_numbers() {
        let ids = Ids::of([3, 0, 1, u64::MAX, 40].into_iter());
        let rows = [3, 0, 1, u64::MAX, 40, 2, 39, 1 << 40].map(|id| ids.get(id));
        let known = [Some(0), Some(1), Some(2), Some(3), Some(4)];
        assert_eq!(rows[..5], known);
        assert_eq!(rows[5..], [None; 3]);
    }
}
