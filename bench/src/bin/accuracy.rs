//! The errors of shares, and the coverage of their intervals, on a program with known shares.
#![expect(clippy::print_stdout, reason = "a comparison prints its figures")]

use std::error::Error;

use profundo_analysis::{Estimate, Filter, Place, Selection, shares};
use profundo_bench::options::Options;
use profundo_bench::process::machine;
use profundo_bench::quarters::{self, SHARES};
use profundo_bench::stacks::last_part;
use profundo_bench::stats::median;
use profundo_bench::{named, verdict};

const ABOUT: &str = "Compares the shares of four functions at 1 kHz with what they truly take.";

fn main() -> Result<(), Box<dyn Error>> {
    let options = Options::from_command_line(
        ABOUT,
        &[
            ("runs", 11.0),
            ("seconds", 10.0),
            ("short-runs", 100.0),
            ("short-seconds", 1.0),
            // Turns of a loop for each percent: the time that the functions run at once.
            ("turns", 300.0),
        ],
    );
    println!("{}", machine());
    let turns = options.count("turns") as u64;
    let truth = truth(turns, "before");

    let mut worst = Vec::new();
    for run in 1..=options.count("runs") {
        let found = sampled(options.get("seconds"), turns)?;
        let errors = found.map(|found| 100.0 * found.share);
        let errors = std::array::from_fn(|index| errors[index] - truth[index]);
        worst.push(
            errors
                .into_iter()
                .fold(0.0_f64, |most, error: f64| most.max(error.abs())),
        );
        let [a, b, c, d] = errors;
        println!("run {run}: off by {a:+.2} {b:+.2} {c:+.2} {d:+.2} percentage points");
    }
    let short_runs = options.count("short-runs");
    let mut covered = [0; 4];
    for _ in 0..short_runs {
        let found = sampled(options.get("short-seconds"), turns)?;
        for (index, Estimate { interval, .. }) in found.into_iter().enumerate() {
            let truth = truth[index] / 100.0;
            covered[index] += usize::from(interval.low <= truth && truth <= interval.high);
        }
    }
    self::truth(turns, "after");
    println!("{}", machine());
    verdict(
        "accuracy, worst share's error, median of runs",
        format!("{:.2} percentage points", median(&worst)),
        "≤ 1",
    );
    let [a, b, c, d] = covered;
    verdict(
        &format!("coverage, runs of {short_runs} whose interval holds the truth"),
        format!("{a} {b} {c} {d}"),
        "88 to 100 of 100 each",
    );
    Ok(())
}

fn truth(turns: u64, when: &str) -> [f64; 4] {
    let (truth, microseconds) = quarters::calibrate(turns);
    let each = SHARES.iter().zip(truth);
    let each = each.map(|((name, percent), truth)| format!("{name} {truth:.3} % ({percent} %)"));
    let each: Vec<String> = each.collect();
    println!(
        "truth {when} (by construction): {}; once round in {microseconds:.1} µs",
        each.join(", ")
    );
    truth
}

/// The four functions' shares, sampled for `seconds`. They call only functions that are inlined
/// into them, so the total share is theirs.
fn sampled(seconds: f64, turns: u64) -> Result<[Estimate; 4], Box<dyn Error>> {
    profundo::clear();
    let session = profundo::Session::cpu()?;
    quarters::run(seconds, turns);
    drop(session);
    let profile = named::fetch()?;
    let all = Selection::new(&profile, &Filter::default());
    let mut found = SHARES.map(|_| Estimate::new(0.0, all.len() as f64));
    for function in shares(&profile, &all, true) {
        let Place::Frame(frame) = function.place else {
            continue;
        };
        let name = last_part(profile.function_name(frame));
        if let Some(index) = SHARES.iter().position(|(ours, _)| *ours == name) {
            found[index] = function.total;
        }
    }
    Ok(found)
}
