//! The class of an object: what it is to a reader from outside, and its name.
//!
//! The object may have been freed, or be none at all. So it counts as one only if it has
//! references, and if its class is a class: an object of a class of classes, whose methods are in
//! place. A class that is written in C has its kind from its name, any other one from the first
//! such class that it inherits its layout from.

use crate::code::{TextShape, text};
use crate::dict::in_large_dictionary;
use crate::layout::objects::{object, type_flag, type_object};
use crate::layout::{Layout, References};
use crate::memory::{Memory, at, byte, half};

/// The most classes that one inherits from, one after another.
const MOST_BASES: usize = 32;
/// The most entries of a class's dictionary that are looked at for its module.
const MOST_NAMES: u64 = 256;
/// The most references that an object has, before 3.12.
const MOST_REFERENCES: u64 = 1 << 40;

/// The kinds of objects whose contents are known. A class has the kind of the one that it inherits
/// from.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// `None`, `...` and `NotImplemented`: the class has one object.
    Single,
    /// `bool`.
    Bool,
    /// `int`.
    Int,
    /// `float`.
    Float,
    /// `complex`.
    Complex,
    /// `str`.
    Text,
    /// `bytes`.
    Bytes,
    /// `bytearray`.
    ByteArray,
    /// `list`.
    List,
    /// `tuple`.
    Tuple,
    /// `dict`.
    Dict,
    /// `set`.
    Set,
    /// `frozenset`.
    FrozenSet,
    /// `collections.deque`.
    Deque,
    /// `range`.
    Range,
    /// A class.
    Class,
    /// A Python function.
    Function,
    /// A C function.
    CFunction,
    /// A method of an object.
    Method,
    /// A module.
    Module,
    /// The cell of a variable that several functions share.
    Cell,
    /// An exception.
    Exception,
    /// Anything else.
    Other,
}

/// The kinds of classes that are written in C.
const BUILTINS: [(&[u8], Kind); 22] = [
    (b"NoneType", Kind::Single),
    (b"ellipsis", Kind::Single),
    (b"NotImplementedType", Kind::Single),
    (b"bool", Kind::Bool),
    (b"int", Kind::Int),
    (b"float", Kind::Float),
    (b"complex", Kind::Complex),
    (b"str", Kind::Text),
    (b"bytes", Kind::Bytes),
    (b"bytearray", Kind::ByteArray),
    (b"list", Kind::List),
    (b"tuple", Kind::Tuple),
    (b"dict", Kind::Dict),
    (b"set", Kind::Set),
    (b"frozenset", Kind::FrozenSet),
    (DEQUE, Kind::Deque),
    (b"range", Kind::Range),
    (b"function", Kind::Function),
    (b"builtin_function_or_method", Kind::CFunction),
    (b"method", Kind::Method),
    (b"module", Kind::Module),
    (b"cell", Kind::Cell),
];
/// Its class is made while the program runs, in newer versions.
const DEQUE: &[u8] = b"collections.deque";
const LONGEST_BUILTIN: usize = 32;

/// Kinds that a flag tells too.
const FLAGGED: [(u64, Kind); 8] = [
    (type_flag::CLASS, Kind::Class),
    (type_flag::EXCEPTION, Kind::Exception),
    (type_flag::INT, Kind::Int),
    (type_flag::TEXT, Kind::Text),
    (type_flag::BYTES, Kind::Bytes),
    (type_flag::LIST, Kind::List),
    (type_flag::TUPLE, Kind::Tuple),
    (type_flag::DICT, Kind::Dict),
];

/// A class.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Class {
    /// Its address.
    pub address: u64,
    flags: u64,
    name: u64,
}

/// The place of a class's name.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ClassName {
    /// Bytes that end with a zero: the name with its module, or that of a builtin class.
    Whole(u64),
    /// Two texts: the module and the qualified name.
    Parts(Option<TextShape>, TextShape),
}

/// The pointer at an address, if it may be one to an object.
pub(crate) fn pointer(memory: &mut impl Memory, address: u64) -> Option<u64> {
    if !address.is_multiple_of(8) {
        return None;
    }
    let found = memory.word(address)?;
    (found != 0 && found.is_multiple_of(8)).then_some(found)
}

