//! Exceptions: for each line and type the number that it raised, and where they ended.
//!
//! An exception is known by its address from the line that raises it to its end. That a handler
//! has taken it is its end only until it is raised on: then it is on its way again, and counts
//! where it ends later. So the ends of all exceptions of a line are never more than the exceptions.
//! What lacks an end is still on its way, or was dropped by C code, which is not reported.
//!
//! An exception that has ended may be freed, and another one get its address. That one begins at a
//! line of its own, which replaces what was known. Of those that have ended, old ones are
//! forgotten when others need their place.

use core::ptr::NonNull;
use core::sync::atomic::Ordering;

use super::index::Index;
use super::tree::{Described, Memory, Part, Tree};
use crate::shared::{
    EXCEPTION_SITES, EXCEPTIONS, ExceptionRow, SiteRow, exception_end, function_kind, grow,
};

/// A line that raises or catches exceptions.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Site {
    row: u32,
    /// What the caller has noted of it: eight bits.
    pub notes: u8,
}

/// The course of an exception.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Course {
    /// It was not counted, or is forgotten.
    Unknown,
    /// It is on its way.
    Underway,
    /// It has ended: a handler has taken it, or it has left its thread.
    Ended,
}

/// The end of an exception.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum End {
    /// This line caught it.
    Caught(Site),
    /// It left the last function of a thread or of the program.
    Left,
}

/// An exception.
#[derive(Debug, Clone, Copy)]
#[repr(C)]
struct Known {
    /// Its address; 0: the place is free.
    exception: u64,
    /// The row that counts it as raised.
    raised: u32,
    /// The row that counts its end, plus one; 0: it is on its way.
    end: u32,
}

/// The number of exceptions that are known at a time, in groups of a few.
const GROUPS: usize = 1 << 12;
const GROUP: usize = 4;

type Groups = [[Known; GROUP]; GROUPS];

/// The exceptions that are known, and the rows that count them.
#[derive(Debug)]
pub(super) struct Exceptions {
    /// Sites by their code and instruction.
    sites: Index,
    /// Rows by the site and the type, or by a row and an end.
    rows: Index,
    known: Option<NonNull<Groups>>,
    /// Chooses the place to be used next.
    turn: usize,
}

impl Exceptions {
    pub(super) const fn new() -> Self {
        Self {
            sites: Index::new(),
            rows: Index::new(),
            known: None,
            turn: 0,
        }
    }

    /// The group of an exception.
    #[inline]
    fn group(&mut self, exception: u64) -> Option<&mut [Known; GROUP]> {
        const MIX: u64 = 0x9E37_79B9_7F4A_7C15;
        let mixed = (exception >> 4).wrapping_mul(MIX) >> 32;
        // SAFETY: it was mapped as long, zeros are free places, and it has no other user.
        let groups = unsafe { self.known?.as_mut() };
        groups.get_mut(mixed as usize % GROUPS)
    }

    #[inline]
    fn find(&mut self, exception: u64) -> Option<&mut Known> {
        let group = self.group(exception)?;
        group.iter_mut().find(|known| known.exception == exception)
    }
}

/// A mark in a key of [`Exceptions::rows`]: the row of a site and a type.
const OF_TYPE: u64 = 1 << 63;
/// A mark in a key of a function's row: the name of a type. Keys of objects are multiples of eight.
const TYPE_KEY: u64 = 2;

impl<M: Memory> Tree<M> {
    /// Begins to count exceptions. `None`: there is no memory.
    pub fn begin_exceptions(&mut self) -> Option<()> {
        self.exceptions.known = Some(self.memory().map(size_of::<Groups>())?.cast());
        let header = &self.file().header;
        header.has_exceptions.store(1, Ordering::Relaxed);
        Some(())
    }

    /// Forgets all exceptions. Sites and types stay known.
    pub(super) fn forget_exceptions(&mut self) {
        let header = &self.file().header;
        let rows = header.exceptions.swap(0, Ordering::Relaxed) as usize;
        for row in self.file().exceptions.iter().take(rows) {
            row.count.store(0, Ordering::Relaxed);
        }
        for number in [&header.uncounted_exceptions, &header.forgotten_exceptions] {
            number.store(0, Ordering::Relaxed);
        }
        self.drop_exceptions();
    }

    /// Gives the memory of exceptions back.
    pub(super) fn give_back_exceptions(&mut self) {
        let mut exceptions = core::mem::replace(&mut self.exceptions, Exceptions::new());
        exceptions.sites.clear(self.memory());
        exceptions.rows.clear(self.memory());
        if let Some(known) = exceptions.known {
            self.memory().unmap(known.cast(), size_of::<Groups>());
        }
    }

