//! How much of the samples has a text on its stack: what a search prints beside its field.

use profundo_analysis::Expression;
use serde::Serialize;

use super::{Answer, unit};
use crate::{Error, Library, Question};

#[derive(Debug, Serialize)]
struct Found {
    unit: &'static str,
    weight: u64,
    share: f64,
}

pub(super) fn search(library: &Library, question: &Question) -> Result<Answer, Error> {
    let part = library.part(question)?;
    let profile = part.profile();
    let text = question.get("text").unwrap_or_default();
    let expression: Expression =
        (format!("(?i){}", escaped(text)).parse()).map_err(|why| Error::value("text", why))?;
    let mut filter = part.filter().clone();
    filter.focus.push(expression);
    let found = part.with(filter);
    let all = part.selection().weight(profile);
    let weight = found.selection().weight(profile);
    Answer::json(&Found {
        unit: unit(profile),
        weight,
        share: weight as f64 / all.max(1) as f64,
    })
}

/// An expression for the text itself.
fn escaped(text: &str) -> String {
    let mut expression = String::with_capacity(text.len());
    for letter in text.chars() {
        // `\<` and `\>` are the ends of words.
        if letter.is_ascii_punctuation() && !matches!(letter, '<' | '>') {
            expression.push('\\');
        }
        expression.push(letter);
    }
    expression
}
