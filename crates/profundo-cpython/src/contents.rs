//! The contents of an object: a number, the place of its characters, or those of its items.
//!
//! The program may change an object while it is read. Each part is checked before it is believed,
//! and all loops are bounded, so the worst that happens is that there are no contents, or fewer
//! items than their number says.

use core::ops::ControlFlow;

use crate::class::{Class, Kind, pointer};
use crate::code::{TextShape, text};
use crate::dict::{Entries, keys_table, value_at};
use crate::layout::Layout;
use crate::layout::objects::{
    byte_array, bytes, c_function, deque, dict, exception, float, int, list, method, object, range,
    set, text as text_object,
};
use crate::memory::{Memory, at, half};

/// The most slots of a hash table that are looked at.
const MOST_SLOTS: u64 = 1 << 12;
/// More items, digits or characters than any object has.
const TOO_MANY: u64 = 1 << 48;

/// The characters of a text of any length.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Characters {
    /// The address of the first one.
    pub address: u64,
    /// Their number.
    pub length: u64,
    /// Bytes a character: 1, 2 or 4.
    pub width: u8,
}

/// An integer: digits of 30 bits.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Digits {
    /// Its sign.
    pub is_negative: bool,
    /// The number of its digits; none for 0.
    pub count: u64,
    first: u64,
}

impl Digits {
    /// The digit at an index; 0 is the lowest.
    pub fn digit(&self, memory: &mut impl Memory, index: u64) -> Option<u32> {
        let digit = half(memory, self.first.wrapping_add(index * 4))?;
        (index < self.count && digit >> int::DIGIT_BITS == 0).then_some(digit)
    }
}

/// Objects that one holds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Items {
    /// Their number.
    pub count: u64,
    place: Place,
    /// Words that change when the object is given other items: their addresses.
    pub heads: [u64; 2],
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Place {
    /// Side by side.
    Array { first: u64 },
    /// In a hash table with so many slots.
    Table { first: u64, slots: u64 },
    /// In linked blocks.
    Blocks { block: u64, index: u64 },
}

impl Items {
    /// Calls `visit` with the place of each item's pointer, and with the pointer.
    pub fn each<M: Memory>(
        &self,
        memory: &mut M,
        mut visit: impl FnMut(&mut M, u64, u64) -> ControlFlow<()>,
    ) -> Option<()> {
        match self.place {
            Place::Array { first } => {
                for index in 0..self.count {
                    let place = first.wrapping_add(index * 8);
                    let item = memory.word(place)?;
                    if visit(memory, place, item).is_break() {
                        break;
                    }
                }
            }
            Place::Table { first, slots } => {
                for slot in 0..slots.min(MOST_SLOTS) {
                    let slot = first.wrapping_add(slot * set::SLOT);
                    let (key, hash) = (memory.word(slot)?, memory.word(slot.wrapping_add(8))?);
                    let is_item = key != 0 && hash != set::REMOVED;
                    if is_item && visit(memory, slot, key).is_break() {
                        break;
                    }
                }
            }
            Place::Blocks { block, index } => {
                let (mut block, mut index) = (block, index);
                for _ in 0..self.count {
                    if index == deque::LENGTH {
                        let next = block.wrapping_add(deque::ITEMS + deque::LENGTH * 8);
                        (block, index) = (pointer(memory, next)?, 0);
                    }
                    let place = block.wrapping_add(deque::ITEMS + index * 8);
                    let item = memory.word(place)?;
                    index += 1;
                    if visit(memory, place, item).is_break() {
                        break;
                    }
                }
            }
        }
        Some(())
    }
}

/// The keys and values of a dictionary.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Pairs {
    /// Their number.
    pub count: u64,
    entries: Entries,
    values: u64,
    /// Words that change when the dictionary is given other items: their addresses.
    pub heads: [u64; 2],
}

impl Pairs {
    /// The items of a dictionary.
    pub fn of(layout: &Layout, memory: &mut impl Memory, object: u64) -> Option<Self> {
        let heads = [
            layout.field(object, dict::USED),
            layout.field(object, dict::KEYS),
        ];
        let count = memory.word(heads[0]).filter(|&count| count < TOO_MANY)?;
        let keys = pointer(memory, heads[1])?;
        let values = memory.word(layout.field(object, dict::VALUES))?;
        let entries = keys_table(layout, memory, keys)?;
        // The entries of a dictionary that never had any are not aligned.
        let is_aligned = entries.key(0).is_multiple_of(8) && values.is_multiple_of(8);
        (is_aligned || entries.count == 0).then_some(Self {
            count,
            entries,
            values,
            heads,
        })
    }

