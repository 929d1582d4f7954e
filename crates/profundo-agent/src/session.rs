//! The session: its directory, how it is passed on to executed programs, and the memory that all
//! its processes share.

use core::cell::UnsafeCell;
use core::ffi::{CStr, c_char};
use core::ptr;
use core::sync::atomic::{AtomicPtr, AtomicU32, AtomicUsize, Ordering};

pub use profundo_probe::loading::join;
use profundo_probe::shared::{
    Control, MAGIC, MAX_FAREWELLS, MAX_RINGS, Ring, SESSION_VARIABLE, SessionState, entry_state,
    file,
};
use profundo_probe::sys;

use crate::files;
use crate::patience::Wait;
use crate::{command, left, process};

/// The longest path that the kernel takes.
pub const PATH: usize = 4096;

/// A string that is written once, before it has readers.
pub struct Text<const N: usize>(UnsafeCell<[u8; N]>);

// SAFETY: written while there is one thread, before the session is published.
unsafe impl<const N: usize> Sync for Text<N> {}

impl<const N: usize> Text<N> {
    const fn new() -> Self {
        Self(UnsafeCell::new([0; N]))
    }

    /// Joins the parts into the string. `None`: there is no room.
    ///
    /// # Safety
    /// The string has no readers yet.
    unsafe fn write(&self, parts: &[&[u8]]) -> Option<()> {
        // SAFETY: the caller vouches.
        join(unsafe { &mut *self.0.get() }, parts).map(|_| ())
    }

    /// The text, with its NUL.
    pub fn as_c_str(&self) -> &CStr {
        // SAFETY: it has no writers any more, and the last byte is always 0.
        unsafe { CStr::from_ptr(self.0.get().cast::<c_char>()) }
    }
}

/// `PROFUNDO_SESSION=…`, and `LD_PRELOAD=` with this library's path.
static VARIABLE: Text<PATH> = Text::new();
static PRELOAD: Text<PATH> = Text::new();
/// The user id of the session.
static USER: AtomicU32 = AtomicU32::new(0);
static CONTROL: AtomicPtr<Control> = AtomicPtr::new(ptr::null_mut());

/// Joins the session in a directory. `preload` is the path from which programs load this library.
/// `None`: there is no such session, or it is over. The control of an earlier session, which this
/// process has left, makes room for the new one.
///
/// # Safety
/// No other thread joins a session, and none is in one.
pub unsafe fn join_session(directory: &[u8], preload: &[u8]) -> Option<&'static Control> {
    // SAFETY: neither has readers before the control is published below.
    unsafe {
        VARIABLE.write(&[SESSION_VARIABLE.as_bytes(), b"=", directory])?;
        PRELOAD.write(&[b"LD_PRELOAD=", preload])?;
        USER.store(effective_user(), Ordering::Relaxed);
    }
    let mut path = [0; PATH];
    let path = join(&mut path, &[directory, b"/", file::CONTROL.as_bytes()])?;
    let memory = files::map(path, size_of::<Control>())?;
    // SAFETY: the file is as long as a control, which is made of atomics, and stays mapped.
    let control = unsafe { memory.cast::<Control>().as_ref() };
    if control.magic.load(Ordering::Relaxed) != MAGIC || !command::is_alive(control) {
        // SAFETY: it is not published.
        unsafe { files::unmap(memory, size_of::<Control>()) };
        return None;
    }
    let before = CONTROL.load(Ordering::Acquire);
    if let Some(before) = ptr::NonNull::new(before) {
        // SAFETY: both are mapped, and a thread that still looks there finds a control.
        let is_moved = unsafe { files::move_over(memory, before.cast(), size_of::<Control>()) };
        // SAFETY: the mapping of that address stays, moved over or not.
        let control = unsafe { before.as_ref() };
        return is_moved.then_some(control);
    }
    // Release pairs with the acquire in `control`.
    CONTROL.store(ptr::from_ref(control).cast_mut(), Ordering::Release);
    Some(control)
}

