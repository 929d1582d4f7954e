//! A file of compiled tables, which programs map as it lies there: rows and indexes of modules, one
//! after another, each found by its module's name. A table is never changed.
//!
//! ```text
//! head: mark, magic, bytes used, tables named     64 bytes
//! names: hash of a name, boot and place           16 bytes each
//! tables: words, rows, index                      each on 64 bytes
//! ```
//!
//! Several commands may add to one file at the same time without waiting for each other: each takes
//! its room by adding to the bytes used, fills it, and names it last. They write by system call, so
//! that a full disk is an error and not a signal.
//!
//! A table has a checksum, because a crash of the machine may leave it in part. What was once found
//! whole, or was written, stays so until the machine is started anew, so the boot is kept beside
//! its place: checking all of the interpreter's rows would be a part of the cost of recording a
//! short program.

use std::fs::File;
use std::io;
use std::mem::{offset_of, size_of};
use std::os::unix::fs::FileExt;
use std::slice;
use std::sync::atomic::{AtomicU64, Ordering};

use profundo_linux::map::SharedMap;
use profundo_linux::sys;
use profundo_probe::shared::TABLE_BYTES;
use profundo_unwind::{Row, TableRef};

use super::file::Compiled;
use super::interpreter::RANGES;

/// The last byte is the version of everything in the file, the compiler of tables included.
const MAGIC: u64 = u64::from_be_bytes(*b"PFTABLE\x03");

/// The offset of the tables.
const BODY: usize = 1 << 16;
const NAMES: usize = (BODY - size_of::<Head>()) / size_of::<Named>();
/// The alignment of a table.
const ALIGN: usize = 64;

/// The longest name: a build id, or the identity of a file without one.
pub const LONGEST_NAME: usize = 64;

#[repr(C, align(64))]
struct Head {
    /// Different in each file: a process with this mark in its memory still runs the program that
    /// mapped the file.
    mark: AtomicU64,
    magic: AtomicU64,
    used: AtomicU64,
    count: AtomicU64,
}

#[repr(C)]
struct Named {
    hash: AtomicU64,
    /// 0 until the table exists; then its place, and above `PLACE` the boot in which it was found
    /// whole.
    at: AtomicU64,
}

/// The bits of a place.
const PLACE: u64 = u32::MAX as u64;

const _: () = assert!(TABLE_BYTES as u64 <= PLACE);

#[repr(C)]
struct Layout {
    head: Head,
    names: [Named; NAMES],
}

const _: () = assert!(size_of::<Layout>() <= BODY && offset_of!(Head, mark) == 0);

/// The words before a table: checksum of all the rest, rows, entries of the index, base and end of
/// the code, whether it is Go's, length of the name, the ranges of the evaluation loop, the name.
const FIXED: usize = 7;
const WORDS: usize = FIXED + 2 * RANGES + LONGEST_NAME / 8;
const WORD_BYTES: usize = (WORDS * 8).next_multiple_of(ALIGN);

/// The place of a table in the file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Place {
    /// The offset of the rows, and their number.
    pub rows: (u32, u32),
    /// The offset of the index, and the number of its entries.
    pub index: (u32, u32),
}

impl Place {
    /// The place of a table whose words are at `at`.
    fn behind(at: usize, rows: usize, entries: usize) -> Option<Self> {
        let first = at.checked_add(WORD_BYTES)?;
        let index = first.checked_add(rows.checked_mul(Row::BYTES)?)?;
        let end = index.checked_add(entries.checked_mul(4)?)?;
        (end <= TABLE_BYTES).then_some(Self {
            rows: (first as u32, rows as u32),
            index: (index as u32, entries as u32),
        })
    }

    /// Its end in the file.
    pub fn end(&self) -> u64 {
        u64::from(self.index.0) + 4 * u64::from(self.index.1)
    }
}

/// A table file.
#[derive(Debug)]
pub struct Tables {
    file: File,
    map: SharedMap,
    /// See [`Head`].
    pub mark: u64,
    /// This boot of the machine, in the bits above those of a place; 0 if it is not known.
    boot: u64,
    /// The reason why a table could not be kept.
    pub trouble: Option<io::Error>,
}

impl Tables {
    /// Starts a new, empty file.
    pub fn begin(file: File) -> io::Result<Self> {
        // Written, so that touching it cannot fail.
        file.write_all_at(&vec![0; BODY], 0)?;
        let mut this = Self::map(file)?;
        this.mark = profundo_probe::clock::now() ^ u64::from(std::process::id()) << 40 | 1;
        let head = &this.layout().head;
        head.mark.store(this.mark, Ordering::Relaxed);
        head.used.store(BODY as u64, Ordering::Relaxed);
        // Release: a reader of the magic finds the rest.
        head.magic.store(MAGIC, Ordering::Release);
        Ok(this)
    }

