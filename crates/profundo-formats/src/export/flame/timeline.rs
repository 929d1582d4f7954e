//! A flame chart: a lane for each thread, its samples in the order of time.
//!
//! A lane is made of stretches of one stack ([`Runs`]): where a thread did not run, it is empty.
//! Pauses that are narrower than a column of the picture are not drawn.

use std::cmp::Reverse;

use profundo_analysis::{CallWeight, Runs};
use profundo_model::{Kind, Kinds, Profile, ThreadId};

use super::super::calls::{Calls, Manner};
use super::super::text::{percent, time};
use super::super::view::View;
use super::super::{Counts, Options, Weights, add, owner};
use super::about;
use super::layout::{Drawing, Namer};
use super::looks::Owns;
use super::picture::{Lane, Node, Picture};
use super::words::Amounts;

/// The most threads with a lane: the busiest.
const MOST_LANES: usize = 24;
/// The most boxes: the widest.
const MOST_BOXES: usize = 110_000;

/// The columns of pixels that the whole time has on a screen.
const COLUMNS: u64 = 1000;

/// The flame chart of the view.
pub(super) fn picture(view: &View<'_>, options: &Options, weights: Weights) -> Picture {
    let profile = view.profile;
    let kinds = Kinds::of(profile);
    let manner = Manner::new(options, weights, true);
    let mut calls = Calls::new(view, &kinds, manner);
    let (threads, uncovered) = threads(view, &kinds, &mut calls, weights);
    let (mut total, mut count) = (0, 0);
    for (_, runs) in &threads {
        add(&mut total, runs.weight.weight);
        add(&mut count, runs.weight.count);
    }
    let starts = threads.iter().filter_map(|(_, runs)| runs.list.first());
    let origin = starts.map(|run| run.start).min().unwrap_or(0);
    let ends = threads.iter().filter_map(|(_, runs)| runs.list.last());
    let end = ends.map(|run| run.end).max().unwrap_or(0);
    let span = end - origin;
    let mut namer = Namer::new(view);
    let (nodes, lanes) = lanes(&mut namer, &calls, profile, &threads, origin, span);
    let (nodes, lanes, narrow) = widest(nodes, &lanes, options.min_share, span);

    let mut owns = Owns::default();
    for node in nodes.iter().filter(|node| node.own > 0) {
        owns.add(&namer.frames, node.frame, node.own);
    }
    let amounts = about::amounts(profile, weights, total, count);
    let whole = Amounts {
        total: total.saturating_add(uncovered),
        ..amounts.clone()
    };
    let mut lines = about::lines(profile, options, &whole, weights, &kinds);
    if uncovered > 0 {
        lines.push(format!(
            "{} of CPU time has no sample, so no place in time, and is not drawn",
            time(uncovered)
        ));
    }
    if threads.len() > MOST_LANES {
        let rest: u64 = (threads.iter().skip(MOST_LANES))
            .map(|(_, runs)| runs.weight.weight)
            .fold(0, u64::saturating_add);
        let share = percent(rest as f64 / total.max(1) as f64);
        let more = threads.len() - MOST_LANES;
        lines.push(format!(
            "{more} more threads ({share} of the time) are not drawn; --thread chooses them"
        ));
    }
    if narrow > 0 {
        let plural = if narrow == 1 { "box" } else { "boxes" };
        lines.push(format!(
            "{narrow} {plural} too short to draw; --from and --to choose a shorter time"
        ));
    }
    let drawing = Drawing {
        lines,
        nodes,
        lanes,
        span,
        origin,
        is_timed: true,
    };
    namer.picture(options, amounts, &owns, drawing)
}

/// The threads with samples, the busiest first, and the weight that has no place in time.
fn threads(
    view: &View<'_>,
    kinds: &Kinds,
    calls: &mut Calls,
    weights: Weights,
) -> (Vec<(ThreadId, Runs)>, u64) {
    let profile = view.profile;
    let counts = Counts::new(profile);
    let mut order: Vec<usize> = (0..profile.samples.len()).collect();
    // Each thread's samples are in order already; the sort is for made-up profiles.
    order.sort_by_key(|&row| profile.samples[row].time);
    let time = |row: Option<&usize>| row.map_or(0, |&row| profile.samples[row].time.0);
    let span = time(order.last()) - time(order.first());
    // The longest pause that is not drawn.
    let longest_pause = (profile.meta.period.0 / 2).max(span / COLUMNS);
    let mut threads: Vec<Runs> = Vec::new();
    threads.resize_with(profile.threads.len(), Runs::default);
    let mut uncovered = 0;
    for row in order {
        let sample = &profile.samples[row];
        if profile.is_counted(sample.stack) {
            add(&mut uncovered, sample.weight.0);
            continue;
        }
        let is_system = kinds.kind(sample) == Kind::System;
        let call = calls.of_sample(view, sample, is_system);
        let weight = CallWeight {
            weight: weights.of(&counts, row, sample),
            count: counts.of(row, sample),
        };
        let at = (call, sample.time.0);
        threads[sample.thread.index()].add(at, weight, (0, u64::MAX), longest_pause);
    }
    let threads = (0..).map(ThreadId).zip(threads);
    let mut threads: Vec<_> = threads.filter(|(_, runs)| !runs.list.is_empty()).collect();
    threads.sort_by_key(|(thread, runs)| (Reverse(runs.weight.weight), thread.0));
    (threads, uncovered)
}

