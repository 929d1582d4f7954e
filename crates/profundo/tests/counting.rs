//! An allocator that counts from the program's first allocation on.

use std::hint::black_box;
use std::thread;

use profundo::allocs;

#[global_allocator]
static ALLOC: profundo::Alloc = profundo::Alloc::system().counting();

/// The only test of this program: others would add to its numbers.
#[test]
fn memory_from_before_the_first_question_is_counted() {
    const LARGE: usize = 50 << 20;
    let early = black_box(vec![1_u8; LARGE]);
    drop(black_box(vec![1_u8; 2 * LARGE]));
    // The first request.
    let live = allocs::live().unwrap();
    assert!(live >= LARGE as i64 && live < 2 * LARGE as i64, "{live}");
    let peak = allocs::peak().unwrap();
    assert!(
        peak >= 3 * LARGE as i64 && peak < 4 * LARGE as i64,
        "{peak}"
    );
    assert!(allocs::bytes().unwrap() >= 3 * LARGE as u64);
    // A free by another thread counts as well.
    thread::spawn(move || drop(early)).join().unwrap();
    let after = allocs::live().unwrap();
    assert!((0..LARGE as i64 / 2).contains(&after), "{after}");
    allocs::reset_peak().unwrap();
    assert!(allocs::peak().unwrap() < LARGE as i64);
    // And a recording does not disturb it.
    let text = allocs::profile!(sample_rate = 1.0, black_box(String::from("recorded"))).unwrap();
    assert!(!allocs::fetch().unwrap().is_empty());
    assert_eq!(allocs::here(|| drop(text)).unwrap().freed, 1);
}
