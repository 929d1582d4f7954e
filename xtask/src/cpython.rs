//! CPython's own tests, without and with the profiler: each test must have the same outcome both
//! ways. The two sides run at the same time, and so do some modules, because these tests mostly
//! wait; differing tests are retried alone.
//!
//! The tests come with the installed interpreters. The daily run has the modules that a profiler is
//! most likely to break ([`daily`] lists what is left out); `cargo xtask cpython-tests` and `cargo
//! xtask test --long` leave out none of their tests, and `cargo xtask cpython-tests --all` runs
//! every module, which takes hours: `--resume` goes on where such a run was ended, and `--part 1/8`
//! takes every eighth module. `--mode` chooses how they are recorded.

mod daily;
mod excused;
mod judgement;
mod part;
mod progress;
pub mod pythons;
mod side;

use std::path::{Path, PathBuf};
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;
use std::time::Instant;

use anyhow::{Context, Result, bail, ensure};

use crate::metadata;
use crate::sides::Sides;
use crate::sides::mode::Mode;
use crate::test::tally::Tally;
use judgement::Judgement;
use part::Part;
use progress::{Progress, SAME, SKIPPED};
use pythons::Python;

/// The most tries of a module with a difference.
const TRIES: usize = 3;

/// The number of modules that run at the same time. They mostly wait.
const AT_ONCE: usize = 4;

/// A module of tests, on one interpreter.
#[derive(Debug, Clone)]
pub struct Module {
    pub python: Python,
    pub name: String,
    /// Patterns of the tests to run; all if there are none.
    pub only: Vec<String>,
    /// Patterns of the tests to leave out.
    pub without: Vec<String>,
}

impl Module {
    fn whole(python: &Python, name: &str) -> Self {
        Self {
            python: python.clone(),
            name: name.to_owned(),
            only: Vec::new(),
            without: Vec::new(),
        }
    }

    fn title(&self) -> String {
        format!("{} {}", self.python.version(), self.name)
    }
}

/// The command line's request.
#[derive(Debug, Default)]
struct Wanted {
    daily: bool,
    all: bool,
    at_once: Option<usize>,
    mode: Mode,
    resumes: bool,
    part: Part,
    modules: Vec<String>,
    pythons: Vec<PathBuf>,
}

impl Wanted {
    fn read(arguments: &[&str]) -> Result<Self> {
        let mut wanted = Self::default();
        let mut rest = arguments.iter();
        while let Some(&argument) = rest.next() {
            match argument {
                "--short" => wanted.daily = true,
                "--all" => wanted.all = true,
                "--resume" => wanted.resumes = true,
                "--part" => {
                    wanted.part = rest.next().context("--part needs two numbers")?.parse()?;
                }
                "--mode" => {
                    wanted.mode = Mode::named(rest.next().context("--mode needs a name")?)?;
                }
                "--jobs" => {
                    let number = rest.next().context("--jobs needs a number")?;
                    let number: usize = number.parse().context("--jobs needs a number")?;
                    wanted.at_once = Some(number.max(1));
                }
                _ if argument.starts_with('-') => bail!("there is no option {argument}"),
                // Modules of a package are `test.test_asyncio.test_events` and the like.
                _ if argument.starts_with("test_") || argument.starts_with("test.") => {
                    wanted.modules.push(argument.to_owned());
                }
                _ => wanted.pythons.push(argument.into()),
            }
        }
        Ok(wanted)
    }
}

/// Runs the requested tests; true if every outcome was the same.
pub fn run(root: &Path, arguments: &[&str]) -> Result<bool> {
    let wanted = Wanted::read(arguments)?;
    let pythons = match &wanted.pythons[..] {
        [] => pythons::present(),
        named => (named.iter())
            .map(|path| {
                Python::asked(path)
                    .with_context(|| format!("{}: no CPython with its tests", path.display()))
            })
            .collect::<Result<_>>()?,
    };
    ensure!(!pythons.is_empty(), "no CPython here brings its tests");
    let mut tally = Tally::default();
    let mut modules = Vec::new();
    if wanted.daily {
        modules = daily::modules(&pythons, &mut tally);
    } else {
        for python in &pythons {
            let names = match &wanted.modules[..] {
                [] if wanted.all => wanted.part.of(python.every_module()?),
                [] => daily::names(),
                named => named.to_vec(),
            };
            modules.extend(names.iter().map(|name| Module::whole(python, name)));
        }
    }
    let at_once = wanted.at_once.unwrap_or(AT_ONCE);
    let mut progress = match wanted.resumes {
        true => {
            let target = metadata::load(root)?.target;
            Progress::read(&target.join("cpython-tests").join(wanted.mode.name()))?
        }
        false => Progress::default(),
    };
    let mut run = Run {
        sides: Sides::new("cpython", &metadata::profundo(root)?, wanted.mode)?,
        at_once,
        progress: &mut progress,
        tally: &mut tally,
    };
    run.go_on(&modules)?;
    println!("{}", run.sides.recorded());
    println!("{}", tally.closing_line());
    Ok(tally.failed == 0)
}