fn lanes(
    namer: &mut Namer<'_>,
    calls: &Calls,
    profile: &Profile,
    threads: &[(ThreadId, Runs)],
    origin: u64,
    span: u64,
) -> (Vec<Node>, Vec<Lane>) {
    let mut nodes = Vec::new();
    let mut lanes = Vec::new();
    for (thread, runs) in threads.iter().take(MOST_LANES) {
        let mut name = owner::thread(profile, *thread);
        if profile.processes.len() > 1 {
            name = format!("{}, {name}", owner::process(profile, *thread));
        }
        let from = nodes.len();
        nodes.push(Node {
            frame: namer.owner(&format!("{name}: {}", time(runs.weight.weight))),
            width: span,
            weight: runs.weight.weight,
            count: runs.weight.count,
            ..Node::default()
        });
        stack_up(namer, calls, runs, origin, &mut nodes);
        lanes.push(Lane {
            folds_below: common(&nodes[from..]),
            ..Lane::of(from..nodes.len())
        });
    }
    (nodes, lanes)
}

/// Adds the boxes of a thread's stretches.
fn stack_up(namer: &mut Namer<'_>, calls: &Calls, runs: &Runs, origin: u64, nodes: &mut Vec<Node>) {
    // The calls that are open, outermost first, each with its box.
    let mut open: Vec<(u32, usize)> = Vec::new();
    let mut end = None;
    for run in &runs.list {
        let above = |&call: &u32| calls.calls[call as usize].parent;
        let mut path: Vec<u32> = std::iter::successors(Some(run.call), above).collect();
        path.reverse();
        if end != Some(run.start) {
            open.clear();
        }
        let shared = (path.iter().zip(&open))
            .take_while(|(call, (other, _))| *call == other)
            .count();
        open.truncate(shared);
        for &call in &path[shared..] {
            open.push((call, nodes.len()));
            nodes.push(Node {
                frame: namer.frame(calls, call),
                level: open.len() as u32,
                start: run.start - origin,
                ..Node::default()
            });
        }
        for &(_, at) in &open {
            let node = &mut nodes[at];
            node.width = run.end - origin - node.start;
            add(&mut node.weight, run.weight.weight);
            add(&mut node.count, run.weight.count);
        }
        if let Some(&(_, leaf)) = open.last() {
            add(&mut nodes[leaf].own, run.weight.weight);
        }
        end = Some(run.end);
    }
}

/// The level at which the boxes of a lane first differ: those below are the same all the time.
fn common(nodes: &[Node]) -> u32 {
    let mut frames: Vec<Option<u32>> = Vec::new();
    let mut limit = u32::MAX;
    for node in nodes {
        let level = node.level as usize;
        if frames.len() <= level {
            frames.resize(level + 1, None);
        }
        if frames[level].is_some_and(|frame| frame != node.frame) {
            limit = limit.min(node.level);
        }
        frames[level] = Some(node.frame);
        // Where a stack ends, the level above is not common.
        if node.own > 0 {
            limit = limit.min(node.level + 1);
        }
    }
    limit
}

/// The widest boxes, with their lanes, and the number of the others. A caller is at least as wide
/// as what it calls.
fn widest(
    nodes: Vec<Node>,
    lanes: &[Lane],
    min_share: Option<f64>,
    span: u64,
) -> (Vec<Node>, Vec<Lane>, usize) {
    let least = ((min_share.unwrap_or(0.0) * span as f64).ceil() as u64).max(1);
    let mut order: Vec<usize> = (0..nodes.len()).collect();
    order.retain(|&at| nodes[at].width >= least || nodes[at].level == 0);
    order.sort_by_key(|&at| (nodes[at].level > 0, Reverse(nodes[at].width), at));
    order.truncate(MOST_BOXES);
    let mut stays = vec![false; nodes.len()];
    for &at in &order {
        stays[at] = true;
    }
    let narrow = nodes.len() - order.len();
    let mut kept = Vec::with_capacity(order.len());
    let mut drawn = Vec::with_capacity(lanes.len());
    for lane in lanes {
        let from = kept.len();
        kept.extend(
            (lane.from..lane.to)
                .filter(|&at| stays[at])
                .map(|at| nodes[at]),
        );
        drawn.push(Lane {
            from,
            to: kept.len(),
            ..lane.clone()
        });
    }
    (kept, drawn, narrow)
}
