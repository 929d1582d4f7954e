//! The handler's own time per sample, without the kernel's delivery, by its own cycle count; and
//! the part of it per frame.
#![expect(clippy::print_stdout, reason = "a comparison prints its figures")]

use std::error::Error;
use std::hint::black_box;
use std::time::{Duration, Instant};

use profundo_bench::options::Options;
use profundo_bench::process::machine;
use profundo_bench::stats::median;
use profundo_bench::{verdict, workload};
use profundo_probe::clock;

const ABOUT: &str = "Measures the handler's own time for a sample, by depth and rate.";
/// Runs of each kind, in turn; the figure is their median.
const RUNS: usize = 5;

/// The sampled program.
#[derive(Clone, Copy)]
enum Program {
    /// Arithmetic below this many frames: the cache is all the profiler's.
    Spin(u32),
    /// The stair with its leaves.
    Stair,
}

fn main() -> Result<(), Box<dyn Error>> {
    let options = Options::from_command_line(ABOUT, &[("seconds", 2.0)]);
    println!("{}", machine());
    let seconds = options.get("seconds");
    let programs = [Program::Spin(1), Program::Spin(40), Program::Stair];
    for rate in [1000.0, 10_000.0] {
        let mut costs = [const { Vec::new() }; 3];
        let mut depths = [0.0; 3];
        for _ in 0..RUNS {
            for (index, program) in programs.iter().enumerate() {
                let (cost, depth) = one(*program, rate, seconds)?;
                costs[index].push(cost);
                depths[index] = depth;
            }
        }
        let [shallow, deep, stair] = costs.map(|costs| median(&costs));
        println!(
            "\nat {rate} Hz: {shallow:.0} ns at {:.0} frames, {deep:.0} ns at {:.0}: {:.1} ns a frame",
            depths[0],
            depths[1],
            (deep - shallow) / (depths[1] - depths[0])
        );
        let frames = depths[2];
        verdict(
            &format!("walk at {rate} Hz, {frames:.0} frames"),
            format!("{stair:.0} ns"),
            "none",
        );
    }
    println!("{}", machine());
    Ok(())
}

/// The handler's nanoseconds per sample, and the median depth.
fn one(program: Program, rate: f64, seconds: f64) -> Result<(f64, f64), Box<dyn Error>> {
    profundo::init(20_000_000, 1.0 / rate)?;
    let (_, cycles_before) = profundo_capture::handler_cost();
    let (began, first) = (Instant::now(), clock::now());
    let session = profundo::Session::cpu()?;
    match program {
        Program::Spin(depth) => {
            workload::at_depth(depth, &mut || spin(seconds));
        }
        Program::Stair => {
            while began.elapsed().as_secs_f64() < seconds {
                workload::climb(1000);
            }
        }
    }
    drop(session);
    let per_cycle = began.elapsed().as_nanos() as f64 / clock::now().wrapping_sub(first) as f64;
    let (_, cycles) = profundo_capture::handler_cost();
    let data = profundo::fetch()?;
    let profile = data.profile();
    let depths: Vec<f64> = profile
        .samples
        .iter()
        .map(|sample| profile.stacks.locations(sample.stack).count() as f64)
        .collect();
    // Ticks that look for system time in vain are part of the cost of the samples.
    let cost = (cycles - cycles_before) as f64 * per_cycle / data.len().max(1) as f64;
    Ok((cost, median(&depths)))
}

#[inline(never)]
fn spin(seconds: f64) {
    let began = Instant::now();
    let mut state = 1_u64;
    while began.elapsed() < Duration::from_secs_f64(seconds) {
        for turn in 0..100_000 {
            state = (state ^ turn).wrapping_mul(0x2545_F491_4F6C_DD1D);
        }
    }
    black_box(state);
}
