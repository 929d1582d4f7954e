//! The cost of recording a whole program: real programs, run alone and under a profiler in turn,
//! the profiler's own processes included.
//!
//! ```text
//! command [--pairs N] [--python PYTHON] [--only PROGRAM]… [--py-spy PATH] [--austin PATH]
//!         [--scalene PATH] [--alone] [--peer NAME=COMMAND]… PROFUNDO
//! ```
//!
//! Peers that are named or in `PATH` run in turn with us, unless `--alone` is given. Any other peer
//! is a command to put before the program's own command line.
#![expect(clippy::print_stdout, reason = "a comparison prints its figures")]

use std::error::Error;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Instant;
use std::{env, fs, io};

use profundo_bench::pairs::percent_more;
use profundo_bench::process::{machine, wait};
use profundo_bench::profiler::{Peers, Profiler};
use profundo_bench::stats::{Summary, median};
use profundo_bench::verdict;

const USAGE: &str = "usage: command [--pairs N] [--python PYTHON] [--only PROGRAM]… \
                     [--peer NAME=COMMAND]…";

/// A program, and the profiler's target on it: the most additional CPU time in percent.
struct Program {
    name: &'static str,
    arguments: Vec<String>,
    most: f64,
}

impl Program {
    fn words(&self) -> Vec<&str> {
        self.arguments.iter().map(String::as_str).collect()
    }
}

/// A way to run a program.
enum Runner {
    Plain,
    Known(Profiler),
    /// Words before the program's own command line.
    Words {
        name: String,
        before: Vec<String>,
    },
}

impl Runner {
    fn name(&self) -> &str {
        match self {
            Self::Plain => "nobody",
            Self::Known(profiler) => profiler.name(),
            Self::Words { name, .. } => name,
        }
    }

    fn can(&self, program: &Program) -> bool {
        match self {
            Self::Known(profiler) => profiler.can(&program.words()),
            Self::Plain | Self::Words { .. } => true,
        }
    }

    fn command(&self, program: &Program) -> Command {
        let words = program.words();
        let before = match self {
            Self::Known(profiler) => {
                return profiler.command(&[], 1000, &profiler.file(), &words);
            }
            Self::Words { before, .. } => &before[..],
            Self::Plain => &[],
        };
        let mut words = before.iter().map(String::as_str).chain(words);
        let mut command = Command::new(words.next().unwrap_or_default());
        command.args(words);
        command
    }
}

struct Plan {
    pairs: usize,
    programs: Vec<Program>,
    profilers: Vec<Runner>,
}

/// The cost of a run.
#[derive(Clone, Copy)]
struct Cost {
    cpu: f64,
    wall: f64,
}

fn main() -> Result<(), Box<dyn Error>> {
    let plan = plan(env::args().skip(1).collect())?;
    println!("{}", machine());
    for program in &plan.programs {
        compare(&plan, program)?;
    }
    for profiler in &plan.profilers {
        if let Runner::Known(profiler) = profiler {
            let _ = fs::remove_file(profiler.file());
        }
    }
    println!("\n{}", machine());
    Ok(())
}

fn plan(arguments: Vec<String>) -> Result<Plan, Box<dyn Error>> {
    let usage = || format!("{USAGE} {} PROFUNDO", Peers::USAGE);
    let (mut pairs, mut python, mut only) = (15, "python3".to_owned(), Vec::new());
    let (mut peers, mut others) = (Peers::default(), Vec::new());
    let mut profundo = None;
    let mut rest = arguments.into_iter();
    while let Some(argument) = rest.next() {
        if peers.take(&argument, || rest.next()) {
            continue;
        }
        let mut value = || rest.next().ok_or_else(usage);
        match &*argument {
            "--pairs" => pairs = value()?.parse()?,
            "--python" => python = value()?,
            "--only" => only.push(value()?),
            "--peer" => {
                let peer = value()?;
                let (name, before) = peer.split_once('=').ok_or_else(usage)?;
                others.push(Runner::Words {
                    name: name.to_owned(),
                    before: before.split_whitespace().map(str::to_owned).collect(),
                });
            }
            _ if profundo.is_none() && !argument.starts_with('-') => profundo = Some(argument),
            _ => return Err(usage().into()),
        }
    }
    let ours = Profiler::Ours(profundo.ok_or_else(usage)?.into());
    let known = [ours].into_iter().chain(peers.found());
    let profilers = known.map(Runner::Known).chain(others).collect();
    let mut programs = programs(&python)?;
    if !only.is_empty() {
        programs.retain(|program| only.iter().any(|only| only == program.name));
    }
    Ok(Plan {
        pairs,
        programs,
        profilers,
    })
}

