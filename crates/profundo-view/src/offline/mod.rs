//! The page as one file, with the answers to the questions that a reader asks first.
//!
//! A file has no server, so it carries answers, and each is cut until the whole has the wanted
//! size: first to fewer boxes and rows, then to fewer views. What was cut is said on the page. The
//! answers are compressed: they repeat the same names.

mod confidential;
mod pack;
mod questions;

use std::io::Write;

use serde::Serialize;
use serde_json::{Map, Value};

use crate::answers::{self, answer};
use crate::page::{page, policy, random_word};
use crate::{Error, Library};

pub use confidential::{Confidential, USUAL};
use questions::{Asked, CUTS, Cut};

/// The most bytes of a page for a cell of a notebook: 900 kB with the frame around it.
pub const EMBEDDED: usize = 899_000;

/// The options of a file.
#[derive(Debug)]
pub struct Options {
    /// The most bytes.
    pub most: usize,
    /// Whether the page will stand as a value in the markup of another one, where each quotation
    /// mark takes more room.
    pub is_embedded: bool,
    /// The files whose source lines are left out.
    pub confidential: Confidential,
}

/// What was written.
#[derive(Debug)]
pub struct Written {
    /// The bytes.
    pub bytes: usize,
    /// What was left out, in sentences.
    pub left_out: Vec<String>,
}

/// The answer to `offline`.
#[derive(Debug, Serialize)]
struct Left<'a> {
    left_out: &'a [String],
}

/// Writes the page with answers, at most so many bytes. A question without an answer is left out.
pub fn write(library: &Library, options: &Options, out: &mut impl Write) -> Result<Written, Error> {
    let asked = questions::all(&answers::contents(library)?, library.snapshot_paths().len());
    let (text, left_out) = fitting(library, options, &asked)?;
    out.write_all(text.as_bytes())
        .map_err(|error| Error::Write(error.to_string()))?;
    Ok(Written {
        bytes: text.len(),
        left_out,
    })
}

/// The page that has the size, with the sentences of what it leaves out.
fn fitting(
    library: &Library,
    options: &Options,
    asked: &[Asked],
) -> Result<(String, Vec<String>), Error> {
    let fits = |text: &str| options.size(text) <= options.most;
    let mut last = None;
    for cut in &CUTS {
        let (answers, hidden) = answered(library, options, asked, cut)?;
        let said = sentences(cut, &hidden);
        let text = whole(&answers, &said)?;
        if fits(&text) {
            return Ok((text, said));
        }
        last = Some((answers, said));
    }
    let Some((mut answers, mut said)) = last else {
        return Err(Error::Write("nothing was asked".to_owned()));
    };
    // The questions of the later views go first.
    let mut views: Vec<&str> = asked.iter().map(|one| one.view).collect();
    views.dedup();
    while let Some(view) = views.pop().filter(|_| !views.is_empty()) {
        for one in asked.iter().filter(|one| one.view == view) {
            answers.remove(&one.question.text());
        }
        said.push(format!("The view “{view}” is too large for this file."));
        let text = whole(&answers, &said)?;
        if fits(&text) {
            return Ok((text, said));
        }
    }
    Err(Error::TooLarge {
        least: options.size(&whole(&answers, &said)?),
        most: options.most,
    })
}

impl Options {
    /// The bytes that a page takes where it will stand.
    fn size(&self, text: &str) -> usize {
        let marks = |mark: char| text.matches(mark).count();
        match self.is_embedded {
            true => text.len() + marks('"') * "quot;".len() + marks('&') * "amp;".len(),
            false => text.len(),
        }
    }
}

/// The answers, cut, and the files whose lines were left out.
fn answered(
    library: &Library,
    options: &Options,
    asked: &[Asked],
    cut: &Cut,
) -> Result<(Map<String, Value>, Vec<String>), Error> {
    let mut answers = Map::new();
    let mut hidden = Vec::new();
    for one in asked {
        let Ok(answer) = answer(library, &one.cut(cut)) else {
            continue;
        };
        let mut value: Value = serde_json::from_slice(&answer.bytes)?;
        for next in one.following(&value, cut) {
            if answers.contains_key(&next.text()) {
                continue;
            }
            if let Ok(answer) = self::answer(library, &next) {
                let mut value = serde_json::from_slice(&answer.bytes)?;
                options.confidential.hide(&mut value, &mut hidden);
                answers.insert(next.text(), value);
            }
        }
        options.confidential.hide(&mut value, &mut hidden);
        answers.insert(one.question.text(), value);
    }
    hidden.sort_unstable();
    hidden.dedup();
    Ok((answers, hidden))
}

fn sentences(cut: &Cut, hidden: &[String]) -> Vec<String> {
    let mut said = cut.sentences();
    if !hidden.is_empty() {
        said.push(format!(
            "The source lines of files that may hold secrets are left out: {}.",
            hidden.join(", ")
        ));
    }
    said
}

/// The page with answers.
fn whole(answers: &Map<String, Value>, left_out: &[String]) -> Result<String, Error> {
    let mut answers = answers.clone();
    answers.insert(
        "offline".to_owned(),
        serde_json::to_value(Left { left_out })?,
    );
    let nonce = random_word()?;
    let packed = pack::packed(&serde_json::to_vec(&answers)?)?;
    Ok(page(&nonce, &policy(&nonce, false), &packed))
}

#[cfg(test)]
mod tests;
