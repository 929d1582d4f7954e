//! The cases of the tests of Julia's `Profile.Allocs`.

use std::hint::black_box;
use std::thread;

use profundo::allocs;

use crate::{alone, my_number, sizes_of};

#[test]
fn what_a_program_does_is_recorded_with_stack_size_and_type() {
    let _alone = alone();
    let lines = allocs::profile!(sample_rate = 1.0, {
        let text = std::fs::read_to_string("/proc/self/status").unwrap();
        text.lines().map(str::to_owned).collect::<Vec<_>>()
    })
    .unwrap();
    let results = allocs::fetch().unwrap();
    assert!(results.len() > lines.len());
    for alloc in &results {
        assert!(alloc.size() > 0);
        assert!(!alloc.stacktrace().is_empty());
        assert!(!alloc.type_of().to_string().is_empty());
        assert!(alloc.timestamp() > 0);
    }
    let shown = results.to_string();
    assert!(shown.starts_with("AllocResults(Alloc[Alloc("), "{shown}");
    let first = results.iter().next().unwrap();
    let (shown, size) = (first.to_string(), first.size());
    let leaf = first.stacktrace()[0].to_string();
    assert_eq!(
        shown,
        format!(
            "Alloc({}, StackFrame[{leaf}, ...], {size})",
            first.type_of()
        )
    );
}

/// The work of a spawned task.
#[inline(never)]
fn short_task(size: usize) -> usize {
    black_box(vec![0.5_f64; size]).len()
}

#[test]
fn a_thousand_tasks() {
    let _alone = alone();
    allocs::profile!(sample_rate = 1.0, {
        for _ in 0..25 {
            let threads: Vec<_> = (0..40).map(|_| thread::spawn(|| short_task(10))).collect();
            let sum: usize = threads
                .into_iter()
                .map(|thread| thread.join().unwrap())
                .sum();
            assert_eq!(sum, 400);
        }
    })
    .unwrap();
    let results = allocs::fetch().unwrap();
    assert!(results.len() >= 2000, "{}", results.len());
    let vectors = results
        .iter()
        .filter(|alloc| alloc.type_of().to_string() == "Vec<f64>" && alloc.size() == 80);
    assert_eq!(vectors.count(), 1000);
    // Each of them was a thread and a task of its own.
    let threads: std::collections::HashSet<_> = results
        .iter()
        .map(|alloc| (alloc.thread(), alloc.task()))
        .collect();
    assert!(threads.len() >= 1000, "{}", threads.len());
}

#[test]
fn text_is_a_string() {
    let _alone = alone();
    let me = my_number();
    let name = black_box("allocated");
    allocs::profile!(sample_rate = 1.0, drop(black_box(name.to_owned()))).unwrap();
    let results = allocs::fetch().unwrap();
    assert_eq!(sizes_of(&results, me, "String"), [9]);
}

#[derive(Debug, Clone, Copy)]
struct Point {
    _place: [f64; 3],
}

#[test]
fn a_struct_has_its_name() {
    let _alone = alone();
    let me = my_number();
    let point = Point { _place: [1.0; 3] };
    allocs::profile!(sample_rate = 1.0, drop(black_box(Box::new(point)))).unwrap();
    let results = allocs::fetch().unwrap();
    assert_eq!(sizes_of(&results, me, "Box<allocs::julia::Point>"), [24]);
}

#[test]
fn a_buffer_that_grows_is_one() {
    let _alone = alone();
    let me = my_number();
    let grown = allocs::profile!(sample_rate = 1.0, {
        let mut numbers: Vec<i64> = Vec::with_capacity(4);
        for number in 0..5 {
            numbers.push(black_box(number));
        }
        black_box(numbers)
    })
    .unwrap();
    let results = allocs::fetch().unwrap();
    let mine: Vec<_> = results
        .iter()
        .filter(|alloc| alloc.thread() == me)
        .collect();
    assert_eq!(sizes_of(&results, me, "Vec<i64>"), [32, 64]);
    let buffers: Vec<u64> = mine
        .iter()
        .filter(|alloc| alloc.is_buffer())
        .map(|alloc| alloc.size())
        .collect();
    assert_eq!(buffers, [64]);
    drop(grown);
}

#[test]
fn variables_of_the_caller_can_be_assigned() {
    let _alone = alone();
    let mut text = String::new();
    allocs::profile!(text = String::from("inside")).unwrap();
    assert_eq!(text, "inside");
}
