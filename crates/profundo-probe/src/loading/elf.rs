//! The parts of an executable file that list its libraries.

use core::ffi::CStr;

use super::file::File;

/// An executable of this machine.
#[derive(Debug)]
pub struct Elf<'a> {
    file: &'a File,
    head: &'a [u8],
    /// The offset, the entry size and the number of the program headers.
    segments: (u64, u64, u64),
}

/// A mapped part of the file.
#[derive(Debug, Clone, Copy)]
struct Segment {
    flags: u64,
    offset: u64,
    address: u64,
    size: u64,
}

/// The limit of libraries that are checked.
const LIBRARIES: usize = 64;

/// The relevant parts of the dynamic section.
#[derive(Debug)]
pub struct Dynamic {
    strings: u64,
    /// The file offset of the hash table of exported symbols, if there is one.
    hashes: Option<u64>,
    needed: [u64; LIBRARIES],
    needed_count: usize,
    /// The string of its library search path.
    folders: Option<u64>,
    /// Whether the program has functions that run before those of its libraries.
    pub has_early_functions: bool,
}

const LOAD: u64 = 1;
const DYNAMIC: u64 = 2;
const INTERPRETER: u64 = 3;

impl<'a> Elf<'a> {
    /// `None`: the file is cut. `Some(None)`: it is for another machine.
    pub fn new(file: &'a File, head: &'a [u8]) -> Option<Option<Self>> {
        const CLASS_64: u64 = 2;
        #[cfg(target_arch = "x86_64")]
        const MACHINE: u64 = 62;
        #[cfg(target_arch = "aarch64")]
        const MACHINE: u64 = 183;
        const MOST: u64 = 64;
        if number::<1>(head, 4)? != CLASS_64 || number::<2>(head, 18)? != MACHINE {
            return Some(None);
        }
        let segments = (
            number::<8>(head, 32)?,
            number::<2>(head, 54)?,
            number::<2>(head, 56)?.min(MOST),
        );
        Some(Some(Self {
            file,
            head,
            segments,
        }))
    }

