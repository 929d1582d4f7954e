//! An object, with the beginning of what it holds.

use std::ops::ControlFlow;

use profundo_cpython::{
    Characters, Class, ClassName, Contents, Digits, Items, Kind, Layout, Memory, ObjectName, Pairs,
    TextShape, contents, zero_ended,
};

use super::memory::Live;

/// The number of characters or bytes that are read.
const MOST_CHARACTERS: u64 = 60;
/// The number of items of a container that are read, by its depth in others.
const MOST_ITEMS: [usize; 3] = [5, 3, 0];
/// The longest name of a class or a function.
const LONGEST_NAME: usize = 256;
/// The number of digits of an integer that is shown whole.
const FEW_DIGITS: u64 = 4;
const DIGIT_BITS: u64 = 30;

/// An object.
#[derive(Debug, Clone, PartialEq)]
pub struct Object {
    /// The name of its class, with its module. Empty if it is no object.
    pub class: String,
    /// Its address.
    pub address: u64,
    /// Its value.
    pub value: Value,
}

/// The beginning of a text, or of bytes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Beginning {
    /// The characters.
    pub text: String,
    /// The number of all characters.
    pub length: u64,
    /// Whether they are all there.
    pub is_whole: bool,
}

/// An integer.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Integer {
    /// The number itself.
    Whole(i128),
    /// A large one, by its size.
    Large {
        /// Whether it is below 0.
        is_negative: bool,
        /// The number of its bits.
        bits: u64,
        /// The decimal logarithm of its absolute value.
        logarithm: f64,
    },
}

/// The brackets around items.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Shape {
    /// `[…]`
    List,
    /// `(…)`
    Tuple,
    /// `{…}`
    Set,
    /// `frozenset({…})`
    FrozenSet,
    /// `deque([…])`
    Deque,
}

/// The value of an object.
#[derive(Debug, Clone, PartialEq)]
pub enum Value {
    /// It cannot be read, or is no object: it may have been freed.
    Unreadable,
    /// It changed while it was read.
    Changing,
    /// Its class says all, as for `None`.
    Single,
    /// A truth value.
    Bool(bool),
    /// An integer.
    Int(Integer),
    /// A number.
    Float(f64),
    /// The two parts of a complex number.
    Complex(f64, f64),
    /// A text.
    Text(Beginning),
    /// Bytes, as characters up to 255.
    Bytes(Beginning),
    /// Items: their number, and the first ones.
    Items(Shape, u64, Vec<Object>),
    /// Keys and values: their number, and the first ones.
    Pairs(u64, Vec<(Object, Object)>),
    /// Start, stop, step.
    Range(Box<[Object; 3]>),
    /// A class, with its name.
    Class(String),
    /// A function or a module with its name.
    Named(Kind, String),
    /// An exception: the number of its arguments, and the first ones.
    Exception(u64, Vec<Object>),
    /// Something else.
    Other,
}

impl Object {
    pub(super) fn unreadable(address: u64) -> Self {
        Self {
            class: String::new(),
            address,
            value: Value::Unreadable,
        }
    }
}

/// Reads an object and those that it holds.
pub(super) struct ObjectReader<'a> {
    layout: &'a Layout,
    /// Whether something could not be read.
    pub(super) has_lost: bool,
    /// The places that led to objects and their contents, with the words there.
    ways: Vec<(u64, Option<u64>)>,
}

impl<'a> ObjectReader<'a> {
    pub(super) fn new(layout: &'a Layout) -> Self {
        Self {
            layout,
            has_lost: false,
            ways: Vec::new(),
        }
    }

    /// Whether nothing has changed since it was read.
    pub(super) fn is_unchanged(&self, memory: &mut impl Live) -> bool {
        let words: Option<Vec<(u64, u64)>> = self
            .ways
            .iter()
            .map(|&(place, word)| Some((place, word?)))
            .collect();
        words.is_some_and(|words| memory.has_still(&words))
    }

    /// Reads the object that the pointer at a place leads to.
    pub(super) fn read(&mut self, memory: &mut impl Live, place: u64, address: u64) -> Object {
        self.note(memory, [place]);
        self.at_depth(memory, address, 0)
    }

