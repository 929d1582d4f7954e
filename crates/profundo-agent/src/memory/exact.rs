//! Every allocation is counted at its stack.
//!
//! A thread mostly comes from where it came from a moment ago, so its stack is recognised by the
//! words that its walk would read ([`Known`]), and has a number ([`Sites`]). Under that number it
//! is counted in the thread's own share of a file that the command reads ([`Rows`]). A block's site
//! is found by its address when it is freed ([`Shadow`]).

use core::ops::RangeInclusive;
use core::ptr::{self, NonNull};
use core::sync::atomic::{AtomicBool, AtomicPtr, AtomicU64, Ordering, compiler_fence};

use profundo_probe::clock;
use profundo_probe::heap::shadow::{LEAF_BYTES, NoMemory};
use profundo_probe::heap::{Caller, Known, KnownRoom, Means, Numbers, Shade, Shadow, Sites};
use profundo_probe::shared::{
    COMMON, FreedBlocks, MAGIC, Net, Row, SHARES, SUMS_BYTES, SUMS_FILE, SumsHeader, Writers, grow,
};
use profundo_unwind::Regs;
use profundo_wire::Source;

use crate::home::Home;
use crate::memory::ends::Gone;
use crate::memory::local::{Local, local};
use crate::memory::mapped::Mapped;
use crate::memory::python;
use crate::memory::rows::{Rows, Sums};
use crate::memory::sampled::Given;
use crate::memory::spare::Spare;
use crate::memory::stacks;
use crate::memory::state::{self, FEW};
use crate::memory::tables;
use crate::{agent_memory, files, home, process, session, symbols, threads};

/// While another thread may have a share, the number of bytes until a thread looks for a new peak:
/// a part of the highest peak so far, within these limits.
const SLACK: RangeInclusive<u64> = 1 << 10..=64 << 10;
const SLACK_PART: u64 = 256;

/// While nothing is recorded, the number of bytes until the next check.
const RECHECK_BYTES: u64 = 1 << 20;

/// The state of exact counting. All zero at first, and again in the child of a fork, which counts
/// for itself.
#[repr(C)]
pub struct Exact {
    counts: Counts,
    /// The places of its words stay from one recording to the next; the words are none.
    shadow: Pages<Shadow>,
}

/// All of it but the words of the blocks.
#[repr(C, align(4096))]
struct Counts {
    /// The process that counts here, and above its bits the recording; 0 until it is set up.
    mark: AtomicU64,
    rows: Rows,
    mapped: Mapped,
    sites: Sites,
    known_room: KnownRoom,
}

/// Something that shares no page with what lies before it.
#[repr(C, align(4096))]
struct Pages<T>(T);

static EXACT: AtomicPtr<Exact> = AtomicPtr::new(ptr::null_mut());
/// The place of the state, once there was one. A later recording uses it again.
static PLACE: AtomicPtr<Exact> = AtomicPtr::new(ptr::null_mut());
/// The address of the mapped file, in the child of a fork too.
static SUMS: AtomicPtr<SumsHeader> = AtomicPtr::new(ptr::null_mut());

/// True while new blocks are not counted. What happens to those that were counted is.
static IS_CLOSED: AtomicBool = AtomicBool::new(false);

/// Sets whether new blocks are counted.
pub fn count_new(counts: bool) {
    IS_CLOSED.store(!counts, Ordering::Relaxed);
}

/// What threads knew that have ended since an earlier recording.
static SPARE: Spare<Known> = Spare::new();

/// The state, if every allocation is counted.
#[inline(always)]
pub fn exact() -> Option<&'static Exact> {
    // SAFETY: it is mapped for ever, and all zero is valid.
    unsafe { EXACT.load(Ordering::Acquire).as_ref() }
}

/// The file of sums.
///
/// # Safety
/// This process has set it up.
#[inline(always)]
unsafe fn sums() -> Sums {
    // SAFETY: the caller vouches; it stays mapped.
    unsafe { Sums::new(SUMS.load(Ordering::Relaxed)) }
}