/// A check for each module on each interpreter: the daily ones, or with `is_long`, all of them with
/// all their tests.
pub fn modules_of_the_run(root: &Path, is_long: bool) -> Result<Tally> {
    let mut tally = Tally::default();
    let pythons = pythons::present();
    if pythons.is_empty() {
        tally.skip("no CPython here brings its tests");
        return Ok(tally);
    }
    let modules = match is_long {
        true => daily::whole_modules(&pythons),
        false => daily::modules(&pythons, &mut tally),
    };
    let mut run = Run {
        sides: Sides::new("cpython", &metadata::profundo(root)?, Mode::Run)?,
        at_once: AT_ONCE,
        progress: &mut Progress::default(),
        tally: &mut tally,
    };
    run.compare(&modules)?;
    Ok(tally)
}

/// A run over modules.
struct Run<'a> {
    sides: Sides,
    at_once: usize,
    progress: &'a mut Progress,
    tally: &'a mut Tally,
}

impl Run<'_> {
    /// Compares those modules that are not done yet, in parts: what a part has found is kept if the
    /// run is ended.
    fn go_on(&mut self, modules: &[Module]) -> Result<()> {
        const PART: usize = 24;
        let mut open = Vec::new();
        for module in modules {
            let title = module.title();
            match self.progress.outcome(&title) {
                None => open.push(module.clone()),
                Some(outcome) => {
                    if let Some(why) = outcome.strip_prefix(SKIPPED) {
                        self.tally.skip(&format!("{title}: {why}"));
                        continue;
                    }
                    if outcome != SAME {
                        println!("{title}: {outcome} (an earlier run)");
                    }
                    let name = format!("CPython's own {title}");
                    self.tally.check(&name, outcome == SAME);
                }
            }
        }
        println!("{} of {} modules are open", open.len(), modules.len());
        for part in open.chunks(PART) {
            self.compare(part)?;
        }
        Ok(())
    }

    /// Runs each module without and with the profiler, and retries differences.
    fn compare(&mut self, modules: &[Module]) -> Result<()> {
        let first = first_tries(&self.sides, modules, self.at_once)?;
        for (module, mut judgement) in modules.iter().zip(first) {
            let title = module.title();
            if let Some(why) = judgement.no_answer() {
                self.tally.skip(&format!("{title}: {why}"));
                self.progress.note(&title, &format!("{SKIPPED}{why}"))?;
                continue;
            }
            for _ in 1..TRIES {
                let Some(retry) = judgement.open() else {
                    break;
                };
                println!("{title}: tried again: {retry}");
                let mut module = module.clone();
                if !retry.patterns.is_empty() {
                    module.only = retry.patterns;
                }
                judgement.add(self.sides.in_turn(&module)?);
            }
            let ours = judgement.ours();
            for difference in &ours {
                println!("{title}: {difference}");
            }
            for name in judgement.flaky() {
                println!("{title}: {name} differed at first, and is not steady");
            }
            let differences: Vec<String> = ours.iter().map(ToString::to_string).collect();
            let outcome = match differences.as_slice() {
                [] => SAME.to_owned(),
                differences => differences.join("; "),
            };
            self.progress.note(&title, &outcome)?;
            self.tally
                .check(&format!("CPython's own {title}"), ours.is_empty());
        }
        Ok(())
    }
}

/// Runs all modules once, this many at a time, in their order.
fn first_tries(sides: &Sides, modules: &[Module], at_once: usize) -> Result<Vec<Judgement>> {
    let next = AtomicUsize::new(0);
    let found: Mutex<Vec<(usize, Result<Judgement>)>> = Mutex::default();
    thread::scope(|scope| {
        for _ in 0..at_once {
            scope.spawn(|| {
                loop {
                    // Relaxed: the numbers only have to be distinct.
                    let number = next.fetch_add(1, Ordering::Relaxed);
                    let Some(module) = modules.get(number) else {
                        return;
                    };
                    let start = Instant::now();
                    let judgement = sides.at_once(module).map(|(without, with)| {
                        let seconds = start.elapsed().as_secs_f64();
                        println!("{}: {without} ({seconds:.0} s)", module.title());
                        let mut judgement = Judgement::new(without, with);
                        for (test, reason) in judgement.excuse(sides.mode()) {
                            println!("{test}: may differ: {reason}");
                        }
                        if let Some(retry) = judgement.open() {
                            println!("{}: to be tried again: {retry}", module.title());
                        }
                        judgement
                    });
                    let mut found = found.lock().unwrap_or_else(|poison| poison.into_inner());
                    found.push((number, judgement));
                }
            });
        }
    });
    let mut found = found
        .into_inner()
        .unwrap_or_else(|poison| poison.into_inner());
    found.sort_by_key(|(number, _)| *number);
    found.into_iter().map(|(_, judgement)| judgement).collect()
}
