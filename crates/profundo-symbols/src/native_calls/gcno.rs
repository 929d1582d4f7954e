//! The notes that gcc leaves beside an object built with `--coverage`: the blocks of each function,
//! the edges between them, and their lines.
//!
//! ```text
//! head       magic "gcno", version, stamp, checksum (from 12 on), folder, a flag
//! records    tag, length, and contents by the tag, until the end
//!   0x01000000  a function: number, two checksums, name, a flag, file, first line and column, last line and column
//!   0x01410000  its number of blocks
//!   0x01430000  the edges out of a block: their targets, and flags
//!   0x01450000  the lines of a block, with their files between them
//! ```
//!
//! Only edges outside of a spanning tree are counted; the counts of the others follow from these
//! (see `flow`).

use std::collections::BTreeMap;
use std::path::Path;

use rustc_hash::FxHashMap;

use super::cursor::Cursor;
use super::flow::{self, Way};
use super::{CountedFunction, Uncounted, general};
use crate::demangle::demangle;

/// A process's counters of a function.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct GccFunction {
    /// Its number in the object.
    pub ident: u32,
    /// The checksum of its blocks.
    pub checksum: u32,
    /// Its counters.
    pub counters: Vec<u64>,
}

/// The notes of an object.
#[derive(Debug)]
pub struct GccNotes {
    functions: FxHashMap<u32, Function>,
    /// The stamp of the object's build.
    stamp: u32,
}

/// A function.
#[derive(Debug, Default)]
struct Function {
    checksum: u32,
    name: String,
    /// Whether the compiler has generated it.
    is_artificial: bool,
    file: String,
    first: u32,
    last: u32,
    blocks: usize,
    ways: Vec<Way>,
    /// The files of its lines.
    files: Vec<String>,
    /// The lines of blocks, by their files.
    lines: Vec<(usize, usize, u32)>,
}

/// The known versions: gcc's release number.
const KNOWN: std::ops::RangeInclusive<u32> = 9..=15;
/// From this on lengths are in bytes, and there is one more checksum.
const IN_BYTES: u32 = 12;

/// Strings and lengths in the form of a version.
#[derive(Debug)]
struct Reader<'a> {
    cursor: Cursor<'a>,
    is_in_bytes: bool,
}

impl<'a> Reader<'a> {
    fn text(&mut self) -> Option<&'a str> {
        let length = self.length()?;
        let bytes = self.cursor.take(length)?;
        let text = bytes.split(|&byte| byte == 0).next().unwrap_or_default();
        Some(std::str::from_utf8(text).unwrap_or("?"))
    }

    fn length(&mut self) -> Option<usize> {
        let length = self.cursor.u32()? as usize;
        match self.is_in_bytes {
            true => Some(length),
            false => length.checked_mul(4),
        }
    }
}

impl GccNotes {
    /// Reads the notes.
    pub fn open(path: &Path) -> Result<Self, Uncounted> {
        let bytes = std::fs::read(path).map_err(|_| Uncounted::Gone(path.to_owned()))?;
        Self::read(&bytes).unwrap_or_else(|| Err(Uncounted::Damaged(path.to_owned())))
    }

    /// `None`: they are damaged.
    pub(super) fn read(bytes: &[u8]) -> Option<Result<Self, Uncounted>> {
        let mut cursor = Cursor::new(bytes);
        if cursor.take(4)? != b"oncg" {
            return None;
        }
        let version = cursor.u32()?.to_be_bytes();
        let known = release(version).filter(|release| KNOWN.contains(release));
        let Some(release) = known else {
            return Some(Err(Uncounted::UnknownVersion {
                format: "gcc's notes",
                version: String::from_utf8_lossy(&version).into_owned(),
            }));
        };
        let stamp = cursor.u32()?;
        let is_in_bytes = release >= IN_BYTES;
        if is_in_bytes {
            cursor.u32()?;
        }
        let mut reader = Reader {
            cursor,
            is_in_bytes,
        };
        let folder = reader.text()?;
        reader.cursor.u32()?;
        let mut functions = FxHashMap::default();
        let mut current: Option<(u32, Function)> = None;
        while !reader.cursor.is_at_end() {
            let tag = reader.cursor.u32()?;
            if tag == 0 {
                break;
            }
            let length = reader.length()?;
            let mut record = Reader {
                cursor: Cursor::new(reader.cursor.take(length)?),
                is_in_bytes,
            };
            if tag == tag::FUNCTION {
                functions.extend(current.take());
                current = Some(function(&mut record, folder)?);
            } else if let Some((_, function)) = &mut current {
                match tag {
                    tag::BLOCKS => function.blocks = record.cursor.u32()? as usize,
                    tag::WAYS => ways(&mut record, function)?,
                    tag::LINES => lines(&mut record, function, folder)?,
                    _ => {}
                }
            }
        }
        functions.extend(current);
        Some(Ok(Self { functions, stamp }))
    }

