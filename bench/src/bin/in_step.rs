//! Sampling in step with a loop. Four functions take 50, 30, 15 and 5 % of each cycle, and cycles
//! are from a fifth of a period to five periods long. The worst error of a share is compared with
//! that of as many independent samples: the 95th percentile of both, over many runs. The program is
//! recorded by a command, or records itself: then the loop runs on the thread that begins the
//! session (`library`), or on one that starts later (`library-thread`).
//!
//! ```text
//! in_step [--runs N] [--seconds SECONDS] [--cycles MICROSECONDS,…] [--engine ENGINE] PROFUNDO|library|library-thread
//! ```
#![expect(clippy::print_stdout, reason = "a comparison prints its figures")]

use std::env;
use std::error::Error;
use std::hint::black_box;
use std::path::Path;
use std::process::{Command, Stdio};
use std::thread;

use profundo_analysis::{Filter, Place, Selection, shares};
use profundo_bench::named;
use profundo_bench::process::machine;
use profundo_bench::stacks::last_part;
use profundo_bench::stats::quantile;
use profundo_bench::verdict;
use profundo_probe::sys::thread_cpu_time;
use serde_json::Value;

const USAGE: &str = "usage: in_step [--runs N] [--seconds SECONDS] [--cycles MICROSECONDS,…] [--engine ENGINE] PROFUNDO|library|library-thread";

/// A mode in place of the command: the program records itself, with the loop on the main thread or
/// another.
const LIBRARY: &str = "library";
const LIBRARY_THREAD: &str = "library-thread";

/// The functions, and the fractions of a cycle that they take.
const PARTS: [(&str, f64); 4] = [
    ("half", 0.5),
    ("third", 0.3),
    ("seventh", 0.15),
    ("twentieth", 0.05),
];

/// Environment variables of the profiled program: the length of a cycle, the seconds that it runs,
/// and its recorder.
const CYCLE: &str = "PROFUNDO_IN_STEP_CYCLE";
const SECONDS: &str = "PROFUNDO_IN_STEP_SECONDS";
const RECORDER: &str = "PROFUNDO_IN_STEP_RECORDER";

struct Plan {
    runs: usize,
    seconds: f64,
    cycles: Vec<f64>,
    engine: String,
    profundo: String,
}

fn main() -> Result<(), Box<dyn Error>> {
    if let (Ok(cycle), Ok(seconds)) = (env::var(CYCLE), env::var(SECONDS)) {
        let (cycle, seconds) = (cycle.parse()?, seconds.parse()?);
        match env::var(RECORDER).as_deref() {
            Ok(LIBRARY) => record_own(|| work(cycle, seconds))?,
            Ok(LIBRARY_THREAD) => record_own(|| {
                thread::scope(|scope| {
                    scope.spawn(|| work(cycle, seconds));
                });
            })?,
            _ => work(cycle, seconds),
        }
        return Ok(());
    }
    let plan = plan()?;
    println!("{}", machine());
    let chance = chance(&plan);
    println!(
        "independent samples: {chance:.2} points in 95 of 100 runs of {} s",
        plan.seconds
    );
    for &cycle in &plan.cycles {
        let mut errors = Vec::new();
        for _ in 0..plan.runs {
            errors.push(error(&plan, cycle)?);
        }
        let (middle, most) = (quantile(&errors, 0.5), quantile(&errors, 0.95));
        println!("  {cycle} us: median {middle:.2} points, 95th percentile {most:.2}");
        verdict(
            &format!("in step with {cycle} us, error by that of chance"),
            format!("{:.2}", most / chance),
            "at most 1.15",
        );
    }
    println!("{}", machine());
    Ok(())
}

