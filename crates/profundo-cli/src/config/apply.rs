//! Settings as words of the command line. Typed words are stronger, and a setting that conflicts
//! with them is left out.

use std::ffi::OsString;

use clap::error::ErrorKind;
use clap::parser::ValueSource;
use clap::{ArgMatches, Command, CommandFactory, FromArgMatches};

use super::read::{Entry, Value, commands};
use super::{Settings, is_off, known};
use crate::options::Arguments;

/// Commands without settings: they check settings, or only print.
const WITHOUT: [&str; 4] = ["doctor", "completions", "man", "help"];
/// The option that turns settings off.
const OFF: &str = "--no-config";

/// The command line with the words from settings.
#[derive(Debug, Default)]
pub struct WithDefaults {
    pub words: Vec<OsString>,
    /// The options that have a value from settings.
    pub set: Vec<String>,
    /// The number of patterns of own code from settings.
    pub mine: usize,
}

/// The typed words, with those from settings behind the command.
pub fn with_defaults(words: Vec<OsString>) -> Result<WithDefaults, String> {
    let added = add_defaults(&words)?;
    Ok(added.unwrap_or(WithDefaults {
        words,
        ..WithDefaults::default()
    }))
}

/// `None`: settings are not for these words, or there are none.
fn add_defaults(words: &[OsString]) -> Result<Option<WithDefaults>, String> {
    let is_option = |word: &OsString| word.as_encoded_bytes().starts_with(b"-");
    let Some(at) = (1..words.len()).find(|at| !is_option(&words[*at])) else {
        return Ok(None);
    };
    let verb = words[at].to_string_lossy().into_owned();
    if is_off() || WITHOUT.contains(&verb.as_str()) {
        return Ok(None);
    }
    let (settings, wrong) = Settings::here();
    if settings.files.is_empty() && wrong.is_empty() {
        return Ok(None);
    }
    let typed = Typed::parse(words);
    if typed.is_answer || typed.wants_none(words) {
        return Ok(None);
    }
    if let Some(why) = wrong.into_iter().next() {
        return Err(why);
    }
    let all = commands();
    let Some(command) = all.find_subcommand(&verb) else {
        return Ok(None);
    };
    let mut chosen = Chosen {
        words,
        behind: at + 1,
        added: (settings.mine())
            .filter(|_| has_mine(command))
            .map(|pattern| format!("--mine={pattern}").into())
            .collect(),
    };
    let mine = chosen.added.len();
    let mut set = Vec::new();
    let mut waiting = candidates(&settings, command, &typed);
    // A setting may need another one, so the rest is tried again as long as one can be added.
    loop {
        let before = waiting.len();
        let mut next = Vec::new();
        for (path, entry) in waiting {
            match chosen.add(entry, &typed) {
                Ok(true) => set.push(entry.key.clone()),
                Ok(false) => next.push((path, entry)),
                Err(why) => return Err(format!("{path}, line {}: {why}", entry.line)),
            }
        }
        waiting = next;
        if waiting.len() == before || waiting.is_empty() {
            break;
        }
    }
    let words = chosen.all();
    Ok(Some(WithDefaults { words, set, mine }))
}

/// The errors in values of settings, for any command.
pub fn wrong_values(settings: &Settings) -> Vec<String> {
    let all = commands();
    let mut wrong = Vec::new();
    for file in &settings.files {
        for entry in &file.entries {
            let is_meant = |verb: &&Command| match &entry.verb {
                Some(name) => name == verb.get_name(),
                None => known::option(verb, &entry.key).is_some(),
            };
            let Some(verb) = known::verbs(&all).find(is_meant) else {
                continue;
            };
            let mut words: Vec<OsString> = vec!["profundo".into(), verb.get_name().into()];
            words.extend(words_of(entry));
            // Missing options are reported later.
            if let Err(error) = Arguments::command().try_get_matches_from(words)
                && is_about_value(error.kind())
            {
                let path = file.path.display();
                wrong.push(format!(
                    "{path}, line {}: {}",
                    entry.line,
                    in_one_line(&error)
                ));
            }
        }
    }
    wrong
}

/// True if a value is wrong by itself.
fn is_about_value(kind: ErrorKind) -> bool {
    matches!(
        kind,
        ErrorKind::InvalidValue
            | ErrorKind::ValueValidation
            | ErrorKind::WrongNumberOfValues
            | ErrorKind::TooFewValues
            | ErrorKind::NoEquals
            | ErrorKind::TooManyValues
            | ErrorKind::InvalidUtf8
    )
}

fn has_mine(command: &Command) -> bool {
    command
        .get_arguments()
        .any(|argument| argument.get_id() == "mine")
}

