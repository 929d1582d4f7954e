//! The shares of one box of a flame graph, with their uncertainty: as a report says them of a
//! function. The question is that of the picture, with the path of the box.

use profundo_analysis::{Estimate, box_shares};
use serde::Serialize;

use super::{Answer, flame};
use crate::{Error, Library, Question};

/// The shares of a box, as members of its answer.
#[derive(Debug, Serialize)]
pub(super) struct Shares {
    self_weight: u64,
    self_share: f64,
    /// The range that holds the true share in 95 of 100 cases. Too few samples have none.
    self_share_low: Option<f64>,
    self_share_high: Option<f64>,
    total_weight: u64,
    total_share: f64,
    total_share_low: Option<f64>,
    total_share_high: Option<f64>,
}

impl Shares {
    /// Of a box with these weights: its own, and with what it calls.
    pub(super) fn new(weights: (u64, u64), own: &Estimate, total: &Estimate) -> Self {
        let ((self_share_low, self_share_high), (total_share_low, total_share_high)) =
            (ends(own), ends(total));
        Self {
            self_weight: weights.0,
            self_share: printed(own.share),
            self_share_low,
            self_share_high,
            total_weight: weights.1,
            total_share: printed(total.share),
            total_share_low,
            total_share_high,
        }
    }
}

/// The ends of the range of a share.
pub(super) fn ends(share: &Estimate) -> (Option<f64>, Option<f64>) {
    let range = share.known();
    (
        range.map(|range| printed(range.low)),
        range.map(|range| printed(range.high)),
    )
}

#[derive(Debug, Serialize)]
struct Share {
    #[serde(flatten)]
    shares: Shares,
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
    Answer::json(&Share {
        shares: Shares::new(found.weights, &found.own, &found.total),
        is_exact: found.total.is_exact(),
    })
}

/// A share with the digits that reports print.
pub(super) fn printed(share: f64) -> f64 {
    (share * 1e6).round() / 1e6
}
