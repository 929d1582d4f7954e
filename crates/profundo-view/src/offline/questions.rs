//! The questions that each view asks before its reader has chosen anything, and how they are cut.
//!
//! A row of [`VIEWS`] belongs to a view of the page, and has the same questions as its script. A
//! view whose first questions change has its row changed with it.

use serde_json::Value;

use crate::Question;
use crate::answers::Has;

/// A question that a file has the answer to.
#[derive(Debug, Clone)]
pub(super) struct Asked {
    /// The view that asks it.
    pub view: &'static str,
    /// The question as the page asks it.
    pub question: Question,
}

/// A view, when it is there, and what it asks.
struct View {
    name: &'static str,
    is_there: fn(&Has) -> bool,
    questions: fn() -> Vec<Question>,
}

fn report(what: &str) -> Question {
    Question::new("report").with("what", what)
}

fn flame() -> Question {
    Question::new("flame")
}

const VIEWS: [View; 14] = [
    View {
        name: "overview",
        is_there: |_| true,
        questions: || {
            let parts = ["head", "verdict", "lines", "functions,waits", "totals"];
            let summary = |parts| report("summary").with("parts", parts);
            parts.map(summary).into()
        },
    },
    View {
        name: "overview",
        is_there: is_timed,
        questions: || vec![Question::new("timeline").with("tracks", 0)],
    },
    View {
        name: "source",
        is_there: |has| (has.samples || has.memory) && !has.cells,
        questions: || vec![lines()],
    },
    // A notebook's cell is there although it only calls.
    View {
        name: "source",
        is_there: |has| (has.samples || has.memory) && has.cells,
        questions: || vec![lines().with("total", 1)],
    },
    // What statements hold and copy, beside their time.
    View {
        name: "source",
        is_there: |has| has.memory,
        questions: || vec![report("allocs").with("limit", 2000).with("statements", 1)],
    },
    View {
        name: "source",
        is_there: |has| has.io,
        questions: || vec![report("io").with("statements", 1)],
    },
    View {
        name: "functions",
        is_there: |has| has.samples || has.memory,
        questions: || vec![report("functions").with("limit", 20000)],
    },
    View {
        name: "flame",
        is_there: |has| has.samples || has.memory,
        questions: || {
            let shapes = [("shape", "inverted"), ("order", "widest")];
            let others = shapes.map(|(name, value)| flame().with(name, value));
            std::iter::once(flame()).chain(others).collect()
        },
    },
    View {
        name: "timeline",
        is_there: is_timed,
        questions: || vec![Question::new("timeline")],
    },
    View {
        name: "heatmap",
        is_there: |has| has.times,
        questions: || vec![Question::new("heatmap")],
    },
    View {
        name: "memory",
        is_there: |has| has.memory || has.gauges,
        questions: || vec![report("memory"), report("allocs").with("limit", 2000)],
    },
    View {
        name: "exact",
        is_there: |has| has.calls,
        questions: || vec![bare("trace")],
    },
    View {
        name: "exact",
        is_there: |has| has.counted_lines,
        questions: || vec![bare("counted_lines")],
    },
    View {
        name: "exact",
        is_there: |has| has.exceptions,
        questions: || vec![report("exceptions").with("limit", 5000)],
    },
];

/// Whether something of it has a place in time.
fn is_timed(has: &Has) -> bool {
    has.times || has.gauges || has.spans
}

/// The lines of all files.
fn lines() -> Question {
    let lines = report("lines").with("all_lines", 1).with("limit", 500);
    let lines = lines.with("min_share", 0).with("statements", 1);
    lines.with("sampled", 1)
}

/// A report without the rows below each of its rows.
fn bare(what: &str) -> Question {
    report(what).with("bare", 1).with("limit", 20000)
}

/// The questions about a heap snapshot.
fn heap(number: usize) -> Vec<Question> {
    let heap = Question::new("heap").with("snapshot", number);
    let types = heap.clone().with("what", "types").with("limit", 2000);
    let biggest = heap.with("what", "biggest").with("limit", 1000);
    vec![types, biggest]
}

/// The questions of a page of two recordings.
fn compared() -> Vec<Question> {
    let widths = ["", "before", "after"];
    let pictures = widths.map(|side| Question::new("diff_flame").with("widths", side));
    let rows = Question::new("diff").with("all", 1).with("limit", 2000);
    std::iter::once(rows).chain(pictures).collect()
}

