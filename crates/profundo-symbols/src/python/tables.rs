//! CPython's own tables in the data of a file, known by their shape: methods (`PyMethodDef`), types
//! (`PyTypeObject`, `PyType_Spec`) and modules (`PyModuleDef`).
//!
//! A table maps Python names to C functions, so no list of names is needed, and the files need no
//! symbols. A shape is several words in a row that all fit: pointers to names, to code, and small
//! numbers.

use profundo_cpython::slots::{self, Place, SLOTS};
use rustc_hash::FxHashMap;

use super::memory::Memory;

/// A name that some table gives to a function.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Given {
    /// The type or module. Empty: unknown.
    pub(super) owner: String,
    /// Empty: the call of the owner itself.
    pub(super) method: String,
    /// True for a name from a table of methods, and not from a slot.
    pub(super) is_method: bool,
    /// The function's address.
    pub(super) function: u64,
}

/// No C type has larger instances, and no module a larger state.
const LARGEST: u64 = 1 << 20;

/// All names that the tables give.
pub(super) fn read(memory: &Memory<'_>) -> Vec<Given> {
    let mut methods: FxHashMap<u64, (String, u64)> = FxHashMap::default();
    let mut types = Vec::new();
    let mut specs = Vec::new();
    let pointers = memory.pointers();
    for &(at, word) in &pointers {
        if let Some(method) = method(memory, at, word) {
            methods.insert(at, method);
        } else if let Some(name) = static_type(memory, at, word) {
            types.push((at, name));
        } else if let Some(spec) = spec(memory, at, word) {
            specs.push(spec);
        }
    }
    let mut found = Vec::new();
    let mut owners: FxHashMap<u64, String> = FxHashMap::default();
    for (at, name) in types {
        static_slots(memory, at, &name, &mut found);
        if let Some(table) = memory.word(at + slots::METHODS) {
            owners.insert(table, name);
        }
    }
    for (name, first) in specs {
        spec_slots(memory, &name, first, &mut owners, &mut found);
    }
    for &(at, word) in &pointers {
        if methods.contains_key(&word)
            && !owners.contains_key(&word)
            && let Some(name) = module(memory, at)
        {
            owners.insert(word, name);
        }
    }
    let mut places: Vec<u64> = methods.keys().copied().collect();
    places.sort_unstable();
    let mut owner = "";
    let mut end = 0;
    for at in places {
        match owners.get(&at) {
            Some(name) => owner = name,
            // A gap ends a table.
            None if at != end => owner = "",
            None => {}
        }
        end = at + slots::METHOD_BYTES;
        let (name, function) = &methods[&at];
        if memory.is_code(*function) {
            found.push(Given {
                owner: owner.to_owned(),
                method: name.clone(),
                is_method: true,
                function: *function,
            });
        }
    }
    found
}

/// The method in a table, and its function; 0 where that is in another file.
fn method(memory: &Memory<'_>, at: u64, name: u64) -> Option<(String, u64)> {
    const VARARGS: u64 = 1;
    const NOARGS: u64 = 4;
    const ONE: u64 = 8;
    const FASTCALL: u64 = 0x80;
    const ALL: u64 = 0x3ff;
    let flags = memory.word(at + 16)?;
    let function = memory.word(at + 8)?;
    let doc = memory.word(at + 24)?;
    let is_called = flags & (VARARGS | NOARGS | ONE | FASTCALL) != 0 && flags & !ALL == 0;
    let is_function = function == 0 || memory.is_code(function);
    if !is_called || !is_function || doc != 0 && !memory.has(doc) {
        return None;
    }
    let name = memory.name(name).filter(|name| !name.contains('.'))?;
    Some((name.to_owned(), function))
}

