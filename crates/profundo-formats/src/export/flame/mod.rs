//! An interactive flame graph: one SVG file that needs nothing else.
//!
//! Each box is a call; it is as wide as its share of the time, and stands on its caller. In the
//! order of time, it is as wide as the time that it took, in a lane for each thread. The widest
//! boxes are drawn for a width of 1200, so that the file is a picture in any viewer. In a browser
//! its script takes over: it has the numbers of all boxes, and draws those that can be seen.
//!
//! ```text
//! view ─▶ layout, timeline, difference ─▶ picture ─┬▶ svg (the widest boxes, the head)
//!                                                  └▶ encode (all boxes) ─▶ script
//! ```
//!
//! Boxes that would make the file too large for a browser are left out; the picture shows their
//! share. Where a sample was in a system call, its stack ends in a box `[system]`.

pub(super) mod about;
mod difference;
mod encode;
mod layout;
mod looks;
mod picture;
mod svg;
pub(super) mod theme;
mod timeline;
pub(super) mod words;

use std::io::Write;

use profundo_model::Profile;

use super::format::{Holds, Row, has};
use super::view::View;
use super::{Format, Options, Order, Weights};
use crate::Error;

pub use difference::{Change, Difference, DifferenceNode, Unit, write_difference};

impl Format {
    /// See [`flame`](self).
    pub const FLAME: Self = Self(&Row {
        name: "flame",
        aliases: &["flamegraph", "svg"],
        extensions: &["svg"],
        about: "A picture for the browser",
        file: "flame graph of profundo's",
        holds: Holds::Samples,
        has_title: true,
        is_in_order: false,
        has_memory_too: false,
        misfit,
        // The picture's own numbers: any other picture may be somebody's work.
        is_start: |start| has(start, b"<svg ") && has(start, b" data-top=\""),
        write: |profile, options, mut out| write(profile, options, &mut out),
    });
}

fn misfit(options: &Options) -> Option<&'static str> {
    let has_owners = options.threads || options.processes || options.tasks;
    match options.order {
        Order::Time if options.bottom_up => Some(
            "--layout time-order draws each stack from its root, and --inverted the other way round",
        ),
        Order::Time if options.measure.is_some() => {
            Some("--layout time-order is about samples of time, and --of about memory")
        }
        Order::Time if options.weights.is_some() => {
            Some("--layout time-order has the width of time; it takes no --weights")
        }
        Order::Time if has_owners => Some(
            "--layout time-order has a lane for each thread; it takes no --threads, --processes or --tasks",
        ),
        _ => None,
    }
}

/// Writes the picture. Boxes are as wide as their time, or as their counts if no sample has a
/// weight, or on request.
pub fn write(profile: &Profile, options: &Options, out: &mut impl Write) -> Result<(), Error> {
    let view = View::new(profile, options);
    let weights = Weights::or_time(options.weights, profile);
    let has_times = profile.has_times();
    let picture = match options.order {
        Order::Time if !has_times => return Err(Error::NoOrder),
        Order::Time => timeline::picture(&view, options, weights),
        _ => layout::picture(&view, options, weights),
    };
    svg::write(&picture, out).map_err(Error::Write)
}
