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
use crate::weighted_graph::CallGraph;
use crate::{Builder, Row};

pub(super) fn fill<'a>(
    head: &Head,
    report: &Report,
    each: u64,
    rows: impl Iterator<Item = &'a str>,
    builder: &mut Builder,
) {
    let mut names = Names::default();
    let mut graph = CallGraph::default();
    let mut ids: FxHashMap<String, usize> = FxHashMap::default();
    let mut states = Vec::new();
    let mut row: Vec<&str> = Vec::new();
    let mut callers: Vec<(usize, u64)> = Vec::new();
    let mut current: Option<usize> = None;
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
            states.push(place.state);
            graph.function(place.location)
        });
        match (indented, current) {
            (Some(_), None) => callers.push((id, samples)),
            (Some(_), Some(caller)) => graph.set_arc(caller, id, samples as f64),
            (None, _) => {
                graph.set_own(id, samples as f64);
                for (caller, samples) in callers.drain(..) {
                    graph.set_arc(caller, id, samples as f64);
                }
                current = Some(id);
            }
        }
    }
    let thread = builder.only_thread();
    let mut found = Vec::new();
    graph.stacks(builder, |function, stack, samples| {
        found.push((function, stack, samples))
    });
    for (function, stack, samples) in found {
        builder.sample(Row {
            stack,
            thread,
            weight: samples.saturating_mul(each),
            samples,
            time: None,
            state: states[function],
        });
    }
}
