//! An interactive flame graph: one SVG file that needs nothing else.
//!
//! Each box is a call; it is as wide as its share of the time, and stands on its caller. The
//! boxes are drawn for a width of 1200, so that the file is a picture in any viewer. In a browser
//! its script takes over: a click zooms, `/` or Ctrl-F searches, the width follows the window.
//!
//! What is too narrow is not drawn, and neither is what would make the file larger than a browser
//! likes; how much that is stands in the picture. Where a sample was in a system call, its stack
//! ends in a box `[system]`.

mod layout;
mod svg;

use std::io::Write;

use profundo_model::{Kinds, Profile};

use super::calls::{Calls, Manner};
use super::view::View;
use super::{Counts, Options, Weights, add};
use crate::Error;
use layout::Layout;

/// What is narrower is not drawn unless asked for: a quarter of a pixel.
const MIN_SHARE: f64 = 0.0002;

/// About how many bytes of boxes are written at most.
const MOST_BYTES: usize = 1_900_000;

/// Writes the picture. Boxes are as wide as their time, but as their counts where no sample says
/// how much time it stands for, or where that is asked for.
pub fn write(profile: &Profile, options: &Options, out: &mut impl Write) -> Result<(), Error> {
    let view = View::new(profile, options);
    let weights = Weights::or_time(options.weights, profile);
    let kinds = Kinds::of(profile);
    let calls = Calls::new(&view, &kinds, Manner::new(options, weights, true));
    let min_share = options.min_share.unwrap_or(MIN_SHARE);
    let mut layout = Layout::new(&view, &calls, weights, min_share, MOST_BYTES);
    let counts = Counts::new(profile);
    for (row, sample) in profile.samples.iter().enumerate() {
        let sum = &mut layout.kinds[kinds.kind(sample) as usize];
        add(sum, weights.of(&counts, row, sample));
    }
    svg::write(&view, &layout, weights, options, out).map_err(Error::Write)
}
