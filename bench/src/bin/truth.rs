//! The accuracy of results on Python programs: shares, kinds, waits and stacks, each compared with
//! the program's own measurement.
//!
//! ```text
//! truth [--runs N] [--seconds S] [--python PYTHON]… [--only PART] [--py-spy PATH] [--austin PATH]
//!       [--scalene PATH] [--alone] PROFUNDO
//! ```
//!
//! Peers that are named or in `PATH` run in turn with us on what they support, unless `--alone` is
//! given. `PART` is one of shares, kinds, waits and stacks. The references are clocks of the
//! thread's own CPU time, so load on the machine does no harm, except to waits, which are printed
//! with that load.
#![expect(clippy::print_stdout, reason = "a comparison prints its figures")]

use std::env;
use std::path::{Path, PathBuf};
use std::process::Command;

use profundo_bench::process::machine;
use profundo_bench::profiler::{Peers, Profiler};
use profundo_bench::pythons::{
    Edges, Result, Run, impossible, kinds, quality, run, waits, worst_share,
};
use profundo_bench::stats::Summary;
use profundo_bench::verdict;

const USAGE: &str = "usage: truth [--runs N] [--seconds S] [--python PYTHON]… [--only PART]";

struct Plan {
    runs: usize,
    seconds: String,
    pythons: Vec<String>,
    only: Option<String>,
    /// The profilers, ours first.
    profilers: Vec<Profiler>,
}

impl Plan {
    fn ours(&self) -> &Profiler {
        &self.profilers[0]
    }

    fn wants(&self, part: &str) -> bool {
        self.only.as_deref().is_none_or(|only| only == part)
    }
}

fn main() -> Result<()> {
    let plan = plan(env::args().skip(1))?;
    println!("{}", machine());
    for python in &plan.pythons {
        println!("\n{python}");
        if plan.wants("shares") {
            for kind in ["python", "native", "pieces", "threads"] {
                shares(&plan, python, kind)?;
            }
        }
        if plan.wants("kinds") {
            kinds_of_lines(&plan, python)?;
        }
        if plan.wants("waits") {
            waits_for_the_lock(&plan, python)?;
        }
        if plan.wants("stacks") {
            stacks(&plan, python)?;
        }
    }
    println!("\n{}", machine());
    Ok(())
}

fn plan(arguments: impl Iterator<Item = String>) -> Result<Plan> {
    let usage = || format!("{USAGE} {} PROFUNDO", Peers::USAGE);
    let (mut runs, mut seconds) = (11, "5".to_owned());
    let (mut pythons, mut only, mut profundo) = (Vec::new(), None, None);
    let mut peers = Peers::default();
    let mut rest = arguments;
    while let Some(argument) = rest.next() {
        if peers.take(&argument, || rest.next()) {
            continue;
        }
        let mut value = || rest.next().ok_or_else(usage);
        match &*argument {
            "--runs" => runs = value()?.parse()?,
            "--seconds" => seconds = value()?,
            "--python" => pythons.push(value()?),
            "--only" => only = Some(value()?),
            _ if profundo.is_none() && !argument.starts_with('-') => profundo = Some(argument),
            _ => return Err(usage().into()),
        }
    }
    if pythons.is_empty() {
        pythons.push("python3".to_owned());
    }
    let mut profilers = vec![Profiler::Ours(profundo.ok_or_else(usage)?.into())];
    profilers.extend(peers.found());
    Ok(Plan {
        runs,
        seconds,
        pythons,
        only,
        profilers,
    })
}

fn program(name: &str) -> PathBuf {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("programs");
    folder.join(name)
}

fn median_text(values: &[f64], unit: &str) -> String {
    Summary::of(values).show(unit)
}

/// Runs a program under each profiler that supports the question, in turn, this many times, and
/// returns the figures of each. A peer may have none; ours must.
fn in_turn(
    plan: &Plan,
    runs: usize,
    rate: u32,
    words: &[&str],
    knows: impl Fn(&Profiler) -> bool,
    mut figures: impl FnMut(&Profiler, &Run) -> Result<(f64, f64)>,
) -> Result<Vec<Vec<(f64, f64)>>> {
    let mut all = vec![Vec::new(); plan.profilers.len()];
    let can = plan
        .profilers
        .iter()
        .map(|profiler| knows(profiler) && profiler.can(words));
    let can: Vec<bool> = can.collect();
    for _ in 0..runs {
        for (at, profiler) in plan.profilers.iter().enumerate() {
            if !can[at] {
                continue;
            }
            let found = run(profiler, &[], rate, words).and_then(|run| figures(profiler, &run));
            match found {
                Ok(pair) => all[at].push(pair),
                Err(why) if at == 0 => return Err(why),
                Err(why) => println!("{}: {why}", profiler.name()),
            }
        }
    }
    Ok(all)
}

