//! `opreport -c`: between lines of dashes, the callers of a function, the function, and what it
//! calls.
//!
//! ```text
//! -------------------------------------------------------------------------------
//!   12        100.000  app                      main
//! 4         33.3333  app                      work
//!   8         66.6667  app                      leaf
//!   4         33.3333  app                      work [self]
//! ```
//!
//! The samples of the function are its own; those of a caller or callee have all that it calls.

use rustc_hash::FxHashMap;

use super::head::{Content, Head, cells};
use super::names::Names;
use super::{Report, is_rule};
use crate::Builder;
use crate::stacks::call_graph::{Costs, Pairs};

pub(super) fn fill<'a>(
    head: &Head,
    report: &Report,
    each: u64,
    rows: impl Iterator<Item = &'a str>,
    builder: &mut Builder,
) {
    let mut names = Names::default();
    let mut graph = Pairs::default();
    let mut ids: FxHashMap<String, u32> = FxHashMap::default();
    let mut row: Vec<&str> = Vec::new();
    let mut callers: Vec<(u32, u64)> = Vec::new();
    let mut current: Option<u32> = None;
    for (number, line) in (head.lines + 1..).zip(rows) {
        if is_rule(line) {
            callers.clear();
            current = None;
            continue;
        }
        if line.trim().is_empty() {
            continue;
        }
        let indented = line.starts_with(' ').then(|| line.trim_start());
        cells(&head.columns, indented.unwrap_or(line), &mut row);
        let samples: u64 = report
            .samples(&row)
            .filter_map(|(_, samples)| samples)
            .sum();
        let cell = |content| {
            let at = head.position(content);
            at.and_then(|at| row.get(at)).copied().unwrap_or_default()
        };
        let symbol = cell(Content::Symbol);
        if symbol.is_empty() || report.samples(&row).any(|(_, samples)| samples.is_none()) {
            builder.leave_out("lines", || format!("line {number}"));
            continue;
        }
        if symbol.ends_with(" [self]") {
            continue;
        }
        let (image, line) = (cell(Content::Image), cell(Content::Line));
        let key = format!("{image}\0{line}\0{symbol}");
        let id = *ids.entry(key).or_insert_with(|| {
            let place = names.location(builder, (image, symbol), line);
            graph.function(place.location, place.state)
        });
        match (indented, current) {
            (Some(_), None) => callers.push((id, samples)),
            (Some(_), Some(caller)) => graph.set_arc(caller, id, samples),
            (None, _) => {
                graph.set_own(id, samples);
                for (caller, samples) in callers.drain(..) {
                    graph.set_arc(caller, id, samples);
                }
                current = Some(id);
            }
        }
    }
    let thread = builder.only_thread();
    // Numbers of samples are exact.
    graph.finish(0.0).fill(builder, thread, Costs::Events(each));
}