    /// The counted functions of one process. `stamp` is that of their build.
    pub fn functions(
        &self,
        stamp: u32,
        counted: &[GccFunction],
        path: &Path,
    ) -> Result<Vec<CountedFunction>, Uncounted> {
        let other = || Uncounted::OtherBuild(path.to_owned());
        if stamp != self.stamp {
            return Err(other());
        }
        let mut found: BTreeMap<(&str, u32, String), (CountedFunction, u32)> = BTreeMap::new();
        let mut hits: BTreeMap<(&str, u32), u64> = BTreeMap::new();
        for it in counted {
            let function = self.functions.get(&it.ident);
            let function = function.filter(|function| function.checksum == it.checksum);
            let function = function.ok_or_else(other)?;
            let flow = flow::solve(function.blocks, &function.ways, &it.counters);
            let flow = flow.ok_or_else(|| Uncounted::Damaged(path.to_owned()))?;
            let placed = function.lines.iter();
            let placed =
                placed.map(|&(block, file, line)| (block, (function.files[file].as_str(), line)));
            for (line, count) in flow.lines(placed) {
                let sum = hits.entry(line).or_default();
                *sum = sum.saturating_add(count);
            }
            // A generated function has no lines of its own.
            let first = if function.is_artificial {
                0
            } else {
                function.first
            };
            let name = demangle(&function.name).function;
            let general = general(&name).to_owned();
            let key = (function.file.as_str(), first, general);
            let (sum, last) = found.entry(key).or_default();
            sum.calls = sum.calls.saturating_add(flow.calls());
            sum.instances += 1;
            sum.file.clone_from(&function.file);
            sum.line = first;
            sum.name = name;
            *last = function.last;
        }
        let sums = found
            .into_iter()
            .map(|((file, first, general), (mut sum, last))| {
                if sum.instances > 1 {
                    sum.name = general;
                }
                // Lines of an inlined function are counted at the caller, and belong here.
                if first > 0 && first <= last {
                    let lines = hits.range((file, first)..=(file, last));
                    sum.lines = lines.map(|(&(_, line), &hits)| (line, hits)).collect();
                }
                sum
            });
        Ok(sums.collect())
    }
}

/// The tags of records.
mod tag {
    pub(super) const FUNCTION: u32 = 0x0100_0000;
    pub(super) const BLOCKS: u32 = 0x0141_0000;
    pub(super) const WAYS: u32 = 0x0143_0000;
    pub(super) const LINES: u32 = 0x0145_0000;
}

/// gcc's release number, from the four letters in which it writes its version: `B22*` is 12.2,
/// `A93*` 9.3.
fn release([tens, ones, ..]: [u8; 4]) -> Option<u32> {
    let tens = u32::from(tens.checked_sub(b'A')?);
    let ones = char::from(ones).to_digit(10)?;
    Some(tens * 10 + ones)
}

fn function(record: &mut Reader<'_>, folder: &str) -> Option<(u32, Function)> {
    let ident = record.cursor.u32()?;
    record.cursor.u32()?;
    let checksum = record.cursor.u32()?;
    let name = record.text()?.to_owned();
    let is_artificial = record.cursor.u32()? != 0;
    let file = joined(folder, record.text()?);
    let first = record.cursor.u32()?;
    record.cursor.u32()?;
    let last = record.cursor.u32()?;
    let function = Function {
        checksum,
        name,
        is_artificial,
        file,
        first,
        last,
        ..Function::default()
    };
    Some((ident, function))
}

fn ways(record: &mut Reader<'_>, function: &mut Function) -> Option<()> {
    const ON_TREE: u32 = 1;
    let from = record.cursor.u32()? as usize;
    while !record.cursor.is_at_end() {
        let to = record.cursor.u32()? as usize;
        let flags = record.cursor.u32()?;
        function.ways.push(Way {
            from,
            to,
            is_counted: flags & ON_TREE == 0,
        });
    }
    Some(())
}

fn lines(record: &mut Reader<'_>, function: &mut Function, folder: &str) -> Option<()> {
    let block = record.cursor.u32()? as usize;
    let mut file = None;
    loop {
        match record.cursor.u32()? {
            0 => match record.text()? {
                "" => return Some(()),
                path => {
                    let path = joined(folder, path);
                    let known = function.files.iter().position(|other| *other == path);
                    file = Some(known.unwrap_or(function.files.len()));
                    if known.is_none() {
                        function.files.push(path);
                    }
                }
            },
            line => function.lines.push((block, file?, line)),
        }
    }
}

/// A path, relative to the folder unless it is absolute.
fn joined(folder: &str, path: &str) -> String {
    match path.starts_with('/') || folder.is_empty() {
        true => path.to_owned(),
        false => format!(
            "{}/{}",
            folder.trim_end_matches('/'),
            path.trim_start_matches("./")
        ),
    }
}
