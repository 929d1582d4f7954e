//! A flame graph: the boxes that can be seen, of the whole or of what was zoomed into.
//!
//! A box that is narrower than half a pixel of the window is not in the answer, but its weight is:
//! in the box of narrow ones beside it. The page asks again with the path of a box to see more.

use profundo_analysis::{
    BoxOf, BoxOrder, Forest, ForestBox, ForestOptions, Hidden, Libraries, Limits, Place, Shown,
    Start, below, inverted, library, package,
};
use profundo_model::{Language, Profile};
use serde::Serialize;

use super::{Answer, unit};
use crate::library::Part;
use crate::{Error, Library, Question};

/// The most boxes of an answer.
const MOST: usize = 100_000;
/// Boxes of an answer for each pixel of the page's width, if it does not say.
const PIXELS: u64 = 3000;

/// The answer. The columns of boxes are arrays of equal length, in the order of a walk.
#[derive(Debug, Serialize)]
struct Flame {
    /// `time`, `bytes` or `blocks`.
    unit: &'static str,
    /// All that was selected, in nanoseconds, bytes or blocks.
    total: u64,
    total_count: u64,
    /// The functions from the root to the box that was zoomed into, which is the first of `boxes`.
    callers: Boxes,
    functions: Functions,
    boxes: Boxes,
    /// The least weight of a box.
    least: u64,
}

#[derive(Debug, Default, Serialize)]
struct Functions {
    name: Vec<String>,
    /// The path of the source file, or an empty text.
    file: Vec<String>,
    kind: Vec<&'static str>,
    package: Vec<String>,
}

#[derive(Debug, Default, Serialize)]
struct Boxes {
    /// The row in `functions`; -1 the root, -2 system calls, -3 narrow boxes.
    function: Vec<i64>,
    level: Vec<u32>,
    weight: Vec<u64>,
    own: Vec<u64>,
    count: Vec<u64>,
    /// The first line, or the number of narrow boxes.
    line: Vec<u32>,
    last_line: Vec<u32>,
    path: Vec<u64>,
}

impl Boxes {
    fn add(&mut self, a_box: &ForestBox, rows: &[i64]) {
        let (line, last_line) = match a_box.of {
            BoxOf::Narrow(number) => (number, 0),
            _ => a_box.lines,
        };
        self.function.push(match a_box.of {
            BoxOf::Root => -1,
            BoxOf::System => -2,
            BoxOf::Narrow(_) => -3,
            BoxOf::Function(function) => rows[function as usize],
        });
        self.level.push(a_box.level);
        self.weight.push(a_box.weight.weight);
        self.own.push(a_box.own.weight);
        self.count.push(a_box.weight.count);
        self.line.push(line);
        self.last_line.push(last_line);
        self.path.push(a_box.path);
    }
}

pub(super) fn flame(library: &Library, question: &Question) -> Result<Answer, Error> {
    let part = library.part(question)?;
    let options = ForestOptions {
        shown: Shown {
            hidden: match question.is("runtime") {
                true => Hidden::Nothing,
                false => Hidden::Runtime,
            },
            libraries: question.parsed("libraries")?.unwrap_or(Libraries::Shown),
        },
        by_line: question.is("by_line"),
    };
    let forest = part.forest(&options);
    let weights = part.weights(&options);
    let pixels = question.parsed("pixels")?.unwrap_or(PIXELS).max(1);
    let limits = |all: u64| Limits {
        least: (all / pixels).max(1),
        most: MOST,
    };
    let picture = match question.get("shape").unwrap_or("below") {
        "below" => {
            let root = match question.parsed::<u64>("path")? {
                None => 0,
                Some(path) => (forest.find(path)).ok_or_else(|| {
                    Error::Nothing("the filter leaves nothing of this call".to_owned())
                })?,
            };
            let order = match question.get("order") {
                Some("widest") => BoxOrder::Widest,
                _ => BoxOrder::Name,
            };
            let rank = ranks(part.profile(), &forest);
            let limits = limits(weights.of(root).weight);
            let boxes = below(&forest, &weights, root, limits, order, &rank);
            let callers = forest.callers(root);
            let above = callers.split_last().map_or(&[][..], |(_, above)| above);
            let callers = above.iter().map(|&call| {
                let row = forest.call(call);
                ForestBox {
                    of: BoxOf::Function(row.function),
                    level: row.level,
                    weight: weights.of(call),
                    own: weights.of(call),
                    lines: row.lines,
                    path: forest.path(call),
                }
            });
            (callers.collect(), boxes, limits.least)
        }
        "inverted" => {
            let limits = limits(weights.all().weight);
            let boxes = inverted(&forest, &weights, Start::Ends, limits);
            (Vec::new(), boxes, limits.least)
        }
        "callers" => {
            let key: u64 = (question.parsed("function")?)
                .ok_or_else(|| Error::value("function", "which one?"))?;
            let known = forest
                .functions()
                .iter()
                .position(|known| known.key >> 12 == key);
            let function = known
                .ok_or_else(|| Error::Nothing("the recording has no such function".to_owned()))?;
            let limits = limits(weights.all().weight);
            let start = Start::Function(function as u32);
            (
                Vec::new(),
                inverted(&forest, &weights, start, limits),
                limits.least,
            )
        }
        other => return Err(Error::value("shape", format!("there is no “{other}”"))),
    };
    Answer::json(&answer(&part, &forest, picture, weights.all()))
}

