//! Snapshots while many threads allocate as fast as they can.

use std::hint::black_box;
use std::sync::atomic::{AtomicBool, Ordering};

use profundo::heap;

use crate::graph::{Graph, Hidden};
use crate::{folder, turn};

const THREADS: u64 = 16;
/// The number of blocks before a thread rests for a moment.
const AT_ONCE: u64 = if cfg!(debug_assertions) { 20 } else { 5000 };
/// Without optimization each snapshot takes a hundred times as long.
const SNAPSHOTS: usize = if cfg!(debug_assertions) { 3 } else { 50 };
const MANY_SNAPSHOTS: usize = if cfg!(debug_assertions) { 15 } else { 200 };

/// Allocates, grows and frees blocks, at most a few dozen at a time.
fn storm(number: u64, stop: &AtomicBool) -> u64 {
    let mut kept: Vec<Vec<u64>> = Vec::new();
    let mut random = number;
    let (mut sum, mut round) = (0, 0_u64);
    while !stop.load(Ordering::Relaxed) {
        random = random
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1);
        let size = (random >> 40) as usize % 100;
        kept.push(vec![random; size]);
        if let Some(grown) = kept.first_mut() {
            grown.push(random);
        }
        if kept.len() > 20 {
            sum ^= kept.swap_remove((random >> 50) as usize % 20).len() as u64;
        }
        round += 1;
        if round % AT_ONCE == 0 {
            // The thread that takes the snapshots needs a CPU, too.
            std::thread::sleep(std::time::Duration::from_millis(10));
        }
    }
    sum
}

#[test]
fn what_stays_is_in_each_snapshot_whatever_else_happens() {
    take(SNAPSHOTS);
}

#[test]
#[ignore = "long: some minutes of snapshots while many threads allocate"]
fn what_stays_is_in_each_of_many_snapshots() {
    take(MANY_SNAPSHOTS);
}

fn take(snapshots: usize) {
    let _turn = turn();
    let folder = folder();
    let boxes: Vec<Box<u64>> = black_box((0..100).map(Box::new).collect());
    let at = Hidden::of(boxes.as_ptr());
    let expected: Vec<u64> = boxes
        .iter()
        .map(|value| &raw const **value as u64)
        .collect();
    let stop = AtomicBool::new(false);
    std::thread::scope(|scope| {
        for number in 0..THREADS {
            let stop = &stop;
            scope.spawn(move || black_box(storm(number, stop)));
        }
        for round in 0..snapshots {
            let path = folder.join("x.heapsnapshot");
            // A reference to a missing object would be an error.
            let snapshot = heap::options().to(&path).take().unwrap();
            assert_eq!(snapshot.missed(), 0);
            if round % 10 == 0 {
                let graph = Graph::read(&path);
                let edges = graph.edges(at);
                assert!(edges.iter().map(|edge| edge.1).eq(expected.iter().copied()));
                assert!(!graph.is_lost(at));
            }
        }
        stop.store(true, Ordering::Relaxed);
    });
    drop(boxes);
}
