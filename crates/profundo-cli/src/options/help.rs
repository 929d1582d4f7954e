//! Help that fits a screen: what a command does, examples, and the options that are used most.
//! `--help-all` has the rest.

use std::ffi::OsString;
use std::io::{self, IsTerminal, Write};

use clap::builder::StyledStr;
use clap::{Command, CommandFactory};

use super::Arguments;

/// The first screen.
pub const ROOT: &str = "\
profundo shows where programs spend their time and memory: Python and native ones, as they are.

Usage: profundo COMMAND [OPTIONS] ...

Record a program
  run         record it, then print where its time went
  record      the same, without the report
  attach      record a process that runs already
  top         show where a program spends its time while it runs
  watch       profile a machine or a service all the time, into a store
  peek        one stack of each thread, then a second of profile
  trace       count and time every call, or every line

Look at a recording: FILE, the newest where none is named, or a QUERY of a store
  report      where the time went: lines, functions, trees, memory, I/O
  view        a page in the browser: everything in one place, or as one file
  flame       a flame graph: an SVG file to click through
  diff        what has changed between two recordings, or two sets of runs
  regressions which functions of a fleet have grown since the version before
  graph       a picture of who calls whom
  heatmap     time against the offset within each second: pauses, patterns
  list        the recordings that there are
  merge       several runs, processes or machines in one recording
  export      other tools' formats: pprof, speedscope, callgrind, ...

Measure
  time        how long a program takes, and what it takes of the machine
  bench       which of several statements or commands is faster

Memory
  heap        what is in the heap of a process, and what keeps it there
  snapshot, assemble, track-allocation, gc-log

Other
  doctor      what works on this machine, and what to do about the rest
  push, receive, symbols      profiles to and from other tools, for a fleet
  ctl, recover, completions, man

Examples:
  profundo run app.py                     the hot lines of a Python program
  profundo run -- ./server --port 8080    any program, with its arguments
  profundo report lines                   the source of what was recorded last

`profundo COMMAND --help` explains a command, `--help-all` each of its options.
";

/// A command's short help: the options that are used most, and examples.
struct Screen {
    verb: &'static str,
    options: &'static [&'static str],
    examples: &'static str,
}

