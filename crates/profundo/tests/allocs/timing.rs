//! The timing macros, where allocations are counted.

use std::hint::black_box;
use std::thread;

use profundo::locks::Mutex;

#[test]
fn allocations_of_all_threads_are_counted() {
    let timed = profundo::timed!(
        thread::spawn(|| black_box(vec![1_u8; 100_000]).len())
            .join()
            .unwrap()
    );
    assert_eq!(timed.value, 100_000);
    assert!(timed.bytes >= Some(100_000) && timed.allocations >= Some(1));
    assert!(profundo::allocated!(black_box(vec![0_u64; 1000])) >= Some(8000));
    assert!(profundo::allocations!(black_box(Box::new(1))) >= Some(1));
}

#[test]
fn they_print_and_pass_on() {
    assert_eq!(profundo::time!(black_box(vec![1, 2])), [1, 2]);
    assert_eq!(profundo::time!("label", 5), 5);
    assert_eq!(profundo::timev!(black_box(vec![1, 2])), [1, 2]);
    assert_eq!(profundo::showtime!(2 + 3), 5);
}

#[test]
fn waits_for_locks_are_counted() {
    static LOCK: Mutex<u32> = Mutex::new(0);
    assert_eq!(
        profundo::lock_conflicts!(*LOCK.lock().unwrap() += 1).map(|conflicts| conflicts < 1000),
        Some(true)
    );
    let conflicts = profundo::lock_conflicts!({
        let held = LOCK.lock().unwrap();
        let before = profundo::locks::conflicts();
        let waiter = thread::spawn(|| *LOCK.lock().unwrap() += 1);
        while profundo::locks::conflicts() == before {
            thread::yield_now();
        }
        drop(held);
        waiter.join().unwrap();
    });
    assert!(conflicts >= Some(1), "{conflicts:?}");
}