/// The name of a type whose `tp_name` stands at an address.
fn static_type(memory: &Memory<'_>, at: u64, name: u64) -> Option<String> {
    const FUNCTIONS: [u64; 17] = [
        slots::DEALLOC,
        slots::GETATTR,
        slots::SETATTR,
        slots::REPR,
        slots::HASH,
        slots::CALL,
        slots::STR,
        slots::GETATTRO,
        slots::SETATTRO,
        slots::TRAVERSE,
        slots::CLEAR,
        slots::RICH_COMPARE,
        slots::ITER,
        slots::ITER_NEXT,
        slots::INIT,
        slots::NEW,
        slots::FREE,
    ];
    let is_small = |offset| memory.word(at + offset).is_some_and(|word| word <= LARGEST);
    if !is_small(slots::BASIC_SIZE)
        || !is_small(slots::ITEM_SIZE)
        || !is_small(slots::VECTORCALL_OFFSET)
    {
        return None;
    }
    let mut functions = 0;
    for offset in FUNCTIONS {
        match memory.word(at + offset)? {
            0 => {}
            function if memory.is_code(function) => functions += 1,
            _ => return None,
        }
    }
    for offset in [
        slots::AS_NUMBER,
        slots::AS_SEQUENCE,
        slots::AS_MAPPING,
        slots::METHODS,
    ] {
        let table = memory.word(at + offset)?;
        if table != 0 && !memory.has(table) {
            return None;
        }
    }
    if functions < 2 {
        return None;
    }
    Some(memory.name(name)?.to_owned())
}

/// The name and the first slot of a `PyType_Spec`: name, sizes, flags, slots.
fn spec(memory: &Memory<'_>, at: u64, name: u64) -> Option<(String, u64)> {
    let sizes = memory.word(at + 8)?;
    let (basic, item) = (sizes as u32 as i32, (sizes >> 32) as i32);
    let first = memory.word(at + 24)?;
    if basic.unsigned_abs() > LARGEST as u32
        || item.unsigned_abs() > LARGEST as u32
        || memory.word(at + 16)? >> 32 != 0
        || first == 0
    {
        return None;
    }
    let is_slot = |number: u64| (1..=slots::LARGEST_NUMBER).contains(&number);
    let number = memory.word(first)?;
    let second = memory.word(first + 16)?;
    if !is_slot(number) || (second != 0 && !is_slot(second)) {
        return None;
    }
    Some((memory.name(name)?.to_owned(), first))
}

/// The name of the module whose `m_methods` stands at an address.
fn module(memory: &Memory<'_>, at: u64) -> Option<String> {
    let word = |back| at.checked_sub(back).and_then(|at| memory.word(at));
    let size = word(slots::MODULE_SIZE)?;
    let doc = word(slots::MODULE_DOC)?;
    if size != u64::MAX && size > LARGEST || doc != 0 && !memory.has(doc) {
        return None;
    }
    Some(memory.name(word(slots::MODULE_NAME)?)?.to_owned())
}

fn static_slots(memory: &Memory<'_>, at: u64, owner: &str, found: &mut Vec<Given>) {
    for slot in SLOTS {
        let (table, offset) = match slot.place {
            Place::Type(offset) => (None, offset),
            Place::Number(offset) => (Some(slots::AS_NUMBER), offset),
            Place::Sequence(offset) => (Some(slots::AS_SEQUENCE), offset),
            Place::Mapping(offset) => (Some(slots::AS_MAPPING), offset),
            Place::Async(offset) => (Some(slots::AS_ASYNC), offset),
        };
        let table = match table {
            None => at,
            Some(pointer) => match memory.word(at + pointer) {
                None | Some(0) => continue,
                Some(table) => table,
            },
        };
        let function = memory.word(table.wrapping_add(offset)).unwrap_or(0);
        push(memory, owner, slot.method, function, found);
    }
}

fn spec_slots(
    memory: &Memory<'_>,
    owner: &str,
    first: u64,
    owners: &mut FxHashMap<u64, String>,
    found: &mut Vec<Given>,
) {
    for index in 0..slots::LARGEST_NUMBER {
        let at = first + index * 16;
        let (Some(number), Some(value)) = (memory.word(at), memory.word(at + 8)) else {
            return;
        };
        if number == slots::METHODS_NUMBER {
            owners.insert(value, owner.to_owned());
        } else if number == 0 || number > slots::LARGEST_NUMBER {
            return;
        } else if let Some(slot) = slots::of_number(number) {
            push(memory, owner, slot.method, value, found);
        }
    }
}

fn push(memory: &Memory<'_>, owner: &str, method: &str, function: u64, found: &mut Vec<Given>) {
    if memory.is_code(function) {
        found.push(Given {
            owner: owner.to_owned(),
            method: method.to_owned(),
            is_method: false,
            function,
        });
    }
}
