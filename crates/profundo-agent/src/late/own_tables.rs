//! The loaded files as handlers need them, where no command lists them: this process compiles their
//! unwind tables by itself.
//!
//! It happens when a session begins and when a file is loaded, in a thread of the program and never
//! in a handler. Tables stay for ever, because a handler may walk by one at any moment; the next
//! session finds them here.

use core::ffi::{CStr, c_int, c_void};
use core::ptr;
use core::slice;
use core::sync::atomic::Ordering;

use profundo_probe::shared::{ForeignModule, LISTED, Ring};
use profundo_unwind::{Table, compile_eh_frame, parse_eh_frame_hdr};

use super::exclusive::Exclusive;
use crate::symbols::{self, gate};
use crate::{arena, files};

/// The most ranges of code.
const MOST: usize = 1024;

/// The address of an empty slice.
const NOWHERE: u64 = 8;

/// The longest wait for another thread that compiles, in nanoseconds.
const PATIENCE: u64 = 1_000_000_000;

/// The ranges of code that were met.
struct List {
    known: [Known; MOST],
    count: usize,
    /// The number of files that were ever loaded when this was last looked at; 0: never.
    loads: u64,
    /// The number of the list, for walk caches.
    generation: u64,
}

/// A range of code. One that is not there any more stays, because its table does.
#[derive(Clone, Copy)]
struct Known {
    module: ForeignModule,
    eh_frame: u64,
    /// A number for the file's name.
    name: u64,
    is_there: bool,
}

/// All zero, so that the list takes no room in this library's file.
const NOTHING: ForeignModule = ForeignModule {
    start: 0,
    end: 0,
    base: 0,
    rows: (0, 0),
    index: (0, 0),
};

static LIST: Exclusive<List> = Exclusive::new(List {
    known: [Known {
        module: NOTHING,
        eh_frame: 0,
        name: 0,
        is_there: false,
    }; MOST],
    count: 0,
    loads: 0,
    generation: 0,
});

/// Lists all files for the handlers of a session that begins.
pub fn publish(ring: &Ring) {
    LIST.with(PATIENCE, |list| {
        list.look();
        list.publish(ring);
    });
}

/// Lists files that were loaded since the last look.
pub fn publish_new(ring: &Ring) {
    LIST.with(PATIENCE, |list| {
        if symbols::loads() != list.loads {
            list.look();
            list.publish(ring);
        }
    });
}

impl List {
    /// Looks at all files, and compiles the tables of new ones.
    fn look(&mut self) {
        self.loads = symbols::loads();
        for known in &mut self.known {
            known.is_there = false;
        }
        each(|file| {
            let (name, tables) = (file.name_number(), file.eh_frame());
            let eh_frame = tables.map_or(0, |bytes| bytes.as_ptr() as u64);
            file.each_code(|start, end| {
                let met = self.known.iter_mut().take(self.count);
                let is_same = |known: &&mut Known| {
                    let place = (known.module.start, known.module.end);
                    place == (start, end) && known.eh_frame == eh_frame && known.name == name
                };
                if let Some(known) = met.into_iter().find(is_same) {
                    known.is_there = true;
                    return;
                }
                let Some(place) = self.known.get_mut(self.count) else {
                    return;
                };
                let module = ForeignModule {
                    start,
                    end,
                    base: start,
                    rows: (NOWHERE, 0),
                    index: (NOWHERE, 0),
                };
                *place = Known {
                    // One without a table is walked by frame pointers.
                    module: tables
                        .and_then(|bytes| compiled(module, bytes))
                        .unwrap_or(module),
                    eh_frame,
                    name,
                    is_there: true,
                };
                self.count += 1;
            });
        });
    }

    /// Writes the list to the unused half of a ring, and makes it the current one. Where a handler
    /// stays in that half, the handlers keep the list that they have.
    fn publish(&mut self, ring: &Ring) {
        let listings = &ring.listings;
        let other = 1 - (listings.active.load(Ordering::SeqCst) & 1) as usize;
        let (Some(inside), Some(half)) = (listings.inside.get(other), listings.modules.get(other))
        else {
            return;
        };
        // SeqCst, as the handlers' counting: either this sees a handler inside, or that one sees
        // that the half is not the active one.
        let is_unused = (0..1000).any(|_| {
            core::hint::spin_loop();
            inside.load(Ordering::SeqCst) == 0
        });
        if !is_unused {
            self.loads = 0;
            return;
        }
        const { assert!(MOST <= LISTED) };
        let known = self.known.get_mut(..self.count).unwrap_or_default();
        known.sort_unstable_by_key(|known| known.module.start);
        let mut count = 0;
        for (slot, known) in half.iter().zip(known.iter().filter(|known| known.is_there)) {
            // SAFETY: no handler reads this half, and only this thread writes to it.
            unsafe { slot.get().write(known.module) };
            count += 1;
        }
        self.generation += 1;
        if let (Some(length), Some(number)) =
            (listings.count.get(other), listings.generation.get(other))
        {
            length.store(count, Ordering::Relaxed);
            number.store(self.generation, Ordering::Relaxed);
        }
        listings.active.store(other as u32, Ordering::SeqCst);
    }
}