    fn at_depth(&mut self, memory: &mut impl Live, address: u64, depth: usize) -> Object {
        let Some(class) = Class::of(self.layout, memory, address) else {
            self.has_lost = true;
            return Object::unreadable(address);
        };
        let name = class_name(self.layout, memory, &class);
        let kind = class.kind(self.layout, memory);
        let value = self.value(memory, address, kind, depth);
        self.has_lost |= value.is_none();
        Object {
            class: name.unwrap_or_default(),
            address,
            value: value.unwrap_or(Value::Unreadable),
        }
    }

    fn value(
        &mut self,
        memory: &mut impl Live,
        address: u64,
        kind: Kind,
        depth: usize,
    ) -> Option<Value> {
        Some(match contents(self.layout, memory, address, kind)? {
            Contents::None => Value::Single,
            Contents::Bool(is_true) => Value::Bool(is_true),
            Contents::Int(digits) => Value::Int(integer(memory, &digits)?),
            Contents::Float(number) => Value::Float(number),
            Contents::Complex(real, imaginary) => Value::Complex(real, imaginary),
            Contents::Text(characters) => Value::Text(text(memory, &characters)?),
            Contents::Bytes(address, length) => {
                let characters = Characters {
                    address,
                    length,
                    width: 1,
                };
                // An empty `bytearray` may have no memory.
                Value::Bytes(match length {
                    0 => Beginning::default(),
                    _ => text(memory, &characters)?,
                })
            }
            Contents::Items(items) => {
                let shape = match kind {
                    Kind::Tuple => Shape::Tuple,
                    Kind::Set => Shape::Set,
                    Kind::FrozenSet => Shape::FrozenSet,
                    Kind::Deque => Shape::Deque,
                    _ => Shape::List,
                };
                Value::Items(shape, items.count, self.items(memory, &items, depth)?)
            }
            Contents::Pairs(pairs) => Value::Pairs(pairs.count, self.pairs(memory, &pairs, depth)?),
            Contents::Range([start, stop, step]) => Value::Range(Box::new([
                self.part(memory, start),
                self.part(memory, stop),
                self.part(memory, step),
            ])),
            Contents::Class(class) => Value::Class(class_name(self.layout, memory, &class)?),
            Contents::Named(name) => Value::Named(kind, object_name(memory, name)?),
            Contents::Exception(arguments) => {
                let kind = Class::of(self.layout, memory, arguments)?.kind(self.layout, memory);
                let Some(Contents::Items(items)) = (kind == Kind::Tuple)
                    .then(|| contents(self.layout, memory, arguments, kind))
                    .flatten()
                else {
                    return None;
                };
                Value::Exception(items.count, self.items(memory, &items, depth)?)
            }
            Contents::Unknown => Value::Other,
        })
    }

    /// A part of an object that holds no others.
    fn part(&mut self, memory: &mut impl Live, address: u64) -> Object {
        self.at_depth(memory, address, MOST_ITEMS.len())
    }

    /// The first items.
    fn items(
        &mut self,
        memory: &mut impl Live,
        items: &Items,
        depth: usize,
    ) -> Option<Vec<Object>> {
        self.note(memory, items.heads);
        let most = most_items(depth, items.count);
        let mut found = Vec::new();
        if most == 0 {
            return Some(found);
        }
        items.each(memory, |memory, place, item| {
            self.note(memory, [place]);
            found.push(self.at_depth(memory, item, depth + 1));
            go_on(found.len() < most)
        })?;
        Some(found)
    }

    fn pairs(
        &mut self,
        memory: &mut impl Live,
        pairs: &Pairs,
        depth: usize,
    ) -> Option<Vec<(Object, Object)>> {
        self.note(memory, pairs.heads);
        let most = most_items(depth, pairs.count);
        let mut found = Vec::new();
        if most == 0 {
            return Some(found);
        }
        let layout = self.layout;
        pairs.each(layout, memory, |memory, places| {
            self.note(memory, places);
            let [key, value] = places.map(|place| memory.word(place).unwrap_or(0));
            let key = self.at_depth(memory, key, depth + 1);
            let value = self.at_depth(memory, value, depth + 1);
            found.push((key, value));
            go_on(found.len() < most)
        })?;
        Some(found)
    }

