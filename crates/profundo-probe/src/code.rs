//! The unwind tables of all loaded modules, replaced as a whole when the list changes.
//!
//! A handler counts itself in before it loads the pointer. The replacer of the list keeps the old
//! one until it has seen the count at zero: any later handler sees the new one.

use core::sync::atomic::{AtomicPtr, AtomicUsize, Ordering};

use profundo_unwind::Modules;

/// A list of modules with its number, by which caches recognise it.
#[derive(Debug)]
pub struct Listing {
    /// The modules.
    pub modules: Modules<'static>,
    /// Not 0, and different for each list.
    pub generation: u64,
}

/// The published list of modules.
#[derive(Debug)]
pub struct CodeMap {
    current: AtomicPtr<Listing>,
    inside: AtomicUsize,
}

impl Default for CodeMap {
    fn default() -> Self {
        Self::new()
    }
}

impl CodeMap {
    /// No modules.
    pub const fn new() -> Self {
        Self {
            current: AtomicPtr::new(core::ptr::null_mut()),
            inside: AtomicUsize::new(0),
        }
    }

    /// Runs `f` with the current list, which stays valid until `f` returns.
    #[inline]
    pub fn with<T>(&self, f: impl FnOnce(&Listing) -> T) -> T {
        let _inside = self.enter();
        let pointer = self.current.load(Ordering::SeqCst);
        if pointer.is_null() {
            let modules = Modules::new(&[]);
            return f(&Listing {
                modules,
                generation: u64::MAX,
            });
        }
        // SAFETY: `replace` was given a list that lives until `is_idle` returned true after it
        // was replaced, and we counted ourselves in before we loaded the pointer.
        f(unsafe { &*pointer })
    }

    /// Counts the caller in until the guard drops: no memory that a handler uses is freed
    /// meanwhile.
    #[inline]
    pub fn enter(&self) -> Inside<'_> {
        // SeqCst pairs with `replace` and `is_idle`: in the single order of all four, either the
        // replacer sees our count or we see its list.
        self.inside.fetch_add(1, Ordering::SeqCst);
        Inside { map: self }
    }

    /// Publishes a new list and returns the old one.
    ///
    /// # Safety
    /// `list` stays valid until it has been replaced and [`Self::is_idle`] has returned true.
    pub unsafe fn replace(&self, list: *mut Listing) -> *mut Listing {
        self.current.swap(list, Ordering::SeqCst)
    }

    /// Whether no handler is running at this instant.
    pub fn is_idle(&self) -> bool {
        self.inside.load(Ordering::SeqCst) == 0
    }

    /// After a fork: the handlers that ran in the parent do not run in the child.
    pub fn reset_after_fork(&self) {
        self.inside.store(0, Ordering::SeqCst);
    }
}

/// Counted in, for a running handler.
#[derive(Debug)]
pub struct Inside<'a> {
    map: &'a CodeMap,
}

impl Drop for Inside<'_> {
    #[inline]
    fn drop(&mut self) {
        self.map.inside.fetch_sub(1, Ordering::SeqCst);
    }
}
