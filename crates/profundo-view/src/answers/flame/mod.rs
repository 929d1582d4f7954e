//! A flame graph: the boxes that can be seen, of the whole or of what was zoomed into.
//!
//! A box that is narrower than half a pixel of the window is not in the answer, but its weight is:
//! in the box of narrow ones beside it. The page asks again with the path of a box to see more.

mod boxes;
mod names;

use profundo_analysis::{
    BoxOf, BoxOrder, CallWeight, Forest, ForestBox, ForestOptions, Group, GroupBy, Hidden,
    Libraries, Limits, Shown, Start, Weights, below, beside, find_beside, groups, path_beside,
    sets, sets_at,
};
use profundo_model::Profile;

use super::Answer;
use crate::{Error, Library, Question};
use boxes::{Picture, answer};
use names::{asked, owner, ranks};

pub(super) use boxes::Functions;
pub(super) use names::{file, kind_of, name};

/// The most boxes of an answer.
const MOST: usize = 100_000;
/// Boxes of an answer for each pixel of the page's width, if it does not say.
const PIXELS: u64 = 3000;

pub(super) fn flame(library: &Library, question: &Question) -> Result<Answer, Error> {
    let part = library.part(question)?;
    let options = options(question)?;
    let forest = part.forest(&options);
    let weights = part.weights(&options);
    let by: GroupBy = question.parsed("by")?.unwrap_or_default();
    let profile = part.profile();
    let mut owners = Vec::new();
    let picture = match start(question, profile, &forest)? {
        None => {
            let rank = ranks(profile, &forest);
            let parts = match by {
                GroupBy::None => None,
                by => Some(groups(profile, part.filter(), &by)),
            };
            let parts = parts.map(|groups| {
                owners.extend(groups.iter().map(|group| owner(profile, group)));
                let weigh = |group: &Group| Weights::new(profile, &forest, &group.selection);
                groups.iter().map(weigh).collect()
            });
            Below {
                forest: &forest,
                weights: &weights,
                question,
                rank: &rank,
            }
            .picture(parts)?
        }
        Some(start) => {
            let of = |weight| limits(question, weight);
            match opened(question)?.path {
                None | Some(0) => {
                    let limits = of(weights.all().weight)?;
                    let boxes = sets(&forest, &weights, start, limits);
                    (Vec::new(), boxes, limits.least)
                }
                Some(path) => {
                    let mut least = 1;
                    let (pixels, under) = (pixels(question)?, opened(question)?.under);
                    let (callers, boxes) = sets_at(&forest, &weights, start, path, |weight| {
                        let limits = limits_of(pixels, weight, under);
                        least = limits.least;
                        limits
                    })
                    .ok_or_else(nothing)?;
                    (callers, boxes, least)
                }
            }
        }
    };
    Answer::json(&answer(&part, &forest, picture, &owners, weights.all()))
}

fn nothing() -> Error {
    Error::Nothing("the filter leaves nothing of this call".to_owned())
}

/// A picture with callers at the root.
struct Below<'a> {
    forest: &'a Forest,
    weights: &'a Weights,
    question: &'a Question,
    rank: &'a [u32],
}