    /// Calls `visit` with the places of the pointers to each key and its value.
    pub fn each<M: Memory>(
        &self,
        layout: &Layout,
        memory: &mut M,
        mut visit: impl FnMut(&mut M, [u64; 2]) -> ControlFlow<()>,
    ) -> Option<()> {
        for index in 0..self.entries.count.min(MOST_SLOTS) {
            let key = self.entries.key(index);
            let value = match self.values {
                0 => key.wrapping_add(8),
                values => value_at(layout, values, index),
            };
            // A removed item has none.
            let is_item = memory.word(key)? != 0 && memory.word(value)? != 0;
            if is_item && visit(memory, [key, value]).is_break() {
                break;
            }
        }
        Some(())
    }
}

/// The name of a function or a module.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ObjectName {
    /// A text.
    Text(TextShape),
    /// Bytes that end with a zero.
    Bytes(u64),
}

/// The contents of an object.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Contents {
    /// Its class says all.
    None,
    /// A truth value.
    Bool(bool),
    /// An integer.
    Int(Digits),
    /// A number.
    Float(f64),
    /// Two numbers.
    Complex(f64, f64),
    /// A text.
    Text(Characters),
    /// Bytes: their address and their number.
    Bytes(u64, u64),
    /// A list, tuple, set or queue.
    Items(Items),
    /// A dictionary.
    Pairs(Pairs),
    /// The addresses of three integers.
    Range([u64; 3]),
    /// A class.
    Class(Class),
    /// A function or module with its name.
    Named(ObjectName),
    /// An exception: the address of the tuple of its arguments.
    Exception(u64),
    /// Not known.
    Unknown,
}

/// The contents of an object of a kind. `None` if they cannot be read.
pub fn contents(
    layout: &Layout,
    memory: &mut impl Memory,
    object: u64,
    kind: Kind,
) -> Option<Contents> {
    let number =
        |memory: &mut _, offset| word_at(layout, memory, object, offset).map(f64::from_bits);
    Some(match kind {
        Kind::Single => Contents::None,
        Kind::Bool => Contents::Bool(digits(layout, memory, object)?.count != 0),
        Kind::Int => Contents::Int(digits(layout, memory, object)?),
        Kind::Float => Contents::Float(number(memory, float::VALUE)?),
        Kind::Complex => Contents::Complex(
            number(memory, float::VALUE)?,
            number(memory, float::IMAGINARY)?,
        ),
        Kind::Text => Contents::Text(characters(layout, memory, object)?),
        Kind::Bytes => {
            let length = length(layout, memory, object)?;
            Contents::Bytes(layout.field(object, bytes::FIRST), length)
        }
        Kind::ByteArray => {
            let length = length(layout, memory, object)?;
            let first = word_at(layout, memory, object, byte_array::FIRST)?;
            Contents::Bytes(first, length)
        }
        Kind::List => {
            let count = length(layout, memory, object)?;
            let first = layout.field(object, list::ITEMS);
            array(layout, memory, object, count, first)?
        }
        Kind::Tuple => {
            let first = at(object, layout.objects.tuple_items);
            Contents::Items(Items {
                count: length(layout, memory, object)?,
                place: Place::Array { first },
                heads: [layout.field(object, object::SIZE); 2],
            })
        }
        Kind::Dict => Contents::Pairs(Pairs::of(layout, memory, object)?),
        Kind::Set | Kind::FrozenSet => {
            let slots = word_at(layout, memory, object, set::MASK)?.checked_add(1)?;
            let first = pointer(memory, layout.field(object, set::TABLE))?;
            let count = word_at(layout, memory, object, set::USED)?;
            (slots.is_power_of_two() && count <= slots).then_some(())?;
            Contents::Items(Items {
                count,
                place: Place::Table { first, slots },
                heads: [set::USED, set::TABLE].map(|field| layout.field(object, field)),
            })
        }
        Kind::Deque => {
            let count = length(layout, memory, object)?;
            let block = pointer(memory, layout.field(object, deque::BLOCK))?;
            let index = word_at(layout, memory, object, deque::INDEX)?;
            (index <= deque::LENGTH).then_some(())?;
            Contents::Items(Items {
                count,
                place: Place::Blocks { block, index },
                heads: [object::SIZE, deque::INDEX].map(|field| layout.field(object, field)),
            })
        }
        Kind::Range => {
            let [start, stop, step] = range::PARTS.map(|field| layout.field(object, field));
            Contents::Range([
                pointer(memory, start)?,
                pointer(memory, stop)?,
                pointer(memory, step)?,
            ])
        }
        Kind::Class => Contents::Class(Class::at(layout, memory, object)?),
        Kind::Function => Contents::Named(function_name(layout, memory, object)?),
        Kind::Method => {
            let function = pointer(memory, layout.field(object, method::FUNCTION))?;
            let kind = Class::of(layout, memory, function)?.kind(layout, memory);
            match kind {
                Kind::Function => Contents::Named(function_name(layout, memory, function)?),
                _ => Contents::Unknown,
            }
        }
        Kind::CFunction => {
            let place = pointer(memory, layout.field(object, c_function::METHOD))?;
            Contents::Named(ObjectName::Bytes(memory.word(place)?))
        }
        Kind::Module => {
            let name = pointer(memory, at(object, layout.objects.module_name));
            match name.and_then(|name| text(layout, memory, name)) {
                Some(name) => Contents::Named(ObjectName::Text(name)),
                None => Contents::Unknown,
            }
        }
        Kind::Exception => {
            Contents::Exception(pointer(memory, layout.field(object, exception::ARGUMENTS))?)
        }
        Kind::Cell | Kind::Other => Contents::Unknown,
    })
}

