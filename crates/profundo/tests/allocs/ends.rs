//! The ends of blocks, and which of them are seen.

use std::hint::black_box;
use std::sync::mpsc;
use std::thread;

use profundo::allocs::{self, Rate};

use crate::{alone, my_number};

#[test]
fn blocks_that_another_thread_frees() {
    let _alone = alone();
    let me = my_number();
    let (send, receive) = mpsc::sync_channel::<Vec<u8>>(4);
    let freer = thread::spawn(move || {
        let mut freed = 0;
        for block in receive {
            freed += usize::from(black_box(block).capacity() == 4321);
        }
        freed
    });
    allocs::start(1.0).unwrap();
    for _ in 0..200 {
        send.send(black_box(Vec::with_capacity(4321))).unwrap();
    }
    let kept: Vec<u8> = black_box(Vec::with_capacity(4322));
    drop(send);
    assert_eq!(freer.join().unwrap(), 200);
    allocs::stop();
    let results = allocs::fetch().unwrap();
    let mine = |size| {
        results
            .iter()
            .filter(move |alloc| alloc.size() == size && alloc.thread() == me)
    };
    assert_eq!(mine(4321).count(), 200);
    assert!(mine(4321).all(|alloc| alloc.freed() >= Some(alloc.time())));
    assert_eq!(
        mine(4322).map(|alloc| alloc.freed()).collect::<Vec<_>>(),
        [None]
    );
    drop(kept);
}

#[test]
fn what_is_freed_while_nothing_is_recorded_is_not_known() {
    let _alone = alone();
    let me = my_number();
    let first =
        allocs::profile!(sample_rate = 1.0, black_box(Vec::<u8>::with_capacity(5001))).unwrap();
    drop(first);
    // The next block may well be given its address; its end is not the first one's.
    allocs::profile!(
        sample_rate = 1.0,
        drop(black_box(Vec::<u8>::with_capacity(5002)))
    )
    .unwrap();
    let results = allocs::fetch().unwrap();
    let freed: Vec<_> = (results.iter())
        .filter(|alloc| alloc.thread() == me && matches!(alloc.size(), 5001 | 5002))
        .map(|alloc| (alloc.size(), alloc.freed().is_some()))
        .collect();
    assert_eq!(freed, [(5001, false), (5002, true)]);
}

#[test]
fn what_is_freed_at_once_is_temporary() {
    let _alone = alone();
    let me = my_number();
    for rate in [Rate::Events(1.0), Rate::Bytes(1)] {
        allocs::start(rate).unwrap();
        drop(black_box(Vec::<u8>::with_capacity(6001)));
        let kept = black_box(Vec::<u8>::with_capacity(6002));
        let later = black_box(Vec::<u8>::with_capacity(6003));
        drop(kept);
        let mut moved = black_box(Vec::<u8>::with_capacity(6004));
        moved.reserve_exact(6005);
        thread::spawn(move || drop(moved)).join().unwrap();
        allocs::stop();
        drop(later);
        let results = allocs::fetch().unwrap();
        let found: Vec<_> = (results.iter())
            .filter(|alloc| alloc.thread() == me && alloc.size() > 6000 && alloc.size() < 6100)
            .map(|alloc| (alloc.size(), alloc.is_temporary()))
            .collect();
        let expected = [6001, 6002, 6003, 6004, 6005].map(|size| (size, size == 6001));
        assert_eq!(found, expected);
        allocs::clear();
    }
}
