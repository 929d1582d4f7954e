//! What recording a whole program costs: programs as they are, run alone and under a profiler in
//! turn, with the profiler's own processes on the bill.
//!
//! ```text
//! command [--pairs N] [--python PYTHON] [--only PROGRAM] [--peer NAME=COMMAND]… PROFUNDO
//! ```
//!
//! A peer's command is what to put before the program's own command line.
#![expect(clippy::print_stdout, reason = "a comparison prints its figures")]

use std::error::Error;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Instant;
use std::{env, io, mem};

use profundo_bench::pairs::percent_more;
use profundo_bench::process::{Cpu, machine};
use profundo_bench::stats::{Summary, median};
use profundo_bench::verdict;

const USAGE: &str = "usage: command [--pairs N] [--python PYTHON] [--only PROGRAM] \
                     [--peer NAME=COMMAND]… PROFUNDO";

/// A program, and what is asked of a profiler on it: percent of CPU time more at most.
struct Program {
    name: &'static str,
    arguments: Vec<String>,
    most: f64,
}

/// What stands before a program's own command line.
struct Profiler {
    name: String,
    before: Vec<String>,
}

struct Plan {
    pairs: usize,
    programs: Vec<Program>,
    profilers: Vec<Profiler>,
}

/// What a run has cost.
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
    println!("\n{}", machine());
    Ok(())
}

fn plan(arguments: Vec<String>) -> Result<Plan, Box<dyn Error>> {
    let (mut pairs, mut python, mut only) = (15, "python3".to_owned(), None);
    let mut profilers = Vec::new();
    let mut profundo = None;
    let mut rest = arguments.into_iter();
    while let Some(argument) = rest.next() {
        let mut value = || rest.next().ok_or(USAGE);
        match &*argument {
            "--pairs" => pairs = value()?.parse()?,
            "--python" => python = value()?,
            "--only" => only = Some(value()?),
            "--peer" => {
                let peer = value()?;
                let (name, before) = peer.split_once('=').ok_or(USAGE)?;
                profilers.push(Profiler {
                    name: name.to_owned(),
                    before: before.split_whitespace().map(str::to_owned).collect(),
                });
            }
            _ if profundo.is_none() && !argument.starts_with('-') => profundo = Some(argument),
            _ => return Err(USAGE.into()),
        }
    }
    let profundo = profundo.ok_or(USAGE)?;
    let output = env::temp_dir().join("profundo-bench.profundo");
    let output = output.to_string_lossy();
    let before = [&profundo, "record", "-o", &output, "--"];
    profilers.insert(
        0,
        Profiler {
            name: "profundo".into(),
            before: before.map(str::to_owned).to_vec(),
        },
    );
    let mut programs = programs(&python)?;
    if let Some(only) = only {
        programs.retain(|program| program.name == only);
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
    let busy = env::current_exe()?.with_file_name("busy");
    let busy = vec![busy.to_string_lossy().into_owned()];
    let program = |name, arguments, most| Program {
        name,
        arguments,
        most,
    };
    Ok(vec![
        program("interval", script("interval.py"), 3.0),
        program("calls", script("calls.py"), 3.0),
        program("native", busy, 2.0),
        program("crowd", script("crowd.py"), 3.0),
        program("nothing", script("nothing.py"), 50.0),
    ])
}

fn compare(plan: &Plan, program: &Program) -> Result<(), Box<dyn Error>> {
    println!("\n{}: {}", program.name, program.arguments.join(" "));
    let nobody = Profiler {
        name: "nobody".into(),
        before: Vec::new(),
    };
    // Warm: files are read, tables are in their caches.
    let mut plain = vec![run(&nobody, program)?];
    for profiler in &plan.profilers {
        run(profiler, program)?;
    }
    plain.push(run(&nobody, program)?);
    let mut more: Vec<Vec<[f64; 2]>> = plan.profilers.iter().map(|_| Vec::new()).collect();
    for _ in 0..plan.pairs {
        for (profiler, more) in plan.profilers.iter().zip(&mut more) {
            let before = plain[plain.len() - 1];
            let cost = run(profiler, program)?;
            let after = run(&nobody, program)?;
            plain.push(after);
            let cpu = percent_more(&[before.cpu, after.cpu], &[cost.cpu])[0];
            let wall = cost.wall - (before.wall + after.wall) / 2.0;
            more.push([cpu, wall]);
        }
    }
    let alone: Vec<f64> = plain.iter().map(|cost| cost.cpu).collect();
    println!("  alone: {:.3} s of CPU time", median(&alone));
    for (profiler, more) in plan.profilers.iter().zip(&more) {
        let cpu: Vec<f64> = more.iter().map(|[cpu, _]| *cpu).collect();
        let wall: Vec<f64> = more.iter().map(|[_, wall]| wall * 1e3).collect();
        let cpu = Summary::of(&cpu);
        println!("  {} CPU: {}", profiler.name, cpu.show(" %"));
        println!(
            "  {} wall: {}",
            profiler.name,
            Summary::of(&wall).show(" ms")
        );
        let target = format!("at most {:.2}", 1.0 + program.most / 100.0);
        verdict(
            &format!("{} on {}, CPU ratio", profiler.name, program.name),
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

/// Runs it to its end; the bill is that of the whole tree of processes that were waited for.
fn run(profiler: &Profiler, program: &Program) -> Result<Cost, Box<dyn Error>> {
    let mut words = profiler.before.iter().chain(&program.arguments);
    let first = words.next().ok_or("nothing to run")?;
    let began = Instant::now();
    let child = Command::new(first)
        .args(words)
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()?;
    let mut status = 0;
    // SAFETY: zeroed is a valid rusage, both pointers are ours, and nobody else waits for the
    // child.
    let usage = unsafe {
        let mut usage: libc::rusage = mem::zeroed();
        let pid = libc::pid_t::try_from(child.id())?;
        while libc::wait4(pid, &mut status, 0, &mut usage) < 0 {
            let error = io::Error::last_os_error();
            if error.kind() != io::ErrorKind::Interrupted {
                return Err(error.into());
            }
        }
        usage
    };
    let wall = began.elapsed().as_secs_f64();
    if status != 0 {
        return Err(format!("{} under {} ended badly", program.name, profiler.name).into());
    }
    Ok(Cost {
        cpu: Cpu::of(&usage).total(),
        wall,
    })
}
