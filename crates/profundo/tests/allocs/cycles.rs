//! Start, stop, fetch and clear, in any order and number.

use std::hint::black_box;

use profundo::allocs::{self, Rate};

use crate::{alone, my_number};

fn box_some(count: usize) {
    for number in 0..count {
        drop(black_box(Box::new(number)));
    }
}

/// The number of boxes recorded on this thread.
fn boxes(me: u64) -> usize {
    let results = allocs::fetch().unwrap();
    (results.iter())
        .filter(|alloc| alloc.thread() == me && alloc.type_of().to_string() == "Box<usize>")
        .count()
}

#[test]
fn recordings_add_up_until_they_are_cleared() {
    let _alone = alone();
    let me = my_number();
    for cycle in 1..=3 {
        allocs::profile!(sample_rate = 1.0, box_some(10)).unwrap();
        assert_eq!(boxes(me), 10 * cycle);
        assert_eq!(boxes(me), 10 * cycle, "fetching takes nothing away");
    }
    allocs::clear();
    assert_eq!(allocs::fetch().unwrap().len(), 0);
    allocs::clear();
    // Cleared without a fetch.
    allocs::profile!(sample_rate = 1.0, box_some(10)).unwrap();
    allocs::clear();
    assert!(allocs::fetch().unwrap().is_empty());
    allocs::profile!(sample_rate = 1.0, box_some(7)).unwrap();
    assert_eq!(boxes(me), 7);
}

#[test]
fn starting_twice_goes_on_and_may_change_the_rate() {
    let _alone = alone();
    let me = my_number();
    allocs::start(1.0).unwrap();
    box_some(5);
    allocs::start(1.0).unwrap();
    box_some(5);
    assert!(allocs::is_running());
    allocs::start(0.0).unwrap();
    box_some(100);
    allocs::start(Rate::Bytes(0)).unwrap();
    box_some(3);
    allocs::stop();
    box_some(100);
    allocs::stop();
    assert!(!allocs::is_running());
    assert_eq!(boxes(me), 13);
}

#[test]
fn nothing_and_all() {
    let _alone = alone();
    let me = my_number();
    for rate in [0.0, -1.0, f64::NEG_INFINITY] {
        allocs::profile!(sample_rate = rate, box_some(1000)).unwrap();
        assert_eq!(allocs::len(), 0, "{rate}");
    }
    for rate in [1.0, 2.0, f64::INFINITY] {
        allocs::profile!(sample_rate = rate, box_some(10)).unwrap();
        assert_eq!(boxes(me), 10, "{rate}");
        allocs::clear();
    }
    let error = allocs::start(f64::NAN).unwrap_err();
    assert!(error.to_string().contains("NaN"), "{error}");
}

#[test]
fn what_goes_on_can_be_fetched_and_cleared() {
    let _alone = alone();
    let me = my_number();
    allocs::start(1.0).unwrap();
    box_some(4);
    assert_eq!(boxes(me), 4);
    box_some(4);
    assert_eq!(boxes(me), 8, "what fetching allocates is not recorded");
    allocs::clear();
    box_some(2);
    assert_eq!(boxes(me), 2);
    allocs::stop();
}

#[test]
fn a_recording_within_another_is_refused() {
    let _alone = alone();
    let mut has_run = false;
    let inner = allocs::profile!(allocs::profile!(has_run = true)).unwrap();
    assert_eq!(
        inner.unwrap_err().to_string(),
        "allocations are already being recorded in this process; `profile!` cannot be nested or concurrent"
    );
    assert!(!has_run);
    assert!(!allocs::is_running());
}

#[test]
fn leaving_ends_it() {
    let _alone = alone();
    fn fails() -> Result<(), Box<dyn std::error::Error>> {
        allocs::profile!("x".parse::<u32>()?)?;
        Ok(())
    }
    fn returns(early: bool) -> u32 {
        let left = allocs::profile!({
            if early {
                return 5;
            }
        });
        left.map_or(7, |()| 6)
    }
    assert_eq!(
        fails().unwrap_err().to_string(),
        "invalid digit found in string"
    );
    assert!(!allocs::is_running());
    assert_eq!((returns(true), returns(false)), (5, 6));
    assert!(!allocs::is_running());
    let panicked = std::panic::catch_unwind(|| {
        allocs::profile!(sample_rate = 1.0, {
            let text = String::from("unwinding drops this");
            std::panic::resume_unwind(Box::new(text));
        })
    });
    let thrown = panicked.unwrap_err().downcast::<String>().unwrap();
    assert_eq!(*thrown, "unwinding drops this");
    assert!(!allocs::is_running());
    assert!(!allocs::fetch().unwrap().is_empty());
}

#[test]
fn a_full_log_says_so() {
    let _alone = alone();
    allocs::init(100).unwrap();
    assert_eq!(allocs::capacity(), 100);
    allocs::profile!(sample_rate = 1.0, {
        let refused = allocs::init(5).unwrap_err();
        assert_eq!(
            refused.to_string(),
            "the room for allocations cannot be changed while they are recorded; call `stop` first"
        );
        box_some(1000);
    })
    .unwrap();
    let results = allocs::fetch().unwrap();
    assert_eq!(results.len(), 100);
    assert!(results.lost() >= 900, "{}", results.lost());
    let text = results.report().to_text().unwrap();
    assert!(
        text.contains("Warning: the room for allocations is full"),
        "{text}"
    );
    allocs::clear();
    assert_eq!(allocs::fetch().unwrap().lost(), 0);
    assert_eq!(
        allocs::init(0).unwrap_err().to_string(),
        "room for 0 allocations is not possible; it must be for 1 to 2^36 of them"
    );
}
