//! The threads, processes and origins of a part. The others go, so that rows get other ids: what
//! points at them follows.

use profundo_model::{OriginId, ProcessId, Profile, ThreadId, ThreadTable};

use crate::{Filter, admit};

/// Keeps these threads and their processes. A process of which no thread is known stays if it
/// passes the filter and its memory is known.
pub(super) fn keep(profile: &mut Profile, threads: &[ThreadId], filter: &Filter) {
    let passing = admit::processes(profile, filter);
    let mut has_threads = vec![false; profile.processes.len()];
    for (_, thread) in profile.threads.iter() {
        mark(&mut has_threads, thread.process.index());
    }
    let mut has_readings = vec![false; profile.processes.len()];
    for gauge in &profile.heap.gauges {
        mark(&mut has_readings, gauge.process.index());
    }
    let mut stays: Vec<bool> = (passing.iter().zip(&has_threads).zip(has_readings))
        .map(|((passes, has_threads), has_readings)| *passes && !has_threads && has_readings)
        .collect();
    let mut is_kept = vec![false; profile.threads.len()];
    for &thread in threads {
        is_kept[thread.index()] = true;
        mark(&mut stays, profile.threads.get(thread).process.index());
    }
    keep_sites(profile, &stays);
    let processes = numbers(&stays);
    keep_processes(profile, &stays, &processes);
    let threads = numbers(&is_kept);
    let mut table = ThreadTable::default();
    for (_, thread) in profile.threads.iter().filter(|(id, _)| is_kept[id.index()]) {
        table.push(profundo_model::Thread {
            process: ProcessId(processes[thread.process.index()].unwrap_or(0)),
            ..*thread
        });
    }
    profile.threads = table;
    move_threads(profile, |id| {
        *id = ThreadId(threads[id.index()].unwrap_or(0));
    });
}

fn mark(marks: &mut [bool], index: usize) {
    if let Some(mark) = marks.get_mut(index) {
        *mark = true;
    }
}

/// By row, its number among those that stay.
fn numbers(stays: &[bool]) -> Vec<Option<u32>> {
    let mut next = 0;
    let number = |stays: &bool| {
        stays.then(|| {
            next += 1;
            next - 1
        })
    };
    stays.iter().map(number).collect()
}

/// Removes sums that are empty. Moments refer to sums by their numbers.
fn keep_sites(profile: &mut Profile, processes: &[bool]) {
    let heap = &mut profile.heap;
    let stays: Vec<bool> = (heap.sites.iter())
        .map(|site| {
            let is_there = processes.get(site.process.index()) == Some(&true);
            is_there && site.allocated.count > 0
        })
        .collect();
    let numbers = numbers(&stays);
    let mut rows = stays.iter();
    heap.sites.retain(|_| rows.next() == Some(&true));
    heap.moments.retain_mut(|moment| {
        let number = numbers.get(moment.site as usize).copied().flatten();
        moment.site = number.unwrap_or(0);
        number.is_some()
    });
}

fn keep_processes(profile: &mut Profile, stays: &[bool], numbers: &[Option<u32>]) {
    let of = |id: ProcessId| numbers.get(id.index()).copied().flatten().map(ProcessId);
    let moved = |id: &mut ProcessId| *id = of(*id).unwrap_or_default();
    let mut rows = stays.iter();
    profile.processes.retain(|_| rows.next() == Some(&true));
    for process in &mut profile.processes {
        process.parent = process.parent.and_then(of);
    }
    keep_origins(profile);
    let heap = &mut profile.heap;
    heap.searched.retain(|id| of(*id).is_some());
    heap.searched.iter_mut().for_each(moved);
    heap.sites
        .iter_mut()
        .for_each(|site| moved(&mut site.process));
    heap.gauges.retain(|gauge| of(gauge.process).is_some());
    heap.gauges
        .iter_mut()
        .for_each(|gauge| moved(&mut gauge.process));
    let spans = &mut profile.spans;
    spans.sums.retain(|sum| of(sum.process).is_some());
    spans
        .sums
        .iter_mut()
        .for_each(|sum| moved(&mut sum.process));
    let traced = &mut profile.traced;
    traced.lines.retain(|line| of(line.process).is_some());
    traced
        .lines
        .iter_mut()
        .for_each(|line| moved(&mut line.process));
    traced.exceptions.retain(|row| of(row.process).is_some());
    traced
        .exceptions
        .iter_mut()
        .for_each(|row| moved(&mut row.process));
}

/// Keeps the origins of the processes that are there.
fn keep_origins(profile: &mut Profile) {
    let mut stays = vec![false; profile.origins.len()];
    for process in &profile.processes {
        if let Some(origin) = process.origin {
            mark(&mut stays, origin.index());
        }
    }
    let numbers = numbers(&stays);
    let mut rows = stays.iter();
    profile.origins.retain(|_| rows.next() == Some(&true));
    for process in &mut profile.processes {
        let number = |origin: OriginId| numbers.get(origin.index()).copied().flatten();
        process.origin = process.origin.and_then(number).map(OriginId);
    }
}

/// Gives everything that has a thread the id that it has now.
fn move_threads(profile: &mut Profile, moved: impl Fn(&mut ThreadId)) {
    (profile.samples.iter_mut()).for_each(|row| moved(&mut row.thread));
    (profile.traffic.iter_mut()).for_each(|row| moved(&mut row.thread));
    (profile.syscalls.iter_mut()).for_each(|row| moved(&mut row.thread));
    (profile.traced.calls.iter_mut()).for_each(|row| moved(&mut row.thread));
    let heap = &mut profile.heap;
    heap.blocks
        .iter_mut()
        .for_each(|row| moved(&mut row.thread));
    heap.copies
        .iter_mut()
        .for_each(|row| moved(&mut row.thread));
    let spans = &mut profile.spans;
    spans.each.iter_mut().for_each(|row| moved(&mut row.thread));
    spans
        .marks
        .iter_mut()
        .for_each(|row| moved(&mut row.thread));
    let of_sums = spans.sums.iter_mut().filter_map(|sum| sum.thread.as_mut());
    of_sums.for_each(moved);
}
