//! Options of `graph`: the picture of who calls whom, and the square map.

use std::path::Path;

use clap::{Args, ValueEnum};
use profundo_console::options::values::percent;
use profundo_formats::export::graph::{GraphBy, GraphOptions};
use profundo_formats::export::{Format, Options};

use super::filters::Until;
use super::head::Head;
use super::measuring::Measuring;

/// The meaning of a box.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum Boxes {
    /// A function
    Function,
    /// A source file
    File,
    /// A module of Python or Rust, or a library
    Module,
    /// A package of Python, a crate of Rust, or a library
    #[value(alias = "crate")]
    Package,
}

/// The program that lays the picture out.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum LayoutEngine {
    /// profundo itself
    Own,
    /// Graphviz, where it is installed
    Dot,
}

#[derive(Debug, Args)]
pub struct Graph {
    #[command(flatten)]
    pub head: Head,
    #[command(flatten)]
    pub until: Until,
    #[command(flatten)]
    pub measuring: Measuring,
    /// Draw the square map instead: boxes in boxes, as large as their shares
    #[arg(long, visible_alias = "treemap", help_heading = "The file")]
    pub square: bool,
    /// What a box is: function, file, module, or package (a Python package or a crate) [default:
    /// function]
    #[arg(
        long,
        value_enum,
        value_name = "WHAT",
        hide_possible_values = true,
        help_heading = "The file"
    )]
    pub by: Option<Boxes>,
    /// Draw at most so many boxes [default: 80]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..), help_heading = "The file")]
    pub nodes: Option<u32>,
    /// Draw no box with a smaller share, in percent [default: 0.5; of --square 0.05]
    #[arg(long, value_name = "PERCENT", value_parser = percent, allow_negative_numbers = true, help_heading = "The file")]
    pub min_share: Option<f64>,
    /// Draw no arrow with a smaller share, in percent [default: 0.1]
    #[arg(long, value_name = "PERCENT", value_parser = percent, allow_negative_numbers = true, help_heading = "The file")]
    pub edge_share: Option<f64>,
    /// What lays it out: own, or dot of Graphviz [default: own]; an output that ends in .dot is a text
    /// for Graphviz instead
    #[arg(
        long,
        value_enum,
        value_name = "WHAT",
        hide_possible_values = true,
        help_heading = "The file"
    )]
    pub engine: Option<LayoutEngine>,
}

impl Graph {
    /// Why these options do not go together, if they do not.
    pub fn misfit(&self) -> Option<String> {
        let dot = self.head.output.as_deref().is_some_and(is_dot);
        let is_other = |output: &Path| {
            let ending = output.extension().and_then(|ending| ending.to_str());
            let known = ending.is_none_or(|ending| ending.eq_ignore_ascii_case("svg"));
            !known && !is_dot(output) && !output.starts_with("/dev") && !output.starts_with("/proc")
        };
        if let Some(output) = self
            .head
            .output
            .as_deref()
            .filter(|output| is_other(output))
        {
            return Some(format!(
                "`graph` writes a picture (.svg) or a text for Graphviz (.dot), and {} ends otherwise",
                output.display()
            ));
        }
        if dot && self.engine.is_some() {
            return Some(
                "a .dot file is not laid out yet: `--engine` goes with a picture (.svg)".into(),
            );
        }
        if !self.square {
            return (self.head.filters.misfit(self.until.to))
                .or_else(|| self.measuring.misfit().map(str::to_owned));
        }
        let foreign = [
            ("--by", self.by.is_some()),
            ("--nodes", self.nodes.is_some()),
            ("--edge-share", self.edge_share.is_some()),
            ("--engine", self.engine.is_some()),
        ];
        let foreign = foreign.into_iter().find(|(_, is_given)| *is_given);
        if let Some((option, _)) = foreign {
            return Some(format!(
                "`{option}` is about boxes and arrows, and the square map draws the calls of each path: leave out one of them"
            ));
        }
        if dot {
            return Some("the square map is a picture: name a file that ends in .svg".into());
        }
        (self.head.filters.misfit(self.until.to))
            .or_else(|| self.measuring.misfit().map(str::to_owned))
    }

    /// The kind of file that is asked for.
    pub fn format(&self) -> Format {
        match &self.head.output {
            _ if self.square => Format::SQUARE,
            Some(output) if is_dot(output) => Format::DOT,
            _ => Format::GRAPH,
        }
    }

    /// The options in the words of the library.
    pub fn options(&self) -> Options {
        Options {
            measure: self.measuring.measure(),
            min_share: self.min_share,
            graph: GraphOptions {
                by: match self.by {
                    None | Some(Boxes::Function) => GraphBy::Function,
                    Some(Boxes::File) => GraphBy::File,
                    Some(Boxes::Module) => GraphBy::Module,
                    Some(Boxes::Package) => GraphBy::Package,
                },
                nodes: self.nodes.map(|nodes| nodes as usize),
                edge_share: self.edge_share,
                around: None,
            },
            ..self.head.options()
        }
    }
}

/// Whether a file's name is that of a text for Graphviz.
fn is_dot(path: &Path) -> bool {
    let ending = path.extension().and_then(|ending| ending.to_str());
    ending.is_some_and(|ending| ["dot", "gv"].contains(&ending.to_ascii_lowercase().as_str()))
}
