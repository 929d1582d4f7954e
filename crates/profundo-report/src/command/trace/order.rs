//! The orders of a table of calls: those of Python's `pstats`, by the same names, and by whatever
//! begins only one of them.

use std::cmp::Ordering;
use std::str::FromStr;

use profundo_analysis::UnknownChoice;

use super::sheet::Sheet;

/// The column that is compared, of two functions.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Column {
    Calls,
    PrimitiveCalls,
    Own,
    Total,
    File,
    Line,
    Name,
    Standard,
}

/// An order's columns, and what `pstats` calls it.
type Meaning = (&'static [Column], &'static str);

const WORDS: [(&str, Meaning); 13] = [
    ("calls", CALLS),
    ("ncalls", CALLS),
    ("cumtime", CUMULATIVE),
    ("cumulative", CUMULATIVE),
    ("filename", FILE),
    ("line", (&[Column::Line], "line number")),
    ("module", FILE),
    ("name", (&[Column::Name], "function name")),
    (
        "nfl",
        (
            &[Column::Name, Column::File, Column::Line],
            "name/file/line",
        ),
    ),
    (
        "pcalls",
        (&[Column::PrimitiveCalls], "primitive call count"),
    ),
    ("stdname", STANDARD),
    ("time", OWN),
    ("tottime", OWN),
];
const CALLS: Meaning = (&[Column::Calls], "call count");
const CUMULATIVE: Meaning = (&[Column::Total], "cumulative time");
const FILE: Meaning = (&[Column::File], "file name");
const STANDARD: Meaning = (&[Column::Standard], "standard name");
const OWN: Meaning = (&[Column::Own], "internal time");

/// The order of a table of calls.
///
/// ```
/// use profundo_report::CallOrder;
///
/// let order: CallOrder = "cumu,name".parse().unwrap();
/// assert_eq!(order.words(), "cumulative time, function name");
/// assert!("n".parse::<CallOrder>().is_err(), "ncalls, name or nfl?");
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CallOrder {
    columns: Vec<Column>,
    words: String,
}

impl CallOrder {
    /// The function that took most itself comes first.
    pub fn own_time() -> Self {
        Self::of(&[OWN])
    }

    /// The function that was called most often comes first.
    pub fn calls() -> Self {
        Self::of(&[CALLS])
    }

    /// The order by standard name, which is cProfile's default.
    pub fn standard_name() -> Self {
        Self::of(&[STANDARD])
    }

    fn of(meanings: &[Meaning]) -> Self {
        let words: Vec<&str> = meanings.iter().map(|meaning| meaning.1).collect();
        Self {
            columns: meanings
                .iter()
                .flat_map(|meaning| meaning.0)
                .copied()
                .collect(),
            words: words.join(", "),
        }
    }

    /// The order's name in `pstats`.
    pub fn words(&self) -> &str {
        &self.words
    }

    /// True if the order is by times.
    pub fn is_of_time(&self) -> bool {
        let mut columns = self.columns.iter();
        columns.any(|column| matches!(column, Column::Own | Column::Total))
    }

    /// Compares two rows of a sheet. Counts and times begin with the highest.
    pub(super) fn compare(&self, sheet: &Sheet<'_>, a: usize, b: usize) -> Ordering {
        let by = |column: &Column| {
            let ([a_label, b_label], [a_row, b_row]) = (
                [&sheet.labels[a], &sheet.labels[b]],
                [a, b].map(|at| &sheet.table.functions[at].counted),
            );
            match column {
                Column::Calls => sheet.calls(b_row).0.cmp(&sheet.calls(a_row).0),
                Column::PrimitiveCalls => sheet.calls(b_row).1.cmp(&sheet.calls(a_row).1),
                Column::Own => b_row.own.cmp(&a_row.own),
                Column::Total => b_row.total.cmp(&a_row.total),
                Column::File => a_label.file.cmp(b_label.file),
                Column::Line => a_label.line.cmp(&b_label.line),
                Column::Name => a_label.name.cmp(&b_label.name),
                Column::Standard => sheet.standard[a].cmp(&sheet.standard[b]),
            }
        };
        (self.columns.iter().map(by)).fold(Ordering::Equal, Ordering::then)
    }
}

impl FromStr for CallOrder {
    type Err = UnknownChoice;

    /// Words with commas between them; those after the first decide between equals. A number is one
    /// of the old profiler's.
    fn from_str(text: &str) -> Result<Self, UnknownChoice> {
        let meanings: Option<Vec<Meaning>> =
            text.split(',').map(|word| meaning(word.trim())).collect();
        meanings
            .map(|meanings| Self::of(&meanings))
            .ok_or_else(|| UnknownChoice {
                option: "sort",
                value: text.to_owned(),
                allowed: WORDS.iter().map(|(word, _)| *word).collect(),
            })
    }
}

/// The meaning of a word, or of all words that it begins.
fn meaning(word: &str) -> Option<Meaning> {
    match word {
        "" => return None,
        "-1" => return Some(STANDARD),
        "0" => return Some(CALLS),
        "1" => return Some(OWN),
        "2" => return Some(CUMULATIVE),
        _ => {}
    }
    if let Some((_, meaning)) = WORDS.iter().find(|(whole, _)| *whole == word) {
        return Some(*meaning);
    }
    let mut begun = WORDS.iter().filter(|(whole, _)| whole.starts_with(word));
    let (_, first) = begun.next()?;
    begun.all(|(_, other)| other == first).then_some(*first)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_begins_only_one_meaning_is_enough() {
        let words = |text: &str| text.parse().map(|order: CallOrder| order.words);
        let rows = [
            ("time", "internal time"),
            ("t", "internal time"),
            ("cum", "cumulative time"),
            ("cu", "cumulative time"),
            ("ca", "call count"),
            ("file", "file name"),
            ("m", "file name"),
            ("na", "function name"),
            ("nf", "name/file/line"),
            ("p", "primitive call count"),
            ("2", "cumulative time"),
            ("calls, stdname", "call count, standard name"),
        ];
        for (text, expected) in rows {
            assert_eq!(words(text).as_deref(), Ok(expected), "{text}");
        }
        for text in ["", "c", "n", "x", "time,", "3", "times"] {
            assert!(words(text).is_err(), "{text}");
        }
    }
}
