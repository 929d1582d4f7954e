//! The macros: thin, so that what they run stays the caller's own code.

/// Runs an expression in the caller's scope while all threads are sampled; the value is `Ok` of
/// the expression's.
///
/// Samples are added to those already in the buffer. On `Err` the expression has not run: a
/// session was running already, or the kernel refused. Sampling stops when the expression is
/// left, be it by `return`, `?` or a panic.
///
/// ```
/// # fn main() -> profundo::Result<()> {
/// let mut sum = 0_u64;
/// profundo::profile!({
///     for i in 0..1000 {
///         sum += i;
///     }
/// })?;
/// assert_eq!(sum, 499_500);
/// # Ok(())
/// # }
/// ```
#[macro_export]
macro_rules! profile {
    ($expression:expr $(,)?) => {
        $crate::__run_within!($crate::Session::cpu(), $expression)
    };
}

/// As [`profile!`](crate::profile!), but on the wall clock: at each tick one thread or wrapped
/// task is picked at random and sampled wherever it is, blocked and parked ones included.
#[macro_export]
macro_rules! profile_walltime {
    ($expression:expr $(,)?) => {
        $crate::__run_within!($crate::Session::walltime(), $expression)
    };
}

/// The body of both macros.
#[doc(hidden)]
#[macro_export]
macro_rules! __run_within {
    ($session:expr, $expression:expr) => {
        match $session {
            ::core::result::Result::Ok(session) => {
                let value = $expression;
                #[allow(unreachable_code, reason = "the expression may never end")]
                let () = ::core::mem::drop(session);
                $crate::Result::Ok(value)
            }
            ::core::result::Result::Err(error) => $crate::Result::Err(error),
        }
    };
}

/// Reads or changes the settings, as Julia's `Profile.init` does: `init!()` gives
/// `(words, seconds)`; `init!(n = …, delay = …)` sets either or both and empties the buffer.
///
/// ```
/// # fn main() -> profundo::Result<()> {
/// profundo::init!(n = 1_000_001, delay = 0.0005)?;
/// assert_eq!(profundo::init!(), (1_000_001, 0.0005));
/// # Ok(())
/// # }
/// ```
#[macro_export]
macro_rules! init {
    () => {
        $crate::settings().as_julia()
    };
    (n = $n:expr $(,)?) => {
        $crate::settings().words($n).apply()
    };
    (delay = $delay:expr $(,)?) => {
        $crate::settings().delay_seconds($delay).apply()
    };
    (delay = $delay:expr, n = $n:expr $(,)?) => {
        $crate::init!(n = $n, delay = $delay)
    };
    (n = $n:expr, delay = $delay:expr $(,)?) => {
        $crate::settings().words($n).delay_seconds($delay).apply()
    };
}
