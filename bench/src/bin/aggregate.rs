//! The time to add up and print a million samples, and their size on disk: with a program's usual
//! number of distinct stacks; with a hundred times as many that differ in their innermost frames,
//! as with long hot functions; and with as many that have little in common, as in no real program.
#![expect(clippy::print_stdout, reason = "a comparison prints its figures")]

use std::error::Error;
use std::time::Instant;

use profundo::model::{Nanos, Profile, Sample, State};
use profundo::{Data, Format, Names};
use profundo_bench::made_up::{Dice, stacks};
use profundo_bench::options::Options;
use profundo_bench::process::machine;
use profundo_bench::stats::median;
use profundo_bench::verdict;

const ABOUT: &str = "Times reports on a made-up recording, and measures its file.";
const THREADS: u64 = 8;
const PERIOD: u64 = 1_000_000;
/// Cycles per nanosecond, roughly.
const CYCLES: f64 = 2.6;

fn main() -> Result<(), Box<dyn Error>> {
    let options =
        Options::from_command_line(ABOUT, &[("samples", 1e6), ("depth", 30.0), ("runs", 5.0)]);
    println!("{}", machine());
    let depth = options.count("depth");
    // Kind, distinct stacks, and the least number of frames that two stacks share.
    for (kind, distinct, common) in [
        ("usual", 2000, depth / 3),
        ("leaves", 200_000, depth.saturating_sub(3)),
        ("hard", 200_000, depth / 3),
    ] {
        let profile = made_up(options.count("samples"), depth, distinct, common);
        measure(kind, profile, options.count("runs"))?;
    }
    println!("{}", machine());
    Ok(())
}

fn measure(kind: &str, profile: Profile, runs: usize) -> Result<(), Box<dyn Error>> {
    let samples = profile.samples.len();
    println!(
        "\n{kind}: {samples} samples, {} rows of stacks, {} addresses, {} frames",
        profile.stacks.len(),
        profile.locations.len(),
        profile.frames.len()
    );
    let path = std::env::temp_dir().join(format!("{}-{kind}.profundo", std::process::id()));
    let began = Instant::now();
    profundo::save(&path, &Data::from_profile(profile), &Names::new())?;
    let saving = began.elapsed();
    let bytes = std::fs::metadata(&path)?.len();
    let began = Instant::now();
    let loaded = profundo::load(&path);
    std::fs::remove_file(&path)?;
    let (data, names) = loaded?;
    println!(
        "  saved in {:.2} s, loaded in {:.2} s",
        saving.as_secs_f64(),
        began.elapsed().as_secs_f64()
    );
    verdict(
        &format!("aggregate {kind}, bytes a sample on disk"),
        format!("{:.2}", bytes as f64 / samples as f64),
        "≤ 10",
    );
    for (name, format) in [("tree", Format::Tree), ("flat", Format::Flat)] {
        let mut times = Vec::new();
        let mut length = 0;
        for _ in 0..runs {
            let began = Instant::now();
            let report = profundo::report().of(&data, &names).format(format).c(true);
            length = report.to_text()?.len();
            times.push(began.elapsed().as_secs_f64());
        }
        verdict(
            &format!("aggregate {kind}, {name} of {length} bytes"),
            format!("{:.2} s", median(&times)),
            "≤ 1 s",
        );
    }
    Ok(())
}

/// A recording of a program on several threads. Stacks share their outer parts, and some are far
/// hotter than others.
fn made_up(samples: usize, depth: usize, distinct: usize, common: usize) -> Profile {
    let mut dice = Dice(0x9E37_79B9_7F4A_7C15);
    let mut profile = Profile::default();
    profile.meta.period = Nanos(PERIOD);
    profile.meta.engine = profundo::model::Engine::PerfSignal;
    let threads: Vec<_> = (1..=THREADS)
        .map(|number| {
            let thread = profile.hand_made_thread(number, &format!("worker-{number}"));
            (thread, profile.hand_made_task(number))
        })
        .collect();
    let stacks = stacks(&mut profile, &mut dice, depth, distinct, common);
    for index in 0..samples as u64 {
        let (thread, task) = threads[(index % THREADS) as usize];
        // The square prefers the first stacks: half of the samples are from a quarter of them.
        let draw = dice.below(1 << 20);
        let chosen = (draw * draw * stacks.len() as u64) >> 40;
        let time = index / THREADS * PERIOD + dice.below(PERIOD / 20);
        profile.samples.push(Sample {
            time: Nanos(time),
            weight: Nanos(PERIOD),
            clock: 1_000_000_000 + (time as f64 * CYCLES) as u64,
            thread,
            task,
            stack: stacks[chosen as usize],
            state: State::Running,
            ..Sample::default()
        });
    }
    profile
}
