//! Tests of a suite, run by pytest or by gevent's own runner.

use std::env;
use std::process::{Command, ExitStatus};

use anyhow::Result;

use super::gevent;
use super::list::Runner;
use super::place::Place;
use crate::sides::outcomes::Outcomes;
use crate::sides::{Folder, Tests};

/// Some tests of a suite, by the words that choose them.
#[derive(Debug)]
pub struct Chosen<'a> {
    place: &'a Place,
    tests: &'a [String],
}

impl<'a> Chosen<'a> {
    pub fn of(place: &'a Place, tests: &'a [String]) -> Self {
        Self { place, tests }
    }
}

impl Tests for Chosen<'_> {
    const LIMIT: &'static str = "1200";

    fn prepare(&self, folder: &Folder, command: &mut Command) -> Result<()> {
        let Self { place, tests } = self;
        let work = folder.work();
        place.fill(&work)?;
        command.arg(place.python());
        match place.suite.runner {
            Runner::Pytest(options) => {
                command.args(["-m", "pytest", "-v", "-p", "no:cacheprovider"]);
                command.args(["-o", "addopts=", "--junit-xml"]);
                command.arg(folder.xml()).args(options);
                let root = match place.suite.parts {
                    [] => place.packages()?,
                    _ => work,
                };
                command.arg("--rootdir").arg(&root);
                command.args(tests.iter().map(|test| root.join(test)));
            }
            Runner::Gevent(options) => {
                command.args(["-m", "gevent.tests"]).args(options);
                command.args(*tests);
            }
        }
        let path = env::var_os("PATH").unwrap_or_default();
        let path = [place.bin()].into_iter().chain(env::split_paths(&path));
        command
            .env("PATH", env::join_paths(path)?)
            .env("TMPDIR", folder.temporary())
            .envs(place.suite.variables.iter().copied());
        Ok(())
    }

    fn outcomes(&self, folder: &Folder, end: ExitStatus) -> Outcomes {
        match self.place.suite.runner {
            Runner::Pytest(_) => Outcomes::of_file(&folder.xml(), end),
            Runner::Gevent(_) => Outcomes::of_tests(gevent::tests(&folder.log()), end),
        }
    }
}
