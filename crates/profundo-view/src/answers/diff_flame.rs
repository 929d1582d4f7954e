//! The flame graph of a difference: the boxes that can be seen, each with its weights before and
//! after, and what has become of it.

use std::hash::{Hash, Hasher};

use profundo_analysis::diff::{
    DiffBox, DiffBoxOf, DiffPicture, StackNode, StackTree, Trend, Unit, Widths,
};
use profundo_analysis::{Limits, Place};
use profundo_model::Profile;
use rustc_hash::FxHasher;
use serde::Serialize;

use super::diff::shown;
use super::{Answer, flame};
use crate::pair::Pair;
use crate::{Error, Library, Question};

/// The answer. The columns of boxes are arrays of equal length, in the order of a walk.
#[derive(Debug, Serialize)]
struct DiffFlame {
    unit: &'static str,
    /// The scale of the amounts.
    per: &'static str,
    /// The width of the whole.
    total: u64,
    /// The functions from the root to the box that was zoomed into, which is the first of `boxes`.
    callers: Boxes,
    functions: Functions,
    boxes: Boxes,
    /// The least width of a box.
    least: u64,
}

#[derive(Debug, Default, Serialize)]
struct Functions {
    name: Vec<String>,
    file: Vec<String>,
    kind: Vec<&'static str>,
    package: Vec<String>,
}

#[derive(Debug, Default, Serialize)]
struct Boxes {
    /// The row in `functions`; -1 the root, -3 narrow boxes.
    function: Vec<i64>,
    level: Vec<u32>,
    /// The width.
    weight: Vec<u64>,
    /// The weights of the box with what is on it: nanoseconds, bytes or blocks.
    before: Vec<f64>,
    after: Vec<f64>,
    own_before: Vec<f64>,
    own_after: Vec<f64>,
    /// The change beyond the common factor, and its interval.
    change: Vec<f64>,
    low: Vec<f64>,
    high: Vec<f64>,
    /// `.` may be chance, `+` grew, `-` shrank, `n` new, `g` gone; one letter for each box.
    trend: String,
    /// The strength of a change, from 0 to 3.
    strength: Vec<u8>,
    /// The line, or the number of narrow boxes.
    line: Vec<u32>,
    path: Vec<u64>,
}

pub(super) fn diff_flame(library: &Library, question: &Question) -> Result<Answer, Error> {
    let pair = library.pair(question)?;
    let tree = pair.tree(shown(question)?)?;
    if tree.nodes.is_empty() {
        return Err(Error::Nothing(
            "the recordings have no stacks, so there is no picture of them".to_owned(),
        ));
    }
    let widths: Widths = question.parsed("widths")?.unwrap_or_default();
    let picture = DiffPicture::new(&tree, widths, |node| key(&pair, node));
    let root =
        match question.parsed::<u64>("path")? {
            None => None,
            Some(path) => Some(picture.find(path).ok_or_else(|| {
                Error::Nothing("the filter leaves nothing of this call".to_owned())
            })?),
        };
    let all = root.map_or_else(|| picture.width(), |root| picture.width_of(root));
    let limits = flame::limits(question, all)?;
    let boxes = picture.boxes(root, limits);
    let callers: Vec<DiffBox> = root.map_or_else(Vec::new, |root| {
        let above = (0..).zip(picture.callers(root));
        above.map(|(level, at)| picture.node(at, level)).collect()
    });
    Answer::json(&answer(&pair, &tree, &picture, limits, &callers, &boxes))
}

fn answer(
    pair: &Pair,
    tree: &StackTree,
    picture: &DiffPicture<'_>,
    limits: Limits,
    callers: &[DiffBox],
    boxes: &[DiffBox],
) -> DiffFlame {
    let mut functions = Functions::default();
    let mut rows = rustc_hash::FxHashMap::default();
    let mut row_of = |node: &StackNode| -> i64 {
        *rows.entry(key(pair, node)).or_insert_with(|| {
            let (profile, place) = side_of(pair, node);
            functions.name.push(flame::name(profile, place));
            functions.file.push(flame::file(profile, place).to_owned());
            functions.kind.push(flame::kind_of(profile, place));
            functions.package.push(String::new());
            functions.name.len() as i64 - 1
        })
    };
    let mut columns = |list: &[DiffBox]| {
        let mut columns = Boxes::default();
        for one in list {
            let (function, line, node) = match one.of {
                DiffBoxOf::Root => (-1, 0, None),
                DiffBoxOf::Narrow(number) => (-3, number, None),
                DiffBoxOf::Node(at) => {
                    let node = &tree.nodes[at as usize];
                    let (profile, place) = side_of(pair, node);
                    (row_of(node), line(profile, place), Some(node))
                }
            };
            columns.add(one, function, line, node);
        }
        columns
    };
    let (callers, boxes) = (columns(callers), columns(boxes));
    DiffFlame {
        unit: match tree.unit {
            Unit::Time => "time",
            Unit::Bytes => "bytes",
            Unit::Count => "blocks",
        },
        per: match tree.scale {
            profundo_analysis::diff::Scale::Second => "second",
            _ => "run",
        },
        total: picture.width(),
        callers,
        functions,
        boxes,
        least: limits.least,
    }
}

impl Boxes {
    fn add(&mut self, one: &DiffBox, function: i64, line: u32, node: Option<&StackNode>) {
        let own = node.map(|node| node.own).unwrap_or_default();
        let total = node.map(|node| node.total).unwrap_or_default();
        self.function.push(function);
        self.level.push(one.level);
        self.weight.push(one.width);
        // Of nanoseconds, bytes and blocks only the whole ones count.
        for (column, amount) in [
            (&mut self.before, one.before),
            (&mut self.after, one.after),
            (&mut self.own_before, own.before),
            (&mut self.own_after, own.after),
            (&mut self.change, total.change),
            (&mut self.low, total.low),
            (&mut self.high, total.high),
        ] {
            column.push(amount.round());
        }
        self.trend.push(match node.map(|node| node.trend) {
            None | Some(Trend::Unclear) => '.',
            Some(Trend::Grew) => '+',
            Some(Trend::Shrank) => '-',
            Some(Trend::New) => 'n',
            Some(Trend::Gone) => 'g',
        });
        self.strength.push(node.map_or(0, StackNode::strength));
        self.line.push(line);
        self.path.push(one.path);
    }
}

/// The profile that a node is named by: the one after, where it is there.
fn side_of<'a>(pair: &'a Pair, node: &StackNode) -> (&'a Profile, Place) {
    match (node.of.after, node.of.before) {
        (Some((run, place)), _) => (pair.profile(1, run), place),
        (None, Some((run, place))) => (pair.profile(0, run), place),
        (None, None) => (pair.profile(1, 0), Place::Unknown),
    }
}

/// A number for the function of a node: the same in each question on these recordings.
fn key(pair: &Pair, node: &StackNode) -> u64 {
    let (profile, place) = side_of(pair, node);
    let mut hasher = FxHasher::default();
    match place {
        Place::Frame(frame) => {
            profile.function_name(frame).hash(&mut hasher);
            profile.file_path(frame).hash(&mut hasher);
        }
        Place::Reason(reason) => (1_u8, reason as u32).hash(&mut hasher),
        Place::Unknown => 2_u8.hash(&mut hasher),
    }
    hasher.finish()
}

fn line(profile: &Profile, place: Place) -> u32 {
    match place {
        Place::Frame(frame) => profile.frames.get(frame).line,
        _ => 0,
    }
}
