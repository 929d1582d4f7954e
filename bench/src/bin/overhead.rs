//! The cost of profiling to a program as a whole: the same work with and without a profiler, in
//! turn, each run in a process of its own that the kernel accounts for.
#![expect(clippy::print_stdout, reason = "a comparison prints its figures")]

use std::error::Error;

use profundo_bench::child::{self, Outcome};
use profundo_bench::options::Options;
use profundo_bench::pairs::percent_more;
use profundo_bench::process::{Cpu, machine, peak_memory};
use profundo_bench::stats::{Summary, median};
use profundo_bench::{named, stacks, verdict, workload};

const ABOUT: &str = "Compares the CPU time of a program with and without a profiler at 1 kHz.";
/// Samples per second.
const RATE: f64 = 1000.0;

/// A profiler, by the part that its child plays.
struct Rival {
    part: &'static str,
    name: &'static str,
    target: &'static str,
}

const RIVALS: &[Rival] = &[
    Rival {
        part: "profundo",
        name: "profundo",
        target: "none: the kernel decides",
    },
    #[cfg(feature = "peers")]
    Rival {
        part: "pprof",
        name: "pprof-rs",
        target: "none: a peer",
    },
];

fn main() -> Result<(), Box<dyn Error>> {
    if let Some((part, number)) = child::part() {
        return play(&part, number);
    }
    let options = Options::from_command_line(ABOUT, &[("pairs", 15.0), ("seconds", 2.0)]);
    println!("{}", machine());
    let rounds = workload::rounds_for(options.get("seconds")) as f64;
    let pairs = options.count("pairs");
    let mut plain = vec![child::run("plain", rounds)?];
    let mut runs: Vec<Vec<Outcome>> = RIVALS.iter().map(|_| Vec::new()).collect();
    // Each rival has plain runs of its own around it: A B A C A B A …
    let mut around: Vec<Vec<[Outcome; 2]>> = RIVALS.iter().map(|_| Vec::new()).collect();
    for _ in 0..pairs {
        for (index, rival) in RIVALS.iter().enumerate() {
            let before = plain[plain.len() - 1].clone();
            runs[index].push(child::run(rival.part, rounds)?);
            plain.push(child::run("plain", rounds)?);
            around[index].push([before, plain[plain.len() - 1].clone()]);
        }
    }
    for (index, rival) in RIVALS.iter().enumerate() {
        report(rival, &runs[index], &around[index], rounds)?;
    }
    if cfg!(not(feature = "peers")) {
        println!("pprof-rs: not compared; build with --features peers");
    }
    println!("{}", machine());
    Ok(())
}

fn report(
    rival: &Rival,
    runs: &[Outcome],
    around: &[[Outcome; 2]],
    rounds: f64,
) -> Result<(), Box<dyn Error>> {
    let more = |cost: &dyn Fn(&Outcome) -> f64| {
        let each = runs
            .iter()
            .zip(around)
            .flat_map(|(run, around)| percent_more(&around.each_ref().map(cost), &[cost(run)]));
        Summary::of(&each.collect::<Vec<_>>())
    };
    let whole = more(&|run| run.cpu.total());
    let work = more(&|run| run.get("work"));
    let memory: Vec<f64> = runs
        .iter()
        .zip(around)
        .map(|(run, [before, _])| (run.get("peak") - before.get("peak")) / 1e6)
        .collect();
    let per_sample = runs.iter().zip(around).map(|(run, [before, after])| {
        let plain = (before.get("work") + after.get("work")) / 2.0;
        (run.get("work") - plain) * 1e6 / run.get("samples")
    });
    let per_sample: Vec<f64> = per_sample.collect();
    let around_work: Vec<f64> = runs
        .iter()
        .map(|run| 1e3 * (run.cpu.total() - run.get("work")))
        .collect();
    let delivered: Vec<f64> = runs
        .iter()
        .map(|run| 100.0 * run.get("samples") / (run.get("user") * RATE))
        .collect();
    let quality = child::run(&format!("{}-stacks", rival.part), rounds)?;
    let Rival { name, target, .. } = rival;
    println!("\n{name} at {RATE} Hz");
    println!("  whole process: {}", whole.show(" %"));
    println!("  without start and stop: {}", work.show(" %"));
    verdict(
        &format!("{name} overhead"),
        format!("{:.2} %", work.median),
        target,
    );
    println!(
        "  a sample that was delivered: {:.1} µs; start, stop and copying the samples: {:.0} ms",
        median(&per_sample),
        median(&around_work)
    );
    let delivered = format!("{:.1} %", median(&delivered));
    verdict(
        &format!("{name} samples delivered"),
        delivered,
        "100 % ± 3 %",
    );
    let (whole, possible) = (quality.get("whole"), quality.get("possible"));
    let text = format!("{whole:.3} % and {possible:.3} %");
    verdict(
        &format!("{name} stacks whole, and possible"),
        text,
        "≥ 99.9 %",
    );
    let memory = format!("{:.1} MB", median(&memory));
    verdict(
        &format!("{name} peak memory added, buffer and tables included"),
        memory,
        "none",
    );
    Ok(())
}