/// The typed words, without any settings.
struct Typed {
    /// The command's matches; `None` if an option is wrong or missing.
    matches: Option<ArgMatches>,
    wanting: bool,
    /// Help is an answer; errors are reported as usual.
    is_answer: bool,
    is_off: bool,
}

impl Typed {
    fn parse(words: &[OsString]) -> Self {
        let parsed = Arguments::command().try_get_matches_from(words);
        match parsed {
            Ok(mut matches) => Self {
                is_off: matches.get_flag("no_config"),
                matches: matches.remove_subcommand().map(|(_, matches)| matches),
                wanting: false,
                is_answer: false,
            },
            Err(error) => {
                // Missing options may be in the settings.
                let wanting = error.kind() == ErrorKind::MissingRequiredArgument;
                Self {
                    matches: None,
                    wanting,
                    is_answer: !wanting,
                    is_off: false,
                }
            }
        }
    }

    /// True if the typed words turn settings off.
    fn wants_none(&self, words: &[OsString]) -> bool {
        let ours = words.iter().take_while(|word| *word != "--");
        self.is_off || self.wanting && ours.into_iter().any(|word| word == OFF)
    }

    fn has(&self, id: &str) -> bool {
        let source = self
            .matches
            .as_ref()
            .map(|matches| matches.value_source(id));
        source == Some(Some(ValueSource::CommandLine))
    }
}

/// The settings for a command that were not typed: of each option the strongest, and the strongest
/// first.
fn candidates<'a>(
    settings: &'a Settings,
    command: &Command,
    typed: &Typed,
) -> Vec<(String, &'a Entry)> {
    let mut found: Vec<(String, &Entry)> = Vec::new();
    for file in settings.files.iter().rev() {
        // A setting for one command is stronger than a setting for all.
        let (of_all, of_one): (Vec<&Entry>, Vec<&Entry>) =
            file.entries.iter().partition(|entry| entry.verb.is_none());
        for entry in of_one.into_iter().chain(of_all) {
            let is_meant = (entry.verb.as_deref()).is_none_or(|verb| verb == command.get_name());
            let option = known::option(command, &entry.key);
            let Some(option) = option.filter(|_| is_meant) else {
                continue;
            };
            let is_known = found.iter().any(|(_, known)| known.key == entry.key);
            if !is_known && !typed.has(option.get_id().as_str()) {
                found.push((file.path.display().to_string(), entry));
            }
        }
    }
    found
}

/// The words that were chosen so far.
struct Chosen<'a> {
    words: &'a [OsString],
    /// The number of words before the settings.
    behind: usize,
    added: Vec<OsString>,
}

impl Chosen<'_> {
    fn all(&self) -> Vec<OsString> {
        let (before, after) = self.words.split_at(self.behind);
        let added = self.added.iter();
        before.iter().chain(added).chain(after).cloned().collect()
    }

    /// Adds a setting, if it does not conflict with the words so far. An error: its value is wrong.
    fn add(&mut self, entry: &Entry, typed: &Typed) -> Result<bool, String> {
        let before = self.added.len();
        self.added.extend(words_of(entry));
        let parsed = Arguments::command().try_get_matches_from(self.all());
        let goes = match parsed {
            Ok(mut matches) => Arguments::from_arg_matches_mut(&mut matches)
                .is_ok_and(|arguments| arguments.misfit().is_none()),
            Err(error) => match error.kind() {
                kind if is_about_value(kind) => return Err(in_one_line(&error)),
                ErrorKind::MissingRequiredArgument => typed.wanting,
                _ => false,
            },
        };
        if !goes {
            self.added.truncate(before);
        }
        Ok(goes)
    }
}

/// A setting as it would be typed.
fn words_of(entry: &Entry) -> Vec<OsString> {
    let key = &entry.key;
    match &entry.value {
        Value::Switch(true) => vec![format!("--{key}").into()],
        Value::Switch(false) => Vec::new(),
        Value::One(text) => vec![format!("--{key}={text}").into()],
        Value::Several(texts) => {
            let words = texts.iter().map(|text| format!("--{key}={text}").into());
            words.collect()
        }
    }
}

/// The text of clap's error in one line, without its `error:`.
fn in_one_line(error: &clap::Error) -> String {
    let text = error.render().to_string();
    let mut lines = text.lines().map(str::trim).filter(|line| !line.is_empty());
    let first = lines.next().unwrap_or_default();
    let first = first.strip_prefix("error: ").unwrap_or(first);
    match lines.next() {
        Some(values) if values.starts_with('[') => format!("{first} {values}"),
        _ => first.to_owned(),
    }
}