/// Begins to count, if there is memory for it.
pub fn begin(home: Home) -> Option<()> {
    // Where memory is limited, these mappings would be missed, though little of them is used.
    if !process::has_unlimited_memory() {
        return None;
    }
    let exact = place_of_state()?;
    let sums = map_file(home)?;
    match NonNull::new(SUMS.load(Ordering::Relaxed)) {
        None => SUMS.store(sums.cast().as_ptr(), Ordering::Relaxed),
        Some(former) => {
            // SAFETY: both are ours and of one length, and nothing is counted in the former one.
            if !unsafe { files::move_over(sums, former.cast(), SUMS_BYTES) } {
                return None;
            }
        }
    }
    // SAFETY: mapped for ever, all zero.
    let state = unsafe { exact.as_ref() };
    state.open()?;
    count_new(true);
    // Release pairs with the acquire in `exact`.
    EXACT.store(exact.as_ptr(), Ordering::Release);
    show(state, home);
    // Every freed block is wanted.
    FEW.fill();
    Some(())
}

/// The state's place, all zero but for the places of words. `None`: there is no memory.
fn place_of_state() -> Option<NonNull<Exact>> {
    if let Some(place) = NonNull::new(PLACE.load(Ordering::Acquire)) {
        // SAFETY: it is ours, and has no users while nothing is counted.
        unsafe { wipe(place) };
        return Some(place);
    }
    let place = files::map_zeroed(size_of::<Exact>())?;
    // SAFETY: the memory is ours and unused.
    if !unsafe { files::advise(place, size_of::<Exact>(), libc::MADV_WIPEONFORK) } {
        return None;
    }
    PLACE.store(place.cast().as_ptr(), Ordering::Release);
    Some(place.cast())
}

/// Forgets all counts and all blocks.
///
/// # Safety
/// The place is a state's, and zeros are valid for all who still use it.
unsafe fn wipe(place: NonNull<Exact>) {
    // SAFETY: the caller vouches. The counts are pages of their own, and so is each leaf.
    unsafe {
        files::wipe(NonNull::from(&place.as_ref().counts));
        tables::forget();
        place.as_ref().shadow.0.each_leaf(|start, bytes| {
            if let (Some(start), LEAF_BYTES) = (NonNull::new(start as *mut u8), bytes) {
                files::advise(start, bytes, libc::MADV_DONTNEED);
            }
        });
    }
}

/// Gives the memory of a recording back, but not its place.
///
/// # Safety
/// Nothing is counted any more. A thread that is still at it finds zeros.
pub unsafe fn forget() {
    // SAFETY: the caller vouches.
    unsafe {
        if let Some(place) = NonNull::new(PLACE.load(Ordering::Acquire)) {
            wipe(place);
        }
        if let Some(sums) = NonNull::new(SUMS.load(Ordering::Relaxed)) {
            files::map_zeroed_over(sums.cast(), SUMS_BYTES);
            stacks::forget();
        }
    }
}

impl Exact {
    /// Pages that are followed.
    #[inline(always)]
    pub fn mapped(&self) -> &Mapped {
        &self.counts.mapped
    }

    /// Begins to count in the file that is mapped. `None`: it has no room.
    fn open(&self) -> Option<()> {
        // SAFETY: the caller has just mapped it.
        let sums = unsafe { sums() };
        if !self.counts.rows.begin(sums) {
            return None;
        }
        sums.header().owned.store(1 << COMMON, Ordering::Release);
        let mark = u64::from(process::process_id()) | u64::from(state::recording()) << 32;
        self.counts.mark.store(mark, Ordering::Release);
        Some(())
    }

    /// The address of the words of all blocks.
    pub fn shadow(&self) -> u64 {
        &raw const self.shadow.0 as u64
    }
}

/// Publishes the place of the blocks in the ring, for readers while the program runs.
fn show(exact: &Exact, home: Home) {
    let search = &home.ring().header.search;
    let (own, room) = agent_memory::room();
    for (place, value) in search.own_memory.iter().zip([own, room]) {
        place.store(value, Ordering::Relaxed);
    }
    // Release pairs with the acquire of the reader.
    search.shadow.store(exact.shadow(), Ordering::Release);
}

/// Marks the blocks in the ring as not known any more.
pub fn hide(home: Home) {
    let search = &home.ring().header.search;
    search.shadow.store(0, Ordering::Relaxed);
}

