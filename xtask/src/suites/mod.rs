//! Test suites of other projects, without and with the profiler: each test must have the same
//! outcome both ways. The packages of [`list`] do what is hard on a profiler: they switch stacks,
//! trace, fork, read `/proc`, and test a test runner.
//!
//! `cargo xtask suites` is run by hand, because it takes long and wants PyPI. What it installs and
//! its results are in `target/suites`: `--resume` goes on where such a run was ended.

mod compare;
mod excused;
mod gevent;
mod list;
mod place;
mod results;
mod side;
mod verdict;

use std::env;
use std::path::{Path, PathBuf};
use std::time::Instant;

use anyhow::{Context, Result, bail};

use crate::cpython::pythons::Python;
use crate::metadata;
use crate::sides::Sides;
use crate::sides::mode::Mode;
use crate::test::tally::Tally;
use compare::compare;
use list::{SUITES, Suite};
use place::Place;
use results::Results;
use verdict::Verdict;

/// The interpreter that runs the suites, unless another one is named.
const USUAL: &str = ".pyenv/versions/3.12.1/bin/python3";

/// The command line's request.
#[derive(Debug, Default)]
struct Wanted {
    mode: Mode,
    python: Option<PathBuf>,
    resumes: bool,
    names: Vec<String>,
}

impl Wanted {
    fn read(arguments: &[&str]) -> Result<Self> {
        let mut wanted = Self::default();
        let mut rest = arguments.iter();
        while let Some(&argument) = rest.next() {
            match argument {
                "--resume" => wanted.resumes = true,
                "--mode" => {
                    wanted.mode = Mode::named(rest.next().context("--mode needs a name")?)?;
                }
                "--python" => {
                    let path = rest.next().context("--python needs a path")?;
                    wanted.python = Some(path.into());
                }
                _ if argument.starts_with('-') => bail!("there is no option {argument}"),
                name => wanted.names.push(name.to_owned()),
            }
        }
        Ok(wanted)
    }

    /// The named suites, in their order; all if none is named.
    fn suites(&self) -> Result<Vec<&'static Suite>> {
        if self.names.is_empty() {
            return Ok(SUITES.iter().collect());
        }
        let of = |name: &String| {
            let found = SUITES.iter().find(|suite| suite.name == name);
            let known: Vec<&str> = SUITES.iter().map(|suite| suite.name).collect();
            found
                .with_context(|| format!("there is no suite {name}: they are {}", known.join(", ")))
        };
        self.names.iter().map(of).collect()
    }

    fn python(&self) -> Result<Python> {
        let home = env::var_os("HOME").map(PathBuf::from).unwrap_or_default();
        let path = self.python.clone().unwrap_or_else(|| home.join(USUAL));
        let python = Python::asked(&path);
        python.with_context(|| format!("{}: no CPython of 3.8 or later", path.display()))
    }
}

/// Runs the named suites; true if every outcome was the same.
pub fn run(root: &Path, arguments: &[&str]) -> Result<bool> {
    let wanted = Wanted::read(arguments)?;
    let (suites, python) = (wanted.suites()?, wanted.python()?);
    let folder = metadata::load(root)?.target.join("suites");
    let results = folder.join(wanted.mode.name());
    let sides = Sides::new("suites", &metadata::profundo(root)?, wanted.mode)?;
    let mut tally = Tally::default();
    for suite in suites {
        let name = format!("{} {} {}", suite.name, wanted.mode.name(), python.version());
        let file = results.join(format!("{}-{}.tsv", suite.name, python.version()));
        let earlier = match wanted.resumes {
            true => Results::read(&file)?,
            false => None,
        };
        let results = match earlier {
            Some(results) => results,
            None => {
                println!("{name}: begins");
                let began = Instant::now();
                let made = Place::made(&folder, &python, suite);
                let results = made.and_then(|place| compare(&sides, &place));
                println!("{name}: took {:.0} s", began.elapsed().as_secs_f64());
                match results {
                    Ok(results) => {
                        results.write(&file)?;
                        results
                    }
                    Err(error) => {
                        println!("{name}: {error:#}");
                        tally.check(&name, false);
                        continue;
                    }
                }
            }
        };
        println!("{name}: {}", results.summary());
        for (test, outcome) in results.worth_a_line() {
            println!("    {test}: {outcome}");
        }
        tally.check(&name, results.count(Verdict::Ours) == 0);
    }
    println!("{}", sides.recorded());
    tally.print();
    Ok(tally.failed == 0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_command_line_is_read() {
        let wanted = Wanted::read(&["--mode", "late", "--resume", "greenlet", "numpy"]).unwrap();
        assert_eq!((wanted.mode, wanted.resumes), (Mode::Late, true));
        let names: Vec<&str> = wanted.suites().unwrap().iter().map(|it| it.name).collect();
        assert_eq!(names, ["greenlet", "numpy"]);
        assert_eq!(Wanted::default().suites().unwrap().len(), SUITES.len());
        let why = |words: &[&str]| Wanted::read(words).unwrap_err().to_string();
        assert_eq!(why(&["--mode"]), "--mode needs a name");
        assert_eq!(why(&["--nothing"]), "there is no option --nothing");
        let unknown = Wanted::read(&["django"]).unwrap().suites().unwrap_err();
        assert!(unknown.to_string().starts_with("there is no suite django"));
    }
}
