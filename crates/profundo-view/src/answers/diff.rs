//! What has changed between two recordings, or two sets of them, as `profundo diff --json` prints
//! it.

use profundo_analysis::diff::{By, Options, Per, compare};
use profundo_analysis::{Hidden, Libraries, Shown};
use profundo_report::{Choices, Compared, Diff, Ready};

use super::Answer;
use crate::{Error, Library, Question};

pub(super) fn diff(library: &Library, question: &Question) -> Result<Answer, Error> {
    let pair = library.pair(question)?;
    let options = Options {
        by: rows(question)?,
        shown: shown(question)?,
        per: scale(question).unwrap_or_else(|| pair.per.clone()),
        is_one_run: pair.is_one_run,
        ..Options::default()
    };
    let sides = pair.sides();
    let comparison = compare(&sides[0], &sides[1], &options)
        .map_err(|why| Error::Nothing(format!("cannot compare these recordings: {why}")))?;
    let compared: Vec<Compared<'_>> = (pair.names.iter().zip(sides.concat()))
        .map(|(name, profile)| Compared {
            name,
            made: "",
            of: "runs",
            profile,
        })
        .collect();
    let (before, after) = compared.split_at(sides[0].len());
    let mut report = Diff::new(&comparison, before, after)
        .filter(Choices::command().filter(pair.filter.clone()).words())
        .by_chance(question.is("all"));
    if let Some(limit) = question.parsed("limit")? {
        report = report.limit(limit);
    }
    let mut bytes = Vec::new();
    report.write_json(&mut bytes)?;
    Ok(Answer {
        bytes,
        is: "application/json",
    })
}

/// The tables.
fn rows(question: &Question) -> Result<Vec<By>, Error> {
    let names = question.get("by").unwrap_or_default().split(',');
    let known = |name: &str| {
        let row = By::CHOICES.iter().find(|(known, _)| *known == name);
        row.map(|(_, by)| *by)
            .ok_or_else(|| Error::value("by", format!("there are no rows by “{name}”")))
    };
    names.filter(|name| !name.is_empty()).map(known).collect()
}

fn scale(question: &Question) -> Option<Per> {
    Some(match question.get("per")? {
        "run" => Per::Run,
        "seconds" => Per::Second,
        "calls" => Per::Calls,
        function => Per::Function(function.to_owned()),
    })
}

/// The shown part of stacks.
pub(super) fn shown(question: &Question) -> Result<Shown, Error> {
    Ok(Shown {
        hidden: match question.is("runtime") {
            true => Hidden::Nothing,
            false => Hidden::Runtime,
        },
        libraries: match question.parsed("libraries")? {
            None if question.is("mine") => Libraries::Hidden,
            given => given.unwrap_or(Libraries::Shown),
        },
    })
}