/// Stops counting.
pub fn leave() {
    state::IS_EXACT.store(false, Ordering::Relaxed);
    EXACT.store(ptr::null_mut(), Ordering::Relaxed);
    FEW.clear();
}

/// In the child of a fork that has a ring: its files take the place of its parent's.
pub fn enter_child(home: Home) {
    let Some(exact) = exact() else { return };
    let Some(old) = NonNull::new(SUMS.load(Ordering::Relaxed)) else {
        return leave();
    };
    let mapped = map_file(home).filter(|&new| {
        // SAFETY: both are ours, of one length, and there is one thread.
        unsafe { files::move_over(new, old.cast(), SUMS_BYTES) }
    });
    match mapped.and_then(|_| exact.open()) {
        Some(()) => show(exact, home),
        None => {
            home.ring()
                .header
                .memory
                .refused
                .store(1, Ordering::Relaxed);
            abandon();
        }
    }
}

/// In the child of a fork that has no ring: its parent's file must not be written to.
pub fn abandon() {
    leave();
}

/// Maps this process's files, which the recorder has made beside its ring.
fn map_file(home: Home) -> Option<NonNull<u8>> {
    let number = home.ring_number().load(Ordering::Relaxed);
    let mut room = [0; session::PATH];
    let path = session::file_of(&mut room, SUMS_FILE, number)?;
    let sums = files::map(path, SUMS_BYTES)?;
    // SAFETY: as long as that, and made of atomics.
    let header = unsafe { sums.cast::<SumsHeader>().as_ref() };
    // Acquire pairs with the release of the recorder.
    let is_ready = header.magic.load(Ordering::Acquire) == MAGIC;
    if is_ready && stacks::map(number).is_some() {
        return Some(sums);
    }
    // SAFETY: it was mapped just now, and nothing points into it.
    unsafe { files::unmap(sums, SUMS_BYTES) };
    None
}

/// Counts a block that was allocated.
#[inline(never)]
pub fn allocated(local: &Local, given: &Given, ip: u64, sp: u64, fp: u64, base: u64) {
    // One by one, in registers: writes of eight bytes that are read by larger loads stall.
    let caller = Caller {
        registers: Regs { ip, sp, fp },
        base,
    };
    let Some(exact) = exact() else {
        return local.set(RECHECK_BYTES);
    };
    if IS_CLOSED.load(Ordering::Relaxed) {
        return local.set(0);
    }
    if given.address == 0 {
        return local.set(given.left);
    }
    if python::has_finalized() {
        return local.set(0);
    }
    let Some(home) = enter(exact, local) else {
        return local.set(RECHECK_BYTES);
    };
    if local
        .alone(|| note(exact, home, local, *given, caller))
        .is_none()
    {
        lose();
    }
    local.set(0);
}

/// Counts a block of a thread that has entered.
#[inline(always)]
fn note(exact: &'static Exact, home: Home, local: &Local, given: Given, caller: Caller) {
    let now = clock::now();
    // SAFETY: a process that has entered itself has a probe, and a file.
    let (probe, sums) = unsafe { (home.probe(), sums()) };
    let site = match local.known() {
        // SAFETY: it is this thread's, which has come from the caller just now.
        Some(known) => unsafe {
            let numbers = Numbers {
                known: &mut *known,
                room: &exact.counts.known_room,
                sites: &exact.counts.sites,
                means: Means {
                    memory: tables::memory,
                    pen: local.share(),
                    header: sums.header(),
                    stacks: stacks::place(),
                },
            };
            probe.site(caller, given.source, now, numbers)
        },
        None => 0,
    };
    let share = local.share();
    let Place { row, writers, site } = exact.place(home, share, site);
    if site == 0 {
        let [blocks, bytes] = &sums.header().uncounted;
        blocks.fetch_add(1, Ordering::Relaxed);
        bytes.fetch_add(given.size, Ordering::Relaxed);
    }
    let shade = Shade {
        site,
        size: given.size,
    };
    let before = match given.source {
        Source::Mapped => {
            match exact
                .mapped()
                .insert(given.address, given.size, u64::from(site))
            {
                true => {
                    sums.header()
                        .mapped
                        .fetch_add(given.size, Ordering::Relaxed);
                    Ok(None)
                }
                false => Err(NoMemory),
            }
        }
        _ => exact.shadow.0.set(given.address, shade, files::map_wiped),
    };
    if let Ok(Some(before)) = before {
        // The former block was freed in a way that is not seen.
        count_freed(exact, home, local, before, 1, (now, false));
    }
    let peak = sums.header().peak.load(Ordering::Relaxed);
    row.allocated(peak, given.size, now, writers);
    grown(sums.header(), local, share, given.size, now);
    if before.is_err() {
        // The block cannot be found again: as if it had been freed.
        count_freed(exact, home, local, shade, 1, (now, false));
    }
    local.follow(given.address, 0);
    count_cost(home, now);
}

