//! The page as one file, with the answers to the questions that a reader asks first.

use std::io::Write;

use serde_json::Value;

use crate::answers::answer;
use crate::page::{page, policy, random_word};
use crate::{Error, Library, Question};

/// Writes the page with the answers to these questions. A question without an answer is left out.
pub fn write(library: &Library, questions: &[Question], out: &mut impl Write) -> Result<(), Error> {
    let mut answers = serde_json::Map::new();
    for question in questions {
        if let Ok(answer) = answer(library, question) {
            let value: Value = serde_json::from_slice(&answer.bytes)?;
            answers.insert(question.text(), value);
        }
    }
    let nonce = random_word()?;
    let text = in_a_script(&serde_json::to_string(&answers)?);
    let page = page(&nonce, &policy(&nonce, false), &text);
    out.write_all(page.as_bytes())
        .map_err(|error| Error::Write(error.to_string()))
}

/// JSON that no parser of HTML takes for an end of its script, or for a comment.
fn in_a_script(json: &str) -> String {
    json.replace('<', "\\u003c")
}