impl Class {
    /// The class of an object. `None`: that is no object.
    pub fn of(layout: &Layout, memory: &mut impl Memory, object: u64) -> Option<Self> {
        if object == 0 || !object.is_multiple_of(8) {
            return None;
        }
        let count = memory.word(object.wrapping_add(object::REFERENCES))?;
        let is_alive = match layout.objects.references {
            References::Plain => (1..MOST_REFERENCES).contains(&count),
            References::Immortal => count as u32 != 0,
            References::Split => {
                let own = half(memory, object.wrapping_add(object::OWN_REFERENCES))?;
                let others = object.wrapping_add(object::OTHERS_REFERENCES);
                own != 0 || memory.word(others)? != 0
            }
        };
        is_alive.then_some(())?;
        let class = pointer(memory, layout.field(object, object::TYPE))?;
        Self::at(layout, memory, class)
    }

    /// The class at an address.
    pub fn at(layout: &Layout, memory: &mut impl Memory, address: u64) -> Option<Self> {
        let meta = pointer(memory, layout.field(address, object::TYPE))?;
        let is_of_classes = memory.word(layout.field(meta, type_object::FLAGS))? & type_flag::CLASS;
        let flags = memory.word(layout.field(address, type_object::FLAGS))?;
        let name = memory.word(layout.field(address, type_object::NAME))?;
        let is_one = is_of_classes != 0 && flags & type_flag::READY != 0 && name != 0;
        is_one.then_some(Self {
            address,
            flags,
            name,
        })
    }

    /// The kind of its objects.
    pub fn kind(&self, layout: &Layout, memory: &mut impl Memory) -> Kind {
        let mut class = *self;
        for _ in 0..MOST_BASES {
            if let Some(kind) = class.builtin(memory) {
                return kind;
            }
            let is_flagged = |&&(flag, _): &&(u64, Kind)| class.flags & flag != 0;
            if let Some(&(_, kind)) = FLAGGED.iter().find(is_flagged) {
                return kind;
            }
            let base = pointer(memory, layout.field(class.address, type_object::BASE));
            match base.and_then(|base| Self::at(layout, memory, base)) {
                Some(base) => class = base,
                None => break,
            }
        }
        Kind::Other
    }

    /// The kind of a class that is written in C, if it is known.
    fn builtin(&self, memory: &mut impl Memory) -> Option<Kind> {
        let mut name = [0; LONGEST_BUILTIN];
        let length = zero_ended(memory, self.name, &mut name)?;
        let name = name.get(..length)?;
        if self.is_made_at_run_time() && name != DEQUE {
            return None;
        }
        let found = BUILTINS.iter().find(|(builtin, _)| *builtin == name)?;
        Some(found.1)
    }

    fn is_made_at_run_time(&self) -> bool {
        self.flags & type_flag::HEAP != 0
    }

    /// The place of its name.
    pub fn name(&self, layout: &Layout, memory: &mut impl Memory) -> Option<ClassName> {
        /// The longest name that is looked at for a point.
        const LONGEST: u64 = 256;
        let has_point = |memory: &mut _| {
            let bytes = (0..LONGEST).map_while(|index| byte(memory, self.name.wrapping_add(index)));
            let mut name = bytes.take_while(|&byte| byte != 0);
            name.any(|byte| byte == b'.')
        };
        if !self.is_made_at_run_time() || has_point(memory) {
            return Some(ClassName::Whole(self.name));
        }
        let name = pointer(memory, at(self.address, layout.objects.class_name))?;
        let name = text(layout, memory, name)?;
        let module = pointer(memory, layout.field(self.address, type_object::DICT));
        let module = module
            .and_then(|names| in_large_dictionary(layout, memory, names, MODULE, MOST_NAMES))
            .and_then(|(_, module)| text(layout, memory, module));
        Some(ClassName::Parts(module, name))
    }
}

const MODULE: &[u8] = b"__module__";

/// Copies bytes up to a zero. Returns their number; `None` if they cannot be read, or do not fit.
pub fn zero_ended(memory: &mut impl Memory, address: u64, out: &mut [u8]) -> Option<usize> {
    for (index, place) in out.iter_mut().enumerate() {
        *place = byte(memory, address.wrapping_add(index as u64))?;
        if *place == 0 {
            return Some(index);
        }
    }
    None
}