/// Adds the time since this instant to the cost of counting. One call of many stands for all,
/// because reading the clock twice would make each of them slower.
#[inline(always)]
fn count_cost(home: Home, began: u64) {
    const ONE_OF: u64 = 16;
    /// The last four bits of the clock may stand still on some machines.
    const BITS: u32 = 4;
    /// Beyond this the thread waited, or lost the CPU.
    const LONGEST: u64 = 1 << 16;
    if (began >> BITS).is_multiple_of(ONE_OF) {
        let spent = clock::now().saturating_sub(began).min(LONGEST);
        let counters = &home.ring().header.counters;
        counters.cycles.fetch_add(spent * ONE_OF, Ordering::Relaxed);
    }
}

/// Removes a block that may be about to be freed. Returns what it was.
#[inline]
pub fn remove_block(exact: &'static Exact, address: u64) -> Option<Gone> {
    let local = local();
    let Some(shade) = local.alone(|| exact.shadow.0.take(address)) else {
        // The free is noticed when another block lies there, or never.
        lose();
        return None;
    };
    if shade.is_none() {
        note_stranger(exact, local, address);
    }
    let shade = shade.filter(|_| !python::has_finalized())?;
    Some(Gone::Counted(shade, local.is_last(address)))
}

/// Counts a block that is about to be freed, if it is known.
#[inline]
pub fn freed_at(exact: &'static Exact, address: u64) {
    let local = local();
    let mark = exact.counts.mark.load(Ordering::Relaxed);
    let entered = (mark != 0 && local.mark() == mark).then(crate::home::home);
    let Some(home) = entered.flatten() else {
        if let Some(Gone::Counted(shade, at_once)) = remove_block(exact, address) {
            freed(exact, shade, at_once);
        }
        return;
    };
    let counted = local.alone(|| {
        let shade = exact.shadow.0.take(address);
        if shade.is_none() {
            note_stranger(exact, local, address);
        }
        let Some(shade) = shade.filter(|_| !python::has_finalized()) else {
            return;
        };
        let now = clock::now();
        let when = (now, local.is_last(address));
        count_freed_here(exact, home, local, shade, 1, when);
        count_cost(home, now);
    });
    if counted.is_none() {
        lose();
    }
}

/// Counts the end of a block that was never seen: one from before the agent came.
#[cold]
fn note_stranger(exact: &Exact, local: &Local, address: u64) {
    // An allocator frees its own notes by another one.
    if !symbols::is_late() || local.is_allocating() || exact.shadow.0.was_met(address) {
        return;
    }
    if let Some(home) = home::current() {
        let strangers = &home.ring().header.memory.strangers;
        strangers.fetch_add(1, Ordering::Relaxed);
    }
}

/// Counts a block that was freed.
#[inline]
pub fn freed(exact: &'static Exact, shade: Shade, at_once: bool) {
    let local = local();
    if let Some(home) = enter(exact, local) {
        local.alone(|| {
            let now = clock::now();
            count_freed(exact, home, local, shade, 1, (now, at_once));
            count_cost(home, now);
        });
    }
}

/// A block was not freed after all.
#[cold]
pub fn put_back(exact: &'static Exact, address: u64, shade: Shade) {
    let _ = local().alone(|| exact.shadow.0.set(address, shade, files::map_wiped));
}

/// Counts a block as lost: the handler that allocated or freed it has interrupted counting.
#[cold]
fn lose() {
    if home::current().is_some() && !SUMS.load(Ordering::Relaxed).is_null() {
        // SAFETY: a process that has a home has a file.
        let [blocks, _] = unsafe { &sums().header().uncounted };
        blocks.fetch_add(1, Ordering::Relaxed);
    }
}

