//! All that the agent keeps in the program: one mapping, most of which is never touched.

use core::cell::UnsafeCell;
use core::mem::{MaybeUninit, offset_of};
use core::ptr::{self, NonNull};
use core::slice;
use core::sync::atomic::{AtomicBool, AtomicPtr, AtomicU32, AtomicU64, AtomicUsize, Ordering};

use profundo_cpython::Refusal;
use profundo_probe::buffer::{Buffer, CHUNK_WORDS, ENDLESS};
use profundo_probe::caches::{CACHES, Cache, Caches};
use profundo_probe::claims::ChunkState;
use profundo_probe::python::{CodeEntry, CodeTable, Found, Interpreter, PageCache};
use profundo_probe::recorder::Recorder;
use profundo_probe::shared::{Control, Ring};
use profundo_probe::stacks::{STACKS, Stack, Stacks};
use profundo_probe::{CodeMap, Probe, Slot, Threads};

use crate::files;
use crate::process::process_id;
use crate::thread_starts::Starts;

/// The number of living threads that there is room for.
const SLOTS: usize = 8192;

/// The number of an interpreter's code objects that there is room for. A power of two.
const CODES: usize = 1 << 16;

/// The contents of the mapping, all zero at first. All but `kept` is zero again in the child of a
/// fork, and is not in a child that borrows its parent's memory (`vfork`): that distinguishes
/// the two.
#[repr(C)]
struct Layout {
    kept: Kept,
    wiped: Wiped,
}

#[repr(C, align(4096))]
struct Kept {
    probe: UnsafeCell<MaybeUninit<Probe>>,
    buffer: UnsafeCell<MaybeUninit<Buffer>>,
    interpreter: UnsafeCell<MaybeUninit<Interpreter>>,
    found: UnsafeCell<MaybeUninit<Found>>,
    /// The number of processes that this memory has been in: the buffer's identity.
    generation: AtomicU32,
    /// The number of the ring.
    ring_number: AtomicU32,
    /// The end of the main thread's stack.
    main_stack_end: AtomicU64,
    /// 1 if this process has a ring.
    records: AtomicU32,
}

#[repr(C, align(4096))]
struct Wiped {
    /// The id of the process that has entered itself.
    mark: AtomicU32,
    starts: Starts,
    tables: Tables,
}

/// The data of a recording. It is zero again when the agent has left the process.
#[repr(C, align(4096))]
struct Tables {
    slots: [Slot; SLOTS],
    caches: [Cache; CACHES],
    pages: [PageCache; CACHES],
    codes: [CodeEntry; CODES],
    stacks: [Stack; STACKS],
}

const _: () = assert!(size_of::<Layout>() <= 10 << 20);

/// The state that the agent keeps, once it records.
#[derive(Clone, Copy)]
pub struct Home {
    layout: &'static Layout,
    ring: NonNull<u8>,
}

// SAFETY: the mapping is there for ever; its non-atomic parts are written while they have no
// readers.
unsafe impl Sync for Layout {}

static LAYOUT: AtomicPtr<Layout> = AtomicPtr::new(ptr::null_mut());
static RING: AtomicPtr<u8> = AtomicPtr::new(ptr::null_mut());

/// The place of a buffer that is larger than a ring's, once there was one, and its chunks; 0: the
/// ring's chunks are used.
static LARGE: AtomicPtr<u8> = AtomicPtr::new(ptr::null_mut());
static LARGE_CHUNKS: AtomicUsize = AtomicUsize::new(0);
/// The chunks of the largest buffer that was made there.
static LARGE_ROOM: AtomicUsize = AtomicUsize::new(0);

/// The bytes of a buffer with so many chunks: their states, and their words behind these.
fn large_bytes(chunks: usize) -> usize {
    large_words_at(chunks) + chunks * CHUNK_WORDS * 8
}

fn large_words_at(chunks: usize) -> usize {
    (chunks * size_of::<ChunkState>()).next_multiple_of(4096)
}

