//! The allocation profiler in a program that has it as its allocator. Below it is an oracle, which
//! counts the actual requests by thread. A process has one recording, so the tests wait for each
//! other; libtest's own threads allocate at any time, so only the test's thread is compared.

mod counts;
mod cycles;
mod ends;
mod exact;
mod hard;
mod julia;
mod oracle;
mod reports;
mod sampled;
mod spans;
mod timing;

use std::sync::{Mutex, MutexGuard, PoisonError};

use profundo::allocs::{self, AllocResults};

#[global_allocator]
static ALLOC: profundo::Alloc<oracle::Oracle> = profundo::Alloc::new(oracle::Oracle);

static RECORDINGS: Mutex<()> = Mutex::new(());

/// Waits until no other test records; then nothing is recorded, and the buffer is as at the start
/// of a program.
fn alone() -> MutexGuard<'static, ()> {
    // A failed test leaves the lock poisoned, and perhaps a recording running.
    let guard = RECORDINGS.lock().unwrap_or_else(PoisonError::into_inner);
    allocs::stop();
    profundo::stop();
    allocs::init(1 << 22).unwrap();
    guard
}

/// The sizes of the allocations of this type on the thread of this number.
fn sizes_of(results: &AllocResults, thread: u64, type_name: &str) -> Vec<u64> {
    (results.iter())
        .filter(|alloc| alloc.thread() == thread && alloc.type_of().to_string() == type_name)
        .map(|alloc| alloc.size())
        .collect()
}

/// The number of the calling thread, as allocations have it. Nothing may be recorded at the moment.
fn my_number() -> u64 {
    const MARK: u64 = 7_654_321;
    allocs::start(1.0).unwrap();
    drop(std::hint::black_box(Vec::<u8>::with_capacity(
        MARK as usize,
    )));
    allocs::stop();
    let results = allocs::fetch().unwrap();
    let number = (results.iter())
        .filter(|alloc| alloc.size() == MARK)
        .map(|alloc| alloc.thread())
        .next();
    allocs::clear();
    number.expect("it was recorded")
}

/// Sets a flag when dropped: threads that wait for it end even if a test fails.
struct Stop<'a>(&'a std::sync::atomic::AtomicBool);

impl Drop for Stop<'_> {
    fn drop(&mut self) {
        self.0.store(true, std::sync::atomic::Ordering::Relaxed);
    }
}
