//! A loaded file, as the loader sees it: its symbols with their hash tables, and the slots through
//! which it reaches those of other files.

use core::ffi::{CStr, c_char};

use super::Symbol;

/// A file's definition of a name.
pub enum Found {
    There(Symbol),
    /// A function that is chosen at run time (an ifunc).
    Chosen,
}

/// A loaded file's tables.
pub struct Object {
    /// The address that is added to the addresses in the file.
    pub base: usize,
    /// The end of what is loaded, as an address in the file.
    end: usize,
    /// Its code.
    code: (usize, usize),
    symbols: *const libc::Elf64_Sym,
    strings: *const c_char,
    versions: *const u16,
    gnu_hash: *const u32,
    hash: *const u32,
    /// The relocations of data, and those of calls.
    relocations: [Relocations; 2],
    /// The pages that the loader makes read-only once they are relocated.
    pub read_only: Option<(usize, usize)>,
    /// True if it says where the files are that it loads: by `RUNPATH`, or by `RPATH`, which holds
    /// for those that it has brought along, too.
    pub has_run_path: bool,
    /// See [`Object::has_run_path`].
    pub has_inherited_path: bool,
}

/// A table of relocations.
#[derive(Clone, Copy)]
struct Relocations {
    first: *const libc::Elf64_Rela,
    bytes: usize,
}

impl Relocations {
    const NONE: Self = Self {
        first: core::ptr::null(),
        bytes: 0,
    };
}

/// A word of a loaded file that holds the address of a function of another file.
pub struct Slot<'a> {
    /// The address of the word.
    pub address: usize,
    /// The name of the function.
    pub name: &'a CStr,
    /// What the file uses it for.
    pub kind: SlotKind,
    /// True if there need not be such a function.
    pub is_weak: bool,
}

/// What a file uses the word for by which it knows a function of another file.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum SlotKind {
    /// A variable of the program that begins with the function's address.
    Variable,
    /// A word of the global offset table.
    Global,
    /// One that calls go through, with the number of its relocation. The loader may fill it in at
    /// the first call.
    Call(usize),
}

#[cfg_attr(target_arch = "aarch64", path = "object/aarch64.rs")]
#[cfg_attr(target_arch = "x86_64", path = "object/x86_64.rs")]
mod machine;

const DT_NULL: i64 = 0;
const DT_PLTRELSZ: i64 = 2;
const DT_HASH: i64 = 4;
const DT_STRTAB: i64 = 5;
const DT_SYMTAB: i64 = 6;
const DT_RELA: i64 = 7;
const DT_RELASZ: i64 = 8;
const DT_RPATH: i64 = 15;
const DT_PLTREL: i64 = 20;
const DT_JMPREL: i64 = 23;
const DT_RUNPATH: i64 = 29;
const DT_GNU_HASH: i64 = 0x6FFF_FEF5;
const DT_VERSYM: i64 = 0x6FFF_FFF0;

/// Far more than any library has: a damaged chain ends here.
const MOST: usize = 1 << 20;

/// # Safety
/// The headers are those of a file that is loaded at `base`.
pub unsafe fn object(base: usize, headers: &[libc::Elf64_Phdr]) -> Option<Object> {
    let dynamic = headers
        .iter()
        .find(|header| header.p_type == libc::PT_DYNAMIC)?;
    let end = headers
        .iter()
        .filter(|header| header.p_type == libc::PT_LOAD)
        .map(|header| header.p_vaddr.wrapping_add(header.p_memsz) as usize)
        .max()?;
    let is_code = |header: &&libc::Elf64_Phdr| {
        header.p_type == libc::PT_LOAD && header.p_flags & libc::PF_X != 0
    };
    let code = headers.iter().find(is_code).map_or((0, 0), |header| {
        let start = base.wrapping_add(header.p_vaddr as usize);
        (start, start.wrapping_add(header.p_memsz as usize))
    });
    let mut found = Object {
        base,
        end,
        code,
        symbols: core::ptr::null(),
        strings: core::ptr::null(),
        versions: core::ptr::null(),
        gnu_hash: core::ptr::null(),
        hash: core::ptr::null(),
        relocations: [Relocations::NONE; 2],
        read_only: headers
            .iter()
            .find(|header| header.p_type == libc::PT_GNU_RELRO)
            .map(|header| pages(base, header)),
        has_run_path: false,
        has_inherited_path: false,
    };
    let [mut of_data, mut of_calls] = found.relocations;
    let mut has_addends = true;
    let entries = base.wrapping_add(dynamic.p_vaddr as usize) as *const [i64; 2];
    for index in 0..dynamic.p_memsz as usize / 16 {
        // SAFETY: the dynamic section is in memory, and as long as its header says.
        let [tag, value] = unsafe { entries.add(index).read() };
        // The loader has made addresses of the offsets; where it has not (the vDSO) we do.
        let value = value as usize;
        let address = if value < end {
            base.wrapping_add(value)
        } else {
            value
        };
        match tag {
            DT_NULL => break,
            DT_SYMTAB => found.symbols = address as *const _,
            DT_STRTAB => found.strings = address as *const _,
            DT_VERSYM => found.versions = address as *const _,
            DT_GNU_HASH => found.gnu_hash = address as *const _,
            DT_HASH => found.hash = address as *const _,
            DT_RELA => of_data.first = address as *const _,
            DT_RELASZ => of_data.bytes = value,
            DT_JMPREL => of_calls.first = address as *const _,
            DT_PLTRELSZ => of_calls.bytes = value,
            DT_RUNPATH => found.has_run_path = true,
            DT_RPATH => found.has_inherited_path = true,
            DT_PLTREL => has_addends = value as i64 == DT_RELA,
            _ => {}
        }
    }
    if !has_addends {
        of_calls = Relocations::NONE;
    }
    found.relocations = [of_data, of_calls];
    let has_hash = !found.gnu_hash.is_null() || !found.hash.is_null();
    let is_complete = !found.symbols.is_null() && !found.strings.is_null() && has_hash;
    is_complete.then_some(found)
}

