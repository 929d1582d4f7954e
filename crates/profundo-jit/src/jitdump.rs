//! jitdump files: a head, then records of code that was loaded, moved, and of its source lines,
//! each with its time. Linux describes them in
//! `tools/perf/Documentation/jitdump-specification.txt`.
//!
//! ```text
//! head:   magic version size machine pad pid  u32 each · time flags  u64 each
//! record: kind size                           u32 each · time        u64
//! load:   pid tid  u32 each · vma address size number  u64 each · name\0 · the code
//! move:   pid tid  u32 each · vma old new size number  u64 each
//! debug:  address entries  u64 each · { address u64 · line column u32 each · file\0 } …
//! ```
//!
//! The code itself is never read.

use std::sync::Arc;

use rustc_hash::FxHashMap;

use crate::code::{At, Change, Code, Line, name_of};
use crate::files::Bytes;

const MAGIC: u32 = 0x4A69_5444;
const HEAD: u64 = 40;
const RECORD: u64 = 16;
const LOAD: u32 = 0;
const MOVE: u32 = 1;
const DEBUG: u32 = 2;
const CLOSE: u32 = 3;
/// Times are of the cycle counter.
const CYCLES: u64 = 1;
/// The longest load record before the code, with its name.
const LONGEST_LOAD: usize = 4096 + 64;
/// The longest debug record: the lines of one function.
const LONGEST_DEBUG: usize = 4 << 20;
/// Functions that are kept because they may move.
const MOST_KEPT: usize = 1 << 18;
/// The offset of V8's addresses in debug records: the size of the ELF header in the files that perf
/// makes.
const V8_OFF: u64 = 0x40;

/// The state of a jitdump file's reader.
#[derive(Debug, Default)]
pub struct JitDump {
    offset: u64,
    clock: Option<fn(u64) -> At>,
    is_over: bool,
    /// The last code of each number, to be found when it moves.
    loaded: FxHashMap<u64, Code>,
    /// The debug record of the code that is loaded next, with its address.
    debug: Option<(u64, Vec<u8>)>,
    /// The last source file, which mostly is the next one too.
    file: Option<Arc<str>>,
}

/// A line of a debug record.
#[derive(Debug)]
struct Entry {
    address: u64,
    line: u32,
    file: Arc<str>,
}

struct Cursor<'a>(&'a [u8]);

impl<'a> Cursor<'a> {
    fn u32(&mut self) -> Option<u32> {
        let (bytes, rest) = self.0.split_first_chunk()?;
        self.0 = rest;
        Some(u32::from_ne_bytes(*bytes))
    }

    fn u64(&mut self) -> Option<u64> {
        let (bytes, rest) = self.0.split_first_chunk()?;
        self.0 = rest;
        Some(u64::from_ne_bytes(*bytes))
    }

    fn text(&mut self) -> Option<&'a [u8]> {
        let end = self.0.iter().position(|&byte| byte == 0)?;
        let (text, rest) = (self.0.get(..end)?, self.0.get(end + 1..)?);
        self.0 = rest;
        Some(text)
    }
}

impl JitDump {
    /// Reads the part added to the file since the last time, `most` records at most. Returns
    /// whether there may be more.
    pub fn read(
        &mut self,
        file: &(impl Bytes + ?Sized),
        most: usize,
        out: &mut Vec<Change>,
    ) -> bool {
        for _ in 0..most {
            if self.is_over || self.next(file, out).is_none() {
                return false;
            }
        }
        true
    }

    /// Takes the rest of a file that is complete: perhaps a function with its name, but without all
    /// of its code.
    pub fn finish(&mut self, file: &(impl Bytes + ?Sized), out: &mut Vec<Change>) {
        if self.is_over || self.clock.is_none() {
            return;
        }
        let mut head = [0; RECORD as usize];
        if file.read_at(self.offset, &mut head) == head.len()
            && head.first_chunk().map(|bytes| u32::from_ne_bytes(*bytes)) == Some(LOAD)
        {
            let mut body = vec![0; LONGEST_LOAD];
            let read = file.read_at(self.offset + RECORD, &mut body);
            body.truncate(read);
            let _ = self.load(&body, Cursor(head.get(8..).unwrap_or_default()).u64(), out);
        }
        self.is_over = true;
    }