    /// Keeps words, to compare them later.
    fn note<const N: usize>(&mut self, memory: &mut impl Live, places: [u64; N]) {
        let noted = places.map(|place| (place, memory.word(place)));
        self.ways.extend(noted);
    }
}

impl Default for Beginning {
    fn default() -> Self {
        Self {
            text: String::new(),
            length: 0,
            is_whole: true,
        }
    }
}

fn most_items(depth: usize, count: u64) -> usize {
    let most = MOST_ITEMS.get(depth).copied().unwrap_or(0);
    most.min(usize::try_from(count).unwrap_or(usize::MAX))
}

fn go_on(goes_on: bool) -> ControlFlow<()> {
    match goes_on {
        true => ControlFlow::Continue(()),
        false => ControlFlow::Break(()),
    }
}

fn integer(memory: &mut impl Memory, digits: &Digits) -> Option<Integer> {
    let mut newest = 0_i128;
    let count = digits.count;
    for index in (count.saturating_sub(FEW_DIGITS)..count).rev() {
        newest = newest << DIGIT_BITS | i128::from(digits.digit(memory, index)?);
    }
    if count <= FEW_DIGITS {
        return Some(Integer::Whole(match digits.is_negative {
            true => -newest,
            false => newest,
        }));
    }
    let below = (count - FEW_DIGITS) * DIGIT_BITS;
    let bits = u64::from(i128::BITS - newest.leading_zeros()) + below;
    Some(Integer::Large {
        is_negative: digits.is_negative,
        bits,
        logarithm: (newest as f64).log10() + below as f64 * std::f64::consts::LOG10_2,
    })
}

/// The beginning of a text.
pub(super) fn text(memory: &mut impl Memory, characters: &Characters) -> Option<Beginning> {
    let Characters {
        address,
        length,
        width,
    } = *characters;
    let read = length.min(MOST_CHARACTERS);
    let mut bytes = vec![0; read as usize * usize::from(width)];
    (bytes.is_empty() || memory.bytes(address, &mut bytes)).then_some(())?;
    Some(Beginning {
        text: decoded(&bytes, width),
        length,
        is_whole: read == length,
    })
}

/// Characters of so many bytes each. A lone surrogate is none.
fn decoded(bytes: &[u8], width: u8) -> String {
    let character = |bytes: &[u8]| {
        let bytes = bytes.iter().rev();
        let code = bytes.fold(0, |code, &byte| code << 8 | u32::from(byte));
        char::from_u32(code).unwrap_or(char::REPLACEMENT_CHARACTER)
    };
    let width = usize::from(width.max(1));
    bytes.chunks(width).map(character).collect()
}

/// A short text of the interpreter's, whole.
fn name(memory: &mut impl Memory, shape: TextShape) -> Option<String> {
    let length = shape.bytes as usize;
    if length > LONGEST_NAME * usize::from(shape.width) {
        return None;
    }
    let mut bytes = vec![0; length];
    (length == 0 || memory.bytes(shape.address, &mut bytes)).then_some(())?;
    Some(decoded(&bytes, shape.width))
}

fn name_in_bytes(memory: &mut impl Memory, address: u64) -> Option<String> {
    let mut bytes = [0; LONGEST_NAME];
    let length = zero_ended(memory, address, &mut bytes)?;
    let name = String::from_utf8_lossy(bytes.get(..length)?);
    Some(name.into_owned())
}

fn object_name(memory: &mut impl Memory, place: ObjectName) -> Option<String> {
    match place {
        ObjectName::Text(shape) => name(memory, shape),
        ObjectName::Bytes(address) => name_in_bytes(memory, address),
    }
}

/// The name of a class: without a module if it is a builtin one.
fn class_name(layout: &Layout, memory: &mut impl Memory, class: &Class) -> Option<String> {
    match class.name(layout, memory)? {
        ClassName::Whole(address) => name_in_bytes(memory, address),
        ClassName::Parts(module, own) => {
            let own = name(memory, own)?;
            let module = module.and_then(|module| name(memory, module));
            Some(match module.as_deref() {
                None | Some("builtins") => own,
                Some(module) => format!("{module}.{own}"),
            })
        }
    }
}
