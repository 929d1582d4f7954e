//! The source text that a program keeps in memory: `linecache.cache` maps the name of a file to its
//! lines.
//!
//! IPython puts the text of each cell there, under the name that its code objects have as their
//! file. Its list `In` has the text of each cell by its number.

use crate::code::{TextShape, text};
use crate::dict::in_large_dictionary;
use crate::layout::Layout;
use crate::layout::objects::{list, module, object, type_object};
use crate::memory::Memory;

/// The most names of a module, and the most files of the cache, that are looked at.
const MOST_NAMES: u64 = 1 << 14;
const MOST_FILES: u64 = 1 << 14;

/// A list of the program.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct List {
    items: u64,
    /// The number of its items.
    pub length: u64,
}

impl List {
    fn of(layout: &Layout, memory: &mut impl Memory, object: u64) -> Option<Self> {
        is_of_type(layout, memory, object, b"list\0").then_some(())?;
        Some(Self {
            length: memory.word(layout.field(object, object::SIZE))?,
            items: memory.word(layout.field(object, list::ITEMS))?,
        })
    }

    /// The place of the text that is the item at an index.
    pub fn text(&self, layout: &Layout, memory: &mut impl Memory, index: u64) -> Option<TextShape> {
        if index >= self.length {
            return None;
        }
        let item = memory.word(self.items.wrapping_add(index * 8))?;
        is_of_type(layout, memory, item, b"str\0").then_some(())?;
        text(layout, memory, item)
    }
}

/// The lines in `linecache.cache` of the file with this name, in ASCII.
pub fn cached_lines(
    layout: &Layout,
    memory: &mut impl Memory,
    runtime: u64,
    file: &[u8],
) -> Option<List> {
    /// An entry is the size, the time of the file's last change, the lines, and the full name.
    const LINES: u64 = 2;
    const PARTS: u64 = 4;
    let module = layout
        .threads
        .module(layout, memory, runtime, b"linecache")?;
    let cache = global(layout, memory, module, b"cache")?;
    let (_, entry) = in_large_dictionary(layout, memory, cache, file, MOST_FILES)?;
    let is_entry = is_of_type(layout, memory, entry, b"tuple\0")
        && memory.word(layout.field(entry, object::SIZE))? == PARTS;
    is_entry.then_some(())?;
    let lines =
        memory.word(entry.wrapping_add(u64::from(layout.objects.tuple_items) + LINES * 8))?;
    List::of(layout, memory, lines)
}

/// IPython's list `In`: the text of each cell at its number.
pub fn cells(layout: &Layout, memory: &mut impl Memory, runtime: u64) -> Option<List> {
    let module = layout
        .threads
        .module(layout, memory, runtime, b"__main__")?;
    let list = global(layout, memory, module, b"In")?;
    List::of(layout, memory, list)
}

/// A global variable of a module.
fn global(layout: &Layout, memory: &mut impl Memory, module: u64, name: &[u8]) -> Option<u64> {
    let dictionary = memory.word(layout.field(module, module::DICT))?;
    let (_, value) = in_large_dictionary(layout, memory, dictionary, name, MOST_NAMES)?;
    Some(value)
}

/// Whether the type of an object has this name, which ends with a zero byte.
fn is_of_type(layout: &Layout, memory: &mut impl Memory, object: u64, name: &[u8]) -> bool {
    let mut found = [0; 8];
    let Some(found) = found.get_mut(..name.len()) else {
        return false;
    };
    let kind = memory.word(layout.field(object, object::TYPE));
    let place = kind.and_then(|kind| memory.word(layout.field(kind, type_object::NAME)));
    place.is_some_and(|place| memory.bytes(place, found)) && *found == *name
}
