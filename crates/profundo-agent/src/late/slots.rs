//! The slots of a program that ran before the agent came: the words through which its files call
//! functions of other files. Ours take the place of the functions that they interpose, and later
//! the words are as they were.
//!
//! Only a slot that leads to the very function that ours would call is taken. One that leads
//! somewhere else is another tool's, or of a library with an allocator of its own, and stays. A
//! slot that is not filled in yet leads into its own file; it would be filled in with that
//! function.
//!
//! Threads of the program may call through a slot at any moment. Each is one aligned word, which is
//! exchanged at once.

use core::ffi::CStr;
use core::ptr::{self, NonNull};
use core::sync::atomic::{AtomicBool, AtomicPtr, AtomicU32, AtomicU64, AtomicUsize, Ordering};

use profundo_probe::shared::MEMORY_SYMBOLS;
use profundo_probe::sys;

use crate::interpose::memory::{self, copies};
use crate::lock::Lock;
use crate::symbols::{self, Found, Object, Scope, SlotKind};
use crate::{files, next_symbols};

/// The most functions that we interpose.
const FUNCTIONS: usize = 256;

/// The name of one of our functions, its address, and that of the function that it interposes.
#[derive(Clone, Copy)]
struct Function {
    name: &'static CStr,
    ours: usize,
    next: usize,
    /// True if it is the allocator's, or copies.
    is_of_memory: bool,
}

/// Our functions.
struct Functions {
    all: [Function; FUNCTIONS],
    count: usize,
    /// A bit for each beginning of a name: most slots are of other names.
    beginnings: [u64; BEGINNINGS / 64],
}

/// The number of different beginnings.
const BEGINNINGS: usize = 1 << 12;

/// A number for the first letters of a name.
fn beginning(name: &CStr) -> usize {
    const LETTERS: usize = 6;
    let letters = name.to_bytes().iter().take(LETTERS);
    let mixed = letters.fold(0_u32, |mixed, &letter| {
        mixed.wrapping_mul(31).wrapping_add(letter.into())
    });
    mixed as usize % BEGINNINGS
}

impl Functions {
    /// Those that this library exports, and that another one exports as well. `memory`: also those
    /// for allocations.
    fn find(memory: bool) -> Option<Self> {
        const NONE: Function = Function {
            name: c"",
            ours: 0,
            next: 0,
            is_of_memory: false,
        };
        let mut functions = Self {
            all: [NONE; FUNCTIONS],
            count: 0,
            beginnings: [0; BEGINNINGS / 64],
        };
        symbols::with_own(|own| {
            own.each_export(|name, ours| {
                let text = name.to_bytes();
                let is_of_memory = MEMORY_SYMBOLS.iter().any(|known| known.as_bytes() == text);
                let place = functions.all.get_mut(functions.count);
                if let (Some(place), true) = (place, memory || !is_of_memory) {
                    *place = Function {
                        name,
                        ours,
                        next: 0,
                        is_of_memory,
                    };
                    functions.count += 1;
                }
            });
        })?;
        let found = functions.all.get_mut(..functions.count)?;
        symbols::each(Scope::Interposed, |object| {
            for function in found.iter_mut().filter(|function| function.next == 0) {
                match object.find(function.name) {
                    Some(Found::There(symbol)) => function.next = symbol.address,
                    Some(Found::Chosen) => {
                        function.next = copies::real_of(function.name).unwrap_or(0);
                    }
                    None => {}
                }
            }
            false
        });
        for function in found.iter().filter(|function| function.next != 0) {
            let at = beginning(function.name);
            if let Some(word) = functions.beginnings.get_mut(at / 64) {
                *word |= 1 << (at % 64);
            }
        }
        Some(functions)
    }

    fn of(&self, name: &CStr) -> Option<Function> {
        let at = beginning(name);
        if self.beginnings.get(at / 64)? >> (at % 64) & 1 == 0 {
            return None;
        }
        let all = self.all.get(..self.count)?;
        let found = all.iter().find(|function| function.name == name);
        found.copied().filter(|function| function.next != 0)
    }
}

/// A word that was changed.
#[derive(Clone, Copy)]
#[repr(C)]
struct Changed {
    address: usize,
    before: usize,
}

