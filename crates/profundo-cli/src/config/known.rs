//! The options that settings may have, and those that a project may set.

use clap::{Arg, ArgAction, Command};
use profundo_analysis::function_names;

/// Options that a project may set: how something is measured and shown. Options in no list are for
/// the user alone: where files go and what they replace, which programs are run, how many
/// recordings stay, and whose memory is shown.
const PROJECTS: &[&str] = &[
    "all-lines",
    "batch",
    "biggest",
    "by",
    "c",
    "callees",
    "callers",
    "cheap",
    "check",
    "children",
    "color",
    "context",
    "count",
    "cpu",
    "dominators",
    "duplicates",
    "duration",
    "energy",
    "engine",
    "file",
    "format",
    "frames",
    "from",
    "function",
    "functions",
    "hot-first",
    "hyperlinks",
    "icicle",
    "intel",
    "interval",
    "inverted",
    "json",
    "kinds",
    "libraries",
    "limit",
    "lines",
    "max-size",
    "maxdepth",
    "memory",
    "memory-sample",
    "min-share",
    "min-time",
    "mincount",
    "no-builtins",
    "no-children",
    "no-combine",
    "no-disk",
    "no-quality",
    "no-source",
    "noisefloor",
    "number",
    "of",
    "once",
    "only",
    "only-mine",
    "paused",
    "posix",
    "process",
    "processes",
    "rate",
    "recur",
    "repeat",
    "runs",
    "show-output",
    "slow",
    "sort",
    "start-after",
    "statements",
    "syscalls",
    "task",
    "tasks",
    "thread",
    "threads",
    "threshold",
    "timeout",
    "title",
    "to",
    "total",
    "types",
    "unit",
    "until",
    "verbose",
    "wait-all",
    "wall",
    "warmup",
    "weights",
    "width",
    "window",
];
/// Options that no settings may set: they concern this one call.
const NOBODYS: [&str; 6] = ["help", "help-all", "no-config", "version", "pid", "mine"];

/// The option of a name, if it can be set.
pub fn option<'a>(verb: &'a Command, name: &str) -> Option<&'a Arg> {
    let can_be_set = |arg: &&Arg| arg.get_long() == Some(name) && !NOBODYS.contains(&name);
    verb.get_arguments().find(can_be_set)
}

/// The verbs that have options.
pub fn verbs(all: &Command) -> impl Iterator<Item = &Command> {
    all.get_subcommands()
        .filter(|verb| verb.get_name() != "help")
}

/// True if a project may set the option.
pub fn is_projects(name: &str) -> bool {
    PROJECTS.contains(&name)
}

/// True for an option that is on or off, and has no value.
pub fn is_switch(arg: &Arg) -> bool {
    matches!(arg.get_action(), ArgAction::SetTrue | ArgAction::Count)
}

/// True for an option whose value may be left out.
pub fn needs_no_value(arg: &Arg) -> bool {
    arg.get_num_args()
        .is_some_and(|values| values.min_values() == 0)
}

/// True for an option that may be repeated.
pub fn is_repeated(arg: &Arg) -> bool {
    matches!(arg.get_action(), ArgAction::Append)
}

/// `; is it ...?`, where a name is near to another.
pub fn near<'a>(typed: &str, names: impl IntoIterator<Item = &'a str>) -> String {
    let names = names.into_iter().filter(|name| !NOBODYS.contains(name));
    let mut near = function_names::near(typed, names);
    near.dedup();
    match near.first() {
        Some(name) => format!("; is it `{name}`?"),
        None => String::new(),
    }
}

#[cfg(test)]
mod tests {
    use clap::CommandFactory;

    use super::*;
    use crate::options::Arguments;

    #[test]
    fn what_a_project_may_set_is_there() {
        let mut all = Arguments::command();
        all.build();
        for name in PROJECTS {
            let is_there = verbs(&all).any(|verb| option(verb, name).is_some());
            assert!(is_there, "{name}");
        }
    }

    #[test]
    fn a_project_names_no_files_and_no_programs() {
        let mut all = Arguments::command();
        all.build();
        let path = clap::builder::ValueParser::path_buf().type_id();
        for verb in verbs(&all) {
            for arg in verb.get_arguments() {
                let Some(name) = arg.get_long() else { continue };
                let is_path = arg.get_value_parser().type_id() == path;
                let names = arg.get_value_names().unwrap_or_default();
                let is_file = names.iter().any(|value_name| {
                    let names = ["OUT", "DIR", "COMMAND", "SHELL", "EDITOR", "PYTHON"];
                    names.contains(&value_name.as_str())
                });
                if is_path || is_file {
                    assert!(!is_projects(name), "{name} of {}", verb.get_name());
                }
            }
        }
        for name in [
            "output",
            "report-to",
            "output-to",
            "editor",
            "force",
            "keep",
            "setup",
        ] {
            assert!(!is_projects(name), "{name}");
        }
    }
}
