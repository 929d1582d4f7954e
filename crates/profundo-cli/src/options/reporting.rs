//! Options of `report`. Its words may stand in either order: `a.profundo lines` and `lines
//! a.profundo`.

use std::ffi::{OsStr, OsString};
use std::path::{Path, PathBuf};

use clap::builder::{EnumValueParser, PossibleValue, TypedValueParser};
use clap::{Arg, Args, Command, CommandFactory, ValueEnum};
use clap_complete::CompletionCandidate;
use clap_complete::engine::ArgValueCompleter;
use profundo_console::completing::starting_with;

use super::{Arguments, Reading, ViewOptions, What};
use crate::completing;
use crate::recordings::is_meant_as_file;

#[derive(Debug, Args)]
pub struct Report {
    /// A recording or query; `@2` is the second newest [default: the newest]
    #[arg(add = ArgValueCompleter::new(offered_words), value_name = "FILE")]
    pub recording: Option<OsString>,
    /// What to print [default: summary]
    #[arg(add = ArgValueCompleter::new(offered_words), value_name = "WHAT", value_parser = Word)]
    pub what: Option<OsString>,
    /// The function, for `callers`, `callees`, `calls` and `annotate`
    #[arg(add = ArgValueCompleter::new(offered_words), value_name = "NAME")]
    pub name: Option<OsString>,
    /// What to print, as an option
    #[arg(long, value_enum, value_name = "WHAT", help_heading = "The report")]
    pub format: Option<What>,
    /// Write the report there; `-` is the standard output
    #[arg(
        short,
        long,
        value_name = "FILE",
        conflicts_with = "report_to",
        help_heading = "The report"
    )]
    pub output: Option<PathBuf>,
    #[command(flatten)]
    pub reading: Reading,
    #[command(flatten)]
    pub view: ViewOptions,
}

/// Any word, though only the names of reports are shown.
#[derive(Debug, Clone, Copy)]
struct Word;

impl TypedValueParser for Word {
    type Value = OsString;

    fn parse_ref(
        &self,
        _: &Command,
        _: Option<&Arg>,
        value: &OsStr,
    ) -> Result<OsString, clap::Error> {
        Ok(value.to_owned())
    }

    fn possible_values(&self) -> Option<Box<dyn Iterator<Item = PossibleValue> + '_>> {
        let whats = What::value_variants().iter();
        Some(Box::new(whats.filter_map(ValueEnum::to_possible_value)))
    }
}

/// The words of `report`, by their meaning.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Asked {
    /// The recording, if one was named.
    pub file: Option<PathBuf>,
    pub what: What,
    /// The function that it is about.
    pub name: Option<String>,
}

impl Report {
    /// Tells the words apart: the name of a report is one wherever it stands, and a file of that
    /// name is `./lines`.
    pub fn asked(&self) -> Result<Asked, clap::Error> {
        let words = [&self.recording, &self.what, &self.name];
        let mut words: Vec<&OsStr> = words
            .into_iter()
            .flatten()
            .map(OsString::as_os_str)
            .collect();
        let mut what = self.format;
        let place = words.iter().position(|word| what_of(word).is_some());
        if what.is_none()
            && let Some(place) = place
        {
            what = what_of(words.remove(place));
        }
        let chosen = what.unwrap_or_default();
        let file = match words[..] {
            [] => None,
            // What names no file is the function, where one is wanted.
            [word] if chosen.wants_name() && !is_meant_as_file(word) => None,
            [_] => Some(words.remove(0)),
            [first, ..] if is_meant_as_file(first) => Some(words.remove(0)),
            [_, second, ..] if is_meant_as_file(second) => Some(words.remove(1)),
            [..] => Some(words.remove(0)),
        };
        let mut rest = words.into_iter();
        let name = match rest.next() {
            // It can only be the name of a report that does not exist.
            Some(word) if what.is_none() => return Err(no_report(word)),
            word => word.map(|word| word.to_string_lossy().into_owned()),
        };
        if let Some(word) = rest.next() {
            return Err(no_report(word));
        }
        // One word that is neither a file nor a report is a slip in either.
        if what.is_none()
            && let Some(word) = file
            && !is_meant_as_file(word)
            && !Path::new(word).exists()
            && is_like_a_report(word)
        {
            return Err(no_report(word));
        }
        Ok(Asked {
            file: file.map(PathBuf::from),
            what: chosen,
            name,
        })
    }
}