impl Below<'_> {
    /// The whole or, with a path in the question, what is on one box: of everything, or of these
    /// parts beside each other.
    fn picture(&self, parts: Option<Vec<Weights>>) -> Result<Picture, Error> {
        let Opened { path, under } = opened(self.question)?;
        match (path, parts) {
            (None, Some(parts)) => {
                let all: Vec<CallWeight> = parts.iter().map(Weights::all).collect();
                let limits = limits(self.question, self.weights.all().weight)?;
                let boxes = beside(&all, |part| self.boxes(&parts[part], 0, limits));
                Ok((Vec::new(), boxes, limits.least))
            }
            (Some(path), Some(parts)) => {
                let found = find_beside(self.forest, parts.len(), path);
                let (part, root) = found.ok_or_else(nothing)?;
                let weights = &parts[part];
                let limits = limits(self.question, weights.of(root).weight)?;
                let is_part = |a_box: ForestBox| ForestBox {
                    of: match a_box.of {
                        BoxOf::Root => BoxOf::Part(part as u32),
                        other => other,
                    },
                    path: path_beside(part, a_box.path),
                    ..a_box
                };
                let boxes = self.boxes(weights, root, limits).into_iter().map(is_part);
                let mut callers = Vec::new();
                if root != 0 || under.is_some() {
                    let whole = self.boxes(weights, 0, limits).into_iter().take(1);
                    callers.extend(
                        whole
                            .chain(self.callers(weights, root, under.is_some()))
                            .map(is_part),
                    );
                }
                Ok((callers, boxes.collect(), limits.least))
            }
            (path, None) => {
                let root = match path {
                    None => 0,
                    Some(path) => self.forest.find(path).ok_or_else(nothing)?,
                };
                let limits = limits(self.question, self.weights.of(root).weight)?;
                let boxes = self.boxes(self.weights, root, limits);
                let callers = self.callers(self.weights, root, under.is_some()).collect();
                Ok((callers, boxes, limits.least))
            }
        }
    }

    fn boxes(&self, weights: &Weights, root: u32, limits: Limits) -> Vec<ForestBox> {
        let order = order(self.question);
        below(self.forest, weights, root, limits, order, self.rank)
    }

    /// The calls from the root to a call.
    fn callers(
        &self,
        weights: &Weights,
        root: u32,
        is_narrow: bool,
    ) -> impl Iterator<Item = ForestBox> {
        let mut callers = self.forest.callers(root);
        // What was narrow on a call stands on it.
        if !is_narrow {
            callers.pop();
        }
        callers.into_iter().map(|call| {
            let row = self.forest.call(call);
            ForestBox {
                of: BoxOf::Function(row.function),
                level: row.level,
                weight: weights.of(call),
                own: weights.of(call),
                lines: row.lines,
                path: self.forest.path(call),
            }
        })
    }
}

/// The shown part of the tree.
pub(super) fn options(question: &Question) -> Result<ForestOptions, Error> {
    Ok(ForestOptions {
        shown: Shown {
            hidden: match question.is("runtime") {
                true => Hidden::Nothing,
                false => Hidden::Runtime,
            },
            libraries: question.parsed("libraries")?.unwrap_or(Libraries::Shown),
        },
        by_line: question.is("by_line"),
    })
}

/// What the picture begins with; `None` for callers at the root.
pub(super) fn start(
    question: &Question,
    profile: &Profile,
    forest: &Forest,
) -> Result<Option<Start>, Error> {
    Ok(match question.get("shape").unwrap_or("below") {
        "below" => None,
        "inverted" => Some(Start::Ends),
        "callers" => Some(Start::CallersOf(asked(question, profile, forest)?)),
        "callees" => Some(Start::CalleesOf(asked(question, profile, forest)?)),
        other => return Err(Error::value("shape", format!("there is no “{other}”"))),
    })
}

fn order(question: &Question) -> BoxOrder {
    match question.get("order") {
        Some("widest") => BoxOrder::Widest,
        _ => BoxOrder::Name,
    }
}

/// The limits of a picture of which the whole weighs so much.
pub(super) fn limits(question: &Question, all: u64) -> Result<Limits, Error> {
    Ok(limits_of(pixels(question)?, all, opened(question)?.under))
}

/// The pixels of the page's width.
fn pixels(question: &Question) -> Result<u64, Error> {
    Ok(question.parsed("pixels")?.unwrap_or(PIXELS).max(1))
}

/// What was opened: `path=PATH`, or `path=PATH.LEAST` for what on it is narrower than that.
pub(super) struct Opened {
    pub path: Option<u64>,
    pub under: Option<u64>,
}

pub(super) fn opened(question: &Question) -> Result<Opened, Error> {
    let Some(text) = question.get("path") else {
        return Ok(Opened {
            path: None,
            under: None,
        });
    };
    let number = |text: &str| text.parse().map_err(|why| Error::value("path", why));
    let (path, under) = match text.split_once('.') {
        None => (number(text)?, None),
        Some((path, under)) => (number(path)?, Some(number(under)?)),
    };
    Ok(Opened {
        path: Some(path),
        under,
    })
}

fn limits_of(pixels: u64, all: u64, under: Option<u64>) -> Limits {
    Limits {
        under,
        ..Limits::new((all / pixels).max(1), MOST)
    }
}
