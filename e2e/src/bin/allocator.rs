//! An allocator that aborts when the sampler's handler calls it, under a program that allocates
//! all the time, in threads that start and end.
//!
//! `allocator [engine]`

use std::alloc::{GlobalAlloc, Layout, System};
use std::collections::HashMap;
use std::hint::black_box;
use std::sync::atomic::{AtomicU64, Ordering};
use std::thread;
use std::time::Instant;

use profundo_e2e::{argument, seconds, shape, storm_on, sys, work};

static CALLS: AtomicU64 = AtomicU64::new(0);

struct Strict;

impl Strict {
    fn check_caller() {
        CALLS.fetch_add(1, Ordering::Relaxed);
        if profundo::is_inside_sampler() {
            std::process::abort();
        }
    }
}

// SAFETY: every call is forwarded to the system's allocator.
unsafe impl GlobalAlloc for Strict {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        Self::check_caller();
        // SAFETY: forwarded.
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, pointer: *mut u8, layout: Layout) {
        Self::check_caller();
        // SAFETY: forwarded.
        unsafe { System.dealloc(pointer, layout) }
    }

    unsafe fn realloc(&self, pointer: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        Self::check_caller();
        // SAFETY: forwarded.
        unsafe { System.realloc(pointer, layout, size) }
    }
}

#[global_allocator]
static ALLOCATOR: Strict = Strict;

fn main() {
    let engine = argument(1).unwrap_or_else(|| "auto".into());
    storm_on(&engine).apply().unwrap();
    let end = Instant::now() + seconds(1.0);
    let churn = || {
        thread::scope(|scope| {
            for _ in 0..3 {
                scope.spawn(|| churn(end));
            }
        });
    };
    profundo::profile!(churn()).unwrap();
    profundo::profile_walltime!(work::busy(20)).unwrap();
    profundo::clear();
    profundo::profile!(work::busy(50)).unwrap();
    shape::check(&profundo::fetch().unwrap(), 0.99);
    assert!(CALLS.load(Ordering::Relaxed) > 10_000);
    assert!(!profundo::is_inside_sampler());
    sys::print_line("the handler never allocated");
}

fn churn(end: Instant) {
    while Instant::now() < end {
        let mut map: HashMap<u64, String> = HashMap::new();
        for number in 0..200 {
            map.insert(number, format!("number {number}"));
        }
        black_box(&map);
        thread::spawn(|| black_box(vec![work::spin(1000); 1000]))
            .join()
            .unwrap();
    }
}
