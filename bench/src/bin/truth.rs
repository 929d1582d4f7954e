//! Whether what is said of Python programs is true: shares, kinds, waits and stacks, each beside
//! what the program itself knows.
//!
//! ```text
//! truth [--runs N] [--seconds S] [--python PYTHON]… [--py-spy PATH] [--austin PATH] PROFUNDO
//! ```
//!
//! The peers are asked what they can answer. All truths are clocks of the thread's own CPU time, so a
//! busy machine does no harm, but for the waits, beside which it is said how busy it was.
#![expect(clippy::print_stdout, reason = "a comparison prints its figures")]

use std::env;
use std::path::{Path, PathBuf};
use std::process::Command;

use profundo_bench::process::machine;
use profundo_bench::pythons::{
    Edges, Profiler, Result, impossible, kinds, quality, waits, worst_share,
};
use profundo_bench::stats::Summary;
use profundo_bench::verdict;

const USAGE: &str = "usage: truth [--runs N] [--seconds S] [--python PYTHON]… [--py-spy PATH] \
                     [--austin PATH] PROFUNDO";

struct Plan {
    runs: usize,
    seconds: String,
    pythons: Vec<String>,
    ours: Profiler,
    peers: Vec<Profiler>,
}

fn main() -> Result<()> {
    let plan = plan(env::args().skip(1))?;
    println!("{}", machine());
    for python in &plan.pythons {
        println!("\n{python}");
        for kind in ["python", "native", "threads"] {
            shares(&plan, python, kind)?;
        }
        kinds_of_lines(&plan, python)?;
        waits_for_the_lock(&plan, python)?;
        stacks(&plan, python)?;
    }
    println!("\n{}", machine());
    Ok(())
}

fn plan(arguments: impl Iterator<Item = String>) -> Result<Plan> {
    let (mut runs, mut seconds) = (11, "5".to_owned());
    let (mut pythons, mut peers, mut profundo) = (Vec::new(), Vec::new(), None);
    let mut rest = arguments;
    while let Some(argument) = rest.next() {
        let mut value = || rest.next().ok_or(USAGE);
        match &*argument {
            "--runs" => runs = value()?.parse()?,
            "--seconds" => seconds = value()?,
            "--python" => pythons.push(value()?),
            "--py-spy" => peers.push(Profiler::PySpy(value()?.into())),
            "--austin" => peers.push(Profiler::Austin(value()?.into())),
            _ if profundo.is_none() && !argument.starts_with('-') => profundo = Some(argument),
            _ => return Err(USAGE.into()),
        }
    }
    if pythons.is_empty() {
        pythons.push("python3".to_owned());
    }
    Ok(Plan {
        runs,
        seconds,
        pythons,
        ours: Profiler::Ours(profundo.ok_or(USAGE)?.into()),
        peers,
    })
}

fn program(name: &str) -> PathBuf {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("programs");
    folder.join(name)
}

/// Does something so many times, and gives the first and the second figures of each.
fn repeat(
    runs: usize,
    mut once: impl FnMut() -> Result<(f64, f64)>,
) -> Result<(Vec<f64>, Vec<f64>)> {
    let each: Result<Vec<(f64, f64)>> = (0..runs).map(|_| once()).collect();
    Ok(each?.into_iter().unzip())
}

fn said(values: &[f64], unit: &str) -> String {
    Summary::of(values).show(unit)
}

fn shares(plan: &Plan, python: &str, kind: &str) -> Result<()> {
    let path = program("shares.py");
    let path = path.to_string_lossy();
    let profilers: Vec<&Profiler> = [&plan.ours].into_iter().chain(&plan.peers).collect();
    let mut off = vec![Vec::new(); profilers.len()];
    for _ in 0..plan.runs {
        for (profiler, off) in profilers.iter().zip(&mut off) {
            let words = [python, &path, kind, &plan.seconds];
            match profiler.run(1000, &words).and_then(|run| worst_share(&run)) {
                Ok(points) => off.push(points),
                // A peer may not know this Python.
                Err(why) if matches!(profiler, Profiler::Ours(_)) => return Err(why),
                Err(_) => {}
            }
        }
    }
    for (profiler, off) in profilers.iter().zip(&off) {
        let title = format!("{} worst of four shares, {kind}", profiler.name());
        if off.is_empty() {
            println!("{title}: no answer");
        } else {
            verdict(&title, said(off, " points"), "median at most 1");
        }
    }
    Ok(())
}

fn kinds_of_lines(plan: &Plan, python: &str) -> Result<()> {
    let path = program("kinds.py");
    let words = [python, &path.to_string_lossy(), "0.5"];
    let (native, pure) = repeat(plan.runs.min(5), || {
        kinds(&plan.ours.run(1000, &words)?, &path)
    })?;
    verdict(
        "least native share of a native line",
        said(&native, " %"),
        "at least 95",
    );
    verdict(
        "greatest native share of a pure line",
        said(&pure, " %"),
        "at most 5",
    );
    Ok(())
}

fn waits_for_the_lock(plan: &Plan, python: &str) -> Result<()> {
    let path = program("waits.py");
    let words = [python, &path.to_string_lossy(), "2"];
    // Before all others, where that is allowed: who waits for a processor does not wait for the lock.
    let real_time = ["chrt", "-f", "1"];
    let may = Command::new("chrt").args(["-f", "1", "true"]).status();
    let front = match may {
        Ok(status) if status.success() => &real_time[..],
        _ => &[],
    };
    let (told, delayed) = repeat(plan.runs.min(5), || {
        waits(&plan.ours.run_behind(front, 1000, &words)?)
    })?;
    let title = "wait for the lock, of what the threads' clocks say";
    verdict(title, said(&told, " %"), "95 to 105 on a quiet machine");
    println!(
        "  of which they waited for a processor: {}",
        said(&delayed, " %")
    );
    Ok(())
}

fn stacks(plan: &Plan, python: &str) -> Result<()> {
    let path = program("alternate.py");
    let path = path.to_string_lossy();
    let edges = Command::new(python).args([&*path, "--edges"]).output()?;
    let edges: Edges = serde_json::from_slice(&edges.stdout)?;
    let words = [python, &path, &plan.seconds];
    for profiler in [&plan.ours].into_iter().chain(&plan.peers) {
        let (mut all, mut wrong) = (0.0, 0.0);
        for _ in 0..plan.runs.min(5) {
            let run = match profiler.run(2000, &words) {
                Err(why) if matches!(profiler, Profiler::Ours(_)) => return Err(why),
                Err(_) => continue,
                Ok(run) => run,
            };
            let (some, impossible) = impossible(&run.stacks()?, "alternate.py", &edges);
            all += some;
            wrong += impossible;
            if matches!(profiler, Profiler::Ours(_)) {
                let (taken, whole) = quality(&run)?;
                verdict("samples taken", format!("{taken:.2} %"), "at least 99");
                verdict(
                    "stacks that are whole",
                    format!("{whole:.3} %"),
                    "at least 99.9",
                );
            }
        }
        let title = format!("{} impossible stacks, by weight", profiler.name());
        verdict(&title, format!("{wrong} of {all}"), "none");
    }
    Ok(())
}
