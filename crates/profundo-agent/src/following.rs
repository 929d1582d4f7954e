//! The functions that ours interpose, found by name: the next definition of each in the order of
//! loading.

/// Makes an accessor for the next function of each name, and `resolve`, which looks all of them up.
/// An accessor that is called before that looks them up itself. With `or`, the function of another
/// name stands in where there is none.
macro_rules! functions {
    ($($name:ident $(or $other:ident)?: fn($($argument:ty),*) -> $result:ty;)*) => {
        #[allow(non_camel_case_types)]
        #[derive(Clone, Copy)]
        pub(crate) enum Name { $($name),* }

        const NAMES: &[&core::ffi::CStr] = &[$(
            match core::ffi::CStr::from_bytes_with_nul(concat!(stringify!($name), "\0").as_bytes()) {
                Ok(name) => name,
                Err(_) => c"",
            }
        ),*];

        static RESOLVED: core::sync::atomic::AtomicBool = core::sync::atomic::AtomicBool::new(false);
        /// The next functions, in the order of their names; 0 until they are known.
        pub(crate) static ADDRESSES: [core::sync::atomic::AtomicUsize; NAMES.len()] =
            [const { core::sync::atomic::AtomicUsize::new(0) }; NAMES.len()];

        $(
            /// The next function of this name. `None`: there is none.
            #[inline(always)]
            pub fn $name() -> Option<unsafe extern "C-unwind" fn($($argument),*) -> $result> {
                let address = address(Name::$name);
                // SAFETY: the address is that of the function of this name, or 0, which is `None`.
                unsafe { core::mem::transmute(address) }
            }
        )*

        #[inline(always)]
        fn address(name: Name) -> usize {
            let known = ADDRESSES
                .get(name as usize)
                .map_or(0, |address| address.load(core::sync::atomic::Ordering::Relaxed));
            if known != 0 { known } else { look_up(name) }
        }

        #[cold]
        #[inline(never)]
        fn look_up(name: Name) -> usize {
            use core::sync::atomic::Ordering;
            if !RESOLVED.load(Ordering::Acquire) {
                resolve();
            }
            ADDRESSES
                .get(name as usize)
                .map_or(0, |address| address.load(Ordering::Relaxed))
        }

        /// Looks all of them up.
        #[cold]
        pub fn resolve() {
            use core::sync::atomic::Ordering;
            use crate::symbols::{Scope, find_all};
            find_all(NAMES, Scope::Interposed, |index, symbol| {
                if let Some(address) = ADDRESSES.get(index) {
                    address.store(symbol.address, Ordering::Relaxed);
                }
            });
            $($(
                if ADDRESSES[Name::$name as usize].load(Ordering::Relaxed) == 0 {
                    let stand_in = ADDRESSES[Name::$other as usize].load(Ordering::Relaxed);
                    ADDRESSES[Name::$name as usize].store(stand_in, Ordering::Relaxed);
                }
            )?)*
            // Release pairs with the acquire above.
            RESOLVED.store(true, Ordering::Release);
        }
    };
}

pub(crate) use functions;
