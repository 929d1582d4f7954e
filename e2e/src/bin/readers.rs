//! Samples are copied, cleared and counted while they are taken.

use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use profundo::{FetchOptions, fetch_with};
use profundo_e2e::{argument, seconds, shape, storm_on, sys, work};

fn main() {
    let what = argument(1).expect("keep or ring");
    let engine = argument(2).unwrap_or_else(|| "auto".into());
    let storm = storm_on(&engine);
    match what.as_str() {
        "keep" => storm.apply().unwrap(),
        "ring" => storm.words(50_000).ring(true).apply().unwrap(),
        other => panic!("cannot {other:?}"),
    }
    let ring = what == "ring";
    let end = Instant::now() + seconds(1.5);
    profundo::start().unwrap();
    let rounds = read_while_working(ring, end);
    profundo::stop();
    check_weights(rounds);
    sys::print_line("no sample was torn");
}

/// Reads and clears samples while four threads work. Returns the number of rounds.
fn read_while_working(ring: bool, end: Instant) -> u64 {
    let done = &AtomicBool::new(false);
    let mut rounds = 0;
    thread::scope(|scope| {
        for depth in [0, 3, 10, 30] {
            scope.spawn(move || {
                while !done.load(Ordering::Relaxed) {
                    work::deep(depth, 3);
                }
            });
        }
        // Whatever happens, the workers end.
        let _end = Ending(done);
        let mut most = 0;
        while Instant::now() < end {
            rounds += 1;
            thread::sleep(Duration::from_millis(rounds % 7));
            check(ring);
            most = most.max(profundo::len());
            assert!(profundo::len() <= profundo::capacity());
            assert!(!profundo::is_full());
            if rounds % 4 == 0 {
                profundo::clear();
            }
        }
        assert!(most > 1000, "{most}");
        // From here on everything counts.
        profundo::clear();
        // Time itself: the threads are sampled for so long.
        thread::sleep(Duration::from_millis(200));
        for _ in 0..5 {
            check(ring);
        }
    });
    rounds
}

/// The weights of the samples, with those that were lost, add up to the CPU time.
fn check_weights(rounds: u64) {
    let data = fetch_without_warning();
    let shape = shape::check(&data, 0.999);
    let meta = &data.profile().meta;
    let expected = meta.cpu.unwrap().0 as f64 / 1e9;
    // A sample that waited stands for several periods. The lost ones weigh what the others weigh.
    let per_sample = shape.weight / shape.samples as f64;
    let lost = meta.loss.lost() as f64 * per_sample;
    let line = format!(
        "{rounds} rounds, {} + {lost} of {expected} s, {shape:?}, {:?}\n",
        shape.weight, meta.loss
    );
    sys::note(&line);
    // System time is seen at random, hence the margin.
    let sum = shape.weight + lost;
    assert!(sum > 0.8 * expected && sum < 1.2 * expected, "{line}");
}

struct Ending<'a>(&'a AtomicBool);

impl Drop for Ending<'_> {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Relaxed);
    }
}

fn fetch_without_warning() -> profundo::Data {
    fetch_with(FetchOptions {
        limitwarn: false,
        ..FetchOptions::default()
    })
    .unwrap()
}

fn check(ring: bool) {
    let data = fetch_without_warning();
    let shape = shape::of(&data);
    assert_eq!(shape.of_unknown_threads, 0);
    assert_eq!(shape.samples, shape.whole, "{shape:?}");
    let notes = &data.profile().meta.notes;
    assert!(notes.is_empty(), "{notes:?}");
    assert!(ring || data.profile().meta.loss.overwritten == 0);
}
