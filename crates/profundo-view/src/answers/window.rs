//! The window of time that a picture shows: `start=` and `end=` in nanoseconds, and how many
//! columns it has on the screen. It is not the filter's: a timeline shows the time around what was
//! chosen.

use profundo_analysis::{Filter, Window};

use crate::library::Part;
use crate::{Error, Library, Question};

/// Columns, if the question does not say.
const COLUMNS: usize = 600;
/// The most columns.
const MOST: usize = 4000;

/// The part of a recording without the times of its filter, and these times.
pub(super) fn timeless(
    library: &Library,
    question: &Question,
) -> Result<(Part, Option<u64>, Option<u64>), Error> {
    let part = library.part(question)?;
    let (from, to) = (part.filter().from, part.filter().to);
    let filter = Filter {
        from: None,
        to: None,
        ..part.filter().clone()
    };
    let part = part.with(filter);
    Ok((part, from.map(|time| time.0), to.map(|time| time.0)))
}

/// The window of a question, or else all of `span`.
pub(super) fn window(question: &Question, span: (u64, u64)) -> Result<Window, Error> {
    let columns = question
        .parsed("columns")?
        .unwrap_or(COLUMNS)
        .clamp(1, MOST);
    let from = question.parsed("start")?.unwrap_or(span.0);
    let to: u64 = question.parsed("end")?.unwrap_or(span.1);
    if to <= from && question.get("end").is_some() {
        return Err(Error::value("end", "is not behind the start"));
    }
    // Columns that lie far outside of the recording would all be empty.
    let (from, to) = (from.clamp(span.0, span.1), to.clamp(span.0, span.1));
    Ok(Window::new(from, to.max(from), columns))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(text: &str) -> Result<Window, Error> {
        window(
            &Question::of_address("timeline", text).unwrap(),
            (100, 1100),
        )
    }

    #[test]
    fn a_window_lies_in_the_recording() {
        let all = of("").unwrap();
        assert_eq!((all.from, all.to(), all.step), (100, 1100, 2));
        let part = of("start=200&end=300&columns=10").unwrap();
        assert_eq!((part.from, part.to(), part.step), (200, 300, 10));
        let outside = of("start=0&end=99999&columns=4").unwrap();
        assert_eq!((outside.from, outside.to()), (100, 1100));
        // No question makes an answer without bound.
        assert!(of("columns=999999999").unwrap().columns <= MOST);
    }

    #[test]
    fn a_window_without_length_is_refused() {
        assert!(of("start=300&end=300").is_err());
        assert!(of("start=300&end=200").is_err());
        assert!(of("start=soon").is_err());
    }
}
