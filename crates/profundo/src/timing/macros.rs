//! The macros that time an expression.

/// Runs an expression, prints its time on stdout, and returns its value; a label before it starts
/// the line.
///
/// ```
/// let sum = profundo::time!((0..1000).sum::<u64>());
/// let sum = profundo::time!("the sum again", sum + 0);
/// assert_eq!(sum, 499_500);
/// ```
#[macro_export]
macro_rules! time {
    ($expression:expr $(,)?) => {{
        let watch = $crate::timing::Stopwatch::new();
        let value = $expression;
        watch.print(::core::option::Option::None, value)
    }};
    ($label:expr, $expression:expr $(,)?) => {{
        let watch = $crate::timing::Stopwatch::new();
        let value = $expression;
        watch.print(::core::option::Option::Some(&$label), value)
    }};
}

/// As [`time!`](crate::time!), with the expression's text as the label.
///
/// ```
/// let sum = profundo::showtime!((0..1000).sum::<u64>());
/// assert_eq!(sum, 499_500);
/// ```
#[macro_export]
macro_rules! showtime {
    ($expression:expr $(,)?) => {
        $crate::time!(::core::stringify!($expression), $expression)
    };
}

/// The seconds that an expression took; its value is dropped after the measurement.
///
/// ```
/// let seconds: f64 = profundo::elapsed!((0..1000).sum::<u64>());
/// assert!(seconds < 60.0);
/// ```
#[macro_export]
macro_rules! elapsed {
    ($expression:expr $(,)?) => {{
        let started = ::std::time::Instant::now();
        let value = $expression;
        let seconds = started.elapsed().as_secs_f64();
        ::core::mem::drop(value);
        seconds
    }};
}

/// An expression's value together with what it took, as a [`Timed`](crate::Timed).
///
/// ```
/// let timed = profundo::timed!((0..1000).sum::<u64>());
/// assert_eq!(timed.value, 499_500);
/// assert!(timed.time >= 0.0);
/// ```
#[macro_export]
macro_rules! timed {
    ($expression:expr $(,)?) => {{
        let watch = $crate::timing::Stopwatch::new();
        let value = $expression;
        watch.stop(value)
    }};
}

/// As [`time!`](crate::time!), with all numbers below the line.
///
/// ```
/// let sum = profundo::timev!((0..1000).sum::<u64>());
/// assert_eq!(sum, 499_500);
/// ```
#[macro_export]
macro_rules! timev {
    ($expression:expr $(,)?) => {{
        let watch = $crate::timing::Stopwatch::new();
        let value = $expression;
        watch.print_all(value)
    }};
}

/// The bytes that the process allocated while an expression ran; its value is dropped after the
/// measurement. `None` where [`Alloc`](crate::Alloc) is not the program's allocator.
///
/// [`allocs::here`](crate::allocs::here) counts the calling thread alone.
///
/// ```
/// #[global_allocator]
/// static ALLOC: profundo::Alloc = profundo::Alloc::system();
///
/// assert!(profundo::allocated!(vec![0_u8; 1000]) >= Some(1000));
/// ```
#[macro_export]
macro_rules! allocated {
    ($expression:expr $(,)?) => {
        $crate::timed!($expression).bytes
    };
}

/// The number of allocations of the process while an expression ran; its value is dropped after the
/// measurement. `None` where [`Alloc`](crate::Alloc) is not the program's allocator.
///
/// ```
/// #[global_allocator]
/// static ALLOC: profundo::Alloc = profundo::Alloc::system();
///
/// assert!(profundo::allocations!(vec![0_u8; 1000]) >= Some(1));
/// ```
#[macro_export]
macro_rules! allocations {
    ($expression:expr $(,)?) => {
        $crate::timed!($expression).allocations
    };
}

/// The number of waits for our [`locks`](crate::locks) while an expression ran; its value is
/// dropped after the measurement. `None` where none of them was ever taken: other locks do not
/// count.
///
/// ```
/// static LOCK: profundo::locks::Mutex<u32> = profundo::locks::Mutex::new(0);
///
/// assert_eq!(profundo::lock_conflicts!(*LOCK.lock().unwrap() += 1), Some(0));
/// ```
#[macro_export]
macro_rules! lock_conflicts {
    ($expression:expr $(,)?) => {
        $crate::timed!($expression).lock_conflicts
    };
}
