//! What a thread is called: the name that `threading.Thread` keeps, not the kernel's.
//!
//! The outermost frame of such a thread runs `Thread._bootstrap`, whose first local variable is the
//! `Thread`. Its name is an attribute, and each version keeps those in another place. The names of
//! an object's attributes are looked through one by one: `_name` is among the first.

use crate::code::{TextShape, text};
use crate::layout::{Attributes, Layout};
use crate::memory::{Memory, byte, half};
use crate::method::{Method, TYPE, is_text};
use crate::walk::at;

/// In a type.
const BASIC_SIZE: u64 = 32;
const FLAGS: u64 = 168;
const DICTIONARY: u64 = 288;
/// The type's objects have their attributes as values at their end.
const INLINE_VALUES: u64 = 1 << 2;
/// The type's objects have a pointer to their attributes before them.
const MANAGED: u64 = 1 << 4;
/// Before an object.
const DICTIONARY_BEFORE: u64 = 24;
const VALUES_BEFORE: u64 = 32;
/// In a dictionary.
const KEYS: u64 = 32;
const VALUES: u64 = 40;

/// How many attributes are looked at.
const MOST: u64 = 64;

/// The function that each thread begins with.
const BEGINNING: Method = Method {
    name: b"_bootstrap",
    name_in_class: b"Thread._bootstrap",
    file: b"threading.py",
};

/// Where the name lies of the thread whose outermost frame this is, with this code object. `None`
/// if the module `threading` did not begin it, or where anything is not as it should be.
pub fn thread_name(
    layout: &Layout,
    memory: &mut impl Memory,
    frame: u64,
    code: u64,
) -> Option<TextShape> {
    let thread = BEGINNING.object(layout, memory, frame, code)?;
    let (key, name) = attribute(layout, memory, thread, b"_name")?;
    // What is not of the very type of its own attribute's name is no text.
    let kind = memory.word(name.wrapping_add(TYPE))?;
    (kind == memory.word(key.wrapping_add(TYPE))?).then_some(())?;
    text(layout, memory, name)
}

/// An attribute that an object has of its own: its name and its value.
fn attribute(
    layout: &Layout,
    memory: &mut impl Memory,
    object: u64,
    name: &[u8],
) -> Option<(u64, u64)> {
    let class = memory.word(object.wrapping_add(TYPE))?;
    let flags = memory.word(class.wrapping_add(FLAGS))?;
    let before = |distance: u64| object.wrapping_sub(distance);
    if layout.attributes == Attributes::Dictionary || flags & MANAGED == 0 {
        let offset = memory.word(class.wrapping_add(DICTIONARY))?;
        if offset == 0 || offset as i64 <= 0 {
            return None;
        }
        let dictionary = memory.word(object.wrapping_add(offset))?;
        return in_dictionary(layout, memory, dictionary, name);
    }
    let keys = at(class, layout.shared_keys);
    let (values, dictionary) = match layout.attributes {
        Attributes::Dictionary => return None,
        Attributes::Values => (
            memory.word(before(VALUES_BEFORE))?,
            memory.word(before(DICTIONARY_BEFORE))?,
        ),
        Attributes::Tagged => {
            let pointer = memory.word(before(DICTIONARY_BEFORE))?;
            if pointer & 1 == 1 {
                (pointer.wrapping_add(1), 0)
            } else {
                (0, pointer)
            }
        }
        Attributes::Inline => {
            /// Of the byte that says whether they are still the object's.
            const IS_VALID: u64 = 3;
            let dictionary = memory.word(before(DICTIONARY_BEFORE))?;
            if dictionary != 0 || flags & INLINE_VALUES == 0 {
                (0, dictionary)
            } else {
                let size = memory.word(class.wrapping_add(BASIC_SIZE))?;
                let values = object.wrapping_add(size);
                (byte(memory, values.wrapping_add(IS_VALID))? == 1).then_some((values, 0))?
            }
        }
    };
    if values == 0 {
        return in_dictionary(layout, memory, dictionary, name);
    }
    let keys = memory.word(keys)?;
    in_keys(layout, memory, keys, values, (name, MOST))
}

fn in_dictionary(
    layout: &Layout,
    memory: &mut impl Memory,
    dictionary: u64,
    name: &[u8],
) -> Option<(u64, u64)> {
    in_large_dictionary(layout, memory, dictionary, name, MOST)
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
    let keys = memory.word(dictionary.wrapping_add(KEYS))?;
    let values = memory.word(dictionary.wrapping_add(VALUES))?;
    in_keys(layout, memory, keys, values, (name, most))
}

/// Looks for a name among keys. Its value stands beside it, or else among `values`.
fn in_keys(
    layout: &Layout,
    memory: &mut impl Memory,
    keys: u64,
    values: u64,
    (name, most): (&[u8], u64),
) -> Option<(u64, u64)> {
    if keys == 0 {
        return None;
    }
    let Table {
        entries,
        count,
        key,
        size,
    } = table(layout, memory, keys)?;
    // From 3.13 on some bytes stand before the values.
    let first = if layout.minor >= 13 { 8 } else { 0 };
    for index in 0..count.min(most) {
        let entry = entries.wrapping_add(index * size);
        let found = memory.word(entry.wrapping_add(key))?;
        // One that was deleted has no key.
        if found == 0 || !is_text(layout, memory, found, name).unwrap_or(false) {
            continue;
        }
        let place = match values {
            0 => entry.wrapping_add(key + 8),
            values => values.wrapping_add(first + index * 8),
        };
        let value = memory.word(place)?;
        return (value != 0).then_some((found, value));
    }
    None
}

/// The entries behind the hash table of a dictionary's keys.
struct Table {
    entries: u64,
    count: u64,
    /// Of the key in an entry; its value is behind it.
    key: u64,
    size: u64,
}

fn table(layout: &Layout, memory: &mut impl Memory, keys: u64) -> Option<Table> {
    /// With the hash before the key, or without.
    const HASHED: (u64, u64) = (8, 24);
    const PLAIN: (u64, u64) = (0, 16);
    if layout.minor < 11 {
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
        return Some(Table {
            entries: keys
                .wrapping_add(INDICES)
                .wrapping_add(slots.wrapping_mul(width)),
            count: memory.word(keys.wrapping_add(COUNT))?,
            key: HASHED.0,
            size: HASHED.1,
        });
    }
    const SIZES: u64 = 8;
    const COUNT: u64 = 24;
    const INDICES: u64 = 32;
    let sizes = half(memory, keys.wrapping_add(SIZES))?;
    let [_, bytes, kind, _] = sizes.to_le_bytes();
    let indices = 1_u64.checked_shl(u32::from(bytes))?;
    let (key, size) = if kind == 0 { HASHED } else { PLAIN };
    Some(Table {
        entries: keys.wrapping_add(INDICES).wrapping_add(indices),
        count: memory.word(keys.wrapping_add(COUNT))?,
        key,
        size,
    })
}