/// Has the next probe write to a buffer of at most so many chunks, of which each takes memory when
/// it is used. Up to [`Home::forget`]; a limit of the program may make it smaller, or the ring's.
/// 0: to the ring's.
pub fn enlarge(chunks: usize) {
    const LEAST: usize = profundo_probe::shared::CHUNKS;
    if chunks == 0 {
        LARGE_CHUNKS.store(0, Ordering::Relaxed);
        return;
    }
    let mut room = LARGE_ROOM.load(Ordering::Relaxed);
    let mut wanted = chunks;
    while room == 0 && wanted > LEAST {
        if let Some(place) = files::map_zeroed(large_bytes(wanted)) {
            LARGE.store(place.as_ptr(), Ordering::Relaxed);
            LARGE_ROOM.store(wanted, Ordering::Relaxed);
            room = wanted;
        }
        wanted /= 4;
    }
    LARGE_CHUNKS.store(room, Ordering::Relaxed);
}

/// The words and the chunks of the larger buffer, if it is wanted.
fn large() -> Option<(*mut u64, &'static [ChunkState])> {
    let count = LARGE_CHUNKS.load(Ordering::Relaxed);
    let place = LARGE.load(Ordering::Relaxed);
    if count == 0 || place.is_null() {
        return None;
    }
    // SAFETY: the mapping begins with so many states, which are zero at first and made of atomics.
    let chunks = unsafe { slice::from_raw_parts(place.cast::<ChunkState>(), count) };
    Some((place.wrapping_add(large_words_at(count)).cast(), chunks))
}

/// The owner of this memory.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Whose {
    /// This process, which has entered itself.
    Ours,
    /// A copy, in a child whose fork was not observed yet.
    Copied,
    /// The parent, which waits for this `vfork` child.
    Borrowed,
}

/// Makes the mapping, not in use yet. `None`: there is no memory, or the kernel is too old.
pub fn reserve() -> Option<NonNull<u8>> {
    let memory = files::map_zeroed(size_of::<Layout>())?;
    let offset = offset_of!(Layout, wiped);
    let wiped = NonNull::new(memory.as_ptr().wrapping_add(offset))?;
    // SAFETY: the memory is ours and unused.
    let agrees = unsafe { files::advise(wiped, size_of::<Wiped>(), libc::MADV_WIPEONFORK) };
    if !agrees {
        // SAFETY: as above.
        unsafe { files::unmap(memory, size_of::<Layout>()) };
        return None;
    }
    Some(memory)
}

/// Takes the mapping into use, with a ring.
///
/// # Safety
/// `memory` is what [`reserve`] gave; `ring` is a mapped [`Ring`], for ever.
pub unsafe fn settle(memory: NonNull<u8>, ring: NonNull<u8>) {
    RING.store(ring.as_ptr(), Ordering::Relaxed);
    // Release pairs with the acquire in `home`.
    LAYOUT.store(memory.as_ptr().cast(), Ordering::Release);
}

/// The home, if the agent records in this process or did in its parent.
pub fn home() -> Option<Home> {
    // Acquire pairs with the release in `settle`.
    let layout = LAYOUT.load(Ordering::Acquire);
    // SAFETY: settled for ever.
    let layout = unsafe { layout.as_ref() }?;
    let ring = NonNull::new(RING.load(Ordering::Relaxed))?;
    Some(Home { layout, ring })
}

/// The function by which a process enters itself, set once at the start. This file imports none of
/// the modules that do it.
static ENTER: AtomicPtr<()> = AtomicPtr::new(ptr::null_mut());

/// True if this process has deferred its entry. A child of a fork has its parent's value until it
/// enters itself.
static IS_DEFERRED: AtomicBool = AtomicBool::new(false);

/// Sets the function for processes that have not entered themselves: the child of a fork, or one
/// that has deferred its entry.
pub fn set_entry(enter: fn(Home)) {
    ENTER.store(enter as *mut (), Ordering::Release);
}

/// True if this process has deferred its entry.
#[inline]
pub fn is_deferred() -> bool {
    IS_DEFERRED.load(Ordering::Relaxed)
}

