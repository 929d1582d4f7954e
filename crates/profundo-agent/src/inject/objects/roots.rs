//! The objects that the collector knows, and the roots of the graph.

use profundo_cpython::Layout;
use profundo_cpython::collector::{Collector, GENERATION_BYTES, GENERATION_COUNT, Records, head};
use profundo_cpython::objects::object;
use profundo_probe::shared::refusal;
use profundo_probe::sys;

use super::Failure;
use super::pages::Pages;
use crate::calls;
use crate::inject::api::{Api, Object};
use crate::inject::word;

/// The objects that the collector knows.
pub enum Tracked {
    /// In lists.
    Lists(Lists),
    /// In a build that can run without the lock, which has no lists: those that the interpreter has
    /// shown.
    Found(Pages<u64>),
}

impl Tracked {
    /// # Safety
    /// As for [`Lists::of`].
    pub unsafe fn of(
        api: &Api,
        object: Object,
        found: Option<Pages<u64>>,
    ) -> Result<Self, Failure> {
        match found {
            Some(found) => Ok(Self::Found(found)),
            // SAFETY: the caller vouches.
            None => unsafe { Lists::of(&api.layout, object) }.map(Self::Lists),
        }
    }

    /// True if a garbage collection is running: then the lists are not whole.
    pub fn is_collecting(&self) -> bool {
        match self {
            Self::Lists(lists) => lists.is_collecting(),
            // It shows none while it collects.
            Self::Found(_) => false,
        }
    }

    /// Keeps the collector from ever beginning, in the copy.
    pub fn forbid(&self, api: &Api) {
        match (self, api.free_threaded) {
            (Self::Lists(lists), _) => lists.forbid(),
            // SAFETY: the interpreter runs; a number is written.
            (Self::Found(_), Some(functions)) => _ = unsafe { (functions.disable_collector)() },
            (Self::Found(_), None) => {}
        }
    }

    /// Calls `f` with each object.
    pub fn each(&self, mut f: impl FnMut(u64) -> Result<(), Failure>) -> Result<(), Failure> {
        match self {
            Self::Lists(lists) => lists.each(f),
            Self::Found(found) => found.as_slice().iter().try_for_each(|&object| f(object)),
        }
    }
}

/// The collector's records, and the places in them.
#[derive(Debug, Clone, Copy)]
pub struct Lists {
    records: u64,
    places: Collector,
}

/// A word near a mapped address; another page may not be mapped.
///
/// # Safety
/// `mapped` is a mapped address.
unsafe fn near(mapped: u64, address: u64) -> Option<u64> {
    const PAGE: u64 = 4096;
    match mapped / PAGE == address / PAGE {
        // SAFETY: the same page is mapped, and words of heads do not cross its end.
        true => Some(unsafe { word(address) }),
        false => sys::read_word(address),
    }
}

impl Lists {
    /// Those of the interpreter whose lock the calling thread has.
    ///
    /// # Safety
    /// The collector knows the object, and the lock is held.
    pub unsafe fn of(layout: &Layout, object: Object) -> Result<Self, Failure> {
        let places = layout.collector.ok_or(refusal::UNKNOWN_LAYOUT)?;
        let found = match places.records {
            // SAFETY: the caller vouches.
            Records::Pointer(pointer) => unsafe { Self::around(places, pointer, object) },
            Records::Interpreter(offset) => Self::in_interpreter(layout, places, offset),
        };
        found.ok_or(refusal::UNKNOWN_LAYOUT)
    }

    /// In the interpreter of the calling thread.
    fn in_interpreter(layout: &Layout, places: Collector, offset: u16) -> Option<Self> {
        let state = Some(calls::current_state()).filter(|&state| state != 0)?;
        let interpreter = sys::read_word(state + u64::from(layout.state.interpreter))?;
        let lists = Self {
            records: interpreter + u64::from(offset),
            places,
        };
        lists.are_rings().then_some(lists)
    }

    /// Found by following the list that an object is in to its head. `pointer`: the place in the
    /// records of a pointer to the first list.
    ///
    /// # Safety
    /// The collector knows the object, and the lock is held.
    unsafe fn around(places: Collector, pointer: u16, object: Object) -> Option<Self> {
        const MOST: u64 = 1 << 32;
        let begin = object as u64 - object::GC_HEAD;
        let mut at = begin;
        for _ in 0..MOST {
            // SAFETY: the caller vouches: a list of the collector's is a ring, and beside its head
            // are its records.
            unsafe {
                at = word(at) & !head::TAGS;
                // Once around, and no head looks like one of the records'.
                if at == 0 || at == begin {
                    break;
                }
                for head in Self::places_of_heads(places) {
                    let lists = Self {
                        records: at - head,
                        places,
                    };
                    let first = lists.at(places.generations);
                    if near(at, lists.at(pointer)) == Some(first) && lists.are_rings() {
                        return Some(lists);
                    }
                }
            }
        }
        None
    }

    /// True if each list comes back to its head. Neighbours of a list may have words that look like
    /// the records'.
    fn are_rings(self) -> bool {
        self.heads().all(|head| {
            let next = sys::read_word(head).map(|next| next & !head::TAGS);
            let back = next.and_then(|next| sys::read_word(next + head::PREVIOUS));
            back.is_some_and(|back| back & !head::TAGS == head)
        })
    }

    /// The places of the heads of all lists in the records.
    fn places_of_heads(places: Collector) -> impl Iterator<Item = u64> {
        (0..=GENERATION_COUNT).map(move |list| match list {
            GENERATION_COUNT => u64::from(places.permanent),
            list => u64::from(places.generations) + list * GENERATION_BYTES,
        })
    }

    fn heads(self) -> impl Iterator<Item = u64> {
        Self::places_of_heads(self.places).map(move |place| self.records + place)
    }

    fn at(self, place: u16) -> u64 {
        self.records + u64::from(place)
    }

    /// True if a garbage collection is running: then the lists are not whole.
    fn is_collecting(self) -> bool {
        // SAFETY: the records are there.
        (unsafe { word(self.at(self.places.collecting)) }) as u32 != 0
    }

    /// Keeps the collector from ever beginning, in the copy.
    fn forbid(self) {
        // SAFETY: the records are there, and the lock is held.
        unsafe {
            (self.at(self.places.enabled) as *mut u32).write(0);
            (self.at(self.places.collecting) as *mut u32).write(1);
        }
    }

    /// Calls `f` with each object that the collector knows.
    fn each(self, mut f: impl FnMut(u64) -> Result<(), Failure>) -> Result<(), Failure> {
        for head in self.heads() {
            // SAFETY: each list is a ring of heads of objects.
            let mut at = unsafe { word(head) } & !head::TAGS;
            while at != head && at != 0 {
                f(at + object::GC_HEAD)?;
                // SAFETY: as above.
                at = unsafe { word(at) } & !head::TAGS;
            }
        }
        Ok(())
    }
}
