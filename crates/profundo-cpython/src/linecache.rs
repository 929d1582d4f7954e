//! The source text that a program keeps in memory: `linecache.cache` maps the name of a file to its lines.
//!
//! IPython puts the text of each cell there, under the name that its code objects have as their file. Its list `In` has
//! the text of each cell by its number.

use crate::code::{TextShape, text};
use crate::layout::Layout;
use crate::memory::Memory;
use crate::method::TYPE;
use crate::thread::in_large_dictionary;
use crate::threads::ThreadList;

/// Of the dictionary in a module.
const MODULE_DICTIONARY: u64 = 16;
/// Of the length in a list and in a tuple.
const LENGTH: u64 = 16;
/// Of the first item in a tuple, and of the pointer to the items in a list.
const ITEMS: u64 = 24;
/// Of the pointer to the name in a type.
const TYPE_NAME: u64 = 24;

/// How many names of a module and how many files of the cache are looked at.
const MOST_NAMES: u64 = 1 << 14;
const MOST_FILES: u64 = 1 << 14;

/// A list of the program.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct List {
    items: u64,
    /// How many items it has.
    pub length: u64,
}

impl List {
    fn of(memory: &mut impl Memory, object: u64) -> Option<Self> {
        is_of_type(memory, object, b"list\0").then_some(())?;
        Some(Self {
            length: memory.word(object.wrapping_add(LENGTH))?,
            items: memory.word(object.wrapping_add(ITEMS))?,
        })
    }

    /// Where the text lies that is the item at an index.
    pub fn text(&self, layout: &Layout, memory: &mut impl Memory, index: u64) -> Option<TextShape> {
        if index >= self.length {
            return None;
        }
        let item = memory.word(self.items.wrapping_add(index * 8))?;
        is_of_type(memory, item, b"str\0").then_some(())?;
        text(layout, memory, item)
    }
}

/// The lines that `linecache.cache` has of the file of this name, of ASCII.
pub fn cached_lines(
    layout: &Layout,
    threads: &ThreadList,
    memory: &mut impl Memory,
    runtime: u64,
    file: &[u8],
) -> Option<List> {
    /// An entry is the size, the time of the file's last change, the lines, and the full name.
    const LINES: u64 = 2;
    const PARTS: u64 = 4;
    let module = threads.module(layout, memory, runtime, b"linecache")?;
    let cache = global(layout, memory, module, b"cache")?;
    let (_, entry) = in_large_dictionary(layout, memory, cache, file, MOST_FILES)?;
    let is_entry =
        is_of_type(memory, entry, b"tuple\0") && memory.word(entry.wrapping_add(LENGTH))? == PARTS;
    is_entry.then_some(())?;
    let lines = memory.word(entry.wrapping_add(ITEMS + LINES * 8))?;
    List::of(memory, lines)
}

/// IPython's list `In`: the text of each cell at its number.
pub fn cells(
    layout: &Layout,
    threads: &ThreadList,
    memory: &mut impl Memory,
    runtime: u64,
) -> Option<List> {
    let module = threads.module(layout, memory, runtime, b"__main__")?;
    let list = global(layout, memory, module, b"In")?;
    List::of(memory, list)
}

/// A global variable of a module.
fn global(layout: &Layout, memory: &mut impl Memory, module: u64, name: &[u8]) -> Option<u64> {
    let dictionary = memory.word(module.wrapping_add(MODULE_DICTIONARY))?;
    let (_, value) = in_large_dictionary(layout, memory, dictionary, name, MOST_NAMES)?;
    Some(value)
}

/// Whether the type of an object has this name, which ends with a zero byte.
fn is_of_type(memory: &mut impl Memory, object: u64, name: &[u8]) -> bool {
    let mut found = [0; 8];
    let Some(found) = found.get_mut(..name.len()) else {
        return false;
    };
    let kind = memory.word(object.wrapping_add(TYPE));
    let place = kind.and_then(|kind| memory.word(kind.wrapping_add(TYPE_NAME)));
    place.is_some_and(|place| memory.bytes(place, found)) && *found == *name
}
