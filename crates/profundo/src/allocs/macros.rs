//! The macro that records an expression's allocations.

/// Runs an expression in the caller's scope while allocations are recorded; the value is `Ok` of
/// the expression's. It is `profundo::allocs::profile!`.
///
/// The recorded allocations are added to earlier ones. On `Err` the expression has not run:
/// allocations are being recorded already, or [`Alloc`](crate::Alloc) is not the program's
/// allocator. Recording stops when the expression is left, be it by `return`, `?` or a panic.
///
/// - `profile!(expression)` records one allocation about each 512 KiB;
/// - `profile!(sample_bytes = n, expression)` one about each `n` bytes;
/// - `profile!(sample_rate = r, expression)` each with the probability `r`: 1.0 is all of them.
#[doc(hidden)]
#[macro_export]
macro_rules! __profile_allocations {
    (sample_rate = $rate:expr, $expression:expr $(,)?) => {
        $crate::__run_within!(
            $crate::allocs::Recording::start($crate::allocs::Rate::Events($rate)),
            $expression
        )
    };
    (sample_bytes = $mean:expr, $expression:expr $(,)?) => {
        $crate::__run_within!(
            $crate::allocs::Recording::start($crate::allocs::Rate::Bytes($mean)),
            $expression
        )
    };
    ($expression:expr $(,)?) => {
        $crate::__run_within!(
            $crate::allocs::Recording::start($crate::allocs::Rate::default()),
            $expression
        )
    };
}
