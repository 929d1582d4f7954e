//! A few threads for one piece of work. They have large stacks because the debug information
//! decides how deep the readers of it recurse.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;

/// Reserved, not used: only touched pages of a stack take memory.
const STACK: usize = 64 << 20;

/// Calls `work` for each item on at most `threads` threads, each of which calls `begin` first, and
/// returns the results in the order of the items; `None` for an item whose work panicked.
pub(crate) fn map<T: Sync, R: Send>(
    threads: usize,
    begin: fn(),
    items: &[T],
    work: impl Fn(&T) -> R + Sync,
) -> Vec<Option<R>> {
    let mut nothing = Vec::new();
    nothing.resize_with(items.len(), || None);
    let results = Mutex::new(nothing);
    // Relaxed: the counter only hands out numbers; the results go through the mutex.
    let next = AtomicUsize::new(0);
    let run = || {
        while let Some((index, item)) = {
            let index = next.fetch_add(1, Ordering::Relaxed);
            items.get(index).map(|item| (index, item))
        } {
            let result = catch_unwind(AssertUnwindSafe(|| work(item))).ok();
            results.lock().unwrap_or_else(|e| e.into_inner())[index] = result;
        }
    };
    thread::scope(|scope| {
        let mut started = 0;
        for _ in 0..threads.clamp(1, items.len().max(1)) {
            let builder = thread::Builder::new()
                .name("profundo-names".into())
                .stack_size(STACK);
            let begun = || {
                begin();
                run();
            };
            started += usize::from(builder.spawn_scoped(scope, begun).is_ok());
        }
        // A process may be allowed no more threads; then the work is done here.
        if started == 0 {
            run();
        }
    });
    results.into_inner().unwrap_or_else(|e| e.into_inner())
}

/// Like [`map`], but on the calling thread alone: for work that does not recurse.
pub(crate) fn map_here<T, R>(items: &[T], work: impl Fn(&T) -> R) -> Vec<Option<R>> {
    let guarded = |item| catch_unwind(AssertUnwindSafe(|| work(item))).ok();
    items.iter().map(guarded).collect()
}

#[cfg(test)]
mod tests {
    #[test]
    fn results_keep_the_order_of_the_items() {
        let items: Vec<u32> = (0..100).collect();
        let squares = super::map(4, || {}, &items, |item| item * item);
        assert!(
            squares
                .iter()
                .zip(&items)
                .all(|(square, item)| *square == Some(item * item))
        );
    }
}
