//! All that the agent keeps in the program: one mapping, most of which is never touched.

use core::cell::UnsafeCell;
use core::mem::{MaybeUninit, offset_of};
use core::ptr::{self, NonNull};
use core::sync::atomic::{AtomicBool, AtomicPtr, AtomicU32, AtomicU64, Ordering};

use profundo_cpython::Refusal;
use profundo_probe::buffer::{Buffer, ENDLESS};
use profundo_probe::caches::{CACHES, Cache, Caches};
use profundo_probe::python::{CodeEntry, CodeTable, Found, Interpreter, PageCache};
use profundo_probe::recorder::Recorder;
use profundo_probe::shared::{Control, Ring};
use profundo_probe::stacks::{STACKS, Stack, Stacks};
use profundo_probe::{CodeMap, Probe, Slot, Threads};

use crate::files;
use crate::process::process_id;
use crate::threads::Starts;

/// Room for so many living threads.
const SLOTS: usize = 8192;

/// Room for so many code objects of an interpreter. A power of two.
const CODES: usize = 1 << 16;

/// What lies in the mapping. All zero at first. All of it but `kept` is zero again in the child of
/// a fork, and is not in a child that borrows its parent's memory (`vfork`): that tells the two apart.
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
    /// How many processes this memory has been in: the buffer's identity.
    generation: AtomicU32,
    /// The number of the ring.
    ring_number: AtomicU32,
    /// Where the main thread's stack ends.
    main_stack_end: AtomicU64,
    /// 1 if this process has a ring.
    records: AtomicU32,
}

#[repr(C, align(4096))]
struct Wiped {
    /// The process.
    mark: AtomicU32,
    starts: Starts,
    slots: [Slot; SLOTS],
    caches: [Cache; CACHES],
    pages: [PageCache; CACHES],
    codes: [CodeEntry; CODES],
    stacks: [Stack; STACKS],
}

const _: () = assert!(size_of::<Layout>() <= 10 << 20);

/// What the agent keeps, once it records.
#[derive(Clone, Copy)]
pub struct Home {
    layout: &'static Layout,
    ring: NonNull<u8>,
}

// SAFETY: the mapping is there for ever; what in it is not atomic is written while nobody looks.
unsafe impl Sync for Layout {}

static LAYOUT: AtomicPtr<Layout> = AtomicPtr::new(ptr::null_mut());
static RING: AtomicPtr<u8> = AtomicPtr::new(ptr::null_mut());

/// Whose memory this is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Whose {
    /// This process's, which has entered itself.
    Ours,
    /// A copy, in a child that nobody has told of yet.
    Copied,
    /// The parent's, who waits for us to be gone.
    Borrowed,
}

/// The mapping, made but not in use. `None`: there is no memory, or a kernel too old.
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

/// What there is, if the agent records in this process or did in the one that was forked.
pub fn home() -> Option<Home> {
    // Acquire pairs with the release in `settle`.
    let layout = LAYOUT.load(Ordering::Acquire);
    // SAFETY: settled for ever.
    let layout = unsafe { layout.as_ref() }?;
    let ring = NonNull::new(RING.load(Ordering::Relaxed))?;
    Some(Home { layout, ring })
}

/// How a process enters itself: a function, set once at the start. This file imports none of the modules that do it.
static ENTER: AtomicPtr<()> = AtomicPtr::new(ptr::null_mut());

/// Whether this process has put off its entry. A child of a fork has its parent's value until it enters itself.
static IS_DEFERRED: AtomicBool = AtomicBool::new(false);

/// Has `enter` called where a process is met that has not entered itself: the child of a fork, or one that has put that off.
pub fn set_entry(enter: fn(Home)) {
    ENTER.store(enter as *mut (), Ordering::Release);
}

/// Whether this process has put off its entry.
#[inline]
pub fn is_deferred() -> bool {
    IS_DEFERRED.load(Ordering::Relaxed)
}

/// Says whether it has.
pub fn set_deferred(is_deferred: bool) {
    IS_DEFERRED.store(is_deferred, Ordering::Relaxed);
}

/// What there is, if this process records. The child of a fork that has not entered itself does so now; a child that
/// borrows its parent's memory has nothing.
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