    fn next(&mut self, file: &(impl Bytes + ?Sized), out: &mut Vec<Change>) -> Option<()> {
        let clock = match self.clock {
            Some(clock) => clock,
            None => self.head(file)?,
        };
        let mut head = [0; RECORD as usize];
        if file.read_at(self.offset, &mut head) < head.len() {
            return None;
        }
        let mut at = Cursor(&head);
        let (kind, size, time) = (at.u32()?, u64::from(at.u32()?), at.u64()?);
        if size < RECORD {
            // The start of the next record is unknown.
            self.is_over = true;
            return None;
        }
        let end = self.offset.checked_add(size)?;
        if !file.reaches(end) {
            return None;
        }
        let body = self.offset + RECORD;
        self.offset = end;
        let longest = match kind {
            LOAD | MOVE => LONGEST_LOAD,
            DEBUG => LONGEST_DEBUG,
            CLOSE => {
                self.is_over = true;
                return None;
            }
            _ => return Some(()),
        };
        let size = usize::try_from(size - RECORD).ok()?;
        let mut bytes = vec![0; size.min(longest)];
        let read = file.read_at(body, &mut bytes);
        bytes.truncate(read);
        // A malformed record is skipped.
        let _ = match kind {
            LOAD => self.load(&bytes, Some(time), out),
            MOVE => self.moved(&bytes, clock(time), out),
            _ if size > longest => None,
            _ => Cursor(&bytes)
                .u64()
                .map(|start| self.debug = Some((start, bytes))),
        };
        Some(())
    }

    fn head(&mut self, file: &(impl Bytes + ?Sized)) -> Option<fn(u64) -> At> {
        let mut head = [0; HEAD as usize];
        if file.read_at(0, &mut head) < head.len() {
            return None;
        }
        let mut at = Cursor(&head);
        let (magic, _version, size) = (at.u32()?, at.u32()?, at.u32()?);
        let _ = (at.u32()?, at.u32()?, at.u32()?, at.u64()?);
        let flags = at.u64()?;
        if magic != MAGIC || u64::from(size) < HEAD {
            self.is_over = true;
            return None;
        }
        self.offset = size.into();
        let clock: fn(u64) -> At = match flags & CYCLES {
            0 => At::Monotonic,
            _ => At::Cycles,
        };
        self.clock = Some(clock);
        Some(clock)
    }

    fn load(&mut self, body: &[u8], time: Option<u64>, out: &mut Vec<Change>) -> Option<()> {
        let mut at = Cursor(body);
        let _ = (at.u32()?, at.u32()?, at.u64()?);
        let (start, size, number) = (at.u64()?, at.u64()?, at.u64()?);
        let name = at.text()?;
        let debug = self.debug.take().filter(|(address, _)| *address == start);
        if size == 0 || start.checked_add(size).is_none() || name.is_empty() {
            return None;
        }
        let name = name_of(name);
        let off = if is_v8(&name) { V8_OFF } else { 0 };
        let entries = debug.and_then(|(_, record)| self.entries(&record, v8_file(&name)));
        let entries = entries.unwrap_or_default();
        let code = Code {
            start,
            size,
            lines: lines(entries, start.wrapping_add(off), size),
            name,
            since: self
                .clock
                .zip(time)
                .map_or(At::Always, |(at, time)| at(time)),
        };
        if self.loaded.len() < MOST_KEPT || self.loaded.contains_key(&number) {
            self.loaded.insert(number, code.clone());
        }
        out.push(Change::Loaded(code));
        Some(())
    }

    fn moved(&mut self, body: &[u8], at: At, out: &mut Vec<Change>) -> Option<()> {
        let mut cursor = Cursor(body);
        let _ = (cursor.u32()?, cursor.u32()?, cursor.u64()?);
        let (old, new) = (cursor.u64()?, cursor.u64()?);
        let (size, number) = (cursor.u64()?, cursor.u64()?);
        let known = self.loaded.get_mut(&number)?;
        if size == 0 || new.checked_add(size).is_none() {
            return None;
        }
        out.push(Change::Unloaded { start: old, at });
        (known.start, known.size, known.since) = (new, size, at);
        out.push(Change::Loaded(known.clone()));
        Some(())
    }