fn word_at(layout: &Layout, memory: &mut impl Memory, object: u64, field: u64) -> Option<u64> {
    memory.word(layout.field(object, field))
}

/// The number of an object's items.
fn length(layout: &Layout, memory: &mut impl Memory, object: u64) -> Option<u64> {
    word_at(layout, memory, object, object::SIZE).filter(|&length| length < TOO_MANY)
}

/// The items that a pointer at an address leads to.
fn array(
    layout: &Layout,
    memory: &mut impl Memory,
    object: u64,
    count: u64,
    place: u64,
) -> Option<Contents> {
    // An empty list may have no room for items.
    let first = match count {
        0 => 0,
        _ => pointer(memory, place)?,
    };
    Some(Contents::Items(Items {
        count,
        place: Place::Array { first },
        heads: [layout.field(object, object::SIZE), place],
    }))
}

fn function_name(layout: &Layout, memory: &mut impl Memory, function: u64) -> Option<ObjectName> {
    let name = at(function, layout.objects.function.qualified_name);
    let name = pointer(memory, name)?;
    text(layout, memory, name).map(ObjectName::Text)
}

fn digits(layout: &Layout, memory: &mut impl Memory, object: u64) -> Option<Digits> {
    let head = word_at(layout, memory, object, int::TAG)?;
    let (is_negative, count) = match layout.objects.has_tagged_integers {
        true => match head & 3 {
            0 => (false, head >> 3),
            1 => (false, 0),
            2 => (true, head >> 3),
            _ => return None,
        },
        false => ((head as i64) < 0, (head as i64).unsigned_abs()),
    };
    (count < TOO_MANY).then_some(Digits {
        is_negative,
        count,
        first: layout.field(object, int::DIGITS),
    })
}

/// The characters of a text of any form.
pub fn characters(layout: &Layout, memory: &mut impl Memory, object: u64) -> Option<Characters> {
    let length = word_at(layout, memory, object, text_object::LENGTH)?;
    let state = half(memory, layout.field(object, text_object::STATE))?;
    let (width, is_compact, is_ascii) = layout.objects.form_of_text(state);
    let (address, length, width) = match (width, is_compact) {
        (1 | 2 | 4, 1) => {
            let head = match is_ascii {
                1 => layout.objects.ascii_head,
                _ => layout.objects.text_head,
            };
            (at(object, head), length, width as u8)
        }
        // An object of a subclass, or a text that was made as `wchar_t`, has them elsewhere.
        (1 | 2 | 4, _) => {
            let place = at(object, layout.objects.text_head);
            (memory.word(place)?, length, width as u8)
        }
        (0, 0) => {
            let wide = layout.objects.wide_text?;
            let address = memory.word(at(object, wide.characters))?;
            (address, memory.word(at(object, wide.length))?, 4)
        }
        _ => return None,
    };
    (length < TOO_MANY && address != 0).then_some(Characters {
        address,
        length,
        width,
    })
}