fn shares(plan: &Plan, python: &str, kind: &str) -> Result<()> {
    let path = program("shares.py");
    let words = [python, &path.to_string_lossy(), kind, &plan.seconds];
    let off = |_: &Profiler, run: &Run| Ok((worst_share(run)?, 0.0));
    let all = in_turn(plan, plan.runs, 1000, &words, |_| true, off)?;
    for (profiler, off) in plan.profilers.iter().zip(&all) {
        let title = format!("{} worst of four shares, {kind}", profiler.name());
        let off: Vec<f64> = off.iter().map(|pair| pair.0).collect();
        if off.is_empty() {
            println!("{title}: no answer");
        } else {
            verdict(&title, median_text(&off, " points"), "median at most 1");
        }
    }
    Ok(())
}

fn kinds_of_lines(plan: &Plan, python: &str) -> Result<()> {
    let path = program("kinds.py");
    let words = [python, &path.to_string_lossy(), "0.5"];
    let knows = |profiler: &Profiler| matches!(profiler, Profiler::Ours(_) | Profiler::Scalene(_));
    let runs = plan.runs.min(5);
    let all = in_turn(plan, runs, 1000, &words, knows, |_, run| kinds(run, &path))?;
    for (profiler, found) in plan.profilers.iter().zip(&all) {
        let name = profiler.name();
        let (native, pure): (Vec<f64>, Vec<f64>) = found.iter().copied().unzip();
        if native.is_empty() {
            println!("{name} native shares of lines: no answer");
            continue;
        }
        let title = format!("{name} least native share of a native line");
        verdict(&title, median_text(&native, " %"), "at least 95");
        let title = format!("{name} greatest native share of a pure line");
        verdict(&title, median_text(&pure, " %"), "at most 5");
    }
    Ok(())
}

fn waits_for_the_lock(plan: &Plan, python: &str) -> Result<()> {
    let path = program("waits.py");
    let words = [python, &path.to_string_lossy(), "2"];
    // Real-time priority where that is allowed: a thread that waits for a processor does not wait
    // for the lock.
    let real_time = ["chrt", "-f", "1"];
    let may = Command::new("chrt").args(["-f", "1", "true"]).status();
    let front = match may {
        Ok(status) if status.success() => &real_time[..],
        _ => &[],
    };
    let (mut recorded, mut delayed) = (Vec::new(), Vec::new());
    for _ in 0..plan.runs.min(5) {
        let (one, other) = waits(&run(plan.ours(), front, 1000, &words)?)?;
        recorded.push(one);
        delayed.push(other);
    }
    let title = "wait for the lock, of what the threads' clocks say";
    verdict(
        title,
        median_text(&recorded, " %"),
        "95 to 105 on a quiet machine",
    );
    println!(
        "  of which they waited for a processor: {}",
        median_text(&delayed, " %")
    );
    Ok(())
}

fn stacks(plan: &Plan, python: &str) -> Result<()> {
    let path = program("alternate.py");
    let path = path.to_string_lossy();
    let edges = Command::new(python).args([&*path, "--edges"]).output()?;
    let edges: Edges = serde_json::from_slice(&edges.stdout)?;
    let words = [python, &path, &plan.seconds];
    let knows = |profiler: &Profiler| !matches!(profiler, Profiler::Scalene(_));
    let runs = plan.runs.min(5);
    let all = in_turn(plan, runs, 2000, &words, knows, |profiler, run| {
        let figures = impossible(&run.stacks()?, "alternate.py", &edges);
        if matches!(profiler, Profiler::Ours(_)) {
            let (taken, whole) = quality(run)?;
            verdict("samples taken", format!("{taken:.2} %"), "at least 99");
            verdict(
                "stacks that are whole",
                format!("{whole:.3} %"),
                "at least 99.9",
            );
        }
        Ok(figures)
    })?;
    for (profiler, found) in plan.profilers.iter().zip(&all) {
        let title = format!("{} impossible stacks, by weight", profiler.name());
        if found.is_empty() {
            println!("{title}: no answer");
            continue;
        }
        let all: f64 = found.iter().map(|pair| pair.0).sum();
        let wrong: f64 = found.iter().map(|pair| pair.1).sum();
        verdict(&title, format!("{wrong} of {all}"), "none");
    }
    Ok(())
}