fn what_of(word: &OsStr) -> Option<What> {
    What::from_str(word.to_str()?, false).ok()
}

/// Clap's error for a word that is no report's name, with similar names.
fn no_report(word: &OsStr) -> clap::Error {
    let mut command = Arguments::command();
    command.build();
    let verb = command.find_subcommand("report").unwrap_or(&command);
    let argument = verb
        .get_arguments()
        .find(|argument| argument.get_id() == "what");
    let parsed = EnumValueParser::<What>::new().parse_ref(verb, argument, word);
    match parsed {
        Err(error) => error,
        Ok(_) => verb.clone().error(
            clap::error::ErrorKind::TooManyValues,
            format!("`{}` is one word too many", word.to_string_lossy()),
        ),
    }
}

/// True if a word is similar to the name of a report.
fn is_like_a_report(word: &OsStr) -> bool {
    let error = no_report(word);
    error
        .get(clap::error::ContextKind::SuggestedValue)
        .is_some()
}

/// Completions behind `report`: a recording, the name of a report, or the function that it is
/// about.
fn offered_words(current: &OsStr) -> Vec<CompletionCandidate> {
    let typed = completing::typed();
    let mut what = typed
        .iter()
        .filter_map(|word| What::from_str(word.to_str()?, false).ok());
    let mut words = Vec::new();
    match what.next_back() {
        Some(what) if what.wants_name() => words.extend(completing::functions(current)),
        Some(_) => {}
        None => {
            let names = What::value_variants()
                .iter()
                .filter_map(ValueEnum::to_possible_value);
            let names = names.filter(|value| !value.is_hide_set()).map(|value| {
                CompletionCandidate::new(value.get_name()).help(value.get_help().cloned())
            });
            words.extend(starting_with(names, current));
        }
    }
    words.extend(completing::recordings(current));
    words
}

#[cfg(test)]
mod tests {
    use clap::Parser;

    use super::super::Verb;
    use super::*;

    fn asked(words: &[&str]) -> Result<Asked, clap::Error> {
        let words = ["profundo", "report"].iter().chain(words);
        let Verb::Report(report) = Arguments::try_parse_from(words)?.verb else {
            panic!("it is a report")
        };
        report.asked()
    }

    #[test]
    fn words_may_stand_in_either_order() {
        let is = |words: &[&str], file: Option<&str>, what, name: Option<&str>| {
            let meant = Asked {
                file: file.map(PathBuf::from),
                what,
                name: name.map(str::to_owned),
            };
            assert_eq!(asked(words).unwrap(), meant, "{words:?}");
        };
        is(&[], None, What::Summary, None);
        is(&["lines"], None, What::Lines, None);
        is(&["a.profundo"], Some("a.profundo"), What::Summary, None);
        is(
            &["a.profundo", "lines"],
            Some("a.profundo"),
            What::Lines,
            None,
        );
        is(
            &["lines", "a.profundo"],
            Some("a.profundo"),
            What::Lines,
            None,
        );
        is(&["./lines", "tree"], Some("./lines"), What::Tree, None);
        is(&["@2", "--format", "tree"], Some("@2"), What::Tree, None);
        is(&["callers", "fib"], None, What::Callers, Some("fib"));
        for words in [
            ["a.profundo", "callers", "fib"],
            ["callers", "a.profundo", "fib"],
            ["callers", "fib", "a.profundo"],
        ] {
            is(&words, Some("a.profundo"), What::Callers, Some("fib"));
        }
    }

    #[test]
    fn a_slip_is_reported_with_what_was_meant() {
        for words in [&["a.profundo", "fucntions"][..], &["fucntions"]] {
            let error = asked(words).unwrap_err().to_string();
            assert!(error.contains("functions"), "{words:?}: {error}");
        }
        let two_reports = asked(&["a.profundo", "lines", "tree"]).unwrap();
        assert_eq!(two_reports.what, What::Lines);
        asked(&["a.profundo", "b.profundo"]).unwrap_err();
    }
}