    /// Forgets which exceptions and which rows there are.
    pub(super) fn drop_exceptions(&mut self) {
        let mut rows = core::mem::replace(&mut self.exceptions.rows, Index::new());
        rows.clear(self.memory());
        if let Some(known) = self.exceptions.known {
            // SAFETY: it was mapped as long, and has no other user; zeros are free places.
            unsafe { known.as_ptr().write_bytes(0, 1) };
        }
    }

    /// The site with a key: an instruction of some code.
    #[inline]
    pub fn site(&self, (at, key): (u32, u64)) -> Option<Site> {
        let found = self.exceptions.sites.find(at, key)?;
        Some(Site {
            row: (found >> 8) - 1,
            notes: found as u8,
        })
    }

    /// Adds a site with a key: a line of the function with that key. `None`: there is no room.
    #[cold]
    pub fn add_site(
        &mut self,
        (at, key): (u32, u64),
        (function, line): (u64, u32),
        notes: u8,
        describe: impl FnOnce(&mut dyn FnMut(Described<'_>)),
    ) -> Option<Site> {
        let function = self.function(function, describe)?;
        let file = self.file();
        let row = file.header.sites.load(Ordering::Relaxed);
        let end = (row as usize + 1) * size_of::<SiteRow>();
        let place = file.sites.get(row as usize)?;
        if !self.has_room(Part::Sites, end) {
            return None;
        }
        let memory = &self.memory;
        let value = (row + 1) << 8 | u32::from(notes);
        if !self.exceptions.sites.insert(at, key, value, memory) {
            return None;
        }
        place.function.store(function, Ordering::Relaxed);
        place.line.store(line, Ordering::Relaxed);
        // Release: a reader of the count sees the site's contents.
        file.header.sites.store(row + 1, Ordering::Release);
        Some(Site { row, notes })
    }

    /// The number of a type of this name. `None`: there is no room.
    #[inline]
    pub fn exception_type(&mut self, name: &[u8]) -> Option<u32> {
        // By its name, since another type may get its address.
        let key = name.iter().fold(0xCBF2_9CE4_8422_2325_u64, |hash, &byte| {
            (hash ^ u64::from(byte)).wrapping_mul(0x100_0000_01B3)
        });
        self.function(key << 3 | TYPE_KEY, |report| {
            report(Described {
                kind: function_kind::EXCEPTION,
                name,
                ..Described::default()
            });
        })
    }

    /// An exception of a type is raised.
    pub fn raised(&mut self, exception: u64, of_type: Option<u32>, at: Site) {
        let row = of_type.and_then(|of_type| {
            let key = (at.row, OF_TYPE | u64::from(of_type));
            self.exception_row(key, |row| {
                row.raised.store(at.row, Ordering::Relaxed);
                row.of_type.store(of_type, Ordering::Relaxed);
            })
        });
        let Some(row) = row else {
            self.ignore(exception);
            return self.count(|header| &header.uncounted_exceptions);
        };
        self.add(row, 1);
        self.keep(exception, row);
    }

    /// Keeps an exception that is on its way.
    fn keep(&mut self, exception: u64, raised: u32) {
        let new = Known {
            exception,
            raised,
            end: 0,
        };
        let turn = self.exceptions.turn;
        self.exceptions.turn = turn.wrapping_add(1);
        let mut is_lost = false;
        if let Some(group) = self.exceptions.group(exception) {
            let mut found = None;
            for step in 0..GROUP {
                let at = turn.wrapping_add(step) % GROUP;
                let Some(known) = group.get(at) else { continue };
                // Its own place, or else a free one, or one of an exception that has ended.
                let rank = match known.exception {
                    this if this == exception => 0,
                    0 => 1,
                    _ if known.end != 0 => 2,
                    _ => 3,
                };
                if found.is_none_or(|(best, _)| rank < best) {
                    found = Some((rank, at));
                }
            }
            if let Some((rank, at)) = found
                && let Some(place) = group.get_mut(at)
            {
                *place = new;
                is_lost = rank == 3;
            }
        }
        if is_lost {
            self.count(|header| &header.forgotten_exceptions);
        }
    }

    /// The course of an exception so far.
    #[inline]
    pub fn course(&mut self, exception: u64) -> Course {
        match self.exceptions.find(exception) {
            None => Course::Unknown,
            Some(Known { end: 0, .. }) => Course::Underway,
            Some(_) => Course::Ended,
        }
    }

    /// An exception ends. If it had an end already, this one replaces that.
    pub fn ends(&mut self, exception: u64, end: End) {
        self.goes_on(exception);
        let Some(&mut Known { raised, .. }) = self.exceptions.find(exception) else {
            return;
        };
        let (which, site) = match end {
            End::Caught(site) => (exception_end::CAUGHT, site.row),
            End::Left => (exception_end::LEFT, 0),
        };
        let key = (raised, u64::from(site) << 2 | u64::from(which));
        let file = self.file();
        let row = self.exception_row(key, |row| {
            row.raised.store(raised, Ordering::Relaxed);
            let base = file.exceptions.get(raised as usize);
            let of_type = base.map_or(0, |base| base.of_type.load(Ordering::Relaxed));
            row.of_type.store(of_type, Ordering::Relaxed);
            row.caught.store(site, Ordering::Relaxed);
            row.end.store(which, Ordering::Relaxed);
        });
        let Some(row) = row else {
            return self.count(|header| &header.uncounted_exceptions);
        };
        self.add(row, 1);
        if let Some(known) = self.exceptions.find(exception) {
            known.end = row + 1;
        }
    }

    /// An exception that had ended is on its way again.
    #[inline]
    pub fn goes_on(&mut self, exception: u64) {
        if let Some(known) = self.exceptions.find(exception)
            && let Some(row) = core::mem::take(&mut known.end).checked_sub(1)
        {
            self.add(row, -1);
        }
    }

    /// An exception that is raised on is another object from now on.
    pub fn becomes(&mut self, exception: u64, other: u64) {
        self.goes_on(exception);
        self.ignore(other);
        let Some(known) = self.exceptions.find(exception) else {
            return;
        };
        let raised = known.raised;
        known.exception = 0;
        self.keep(other, raised);
    }

    /// The line that has caught an exception.
    pub fn catcher(&mut self, exception: u64) -> Option<Site> {
        let row = self.exceptions.find(exception)?.end.checked_sub(1)?;
        let row = self.file().exceptions.get(row as usize)?;
        let is_caught = row.end.load(Ordering::Relaxed) == exception_end::CAUGHT;
        is_caught.then(|| Site {
            row: row.caught.load(Ordering::Relaxed),
            notes: 0,
        })
    }

    /// True if a site is in the function with this key.
    pub fn is_site_of(&self, site: Site, function: u64) -> bool {
        let row = self.file().sites.get(site.row as usize);
        let of_site = row.map(|row| row.function.load(Ordering::Relaxed));
        of_site.is_some() && of_site == self.function_number(function)
    }

    /// An exception is not counted: what was known of another one at its address no longer holds.
    pub fn ignore(&mut self, exception: u64) {
        if let Some(known) = self.exceptions.find(exception) {
            known.exception = 0;
        }
    }

    #[inline]
    fn add(&self, row: u32, by: i64) {
        if let Some(row) = self.file().exceptions.get(row as usize) {
            grow(&row.count, by as u64);
        }
    }

    /// The row with a key, which is added when it is new.
    #[inline]
    fn exception_row(
        &mut self,
        (at, key): (u32, u64),
        describe: impl FnOnce(&ExceptionRow),
    ) -> Option<u32> {
        match self.exceptions.rows.find(at, key) {
            Some(row) => Some(row - 1),
            None => self.add_exception_row((at, key), describe),
        }
    }

    #[cold]
    fn add_exception_row(
        &mut self,
        (at, key): (u32, u64),
        describe: impl FnOnce(&ExceptionRow),
    ) -> Option<u32> {
        let file = self.file();
        let row = file.header.exceptions.load(Ordering::Relaxed);
        let place = file.exceptions.get(row as usize)?;
        let end = (row as usize + 1) * size_of::<ExceptionRow>();
        if !self.has_room(Part::Exceptions, end) {
            return None;
        }
        let memory = &self.memory;
        if !self.exceptions.rows.insert(at, key, row + 1, memory) {
            return None;
        }
        describe(place);
        // Release: a reader of the count sees the row's contents.
        file.header.exceptions.store(row + 1, Ordering::Release);
        Some(row)
    }
}

/// The sizes of the parts of a file that hold exceptions.
pub(super) const SITES_BYTES: usize = EXCEPTION_SITES * size_of::<SiteRow>();
pub(super) const ROWS_BYTES: usize = EXCEPTIONS * size_of::<ExceptionRow>();

// A site and its notes are one number.
const _: () = assert!(EXCEPTION_SITES < 1 << 23);