const SCREENS: [Screen; 15] = [
    Screen {
        verb: "run",
        options: &[
            "output",
            "rate",
            "duration",
            "wall",
            "memory",
            "energy",
            "no_children",
            "format",
            "only_mine",
            "mine",
            "limit",
        ],
        examples: "\
Examples:
  profundo run app.py
  profundo run --memory -- python3 -m pytest tests
  profundo run --wall -- ./server --port 8080",
    },
    Screen {
        verb: "record",
        options: &[
            "output",
            "rate",
            "duration",
            "wall",
            "memory",
            "energy",
            "no_children",
            "wait_all",
            "all_processes",
            "start_after",
            "last",
        ],
        examples: "\
Examples:
  profundo record app.py && profundo report lines
  profundo record --last 5m -- ./server    only the last minutes, whenever it ends
  profundo record -a -d 10                 all processes of the machine
  profundo record -o before.profundo -- make -j4",
    },
    Screen {
        verb: "attach",
        options: &[
            "pids", "output", "rate", "duration", "wall", "inside", "memory", "dump", "trace",
            "format",
        ],
        examples: "\
Examples:
  profundo attach 4711 -d 10
  profundo attach 4711 --trace     each call of its Python functions is counted
  profundo attach 4711 --wall      until Ctrl-C; the process goes on",
    },
    Screen {
        verb: "peek",
        options: &[
            "pids",
            "no_children",
            "locals",
            "duration",
            "rate",
            "signal",
            "format",
            "only_mine",
            "limit",
            "json",
        ],
        examples: "\
Example:
  profundo peek 4711",
    },
    Screen {
        verb: "watch",
        options: &[
            "to",
            "service",
            "label",
            "rate",
            "no_waits",
            "memory",
            "every",
            "duration",
            "all_processes",
        ],
        examples: "\
Examples:
  profundo watch -a --to /var/lib/profiles
  profundo watch --to s3://bucket/prod --service api -- ./server
  profundo report '/var/lib/profiles?service=api&from=-1h'",
    },
    Screen {
        verb: "report",
        options: &[
            "limit",
            "min_share",
            "by",
            "sort",
            "only_mine",
            "mine",
            "thread",
            "process",
            "function",
            "json",
            "output",
        ],
        examples: "\
Examples:
  profundo report                          the newest recording
  profundo report lines --only-mine
  profundo report @2 tree                  the recording before
  profundo report app.profundo callers parse",
    },
    Screen {
        verb: "export",
        options: &[
            "to",
            "output",
            "weights",
            "frames",
            "threads",
            "only_mine",
            "mine",
            "thread",
            "process",
            "function",
            "of",
        ],
        examples: "\
Examples:
  profundo export --to pprof
  profundo export app.profundo --to collapsed -o - | head",
    },
    Screen {
        verb: "view",
        options: &[
            "output",
            "max_page_size",
            "embed",
            "confidential",
            "no_open",
            "listen",
        ],
        examples: "\
Examples:
  profundo view                            the newest recording
  profundo view before.profundo after.profundo
                                           what has changed
  profundo view a1 a2 a3 -- b1 b2 b3       the same of two sets of runs
  profundo view 4711                       a process, until its page is closed
  profundo view app.profundo -o app.html   a file for others, without a server",
    },
    Screen {
        verb: "flame",
        options: &[
            "output",
            "layout",
            "colour",
            "icicle",
            "inverted",
            "threads",
            "only_mine",
            "mine",
            "thread",
            "process",
            "function",
            "of",
        ],
        examples: "\
Examples:
  profundo flame
  profundo flame app.profundo -o app.svg --only-mine
  profundo flame --layout time-order --colour package",
    },
    Screen {
        verb: "heatmap",
        options: &[
            "output", "column", "row", "waiting", "thread", "process", "function", "file", "from",
            "to",
        ],
        examples: "\
Examples:
  profundo heatmap
  profundo heatmap app.profundo --column 60 --thread worker",
    },
    Screen {
        verb: "diff",
        options: &[
            "by",
            "per",
            "fail_above",
            "output",
            "of",
            "only_mine",
            "function",
            "limit",
            "json",
        ],
        examples: "\
Examples:
  profundo diff                            the last two recordings
  profundo diff before.profundo after.profundo
  profundo diff a1 a2 a3 -- b1 b2 b3       two sets of runs
  profundo diff a b --fail-above 5%        for CI: may exit with 3",
    },
    Screen {
        verb: "graph",
        options: &[
            "output",
            "square",
            "by",
            "nodes",
            "min_share",
            "edge_share",
            "only_mine",
            "thread",
            "process",
            "function",
            "of",
        ],
        examples: "\
Examples:
  profundo graph
  profundo graph app.profundo -o app.svg --by package
  profundo graph app.profundo -o app.dot && dot -Tpdf app.dot -o app.pdf
  profundo graph --square",
    },
    Screen {
        verb: "trace",
        options: &[
            "output",
            "no_builtins",
            "lines",
            "cheap",
            "once",
            "cpu",
            "no_children",
            "sort",
            "limit",
        ],
        examples: "\
Examples:
  profundo trace app.py              every call, as cProfile prints them
  profundo trace --lines app.py      each line, as line_profiler prints them
  profundo trace -- ./prog           if built with -finstrument-functions or for coverage",
    },
    Screen {
        verb: "bench",
        options: &[
            "python", "setup", "with", "check", "prepare", "warmup", "repeat", "save", "against",
            "json",
        ],
        examples: "\
Examples:
  profundo bench --python 'sum(range(1000))' --python 'sum([*range(1000)])'
  profundo bench 'grep -c x big.txt' 'wc -l < big.txt'",
    },
    Screen {
        verb: "heap",
        options: &[
            "types",
            "biggest",
            "dominators",
            "path",
            "duplicates",
            "growth",
            "limit",
            "json",
        ],
        examples: "\
Examples:
  profundo heap 4711                      a process: Python, or recorded with --memory=exact
  profundo heap 4711 --path app.Session   what keeps these objects
  profundo heap before.heapsnapshot now.heapsnapshot",
    },
];

