//! The call graph as a picture: one SVG file that needs nothing else, or a text for Graphviz.
//!
//! Boxes are functions (or files, modules, packages), and arrows are calls. The larger the name,
//! the larger the function's own share; the warmer the box and the wider the arrow, the larger the
//! share with callees. A dashed arrow leads over functions that were left out.

mod dot;
mod drawn;
mod layout;
mod source;
mod svg;

use std::io::Write;

use profundo_analysis::{Filter, Selection};
use profundo_model::Profile;

use super::format::{Holds, Row, has};
use super::{Format, Options};
use crate::Error;
use source::Source;

pub use drawn::{Arrow, Card, Drawn, drawn};
pub use profundo_analysis::{Around, GraphBy};

/// The first line of our texts for Graphviz.
const DOT_START: &str = "// A call graph of profundo's, for Graphviz\n";

/// The options of a call graph. `None` is the default.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct GraphOptions {
    /// The meaning of a box.
    pub by: GraphBy,
    /// The largest number of boxes.
    pub nodes: Option<usize>,
    /// The least share of an arrow, from 0 to 1.
    pub edge_share: Option<f64>,
    /// The function that it is around.
    pub around: Option<Around>,
}

impl Format {
    /// See [`graph`](self).
    pub const GRAPH: Self = Self(&Row {
        name: "graph",
        aliases: &["callgraph"],
        extensions: &["graph.svg"],
        about: "A picture of the call graph",
        file: "call graph of profundo's",
        holds: Holds::Samples,
        has_title: true,
        is_in_order: false,
        has_memory_too: false,
        misfit: |_| None,
        is_start: |start| has(start, b"<svg ") && has(start, b" data-graph=\""),
        write: |profile, options, mut out| write(profile, options, &mut out),
    });

    /// See [`graph`](self).
    pub const DOT: Self = Self(&Row {
        name: "dot",
        aliases: &["graphviz"],
        extensions: &["dot", "gv"],
        about: "The call graph for Graphviz",
        file: "text of profundo's for Graphviz",
        holds: Holds::Samples,
        has_title: true,
        is_in_order: false,
        has_memory_too: false,
        misfit: |_| None,
        is_start: |start| start.starts_with(DOT_START.as_bytes()),
        write: |profile, options, mut out| write_dot(profile, options, &mut out),
    });
}

/// Writes the picture.
pub fn write(profile: &Profile, options: &Options, out: &mut impl Write) -> Result<(), Error> {
    let source = whole(profile, options);
    svg::write(&source, out).map_err(Error::Write)
}

/// Writes the text for Graphviz.
pub fn write_dot(profile: &Profile, options: &Options, out: &mut impl Write) -> Result<(), Error> {
    let source = whole(profile, options);
    dot::write(&source, out).map_err(Error::Write)
}

/// The graph of a whole profile.
fn whole(profile: &Profile, options: &Options) -> Source {
    let selection = Selection::new(profile, &Filter::default());
    Source::new(profile, &selection, options)
}

#[cfg(test)]
mod tests;