/// The whole pages of a segment that is made read-only: the loader leaves out the last one where it
/// is not full.
fn pages(base: usize, segment: &libc::Elf64_Phdr) -> (usize, usize) {
    // SAFETY: reads a number that the kernel has given to the C library.
    let page = unsafe { libc::sysconf(libc::_SC_PAGESIZE) }.max(4096) as usize;
    let start = base.wrapping_add(segment.p_vaddr as usize);
    let end = start.wrapping_add(segment.p_memsz as usize);
    (start & !(page - 1), end & !(page - 1))
}

impl Object {
    /// True if an address lies in this file.
    pub fn contains(&self, address: usize) -> bool {
        address.wrapping_sub(self.base) < self.end
    }

    /// Where it is loaded.
    pub fn range(&self) -> (usize, usize) {
        (self.base, self.base.wrapping_add(self.end))
    }

    /// True for the value of a word that the loader has not filled in yet: an address in the file,
    /// or nothing.
    pub fn is_not_relocated(&self, value: usize) -> bool {
        self.base != 0 && value < self.end
    }

    /// True for the value of a slot that the loader will fill in at its first call: it leads to
    /// instructions of this file that pass the slot's number to the loader. A function of the
    /// file's own may be there in place of it.
    pub fn is_unfilled(&self, slot: &Slot<'_>, value: usize) -> bool {
        let (start, end) = self.code;
        let SlotKind::Call(number) = slot.kind else {
            return false;
        };
        if !(start..end.saturating_sub(machine::LONGEST)).contains(&value) {
            return false;
        }
        // SAFETY: in the code of a loaded file, which is mapped and can be read.
        let code = unsafe { (value as *const [u8; machine::LONGEST]).read_unaligned() };
        machine::asks_loader(&code, number)
    }

