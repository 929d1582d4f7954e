//! The graph with the words and figures that both kinds of files show.

use std::fmt::Write as _;

use profundo_analysis::{
    CallEdge, CallGraph, CallGraphOptions, CallNode, Estimate, Hidden, Libraries, Quality,
    Selection, Shown, call_graph, call_graph_around, calls_by_sample, quality,
};
use profundo_model::{Clock, Kind, Measure, Nanos, Profile, SampleKind};

use super::super::text::{percent, plural, time};
use super::super::{Options, measured, owner};

/// The unit of weights.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Unit {
    Time(&'static str),
    Memory(Measure),
    Calls,
    Samples,
}

/// The graph, and the facts about its recording.
pub(super) struct Source {
    pub graph: CallGraph,
    pub title: String,
    options: CallGraphOptions,
    /// What is not in the graph by the reader's own choice.
    passing: Option<String>,
    unit: Unit,
    quality: Quality,
    taken: u64,
}

impl Source {
    /// The graph of a selection.
    pub(super) fn new(profile: &Profile, selection: &Selection, options: &Options) -> Self {
        let title = (options.title.clone()).unwrap_or_else(|| owner::title(profile));
        let is_untimed =
            profile.meta.kind == SampleKind::Traced && profile.traced.clock == Clock::None;
        let mut weighed = None;
        if let Some(calls) = calls_by_sample(profile).filter(|_| is_untimed) {
            // Without times, calls are what there is to weigh.
            let mut by_calls = profile.clone();
            for (sample, calls) in by_calls.samples.iter_mut().zip(calls) {
                sample.weight = Nanos(calls);
            }
            weighed = Some((by_calls, selection.anew()));
        }
        let (profile, selection) = match &weighed {
            Some((profile, selection)) => (profile, selection),
            None => (profile, selection),
        };
        let has_weights = profile.samples.iter().any(|sample| sample.weight.0 > 0);
        let unit = match (profile.meta.kind, measured::of(profile)) {
            (_, Some(measure)) => Unit::Memory(measure),
            _ if is_untimed => Unit::Calls,
            (SampleKind::Events, _) => Unit::Samples,
            _ if !has_weights => Unit::Samples,
            (SampleKind::Wall, _) => Unit::Time("elapsed time of threads and tasks"),
            (SampleKind::Traced, _) => Unit::Time("traced time"),
            _ => Unit::Time("CPU time"),
        };
        let passing = options.passing();
        let around = options.graph.around.as_ref();
        let options = CallGraphOptions {
            shown: Shown {
                hidden: match options.include_runtime {
                    true => Hidden::Nothing,
                    false => Hidden::Runtime,
                },
                libraries: match options.only_mine {
                    true => Libraries::Hidden,
                    false => Libraries::Shown,
                },
            },
            by: options.graph.by,
            most_nodes: options.graph.nodes.unwrap_or(CallGraphOptions::NODES),
            min_share: options.min_share.unwrap_or(CallGraphOptions::MIN_SHARE),
            edge_share: (options.graph.edge_share).unwrap_or(CallGraphOptions::EDGE_SHARE),
        };
        Self {
            graph: match around {
                None => call_graph(profile, selection, &options),
                Some(around) => call_graph_around(profile, selection, &options, around),
            },
            title,
            options,
            passing,
            unit,
            quality: quality(profile, selection),
            taken: selection.taken(profile),
        }
    }

