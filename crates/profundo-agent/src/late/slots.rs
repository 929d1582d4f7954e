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
use core::sync::atomic::{AtomicBool, AtomicU32, AtomicU64, Ordering};

use profundo_probe::shared::MEMORY_SYMBOLS;

use super::changed::Table;
use super::exclusive::Exclusive;
use super::pages::{self, Opened};
use crate::interpose::memory::{self, copies};
use crate::next_symbols;
use crate::symbols::{self, Found, Object, Scope, SlotKind};

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

/// The number of slots for allocations that lead elsewhere, and were left.
static ELSEWHERE: AtomicU32 = AtomicU32::new(0);
/// True while slots lead to our functions.
static ARE_OURS: AtomicBool = AtomicBool::new(false);
/// True if they lead to those for allocations, too.
static MEMORY: AtomicBool = AtomicBool::new(false);
/// The number of files that were loaded when slots were last taken.
static LOADS: AtomicU64 = AtomicU64::new(0);

/// True if a file was met that another thread was still loading.
static IS_UNFINISHED: AtomicBool = AtomicBool::new(false);

/// The words that were changed.
static CHANGED: Exclusive<Table> = Exclusive::new(Table::new());

/// The longest waits for another thread that changes slots, in nanoseconds: of a thread of the
/// program, and of one that the command can have called again.
const PATIENCE: u64 = 1_000_000_000;
const SHORT_PATIENCE: u64 = 5_000_000;

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

/// True if a file was met that another thread was still loading.
pub fn are_unfinished() -> bool {
    IS_UNFINISHED.load(Ordering::Relaxed)
}

/// Takes the slots of all loaded files that do not lead to ours yet. `false`: another thread was at
/// it for too long.
pub fn take_again() -> bool {
    if !are_ours() {
        return true;
    }
    let errno = next_symbols::errno();
    let taken = CHANGED.with(PATIENCE, take_all);
    next_symbols::set_errno(errno);
    taken.is_some()
}

fn take_all(changed: &mut Table) {
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
    if changed.is_nearly_full() {
        drop_unloaded(changed);
    }
    let mut pass = Pass {
        functions: &functions,
        changed,
        elsewhere: 0,
        is_unfinished: false,
    };
    symbols::each(Scope::All, |object| {
        // They were given back meanwhile, or are about to be as soon as we are done.
        if !are_ours() {
            return true;
        }
        if !is_loader(object) {
            pass.take_in(object);
        }
        false
    });
    ELSEWHERE.store(pass.elsewhere, Ordering::Relaxed);
    IS_UNFINISHED.store(pass.is_unfinished, Ordering::Relaxed);
}

/// Drops the words of files that are not loaded any more.
fn drop_unloaded(changed: &mut Table) {
    /// More files are seldom loaded. The words of others stay.
    const FILES: usize = 512;
    let mut ranges = [(0, 0); FILES];
    let mut count = 0;
    symbols::each(Scope::All, |object| {
        if let Some(place) = ranges.get_mut(count) {
            *place = object.range();
        }
        count += 1;
        false
    });
    let Some(ranges) = ranges.get(..count) else {
        return;
    };
    changed.keep(|address| {
        let is_in = |&(start, end): &(usize, usize)| (start..end).contains(&address);
        ranges.iter().any(is_in)
    });
}

/// Puts back what was in the slots, where our functions are still in them. Files that were unloaded
/// meanwhile are left alone. `None`: another thread is still changing them. Else it is the number
/// of slots for allocations that lead to another tool now.
pub fn give_back() -> Option<u32> {
    // From here on a pass of another thread ends after the present file.
    ARE_OURS.store(false, Ordering::Relaxed);
    CHANGED.with(SHORT_PATIENCE, |changed| {
        let mut elsewhere = 0;
        let Some(functions) = Functions::find(true).filter(|_| !changed.is_empty()) else {
            return 0;
        };
        symbols::each(Scope::All, |object| {
            let mut pages = Opened::default();
            object.each_slot(|slot| {
                let Some(function) = functions.of(slot.name) else {
                    return;
                };
                let before = changed.before(slot.address);
                if pages::load(slot.address) != function.ours {
                    elsewhere += u32::from(before.is_some() && function.is_of_memory);
                    return;
                }
                let before = before.unwrap_or(function.next);
                pages.exchange(object, slot.address, function.ours, before);
            });
            pages.close();
            false
        });
        changed.clear();
        IS_UNFINISHED.store(false, Ordering::Relaxed);
        elsewhere
    })
}

/// The loader calls its own functions while it changes other files.
fn is_loader(object: &Object) -> bool {
    object.find(c"_dl_rtld_di_serinfo").is_some() || object.find(c"_rtld_global").is_some()
}

/// One visit of all files.
struct Pass<'a> {
    functions: &'a Functions,
    changed: &'a mut Table,
    /// See [`ELSEWHERE`] and [`IS_UNFINISHED`].
    elsewhere: u32,
    is_unfinished: bool,
}

impl Pass<'_> {
    fn take_in(&mut self, object: &Object) {
        let is_our_file = object.contains(is_loader as *const () as usize);
        let mut pages = Opened::default();
        object.each_slot(|slot| {
            let Some(function) = self.functions.of(slot.name) else {
                return;
            };
            // What we allocate and copy ourselves does not count.
            if is_our_file && function.is_of_memory {
                return;
            }
            let before = pages::load(slot.address);
            if before == function.ours {
                return;
            }
            let is_unfilled = object.is_unfilled(&slot, before);
            if before == function.next || is_unfilled && leads_there(object, &function) {
                if self.changed.note(slot.address, before) {
                    pages.exchange(object, slot.address, before, function.ours);
                }
            } else if object.is_not_relocated(before) {
                // A function that need not be there, and is not, leaves nothing for ever.
                self.is_unfinished |= before != 0 || !slot.is_weak;
            } else {
                // A variable has what the program has put there. A file's own operators of C++
                // call malloc, by another slot.
                let is_operator =
                    object.contains(before) && function.name.to_bytes().starts_with(b"_Z");
                let is_programs = slot.kind == SlotKind::Variable || is_unfilled || is_operator;
                let is_elsewhere = !is_programs && function.is_of_memory;
                self.elsewhere += u32::from(is_elsewhere);
            }
        });
        pages.close();
    }
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
