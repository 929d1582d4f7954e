//! Blocks know the span that they were allocated in, and spans allocate nothing themselves.

use std::hint::black_box;

use profundo::allocs;
use profundo::span;

use crate::{alone, my_number};

#[test]
fn a_block_knows_its_span() {
    const SIZE: usize = 7_123;
    let _alone = alone();
    let me = my_number();
    allocs::start(1.0).unwrap();
    let allocate = |size: usize| drop(black_box(Vec::<u8>::with_capacity(size)));
    allocate(SIZE);
    {
        let _outer = span!("outer", kind = "test");
        allocate(SIZE + 1);
        let _inner = span!("inner");
        allocate(SIZE + 2);
    }
    allocate(SIZE + 3);
    // The first time, a span's name and its path are noted.
    let before = allocs::fetch().unwrap().iter().count();
    for _ in 0..1000 {
        let _outer = span!("outer", kind = "test");
    }
    allocs::stop();
    let results = allocs::fetch().unwrap();
    let of_me = |from: usize| {
        let mut all = results.iter().skip(from);
        all.any(|alloc| alloc.thread() == me)
    };
    assert!(!of_me(before), "spans allocate nothing of the program's");
    let profile = results.profile();
    let names = |size: usize| -> Vec<&str> {
        let mut blocks = profile.heap.blocks.iter();
        let block = blocks.find(|block| block.size == size as u64).unwrap();
        let paths = profile.spans.paths.outwards(block.span);
        paths
            .map(|id| profile.strings.get(profile.spans.paths.get(id).name))
            .collect()
    };
    assert_eq!(names(SIZE), [""; 0]);
    assert_eq!(names(SIZE + 1), ["outer"]);
    assert_eq!(names(SIZE + 2), ["inner", "outer"]);
    assert_eq!(names(SIZE + 3), [""; 0]);
}
