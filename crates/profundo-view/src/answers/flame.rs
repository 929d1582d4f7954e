//! A flame graph: the boxes that can be seen, of the whole or of what was zoomed into.
//!
//! A box that is narrower than half a pixel of the window is not in the answer, but its weight is:
//! in the box of narrow ones beside it. The page asks again with the path of a box to see more.

use profundo_analysis::{
    BoxOf, BoxOrder, Forest, ForestBox, ForestFunction, ForestOptions, Group, GroupBy, Hidden,
    Libraries, Limits, Ownership, Place, Shown, Start, Weights, below, beside, groups, library,
    package, sets,
};
use profundo_model::{Language, LocationId, LocationKind, Profile, Reason};
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
pub(super) struct Functions {
    pub name: Vec<String>,
    /// The path of the source file, or an empty text.
    pub file: Vec<String>,
    pub kind: Vec<&'static str>,
    pub package: Vec<String>,
    /// Whether it is a library's, and not the reader's own.
    pub library: Vec<bool>,
}

impl Functions {
    /// The owners of parts and behind them the functions of boxes, and by function of the tree its
    /// row here, or -1.
    pub(super) fn of(
        part: &Part,
        forest: &Forest,
        owners: &[String],
        boxes: impl Iterator<Item = BoxOf>,
    ) -> (Self, Vec<i64>) {
        let profile = part.profile();
        let mut functions = Self::default();
        for owner in owners {
            functions.name.push(owner.clone());
            functions.file.push(String::new());
            functions.kind.push("root");
            functions.package.push(String::new());
            functions.library.push(false);
        }
        let mut rows = vec![-1_i64; forest.functions().len()];
        let ownership = Ownership::new(profile);
        for of in boxes {
            let BoxOf::Function(function) = of else {
                continue;
            };
            let row = &mut rows[function as usize];
            if *row < 0 {
                *row = functions.name.len() as i64;
                let known = &forest.functions()[function as usize];
                functions.name.push(name(profile, known.place));
                functions.file.push(file(profile, known.place).to_owned());
                functions.kind.push(kind(profile, known));
                let is_library = ownership.is_library(known.place, known.location);
                functions.library.push(is_library);
                let module = profile.locations.get(known.location).module;
                functions.package.push(match known.place {
                    _ if is_kernel(profile, known.location) => "kernel".to_owned(),
                    Place::Frame(frame) => package(profile, profile.frames.get(frame), module),
                    _ => library(profile, module).to_owned(),
                });
            }
        }
        (functions, rows)
    }
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
            // The owners are the first rows.
            BoxOf::Part(part) => i64::from(part),
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
    let by: GroupBy = question.parsed("by")?.unwrap_or_default();
    let mut owners = Vec::new();
    let picture = match question.get("shape").unwrap_or("below") {
        "below" if by != GroupBy::None => {
            let groups = groups(part.profile(), part.filter(), &by);
            owners = groups
                .iter()
                .map(|group| owner(part.profile(), group))
                .collect();
            let limits = limits(question, weights.all().weight)?;
            let rank = ranks(part.profile(), &forest);
            let of_group: Vec<Weights> = (groups.iter())
                .map(|group| Weights::new(part.profile(), &forest, &group.selection))
                .collect();
            let all: Vec<_> = of_group.iter().map(Weights::all).collect();
            let boxes = beside(&all, |group| {
                below(&forest, &of_group[group], 0, limits, order(question), &rank)
            });
            (Vec::new(), boxes, limits.least)
        }
        "below" => {
            let root = match question.parsed::<u64>("path")? {
                None => 0,
                Some(path) => (forest.find(path)).ok_or_else(|| {
                    Error::Nothing("the filter leaves nothing of this call".to_owned())
                })?,
            };
            let rank = ranks(part.profile(), &forest);
            let limits = limits(question, weights.of(root).weight)?;
            let boxes = below(&forest, &weights, root, limits, order(question), &rank);
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
        shape @ ("inverted" | "callers" | "callees") => {
            let start = match shape {
                "inverted" => Start::Ends,
                "callers" => Start::CallersOf(asked(question, part.profile(), &forest)?),
                _ => Start::CalleesOf(asked(question, part.profile(), &forest)?),
            };
            let limits = limits(question, weights.all().weight)?;
            let boxes = sets(&forest, &weights, start, limits);
            (Vec::new(), boxes, limits.least)
        }
        other => return Err(Error::value("shape", format!("there is no “{other}”"))),
    };
    Answer::json(&answer(&part, &forest, picture, &owners, weights.all()))
}

/// The function that a question names: by its name, its file, and its line where lines are apart.
fn asked(question: &Question, profile: &Profile, forest: &Forest) -> Result<u32, Error> {
    let wanted = question.get("function").unwrap_or_default();
    let wanted_file = question.get("file");
    let wanted_line: Option<u32> = question.parsed("line")?;
    let is_it = |place: Place| {
        let line = match place {
            Place::Frame(frame) => profile.frames.get(frame).line,
            _ => 0,
        };
        name(profile, place) == wanted
            && wanted_file.is_none_or(|wanted| file(profile, place) == wanted)
            && (wanted_line.is_none_or(|wanted| wanted == line) || !question.is("by_line"))
    };
    let found = forest
        .functions()
        .iter()
        .position(|known| is_it(known.place));
    found
        .map(|row| row as u32)
        .ok_or_else(|| Error::Nothing(format!("no function “{wanted}” is in this recording")))
}

fn order(question: &Question) -> BoxOrder {
    match question.get("order") {
        Some("widest") => BoxOrder::Widest,
        _ => BoxOrder::Name,
    }
}

/// The name of a group.
fn owner(profile: &Profile, group: &Group) -> String {
    let text = |id| profile.strings.get(id);
    let process = group
        .process
        .and_then(|id| profile.processes.get(id.index()));
    if let Some(process) = process {
        return format!("process {} {}", process.pid, text(process.command));
    }
    if let Some(thread) = group.thread {
        let thread = profile.threads.get(thread);
        return format!("thread {} {}", thread.number, text(thread.name));
    }
    if let Some(task) = group.task {
        let task = profile.tasks.get(task);
        return match task.is_root {
            true => "outside of tasks".to_owned(),
            false => format!("task {} {:#x}", text(task.name), task.number),
        };
    }
    match group.span.map(text) {
        None | Some("") => "outside of spans".to_owned(),
        Some(name) => format!("span {name}"),
    }
}

/// The limits of a picture of which the whole weighs so much.
pub(super) fn limits(question: &Question, all: u64) -> Result<Limits, Error> {
    let pixels = question.parsed("pixels")?.unwrap_or(PIXELS).max(1);
    Ok(Limits {
        least: (all / pixels).max(1),
        most: MOST,
    })
}

type Picture = (Vec<ForestBox>, Vec<ForestBox>, u64);

fn answer(
    part: &Part,
    forest: &Forest,
    (callers, boxes, least): Picture,
    owners: &[String],
    all: profundo_analysis::CallWeight,
) -> Flame {
    let profile = part.profile();
    let shown = callers.iter().chain(&boxes).map(|a_box| a_box.of);
    let (functions, rows) = Functions::of(part, forest, owners, shown);
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
fn kind(profile: &Profile, function: &ForestFunction) -> &'static str {
    match is_kernel(profile, function.location) {
        true => "system",
        false => kind_of(profile, function.place),
    }
}

/// The kind of a place that is not in the kernel.
pub(super) fn kind_of(profile: &Profile, place: Place) -> &'static str {
    let of_reason = |reason| match reason {
        Reason::Collecting => "garbage",
        Reason::Unread => "waiting",
        _ => "missing",
    };
    let frame = match place {
        Place::Frame(frame) => profile.frames.get(frame),
        Place::Reason(reason) => return of_reason(reason),
        Place::Unknown => return "native",
    };
    match frame.language {
        Language::Python => "python",
        Language::Runtime => "runtime",
        // In a recording, reasons and waits have such a frame.
        Language::Synthetic => {
            let name = profile.strings.get(frame.function);
            let reason = Reason::ALL.iter().find(|reason| reason.name() == name);
            reason.map_or("waiting", |&reason| of_reason(reason))
        }
        _ => "native",
    }
}

/// Whether a location is in the kernel: the upper half of the addresses is its own.
fn is_kernel(profile: &Profile, location: LocationId) -> bool {
    match profile.locations.get(location).kind {
        LocationKind::Code(address) => address.address().0 >= 1 << 63,
        LocationKind::Part { of, .. } => is_kernel(profile, of),
        _ => false,
    }
}