    /// The name of the unit.
    pub(super) fn unit_name(&self) -> &'static str {
        match self.unit {
            Unit::Time(_) => "time",
            Unit::Memory(measure) if measure.counts => "blocks",
            Unit::Memory(_) => "bytes",
            Unit::Calls => "calls",
            Unit::Samples => "samples",
        }
    }

    /// The lines below the title.
    pub(super) fn lines(&self, undrawn: usize) -> Vec<String> {
        let passing = self.passing.clone().unwrap_or_default();
        vec![
            self.summary(),
            passing,
            self.coverage(undrawn),
            self.quality(),
        ]
    }

    /// The whole, and its kinds of time.
    fn summary(&self) -> String {
        let whole = self.graph.whole;
        let mut text = match self.unit {
            Unit::Time(clock) if self.graph.is_counted => {
                format!("{} of {clock}, every call counted", time(whole))
            }
            Unit::Time(clock) => format!(
                "{} of {clock} in {}",
                time(whole),
                plural(self.taken, "sample")
            ),
            Unit::Memory(measure) => format!(
                "{} {}",
                measured::text(measure, whole),
                measured::which(measure)
            ),
            Unit::Calls => format!("{}, without times", plural(whole, "call")),
            Unit::Samples => plural(whole, "sample"),
        };
        if let Unit::Time(_) = self.unit {
            let kinds = self.graph.split.shares(whole);
            let parts: Vec<String> = (Kind::ALL.into_iter())
                .filter(|&kind| kinds.of(kind) > 0.0)
                .map(|kind| format!("{} {}", kind.name(), percent(kinds.of(kind))))
                .collect();
            let _ = write!(text, ": {}", parts.join(", "));
        }
        text
    }

    /// The part that is drawn, and the part that is not.
    pub(super) fn coverage(&self, undrawn: usize) -> String {
        let graph = &self.graph;
        let by = self.options.by;
        if graph.nodes.is_empty() {
            return "There is nothing to draw: no samples were taken, or all have smaller shares"
                .into();
        }
        let of_what = match self.unit {
            Unit::Time(_) => "of the time",
            Unit::Memory(measure) => match measure.counts {
                true => "of the blocks",
                false => "of the bytes",
            },
            Unit::Calls => "of the calls",
            Unit::Samples => "of the samples",
        };
        let (some, all) = (graph.nodes.len(), graph.all_nodes);
        let left_out = graph.all_edges - graph.edges.len();
        if some == all && left_out == 0 && undrawn == 0 {
            return match all {
                1 => format!("The only {} is drawn", by.singular()),
                _ => format!("All {all} {} and their calls are drawn", by.plural()),
            };
        }
        let mut text = format!(
            "{some} of {all} {}, {} {of_what}",
            by.plural(),
            percent(graph.kept_share())
        );
        if some < all {
            let least = percent(self.options.min_share);
            let _ = match some == self.options.most_nodes {
                _ if graph.centre.is_some() => {
                    text.write_str("; the others neither call it nor are called by it, or say less")
                }
                true => write!(text, "; only the {some} that say most are drawn"),
                false => write!(text, "; shares below {least} are left out"),
            };
        }
        if left_out > 0 {
            let _ = write!(
                text,
                "; {left_out} of {} are left out: below {}, or implied by others",
                plural(graph.all_edges as u64, "arrow"),
                percent(self.options.edge_share)
            );
        }
        if undrawn > 0 {
            let _ = write!(
                text,
                "; {} are too long to draw",
                plural(undrawn as u64, "arrow")
            );
        }
        text
    }

    /// How far the figures can be trusted.
    fn quality(&self) -> String {
        if self.graph.is_counted || self.unit == Unit::Calls {
            return "Every call was counted: no share is an estimate".into();
        }
        let mut parts = Vec::new();
        match self.quality.margin {
            Some(margin) => parts.push(format!(
                "shares are right within {} of the whole, in 95 of 100 cases",
                percent(margin).replace(" %", " points")
            )),
            None if self.graph.whole > 0 => {
                parts.push("these are too few samples for shares".into());
            }
            None => {}
        }
        if let Some(sampled) = self.quality.sampled_share() {
            let sampled = percent(sampled.min(1.0));
            parts.push(format!("samples cover {sampled} of the CPU time"));
        }
        if self.quality.lost > 0 {
            parts.push(format!("{} lost", plural(self.quality.lost, "sample")));
        }
        match parts.is_empty() {
            true => String::new(),
            false => format!("Quality: {}", parts.join(" · ")),
        }
    }

    /// The figures in a box: the own share and the share with callees.
    pub(super) fn figures(&self, node: &CallNode) -> String {
        match node.total_share.few {
            Some(few) => {
                let own = node.own_share.few.map_or(0, |own| own.part);
                format!("own {own}, all {} of {}", few.part, few.whole)
            }
            None if node.own.weight == node.total.weight => {
                format!("{} own", percent(node.own_share.share))
            }
            None => format!(
                "{} own of {}",
                percent(node.own_share.share),
                percent(node.total_share.share)
            ),
        }
    }

    /// The place of a node: its file and line.
    pub(super) fn place(node: &CallNode) -> String {
        match node.line {
            0 => node.file.clone(),
            line if !node.file.is_empty() => format!("{}:{line}", node.file),
            _ => String::new(),
        }
    }

    /// The end of a place, for a box: details have the whole.
    pub(super) fn short_place(place: &str) -> &str {
        match place.starts_with(['@', '<']) {
            true => place,
            false => place.rsplit('/').next().unwrap_or(place),
        }
    }

    /// All about a node in a line.
    pub(super) fn node_details(&self, node: &CallNode) -> String {
        let mut text = format!(
            "own {}; with callees {}",
            self.amount(node.own_share, node.own.weight),
            self.amount(node.total_share, node.total.weight)
        );
        let kinds = node.own.split;
        let system = kinds.system as f64 / self.graph.whole.max(1) as f64;
        if matches!(self.unit, Unit::Time(_)) && system > 0.0 {
            let _ = write!(text, "; in system calls {}", percent(system));
        }
        if node.calls > 0 {
            let _ = write!(text, "; {}", plural(node.calls, "call"));
        }
        text
    }

    /// The label of an arrow.
    pub(super) fn edge_label(&self, edge: &CallEdge) -> String {
        let share = match edge.share.few {
            Some(few) => format!("{}", few.part),
            None => percent(edge.share.share),
        };
        match edge.calls {
            0 => share,
            calls => format!("{share} {}×", short_count(calls)),
        }
    }

    /// All about an arrow in a line.
    pub(super) fn edge_details(&self, edge: &CallEdge) -> String {
        let (caller, callee) = (
            &self.graph.nodes[edge.caller].name,
            &self.graph.nodes[edge.callee].name,
        );
        let mut text = match edge.is_bridge {
            true => format!("{caller} → … → {callee}"),
            false => format!("{caller} → {callee}"),
        };
        let _ = write!(text, ": {}", self.amount(edge.share, edge.amount.weight));
        if edge.calls > 0 {
            let _ = write!(text, "; {}", plural(edge.calls, "call"));
        }
        text
    }

    fn amount(&self, estimate: Estimate, weight: u64) -> String {
        if let Some(few) = estimate.few {
            return format!("{} of {}", few.part, plural(few.whole, "sample"));
        }
        let mut text = percent(estimate.share);
        if !estimate.is_exact() && !self.graph.is_counted && self.unit != Unit::Calls {
            let _ = write!(
                text,
                " (95 %: {} to {})",
                percent(estimate.interval.low),
                percent(estimate.interval.high)
            );
        }
        let amount = match self.unit {
            Unit::Time(_) => time(weight),
            Unit::Memory(measure) => measured::text(measure, weight),
            Unit::Calls => plural(weight, "call"),
            Unit::Samples => plural(weight, "sample"),
        };
        let _ = write!(text, ", {amount}");
        text
    }
}

/// A count in few letters: `950`, `1.2 k`, `34 M`.
fn short_count(count: u64) -> String {
    let (mut size, mut unit) = (count as f64, "");
    for next in [" k", " M", " G"] {
        if size < 999.5 {
            break;
        }
        (size, unit) = (size / 1e3, next);
    }
    match unit {
        "" => count.to_string(),
        _ if size < 9.95 => format!("{size:.1}{unit}"),
        _ => format!("{size:.0}{unit}"),
    }
}