/// The changed words, in memory of ours that grows with them.
static CHANGED: AtomicPtr<Changed> = AtomicPtr::new(ptr::null_mut());
static COUNT: AtomicUsize = AtomicUsize::new(0);
/// The number of slots for allocations that lead elsewhere, and were left.
static ELSEWHERE: AtomicU32 = AtomicU32::new(0);
/// True while slots lead to our functions.
static ARE_OURS: AtomicBool = AtomicBool::new(false);
/// True if they lead to those for allocations, too.
static MEMORY: AtomicBool = AtomicBool::new(false);
/// The number of files that were loaded when slots were last taken.
static LOADS: AtomicU64 = AtomicU64::new(0);

/// The most words that are changed. The memory is not backed until it is used.
const MOST: usize = 1 << 16;

static CHANGING: Lock = Lock::new();

/// Puts our functions into the slots of all loaded files. `memory`: also those for allocations.
pub fn take(memory: bool) {
    MEMORY.store(memory, Ordering::Relaxed);
    ELSEWHERE.store(0, Ordering::Relaxed);
    ARE_OURS.store(true, Ordering::Relaxed);
    take_again();
}

/// True while slots lead to our functions.
pub fn are_ours() -> bool {
    ARE_OURS.load(Ordering::Relaxed)
}

/// The number of slots for allocations that lead elsewhere.
pub fn elsewhere() -> u32 {
    ELSEWHERE.load(Ordering::Relaxed)
}

/// Takes the slots of files that were loaded, if any were.
pub fn take_if_new() {
    if are_ours() && LOADS.load(Ordering::Relaxed) != symbols::loads() {
        take_again();
    }
}

/// Takes the slots of all loaded files that do not lead to ours yet.
pub fn take_again() {
    let errno = next_symbols::errno();
    CHANGING.with(|| {
        if !are_ours() {
            return;
        }
        LOADS.store(symbols::loads(), Ordering::Relaxed);
        // Where ours go on to must be known before they are called.
        next_symbols::resolve();
        let memory = MEMORY.load(Ordering::Relaxed);
        if memory {
            memory::look_up();
        }
        let Some(functions) = Functions::find(memory) else {
            return;
        };
        if CHANGED.load(Ordering::Relaxed).is_null() {
            let Some(memory) = files::map_zeroed(MOST * size_of::<Changed>()) else {
                return;
            };
            CHANGED.store(memory.as_ptr().cast(), Ordering::Release);
        }
        ELSEWHERE.store(0, Ordering::Relaxed);
        symbols::each(Scope::All, |object| {
            if !is_loader(object) {
                take_in(object, &functions);
            }
            false
        });
    });
    next_symbols::set_errno(errno);
}

/// Puts back what was in the slots, where our functions are still in them. Files that were unloaded
/// meanwhile are left alone.
pub fn give_back() {
    CHANGING.with(|| {
        ARE_OURS.store(false, Ordering::Relaxed);
        let changed = changed();
        let Some(functions) = Functions::find(true).filter(|_| !changed.is_empty()) else {
            return;
        };
        symbols::each(Scope::All, |object| {
            let mut page = Opened::default();
            object.each_slot(|slot| {
                let Some(function) = functions.of(slot.name) else {
                    return;
                };
                let word = word(slot.address);
                if word.load(Ordering::Relaxed) != function.ours {
                    return;
                }
                let before = changed.iter().rev().find(|one| one.address == slot.address);
                let before = before.map_or(function.next, |one| one.before);
                if page.open(object, slot.address) {
                    // Another tool may have put its own there at this instant.
                    let order = (Ordering::AcqRel, Ordering::Relaxed);
                    let _ = word.compare_exchange(function.ours, before, order.0, order.1);
                }
            });
            page.close();
            false
        });
        let memory = CHANGED.swap(ptr::null_mut(), Ordering::AcqRel);
        COUNT.store(0, Ordering::Relaxed);
        if let Some(memory) = NonNull::new(memory) {
            // SAFETY: the memory came from `map_zeroed`, and the lock is held.
            unsafe { files::unmap(memory.cast(), MOST * size_of::<Changed>()) };
        }
    });
}

/// The changed words. The lock is held.
fn changed() -> &'static [Changed] {
    let memory = CHANGED.load(Ordering::Acquire);
    if memory.is_null() {
        return &[];
    }
    // SAFETY: so many were written, and the memory stays while the lock is held.
    unsafe { core::slice::from_raw_parts(memory, COUNT.load(Ordering::Relaxed).min(MOST)) }
}

