//! Dictionaries, and the attributes of objects, which may lie in one or elsewhere.

use crate::layout::objects::{dict, object, type_flag, type_object};
use crate::layout::{Attributes, KeysTable, Layout};
use crate::memory::{Memory, at, byte, half};
use crate::method::is_text;

/// The most attributes that are looked at.
const MOST: u64 = 64;

/// The place of the attributes of an object, if its type has no fixed place for them: 0 where there
/// are none.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct ManagedAttributes {
    /// Their values, in the order of the names in the type's keys.
    pub values: u64,
    /// The dictionary.
    pub dictionary: u64,
}

/// The place of the attributes of an object whose type has the flag `MANAGED_DICT`, from 3.11 on.
pub fn managed_attributes(
    layout: &Layout,
    memory: &mut impl Memory,
    object: u64,
    class: u64,
) -> Option<ManagedAttributes> {
    let dictionary = memory.word(object.wrapping_sub(u64::from(layout.objects.dict_before)))?;
    let (values, dictionary) = match layout.objects.attributes {
        Attributes::Dictionary => (0, 0),
        Attributes::Values => (
            memory.word(object.wrapping_sub(object::VALUES_BEFORE))?,
            dictionary,
        ),
        Attributes::Tagged if dictionary & 1 == 1 => (dictionary.wrapping_add(1), 0),
        Attributes::Tagged => (0, dictionary),
        Attributes::Inline => {
            /// The offset of the byte that says whether the values are still the object's.
            const IS_VALID: u64 = 3;
            let flags = memory.word(layout.field(class, type_object::FLAGS))?;
            let size = memory.word(layout.field(class, type_object::BASIC_SIZE))?;
            let values = object.wrapping_add(size);
            let has_values = flags & type_flag::INLINE_VALUES != 0
                && byte(memory, values.wrapping_add(IS_VALID))? == 1;
            (if has_values { values } else { 0 }, dictionary)
        }
    };
    Some(ManagedAttributes { values, dictionary })
}

/// An attribute of the object itself: its name and its value.
pub(crate) fn attribute(
    layout: &Layout,
    memory: &mut impl Memory,
    object: u64,
    name: &[u8],
) -> Option<(u64, u64)> {
    let class = memory.word(layout.field(object, object::TYPE))?;
    let flags = memory.word(layout.field(class, type_object::FLAGS))?;
    if layout.objects.attributes == Attributes::Dictionary || flags & type_flag::MANAGED_DICT == 0 {
        let offset = memory.word(layout.field(class, type_object::DICT_OFFSET))?;
        if offset == 0 || offset as i64 <= 0 {
            return None;
        }
        let dictionary = memory.word(object.wrapping_add(offset))?;
        return in_large_dictionary(layout, memory, dictionary, name, MOST);
    }
    let found = managed_attributes(layout, memory, object, class)?;
    if found.dictionary != 0 || found.values == 0 {
        return in_large_dictionary(layout, memory, found.dictionary, name, MOST);
    }
    let keys = memory.word(at(class, layout.objects.shared_keys))?;
    in_keys(layout, memory, keys, found.values, name, MOST)
}

/// Looks for a name among the first `most` entries of a dictionary: the key and its value.
pub(crate) fn in_large_dictionary(
    layout: &Layout,
    memory: &mut impl Memory,
    dictionary: u64,
    name: &[u8],
    most: u64,
) -> Option<(u64, u64)> {
    if dictionary == 0 {
        return None;
    }
    let keys = memory.word(layout.field(dictionary, dict::KEYS))?;
    let values = memory.word(layout.field(dictionary, dict::VALUES))?;
    in_keys(layout, memory, keys, values, name, most)
}

/// Looks for a name among keys. Its value stands beside it, or else among `values`.
fn in_keys(
    layout: &Layout,
    memory: &mut impl Memory,
    keys: u64,
    values: u64,
    name: &[u8],
    most: u64,
) -> Option<(u64, u64)> {
    if keys == 0 {
        return None;
    }
    let table = keys_table(layout, memory, keys)?;
    for index in 0..table.count.min(most) {
        let place = table.key(index);
        let found = memory.word(place)?;
        // A deleted entry has no key.
        if found == 0 || !is_text(layout, memory, found, name).unwrap_or(false) {
            continue;
        }
        let place = match values {
            0 => place.wrapping_add(8),
            values => value_at(layout, values, index),
        };
        let value = memory.word(place)?;
        return (value != 0).then_some((found, value));
    }
    None
}

/// The place of the value with this number, among values that lie together.
pub fn value_at(layout: &Layout, values: u64, index: u64) -> u64 {
    values.wrapping_add(layout.objects.attributes.values_head() + index * 8)
}

/// The entries behind the hash table of a dictionary's keys.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Entries {
    /// Their number, deleted ones included.
    pub count: u64,
    first: u64,
    /// The address of the first key; its value is behind it.
    key: u64,
    size: u64,
}

impl Entries {
    /// The address of an entry's key.
    pub fn key(&self, index: u64) -> u64 {
        self.first.wrapping_add(index * self.size + self.key)
    }
}

/// The entries of keys.
pub fn keys_table(layout: &Layout, memory: &mut impl Memory, keys: u64) -> Option<Entries> {
    /// With the hash before the key, or without.
    const HASHED: (u64, u64) = (8, 24);
    const PLAIN: (u64, u64) = (0, 16);
    match layout.objects.keys {
        KeysTable::Slots => {
            const SIZE: u64 = 8;
            const COUNT: u64 = 32;
            const INDICES: u64 = 40;
            let slots = memory.word(keys.wrapping_add(SIZE))?;
            let width = match slots {
                0..=0xFF => 1,
                0x100..=0xFFFF => 2,
                0x1_0000..=0xFFFF_FFFF => 4,
                _ => 8,
            };
            Some(Entries {
                first: keys
                    .wrapping_add(INDICES)
                    .wrapping_add(slots.wrapping_mul(width)),
                count: memory.word(keys.wrapping_add(COUNT))?,
                key: HASHED.0,
                size: HASHED.1,
            })
        }
        KeysTable::Bytes => {
            const SIZES: u64 = 8;
            const COUNT: u64 = 24;
            const INDICES: u64 = 32;
            let sizes = half(memory, keys.wrapping_add(SIZES))?;
            let [_, bytes, kind, _] = sizes.to_le_bytes();
            let indices = 1_u64.checked_shl(u32::from(bytes))?;
            let (key, size) = if kind == 0 { HASHED } else { PLAIN };
            Some(Entries {
                first: keys.wrapping_add(INDICES).wrapping_add(indices),
                count: memory.word(keys.wrapping_add(COUNT))?,
                key,
                size,
            })
        }
    }
}