fn programs(python: &str) -> io::Result<Vec<Program>> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("programs");
    let script = |name: &str| {
        let path: PathBuf = folder.join(name);
        vec![python.to_owned(), path.to_string_lossy().into_owned()]
    };
    let binary = |name: &str| -> io::Result<String> {
        let path = env::current_exe()?.with_file_name(name);
        Ok(path.to_string_lossy().into_owned())
    };
    let words = |words: &[&str]| words.iter().map(|&word| word.to_owned()).collect();
    // Two threads that share a CPU switch at each byte.
    let on_one_cpu = ["taskset", "-c", "1", &binary("ping_pong")?];
    let many_short = "i=0; while [ $i -lt 500 ]; do /bin/true; i=$((i+1)); done";
    let program = |name, arguments, most| Program {
        name,
        arguments,
        most,
    };
    Ok(vec![
        program("interval", script("interval.py"), 3.0),
        program("calls", script("calls.py"), 3.0),
        program("native", vec![binary("busy")?], 2.0),
        program("crowd", script("crowd.py"), 3.0),
        program("nothing", script("nothing.py"), 50.0),
        program("switches", words(&on_one_cpu), 12.0),
        program("queue", script("queue_of_ten.py"), 5.0),
        program("short", words(&["sh", "-c", many_short]), 75.0),
    ])
}

fn compare(plan: &Plan, program: &Program) -> Result<(), Box<dyn Error>> {
    println!("\n{}: {}", program.name, program.arguments.join(" "));
    let able = plan
        .profilers
        .iter()
        .filter(|profiler| profiler.can(program));
    // A warm-up: files are read, tables are cached. A peer that does not support this Python fails,
    // and is left out from then on.
    let mut profilers: Vec<&Runner> = Vec::new();
    let mut plain = vec![run(&Runner::Plain, program)?];
    for profiler in able {
        match run(profiler, program) {
            Ok(_) => profilers.push(profiler),
            Err(why) if profilers.is_empty() => return Err(why),
            Err(why) => println!("  {}: {why}", profiler.name()),
        }
    }
    plain.push(run(&Runner::Plain, program)?);
    let mut more: Vec<Vec<[f64; 2]>> = profilers.iter().map(|_| Vec::new()).collect();
    for _ in 0..plan.pairs {
        for (profiler, more) in profilers.iter().zip(&mut more) {
            let before = plain[plain.len() - 1];
            let cost = run(profiler, program)?;
            let after = run(&Runner::Plain, program)?;
            plain.push(after);
            let cpu = percent_more(&[before.cpu, after.cpu], &[cost.cpu])[0];
            let wall = cost.wall - (before.wall + after.wall) / 2.0;
            more.push([cpu, wall]);
        }
    }
    let alone: Vec<f64> = plain.iter().map(|cost| cost.cpu).collect();
    println!("  alone: {:.3} s of CPU time", median(&alone));
    for (profiler, more) in profilers.iter().zip(&more) {
        let cpu: Vec<f64> = more.iter().map(|[cpu, _]| *cpu).collect();
        let wall: Vec<f64> = more.iter().map(|[_, wall]| wall * 1e3).collect();
        let cpu = Summary::of(&cpu);
        println!("  {} CPU: {}", profiler.name(), cpu.show(" %"));
        println!(
            "  {} wall: {}",
            profiler.name(),
            Summary::of(&wall).show(" ms")
        );
        let target = format!("at most {:.2}", 1.0 + program.most / 100.0);
        verdict(
            &format!("{} on {}, CPU ratio", profiler.name(), program.name),
            format!(
                "{:.4} ({:.4} to {:.4})",
                1.0 + cpu.median / 100.0,
                1.0 + cpu.low / 100.0,
                1.0 + cpu.high / 100.0
            ),
            &target,
        );
    }
    Ok(())
}

/// Runs the program to its end; the cost is that of the whole tree of reaped processes.
fn run(profiler: &Runner, program: &Program) -> Result<Cost, Box<dyn Error>> {
    let began = Instant::now();
    let child = profiler
        .command(program)
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()?;
    let (status, cpu) = wait(child)?;
    let wall = began.elapsed().as_secs_f64();
    if status != 0 {
        return Err(format!("{} under {} ended badly", program.name, profiler.name()).into());
    }
    Ok(Cost {
        cpu: cpu.total(),
        wall,
    })
}