/// Notes that pages are unmapped: `gone` bytes of those from a site, all of them if `is_all`.
pub fn unmapped(exact: &'static Exact, site: u64, gone: u64, is_all: bool) {
    let local = local();
    if let Some(home) = enter(exact, local) {
        let shade = Shade {
            site: site as u32,
            size: gone,
        };
        // SAFETY: it has entered.
        let mapped = unsafe { &sums().header().mapped };
        mapped.fetch_sub(gone, Ordering::Relaxed);
        let when = (clock::now(), false);
        count_freed(exact, home, local, shade, is_all.into(), when);
    }
}

fn count_freed(
    exact: &'static Exact,
    home: Home,
    local: &Local,
    shade: Shade,
    blocks: u64,
    when: (u64, bool),
) {
    count_freed_here(exact, home, local, shade, blocks, when);
}

#[inline(always)]
fn count_freed_here(
    exact: &'static Exact,
    home: Home,
    local: &Local,
    shade: Shade,
    blocks: u64,
    when: (u64, bool),
) {
    let share = local.share();
    // SAFETY: the caller has entered the process, which maps the file.
    let sums = unsafe { sums() }.header();
    let Place { row, writers, site } = exact.place(home, share, shade.site);
    if site != shade.site {
        let [uncounted, _] = &sums.uncounted;
        uncounted.fetch_add(blocks, Ordering::Relaxed);
    }
    let peak = sums.peak.load(Ordering::Relaxed);
    let (clock, at_once) = when;
    let freed = FreedBlocks {
        count: blocks,
        bytes: shade.size,
        clock,
        at_once,
    };
    row.freed(peak, freed, writers);
    if let Some(Net(net)) = sums.nets.get(share) {
        let less = shade.size.wrapping_neg();
        match share {
            COMMON => drop(net.fetch_add(less, Ordering::Relaxed)),
            _ => grow(net, less),
        }
    }
}

/// The row in which a thread counts a site.
struct Place {
    row: &'static Row,
    writers: Writers,
    /// The site of the row; 0: the row is that of blocks without a stack.
    site: u32,
}

impl Exact {
    /// The row in which a thread counts a site, and its other writers. Without room for a row of
    /// its own it is that of all threads, or that of blocks without a stack: then the returned site
    /// is 0.
    #[inline]
    fn place(&self, home: Home, share: usize, site: u32) -> Place {
        let writers = match share {
            COMMON => Writers::Many,
            _ => Writers::One,
        };
        // SAFETY: the caller has entered the process, which maps the file.
        let sums = unsafe { sums() };
        match self.counts.rows.row(sums, share, site) {
            Some(row) => Place { row, writers, site },
            None => self.new_place(home, sums, share, writers, site),
        }
    }

    #[cold]
    #[inline(never)]
    fn new_place(
        &self,
        home: Home,
        sums: Sums,
        share: usize,
        writers: Writers,
        site: u32,
    ) -> Place {
        // SAFETY: a process that has entered itself has a probe.
        let probe = unsafe { home.probe() };
        let rows = &self.counts.rows;
        rows.provide(sums, share, site);
        let mut row = rows.row(sums, share, site);
        match row {
            Some(_) => probe.ask_for_room(),
            None if probe.wait_for_room(sums.header()) => {
                rows.provide(sums, share, site);
                row = rows.row(sums, share, site);
            }
            None => {}
        }
        if let Some(row) = row {
            return Place { row, writers, site };
        }
        let common = |site| rows.row(sums, COMMON, site);
        match common(site) {
            Some(row) => Place {
                row,
                writers: Writers::Many,
                site,
            },
            None => Place {
                row: rows.first(sums),
                writers: Writers::Many,
                site: 0,
            },
        }
    }
}

