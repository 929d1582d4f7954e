//! The plan from the options: the candidates with their names, and options that do not go together.

use std::ffi::OsString;

use super::command::{Line, Shell};
use super::python::Statement;
use super::words;
use crate::options::Bench;

/// The candidates.
#[derive(Debug)]
pub enum Work {
    /// Statements of Python.
    Python(Vec<Statement>),
    /// Commands.
    Commands(Commands),
}

/// Commands, with setup, preparation and cleanup.
#[derive(Debug)]
pub struct Commands {
    /// The commands.
    pub lines: Vec<Line>,
    /// The shell that reads them.
    pub shell: Option<Shell>,
    /// The preparation before each run: none, the same for all, or one for each.
    pub prepare: Vec<String>,
    /// The setup, once before everything.
    pub setup: Option<String>,
}

/// The whole plan.
#[derive(Debug)]
pub struct Plan {
    /// The candidates.
    pub work: Work,
    /// Their names.
    pub names: Vec<String>,
    /// Their texts.
    pub texts: Vec<String>,
}

impl Plan {
    /// The plan of these options, or what is wrong with them.
    pub fn of(options: &Bench) -> Result<Self, String> {
        let is_python = !options.python.is_empty();
        refuse_misfits(options, is_python)?;
        let (work, texts) = match is_python {
            true => statements(options)?,
            false => commands(options)?,
        };
        let several_interpreters = options.with.len() > 1;
        let mut names: Vec<String> = match &work {
            Work::Python(statements) if several_interpreters => statements
                .iter()
                .map(|statement| named_by(statement, options.python.len() > 1))
                .collect(),
            _ => texts.iter().map(|text| text.trim().to_owned()).collect(),
        };
        if options.check && names.len() < 2 {
            return Err("`--check` compares what candidates give, and there is only one".into());
        }
        if options.name.len() > names.len() {
            let (given, candidates) = (options.name.len(), names.len());
            return Err(format!(
                "there are {given} names for {candidates} candidates"
            ));
        }
        for (name, given) in names.iter_mut().zip(&options.name) {
            name.clone_from(given);
        }
        Ok(Self { work, names, texts })
    }
}

/// The name of a statement that several interpreters run: the interpreter.
fn named_by(statement: &Statement, several: bool) -> String {
    let python = statement.python.to_string_lossy();
    match several {
        true => format!("{python}: {}", statement.text.trim()),
        false => python.into_owned(),
    }
}

/// Refuses options without effect, which would mislead.
fn refuse_misfits(options: &Bench, is_python: bool) -> Result<(), String> {
    let of = &options.of_commands;
    let for_commands = [
        ("--prepare", !of.prepare.is_empty()),
        ("--cleanup", of.cleanup.is_some()),
        ("--shell", of.shell.is_some()),
        ("-N", of.no_shell),
        ("--ignore-failure", of.ignore_failure),
    ];
    let for_python = [
        ("--with", !options.with.is_empty()),
        ("--number", options.number.is_some()),
        ("--min-time", options.min_time.is_some()),
    ];
    let is_given = |(name, is_given): &(&'static str, bool)| is_given.then_some(*name);
    if is_python && let Some(name) = for_commands.iter().find_map(is_given) {
        return Err(format!("`{name}` is for commands, not for `--python`"));
    }
    if !is_python && let Some(name) = for_python.iter().find_map(is_given) {
        return Err(format!("`{name}` goes with `--python STMT` alone"));
    }
    if !options.words.is_empty() && (of.shell.is_some() || of.no_shell) {
        return Err("what follows `--` is run without a shell: `--shell` and `-N` go with commands that are one word \
                    each"
            .into());
    }
    if !is_python && options.commands.is_empty() && options.words.is_empty() {
        return Err(
            "nothing to time: name a command, write a program after `--`, or give `--python STMT`"
                .into(),
        );
    }
    Ok(())
}

fn statements(options: &Bench) -> Result<(Work, Vec<String>), String> {
    let setup = match options.setup.is_empty() {
        true => "pass".to_owned(),
        false => options.setup.join("\n"),
    };
    let default = profundo_launch::python();
    let (texts, interpreters) = (&options.python, &options.with);
    let pairs: Vec<(&String, &OsString)> = match (texts.as_slice(), interpreters.as_slice()) {
        (texts, []) => texts.iter().map(|text| (text, &default)).collect(),
        (texts, [one]) => texts.iter().map(|text| (text, one)).collect(),
        ([one], interpreters) => interpreters.iter().map(|python| (one, python)).collect(),
        (texts, interpreters) if texts.len() == interpreters.len() => {
            texts.iter().zip(interpreters).collect()
        }
        (texts, interpreters) => {
            return Err(format!(
                "{} statements and {} interpreters do not go together: give one of either, or as many of both",
                texts.len(),
                interpreters.len()
            ));
        }
    };
    let statements = pairs.iter().map(|(text, python)| Statement {
        python: (*python).clone(),
        setup: setup.clone(),
        text: match text.trim() {
            "" => "pass".into(),
            _ => (*text).clone(),
        },
        cpu_clock: options.process,
    });
    let statements: Vec<Statement> = statements.collect();
    let texts = statements
        .iter()
        .map(|statement| statement.text.clone())
        .collect();
    Ok((Work::Python(statements), texts))
}

fn commands(options: &Bench) -> Result<(Work, Vec<String>), String> {
    let of = &options.of_commands;
    let shell = match of.shell.as_deref() {
        _ if of.no_shell || !options.words.is_empty() => None,
        Some("none") => None,
        Some(shell) => Some(Shell::new(words::split(shell)?)),
        None => Some(Shell::new(vec!["sh".into()])),
    };
    let mut lines = Vec::new();
    let mut texts = Vec::new();
    if !options.words.is_empty() {
        let shown: Vec<_> = (options.words.iter())
            .map(|word| word.to_string_lossy())
            .collect();
        texts.push(shown.join(" "));
        lines.push(Line::new(options.words.clone()));
    }
    for command in &options.commands {
        if command.trim().is_empty() {
            return Err("an empty line is no command".into());
        }
        texts.push(command.clone());
        lines.push(match &shell {
            Some(shell) => shell.line(command),
            None => Line::new(
                words::split(command)?
                    .into_iter()
                    .map(OsString::from)
                    .collect(),
            ),
        });
    }
    let prepare = of.prepare.clone();
    if prepare.len() > 1 && prepare.len() != lines.len() {
        return Err(format!(
            "give `--prepare` once for all {} candidates, or once for each",
            lines.len()
        ));
    }
    let setup = (!options.setup.is_empty()).then(|| options.setup.join("\n"));
    let commands = Commands {
        lines,
        shell,
        prepare,
        setup,
    };
    Ok((Work::Commands(commands), texts))
}
