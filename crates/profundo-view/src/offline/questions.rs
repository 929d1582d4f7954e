//! The questions that each view asks before its reader has chosen anything, and how they are cut.
//!
//! A row of [`VIEWS`] belongs to a view of the page, and has the same questions as its script. A
//! view whose first questions change has its row changed with it.

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

const VIEWS: [View; 4] = [
    View {
        name: "overview",
        is_there: |_| true,
        questions: || vec![report("summary")],
    },
    View {
        name: "source",
        is_there: |has| has.samples || has.memory,
        questions: || vec![report("lines").with("all_lines", 1).with("limit", 200)],
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
];

/// The questions of a page of two recordings.
fn compared() -> Vec<Question> {
    let widths = ["", "before", "after"];
    let pictures = widths.map(|side| Question::new("diff_flame").with("widths", side));
    let rows = Question::new("diff").with("all", 1).with("limit", 2000);
    std::iter::once(rows).chain(pictures).collect()
}

/// All questions about these recordings. The first views are the last to be left out.
pub(super) fn all(recordings: &[Has]) -> Vec<Asked> {
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
    all
}

/// A measure of what is shown of each answer.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Cut {
    /// Boxes of a picture that are narrower than this part of it are one.
    pixels: u64,
    /// The most rows of a table.
    rows: usize,
    /// Whether files are shown as a whole.
    has_whole_files: bool,
}

const fn cut(pixels: u64, rows: usize, has_whole_files: bool) -> Cut {
    Cut {
        pixels,
        rows,
        has_whole_files,
    }
}

/// The first cuts nothing.
pub(super) const CUTS: [Cut; 7] = [
    cut(3000, 20_000, true),
    cut(2000, 5000, true),
    cut(1200, 1000, true),
    cut(600, 300, false),
    cut(300, 100, false),
    cut(150, 40, false),
    cut(60, 10, false),
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
        if !self.has_whole_files {
            said.push("Of source files only the lines around hot ones are here.".to_owned());
        }
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
                match cut.has_whole_files {
                    true => question,
                    false => question.with("all_lines", "").with("context", 2),
                }
            }
        }
    }
}
