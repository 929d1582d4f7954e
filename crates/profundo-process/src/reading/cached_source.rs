//! The source text that a Python program keeps in its memory, as IPython does for the cells of a
//! notebook.
//!
//! It is read from outside while the program goes on: nothing runs in it, and it does not stop.

use std::collections::HashMap;
use std::fs::File;

use profundo_cpython::{
    DEBUG_WORDS, Layout, List, Memory, TextShape, cached_lines, cells, layout_from_debug_offsets,
    version,
};
use profundo_linux::proc;

use super::memory::PageMemory;
use crate::modules::Elf;

/// The longest text that is read.
const MOST_LINES: u64 = 20_000;
const MOST_BYTES: usize = 1 << 20;
/// The number of newest cells that are compared with a text.
const MOST_CELLS: u64 = 1000;

/// The source text of a file that exists only in memory.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct CachedSource {
    /// Its lines.
    pub lines: Vec<String>,
    /// IPython's number of the cell, if it is a cell.
    pub cell: Option<u64>,
}

/// The addresses of a process's interpreter.
#[derive(Debug, Clone)]
struct Place {
    layout: Layout,
    runtime: u64,
}

/// Reads source texts.
#[derive(Debug, Default)]
pub struct SourceReader {
    memory: PageMemory,
    places: HashMap<(u32, u8), Option<Place>>,
}

impl SourceReader {
    /// The text in a process's `linecache.cache` under a file's name, if its interpreter is CPython
    /// 3.`minor`.
    pub fn read(&mut self, pid: u32, minor: u8, file: &str) -> Option<CachedSource> {
        let place = match self.places.get(&(pid, minor)) {
            Some(known) => known.clone(),
            None => {
                let found = self.find(pid, minor);
                self.places.insert((pid, minor), found.clone());
                found
            }
        }?;
        // The program may change it meanwhile: the text is used if two readings agree.
        let lines = self.lines(pid, &place, file)?;
        (self.lines(pid, &place, file)? == lines).then_some(())?;
        let cell = self.cell(pid, &place, &lines).or_else(|| number(file));
        Some(CachedSource { lines, cell })
    }

    fn lines(&mut self, pid: u32, place: &Place, file: &str) -> Option<Vec<String>> {
        let memory = &mut self.memory;
        memory.begin_anew(pid);
        let Place { layout, runtime } = place;
        let list = cached_lines(layout, memory, *runtime, file.as_bytes())?;
        if list.length > MOST_LINES {
            return None;
        }
        let mut room = MOST_BYTES;
        (0..list.length)
            .map(|index| item(memory, layout, &list, index, &mut room))
            .collect()
    }

    /// The number of the newest cell with this text.
    fn cell(&mut self, pid: u32, place: &Place, lines: &[String]) -> Option<u64> {
        let memory = &mut self.memory;
        memory.begin_anew(pid);
        let list = cells(&place.layout, memory, place.runtime)?;
        let text = lines.join("\n");
        let mut room = MOST_BYTES;
        let newest = (1..list.length).rev().take(MOST_CELLS as usize);
        newest.into_iter().find(|&index| {
            let found = item(memory, &place.layout, &list, index, &mut room);
            found.is_some_and(|found| found.trim_end() == text.trim_end())
        })
    }

    fn find(&mut self, pid: u32, minor: u8) -> Option<Place> {
        let runtime = runtime(pid)?;
        self.memory.begin_anew(pid);
        let mut words = [0; DEBUG_WORDS];
        // Before 3.13 the runtime has no such list, and may be shorter.
        if version::has_debug_offsets(minor) {
            for (index, word) in words.iter_mut().enumerate() {
                *word = self.memory.word(runtime + index as u64 * 8)?;
            }
        }
        Some(Place {
            layout: layout_from_debug_offsets(minor, &words).ok()?,
            runtime,
        })
    }
}

/// The text at an index of a list, without its last newline.
fn item(
    memory: &mut PageMemory,
    layout: &Layout,
    list: &List,
    index: u64,
    room: &mut usize,
) -> Option<String> {
    let TextShape {
        address,
        bytes,
        width,
    } = list.text(layout, memory, index)?;
    *room = room.checked_sub(bytes as usize)?;
    let mut found = vec![0; bytes as usize];
    memory.bytes(address, &mut found).then_some(())?;
    let character = |bytes: &[u8]| {
        let code = bytes
            .iter()
            .rev()
            .fold(0, |code, &byte| code << 8 | u32::from(byte));
        char::from_u32(code).unwrap_or(char::REPLACEMENT_CHARACTER)
    };
    let mut text: String = found.chunks(usize::from(width)).map(character).collect();
    text.truncate(text.trim_end_matches(['\r', '\n']).len());
    Some(text)
}

/// The 3 of `<ipython-input-3-0123456789ab>`.
fn number(file: &str) -> Option<u64> {
    let (number, _) = file.strip_prefix("<ipython-input-")?.split_once('-')?;
    number.parse().ok()
}

/// The address of `_PyRuntime` in a process: in a library that is named after Python, or in the
/// program itself.
fn runtime(pid: u32) -> Option<u64> {
    let maps = proc::read(pid, "maps");
    let maps = String::from_utf8_lossy(&maps);
    let program = std::fs::read_link(format!("/proc/{pid}/exe")).ok()?;
    let program = program.to_string_lossy();
    let mut candidates: Vec<(&str, u64, u64)> = Vec::new();
    for line in maps.lines() {
        let Some((range, rest)) = line.split_once(' ') else {
            continue;
        };
        let mut words = rest.split_whitespace();
        let Some(offset) = words.nth(1) else { continue };
        let path = line
            .find('/')
            .and_then(|at| line.get(at..))
            .unwrap_or_default();
        let is_python = path
            .rsplit('/')
            .next()
            .is_some_and(|name| name.contains("python"));
        let is_known = candidates.iter().any(|(known, ..)| *known == path);
        if is_known || path.is_empty() || (!is_python && path != program) {
            continue;
        }
        let start = range.split('-').next()?;
        let number = |text| u64::from_str_radix(text, 16).ok();
        candidates.push((path, number(start)?, number(offset)?));
    }
    candidates.into_iter().find_map(|(path, start, offset)| {
        let file = File::open(format!("/proc/{pid}/root{path}")).ok()?;
        let elf = Elf::read(file)?;
        // The first mapping of a file is that of the segment with the lowest address.
        let first = elf
            .loads()
            .find(|segment| segment.offset & !0xFFF == offset)?;
        let bias = start.wrapping_sub(first.address & !0xFFF);
        let mut found = None;
        elf.functions_and_data(&elf.sections(), |symbol| {
            if symbol.name == b"_PyRuntime" {
                found = Some(symbol.address.wrapping_add(bias));
            }
        });
        found
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_number_of_a_cell_is_in_its_name() {
        assert_eq!(number("<ipython-input-12-0123456789ab>"), Some(12));
        assert_eq!(number("<ipython-input-x-1>"), None);
        assert_eq!(number("/tmp/ipykernel_7/123.py"), None);
    }
}
