//! The start functions of new threads: each is put into a place, which is passed to the new thread,
//! and taken out by it.

use core::ffi::c_void;
use core::sync::atomic::{AtomicU32, AtomicUsize, Ordering};

/// The most threads that can be in the making at one time; others do not enter themselves.
const PLACES: usize = 512;

/// The start functions of threads in the making. All zero is empty.
#[repr(C)]
pub struct Starts {
    next: AtomicU32,
    places: [Start; PLACES],
}

#[repr(C)]
pub struct Start {
    /// 0: free.
    taken: AtomicU32,
    function: AtomicUsize,
    argument: AtomicUsize,
}

impl Starts {
    /// Puts a function and its argument into a place. `None`: all are taken.
    pub fn put(&self, function: usize, argument: *mut c_void) -> Option<&Start> {
        for _ in 0..PLACES {
            let index = self.next.fetch_add(1, Ordering::Relaxed) as usize % PLACES;
            let place = self.places.get(index)?;
            // Acquire pairs with the release in `take`.
            if place
                .taken
                .compare_exchange(0, 1, Ordering::Acquire, Ordering::Relaxed)
                .is_ok()
            {
                place.function.store(function, Ordering::Relaxed);
                place.argument.store(argument as usize, Ordering::Relaxed);
                return Some(place);
            }
        }
        None
    }
}

impl Start {
    pub fn take(&self) -> Begun {
        let begun = Begun {
            function: self.function.load(Ordering::Relaxed),
            argument: self.argument.load(Ordering::Relaxed),
        };
        self.taken.store(0, Ordering::Release);
        begun
    }
}

/// The function and argument of a new thread: returned in two registers.
#[repr(C)]
pub struct Begun {
    pub function: usize,
    pub argument: usize,
}