/// Sets whether this process has deferred its entry.
pub fn set_deferred(is_deferred: bool) {
    IS_DEFERRED.store(is_deferred, Ordering::Relaxed);
}

/// The home, if this process records. The child of a fork that has not entered itself does so now;
/// a child that borrows its parent's memory has none.
#[inline]
pub fn current() -> Option<Home> {
    let home = home()?;
    match home.whose() {
        Whose::Ours if !is_deferred() => {}
        Whose::Borrowed => return None,
        Whose::Ours | Whose::Copied => enter(home),
    }
    home.records().then_some(home)
}

/// As [`current`], for uses that make no sense before the child of a fork has entered itself.
#[inline]
pub fn current_if_entered() -> Option<Home> {
    match is_deferred() {
        true => None,
        false => current(),
    }
}

#[cold]
fn enter(home: Home) {
    // Acquire pairs with the release in `set_entry`.
    let enter = ENTER.load(Ordering::Acquire);
    if !enter.is_null() {
        // SAFETY: `set_entry` alone stores there, and functions of this type.
        let enter: fn(Home) = unsafe { core::mem::transmute(enter) };
        enter(home);
    }
}

impl Home {
    /// The owner of this memory.
    pub fn whose(self) -> Whose {
        match self.layout.wiped.mark.load(Ordering::Relaxed) {
            0 => Whose::Copied,
            process if process == process_id() => Whose::Ours,
            _ => Whose::Borrowed,
        }
    }

    /// True if this memory is no copy of a parent's: the process has entered itself, or it borrows
    /// its parent's memory.
    #[inline]
    pub fn is_entered(self) -> bool {
        self.layout.wiped.mark.load(Ordering::Relaxed) != 0
    }

    /// Marks the memory as this process's.
    pub fn take(self) {
        self.layout
            .wiped
            .mark
            .store(process_id(), Ordering::Relaxed);
    }

    /// Gives the memory of a recording back, but not its place.
    ///
    /// # Safety
    /// No handler uses it any more. A late one finds zeros.
    pub unsafe fn forget(self) {
        let tables = NonNull::from(&self.layout.wiped.tables).cast::<u8>();
        // SAFETY: the caller vouches; all zero is what the memory was at first.
        unsafe {
            files::advise(tables, size_of::<Tables>(), libc::MADV_DONTNEED);
            files::map_zeroed_over(self.ring, Ring::BYTES);
        }
        let chunks = LARGE_CHUNKS.swap(0, Ordering::Relaxed);
        if let Some(place) = NonNull::new(LARGE.load(Ordering::Relaxed)).filter(|_| chunks != 0) {
            // SAFETY: as above.
            unsafe { files::advise(place, large_bytes(chunks), libc::MADV_DONTNEED) };
        }
    }