/// Begins a session of this process alone, without a directory: no command reads it, and no other
/// process comes into it. `fill` sets what the command would set. Otherwise as [`join_session`].
///
/// # Safety
/// As for [`join_session`].
pub unsafe fn begin_alone(fill: impl FnOnce(&Control)) -> Option<&'static Control> {
    /// There is nothing below it.
    const NO_DIRECTORY: &[u8] = b"/dev/null";
    // SAFETY: as in `join_session`.
    unsafe {
        VARIABLE.write(&[SESSION_VARIABLE.as_bytes(), b"=", NO_DIRECTORY])?;
        PRELOAD.write(&[b"LD_PRELOAD="])?;
        USER.store(effective_user(), Ordering::Relaxed);
    }
    let memory = match ptr::NonNull::new(CONTROL.load(Ordering::Acquire)) {
        // SAFETY: a thread that still looks there finds zeros: a session that is over.
        Some(before) => unsafe {
            files::map_zeroed_over(before.cast(), size_of::<Control>()).then_some(before)
        },
        None => files::map_zeroed(size_of::<Control>()).map(ptr::NonNull::cast),
    }?;
    // SAFETY: it is as long as a control, which is made of atomics, and stays mapped.
    let control = unsafe { memory.as_ref() };
    fill(control);
    // Release pairs with the acquire in `control`.
    CONTROL.store(memory.as_ptr(), Ordering::Release);
    Some(control)
}

/// A ring in memory of this process alone. `former`: the place of an earlier one, which may still
/// be another process's.
///
/// # Safety
/// Nothing uses the former one.
pub unsafe fn own_ring(former: Option<ptr::NonNull<u8>>) -> Option<TakenRing> {
    let memory = match former {
        // SAFETY: the caller vouches.
        Some(former) => unsafe { files::map_zeroed_over(former, Ring::BYTES).then_some(former)? },
        None => files::map_zeroed(Ring::BYTES)?,
    };
    Some(TakenRing { number: 0, memory })
}

/// The session that this process belongs to, over or not.
pub fn control() -> Option<&'static Control> {
    // SAFETY: mapped for ever.
    unsafe { CONTROL.load(Ordering::Acquire).as_ref() }
}

/// The two variables that the next program needs to be followed; `None` if it is not to be.
pub fn variables() -> Option<(&'static CStr, &'static CStr)> {
    let control = control()?;
    if left::has_left() {
        return None;
    }
    (control.follow.load(Ordering::Relaxed) != 0 && command::is_alive(control) && is_in_reach())
        .then(|| (VARIABLE.as_c_str(), PRELOAD.as_c_str()))
}

fn effective_user() -> u32 {
    // SAFETY: a call that takes nothing and cannot fail.
    unsafe { sys::call(libc::SYS_geteuid, [0; 6]) as u32 }
}

/// True if the next program could load the agent. In another root, or with another user's rights,
/// it may not; and the loader would complain of that on the program's standard error.
fn is_in_reach() -> bool {
    const NAME: usize = c"LD_PRELOAD=".to_bytes().len();
    // A process that has become another user may keep the right to read it until the next program
    // begins.
    if USER.load(Ordering::Relaxed) != effective_user() {
        return false;
    }
    let preload = PRELOAD.as_c_str();
    if preload.to_bytes().len() <= NAME {
        return false;
    }
    let path = preload.as_ptr().wrapping_add(NAME) as usize;
    let here = libc::AT_FDCWD as usize;
    let read = libc::R_OK as usize;
    let effective = libc::AT_EACCESS as usize;
    // SAFETY: the path is the end of a C string.
    let found = unsafe { sys::call(libc::SYS_faccessat2, [here, path, read, effective, 0, 0]) };
    if found != -(libc::ENOSYS as isize) {
        return found == 0;
    }
    // Older kernels only check the real user, which is nearly always the effective one too. SAFETY:
    // as above.
    unsafe { sys::call(libc::SYS_faccessat, [here, path, read, 0, 0, 0]) == 0 }
}

/// The two variables, whether the next program is to be followed or not; `None` before there is
/// a session.
pub fn names() -> Option<(&'static CStr, &'static CStr)> {
    control()?;
    Some((VARIABLE.as_c_str(), PRELOAD.as_c_str()))
}

/// The session's directory.
fn directory() -> &'static [u8] {
    let variable = VARIABLE.as_c_str().to_bytes();
    variable.get(SESSION_VARIABLE.len() + 1..).unwrap_or(b"")
}

/// A ring that this process has taken.
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct TakenRing {
    /// The number of the ring in the session.
    pub number: u32,
    /// The address of the mapped ring.
    pub memory: ptr::NonNull<u8>,
}