    /// Visits the slots by which this file reaches functions of others, or of itself.
    pub fn each_slot(&self, mut visit: impl FnMut(Slot<'_>)) {
        const WEAK: u8 = 2;
        for table in self.relocations {
            if table.first.is_null() {
                continue;
            }
            for index in 0..table.bytes / size_of::<libc::Elf64_Rela>() {
                // SAFETY: the table is in memory, and as long as the dynamic section says.
                let entry = unsafe { &*table.first.add(index) };
                let kind = match entry.r_info as u32 {
                    machine::GLOBAL => SlotKind::Global,
                    machine::CALL => SlotKind::Call(index),
                    machine::ADDRESS if entry.r_addend == 0 => SlotKind::Variable,
                    _ => continue,
                };
                let symbol = (entry.r_info >> 32) as usize;
                let address = self.base.wrapping_add(entry.r_offset as usize);
                if symbol == 0 || !address.is_multiple_of(align_of::<usize>()) {
                    continue;
                }
                // SAFETY: the loader has used the same symbol and its name.
                let (name, binding) = unsafe {
                    let symbol = &*self.symbols.add(symbol);
                    let name = CStr::from_ptr(self.strings.add(symbol.st_name as usize));
                    (name, symbol.st_info >> 4)
                };
                visit(Slot {
                    address,
                    name,
                    kind,
                    is_weak: binding == WEAK,
                });
            }
        }
    }

    /// Visits the functions that this file exports, with their names. Their number is that of the
    /// hash table's chains.
    pub fn each_export(&self, mut visit: impl FnMut(&'static CStr, usize)) {
        const FUNCTION: u8 = 2;
        if self.gnu_hash.is_null() {
            return;
        }
        // SAFETY: the layout of the section, by its own counts; see `find_by_gnu_hash`.
        unsafe {
            let [buckets, first, filter_words, _] = self.gnu_hash.cast::<[u32; 4]>().read();
            let filter = self.gnu_hash.add(4).cast::<u64>();
            let bucket = filter.add(filter_words as usize).cast::<u32>();
            let chain = bucket.add(buckets as usize);
            for number in 0..buckets as usize {
                let start = bucket.add(number).read();
                let Some(start) = start.checked_sub(first) else {
                    continue;
                };
                for index in start as usize..start as usize + MOST {
                    let symbol = &*self.symbols.add(index + first as usize);
                    if symbol.st_shndx != 0 && symbol.st_info & 15 == FUNCTION {
                        let name = CStr::from_ptr(self.strings.add(symbol.st_name as usize));
                        visit(name, self.base.wrapping_add(symbol.st_value as usize));
                    }
                    if chain.add(index).read() & 1 != 0 {
                        break;
                    }
                }
            }
        }
    }

    /// Finds a symbol. An ifunc is not resolved.
    pub fn find(&self, name: &CStr) -> Option<Found> {
        // SAFETY: the tables are those of a file that is loaded, whole and unchanged.
        unsafe {
            if self.gnu_hash.is_null() {
                self.find_by_old_hash(name)
            } else {
                self.find_by_gnu_hash(name)
            }
        }
    }

    /// # Safety
    /// The tables are a loaded file's.
    unsafe fn find_by_gnu_hash(&self, name: &CStr) -> Option<Found> {
        let hash = gnu_hash(name);
        // SAFETY: the layout of the section, by its own counts.
        unsafe {
            let [buckets, first, filter_words, shift] = self.gnu_hash.cast::<[u32; 4]>().read();
            let filter = self.gnu_hash.add(4).cast::<u64>();
            let bucket = filter.add(filter_words as usize).cast::<u32>();
            let chain = bucket.add(buckets as usize);
            let word = filter
                .add((hash / 64).checked_rem(filter_words)? as usize)
                .read();
            let bits = (1_u64 << (hash % 64)) | (1 << (hash.checked_shr(shift)? % 64));
            if word & bits != bits {
                return None;
            }
            let start = bucket.add(hash.checked_rem(buckets)? as usize).read();
            let start = start.checked_sub(first)? as usize;
            for index in start..start + MOST {
                let found = chain.add(index).read();
                if found | 1 == hash | 1
                    && let Some(symbol) = self.matching(index + first as usize, name)
                {
                    return Some(symbol);
                }
                if found & 1 != 0 {
                    return None;
                }
            }
        }
        None
    }

    /// # Safety
    /// The tables are a loaded file's.
    unsafe fn find_by_old_hash(&self, name: &CStr) -> Option<Found> {
        // SAFETY: the layout of the section, by its own counts.
        unsafe {
            let [buckets, _] = self.hash.cast::<[u32; 2]>().read();
            let bucket = self.hash.add(2);
            let chain = bucket.add(buckets as usize);
            let mut index = bucket
                .add(old_hash(name).checked_rem(buckets)? as usize)
                .read();
            for _ in 0..MOST {
                if index == 0 {
                    return None;
                }
                if let Some(symbol) = self.matching(index as usize, name) {
                    return Some(symbol);
                }
                index = chain.add(index as usize).read();
            }
        }
        None
    }

    /// The symbol at an index, if it is this one, defined, and of the version that is linked to by
    /// default.
    ///
    /// # Safety
    /// The tables are a loaded file's, and so is the index.
    unsafe fn matching(&self, index: usize, name: &CStr) -> Option<Found> {
        const HIDDEN: u16 = 0x8000;
        const INDIRECT: u8 = 10;
        // SAFETY: the caller vouches.
        unsafe {
            let symbol = &*self.symbols.add(index);
            let is_hidden =
                !self.versions.is_null() && self.versions.add(index).read() & HIDDEN != 0;
            let is_defined = symbol.st_shndx != 0 && symbol.st_value != 0;
            if is_hidden || !is_defined {
                return None;
            }
            let found = CStr::from_ptr(self.strings.add(symbol.st_name as usize));
            let address = self.base.wrapping_add(symbol.st_value as usize);
            let size = symbol.st_size as usize;
            (found == name).then_some(match symbol.st_info & 15 {
                INDIRECT => Found::Chosen,
                _ => Found::There(Symbol { address, size }),
            })
        }
    }
}

fn gnu_hash(name: &CStr) -> u32 {
    name.to_bytes().iter().fold(5381, |hash: u32, &byte| {
        hash.wrapping_mul(33).wrapping_add(byte.into())
    })
}

fn old_hash(name: &CStr) -> u32 {
    name.to_bytes().iter().fold(0_u32, |hash, &byte| {
        let hash = (hash << 4).wrapping_add(byte.into());
        let high = hash & 0xF000_0000;
        (hash ^ (high >> 24)) & !high
    })
}