    /// Opens an existing file. `None`: it is not a table file, or of another version.
    pub fn open(file: File) -> Option<Self> {
        let length = file.metadata().ok()?.len();
        if length < BODY as u64 {
            return None;
        }
        let mut this = Self::map(file).ok()?;
        let head = &this.layout().head;
        if head.magic.load(Ordering::Acquire) != MAGIC {
            return None;
        }
        // After a crash of the machine, the header may be older than the tables.
        let end = length.next_multiple_of(ALIGN as u64);
        head.used.fetch_max(end, Ordering::Relaxed);
        this.mark = head.mark.load(Ordering::Relaxed);
        Some(this)
    }

    fn map(file: File) -> io::Result<Self> {
        let map = SharedMap::growing(&file, TABLE_BYTES)?;
        Ok(Self {
            file,
            map,
            mark: 0,
            boot: sys::boot().map_or(0, |name| hash(name.as_bytes()) & !PLACE),
            trouble: None,
        })
    }

    fn layout(&self) -> &Layout {
        // SAFETY: the file is at least as long, and it is made of atomics.
        unsafe { self.map.as_ref() }
    }

    /// The used part of the file's capacity, in percent.
    pub fn percent_used(&self) -> u64 {
        let head = &self.layout().head;
        let bytes = head.used.load(Ordering::Relaxed).saturating_mul(100) / TABLE_BYTES as u64;
        let names = head.count.load(Ordering::Relaxed).saturating_mul(100) / NAMES as u64;
        bytes.max(names)
    }

    /// The compiled table of the module of that name.
    pub fn find(&self, name: &[u8]) -> Option<Compiled> {
        if name.is_empty() {
            return None;
        }
        let layout = self.layout();
        let count = layout.head.count.load(Ordering::Relaxed);
        let names = layout.names.iter().take(count.min(NAMES as u64) as usize);
        let hash = hash(name);
        let mut length = None;
        for named in names.filter(|named| named.hash.load(Ordering::Relaxed) == hash) {
            let length = *length.get_or_insert_with(|| {
                let data = self.file.metadata();
                data.map_or(0, |data| data.len())
            });
            // Acquire pairs with the release of the writer: the table exists.
            let known = named.at.load(Ordering::Acquire);
            let (boot, at) = (known & !PLACE, known & PLACE);
            let is_whole = self.boot != 0 && boot == self.boot;
            if let Some(compiled) = self.read(at, length, name, is_whole) {
                if !is_whole {
                    named.at.store(self.boot | at, Ordering::Release);
                }
                return Some(compiled);
            }
        }
        None
    }

    /// The table at `at`, if it is whole and of that name. Its checksum is verified unless
    /// `is_whole`.
    fn read(&self, at: u64, length: u64, name: &[u8], is_whole: bool) -> Option<Compiled> {
        let is_there = at >= BODY as u64
            && at.is_multiple_of(ALIGN as u64)
            && at.checked_add(WORD_BYTES as u64)? <= length.min(TABLE_BYTES as u64);
        if !is_there {
            return None;
        }
        // SAFETY: the words lie in the file and in the mapping, and on a multiple of their size.
        // They are not written to any more; a write would change plain numbers.
        let words: &[u64; WORDS] = unsafe { &*self.map.as_ptr().add(at as usize).cast() };
        let (&[checksum, rows, entries, base, end, is_go, name_bytes], rest) =
            words.split_first_chunk::<FIXED>()?;
        let (ranges, kept_name) = rest.split_at_checked(2 * RANGES)?;
        if kept_name != name_words(name) || name_bytes != name.len() as u64 {
            return None;
        }
        let rows = usize::try_from(rows).ok()?;
        let place = Place::behind(at as usize, rows, usize::try_from(entries).ok()?)?;
        if place.end() > length {
            return None;
        }
        let table = self.get(place, 0);
        if !is_whole && checksum != checksum_of(words.get(1..)?, table.rows, table.index) {
            return None;
        }
        Some(Compiled {
            place: (rows > 0).then_some(place),
            base,
            end,
            evaluation: ranges
                .chunks_exact(2)
                .filter(|pair| pair[1] > pair[0])
                .map(|pair| (pair[0], pair[1]))
                .collect(),
            is_go: is_go != 0,
        })
    }

    /// Adds a table, and names it if it has a name. Returns its place; none, if there is no room or
    /// no table.
    pub fn add(
        &mut self,
        name: &[u8],
        compiled: Compiled,
        rows: &[Row],
        index: &[u32],
    ) -> Compiled {
        let added = self.write(name, &compiled, rows, index);
        let place = added.unwrap_or_else(|error| {
            self.trouble = Some(error);
            None
        });
        Compiled { place, ..compiled }
    }