/// Takes a free ring and maps it, waiting at most `nanoseconds` for one. `None`: there is none,
/// although the command was asked.
pub fn take_ring(control: &Control, nanoseconds: u64) -> Option<TakenRing> {
    let taken = try_to_take_ring(control, nanoseconds);
    if taken == Err(NoRing::NoneFree) {
        control.starved.fetch_add(1, Ordering::Relaxed);
    }
    taken.ok()
}

/// As [`take_ring`], for a process that can try again later.
pub fn try_to_take_ring(control: &Control, nanoseconds: u64) -> Result<TakenRing, NoRing> {
    /// A command that is not delayed makes a ring in a part of a turn, and announces it.
    const TURN: u64 = 1_000_000;
    let mut wait = None;
    loop {
        // Before the check, so that a ring that is provided after it ends the wait.
        let provided = control.provided.load(Ordering::Acquire);
        match take_free_ring(control) {
            Ok(ring) => {
                if let Some(wait) = wait {
                    Wait::is_answered(&wait);
                }
                if !has_free_ring(control) {
                    // More are made while this process is not yet ready to say hello.
                    ring_doorbell(control);
                }
                return Ok(ring);
            }
            Err(NoRing::CannotBeMapped) => {
                control.unmapped.fetch_add(1, Ordering::Relaxed);
                return Err(NoRing::CannotBeMapped);
            }
            Err(NoRing::NoneFree) if control.exhausted.load(Ordering::Relaxed) != 0 => break,
            Err(NoRing::NoneFree) => {
                let wait = wait.get_or_insert_with(|| Wait::begin(control, nanoseconds));
                if !wait.goes_on() {
                    break;
                }
                control.asked.fetch_add(1, Ordering::Relaxed);
                ring_doorbell(control);
                sys::futex_wait(&control.provided, provided, TURN);
            }
        }
    }
    Err(NoRing::NoneFree)
}

/// The time that a process waits for a ring while the command has its turns: `usual`, or longer
/// where every call or every allocation is to be counted, because a process without a ring counts
/// none.
pub fn patience_for_ring(control: &Control, usual: u64) -> u64 {
    const TO_COUNT: u64 = 2_000_000_000;
    if command::counts_all(control) {
        TO_COUNT
    } else {
        usual
    }
}

fn has_free_ring(control: &Control) -> bool {
    let mut states = control.rings.iter().map(|entry| &entry.state);
    states.any(|state| state.load(Ordering::Relaxed) == entry_state::FREE)
}

fn ring_doorbell(control: &Control) {
    control.doorbell.fetch_add(1, Ordering::Release);
    sys::futex_wake(&control.doorbell);
}

/// Leaves a farewell for the command, from a process without a ring that ends now.
pub fn write_farewell(control: &Control, code: i32) {
    let number = control.farewells.fetch_add(1, Ordering::Relaxed) as usize;
    if let Some(farewell) = control.last_words.get(number % MAX_FAREWELLS) {
        let used = process::usage();
        farewell.pid.store(0, Ordering::Relaxed);
        farewell.code.store(code, Ordering::Relaxed);
        farewell.user.store(used.user, Ordering::Relaxed);
        farewell.system.store(used.system, Ordering::Relaxed);
        // Release pairs with the acquire of the command.
        farewell.pid.store(process::process_id(), Ordering::Release);
    }
}

/// The reason why a process has no ring.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum NoRing {
    /// All rings are taken.
    NoneFree,
    /// Another root, a descriptor limit, or a full address space: a retry would not help.
    CannotBeMapped,
}

fn take_free_ring(control: &Control) -> Result<TakenRing, NoRing> {
    let process = process::process_id();
    let mut refused = 0;
    for (number, entry) in control.rings.iter().enumerate() {
        if entry.state.load(Ordering::Relaxed) != entry_state::FREE {
            continue;
        }
        // Acquire pairs with the release of the command, which has zeroed the file before.
        let taken = entry.state.compare_exchange(
            entry_state::FREE,
            entry_state::TAKEN,
            Ordering::Acquire,
            Ordering::Relaxed,
        );
        if taken.is_err() {
            continue;
        }
        entry.pid.store(process, Ordering::Release);
        if let Some(memory) = map_ring(number as u32) {
            return Ok(TakenRing {
                number: number as u32,
                memory,
            });
        }
        entry.pid.store(0, Ordering::Relaxed);
        entry.state.store(entry_state::FREE, Ordering::Release);
        refused += 1;
        if refused > 1 {
            return Err(NoRing::CannotBeMapped);
        }
    }
    match refused {
        0 => Err(NoRing::NoneFree),
        _ => Err(NoRing::CannotBeMapped),
    }
}

