//! The constants of a chunk: threads, stacks, methods, strings, each under a key that events and
//! other constants have. They are read where they are wanted first.

use std::borrow::Cow;

use rustc_hash::FxHashMap;

use super::chunk::Chunk;
use super::metadata::{Role, Shape};
use super::wire::{Cursor, Text};

/// The places of the constants of a chunk.
#[derive(Debug)]
pub(super) struct Constants<'c, 'a> {
    pub(super) chunk: &'c Chunk<'a>,
    places: FxHashMap<(usize, u64), usize>,
    strings: Option<usize>,
    /// The place of the first table that is damaged.
    pub(super) damage: Option<usize>,
}

impl<'c, 'a> Constants<'c, 'a> {
    /// No constants: for events that have their strings in themselves.
    pub(super) fn none(chunk: &'c Chunk<'a>) -> Self {
        Self {
            chunk,
            places: FxHashMap::default(),
            strings: chunk.types.of_name("java.lang.String"),
            damage: None,
        }
    }

    /// Finds all constants.
    pub(super) fn read(chunk: &'c Chunk<'a>) -> Self {
        let mut constants = Self::none(chunk);
        for &at in &chunk.checkpoints {
            if constants.checkpoint(at).is_none() {
                constants.damage = constants.damage.or(Some(at));
            }
        }
        constants
    }

    fn checkpoint(&mut self, at: usize) -> Option<()> {
        let types = &self.chunk.types;
        let mut cursor = Cursor::new(self.chunk.bytes, at);
        let size = usize::try_from(cursor.number()?).ok()?;
        let bytes = self.chunk.bytes.get(..at.checked_add(size)?)?;
        let mut cursor = Cursor::new(bytes, cursor.at());
        // Type, start, duration, distance to the one before; whether more follow.
        for _ in 0..4 {
            cursor.number()?;
        }
        cursor.byte()?;
        for _ in 0..cursor.count()? {
            let index = types.of_id(cursor.number()?)?;
            let found = types.get(index)?;
            for _ in 0..cursor.count()? {
                let key = cursor.number()?;
                self.places.insert((index, key), cursor.at());
                if Some(index) == self.strings {
                    cursor.string()?;
                }
                for &field in &found.fields {
                    types.skip(&mut cursor, field)?;
                }
            }
        }
        Some(())
    }

    /// Calls `each` with the fields of a constant. It answers whether it has read the value.
    pub(super) fn fields(
        &self,
        (index, key): (usize, u64),
        mut each: impl FnMut(Role, Shape, &mut Cursor<'a>) -> Option<bool>,
    ) -> Option<()> {
        let &at = self.places.get(&(index, key))?;
        let mut cursor = Cursor::new(self.chunk.bytes, at);
        self.fields_at(&mut cursor, index, &mut each)
    }

    /// The same for a value at this place.
    pub(super) fn fields_at(
        &self,
        cursor: &mut Cursor<'a>,
        index: usize,
        each: &mut impl FnMut(Role, Shape, &mut Cursor<'a>) -> Option<bool>,
    ) -> Option<()> {
        let types = &self.chunk.types;
        for &field in &types.get(index)?.fields {
            let is_read = field.role != Role::Other && each(field.role, field.shape, cursor)?;
            if !is_read {
                types.skip(cursor, field)?;
            }
        }
        Some(())
    }

    /// A string where it stands.
    pub(super) fn string(&self, cursor: &mut Cursor<'a>) -> Option<Cow<'a, str>> {
        match cursor.string()? {
            Text::Here(text) => Some(text),
            Text::Pooled(key) => {
                let &at = self.places.get(&(self.strings?, key))?;
                match Cursor::new(self.chunk.bytes, at).string()? {
                    Text::Here(text) => Some(text),
                    Text::Pooled(_) => None,
                }
            }
        }
    }

    /// The text of a field: a string, or a constant with one, such as a symbol.
    pub(super) fn text(&self, shape: Shape, cursor: &mut Cursor<'a>) -> Option<Cow<'a, str>> {
        match shape {
            Shape::String => self.string(cursor),
            Shape::Constant(index) => {
                let key = cursor.number()?;
                Some(self.name((index, key)).unwrap_or_default())
            }
            _ => None,
        }
    }

    /// The name of a constant: its only string.
    pub(super) fn name(&self, constant: (usize, u64)) -> Option<Cow<'a, str>> {
        if Some(constant.0) == self.strings {
            let &at = self.places.get(&constant)?;
            return self.string(&mut Cursor::new(self.chunk.bytes, at));
        }
        let mut name = None;
        self.fields(constant, |role, shape, cursor| {
            let is_name = matches!(role, Role::Name | Role::Text) && name.is_none();
            match shape {
                Shape::String if is_name => name = Some(self.string(cursor)?),
                Shape::Constant(index) if is_name => {
                    let key = cursor.number()?;
                    name = self.symbol((index, key));
                }
                _ => return Some(false),
            }
            Some(true)
        });
        name
    }

    /// The text of a constant without other constants.
    fn symbol(&self, constant: (usize, u64)) -> Option<Cow<'a, str>> {
        let mut name = None;
        self.fields(constant, |role, shape, cursor| {
            if role != Role::Text || shape != Shape::String {
                return Some(false);
            }
            name = Some(self.string(cursor)?);
            Some(true)
        });
        name
    }
}
