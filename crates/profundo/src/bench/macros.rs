//! The macro that makes a loop of an expression.

/// Times an expression, or several named ones to find the fastest, as a
/// [`Benched`](crate::bench::Benched), which prints as timeit does.
///
/// ```
/// use profundo::bench::{Options, black_box};
///
/// let one = profundo::bench!(options = Options::new().number(1000); black_box(7_u64).pow(2));
/// // 1000 loops, best of 5: 0.31 nsec per loop
/// println!("{one}");
///
/// let text = "a,b,c".repeat(10);
/// let options = Options::new().repeat(8).number(100);
/// let two = profundo::bench!(
///     options = options;
///     "chars" => text.chars().filter(|it| *it == ',').count(),
///     "bytes" => text.bytes().filter(|it| *it == b',').count(),
/// );
/// assert_eq!(two.seconds("bytes").map(|runs| runs.len()), Some(8));
/// // The ratio and its interval.
/// let ratio = two.ratio("chars", "bytes").unwrap();
/// assert!(ratio.low <= ratio.value && ratio.value <= ratio.high);
/// ```
///
/// Without `options = …;` there are 5 runs of at least 0.2 seconds, of several candidates 10 to 20
/// of at least 0.1 seconds each. All candidates exist at the same time: two of them cannot change
/// the same variable.
#[macro_export]
macro_rules! bench {
    (options = $options:expr; $($name:literal => $expression:expr),+ $(,)?) => {
        $crate::bench::measure(
            $options,
            &mut [$(($name, &mut $crate::__bench_loop!($expression))),+],
        )
    };
    (options = $options:expr; $expression:expr $(,)?) => {
        $crate::bench::measure(
            $options,
            &mut [(::core::stringify!($expression), &mut $crate::__bench_loop!($expression))],
        )
    };
    ($($name:literal => $expression:expr),+ $(,)?) => {
        $crate::bench!(options = $crate::bench::Options::new(); $($name => $expression),+)
    };
    ($expression:expr $(,)?) => {
        $crate::bench!(options = $crate::bench::Options::new(); $expression)
    };
}

/// The loop around an expression.
#[doc(hidden)]
#[macro_export]
macro_rules! __bench_loop {
    ($expression:expr) => {
        |loops: u64| {
            let started = ::std::time::Instant::now();
            for _ in 0..loops {
                ::core::mem::drop($crate::bench::black_box($expression));
            }
            started.elapsed()
        }
    };
}