    /// The path of its loader. `Some(None)`: it has none.
    pub fn loader<'r>(&self, room: &'r mut [u8; 256]) -> Option<Option<&'r [u8]>> {
        let Some(segment) = self.segment(|kind, _| kind == INTERPRETER)? else {
            return Some(None);
        };
        let path = room.get_mut(..usize::try_from(segment.size).ok()?)?;
        self.get(segment.offset, path)?;
        Some(Some(CStr::from_bytes_until_nul(path).ok()?.to_bytes()))
    }

    /// The first segment of this kind. `None`: the file is cut.
    fn segment(&self, mut is_it: impl FnMut(u64, &Segment) -> bool) -> Option<Option<Segment>> {
        let (table, size, count) = self.segments;
        for index in 0..count {
            let mut entry = [0; 56];
            self.get(table.checked_add(index * size)?, &mut entry)?;
            let segment = Segment {
                flags: number::<4>(&entry, 4)?,
                offset: number::<8>(&entry, 8)?,
                address: number::<8>(&entry, 16)?,
                size: number::<8>(&entry, 32)?,
            };
            if is_it(number::<4>(&entry, 0)?, &segment) {
                return Some(Some(segment));
            }
        }
        Some(None)
    }

    /// The file offset of an address of the program.
    fn offset_of(&self, address: u64) -> Option<u64> {
        let holds = |it: &Segment| address.wrapping_sub(it.address) < it.size;
        let segment = self.segment(|kind, it| kind == LOAD && holds(it))??;
        segment.offset.checked_add(address - segment.address)
    }

    /// The dynamic section. `None`: there is none, or it is malformed.
    pub fn dynamic(&self) -> Option<Dynamic> {
        const ENTRY: usize = 16;
        const AT_ONCE: usize = 32 * ENTRY;
        const MOST: u64 = 16 << 10;
        const NEEDED: u64 = 1;
        const STRINGS: u64 = 5;
        const RPATH: u64 = 15;
        const RUNPATH: u64 = 29;
        const EARLY_FUNCTIONS: u64 = 32;
        const GNU_HASH: u64 = 0x6fff_fef5;
        let section = self.segment(|kind, _| kind == DYNAMIC)??;
        let mut dynamic = Dynamic {
            strings: 0,
            hashes: None,
            needed: [0; LIBRARIES],
            needed_count: 0,
            folders: None,
            has_early_functions: false,
        };
        let (mut strings, mut hashes) = (None, None);
        let mut room = [0; AT_ONCE];
        'all: for start in (0..section.size.min(MOST)).step_by(AT_ONCE) {
            let count = self.file.read_at(section.offset + start, &mut room);
            for entry in room.get(..count)?.chunks_exact(ENTRY) {
                let (tag, value) = (number::<8>(entry, 0)?, number::<8>(entry, 8)?);
                match tag {
                    0 => break 'all,
                    NEEDED => {
                        if let Some(place) = dynamic.needed.get_mut(dynamic.needed_count) {
                            *place = value;
                            dynamic.needed_count += 1;
                        }
                    }
                    STRINGS => strings = Some(value),
                    GNU_HASH => hashes = Some(value),
                    RPATH | RUNPATH => dynamic.folders = Some(value),
                    EARLY_FUNCTIONS => dynamic.has_early_functions = true,
                    _ => {}
                }
            }
        }
        dynamic.strings = self.offset_of(strings?)?;
        dynamic.hashes = hashes.and_then(|address| self.offset_of(address));
        Some(dynamic)
    }

    /// A string of the dynamic section. `None`: it is longer than the room.
    fn string<'r>(&self, dynamic: &Dynamic, at: u64, room: &'r mut [u8]) -> Option<&'r [u8]> {
        let count = self.file.read_at(dynamic.strings.checked_add(at)?, room);
        let bytes = room.get(..count)?;
        Some(CStr::from_bytes_until_nul(bytes).ok()?.to_bytes())
    }

    /// The first library of the program's that `wanted` takes.
    pub fn find_library<T>(
        &self,
        dynamic: &Dynamic,
        wanted: impl Fn(&[u8]) -> Option<T>,
    ) -> Option<T> {
        let needed = dynamic.needed.get(..dynamic.needed_count)?;
        needed.iter().find_map(|&at| {
            let mut room = [0; 64];
            wanted(self.string(dynamic, at, &mut room)?)
        })
    }

    /// Its library search path, if it has one and the room is enough.
    pub fn folders<'r>(&self, dynamic: &Dynamic, room: &'r mut [u8]) -> Option<&'r [u8]> {
        self.string(dynamic, dynamic.folders?, room)
    }

    /// Whether the program exports a symbol of this name.
    ///
    /// Only the name's hash is compared: of two billion names one would match by accident.
    pub fn exports(&self, dynamic: &Dynamic, name: &[u8]) -> bool {
        self.is_in_table(dynamic, hash(name)).unwrap_or(false)
    }

    fn is_in_table(&self, dynamic: &Dynamic, hash: u32) -> Option<bool> {
        /// No working table has a longer bucket.
        const MOST: u64 = 256;
        let table = dynamic.hashes?;
        let mut head = [0; 16];
        self.get(table, &mut head)?;
        let (buckets, first, words, shift) = (
            number::<4>(&head, 0)?,
            number::<4>(&head, 4)?,
            number::<4>(&head, 8)?,
            number::<4>(&head, 12)?,
        );
        if buckets == 0 || words == 0 || shift >= 32 {
            return None;
        }
        let filter = table + 16;
        let mut word = [0; 8];
        self.get(filter + u64::from(hash) / 64 % words * 8, &mut word)?;
        let word = u64::from_le_bytes(word);
        if word >> (hash % 64) & word >> ((hash >> shift) % 64) & 1 == 0 {
            return Some(false);
        }
        let four = |at: u64| {
            let mut word = [0; 4];
            self.get(at, &mut word)?;
            Some(u32::from_le_bytes(word))
        };
        let bucket = filter + words * 8;
        let chain = bucket + buckets * 4;
        let start = u64::from(four(bucket + u64::from(hash) % buckets * 4)?);
        if start < first {
            return Some(false);
        }
        for index in start - first..start - first + MOST {
            let found = four(chain + index * 4)?;
            if found | 1 == hash | 1 {
                return Some(true);
            }
            if found & 1 != 0 {
                break;
            }
        }
        Some(false)
    }

    /// The first of these names that is a symbol of the program, exported or not. All symbol names
    /// are read for that.
    pub fn find_symbol<'n>(&self, names: &[&'n [u8]]) -> Option<&'n [u8]> {
        const SYMBOLS: u64 = 2;
        const ENTRY: usize = 64;
        let (table, size, count) = (
            number::<8>(self.head, 40)?,
            number::<2>(self.head, 58)?,
            number::<2>(self.head, 60)?,
        );
        let section = |index: u64| {
            let mut entry = [0; ENTRY];
            self.get(table.checked_add(index * size)?, &mut entry)?;
            Some(entry)
        };
        let symbols = (0..count)
            .filter_map(section)
            .find(|entry| number::<4>(entry, 4) == Some(SYMBOLS))?;
        let strings = section(number::<4>(&symbols, 40)?)?;
        let (start, length) = (number::<8>(&strings, 24)?, number::<8>(&strings, 32)?);
        self.find_text((start, length), names)
    }

    /// The first of these texts that is among the program's constants, as a string of its own. All
    /// constants are read for that.
    pub fn find_constant<'n>(&self, texts: &[&'n [u8]]) -> Option<&'n [u8]> {
        const MOST: u64 = 256 << 20;
        const WRITABLE: u64 = 2;
        let mut found = None;
        self.segment(|kind, it| {
            if kind == LOAD && it.flags & WRITABLE == 0 {
                found = self.find_text((it.offset, it.size.min(MOST)), texts);
            }
            found.is_some()
        })?;
        found
    }

    /// The first of these texts in a part of the file, between two zero bytes.
    fn find_text<'n>(&self, (start, length): (u64, u64), texts: &[&'n [u8]]) -> Option<&'n [u8]> {
        const AT_ONCE: usize = 2048;
        const LONGEST: usize = 32;
        let mut room = [0; AT_ONCE];
        // Pieces overlap, so that a text is whole in one of them.
        for at in (0..length).step_by(AT_ONCE - LONGEST) {
            let most = usize::try_from(length - at).ok()?.min(AT_ONCE);
            let count = self
                .file
                .read_at(start.checked_add(at)?, room.get_mut(..most)?);
            let piece = room.get(..count)?;
            for text in piece.split(|&byte| byte == 0) {
                if let Some(found) = texts.iter().find(|&&it| it == text) {
                    return Some(found);
                }
            }
            if count < AT_ONCE {
                break;
            }
        }
        None
    }

    /// Fills the room from the head of the file, or from the file itself.
    fn get(&self, at: u64, room: &mut [u8]) -> Option<()> {
        let start = usize::try_from(at).ok()?;
        match self.head.get(start..start.checked_add(room.len())?) {
            Some(bytes) => room.copy_from_slice(bytes),
            None if self.file.read_at(at, room) == room.len() => {}
            None => return None,
        }
        Some(())
    }
}

/// The hash function of the GNU hash table.
fn hash(name: &[u8]) -> u32 {
    let step = |hash: u32, &byte: &u8| hash.wrapping_mul(33).wrapping_add(u32::from(byte));
    name.iter().fold(5381, step)
}

fn number<const N: usize>(bytes: &[u8], at: usize) -> Option<u64> {
    let mut word = [0; 8];
    word.get_mut(..N)?
        .copy_from_slice(bytes.get(at..at.checked_add(N)?)?);
    Some(u64::from_le_bytes(word))
}