/// Prints the help that was asked for with these words.
pub fn print(words: &[OsString]) -> io::Result<()> {
    let is_all = words.iter().any(|word| word == "--help-all");
    let verb = words
        .iter()
        .skip(1)
        .filter_map(|word| word.to_str())
        .find(|word| *word != "help");
    let mut command = Arguments::command();
    // Gives the commands their full names and their options.
    command.build();
    let verb = verb.filter(|verb| command.find_subcommand(verb).is_some());
    let text = match verb {
        Some(verb) => of_verb(&mut command, verb, is_all),
        None if is_all => command.render_long_help(),
        None => StyledStr::from(ROOT),
    };
    let mut out = io::stdout();
    let no_color = std::env::var_os("NO_COLOR").is_some_and(|value| !value.is_empty());
    match out.is_terminal() && !no_color {
        true => write!(out, "{}", text.ansi()),
        false => write!(out, "{text}"),
    }
}

/// The help of one command.
fn of_verb(command: &mut Command, verb: &str, is_all: bool) -> StyledStr {
    let found = command.find_subcommand(verb).cloned();
    let mut command = found.unwrap_or_default();
    let screen = SCREENS.iter().find(|screen| screen.verb == verb);
    match screen {
        Some(screen) if !is_all => shortened(command, screen).render_help(),
        _ if is_all => command.render_long_help(),
        _ => with_plain_help(command).render_help(),
    }
}

/// Says what `--help` gives as it is here.
fn with_plain_help(command: Command) -> Command {
    command.mut_args(|argument| match argument.get_id().as_str() {
        "help" => argument.help("Print this help"),
        _ => argument,
    })
}

/// Hides what is not used most.
fn shortened(command: Command, screen: &Screen) -> Command {
    let mut hidden = 0;
    let is_shown = |id: &str| ["help", "help_all"].contains(&id) || screen.options.contains(&id);
    let command = with_plain_help(command).mut_args(|argument| {
        if argument.is_positional() || is_shown(argument.get_id().as_str()) {
            return argument;
        }
        if !argument.is_hide_set() {
            hidden += 1;
        }
        argument.hide(true)
    });
    command.after_help(format!(
        "{}\n\n`profundo {} --help-all` has {hidden} more options.",
        screen.examples, screen.verb
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    const COLUMNS: usize = 80;
    const LINES: usize = 45;

    fn built() -> Command {
        let mut command = Arguments::command().term_width(COLUMNS);
        command.build();
        command
    }

    #[test]
    fn every_help_fits_a_screen() {
        let mut command = built();
        let verbs: Vec<String> = command
            .get_subcommands()
            .map(|verb| verb.get_name().to_owned())
            .collect();
        for verb in verbs.iter().filter(|verb| *verb != "help") {
            let text = of_verb(&mut command, verb, false).to_string();
            assert!(text.lines().count() <= LINES, "{verb}:\n{text}");
            for line in text.lines() {
                assert!(line.chars().count() <= COLUMNS + 10, "{verb}: {line}");
            }
        }
        assert!(ROOT.lines().count() <= LINES);
    }

    #[test]
    fn the_first_screen_names_every_command() {
        let command = built();
        let words: Vec<&str> = ROOT
            .split(|character: char| !character.is_alphanumeric() && character != '-')
            .collect();
        for verb in command.get_subcommands().filter(|verb| !verb.is_hide_set()) {
            let name = verb.get_name();
            assert!(name == "help" || words.contains(&name), "{name}");
        }
    }

    #[test]
    fn a_screen_shows_options_that_there_are() {
        let command = built();
        for screen in &SCREENS {
            let verb = command.find_subcommand(screen.verb).unwrap();
            for id in screen.options {
                let found = verb
                    .get_arguments()
                    .find(|argument| argument.get_id() == id);
                assert!(found.is_some(), "{} {id}", screen.verb);
            }
        }
    }
}