/// All questions about these recordings. The first views are the last to be left out.
pub(super) fn all(recordings: &[Has], snapshots: usize) -> Vec<Asked> {
    let asked = |view, question| Asked { view, question };
    let mut all = vec![asked("page", Question::new("about"))];
    if recordings.len() > 1 {
        all.extend(compared().into_iter().map(|one| asked("compare", one)));
    }
    for view in &VIEWS {
        for (number, has) in recordings.iter().enumerate() {
            if (view.is_there)(has) {
                // The page leaves the first one unsaid.
                let number = match number {
                    0 => String::new(),
                    other => other.to_string(),
                };
                let questions = (view.questions)().into_iter();
                let with = questions.map(|one| one.with("recording", &number));
                all.extend(with.map(|one| asked(view.name, one)));
            }
        }
    }
    for number in 0..snapshots {
        all.extend(heap(number).into_iter().map(|one| asked("heap", one)));
    }
    if snapshots > 1 {
        let difference = Question::new("heap").with("what", "difference");
        all.push(asked("heap", difference.with("limit", 2000)));
    }
    all
}

/// A measure of what is shown of each answer.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Cut {
    /// Boxes of a picture that are narrower than this part of it are one.
    pixels: u64,
    /// The most rows of a table.
    rows: usize,
    /// The files that are shown as a whole, the hottest first.
    files: usize,
}

const fn cut(pixels: u64, rows: usize, files: usize) -> Cut {
    Cut {
        pixels,
        rows,
        files,
    }
}

/// The most functions whose counted lines are in a file, those with the most first.
const FUNCTIONS: usize = 200;

/// The first cuts nothing.
pub(super) const CUTS: [Cut; 7] = [
    cut(3000, 20_000, usize::MAX),
    cut(2000, 5000, 100),
    cut(1200, 1000, 20),
    cut(600, 300, 5),
    cut(300, 100, 1),
    cut(150, 40, 0),
    cut(60, 10, 0),
];

impl Cut {
    /// What it leaves out.
    pub fn sentences(&self) -> Vec<String> {
        if self == &CUTS[0] {
            return Vec::new();
        }
        let mut said = vec![
            format!(
                "Boxes of flame graphs that are narrower than 1/{} of the width are shown as one.",
                self.pixels
            ),
            format!("Tables have at most {} rows.", self.rows),
        ];
        said.push(match self.files {
            0 => "Of source files only the lines around hot ones are here.".to_owned(),
            1 => "Of one source file all lines are here, and of others those around hot ones."
                .to_owned(),
            some => format!(
                "Of {some} source files all lines are here, and of others those around hot ones."
            ),
        });
        said
    }
}

impl Asked {
    /// The question whose answer stands for this one's.
    pub fn cut(&self, cut: &Cut) -> Question {
        let question = self.question.clone();
        match question.name() {
            "flame" | "diff_flame" => question.with("pixels", cut.pixels),
            _ => {
                let limit = question.get("limit").and_then(|text| text.parse().ok());
                let question = match limit {
                    Some(limit) => question.with("limit", cut.rows.min(limit)),
                    None => question,
                };
                match cut == &CUTS[0] {
                    true => question,
                    false => question.with("all_lines", "").with("context", 2),
                }
            }
        }
    }

    /// The questions that follow from an answer: for the text of files, and for the lines of
    /// functions whose lines were counted.
    pub fn following(&self, answer: &Value, cut: &Cut) -> Vec<Question> {
        let recording = self.question.get("recording").unwrap_or_default();
        let of_row = |row: &Value| {
            let path = row.get("file")?.as_str()?;
            let source = Question::new("source").with("file", path);
            Some((path.to_owned(), source.with("recording", recording)))
        };
        let rows = |member: &str| {
            let rows = answer.get(member).and_then(Value::as_array);
            rows.map(Vec::as_slice).unwrap_or_default().to_vec()
        };
        match self.question.get("what") {
            Some("lines") => {
                let files = rows("files").into_iter().take(cut.files);
                files.filter_map(|row| Some(of_row(&row)?.1)).collect()
            }
            Some("counted_lines") => {
                let functions = rows("functions").into_iter().take(cut.files.min(FUNCTIONS));
                let each = functions.filter_map(|row| {
                    let (path, source) = of_row(&row)?;
                    let lines = report("counted_lines").with("file", path);
                    let lines = lines.with("line", row.get("line")?.as_u64()?);
                    Some([lines.with("recording", recording), source])
                });
                each.flatten().collect()
            }
            _ => Vec::new(),
        }
    }
}