    /// The buffer of samples.
    ///
    /// # Safety
    /// The probe has been made.
    pub unsafe fn buffer(self) -> &'static Buffer {
        // SAFETY: the caller vouches: it is made together with the probe.
        unsafe { (*self.layout.kept.buffer.get()).assume_init_ref() }
    }

    /// The address of the mapped ring.
    pub fn ring_address(self) -> NonNull<u8> {
        self.ring
    }

    /// The ring.
    pub fn ring(self) -> &'static Ring {
        // SAFETY: a ring is mapped there for ever, and made of atomics.
        unsafe { self.ring.cast::<Ring>().as_ref() }
    }

    /// The number of the ring.
    pub fn ring_number(self) -> &'static AtomicU32 {
        &self.layout.kept.ring_number
    }

    /// The end of the main thread's stack.
    pub fn main_stack_end(self) -> &'static AtomicU64 {
        &self.layout.kept.main_stack_end
    }

    /// True if this process, once it has entered itself, has a ring.
    pub fn records(self) -> bool {
        self.layout.kept.records.load(Ordering::Relaxed) != 0
    }

    /// Sets whether this process has a ring.
    pub fn set_records(self, records: bool) {
        self.layout
            .kept
            .records
            .store(records.into(), Ordering::Relaxed);
    }

    /// The places that pass functions to new threads.
    pub fn starts(self) -> &'static Starts {
        &self.layout.wiped.starts
    }

    /// The probe.
    ///
    /// # Safety
    /// The probe has been made.
    pub unsafe fn probe(self) -> &'static Probe {
        // SAFETY: the caller vouches; it has no writers while there is a second thread.
        unsafe { (*self.layout.kept.probe.get()).assume_init_ref() }
    }

    /// Wakes the command to look at this process.
    pub fn ring_bell(self) {
        // SAFETY: the probe is made before anything rings.
        if let Some(recorder) = unsafe { &self.probe().recorder } {
            recorder.ring_bell();
        }
    }

    /// Makes the probe, and the buffer over the ring's chunks: at the start of the process and of
    /// each child. `main` is the id of the thread that runs on the main thread's stack, or 0.
    ///
    /// # Safety
    /// No handler uses the probe yet, and no other thread exists.
    pub unsafe fn make_probe(self, control: &'static Control, main: u32) {
        let Layout { kept, wiped } = self.layout;
        let ring = self.ring();
        let generation = kept.generation.fetch_add(1, Ordering::Relaxed) + 1;
        let (words, chunks) = match large() {
            Some(large) => large,
            None => {
                let words = self.ring.as_ptr().wrapping_add(Ring::WORDS_AT).cast();
                (words, ring.chunks.as_slice())
            }
        };
        // SAFETY: the words are as many as the chunks need, in a mapping that stays, and are used
        // by this buffer alone, since it takes the place of the one before.
        let buffer = unsafe { Buffer::new(words, chunks, ENDLESS, false, generation.into()) };
        let probe = Probe {
            threads: Threads::shared(&wiped.tables.slots, &ring.records, &ring.header.met),
            caches: Caches::new(&wiped.tables.caches),
            stacks: Stacks::new(&wiped.tables.stacks),
            code: CodeMap::new(),
            counters: &ring.header.counters,
            recorder: Some(Recorder::new(control, ring)),
            enabled: false.into(),
            buffer: AtomicPtr::new(kept.buffer.get().cast()),
            pid: main.into(),
            main_stack_end: kept.main_stack_end.load(Ordering::Relaxed),
        };
        // SAFETY: the caller vouches that it has no readers.
        unsafe {
            (*kept.buffer.get()).write(buffer);
            (*kept.probe.get()).write(probe);
        }
    }

    /// Keeps the interpreter that was found.
    ///
    /// # Safety
    /// Once for each process.
    pub unsafe fn keep_found(self, found: Found) {
        // SAFETY: the caller vouches that there is no other writer; there are no readers before it
        // returns.
        unsafe { (*self.layout.kept.found.get()).write(found) };
    }

    /// The interpreter that was kept.
    ///
    /// # Safety
    /// One was kept.
    pub unsafe fn found(self) -> Found {
        // SAFETY: the caller vouches.
        unsafe { (*self.layout.kept.found.get()).assume_init() }
    }

    /// Makes the reader of the interpreter's stacks for the handler.
    ///
    /// # Safety
    /// Once for each process; what was found is true, and the probe was made.
    pub unsafe fn make_interpreter(self, found: Found) -> Result<&'static Interpreter, Refusal> {
        let Layout { kept, wiped } = self.layout;
        let evaluation = &self.ring().header.evaluation;
        let codes = CodeTable::new(&wiped.tables.codes);
        // SAFETY: the caller vouches for what was found; it has no readers before it is published.
        unsafe {
            let interpreter = Interpreter::new(found, evaluation, codes, &wiped.tables.pages)?;
            Ok((*kept.interpreter.get()).write(interpreter))
        }
    }

    /// Has the handler read the interpreter's stacks from now on.
    pub fn publish_interpreter(self, interpreter: &'static Interpreter) {
        // SAFETY: the interpreter was made after the probe.
        if let Some(recorder) = unsafe { &self.probe().recorder } {
            recorder.python.publish(interpreter);
        }
    }
}