fn play(part: &str, number: f64) -> Result<(), Box<dyn Error>> {
    let rounds = number as u64;
    match part {
        "plain" => {
            measured(rounds);
        }
        "profundo" => {
            let session = profundo::Session::cpu()?;
            measured(rounds);
            drop(session);
            child::print_figure("peak", peak_memory() as f64);
            child::print_figure("samples", profundo::fetch()?.len() as f64);
        }
        "profundo-stacks" => {
            let session = profundo::Session::cpu()?;
            workload::climb(rounds);
            drop(session);
            let counts = stacks::count(&named::fetch()?);
            child::print_figure("whole", counts.percent_whole());
            child::print_figure("possible", counts.percent_possible());
        }
        #[cfg(feature = "peers")]
        "pprof" | "pprof-stacks" => peer::play(part, rounds)?,
        _ => return Err(format!("there is no part {part}").into()),
    }
    Ok(())
}

/// Does the work and prints its own cost, session included, but not its start and stop.
fn measured(rounds: u64) {
    let before = Cpu::now();
    workload::climb(rounds);
    let cpu = Cpu::now().since(before);
    child::print_figure("work", cpu.total());
    child::print_figure("user", cpu.user);
    child::print_figure("peak", peak_memory() as f64);
}

#[cfg(feature = "peers")]
mod peer {
    //! The same parts with the sampler that Rust programs embed today.

    use super::{Error, RATE, child, measured, stacks, workload};

    pub(super) fn play(part: &str, rounds: u64) -> Result<(), Box<dyn Error>> {
        let guard = pprof::ProfilerGuard::new(RATE as i32)?;
        if part == "pprof" {
            measured(rounds);
            let report = guard.report().build_unresolved()?;
            child::print_figure("samples", report.data.values().sum::<isize>() as f64);
            return Ok(());
        }
        workload::climb(rounds);
        let mut counts = stacks::Counts::default();
        for (frames, count) in guard.report().build()?.data {
            // The last name of an address is the function's; the others were inlined into it.
            let names = frames.frames.iter().filter_map(|names| names.last());
            let names: Vec<String> = names.map(|name| name.name()).collect();
            // Names in the old mangling end in a hash.
            let bare = names.iter().map(|name| {
                let end = name.rfind("::h").filter(|at| name.len() - at == 19);
                stacks::last_part(&name[..end.unwrap_or(name.len())])
            });
            let bare: Vec<&str> = bare.collect();
            let reaches_root = bare.contains(&"main");
            counts.add(&bare, reaches_root, count.unsigned_abs() as u64);
        }
        child::print_figure("whole", counts.percent_whole());
        child::print_figure("possible", counts.percent_possible());
        Ok(())
    }
}
