//! Questions on a profile, answered with numbers and ids.
//!
//! Every answer is a pure function of a [`Profile`](profundo_model::Profile) and of a [`Selection`]
//! of its samples: the call tree ([`tree()`]), the time of functions ([`flat()`], [`shares()`]),
//! the callers of one ([`callers()`]), how busy the threads were ([`utilization()`]), and how far
//! the numbers can be trusted ([`quality()`]).
//!
//! It is not for text: the form of an answer is left to the crate that prints it.
//!
//! Constraints: no unsafe code, no I/O, no clock. Samples are first added up by stack, so the work
//! grows with the number of distinct stacks, not with the length of the recording. The uncertainty
//! of a share follows from the order of at most a million samples.
//!
//! ```
//! use profundo_analysis::{Filter, Selection, TreeOptions, tree};
//! use profundo_model::Profile;
//!
//! let profile = Profile::from_folded("main;work;leaf 3\nmain;idle 1").unwrap();
//! let all = Selection::new(&profile, &Filter::default());
//! let tree = tree(&profile, &all, &TreeOptions::default());
//! let main = tree.node(tree.children(tree.root())[0]);
//! assert_eq!((main.count, main.overhead), (4, 0));
//! ```

#![forbid(unsafe_code)]

mod admit;
mod allocated;
mod amount;
mod annotate;
pub mod bench;
mod call_graph;
mod call_names;
mod callers;
mod calls;
mod cells;
mod choice;
mod cut;
pub mod diff;
mod energy;
mod expression;
mod filter;
mod flat;
mod forest;
pub mod function_names;
mod garbage;
mod gathered;
pub mod graph;
mod group;
pub mod growth;
mod heap;
mod heatmap;
mod held;
mod interval;
mod io;
mod kind;
mod line_calls;
mod line_finder;
mod lineless;
mod lines;
mod merge;
mod missing;
mod nearest;
mod origin_spread;
mod own_line;
mod ownership;
mod package;
pub mod palette;
mod pattern;
mod place;
pub mod python;
mod quality;
mod remembered;
mod run_spread;
mod scatter;
mod selection;
mod settle;
mod shares;
mod shown;
mod spans;
mod spread;
mod statements;
pub mod stats;
mod syscalls;
mod tally;
mod timeline;
mod totals;
mod traced;
mod transform;
mod tree;
pub mod usage;
mod utilization;
mod waits;
mod walk;
mod weights;

#[cfg(test)]
mod tests;

pub use allocated::{AllocatedTotal, Measure, block_samples, block_total, block_weights};
pub use amount::Amount;
pub use annotate::{
    Annotation, FunctionCode, InstructionShare, SampledAddress, SampledCode, annotate,
    is_interpreted, sampled_code,
};
pub use call_graph::{
    Around, CallEdge, CallGraph, CallGraphOptions, CallNode, GraphBy, call_graph, call_graph_around,
};
pub use callers::{Caller, CallersError, callers};
pub use calls::{Call, Calls, calls};
pub use cells::cells;
pub use choice::{UnknownChoice, choose};
pub use cut::{begin_at, cut};
pub use energy::{EnergyUse, energy, joules_per_nanosecond};
pub use expression::{Expression, ExpressionError};
pub use filter::{
    Filter, FilterError, LabelChoice, Numbers, ProcessChoice, SpanChoice, TaskChoice, ThreadChoice,
};
pub use flat::{FlatOptions, FlatRow, flat};
pub use forest::{
    BoxOf, BoxOrder, BoxShares, CallWeight, Forest, ForestBox, ForestCall, ForestFunction,
    ForestOptions, Lane, LaneBox, LaneOptions, Limits, Run, Runs, Start, Weights, below, beside,
    box_shares, find_beside, in_time, path_beside, sets, sets_at,
};
pub use garbage::garbage;
pub use gathered::Worth;
pub use group::{Group, GroupBy, groups};
pub use heap::{
    Allocations, CopyRow, Figure, FunctionMemory, HeapLine, HeapOptions, HeapRow, HeapStack,
    HeldAt, HeldRow, Holding, Leak, LineMemory, Peak, Sum, Tracked, allocated_by_source,
    allocations, allocations_joined, by_shown_stack, has_allocations, heap_samples, held_at,
    is_recorded, keep_only, measured, measured_at, memory_by_line, records_allocations,
    unattributed,
};
pub use heap::{Growth, ProcessMemory, Use, gauges, goes_on};
pub use heatmap::{Cell, Grid, Heatmap, Idle, Pause, heatmap, heatmap_of};
pub use held::{Held, Named, held, holds_text, needs_debug_info};
pub use interval::{Estimate, Few, Interval, Mass, effective_samples};
pub use io::{Io, IoAmount, IoRow, io, io_joined};
pub use kind::{KindShares, Split};
pub use line_calls::{LineCall, SourceLine, line_calls};
pub use line_finder::LinesOptions;
pub use lineless::{Lineless, Phase};
pub use lines::{FileLines, Launched, LineShare, SourceShares, lines, lines_joined};
pub use merge::{InputLabels, JoinedPiece, Joining, MergeError, Merging, merge};
pub use missing::{Cause, Missing, Whole, missing, missing_beside, missing_of, unread};
pub use nearest::{nearest, nearest_word};
pub use origin_spread::{FunctionInOrigins, OriginSpread, OriginTimes, origin_spread};
pub use ownership::{Ownership, Rules, is_library_file};
pub use package::{library, package};
pub use pattern::Pattern;
pub use place::Place;
pub use quality::{Intervals, Quality, Uncounted, cpu_used, quality};
pub use selection::{Selection, StackWeight};
pub use settle::{settle, settle_beside_waits};
pub use shares::{FunctionShare, line_shares, shares};
pub use shown::{Hidden, Libraries, Shown, each_innermost_place, each_shown_stack, shown_stack};
pub use spans::{SpanRow, Spans, spans};
pub use spread::Spread;
pub use statements::{Grammar, statements};
pub use syscalls::{CallsRange, SyscallAmount, SyscallRow, Syscalls, error_name, syscalls};
pub use timeline::{
    Activity, InWindow, MarkBox, ProcessTracks, SpanBox, SpanLanes, Timeline, Times, Track,
    TrackOf, TracksBy, Window, levels, marks, span_boxes,
};
pub use totals::{
    CommandTotal, ProcessTotal, ProgramTotal, ThreadTotal, Totals, command_name, totals,
};
pub use traced::{
    Begun, CallLabel, CallTable, CallsBetween, Counted, CountedFunction, CountedLine,
    LinesOfFunction, RaisedExceptions, calls_by_sample, time_lines, traced, traced_exceptions,
    traced_lines,
};
pub use transform::{
    LibraryNames, Operation, Transform, TransformError, Transforms, transform, transforms,
};
pub use tree::{Node, NodeId, Recur, Tree, TreeOptions, tree};
pub use utilization::utilization;
pub use waits::{WaitRow, waits};
pub use weights::is_exact;