    fn write(
        &self,
        name: &[u8],
        compiled: &Compiled,
        rows: &[Row],
        index: &[u32],
    ) -> io::Result<Option<Place>> {
        if rows.is_empty() && name.is_empty() {
            return Ok(None);
        }
        let bytes = WORD_BYTES + size_of_val(rows) + size_of_val(index);
        let layout = self.layout();
        let room = bytes.next_multiple_of(ALIGN) as u64;
        let fits = |at: u64| {
            at.checked_add(room)
                .is_some_and(|end| end <= TABLE_BYTES as u64)
        };
        // Relaxed: it only hands out numbers.
        let taken = layout
            .head
            .used
            .fetch_update(Ordering::Relaxed, Ordering::Relaxed, |at| {
                fits(at).then_some(at + room)
            });
        let at = taken.map_err(|_| io::Error::from_raw_os_error(libc::ENOSPC))?;
        let mut words = [0; WORDS];
        let first = [
            0,
            rows.len() as u64,
            index.len() as u64,
            compiled.base,
            compiled.end,
            u64::from(compiled.is_go),
            name.len() as u64,
        ];
        let ranges = compiled.evaluation.iter().flat_map(|&(a, b)| [a, b]);
        let ranges = ranges.chain(std::iter::repeat(0)).take(2 * RANGES);
        let all = first.into_iter().chain(ranges).chain(name_words(name));
        for (to, from) in words.iter_mut().zip(all) {
            *to = from;
        }
        words[0] = checksum_of(&words[1..], rows, index);
        let mut out: Vec<u8> = words.iter().flat_map(|word| word.to_ne_bytes()).collect();
        out.resize(WORD_BYTES, 0);
        out.extend_from_slice(row_bytes(rows));
        out.extend_from_slice(index_bytes(index));
        self.file.write_all_at(&out, at)?;
        if !name.is_empty() {
            let number = layout.head.count.fetch_add(1, Ordering::Relaxed);
            if let Some(named) = layout.names.get(number as usize) {
                named.hash.store(hash(name), Ordering::Relaxed);
                // Release pairs with the acquire in `find`.
                named.at.store(self.boot | at, Ordering::Release);
            }
        }
        let place = Place::behind(at as usize, rows.len(), index.len());
        Ok(place.filter(|_| !rows.is_empty()))
    }

    /// A table for our own walks, by code that was compiled for `base`.
    pub fn get(&self, place: Place, base: u64) -> TableRef<'_> {
        // SAFETY: the place lies in the file; rows are plain numbers that may have any value, and
        // both addresses are multiples of four.
        unsafe {
            let at = |offset: u32| self.map.as_ptr().add(offset as usize);
            let rows = slice::from_raw_parts(at(place.rows.0).cast::<Row>(), place.rows.1 as usize);
            let index = at(place.index.0).cast::<u32>();
            TableRef {
                base,
                rows,
                index: slice::from_raw_parts(index, place.index.1 as usize),
            }
        }
    }
}

/// FNV-1a. It need not withstand attacks: only the owner of the file can write to it.
fn hash(name: &[u8]) -> u64 {
    name.iter().fold(0xcbf2_9ce4_8422_2325, |hash, &byte| {
        (hash ^ u64::from(byte)).wrapping_mul(0x0000_0100_0000_01b3)
    })
}

fn name_words(name: &[u8]) -> [u64; LONGEST_NAME / 8] {
    let mut words = [0; LONGEST_NAME / 8];
    for (word, bytes) in words.iter_mut().zip(name.chunks(8)) {
        let mut whole = [0; 8];
        whole[..bytes.len()].copy_from_slice(bytes);
        *word = u64::from_ne_bytes(whole);
    }
    words
}

fn checksum_of(words: &[u64], rows: &[Row], index: &[u32]) -> u64 {
    let mut hash = crc32fast::Hasher::new();
    for word in words {
        hash.update(&word.to_ne_bytes());
    }
    hash.update(row_bytes(rows));
    hash.update(index_bytes(index));
    hash.finalize().into()
}

/// The bytes of rows.
fn row_bytes(rows: &[Row]) -> &[u8] {
    // SAFETY: a row is 12 bytes without padding.
    unsafe { slice::from_raw_parts(rows.as_ptr().cast(), size_of_val(rows)) }
}

/// The bytes of an index.
fn index_bytes(index: &[u32]) -> &[u8] {
    // SAFETY: numbers have no padding.
    unsafe { slice::from_raw_parts(index.as_ptr().cast(), size_of_val(index)) }
}

const _: () = assert!(size_of::<Row>() == Row::BYTES && align_of::<Row>() == 4);

#[cfg(test)]
mod tests {
    use super::*;
    use profundo_session::Directory;
    use profundo_unwind::Rule;
    use std::fs::OpenOptions;
    use std::path::Path;