/// As [`current`], for what is of no use before the child of a fork has entered itself.
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
    /// Whose memory this is.
    pub fn whose(self) -> Whose {
        match self.layout.wiped.mark.load(Ordering::Relaxed) {
            0 => Whose::Copied,
            process if process == process_id() => Whose::Ours,
            _ => Whose::Borrowed,
        }
    }

    /// Says that it is this process's.
    pub fn take(self) {
        self.layout
            .wiped
            .mark
            .store(process_id(), Ordering::Relaxed);
    }

    /// Where the ring is mapped.
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

    /// Where the main thread's stack ends.
    pub fn main_stack_end(self) -> &'static AtomicU64 {
        &self.layout.kept.main_stack_end
    }

    /// Whether this process, once it has entered itself, has a ring.
    pub fn records(self) -> bool {
        self.layout.kept.records.load(Ordering::Relaxed) != 0
    }

    /// Says whether it has.
    pub fn set_records(self, records: bool) {
        self.layout
            .kept
            .records
            .store(records.into(), Ordering::Relaxed);
    }

    /// Where threads that are being made find what they are to run.
    pub fn starts(self) -> &'static Starts {
        &self.layout.wiped.starts
    }

    /// The probe.
    ///
    /// # Safety
    /// It has been made.
    pub unsafe fn probe(self) -> &'static Probe {
        // SAFETY: the caller vouches; nobody writes to it while there is a second thread.
        unsafe { (*self.layout.kept.probe.get()).assume_init_ref() }
    }

    /// Makes the probe, and the buffer over the ring's chunks: at the start of the process and of
    /// each child. `main` is the id of the thread that runs on the main thread's stack, or 0.
    ///
    /// # Safety
    /// No handler knows of the probe, and no other thread exists.
    pub unsafe fn make_probe(self, control: &'static Control, main: u32) {
        let Layout { kept, wiped } = self.layout;
        let ring = self.ring();
        let generation = kept.generation.fetch_add(1, Ordering::Relaxed) + 1;
        let words = self.ring.as_ptr().wrapping_add(Ring::WORDS_AT).cast();
        // SAFETY: the words follow the ring in its mapping, as many as the chunks need, and are
        // used by this buffer alone, since it takes the place of the one before.
        let buffer = unsafe { Buffer::new(words, &ring.chunks, ENDLESS, false, generation.into()) };
        let probe = Probe {
            threads: Threads::shared(&wiped.slots, &ring.records, &ring.header.met),
            caches: Caches::new(&wiped.caches),
            stacks: Stacks::new(&wiped.stacks),
            code: CodeMap::new(),
            counters: &ring.header.counters,
            recorder: Some(Recorder::new(control, ring)),
            enabled: false.into(),
            buffer: AtomicPtr::new(kept.buffer.get().cast()),
            pid: main.into(),
            main_stack_end: kept.main_stack_end.load(Ordering::Relaxed),
        };
        // SAFETY: the caller vouches that nobody looks.
        unsafe {
            (*kept.buffer.get()).write(buffer);
            (*kept.probe.get()).write(probe);
        }
    }

    /// Keeps what was found of the interpreter.
    ///
    /// # Safety
    /// Once for each process.
    pub unsafe fn keep_found(self, found: Found) {
        // SAFETY: the caller vouches that nobody else writes; nobody reads before it returns.
        unsafe { (*self.layout.kept.found.get()).write(found) };
    }

    /// What was kept.
    ///
    /// # Safety
    /// Something was.
    pub unsafe fn found(self) -> Found {
        // SAFETY: the caller vouches.
        unsafe { (*self.layout.kept.found.get()).assume_init() }
    }

    /// Has the handler read the interpreter's stacks from now on.
    ///
    /// # Safety
    /// Once for each process; what was found is true, and the probe was made.
    pub unsafe fn make_interpreter(self, found: Found) -> Result<(), Refusal> {
        let Layout { kept, wiped } = self.layout;
        let evaluation = &self.ring().header.evaluation;
        let codes = CodeTable::new(&wiped.codes);
        // SAFETY: the caller vouches for what was found; nobody looks before it is published.
        unsafe {
            let interpreter = Interpreter::new(found, evaluation, codes, &wiped.pages)?;
            let kept = (*kept.interpreter.get()).write(interpreter);
            crate::waits::watch_interpreters(kept.interpreters());
            if let Some(recorder) = &self.probe().recorder {
                recorder.python.publish(kept);
            }
        }
        Ok(())
    }
}
