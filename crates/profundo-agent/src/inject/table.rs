//! Tables of the interpreter's functions and objects, by their names, and a cell that keeps such a
//! table.

use core::cell::UnsafeCell;
use core::mem::MaybeUninit;
use core::sync::atomic::{AtomicU32, Ordering};

/// Declares a table: for each entry its name here, its name in the interpreter, and its type.
macro_rules! table {
    ($(#[$meta:meta])* $name:ident { $($field:ident: $symbol:literal as $kind:ty,)* }) => {
        $(#[$meta])*
        #[derive(Clone, Copy)]
        pub struct $name {
            $(pub $field: $kind,)*
        }

        impl $name {
            /// Looks all entries up. `None`: one is missing.
            ///
            /// # Safety
            /// Each symbol of these names, if there is one, has the type of its field.
            pub unsafe fn find() -> Option<Self> {
                const NAMES: &[&::core::ffi::CStr] = &[$($symbol),*];
                let mut found = [0_usize; NAMES.len()];
                $crate::symbols::find_all(NAMES, $crate::symbols::Scope::All, |index, symbol| {
                    if let Some(place) = found.get_mut(index) {
                        *place = symbol.address;
                    }
                });
                let mut next = found.into_iter();
                Some(Self {
                    $($field: {
                        let address = next.next().filter(|&address| address != 0)?;
                        // SAFETY: the caller vouches; all of these are as large as an address.
                        unsafe { ::core::mem::transmute_copy::<usize, $kind>(&address) }
                    },)*
                })
            }
        }
    };
}

pub(crate) use table;

/// A value that is made once, if it can be.
pub struct Kept<T> {
    state: AtomicU32,
    value: UnsafeCell<MaybeUninit<T>>,
}

// SAFETY: it is written once, before the state says that it is there, and only read from then on;
// its values are addresses that any thread may use.
unsafe impl<T> Sync for Kept<T> {}

mod state {
    pub const MISSING: u32 = 0;
    pub const BEING_MADE: u32 = 1;
    pub const THERE: u32 = 2;
}

impl<T> Kept<T> {
    pub const fn new() -> Self {
        Self {
            state: AtomicU32::new(state::MISSING),
            value: UnsafeCell::new(MaybeUninit::uninit()),
        }
    }

    /// The value, made now if there is none. `busy`: the answer while another thread makes it.
    pub fn get<E>(
        &'static self,
        busy: E,
        make: impl FnOnce() -> Result<T, E>,
    ) -> Result<&'static T, E> {
        if self.state.load(Ordering::Acquire) != state::THERE {
            let first = self.state.compare_exchange(
                state::MISSING,
                state::BEING_MADE,
                Ordering::Acquire,
                Ordering::Acquire,
            );
            match first {
                Ok(_) => match make() {
                    Ok(made) => {
                        // SAFETY: only one thread gets here.
                        unsafe { (*self.value.get()).write(made) };
                        self.state.store(state::THERE, Ordering::Release);
                    }
                    Err(why) => {
                        self.state.store(state::MISSING, Ordering::Release);
                        return Err(why);
                    }
                },
                Err(state::THERE) => {}
                Err(_) => return Err(busy),
            }
        }
        // SAFETY: it was written before.
        Ok(unsafe { (*self.value.get()).assume_init_ref() })
    }
}