    fn file(path: &Path) -> File {
        let mut options = OpenOptions::new();
        options.read(true).write(true).create(true).truncate(false);
        options.open(path).unwrap()
    }

    fn compiled() -> Compiled {
        Compiled {
            place: None,
            base: 0x1000,
            end: 0x2000,
            evaluation: vec![(0x1100, 0x1200)],
            is_go: false,
        }
    }

    #[test]
    fn a_table_is_found_where_it_was_put() {
        let directory = Directory::create(None).unwrap();
        let path = directory.path().join("tables-of-a-test");
        let mut tables = Tables::begin(file(&path)).unwrap();
        let rows = [Row::new(0, Rule::sp(8)), Row::new(9, Rule::NONE)];
        let index = [0_u32, 2];
        // Another command with the same file.
        let mut other = Tables::open(file(&path)).unwrap();
        assert_eq!(other.mark, tables.mark);
        for name in [&b"one"[..], b"two", b""] {
            let added = tables.add(name, compiled(), &rows, &index);
            let table = tables.get(added.place.unwrap(), 0x1000);
            assert_eq!(table.find(0x1005), Some(rows[0]));
            let found = other.find(name);
            assert_eq!(found.is_some(), !name.is_empty());
            if let Some(found) = found {
                assert_eq!(found, added);
                let table = other.get(found.place.unwrap(), 0x1000);
                assert_eq!(table.find(0x1005), Some(rows[0]));
            }
        }
        // It is recorded as well that a file has no table.
        let none = other.add(b"three", compiled(), &[], &[]);
        assert_eq!(none.place, None);
        assert_eq!(tables.find(b"three"), Some(none));
        assert_eq!(tables.find(b"four"), None);
        std::fs::remove_file(path).unwrap();
    }

    #[test]
    fn what_is_damaged_is_not_found() {
        let directory = Directory::create(None).unwrap();
        let path = directory.path().join("tables-of-a-test");
        let mut tables = Tables::begin(file(&path)).unwrap();
        let rows = [Row::new(0, Rule::sp(8)), Row::new(9, Rule::NONE)];
        let place = tables
            .add(b"one", compiled(), &rows, &[0, 2])
            .place
            .unwrap();
        let file = file(&path);
        for at in [
            u64::from(place.rows.0),
            u64::from(place.index.0),
            BODY as u64,
        ] {
            let mut byte = [0];
            file.read_exact_at(&mut byte, at).unwrap();
            file.write_all_at(&[byte[0] ^ 1], at).unwrap();
            // As if the machine had been restarted, perhaps after a crash.
            tables.boot = tables.boot.wrapping_add(1 << 32);
            assert_eq!(tables.find(b"one"), None, "{at}");
            file.write_all_at(&byte, at).unwrap();
            assert!(tables.find(b"one").is_some());
        }
        // The checksum is verified once in each boot: only this test overwrites a table.
        let checksum = BODY as u64;
        file.write_all_at(&[0; 8], checksum).unwrap();
        assert!(tables.find(b"one").is_some());
        tables.boot = tables.boot.wrapping_add(1 << 32);
        assert_eq!(tables.find(b"one"), None);
        // In an unknown boot, each time.
        tables.boot = 0;
        assert_eq!(tables.find(b"one"), None);
        tables.add(b"one", compiled(), &rows, &[0, 2]);
        // A header that is older than the tables, as after a crash of the machine.
        let used = offset_of!(Head, used) as u64;
        file.write_all_at(&(BODY as u64).to_ne_bytes(), used)
            .unwrap();
        let mut reopened = Tables::open(self::file(&path)).unwrap();
        reopened.add(b"two", compiled(), &rows, &[0, 2]);
        assert!(reopened.find(b"one").is_some() && reopened.find(b"two").is_some());
        // Truncated, or of another version.
        file.set_len(place.end() - 1).unwrap();
        assert_eq!(reopened.find(b"one"), None);
        file.write_all_at(&[9], offset_of!(Head, magic) as u64)
            .unwrap();
        assert!(Tables::open(file).is_none());
        std::fs::remove_file(path).unwrap();
    }

    #[test]
    fn a_full_file_takes_no_more() {
        let directory = Directory::create(None).unwrap();
        let path = directory.path().join("tables-of-a-test");
        let mut tables = Tables::begin(file(&path)).unwrap();
        let rows = [Row::new(0, Rule::sp(8)), Row::new(9, Rule::NONE)];
        let used = &tables.layout().head.used;
        used.store(TABLE_BYTES as u64 - 64, Ordering::Relaxed);
        assert_eq!(tables.percent_used(), 99);
        assert_eq!(tables.add(b"one", compiled(), &rows, &[0, 2]).place, None);
        tables.trouble.take().expect("the full file is reported");
        std::fs::remove_file(path).unwrap();
    }
}