fn plan() -> Result<Plan, Box<dyn Error>> {
    let mut plan = Plan {
        runs: 50,
        seconds: 2.5,
        cycles: vec![200.0, 500.0, 1000.0, 2000.0, 5000.0],
        engine: "auto".to_owned(),
        profundo: String::new(),
    };
    let mut rest = env::args().skip(1);
    while let Some(argument) = rest.next() {
        let mut value = || rest.next().ok_or(USAGE);
        match &*argument {
            "--runs" => plan.runs = value()?.parse()?,
            "--seconds" => plan.seconds = value()?.parse()?,
            "--engine" => plan.engine = value()?,
            "--cycles" => {
                let cycles = value()?;
                plan.cycles = cycles
                    .split(',')
                    .map(str::parse)
                    .collect::<Result<_, _>>()?;
            }
            _ if plan.profundo.is_empty() && !argument.starts_with('-') => plan.profundo = argument,
            _ => return Err(USAGE.into()),
        }
    }
    match plan.profundo.is_empty() || plan.runs == 0 {
        true => Err(USAGE.into()),
        false => Ok(plan),
    }
}

/// The program: cycles of this many microseconds, for this many seconds.
fn work(cycle: f64, seconds: f64) {
    let turns = turns_per_microsecond();
    let [half, third, seventh, twentieth] = PARTS.map(|(_, part)| (cycle * part * turns) as u64);
    let mut number = 1;
    for _ in 0..(seconds * 1e6 / cycle) as u64 {
        number = self::half(half, number);
        number = self::third(third, number);
        number = self::seventh(seventh, number);
        number = self::twentieth(twentieth, number);
    }
    black_box(number);
}

/// The turns of the loop below per microsecond: the best of several measurements.
fn turns_per_microsecond() -> f64 {
    const TURNS: u64 = 1_000_000;
    let took = (0..20).map(|_| {
        let began = thread_cpu_time();
        black_box(spin(TURNS, 1));
        thread_cpu_time() - began
    });
    let least = took.min().unwrap_or(1).max(1);
    TURNS as f64 * 1000.0 / least as f64
}

#[inline(always)]
fn spin(turns: u64, mut number: u64) -> u64 {
    for _ in 0..turns {
        number = black_box(
            number
                .wrapping_mul(6_364_136_223_846_793_005)
                .wrapping_add(1),
        );
    }
    number
}

#[inline(never)]
fn half(turns: u64, number: u64) -> u64 {
    spin(turns, number)
}

#[inline(never)]
fn third(turns: u64, number: u64) -> u64 {
    spin(turns, number ^ 1)
}

#[inline(never)]
fn seventh(turns: u64, number: u64) -> u64 {
    spin(turns, number ^ 2)
}

#[inline(never)]
fn twentieth(turns: u64, number: u64) -> u64 {
    spin(turns, number ^ 3)
}

/// Does the work in a session of the program's own, and prints each function's share.
fn record_own(work: impl FnOnce()) -> Result<(), Box<dyn Error>> {
    profundo::init(10_000_000, 0.001)?;
    let session = profundo::Session::cpu()?;
    work();
    drop(session);
    let profile = named::fetch()?;
    let all = Selection::new(&profile, &Filter::default());
    let mut found = [0.0; PARTS.len()];
    for function in shares(&profile, &all, true) {
        let Place::Frame(frame) = function.place else {
            continue;
        };
        let name = last_part(profile.function_name(frame));
        if let Some(index) = PARTS.iter().position(|(ours, _)| *ours == name) {
            found[index] = function.total.share;
        }
    }
    for share in found {
        println!("{share}");
    }
    Ok(())
}

/// The worst error of a share in one run, in points.
fn error(plan: &Plan, cycle: f64) -> Result<f64, Box<dyn Error>> {
    let seconds = match &*plan.profundo {
        LIBRARY | LIBRARY_THREAD => recorded_by_itself(plan, cycle)?,
        _ => recorded(plan, cycle)?,
    };
    let whole: f64 = seconds.iter().sum();
    if whole <= 0.0 {
        return Err("nothing was sampled".into());
    }
    let off = |(seconds, (_, part)): (&f64, (&str, f64))| (seconds / whole - part).abs() * 100.0;
    Ok(seconds.iter().zip(PARTS).map(off).fold(0.0, f64::max))
}

