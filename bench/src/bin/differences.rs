//! The trust in `profundo diff`: false alarms between recordings of one unchanged program, and the
//! detection of a line that was made 10 % slower, or that allocates 1 % more.
//!
//! ```text
//! differences [--runs N] [--seconds S] [--pairs N] [--set N] [--load N] [--only PROGRAM]
//!             [--python PYTHON] [--keep FOLDER] PROFUNDO
//! ```
//!
//! Each program is recorded N times unchanged and N times changed, in turn. A pair is two unchanged
//! recordings, or an unchanged and a changed one. Pairs share recordings, so they are not
//! independent of one another. With `--set 5` each side of a comparison has five recordings. With
//! `--load 3` three other processes are busy meanwhile.
#![expect(
    clippy::print_stdout,
    clippy::print_stderr,
    reason = "a comparison prints its figures"
)]

use std::error::Error;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio, exit};
use std::{env, fs};

use profundo_bench::made_up::Dice;
use profundo_bench::process::{machine, wait};
use profundo_bench::verdict;
use serde_json::Value;

const USAGE: &str = "usage: differences [--runs N] [--seconds S] [--pairs N] [--set N] [--load N] \
                     [--only PROGRAM] [--python PYTHON] [--keep FOLDER] PROFUNDO";

type Result<T> = std::result::Result<T, Box<dyn Error>>;

/// A program, and the change that is to be found.
struct Program {
    name: &'static str,
    /// Its file beside this one; C is compiled.
    file: &'static str,
    /// The options of `profundo record`.
    recorded: &'static [&'static str],
    /// The options of `profundo diff`.
    compared: &'static [&'static str],
    /// The arguments behind the number of rounds that change it.
    change: &'static [&'static str],
    /// A part of the name of the function that is different then.
    function: &'static str,
    about: &'static str,
}

const PROGRAMS: [Program; 4] = [
    Program {
        name: "python",
        file: "steps.py",
        recorded: &[],
        compared: &[],
        change: &["10"],
        function: "first",
        about: "a line 10 % slower",
    },
    Program {
        name: "native",
        file: "steps.c",
        recorded: &[],
        compared: &[],
        change: &["10"],
        function: "first",
        about: "a line 10 % slower",
    },
    Program {
        name: "mixed",
        file: "documents.py",
        recorded: &[],
        compared: &[],
        change: &["10"],
        function: "first",
        about: "a line 10 % slower",
    },
    Program {
        name: "memory",
        file: "steps.py",
        recorded: &["--memory"],
        compared: &["--of", "allocated"],
        change: &["0", "1"],
        function: "more",
        about: "an allocation of 1 % more",
    },
];

struct Options {
    runs: usize,
    seconds: f64,
    pairs: usize,
    /// The number of recordings on each side.
    set: usize,
    load: usize,
    only: Option<String>,
    python: String,
    keep: Option<PathBuf>,
    profundo: PathBuf,
}

fn main() -> Result<()> {
    let options = match options(env::args().skip(1)) {
        Ok(options) => options,
        Err(why) => {
            eprintln!("Error: {why}.\n\n{USAGE}");
            exit(2)
        }
    };
    println!("{}", machine());
    let folder = options.keep.clone().unwrap_or_else(|| {
        env::temp_dir().join(format!("profundo-differences-{}", std::process::id()))
    });
    fs::create_dir_all(&folder)?;
    let others = Others::start(options.load)?;
    let is_meant = |program: &&Program| {
        options
            .only
            .as_deref()
            .is_none_or(|only| only == program.name)
    };
    let result = (PROGRAMS.iter().filter(is_meant))
        .try_for_each(|program| judge(program, &options, &folder));
    drop(others);
    if options.keep.is_none() {
        fs::remove_dir_all(&folder)?;
    }
    println!("{}", machine());
    result
}

fn options(mut words: impl Iterator<Item = String>) -> Result<Options> {
    let mut options = Options {
        runs: 15,
        seconds: 20.0,
        pairs: 100,
        set: 1,
        load: 0,
        only: None,
        python: "python3".into(),
        keep: None,
        profundo: PathBuf::new(),
    };
    while let Some(word) = words.next() {
        let mut value = || words.next().ok_or(format!("{word} needs a value"));
        match word.as_str() {
            "--runs" => options.runs = value()?.parse()?,
            "--seconds" => options.seconds = value()?.parse()?,
            "--pairs" => options.pairs = value()?.parse()?,
            "--set" => options.set = value()?.parse()?,
            "--load" => options.load = value()?.parse()?,
            "--only" => options.only = Some(value()?),
            "--python" => options.python = value()?,
            "--keep" => options.keep = Some(value()?.into()),
            _ if word.starts_with("--") => return Err(format!("there is no option {word}").into()),
            _ => options.profundo = word.into(),
        }
    }
    if options.profundo.as_os_str().is_empty() {
        return Err("the command is missing".into());
    }
    if options.runs < 2 * options.set {
        return Err("two sets of recordings need twice as many runs".into());
    }
    Ok(options)
}

/// Processes that keep the machine busy.
struct Others(Vec<Child>);

impl Others {
    fn start(count: usize) -> Result<Self> {
        let busy = env::current_exe()?.with_file_name("busy");
        let start = || {
            let mut command = Command::new(&busy);
            command
                .args(["--seconds", "1e6"])
                .stdout(Stdio::null())
                .spawn()
        };
        let started: std::io::Result<Vec<Child>> = (0..count).map(|_| start()).collect();
        Ok(Self(started?))
    }
}

impl Drop for Others {
    fn drop(&mut self) {
        for child in &mut self.0 {
            let _ = child.kill();
            let _ = child.wait();
        }
    }
}

