//! The functions of an unmodified program whose calls the kernel counts, by uprobes.

use std::ffi::OsString;
use std::path::PathBuf;

use anyhow::{Context, Result, bail};
use profundo_analysis::{Pattern, function_names};
use profundo_console::stderr;
use profundo_launch::Program;
use profundo_linux::perf::FunctionCounters;
use profundo_symbols::{FunctionInFile, functions_of};
use profundo_wire::recording::Event;
use profundo_wire::traced::{
    CountedBy, TracedCalls, TracedFunction, TracedKind, TracedNode, TracedPlace,
};

/// The functions of a file that were chosen by name.
#[derive(Debug)]
pub struct ProbedFunctions {
    path: PathBuf,
    chosen: Vec<FunctionInFile>,
}

impl ProbedFunctions {
    /// Finds the functions of the program whose whole names match one of the patterns.
    pub fn find(words: &[OsString], patterns: &[String]) -> Result<Self> {
        let path = Program::find(words)?.path;
        let path = std::fs::canonicalize(&path).unwrap_or(path);
        let all = functions_of(&path).context("its functions cannot be found")?;
        let patterns: Vec<Pattern> = patterns.iter().map(Pattern::new).collect();
        let fits = |name: &str| {
            let mut patterns = patterns.iter();
            patterns.any(|pattern| function_names::fits(pattern, name))
        };
        let chosen = all.iter().filter(|function| fits(&function.name));
        let chosen: Vec<FunctionInFile> = chosen.cloned().collect();
        let most = FunctionCounters::most();
        let path_shown = path.display();
        match chosen.len() {
            0 => {
                let names = || all.iter().map(|function| function.name.as_str());
                let near = patterns.iter();
                let near = near.flat_map(|pattern| function_names::near(pattern.text(), names()));
                let near = stderr::near_ones(&near.collect::<Vec<_>>());
                bail!("{path_shown} has no function of such a name (`nm -C` lists them){near}")
            }
            many if many > most => {
                bail!("{many} functions have such a name, and {most} can be counted at once here")
            }
            _ => Ok(Self { path, chosen }),
        }
    }

    /// Begins to count the calls.
    pub fn count(&self) -> Result<FunctionCounters> {
        let offsets: Vec<u64> = self.chosen.iter().map(|function| function.offset).collect();
        FunctionCounters::open(&self.path, &offsets).context(
            "the kernel does not count calls for you: uprobes are for root (and need a kernel that has them). Without, build the \
             program with -finstrument-functions and leave --functions out",
        )
    }

    /// The counts, of the first program.
    pub fn counted(&self, counters: &FunctionCounters) -> Event<'static> {
        let functions = self.chosen.iter().map(|function| TracedFunction {
            kind: TracedKind::Native,
            name: function.name.clone(),
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