/// Notes that a share has grown, and whether the process has a new peak.
#[inline]
fn grown(sums: &SumsHeader, local: &Local, share: usize, bytes: u64, now: u64) {
    let Some(Net(net)) = sums.nets.get(share) else {
        return;
    };
    match share {
        COMMON => drop(net.fetch_add(bytes, Ordering::Relaxed)),
        _ => grow(net, bytes),
    }
    let share_bytes = net.load(Ordering::Relaxed);
    if (share_bytes.wrapping_sub(local.peak_from()) as i64) < 0 {
        return;
    }
    let all = sums.nets.iter();
    let all = all.fold(0, |sum: u64, Net(net)| {
        sum.wrapping_add(net.load(Ordering::Relaxed))
    });
    let most = sums.peak_bytes.load(Ordering::Relaxed);
    let owners = u64::from(sums.owned.load(Ordering::Relaxed).count_ones());
    let missing = if all > most && (all as i64) > 0 {
        sums.peak_bytes.store(all, Ordering::Relaxed);
        sums.peak_clock.store(now, Ordering::Relaxed);
        sums.peak.fetch_add(1, Ordering::Relaxed);
        0
    } else {
        most.wrapping_sub(all)
    };
    // All may grow at one time: if each has less than its part of what is missing, all of them have
    // less than all of it.
    let missing = match owners {
        0..=2 => missing,
        several => (missing / several).max((most / SLACK_PART).clamp(*SLACK.start(), *SLACK.end())),
    };
    // One more byte is a new peak.
    local.set_peak_from(share_bytes.wrapping_add(missing).wrapping_add(1));
}

/// Sets up the process and the thread, if that is not done. `None`: nothing is counted.
#[inline]
fn enter(exact: &Exact, local: &Local) -> Option<Home> {
    let mark = exact.counts.mark.load(Ordering::Relaxed);
    if mark != 0 && local.mark() == mark {
        return crate::home::home();
    }
    set_up(exact, local)
}

#[cold]
#[inline(never)]
fn set_up(exact: &Exact, local: &Local) -> Option<Home> {
    let home = home::current()?;
    let mark = exact.counts.mark.load(Ordering::Acquire);
    if mark == 0 || mark as u32 != process::process_id() {
        return None;
    }
    if symbols::is_late() {
        threads::expect_end();
    }
    // SAFETY: the mark says that it is there.
    let owned = unsafe { &sums().header().owned };
    // Acquire pairs with the release in `end_thread`: what the thread before has counted is there.
    let taken = owned.fetch_update(Ordering::Acquire, Ordering::Relaxed, |owned| {
        let free = owned.trailing_ones();
        ((free as usize) < SHARES).then(|| owned | 1 << free)
    });
    let share = taken.map_or(COMMON, |owned| owned.trailing_ones() as usize);
    let known = local.known().unwrap_or_else(|| SPARE.take());
    let known = match NonNull::new(known) {
        // In the child of a fork it is empty again, but not in a later recording.
        Some(known) => {
            // SAFETY: it is this thread's alone, and zeros are an empty one.
            unsafe { files::wipe(known) };
            known.as_ptr()
        }
        None => files::map_wiped(size_of::<Known>()).cast::<Known>(),
    };
    local.set_up_exact(mark, share, known);
    Some(home)
}

/// The thread ends: another one gets its share.
pub fn end_thread() {
    let local = local();
    let counting = exact();
    let is_current = |exact: &&Exact| local.mark() == exact.counts.mark.load(Ordering::Relaxed);
    let Some(exact) = counting.filter(is_current) else {
        return put_away();
    };
    let (share, known) = (local.share(), local.known());
    // The thread gives them up first: a handler may come, and allocate.
    local.set_up_exact(local.mark(), COMMON, ptr::null_mut());
    compiler_fence(Ordering::SeqCst);
    if share != COMMON {
        // SAFETY: the mark says that it is there.
        let owned = unsafe { &sums().header().owned };
        owned.fetch_and(!(1 << share), Ordering::Release);
    }
    if let Some(known) = known {
        // SAFETY: it was mapped for this thread alone, which uses it no more.
        unsafe {
            (*known).give_back(&exact.counts.known_room);
            files::unmap(NonNull::new_unchecked(known.cast()), size_of::<Known>());
        }
    }
}

/// The thread ends, and does not count any more: another one gets what it knows.
pub fn put_away() {
    let local = local();
    if let Some(known) = local.known() {
        // The thread gives it up first: a handler may come, and allocate.
        local.set_up_exact(0, COMMON, ptr::null_mut());
        compiler_fence(Ordering::SeqCst);
        SPARE.put(known);
    }
}
