//! A heap snapshot, or two: the JSON of `profundo heap FILE --json`.

use profundo_report::{HeapQuestion, HeapSnapshot};

use super::Answer;
use crate::{Error, Library, Question};

/// Rows of an answer, if the question does not say.
const ROWS: usize = 100;
/// Owners of a type.
const OWNERS: usize = 100;

pub(super) fn heap(library: &Library, question: &Question) -> Result<Answer, Error> {
    let heap = library.heap(question.parsed("snapshot")?.unwrap_or(0))?;
    let limit = question.parsed("limit")?.unwrap_or(ROWS);
    let of = question.get("of").unwrap_or_default().to_owned();
    let report = HeapSnapshot::new().limit(limit).owners(OWNERS);
    let mut bytes = Vec::new();
    let asked = match question.get("what").unwrap_or("summary") {
        "summary" => HeapQuestion::Summary,
        "types" => HeapQuestion::Types,
        "biggest" => HeapQuestion::Biggest,
        "below" => HeapQuestion::Below(of),
        "path" => HeapQuestion::Path(of),
        "duplicates" => HeapQuestion::Duplicates,
        "difference" => {
            let later = library.heap(question.parsed("later")?.unwrap_or(1))?;
            report.write_difference_json(&heap.graph, &later.graph, &mut bytes)?;
            return Ok(Answer::of_json(bytes));
        }
        other => {
            let why = format!("there is no report “{other}” of a heap");
            return Err(Error::value("what", why));
        }
    };
    report
        .question(asked)
        .write_json_with(&heap.graph, &heap.facts, &mut bytes)
        .map_err(|error| match error {
            profundo_report::Error::NoObject { .. } | profundo_report::Error::NoType { .. } => {
                Error::Nothing(error.to_string())
            }
            other => other.into(),
        })?;
    Ok(Answer::of_json(bytes))
}