/// Notes a word that is about to be changed. `false`: there is no room.
fn note(address: usize, before: usize) -> bool {
    let memory = CHANGED.load(Ordering::Acquire);
    let count = COUNT.load(Ordering::Relaxed);
    if memory.is_null() || count >= MOST {
        return false;
    }
    // SAFETY: below the end of the memory, and the lock is held.
    unsafe { memory.add(count).write(Changed { address, before }) };
    COUNT.store(count + 1, Ordering::Relaxed);
    true
}

/// The loader calls its own functions while it changes other files.
fn is_loader(object: &Object) -> bool {
    object.find(c"_dl_rtld_di_serinfo").is_some() || object.find(c"_rtld_global").is_some()
}

fn take_in(object: &Object, functions: &Functions) {
    let is_our_file = object.contains(take_in as *const () as usize);
    let mut page = Opened::default();
    object.each_slot(|slot| {
        let Some(function) = functions.of(slot.name) else {
            return;
        };
        // What we allocate and copy ourselves does not count.
        if is_our_file && function.is_of_memory {
            return;
        }
        let word = word(slot.address);
        let before = word.load(Ordering::Relaxed);
        if before == function.ours {
            return;
        }
        let is_own = object.contains(before);
        let is_unfilled = slot.kind == SlotKind::Call && is_own;
        if !(before == function.next || is_unfilled && leads_there(object, &function)) {
            // A variable has what the program has put there. A file's own operators of C++ call
            // malloc, by another slot.
            let is_operator = is_own && function.name.to_bytes().starts_with(b"_Z");
            let is_programs = slot.kind == SlotKind::Variable || is_unfilled || is_operator;
            let is_elsewhere = !is_programs && function.is_of_memory;
            ELSEWHERE.fetch_add(is_elsewhere.into(), Ordering::Relaxed);
            return;
        }
        if note(slot.address, before) && page.open(object, slot.address) {
            let order = (Ordering::AcqRel, Ordering::Relaxed);
            let _ = word.compare_exchange(before, function.ours, order.0, order.1);
        }
    });
    page.close();
}

/// True if a slot of a file will lead to the function that ours would call, once its first call
/// fills it in. A file with a function of that name of its own may mean that.
fn leads_there(object: &Object, function: &Function) -> bool {
    match object.find(function.name) {
        None => true,
        Some(Found::There(own)) => own.address == function.next,
        Some(Found::Chosen) => false,
    }
}

fn word(address: usize) -> &'static AtomicUsize {
    // SAFETY: an aligned word of a loaded file, which the loader has written.
    unsafe { AtomicUsize::from_ptr(address as *mut usize) }
}

/// The pages of a file that are open for writing at present, because they are read-only else.
#[derive(Default)]
struct Opened {
    pages: Option<(usize, usize)>,
    /// True if the pages were found to be open, or were opened.
    is_known: bool,
}

impl Opened {
    /// Makes a word writable. `false`: it cannot be.
    fn open(&mut self, object: &Object, address: usize) -> bool {
        let Some((start, end)) = object.read_only else {
            return true;
        };
        if !(start..end).contains(&address) || self.is_known {
            return true;
        }
        // Pages that the loader has not made read-only, or not yet, stay as they are.
        if !is_writable(address) {
            if !protect((start, end), libc::PROT_READ | libc::PROT_WRITE) {
                return false;
            }
            self.pages = Some((start, end));
        }
        self.is_known = true;
        true
    }

    fn close(&mut self) {
        if let Some(pages) = self.pages.take() {
            protect(pages, libc::PROT_READ);
        }
        self.is_known = false;
    }
}

fn protect((start, end): (usize, usize), protection: i32) -> bool {
    let length = end.saturating_sub(start);
    // SAFETY: pages of data of a loaded file; only the right to write to them changes.
    unsafe {
        sys::call(
            libc::SYS_mprotect,
            [start, length, protection as usize, 0, 0, 0],
        ) == 0
    }
}

/// True if a page may be written to. Its contents are not touched.
fn is_writable(address: usize) -> bool {
    const PAGE: usize = 4096;
    const POPULATE_WRITE: usize = 23;
    let populate = |page: usize| {
        // SAFETY: the kernel makes the page's memory ready for a write, and changes nothing.
        unsafe { sys::call(libc::SYS_madvise, [page, PAGE, POPULATE_WRITE, 0, 0, 0]) == 0 }
    };
    let known = &raw const CHANGED as usize & !(PAGE - 1);
    match populate(known) {
        true => populate(address & !(PAGE - 1)),
        // The kernel is too old to say. A finished file's pages are read-only.
        false => false,
    }
}