/// The range with its table, which is compiled from `.eh_frame`. `None`: it has none, or there is
/// no room to compile it.
fn compiled(module: ForeignModule, eh_frame: &[u8]) -> Option<ForeignModule> {
    /// More bytes of work than any entry leads to, for each of its own; few of them are used, and
    /// the others never backed.
    const WORK: usize = 128;
    const MORE: usize = 4 << 20;
    let ForeignModule { start, end, .. } = module;
    let length = eh_frame_length(eh_frame);
    let room = (length.checked_mul(WORK)?).checked_add((end - start) as usize + MORE)?;
    arena::with_room(room, || {
        let address = eh_frame.as_ptr() as u64;
        let eh_frame = eh_frame.get(..length)?;
        let table = compile_eh_frame(eh_frame, address, None, start, start..end).ok()?;
        Some(with_table(module, &table))
    })?
}

/// The length of `.eh_frame` up to and including its end, by hopping over its entries.
fn eh_frame_length(bytes: &[u8]) -> usize {
    let mut at = 0;
    while let Some(&word) = bytes.get(at..).and_then(<[u8]>::first_chunk) {
        let length = u32::from_ne_bytes(word) as usize;
        let next = at + size_of::<u32>() + length;
        // A length of all ones begins a 64-bit entry, which no linker writes here.
        if length == 0 || length == u32::MAX as usize || next > bytes.len() {
            return (at + size_of::<u32>()).min(bytes.len());
        }
        at = next;
    }
    at.min(bytes.len())
}

/// The range with its table, which is copied to memory that stays.
fn with_table(module: ForeignModule, table: &Table) -> ForeignModule {
    let (rows, index) = (table.rows(), table.index());
    let bytes = size_of_val(rows) + size_of_val(index);
    let Some(place) = files::map_zeroed(bytes).filter(|_| !rows.is_empty()) else {
        return module;
    };
    let index_at = place.as_ptr().wrapping_add(size_of_val(rows));
    // SAFETY: the memory is new and as long as both.
    unsafe {
        ptr::copy_nonoverlapping(rows.as_ptr().cast(), place.as_ptr(), size_of_val(rows));
        ptr::copy_nonoverlapping(index.as_ptr().cast(), index_at, size_of_val(index));
    }
    ForeignModule {
        base: table.base(),
        rows: (place.as_ptr() as u64, rows.len() as u64),
        index: (index_at as u64, index.len() as u64),
        ..module
    }
}

/// A loaded file, while it is visited.
pub struct File<'a> {
    info: &'a libc::dl_phdr_info,
    headers: &'a [libc::Elf64_Phdr],
}

