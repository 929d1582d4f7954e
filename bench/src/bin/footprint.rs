//! The memory that a session adds to a process, besides the samples and the unwind tables.
#![expect(clippy::print_stdout, reason = "a comparison prints its figures")]

use std::error::Error;
use std::time::Instant;

use profundo_bench::child;
use profundo_bench::options::Options;
use profundo_bench::process::{Memory, machine, peak_memory};
use profundo_bench::stats::median;
use profundo_bench::{verdict, workload};

const ABOUT: &str = "Measures the memory that a session of two seconds adds to a process.";
const RUNS: usize = 5;
const PAGE: usize = 4096;
/// Words before the addresses of each sample in the buffer.
const HEAD_WORDS: usize = 6;

fn main() -> Result<(), Box<dyn Error>> {
    if let Some((part, seconds)) = child::part() {
        return play(&part, seconds);
    }
    let options = Options::from_command_line(ABOUT, &[("seconds", 2.0)]);
    println!("{}", machine());
    let seconds = options.get("seconds");
    let runs: Result<Vec<_>, _> = (0..RUNS).map(|_| child::run("profundo", seconds)).collect();
    let runs = runs?;
    let figure = |name: &str| median(&runs.iter().map(|run| run.get(name)).collect::<Vec<_>>());
    let (added, buffer, tables) = (figure("added"), figure("buffer"), figure("tables"));
    println!(
        "resident before {:.2} MB; added {:.2} MB ({:.2} MB of it to no file), of which samples \
         {:.2} MB and tables {:.2} MB; at most added {:.2} MB",
        figure("before"),
        added,
        figure("anonymous"),
        buffer,
        tables,
        figure("peak")
    );
    verdict(
        "footprint, besides samples and tables",
        format!("{:.2} MB", added - buffer - tables),
        "≤ 4 MB",
    );
    #[cfg(feature = "peers")]
    {
        let runs: Result<Vec<_>, _> = (0..RUNS).map(|_| child::run("pprof", seconds)).collect();
        let peaks: Vec<f64> = runs?.iter().map(|run| run.get("peak")).collect();
        verdict(
            "pprof-rs, at most added in all",
            format!("{:.2} MB", median(&peaks)),
            "none: a peer",
        );
    }
    Ok(())
}

fn play(part: &str, seconds: f64) -> Result<(), Box<dyn Error>> {
    // Once without a session, so that the program's own pages are resident.
    workload::climb(100);
    let before = Memory::now();
    let peak_before = peak_memory();
    match part {
        "profundo" => {
            let session = profundo::Session::cpu()?;
            work(seconds);
            drop(session);
            let after = Memory::now();
            let peak = peak_memory();
            let difference = |after: u64, before: u64| after as f64 - before as f64;
            child::print_figure("before", before.resident as f64 / 1e6);
            child::print_figure("added", difference(after.resident, before.resident) / 1e6);
            let anonymous = difference(after.anonymous, before.anonymous);
            child::print_figure("anonymous", anonymous / 1e6);
            child::print_figure("tables", profundo_capture::table_bytes() as f64 / 1e6);
            child::print_figure("peak", difference(peak, peak_before) / 1e6);
            let data = profundo::fetch()?;
            let profile = data.profile();
            let words: usize = profile
                .samples
                .iter()
                .map(|sample| HEAD_WORDS + profile.stacks.locations(sample.stack).count())
                .sum();
            let bytes = (words * 8).next_multiple_of(PAGE);
            child::print_figure("buffer", bytes as f64 / 1e6);
        }
        #[cfg(feature = "peers")]
        "pprof" => {
            let guard = pprof::ProfilerGuard::new(1000)?;
            work(seconds);
            drop(guard);
            let peak = peak_memory() as f64 - peak_before as f64;
            child::print_figure("peak", peak / 1e6);
        }
        _ => return Err(format!("there is no part {part}").into()),
    }
    Ok(())
}

fn work(seconds: f64) {
    let began = Instant::now();
    while began.elapsed().as_secs_f64() < seconds {
        workload::climb(1000);
    }
}
