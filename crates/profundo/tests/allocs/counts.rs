//! Counts of allocations, by thread and by process.

use std::hint::black_box;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;

use profundo::allocs::{self, here};

use crate::Stop;
use crate::oracle::{asked, asked_since};

fn words() -> Vec<String> {
    (0..100).map(|number| number.to_string()).collect()
}

#[test]
fn here_is_the_oracles_whatever_other_threads_do() {
    let stop = AtomicBool::new(false);
    thread::scope(|scope| {
        for _ in 0..2 {
            scope.spawn(|| {
                while !stop.load(Ordering::Relaxed) {
                    drop(black_box(words()));
                }
            });
        }
        let _stop = Stop(&stop);
        // The first call finds out whether allocations are counted, by a block of eight bytes.
        assert!(allocs::is_installed());
        for _ in 0..200 {
            let before = asked();
            let counted = here(words).unwrap();
            let expected = asked_since(before);
            assert_eq!(
                (counted.count, counted.bytes),
                (expected.count, expected.bytes)
            );
            assert_eq!(counted.freed, expected.freed);
            let live = expected.bytes as i64 - expected.freed_bytes as i64;
            assert_eq!(counted.live, live);
            assert!(counted.peak as i64 >= live);
            assert_eq!(counted.value.len(), 100);
        }
    });
}

#[test]
fn what_does_not_allocate_says_so() {
    let mut numbers = Vec::with_capacity(3);
    let filled = here(|| numbers.extend([1, 2, 3])).unwrap();
    assert_eq!(
        (filled.count, filled.bytes, filled.live, filled.peak),
        (0, 0, 0, 0)
    );
    let grown = here(|| numbers.push(4)).unwrap();
    assert_eq!((grown.count, grown.freed), (1, 1));
    let dropped = here(move || drop(numbers)).unwrap();
    assert_eq!((dropped.count, dropped.freed, dropped.peak), (0, 1, 0));
    assert!(dropped.live < 0);
}

#[test]
fn they_may_be_nested() {
    let outer = here(|| {
        drop(black_box(vec![0_u8; 1000]));
        let inner = here(|| drop(black_box(vec![0_u8; 10]))).unwrap();
        assert_eq!((inner.count, inner.bytes, inner.peak), (1, 10, 10));
        let panicked =
            std::panic::catch_unwind(|| here(|| std::panic::resume_unwind(Box::new(5_u64))));
        drop(panicked.map(|thread| thread.is_ok()));
    })
    .unwrap();
    assert_eq!(outer.peak, 1000);
    assert!(outer.count >= 2);
    assert_eq!(outer.live, 0);
}

#[test]
fn the_process_is_at_least_what_we_do() {
    let (count, bytes) = (allocs::count().unwrap(), allocs::bytes().unwrap());
    let kept = black_box(vec![0_u8; 1 << 20]);
    assert!(allocs::count().unwrap() > count);
    assert!(allocs::bytes().unwrap() >= bytes + (1 << 20));
    drop(kept);
}

#[test]
fn the_peak_is_the_highest() {
    const LARGE: i64 = 256 << 20;
    allocs::reset_peak().unwrap();
    let before = allocs::live().unwrap();
    let large = black_box(vec![0_u8; LARGE as usize]);
    let with = allocs::live().unwrap();
    drop(large);
    let after = allocs::live().unwrap();
    let peak = allocs::peak().unwrap();
    // Other tests have a few megabytes at a time.
    let near = |a: i64, b: i64| (a - b).abs() < LARGE / 4;
    assert!(near(with, before + LARGE), "{before} {with}");
    assert!(near(after, before), "{before} {after}");
    assert!(
        peak >= with - LARGE / 4 && near(peak, with),
        "{peak} {with}"
    );
    allocs::reset_peak().unwrap();
    assert!(allocs::peak().unwrap() < before + LARGE / 2);
}