type Picture = (Vec<ForestBox>, Vec<ForestBox>, u64);

fn answer(
    part: &Part,
    forest: &Forest,
    (callers, boxes, least): Picture,
    all: profundo_analysis::CallWeight,
) -> Flame {
    let profile = part.profile();
    let mut functions = Functions::default();
    // By function of the tree, its row in the answer.
    let mut rows = vec![-1_i64; forest.functions().len()];
    for a_box in callers.iter().chain(&boxes) {
        let BoxOf::Function(function) = a_box.of else {
            continue;
        };
        let row = &mut rows[function as usize];
        if *row < 0 {
            *row = functions.name.len() as i64;
            let known = &forest.functions()[function as usize];
            functions.name.push(name(profile, known.place));
            functions.file.push(file(profile, known.place).to_owned());
            functions.kind.push(kind(profile, known.place));
            functions.package.push(match known.place {
                Place::Frame(frame) => package(profile, profile.frames.get(frame), known.module),
                _ => library(profile, known.module).to_owned(),
            });
        }
    }
    let columns = |list: &[ForestBox]| {
        let mut columns = Boxes::default();
        for a_box in list {
            columns.add(a_box, &rows);
        }
        columns
    };
    Flame {
        unit: unit(profile),
        total: all.weight,
        total_count: all.count,
        callers: columns(&callers),
        boxes: columns(&boxes),
        functions,
        least,
    }
}

/// By function, its place in the order of names.
fn ranks(profile: &Profile, forest: &Forest) -> Vec<u32> {
    let functions = forest.functions();
    let names: Vec<String> = (functions.iter())
        .map(|known| name(profile, known.place))
        .collect();
    let mut order: Vec<u32> = (0..functions.len() as u32).collect();
    order.sort_by(|&a, &b| names[a as usize].cmp(&names[b as usize]));
    let mut rank = vec![0; order.len()];
    for (place, row) in (0..).zip(order) {
        rank[row as usize] = place;
    }
    rank
}

pub(super) fn name(profile: &Profile, place: Place) -> String {
    match place {
        Place::Frame(frame) => profile.function_name(frame).to_owned(),
        Place::Reason(reason) => reason.name().to_owned(),
        Place::Unknown => "[unknown]".to_owned(),
    }
}

pub(super) fn file(profile: &Profile, place: Place) -> &str {
    match place {
        Place::Frame(frame) => profile.file_path(frame),
        _ => "",
    }
}

/// The kind of a function's code, by which it is coloured.
fn kind(profile: &Profile, place: Place) -> &'static str {
    let Place::Frame(frame) = place else {
        return "missing";
    };
    match profile.frames.get(frame).language {
        Language::Python => "python",
        Language::Runtime => "runtime",
        Language::Synthetic => "none",
        _ => "native",
    }
}
