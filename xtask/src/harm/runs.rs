//! The ordinary runs that are harmed.

use super::place::Place;

/// How the recorder comes to the program.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Way {
    /// It starts the program.
    Starts,
    /// The program runs already.
    Enters,
}

/// A run of the command.
#[derive(Debug, Clone, Copy)]
pub struct Run {
    pub name: &'static str,
    pub way: Way,
    /// The command's words before `-o FILE`; the program or the process comes after them.
    words: &'static [&'static str],
    pub is_python: bool,
}

const fn run(name: &'static str, words: &'static [&'static str]) -> Run {
    Run {
        name,
        way: Way::Starts,
        words,
        is_python: false,
    }
}

const fn of_python(mut run: Run) -> Run {
    run.is_python = true;
    run
}

const fn enters(mut run: Run) -> Run {
    run.way = Way::Enters;
    run
}

/// All runs.
pub const RUNS: &[Run] = &[
    run("run", &["run"]),
    run("memory", &["record", "--memory"]),
    run("exact", &["record", "--memory=exact"]),
    run("wall", &["record", "--wall"]),
    run("last", &["record", "--last", "5m"]),
    of_python(run("python", &["record"])),
    of_python(run("trace", &["trace"])),
    enters(run("attach", &["attach", "-d", "0.1"])),
    enters(run("inside", &["attach", "--inside", "-d", "0.1"])),
    of_python(enters(run("heap", &["snapshot"]))),
];

/// The name of a round's recording.
pub const RECORDING: &str = "made.profundo";

impl Run {
    /// The program's words, which work for so many milliseconds.
    pub fn program(&self, place: &Place, millis: u64) -> Vec<String> {
        let text = |path: &std::path::Path| path.to_string_lossy().into_owned();
        let mut words = match self.is_python {
            false => vec![text(&place.program)],
            true => vec![text(&place.python), text(&place.script)],
        };
        words.push(millis.to_string());
        words
    }

    /// The command's words; `rest` is the program or the process.
    pub fn words(&self, rest: &[String]) -> Vec<String> {
        let mut words: Vec<String> = self.words.iter().map(|&word| word.to_owned()).collect();
        words.extend(["-o".to_owned(), RECORDING.to_owned()]);
        if self.way == Way::Starts {
            words.push("--".to_owned());
        }
        words.extend_from_slice(rest);
        words
    }
}