/// The functions' shares in a run that records itself.
fn recorded_by_itself(plan: &Plan, cycle: f64) -> Result<Vec<f64>, Box<dyn Error>> {
    let output = Command::new(env::current_exe()?)
        .env(CYCLE, cycle.to_string())
        .env(SECONDS, plan.seconds.to_string())
        .env(RECORDER, &plan.profundo)
        .stdin(Stdio::null())
        .output()?;
    let printed = String::from_utf8(output.stdout)?;
    let shares: Vec<f64> = printed.lines().map(str::parse).collect::<Result<_, _>>()?;
    match shares.len() == PARTS.len() {
        true => Ok(shares),
        false => Err(String::from_utf8_lossy(&output.stderr).into()),
    }
}

/// The functions' times in a run that the command records.
fn recorded(plan: &Plan, cycle: f64) -> Result<Vec<f64>, Box<dyn Error>> {
    let file = env::temp_dir().join(format!("profundo-in-step-{}", std::process::id()));
    let status = Command::new(&plan.profundo)
        .args(["run", "--engine", &plan.engine, "-o"])
        .arg(&file)
        .arg("--")
        .arg(env::current_exe()?)
        .env(CYCLE, cycle.to_string())
        .env(SECONDS, plan.seconds.to_string())
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .status()?;
    if !status.success() {
        return Err(format!("{} run ended with {status}", plan.profundo).into());
    }
    let seconds = seconds_of(plan, &file)?;
    std::fs::remove_file(&file)?;
    Ok(seconds)
}

/// Each function's seconds from the report, with the loop that is inlined into it.
fn seconds_of(plan: &Plan, file: &Path) -> Result<Vec<f64>, Box<dyn Error>> {
    let output = Command::new(&plan.profundo)
        .arg("report")
        .arg(file)
        .args(["functions", "--json"])
        .output()?;
    let report: Value = serde_json::from_slice(&output.stdout)?;
    let functions = report["functions"]
        .as_array()
        .ok_or("the report has no functions")?;
    let of = |name: &str| {
        let has_name = |function: &&Value| {
            let full_name = function["function"].as_str().unwrap_or_default();
            full_name.rsplit("::").next() == Some(name)
        };
        let found = functions.iter().find(has_name);
        let seconds = found.and_then(|function| function["total_seconds"].as_f64());
        seconds.ok_or(format!("{name} was not sampled"))
    };
    Ok(PARTS
        .iter()
        .map(|(name, _)| of(name))
        .collect::<Result<_, _>>()?)
}

/// The worst error of a share for independent samples, one per millisecond, in 95 of 100 runs.
fn chance(plan: &Plan) -> f64 {
    const RUNS: usize = 4000;
    let samples = (plan.seconds * 1000.0) as usize;
    let mut state = 0x9E37_79B9_7F4A_7C15_u64;
    let mut part = || {
        // xorshift64*, whose high bits are good.
        state ^= state >> 12;
        state ^= state << 25;
        state ^= state >> 27;
        (state.wrapping_mul(0x2545_F491_4F6C_DD1D) >> 11) as f64 / (1_u64 << 53) as f64
    };
    let mut errors = Vec::new();
    for _ in 0..RUNS {
        let mut counts = [0_u32; PARTS.len()];
        for _ in 0..samples {
            let mut left = part();
            let at = PARTS.iter().position(|(_, part)| {
                left -= part;
                left < 0.0
            });
            counts[at.unwrap_or(PARTS.len() - 1)] += 1;
        }
        let off = |(&count, (_, part)): (&u32, (&str, f64))| {
            (f64::from(count) / samples as f64 - part).abs() * 100.0
        };
        errors.push(counts.iter().zip(PARTS).map(off).fold(0.0, f64::max));
    }
    quantile(&errors, 0.95)
}
