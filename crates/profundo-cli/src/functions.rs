//! The functions of a program as it is whose calls the kernel counts.

use std::ffi::OsString;
use std::path::PathBuf;

use anyhow::{Context, Result, bail};
use profundo_analysis::Pattern;
use profundo_remote::FunctionCounters;
use profundo_symbols::{FunctionInFile, functions_of};
use profundo_wire::recording::Event;
use profundo_wire::traced::{
    CountedBy, TracedCalls, TracedFunction, TracedKind, TracedNode, TracedPlace,
};

use crate::function_names;
use crate::launch::Program;

/// Some functions of a file.
#[derive(Debug)]
pub struct Functions {
    path: PathBuf,
    chosen: Vec<FunctionInFile>,
}

impl Functions {
    /// Those of the program whose names fit one of the patterns as a whole.
    pub fn find(words: &[OsString], patterns: &[String]) -> Result<Self> {
        let path = Program::find(words)?.path;
        let path = std::fs::canonicalize(&path).unwrap_or(path);
        let all = functions_of(&path).context("its functions cannot be found")?;
        let patterns: Vec<Pattern> = patterns.iter().map(Pattern::new).collect();
        let fits = |name: &str| {
            let mut patterns = patterns.iter();
            patterns.any(|it| function_names::fits(it, name))
        };
        let chosen = all.iter().filter(|it| fits(&it.name));
        let chosen: Vec<FunctionInFile> = chosen.cloned().collect();
        let most = FunctionCounters::most();
        let path_shown = path.display();
        match chosen.len() {
            0 => {
                let names = || all.iter().map(|it| it.name.as_str());
                let near = patterns.iter();
                let near = near.flat_map(|it| function_names::near(it.text(), names()));
                let near = function_names::near_ones(&near.collect::<Vec<_>>());
                bail!("{path_shown} has no function of such a name (`nm -C` lists them){near}")
            }
            many if many > most => {
                bail!("{many} functions have such a name, and {most} can be counted at once here")
            }
            _ => Ok(Self { path, chosen }),
        }
    }

    /// Begins to count them.
    pub fn count(&self) -> Result<FunctionCounters> {
        let offsets: Vec<u64> = self.chosen.iter().map(|it| it.offset).collect();
        FunctionCounters::open(&self.path, &offsets).context(
            "the kernel does not count calls for you: uprobes are for root (and need a kernel that has them). Without, build the \
             program with -finstrument-functions and leave --functions out",
        )
    }

    /// What was counted, of the first program.
    pub fn counted(&self, counters: &FunctionCounters) -> Event<'static> {
        let functions = self.chosen.iter().map(|it| TracedFunction {
            kind: TracedKind::Native,
            name: it.name.clone(),
            ..TracedFunction::default()
        });
        let nodes = counters.read().into_iter().zip(0..);
        let nodes = nodes.map(|(calls, function)| TracedNode {
            parent: 0,
            place: TracedPlace::Function(function),
            calls,
            resumes: 0,
            total: 0,
        });
        Event::Calls {
            process: FIRST,
            calls: TracedCalls {
                counted_by: CountedBy::Kernel,
                functions: functions.collect(),
                nodes: nodes.collect(),
                ..TracedCalls::default()
            },
        }
    }
}

/// Programs are numbered from one on.
const FIRST: u32 = 1;
