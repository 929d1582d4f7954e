//! Allocates known numbers of bytes on known lines, and counts them by an allocator of its own that
//! asks the system's.

use std::alloc::{GlobalAlloc, Layout, System};
use std::hint::black_box;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

struct Counting;

static COUNT: AtomicU64 = AtomicU64::new(0);
static BYTES: AtomicU64 = AtomicU64::new(0);

unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        COUNT.fetch_add(1, Relaxed);
        BYTES.fetch_add(layout.size() as u64, Relaxed);
        unsafe { System.alloc(layout) }
    }
    unsafe fn dealloc(&self, block: *mut u8, layout: Layout) {
        unsafe { System.dealloc(block, layout) }
    }
    unsafe fn realloc(&self, block: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        COUNT.fetch_add(1, Relaxed);
        BYTES.fetch_add(size as u64, Relaxed);
        unsafe { System.realloc(block, layout, size) }
    }
}

#[global_allocator]
static ALLOCATOR: Counting = Counting;

#[inline(never)]
fn work() {
    for size in 1..2000_usize {
        black_box(Vec::<u8>::with_capacity(size));
    }
    let mut grown = Vec::new();
    for number in 0..10_000_u64 {
        grown.push(number);
    }
    black_box(&grown);
    let mut names = std::collections::HashMap::new();
    for number in 0..1000 {
        names.insert(format!("name {number}"), Box::new([number; 8]));
    }
    std::mem::forget(names);
}

fn main() {
    let before = (COUNT.load(Relaxed), BYTES.load(Relaxed));
    work();
    let after = (COUNT.load(Relaxed), BYTES.load(Relaxed));
    println!("{} {}", after.0 - before.0, after.1 - before.1);
}