/// Records a program unchanged and changed, and judges what `diff` says of pairs.
fn judge(program: &Program, options: &Options, folder: &Path) -> Result<()> {
    let command = command(program, options, folder)?;
    let rounds = calibrate(&command, options.seconds)?;
    let (mut unchanged, mut changed) = (Vec::new(), Vec::new());
    for run in 0..options.runs {
        for (side, arguments, files) in [
            ("a", &[][..], &mut unchanged),
            ("b", program.change, &mut changed),
        ] {
            let file = folder.join(format!("{}-{side}{run}.profundo", program.name));
            if !file.exists() {
                record(program, options, &command, rounds, arguments, &file)?;
            }
            files.push(file);
        }
    }
    let mut dice = Dice(0x1234_5678_9ABC_DEF1);
    let (mut alarms, mut found, mut besides) = (0, 0, 0);
    for _ in 0..options.pairs {
        let mut draw = drawn(&mut dice, options.runs);
        let names = compare(
            program,
            options,
            &pick(&mut draw, &unchanged, options.set),
            &pick(&mut draw, &unchanged, options.set),
        )?;
        if !names.is_empty() {
            alarms += 1;
            println!("  false alarm: {}", names.join(", "));
        }
        let before = pick(&mut drawn(&mut dice, options.runs), &unchanged, options.set);
        let after = pick(&mut drawn(&mut dice, options.runs), &changed, options.set);
        let names = compare(program, options, &before, &after)?;
        found += usize::from(names.iter().any(|name| name.contains(program.function)));
        besides += usize::from(names.iter().any(|name| !name.contains(program.function)));
    }
    let pairs = options.pairs;
    println!(
        "{}: {besides} of {pairs} changed pairs name another function as well",
        program.name
    );
    verdict(
        &format!(
            "differences, {}, unchanged pairs that name any function",
            program.name
        ),
        format!("{alarms} of {pairs}"),
        "≤ 10 of 100",
    );
    verdict(
        &format!("differences, {}, {} found", program.name, program.about),
        format!("{found} of {pairs}"),
        "≥ 90 of 100",
    );
    Ok(())
}

/// The command line of the program, without its number of rounds.
fn command(program: &Program, options: &Options, folder: &Path) -> Result<Vec<String>> {
    let source = Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("programs")
        .join(program.file);
    let source = source.to_string_lossy().into_owned();
    if !program.file.ends_with(".c") {
        return Ok(vec![options.python.clone(), source]);
    }
    let binary = folder.join(program.name).to_string_lossy().into_owned();
    let status = Command::new("cc")
        .args(["-O1", "-g", "-o", &binary, &source])
        .status()?;
    match status.success() {
        true => Ok(vec![binary]),
        false => Err(format!("cannot compile {source}").into()),
    }
}

/// The number of rounds that take so many seconds of CPU time.
fn calibrate(command: &[String], seconds: f64) -> Result<u64> {
    let mut rounds = 100;
    loop {
        let child = (Command::new(&command[0]).args(&command[1..]))
            .arg(rounds.to_string())
            .stdout(Stdio::null())
            .spawn()?;
        let (status, cpu) = wait(child)?;
        if status != 0 {
            return Err(format!("{command:?} ended badly").into());
        }
        if cpu.total() > 0.5 {
            return Ok((rounds as f64 * seconds / cpu.total()) as u64);
        }
        rounds *= 3;
    }
}

fn record(
    program: &Program,
    options: &Options,
    command: &[String],
    rounds: u64,
    arguments: &[&str],
    file: &Path,
) -> Result<()> {
    let status = (Command::new(&options.profundo)
        .arg("record")
        .args(program.recorded))
    .arg("-o")
    .arg(file)
    .arg("--")
    .args(command)
    .arg(rounds.to_string())
    .args(arguments)
    .stdin(Stdio::null())
    .stdout(Stdio::null())
    .stderr(Stdio::null())
    .status()?;
    match status.success() {
        true => Ok(()),
        false => Err(format!("{} ended badly under the profiler", program.name).into()),
    }
}

/// The numbers of all runs in a random order.
fn drawn(dice: &mut Dice, runs: usize) -> Vec<usize> {
    let mut numbers: Vec<usize> = (0..runs).collect();
    for last in (1..runs).rev() {
        numbers.swap(last, dice.below(last as u64 + 1) as usize);
    }
    numbers
}

/// Takes the next recordings of a draw.
fn pick<'a>(draw: &mut Vec<usize>, files: &'a [PathBuf], count: usize) -> Vec<&'a Path> {
    let taken = draw.split_off(draw.len() - count);
    taken
        .into_iter()
        .map(|number| files[number].as_path())
        .collect()
}

/// The functions and lines that `diff` names as different.
fn compare(
    program: &Program,
    options: &Options,
    before: &[&Path],
    after: &[&Path],
) -> Result<Vec<String>> {
    let output = (Command::new(&options.profundo).args(["diff", "--json"]))
        .args(program.compared)
        .args(before)
        .args((options.set > 1).then_some("--"))
        .args(after)
        .output()?;
    if !output.status.success() {
        let why = String::from_utf8_lossy(&output.stderr).into_owned();
        return Err(format!("diff has failed: {why}").into());
    }
    let answer: Value = serde_json::from_slice(&output.stdout)?;
    let tables = answer["tables"].as_array().ok_or("diff has no tables")?;
    let rows = tables.iter().filter_map(|table| table["rows"].as_array());
    let changed = rows.flatten().filter(|row| {
        let is = |member: &str| row[member].as_bool().unwrap_or_default();
        is("self_changed") || is("total_changed")
    });
    let mut names: Vec<String> = changed
        .map(|row| row["name"].as_str().unwrap_or_default().to_owned())
        .collect();
    names.sort();
    names.dedup();
    Ok(names)
}
