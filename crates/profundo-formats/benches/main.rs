//! The size and the speed of saved files, on samples that look like recorded ones:
//! `cargo bench -p profundo-formats`.

#![expect(
    clippy::print_stdout,
    reason = "a table on the terminal is what a bench is for"
)]

#[path = "../tests/it/made.rs"]
mod made;

use std::time::{Duration, Instant};

use made::Weights;
use profundo_model::Sample;

const SAMPLES: usize = 1_000_000;

fn main() {
    if std::env::args().any(|argument| argument == "large") {
        return large();
    }
    println!(
        "{SAMPLES} samples; MB/s of samples in memory ({} bytes each)",
        size_of::<Sample>()
    );
    println!("threads weights   B/sample  of that tables  write MB/s  read MB/s");
    for threads in [1, 8, 64] {
        for weights in [Weights::Period, Weights::Elapsed, Weights::Random] {
            let profile = made::realistic(SAMPLES, threads, weights);
            let mut tables = profile.clone();
            tables.samples.clear();
            let tables = write(&tables).len() as f64 / SAMPLES as f64;
            let file = write(&profile);
            let writing = fastest(|| drop(write(&profile)));
            let reading = fastest(|| drop(profundo_formats::read(&file).unwrap()));
            println!(
                "{threads:>7} {:<8} {:>9.2} {tables:>15.2} {:>11.0} {:>10.0}",
                format!("{weights:?}"),
                file.len() as f64 / SAMPLES as f64,
                speed(writing),
                speed(reading),
            );
        }
    }
}

/// A recording of hours: ten million samples, several threads, stacks of 40 levels.
fn large() {
    const SAMPLES: usize = 10_000_000;
    let shape = made::Shape {
        stacks: 20_000,
        depth: 40..41,
    };
    for weights in [Weights::Period, Weights::Random] {
        let mut profile = made::made(SAMPLES, 8, weights, &shape);
        let start = Instant::now();
        let file = write(&profile);
        let writing = start.elapsed();
        let rows = (profile.stacks.len(), profile.locations.len());
        profile.samples = Vec::new();
        let tables = write(&profile);
        drop(profile);
        let of_tables = fastest(|| drop(profundo_formats::read(&tables).unwrap()));
        let reading = fastest(|| drop(profundo_formats::read(&file).unwrap()));
        println!(
            "{SAMPLES} samples, {weights:?}: {:.1} MB, written in {writing:.2?}, read in \
             {reading:.2?}, {of_tables:.2?} of that tables ({} stack rows, {} locations)",
            file.len() as f64 / 1e6,
            rows.0,
            rows.1
        );
    }
}

fn write(profile: &profundo_model::Profile) -> Vec<u8> {
    let mut file = Vec::new();
    profundo_formats::write(profile, &mut file).unwrap();
    file
}

fn fastest(mut run: impl FnMut()) -> Duration {
    let once = |run: &mut dyn FnMut()| {
        let start = Instant::now();
        run();
        start.elapsed()
    };
    (0..5).map(|_| once(&mut run)).min().unwrap()
}

fn speed(time: Duration) -> f64 {
    (SAMPLES * size_of::<Sample>()) as f64 / 1e6 / time.as_secs_f64()
}
