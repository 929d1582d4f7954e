//! The time and memory of the command on recordings of many samples: of a program on several
//! threads that was recorded for a day, with realistic noise in times, weights and cycle counters.
//!
//! `many PROFUNDO` uses a million, ten million and a hundred million samples. `many PROFUNDO N…`
//! uses other numbers, and `many --keep FOLDER PROFUNDO N…` keeps the recordings there and reuses
//! them. `many --stacks D …` makes so many distinct stacks.
#![expect(
    clippy::print_stdout,
    clippy::print_stderr,
    reason = "a comparison prints its figures"
)]

use std::error::Error;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio, exit};
use std::time::Instant;

use profundo::model::{
    Engine, Nanos, Process, Profile, Sample, SampleKind, StackId, State, TaskId, ThreadId,
};
use profundo_bench::made_up::{Dice, stacks};
use profundo_bench::process::{machine, wait_with_peak};
use profundo_bench::verdict;

const USAGE: &str = "usage: many [--stacks DISTINCT] [--keep FOLDER] PROFUNDO [SAMPLES]…";
const SIZES: [u64; 3] = [1_000_000, 10_000_000, 100_000_000];
const THREADS: u64 = 6;
const STACKS: usize = 4000;
const DEPTH: usize = 30;
const PERIOD: u64 = 1_000_000;
/// Cycles per nanosecond, roughly.
const CYCLES: f64 = 2.6;

/// The commands run on each recording.
const QUESTIONS: [&[&str]; 5] = [
    &["report", "FILE"],
    &["report", "FILE", "lines"],
    &["report", "FILE", "functions"],
    &["report", "FILE", "tree"],
    &["export", "FILE", "--to", "collapsed", "-o", "OUT"],
];

fn main() -> Result<(), Box<dyn Error>> {
    let mut words = std::env::args().skip(1).peekable();
    let stacks = match words.next_if(|word| word == "--stacks") {
        Some(_) => words.next().unwrap_or_default().parse()?,
        None => STACKS,
    };
    let folder = words
        .next_if(|word| word == "--keep")
        .and_then(|_| words.next());
    let Some(profundo) = words.next() else {
        eprintln!("{USAGE}");
        exit(2)
    };
    let sizes = words
        .map(|word| word.parse())
        .collect::<Result<Vec<u64>, _>>()?;
    let sizes = if sizes.is_empty() {
        SIZES.to_vec()
    } else {
        sizes
    };
    println!("{}", machine());
    for samples in sizes {
        let name = format!("profundo-many-{samples}-{stacks}.profundo");
        let path = folder
            .as_ref()
            .map_or_else(std::env::temp_dir, PathBuf::from)
            .join(name);
        if folder.is_none() || !path.exists() {
            record(&path, samples, stacks)?;
        }
        let asked = ask(profundo.as_ref(), &path, samples);
        if folder.is_none() {
            fs::remove_file(&path)?;
        }
        asked?;
    }
    println!("{}", machine());
    Ok(())
}

fn ask(profundo: &Path, path: &Path, samples: u64) -> Result<(), Box<dyn Error>> {
    let bytes = fs::metadata(path)?.len();
    println!(
        "\n{samples} samples in {:.1} MB, {:.2} bytes each",
        bytes as f64 / 1e6,
        bytes as f64 / samples as f64
    );
    let out = path.with_extension("out");
    for question in QUESTIONS {
        let words = question.iter().map(|&word| match word {
            "FILE" => path.as_os_str(),
            "OUT" => out.as_os_str(),
            word => word.as_ref(),
        });
        let began = Instant::now();
        let mut command = Command::new(profundo);
        let command = command
            .args(words)
            .stdout(Stdio::null())
            .stderr(Stdio::null());
        let (status, cpu, peak) = wait_with_peak(command.spawn()?)?;
        let wall = began.elapsed().as_secs_f64();
        // A refused export has no file.
        let _ = fs::remove_file(&out);
        if status != 0 {
            return Err(format!("{} has failed", question.join(" ")).into());
        }
        let name = format!("many {samples}, {}", question.join(" "));
        let value = format!(
            "{wall:.2} s, {:.2} s of CPU time, {:.0} MB",
            cpu.total(),
            peak as f64 / 1e6
        );
        verdict(&name, value, "≤ 10 s and ≤ 1000 MB");
    }
    Ok(())
}