fn map_ring(number: u32) -> Option<ptr::NonNull<u8>> {
    debug_assert!((number as usize) < MAX_RINGS);
    let mut path = [0; PATH];
    files::map(file_of(&mut path, file::RING, number)?, Ring::BYTES)
}

/// The path of a process's file, by the number of its ring.
pub fn file_of<'a>(room: &'a mut [u8], name: &str, number: u32) -> Option<&'a CStr> {
    let mut digits = [0; DIGITS];
    let number = decimal(&mut digits, number)?;
    join(room, &[directory(), b"/", name.as_bytes(), number])
}

/// The path of one of several files of that name that a process has.
pub fn file_part<'a>(room: &'a mut [u8], name: &str, number: u32, part: u32) -> Option<&'a CStr> {
    let (mut digits, mut part_digits) = ([0; DIGITS], [0; DIGITS]);
    let number = decimal(&mut digits, number)?;
    let part = decimal(&mut part_digits, part)?;
    join(
        room,
        &[directory(), b"/", name.as_bytes(), number, b".", part],
    )
}

/// The most digits of a number.
pub const DIGITS: usize = 10;

pub fn decimal(digits: &mut [u8; DIGITS], number: u32) -> Option<&[u8]> {
    let mut first = digits.len();
    let mut rest = number;
    loop {
        first = first.checked_sub(1)?;
        *digits.get_mut(first)? = b'0' + (rest % 10) as u8;
        rest /= 10;
        if rest == 0 {
            break;
        }
    }
    digits.get(first..)
}

/// The path of one of the session's files.
pub fn file_called<'a>(room: &'a mut [u8], name: &str) -> Option<&'a CStr> {
    join(room, &[directory(), b"/", name.as_bytes()])
}

/// Maps the tables. Returns their address and their length.
///
/// The present tables are mapped, and some room for those of libraries that the command has not met
/// so far. A program may limit its address space later, so the room is not more than nearly all
/// need; in one that has a limit, it is less.
pub fn map_tables() -> Option<(u64, u64)> {
    /// Enough for the tables of all but the largest libraries.
    const LEAST: u64 = 8 << 20;
    const USUAL: usize = 128 << 20;
    const MORE: usize = 16 << 20;
    let room = match process::address_space_limit() {
        None => files::Room {
            more: MORE,
            least: USUAL,
            most: profundo_probe::shared::TABLE_BYTES,
        },
        Some(limit) => files::Room {
            more: usize::try_from((limit / 16).max(LEAST)).unwrap_or(USUAL),
            least: 0,
            most: USUAL,
        },
    };
    let mut path = [0; PATH];
    let path = join(&mut path, &[directory(), b"/", file::TABLES.as_bytes()])?;
    let former = ptr::NonNull::new(TABLES.load(Ordering::Relaxed));
    let place = former.map(|place| (place, TABLE_ROOM.load(Ordering::Relaxed)));
    let (memory, bytes) = files::map_growing(path, room, place)?;
    if former.is_none() {
        TABLE_ROOM.store(bytes, Ordering::Relaxed);
    }
    TABLES.store(memory.as_ptr(), Ordering::Relaxed);
    Some((memory.as_ptr() as u64, bytes as u64))
}

/// The place of the tables, which those of a later session take, and its length.
static TABLES: AtomicPtr<u8> = AtomicPtr::new(ptr::null_mut());
static TABLE_ROOM: AtomicUsize = AtomicUsize::new(0);

/// Lets go of the session, which is over: its memory is zero from here on, as that of a session
/// that is over is.
///
/// # Safety
/// The agent has left the process.
pub unsafe fn forget_control() {
    const { assert!(SessionState::Over as u32 == 0) };
    if let Some(control) = ptr::NonNull::new(CONTROL.load(Ordering::Acquire)) {
        // SAFETY: the caller vouches; a late reader finds zeros.
        unsafe { files::map_zeroed_over(control.cast(), size_of::<Control>()) };
    }
}

/// Gives the memory of the tables back, but not its place.
///
/// # Safety
/// Nothing walks by them any more. A late reader finds zeros.
pub unsafe fn forget_tables() {
    if let Some(tables) = ptr::NonNull::new(TABLES.load(Ordering::Relaxed)) {
        // SAFETY: the caller vouches.
        unsafe { files::map_zeroed_over(tables, TABLE_ROOM.load(Ordering::Relaxed)) };
    }
}
