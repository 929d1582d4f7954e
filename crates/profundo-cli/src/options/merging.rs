//! Options of `merge`, and labels as they are typed.

use std::ffi::OsStr;
use std::path::{Path, PathBuf};
use std::str::FromStr;

use clap::{Args, ValueEnum};
use clap_complete::engine::ArgValueCompleter;
use profundo_model::Alignment;

use super::Reading;
use crate::completing;

const EXAMPLES: &str = "\
Examples:
  profundo merge run1.profundo run2.profundo -o runs.profundo
  profundo merge run=1:a.profundo run=2:b.profundo -o runs.profundo
  profundo merge --align clock rank*.profundo -o job.profundo
  profundo report runs.profundo spread         how far the functions' times differ from run to run
  profundo report runs.profundo --label run=2  one of them
  profundo report runs.profundo tree --by label";

#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub struct Merge {
    /// The recordings or queries, each with labels before it or without: FILE, or KEY=VALUE:FILE
    #[arg(
        add = ArgValueCompleter::new(completing::recordings),
        value_name = "[KEY=VALUE:]FILE",
        required = true,
        num_args = 1..
    )]
    pub inputs: Vec<PathBuf>,
    /// Where the merged recording goes; `-` is the standard output
    #[arg(short, long, value_name = "FILE", required = true)]
    pub output: PathBuf,
    /// A label: one for each recording, in their order, or one for all [default: recording=NAME]
    #[arg(long, value_name = "KEY=VALUE")]
    pub label: Vec<Labels>,
    /// Where the recordings stand in time
    #[arg(long, value_enum, value_name = "HOW", default_value = "start")]
    pub align: Align,
    /// Replace a file that is no recording, too
    #[arg(long)]
    pub force: bool,
    #[command(flatten, next_help_heading = "Options")]
    pub reading: Reading,
}

/// The position of merged recordings in time.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum Align {
    /// All start at time 0, side by side
    Start,
    /// One after another
    Sequence,
    /// When they were made, by the clocks of their machines
    Clock,
}

impl From<Align> for Alignment {
    fn from(align: Align) -> Self {
        match align {
            Align::Start => Self::Start,
            Align::Sequence => Self::Sequence,
            Align::Clock => Self::Clock,
        }
    }
}

/// Labels as they are typed: `run=1`, or several as `run=1,host=a`.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Labels(pub Vec<(String, String)>);

impl FromStr for Labels {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let wrong = || format!("`{text}` is no label: write KEY=VALUE, such as run=1");
        let label = |word: &str| {
            let (key, value) = word.split_once('=')?;
            let is_sound = !key.is_empty() && !value.is_empty();
            is_sound.then(|| (key.to_owned(), value.to_owned()))
        };
        let labels: Option<Vec<_>> = text.split(',').map(label).collect();
        let labels = labels.ok_or_else(wrong)?;
        for (at, (key, _)) in labels.iter().enumerate() {
            if labels[..at].iter().any(|(known, _)| known == key) {
                return Err(format!("`{text}` has two labels `{key}`"));
            }
        }
        Ok(Self(labels))
    }
}

impl Labels {
    /// All labels of an option that may be repeated. A later one replaces one of the same key.
    pub fn all(labels: &[Self]) -> Vec<(String, String)> {
        let mut all: Vec<(String, String)> = Vec::new();
        for (key, value) in labels.iter().flat_map(|labels| &labels.0) {
            match all.iter_mut().find(|(known, _)| known == key) {
                Some((_, known)) => known.clone_from(value),
                None => all.push((key.clone(), value.clone())),
            }
        }
        all
    }
}

/// An input, as it was typed.
#[derive(Debug, PartialEq, Eq)]
pub struct LabelledFile<'a> {
    /// The recording.
    pub file: &'a Path,
    /// The labels before it.
    pub labels: Labels,
}

impl<'a> LabelledFile<'a> {
    /// Takes labels and file apart. A word that is a file as it stands has no labels.
    pub fn of(word: &'a Path) -> Self {
        let parts = word.to_str().filter(|_| !word.exists());
        let parts = parts.and_then(|text| text.split_once(':'));
        let parts = parts.and_then(|(labels, file)| {
            // The colon in the time of a query is none behind labels.
            if labels.contains('?') {
                return None;
            }
            let labels = labels.parse().ok()?;
            Some((labels, Path::new(OsStr::new(file))))
        });
        match parts {
            Some((labels, file)) => Self { file, labels },
            None => Self {
                file: word,
                labels: Labels::default(),
            },
        }
    }
}

impl Merge {
    /// The inputs with all of their labels, or why the labels do not fit.
    pub fn labelled(&self) -> Result<Vec<LabelledFile<'_>>, String> {
        let (files, labels) = (self.inputs.len(), &self.label);
        if labels.len() > 1 && labels.len() != files {
            return Err(format!(
                "{} labels do not fit {files} recordings: `--label` is given once for all of them, or once for each",
                labels.len()
            ));
        }
        let mut inputs: Vec<_> = (self.inputs.iter().map(PathBuf::as_path))
            .map(LabelledFile::of)
            .collect();
        for (at, input) in inputs.iter_mut().enumerate() {
            let more = match labels.len() {
                0 => continue,
                1 => &labels[0],
                _ => &labels[at],
            };
            // What stands before the file is nearer to it.
            input.labels = Labels(Labels::all(&[more.clone(), input.labels.clone()]));
        }
        Ok(inputs)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn labels(text: &str) -> Result<Vec<(String, String)>, String> {
        text.parse::<Labels>().map(|labels| labels.0)
    }

    #[test]
    fn a_label_is_a_key_and_a_value() {
        let pair = |key: &str, value: &str| (key.to_owned(), value.to_owned());
        assert_eq!(labels("run=1").unwrap(), [pair("run", "1")]);
        let two = [pair("run", "1"), pair("host", "a=b")];
        assert_eq!(labels("run=1,host=a=b").unwrap(), two);
        for wrong in ["run", "=1", "run=", "run=1,", "", "run=1,run=2"] {
            labels(wrong).unwrap_err();
        }
    }

    #[test]
    fn labels_may_stand_before_the_file() {
        let of = |word: &'static str| {
            let input = LabelledFile::of(Path::new(word));
            let labels = input
                .labels
                .0
                .iter()
                .map(|(key, value)| format!("{key}={value}"));
            (
                input.file.to_str().unwrap(),
                labels.collect::<Vec<_>>().join(" "),
            )
        };
        let is = |word, file, labels: &str| assert_eq!(of(word), (file, labels.to_owned()));
        is("a.profundo", "a.profundo", "");
        is("run=1:a.profundo", "a.profundo", "run=1");
        is("run=1,host=a:x:y.profundo", "x:y.profundo", "run=1 host=a");
        is("x:y.profundo", "x:y.profundo", "");
        is("run=1:@2", "@2", "run=1");
        let query = "/var/store?service=api&from=2026-11-28T09:30";
        is(query, query, "");
        is(
            "run=1:s3://bucket?service=api",
            "s3://bucket?service=api",
            "run=1",
        );
    }
}