/// A thread that is sampled by a clock of its own.
struct Worker {
    thread: ThreadId,
    task: TaskId,
    /// The time of its next sample, and its present period.
    next: u64,
    period: u64,
    taken: u64,
    /// Its present phase, and the number of samples left in it.
    phase: u64,
    left: u64,
}

/// Writes a recording as the recorder does: new data every few seconds.
fn record(path: &Path, samples: u64, distinct: usize) -> Result<(), Box<dyn Error>> {
    let began = Instant::now();
    let mut dice = Dice(0x9E37_79B9_7F4A_7C15);
    let mut profile = Profile::default();
    profile.meta.period = Nanos(PERIOD);
    profile.meta.engine = Engine::PerfSignal;
    profile.meta.kind = SampleKind::Cpu;
    let command = profile.strings.intern("made-up --for a-day");
    profile.processes.push(Process {
        pid: 4242,
        command,
        ..Process::default()
    });
    let mut workers: Vec<Worker> = (1..=THREADS)
        .map(|number| Worker {
            thread: profile.hand_made_thread(number, &format!("worker-{number}")),
            task: profile.hand_made_task(number),
            next: dice.below(PERIOD),
            period: PERIOD,
            taken: 0,
            phase: 0,
            left: 0,
        })
        .collect();
    // Where there are very many, they differ in their innermost frames, as in real programs.
    let common = match distinct > STACKS {
        true => DEPTH - 3,
        false => DEPTH / 3,
    };
    let stacks = stacks(&mut profile, &mut dice, DEPTH, distinct, common);
    let mut file = profundo_formats::create_file(path, &profile.meta)?;
    let (mut user, mut system, mut end) = (0, 0, 0);
    for number in 1..=samples {
        let worker = workers.iter_mut().min_by_key(|worker| worker.next);
        let worker = worker.expect("there are several");
        let sample = worker.sample(&mut dice, &stacks);
        match sample.state {
            State::System => system += sample.weight.0,
            _ => user += sample.weight.0,
        }
        end = sample.time.0;
        profile.samples.push(sample);
        if number % 4096 == 0 {
            file.append(&mut profile)?;
        }
    }
    profile.meta.duration = Nanos(end);
    let process = &mut profile.processes[0];
    // The kernel counts slightly more time than has samples.
    process.user = Some(Nanos(user + user / 500));
    process.system = Some(Nanos(system + system / 300));
    file.finish(&mut profile)?;
    println!(
        "{samples} samples recorded in {:.1} s",
        began.elapsed().as_secs_f64()
    );
    Ok(())
}

impl Worker {
    fn sample(&mut self, dice: &mut Dice, stacks: &[StackId]) -> Sample {
        if self.left == 0 {
            self.phase = dice.below(1 << 10);
            self.left = 1 + dice.below(400);
        }
        self.left -= 1;
        // The clock changes its period after fifty samples.
        if self.taken.is_multiple_of(50) {
            self.period = PERIOD / 2 + dice.below(PERIOD);
        }
        self.taken += 1;
        let late = dice.below(8000);
        let weight = self.period + dice.below(200);
        let time = self.next + late;
        self.next += self.period;
        // Some stacks are far hotter than others, and a phase has its own.
        let draw = (dice.below(1 << 20) * (self.phase + 1)) >> 10;
        let chosen = (draw * draw * stacks.len() as u64) >> 40;
        Sample {
            time: Nanos(time),
            weight: Nanos(weight),
            clock: 1_000_000_000 + (time as f64 * CYCLES) as u64 + dice.below(16),
            thread: self.thread,
            task: self.task,
            stack: stacks[chosen as usize],
            state: match dice.below(20) {
                0 => State::System,
                _ => State::Running,
            },
            ..Sample::default()
        }
    }
}
