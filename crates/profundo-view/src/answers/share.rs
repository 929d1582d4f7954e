//! The shares of one box of a flame graph, with their uncertainty: as a report says them of a
//! function. The question is that of the picture, with the path of the box.

use profundo_analysis::{Estimate, box_shares};
use serde::Serialize;

use super::{Answer, flame};
use crate::{Error, Library, Question};

#[derive(Debug, Serialize)]
struct Shares {
    self_weight: u64,
    self_share: f64,
    /// The range that holds the true share in 95 of 100 cases. Too few samples have none.
    self_share_low: Option<f64>,
    self_share_high: Option<f64>,
    total_weight: u64,
    total_share: f64,
    total_share_low: Option<f64>,
    total_share_high: Option<f64>,
    /// Whether everything was counted, so that a share is no estimate.
    is_exact: bool,
}

pub(super) fn share(library: &Library, question: &Question) -> Result<Answer, Error> {
    let part = library.part(question)?;
    let forest = part.forest(&flame::options(question)?);
    let start = flame::start(question, part.profile(), &forest)?;
    let path = question.parsed("path")?.unwrap_or(0);
    let found = box_shares(part.profile(), &part.selection(), &forest, start, path);
    let found =
        found.ok_or_else(|| Error::Nothing("the filter leaves nothing of this call".to_owned()))?;
    let low = |share: &Estimate| share.known().map(|range| printed(range.low));
    let high = |share: &Estimate| share.known().map(|range| printed(range.high));
    Answer::json(&Shares {
        self_weight: found.weights.0,
        self_share: printed(found.own.share),
        self_share_low: low(&found.own),
        self_share_high: high(&found.own),
        total_weight: found.weights.1,
        total_share: printed(found.total.share),
        total_share_low: low(&found.total),
        total_share_high: high(&found.total),
        is_exact: found.total.is_exact(),
    })
}

/// A share with the digits that reports print.
pub(super) fn printed(share: f64) -> f64 {
    (share * 1e6).round() / 1e6
}
