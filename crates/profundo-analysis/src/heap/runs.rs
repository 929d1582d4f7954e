//! The times of processes, and their live blocks in the end.
//!
//! Programs free much as they end: an interpreter frees its modules, a program its tables. That
//! says nothing about the memory that they kept while they ran, so the state before it counts as
//! live at the end.

use profundo_model::{Amount, Block, Nanos, ProcessEnd, ProcessId, Profile, Site};
use rustc_hash::FxHashMap;

use super::entries::{end, end_of};

/// The time of a process, as far as its memory is concerned.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Run {
    pub start: u64,
    /// The end, before its final frees.
    pub end: u64,
    /// Its peak.
    pub most: f64,
}

impl Run {
    pub fn seconds(&self) -> f64 {
        self.end.saturating_sub(self.start) as f64 / 1e9
    }

    /// The step of an instant, of `steps` steps.
    pub fn step(&self, time: u64, steps: usize) -> usize {
        let span = self.end.saturating_sub(self.start).max(1);
        let at = u128::from(time.saturating_sub(self.start)) * steps as u128 / u128::from(span);
        (at as usize).min(steps - 1)
    }
}

/// The runs of all processes, and their live blocks at their ends.
#[derive(Debug)]
pub(super) struct Runs {
    of: FxHashMap<ProcessId, Run>,
    /// By site.
    live: Vec<Amount>,
}

impl Runs {
    pub fn new(profile: &Profile) -> Self {
        let end = end(profile);
        let run = |(process, changes): (ProcessId, Vec<(u64, f64)>)| {
            let started = (profile.processes.get(process.index())).and_then(|row| row.started);
            let first = changes.iter().map(|&(time, _)| time).min().unwrap_or(0);
            let start = started.map_or(0, |started| started.0).min(first);
            let ended = end_of(profile, process, end);
            let run = match goes_on(profile, process) {
                true => whole(changes, start, ended),
                false => ran(changes, start, ended),
            };
            (process, run)
        };
        let mut runs = Self {
            of: super::peak::changes(profile).into_iter().map(run).collect(),
            live: profile.heap.sites.iter().map(Site::live).collect(),
        };
        runs.take_amounts_at_end(profile, end);
        runs
    }

    /// Finds the sites' amounts before the final frees.
    fn take_amounts_at_end(&mut self, profile: &Profile, end: u64) {
        let heap = &profile.heap;
        for moment in &heap.moments {
            let Some(site) = heap.sites.get(moment.site as usize) else {
                continue;
            };
            let ended = end_of(profile, site.process, end);
            if let Some(run) = self.of.get(&site.process)
                && run.end < ended
                && moment.time.0 <= run.end
            {
                self.live[moment.site as usize] = moment.live;
            }
        }
    }

    pub fn of(&self, process: ProcessId) -> Option<&Run> {
        self.of.get(&process)
    }

    /// Whether a block was live at the end of its process.
    pub fn is_live(&self, process: ProcessId, block: &Block) -> bool {
        let run = self.of.get(&process);
        let is_freed = |freed: Nanos| run.is_none_or(|run| freed.0 <= run.end);
        !block.freed.is_some_and(is_freed) && run.is_none_or(|run| block.time.0 <= run.end)
    }

    /// Each site's live blocks at the end of its process.
    pub fn live_sites(&self) -> &[Amount] {
        &self.live
    }
}

/// Whether a process goes on after the recording: its last frees are no final ones.
pub fn goes_on(profile: &Profile, process: ProcessId) -> bool {
    let Some(row) = profile.processes.get(process.index()) else {
        return false;
    };
    // Of recordings that were merged, each has an end of its own.
    let beside = profile
        .processes
        .iter()
        .filter(|other| other.origin == row.origin);
    let last = beside.filter_map(|other| other.ended).max();
    row.end == ProcessEnd::Unknown && row.ended.is_some() && row.ended == last
}

/// A run to its last instant.
fn whole(mut changes: Vec<(u64, f64)>, start: u64, end: u64) -> Run {
    changes.sort_by_key(|&(time, _)| time);
    let mut sum = 0.0;
    let most = changes.iter().fold(0.0_f64, |most, &(_, change)| {
        sum += change;
        most.max(sum)
    });
    Run {
        start,
        end: end.max(start),
        most,
    }
}

/// A run without the program's final frees: they begin when next to nothing was allocated any more,
/// and much freed, until the very end.
fn ran(mut changes: Vec<(u64, f64)>, start: u64, end: u64) -> Run {
    /// Programs end within the last part of this size,
    const LAST: f64 = 0.2;
    /// and free until the last part of this size.
    const VERY_LAST: f64 = 0.02;
    changes.sort_by_key(|&(time, _)| time);
    let (mut sum, mut most) = (0.0, 0.0_f64);
    for &(_, change) in &changes {
        sum += change;
        most = most.max(sum);
    }
    let part = |share: f64| end.saturating_sub((end.saturating_sub(start) as f64 * share) as u64);
    let (last, very_last) = (part(LAST), part(VERY_LAST));
    let (mut came, mut went, mut ended) = (0.0, 0.0, end);
    let mut to_the_end = false;
    for &(time, change) in changes.iter().rev().take_while(|&&(time, _)| time >= last) {
        came += change.max(0.0);
        went -= change.min(0.0);
        to_the_end |= change < 0.0 && time >= very_last;
        if to_the_end && came <= went * 0.02 && went >= most * 0.2 {
            ended = time.saturating_sub(1);
        }
    }
    Run {
        start,
        end: ended.max(start),
        most,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_given_back_at_the_end_was_there() {
        let grows: Vec<(u64, f64)> = (0..80).map(|time| (time, 10.0)).collect();
        let with = |last: &[(u64, f64)]| {
            let changes = [&grows[..], last].concat();
            ran(changes, 0, 100).end
        };
        // It frees everything, and is done.
        assert_eq!(with(&[(95, -400.0), (99, -400.0)]), 94);
        // It frees some, and computes on.
        assert_eq!(with(&[(85, -400.0)]), 100);
        // It frees some, and allocates others.
        assert_eq!(with(&[(95, -400.0), (99, 200.0)]), 100);
        // It frees a little.
        assert_eq!(with(&[(99, -20.0)]), 100);
    }
}