/// Visits the loaded files, the program first.
pub fn each(mut visit: impl FnMut(&File<'_>)) {
    struct Visit<'a>(&'a mut dyn FnMut(&File<'_>));
    unsafe extern "C" fn one(info: *mut libc::dl_phdr_info, _: usize, data: *mut c_void) -> c_int {
        // SAFETY: the loader's own information, and the `Visit` that was passed below.
        let (info, visit) = unsafe { (&*info, &mut *data.cast::<Visit<'_>>()) };
        if !info.dlpi_phdr.is_null() {
            // SAFETY: the loader says where the headers are and how many.
            let headers = unsafe { slice::from_raw_parts(info.dlpi_phdr, info.dlpi_phnum.into()) };
            (visit.0)(&File { info, headers });
        }
        0
    }
    let mut visit = Visit(&mut visit);
    // SAFETY: the callback is called before the call returns, with what it expects.
    unsafe { gate::visit(one, (&raw mut visit).cast()) };
}

impl<'a> File<'a> {
    /// The number to subtract from an address to get the address in the file.
    pub fn bias(&self) -> u64 {
        self.info.dlpi_addr
    }

    /// Its name; empty for the program.
    pub fn name(&self) -> &'a [u8] {
        match self.info.dlpi_name.is_null() {
            true => &[],
            // SAFETY: the loader's name is a C string.
            false => unsafe { CStr::from_ptr(self.info.dlpi_name) }.to_bytes(),
        }
    }

    fn name_number(&self) -> u64 {
        (self.name().iter()).fold(7, |mixed, &byte| mixed * 31 % (1 << 56) + u64::from(byte))
    }

    fn at(&self, header: &libc::Elf64_Phdr) -> (u64, u64) {
        let start = self.bias().wrapping_add(header.p_vaddr);
        (start, start.wrapping_add(header.p_memsz))
    }

    fn loaded(&self) -> impl Iterator<Item = &'a libc::Elf64_Phdr> {
        let headers = self.headers.iter();
        headers.filter(|header| header.p_type == libc::PT_LOAD)
    }

    /// The first address of its first segment, and the end of its last one.
    pub fn extent(&self) -> Option<(u64, u64)> {
        let start = self.loaded().map(|header| self.at(header).0).min()?;
        let end = self.loaded().map(|header| self.at(header).1).max()?;
        Some((start, end))
    }

    /// Visits its ranges of code.
    fn each_code(&self, mut visit: impl FnMut(u64, u64)) {
        for header in self.loaded().filter(|it| it.p_flags & libc::PF_X != 0) {
            let (start, end) = self.at(header);
            visit(start, end);
        }
    }

    /// `.eh_frame`, up to the end of its segment: its own end is in it.
    fn eh_frame(&self) -> Option<&'a [u8]> {
        let mut headers = self.headers.iter();
        let header = headers.find(|header| header.p_type == libc::PT_GNU_EH_FRAME)?;
        let (address, end) = self.at(header);
        // SAFETY: the header lies in a loaded, readable segment, as its program header says.
        let bytes = unsafe { bytes(address, end) };
        let eh_frame = parse_eh_frame_hdr(bytes, address).ok()?;
        let mut places = self.loaded().map(|header| self.at(header));
        let (_, end) = places.find(|&(start, end)| (start..end).contains(&eh_frame))?;
        // SAFETY: from an address in a loaded segment to its end.
        Some(unsafe { self::bytes(eh_frame, end) })
    }

    /// The GNU build id; empty if it has none.
    pub fn build_id(&self) -> &'a [u8] {
        let mut headers = self.headers.iter();
        let id = headers.find_map(|header| {
            let (start, end) = self.at(header);
            // SAFETY: notes lie in loaded, readable segments.
            (header.p_type == libc::PT_NOTE).then(|| build_id(unsafe { bytes(start, end) }))?
        });
        id.unwrap_or_default()
    }
}

/// # Safety
/// The range is loaded and readable, and is not written to.
unsafe fn bytes<'a>(start: u64, end: u64) -> &'a [u8] {
    // SAFETY: the caller vouches.
    unsafe { slice::from_raw_parts(start as *const u8, end.saturating_sub(start) as usize) }
}

/// The GNU build id among a segment's notes.
fn build_id(mut notes: &[u8]) -> Option<&[u8]> {
    const KIND: u32 = 3;
    const HEAD: usize = 12;
    loop {
        let (head, rest) = notes.split_at_checked(HEAD)?;
        let (words, _) = head.as_chunks();
        let &[name, size, kind] = words else {
            return None;
        };
        let [name, size, kind] = [name, size, kind].map(u32::from_ne_bytes);
        let (name, rest) = rest.split_at_checked((name as usize).checked_next_multiple_of(4)?)?;
        if kind == KIND && name == b"GNU\0" {
            return rest.get(..size as usize);
        }
        notes = rest.get((size as usize).checked_next_multiple_of(4)?..)?;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_list_has_the_tables_of_this_program() {
        // SAFETY: a ring is made of atomics and plain numbers, and all zero at first.
        let ring: Box<Ring> = unsafe { Box::new_zeroed().assume_init() };
        publish(&ring);
        let here = the_list_has_the_tables_of_this_program as fn() as usize as u64;
        let listed = ring.listings.generation();
        ring.listings.with(|listing| {
            listing.modules.row(here).expect("our own code");
        });
        // Nothing was loaded since then, and a new session has the same list.
        publish_new(&ring);
        assert_eq!(ring.listings.generation(), listed);
        publish(&ring);
        assert!(ring.listings.generation() > listed);
    }

    #[test]
    fn files_have_names_and_build_ids() {
        let (mut names, mut ids) = (0, 0);
        each(|file| {
            names += usize::from(file.name().ends_with(b"libc.so.6"));
            ids += usize::from(file.build_id().len() == 20);
            let (start, end) = file.extent().unwrap();
            assert!(start < end);
        });
        assert_eq!(names, 1);
        assert!(ids > 0);
    }

    #[test]
    fn damaged_notes_have_no_build_id() {
        let note = [
            4, 0, 0, 0, 2, 0, 0, 0, 3, 0, 0, 0, b'G', b'N', b'U', 0, 7, 8,
        ];
        assert_eq!(build_id(&note), Some(&[7, 8][..]));
        for end in 0..note.len() {
            assert_eq!(build_id(&note[..end]), None);
        }
        let long = [0xff; 64];
        assert_eq!(build_id(&long), None);
    }
}
