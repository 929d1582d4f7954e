//! The square map: a tree map of the call tree, as SnakeViz and RunSnakeRun draw it. A function is
//! a box, and the functions that it calls are boxes inside of it. The area inside of a box that is
//! not covered is its own time.

mod layout;
mod svg;

use std::io::Write;

use profundo_model::{Kinds, Profile};

use super::calls::{Calls, Manner};
use super::format::{Holds, Row, has};
use super::view::View;
use super::{Format, Options, Weights};
use crate::Error;
use layout::Map;

/// The share of the picture below which boxes are drawn as others.
const MIN_SHARE: f64 = 0.0005;

impl Format {
    /// See [`square`](self).
    pub const SQUARE: Self = Self(&Row {
        name: "square",
        aliases: &["treemap"],
        extensions: &["square.svg"],
        about: "A picture of the call tree: boxes in boxes",
        file: "square map of profundo's",
        holds: Holds::Samples,
        has_title: true,
        is_in_order: false,
        has_memory_too: false,
        misfit: |_| None,
        is_start: |start| has(start, b"<svg ") && has(start, b" data-square=\""),
        write: |profile, options, mut out| write(profile, options, &mut out),
    });
}

/// Writes the picture.
pub fn write(profile: &Profile, options: &Options, out: &mut impl Write) -> Result<(), Error> {
    let view = View::new(profile, options);
    let weights = Weights::or_time(options.weights, profile);
    let kinds = Kinds::of(profile);
    let calls = Calls::new(&view, &kinds, Manner::new(options, weights, true));
    let least = options.min_share.unwrap_or(MIN_SHARE);
    let map = Map::new(&view, &calls, least);
    svg::write(&view, &map, weights, options, out).map_err(Error::Write)
}