    /// The entries of a debug record, for a function in `v8_file` by its name.
    fn entries(&mut self, record: &[u8], v8_file: Option<&str>) -> Option<Vec<Entry>> {
        /// Stands for the file of the entry before.
        const SAME: &[u8] = b"\xff";
        let mut at = Cursor(record);
        let (_, count) = (at.u64()?, at.u64()?);
        let mut entries = Vec::new();
        if let Some(name) = v8_file.filter(|name| has_one_name(at.0, count, name)) {
            let file = name_of(name.as_bytes());
            for entry in at.0.chunks_exact(ENTRY + name.len() + 1) {
                let mut at = Cursor(entry);
                let (address, line) = (at.u64()?, at.u32()?);
                let file = Arc::clone(&file);
                entries.push(Entry {
                    address,
                    line,
                    file,
                });
            }
            self.file = Some(file);
            return Some(entries);
        }
        for _ in 0..count {
            let (Some(address), Some(line), Some(_)) = (at.u64(), at.u32(), at.u32()) else {
                break;
            };
            let Some(name) = at.text() else { break };
            let is_file = is_text(name) && (v8_file.is_none() || is_like_a_file(name));
            let file = match &self.file {
                Some(file) if name == SAME || name == file.as_bytes() => Arc::clone(file),
                _ if is_file => name_of(name),
                _ => Arc::default(),
            };
            self.file = Some(Arc::clone(&file));
            entries.push(Entry {
                address,
                line,
                file,
            });
        }
        Some(entries)
    }
}

/// The part of an entry before its file.
const ENTRY: usize = 16;

/// True if all entries have the length that they have with this name. Then they have that name,
/// whatever V8 has written in its place: it may have freed the memory of the name by then, and only
/// the length is still right.
fn has_one_name(entries: &[u8], count: u64, name: &str) -> bool {
    let each = (ENTRY + name.len() + 1) as u64;
    count.checked_mul(each) == Some(entries.len() as u64)
}

/// The file in a name of V8: `JS:*burn /src/hot.js:2:14`.
fn v8_file(name: &str) -> Option<&str> {
    if !is_v8(name) {
        return None;
    }
    let (_, place) = name.split_once(' ')?;
    let (place, _column) = place.rsplit_once(':')?;
    let (file, _line) = place.rsplit_once(':')?;
    (!file.is_empty()).then_some(file)
}

/// Paths, addresses and `evalmachine.<anonymous>` have one of these.
fn is_like_a_file(name: &[u8]) -> bool {
    name.iter().any(|letter| b"/:.<".contains(letter))
}

/// The lines of a piece of code, sorted. Addresses outside of it are dropped.
fn lines(entries: Vec<Entry>, start: u64, size: u64) -> Arc<[Line]> {
    let mut lines: Vec<Line> = entries
        .into_iter()
        .filter_map(|entry| {
            let offset = entry.address.checked_sub(start)?;
            (offset < size).then_some(Line {
                offset,
                file: entry.file,
                line: entry.line,
            })
        })
        .collect();
    lines.sort_by_key(|line| line.offset);
    lines.into()
}

/// V8 writes arbitrary bytes where it has lost a file's name.
fn is_text(name: &[u8]) -> bool {
    std::str::from_utf8(name).is_ok_and(|name| !name.contains(char::is_control))
}

/// True if the name is V8's, by its prefix.
fn is_v8(name: &str) -> bool {
    const TAGS: [&str; 9] = [
        "JS",
        "LazyCompile",
        "Function",
        "Script",
        "Eval",
        "Builtin",
        "BytecodeHandler",
        "RegExp",
        "Stub",
    ];
    name.split_once(':')
        .is_some_and(|(tag, _)| TAGS.contains(&tag))
}
