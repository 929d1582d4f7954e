//! What each process had of the machine's memory over time: its peak and when that was, what it had at the end,
//! how fast it grew.

use profundo_model::{Gauge, Nanos, ProcessId, Profile};

use super::Growth;
use super::uses::{Changes, Use, changes, is_forked, uses};
use crate::{Filter, Selection, admit};

/// The memory of one process.
#[derive(Debug, Clone, PartialEq)]
pub struct ProcessMemory<'a> {
    /// Whose.
    pub process: ProcessId,
    /// The looks at it, oldest first; at least one.
    pub looks: Vec<&'a Gauge>,
    /// What it was used for, at each look.
    pub uses: Vec<Use>,
    /// Whether it has begun as a copy of another process: what is in blocks is counted from then on.
    pub is_forked: bool,
    /// The most bytes that it had in memory. What was there between two looks counts, by the kernel's word.
    pub peak: u64,
    /// When that was: at the first look that shows it.
    pub peak_at: Nanos,
    /// Whether it was before the first look, as with processes that ran already.
    pub peak_is_earlier: bool,
    /// What it had at the first look.
    pub start: u64,
    /// The same at the last.
    pub end: u64,
    /// The same, each byte that is shared by its part, as much as that was when it was looked at last.
    pub proportional: Option<u64>,
    /// The most of those.
    pub most_proportional: Option<u64>,
    /// The most bytes that were moved out of memory.
    pub most_swapped: u64,
    /// How fast it grows, what was moved out of memory included.
    pub growth: Option<Growth>,
    /// Page faults between the first look and the last, that were served from memory.
    pub minor_faults: u64,
    /// Those that had to read.
    pub major_faults: u64,
}

/// The memory of the processes of a selection, which `filter` made: the largest first. A process that was not
/// looked at has none.
pub fn gauges<'a>(
    profile: &'a Profile,
    selection: &Selection,
    filter: &Filter,
) -> Vec<ProcessMemory<'a>> {
    let mut passes = admit::processes(profile, filter);
    if !filter.threads.is_all() || !filter.named_threads.is_empty() {
        let mut has_threads = vec![false; passes.len()];
        for &thread in selection.threads() {
            let process = profile.threads.get(thread).process;
            if let Some(has) = has_threads.get_mut(process.index()) {
                *has = true;
            }
        }
        passes
            .iter_mut()
            .zip(has_threads)
            .for_each(|(passes, has)| *passes &= has);
    }
    let from = filter.from.unwrap_or(Nanos(0));
    let to = filter.to.unwrap_or(Nanos(u64::MAX));
    let mut looks: Vec<Vec<&Gauge>> = vec![Vec::new(); passes.len()];
    for gauge in &profile.heap.gauges {
        let index = gauge.process.index();
        if passes.get(index) == Some(&true) && (from..to).contains(&gauge.time) {
            looks[index].push(gauge);
        }
    }
    let changes = changes(profile);
    let each = looks.into_iter().enumerate();
    let each = each
        .filter_map(|(index, looks)| of(profile, &changes, ProcessId::from_index(index), looks));
    let mut all: Vec<ProcessMemory> = each.collect();
    all.sort_by_key(|memory| (std::cmp::Reverse(memory.peak), memory.process));
    all
}

fn of<'a>(
    profile: &Profile,
    changes: &Changes<'_>,
    process: ProcessId,
    mut looks: Vec<&'a Gauge>,
) -> Option<ProcessMemory<'a>> {
    looks.sort_by_key(|look| look.time);
    let (&first, &last) = (looks.first()?, looks.last()?);
    let seen = looks
        .iter()
        .copied()
        .rev()
        .max_by_key(|look| look.resident)?;
    let by_kernel = looks.iter().map(|look| look.peak_resident).max()?;
    // What the kernel knows of that was not seen was between two looks, or before the first.
    let unseen = looks.iter().find(|look| look.peak_resident == by_kernel);
    let (peak, peak_at) = match unseen.filter(|_| by_kernel > seen.resident) {
        Some(look) => (by_kernel, look.time),
        None => (seen.resident, seen.time),
    };
    let seconds = |look: &Gauge| look.time.0 as f64 / 1e9;
    let held = |look: &Gauge| look.resident as f64 + look.swapped as f64;
    let points: Vec<(f64, f64)> = looks
        .iter()
        .map(|look| (seconds(look), held(look)))
        .collect();
    let others = |look: &Gauge| Some(look.resident.saturating_sub(look.proportional?));
    let others = looks.iter().rev().find_map(|look| others(look));
    let shares = || looks.iter().filter_map(|look| look.proportional);
    Some(ProcessMemory {
        process,
        peak,
        peak_at,
        peak_is_earlier: peak > seen.resident && peak == first.peak_resident,
        start: first.resident,
        end: last.resident,
        proportional: others.map(|others| last.resident.saturating_sub(others)),
        most_proportional: shares().max(),
        most_swapped: looks.iter().map(|look| look.swapped).max()?,
        growth: Growth::of(&points),
        minor_faults: last.minor_faults.saturating_sub(first.minor_faults),
        major_faults: last.major_faults.saturating_sub(first.major_faults),
        uses: uses(profile, changes, process, &looks),
        is_forked: is_forked(profile, process),
        looks,
    })
}

impl<'a> ProcessMemory<'a> {
    /// The most bytes in memory in each of so many stretches of a span of time. In a stretch without a look it goes on
    /// as it was, but not before the first look and not beyond the last. What the kernel has counted between two looks
    /// belongs to the later one.
    pub fn stretches(&self, from: Nanos, to: Nanos, count: usize) -> Vec<Option<u64>> {
        let largest = self.largest(from, to, count, |look| Some(self.looks[look].resident));
        let each = largest.into_iter();
        let mut stretches: Vec<Option<u64>> = each
            .map(|look| look.map(|look| self.looks[look].resident))
            .collect();
        for pair in self.looks.windows(2) {
            let [before, look] = *pair else { continue };
            if look.peak_resident > before.peak_resident
                && (from..=to).contains(&look.time)
                && let Some(most) = stretches.get_mut(stretch_of(look.time, (from, to), count))
            {
                *most = (*most).max(Some(look.peak_resident));
            }
        }
        stretches
    }

    /// Of each stretch the number of the look at which something was largest, in the same way. Looks at which it is not
    /// known are passed over.
    pub fn largest(
        &self,
        from: Nanos,
        to: Nanos,
        count: usize,
        value: impl Fn(usize) -> Option<u64>,
    ) -> Vec<Option<usize>> {
        let index = |time: Nanos| stretch_of(time, (from, to), count);
        let mut stretches: Vec<Option<usize>> = vec![None; count];
        if count == 0 {
            return stretches;
        }
        let mut before: Option<(usize, usize)> = None;
        for (number, look) in self.looks.iter().enumerate() {
            if look.time < from || look.time > to || value(number).is_none() {
                continue;
            }
            let at = index(look.time);
            if let Some((last_at, last)) = before {
                stretches[last_at + 1..at.max(last_at + 1)].fill(Some(last));
            }
            let place = &mut stretches[at];
            if place.is_none_or(|other| value(number) > value(other)) {
                *place = Some(number);
            }
            before = Some((at, number));
        }
        stretches
    }
}

/// In which of so many stretches of a span a moment lies.
fn stretch_of(time: Nanos, (from, to): (Nanos, Nanos), count: usize) -> usize {
    let span = to.0.saturating_sub(from.0).max(1);
    let since = u128::from(time.0.saturating_sub(from.0));
    let index = since * count as u128 / u128::from(span);
    (index as usize).min(count.saturating_sub(1))
}

#[cfg(test)]
mod tests {
    use super::*;
    use profundo_model::Process;

    fn look(process: u32, tenths: u64, resident: u64, peak_resident: u64) -> Gauge {
        Gauge {
            process: ProcessId(process),
            time: Nanos(tenths * 100_000_000),
            resident,
            peak_resident,
            minor_faults: 10 * tenths,
            ..Gauge::default()
        }
    }

    fn profile(looks: &[Gauge]) -> Profile {
        let mut profile = Profile::default();
        for pid in [70, 71] {
            profile.processes.push(Process {
                pid,
                ..Process::default()
            });
        }
        profile.heap.gauges = looks.to_vec();
        profile
    }

    fn all<'a>(profile: &'a Profile, filter: &Filter) -> Vec<ProcessMemory<'a>> {
        gauges(profile, &Selection::new(profile, filter), filter)
    }

    #[test]
    fn a_peak_that_was_seen_has_its_moment() {
        let profile = profile(&[
            look(0, 0, 10, 10),
            look(0, 1, 50, 50),
            look(0, 2, 50, 50),
            look(0, 3, 20, 50),
        ]);
        let found = all(&profile, &Filter::default());
        let [memory] = &found[..] else {
            panic!("{found:?}")
        };
        assert_eq!((memory.peak, memory.peak_at), (50, Nanos(100_000_000)));
        assert_eq!((memory.start, memory.end), (10, 20));
        assert_eq!(memory.minor_faults, 30);
        assert!(!memory.peak_is_earlier && memory.growth.is_none());
    }

    #[test]
    fn a_peak_between_two_looks_is_the_later_ones() {
        let between = profile(&[
            look(0, 0, 10, 10),
            look(0, 1, 30, 30),
            look(0, 2, 20, 99),
            look(0, 3, 20, 99),
        ]);
        let memory = &all(&between, &Filter::default())[0];
        assert_eq!((memory.peak, memory.peak_at), (99, Nanos(200_000_000)));
        assert!(!memory.peak_is_earlier);
        let earlier = profile(&[look(0, 5, 10, 99), look(0, 6, 30, 99)]);
        let memory = &all(&earlier, &Filter::default())[0];
        assert_eq!((memory.peak, memory.peak_is_earlier), (99, true));
    }

    #[test]
    fn what_it_shares_is_subtracted_from_the_end() {
        let shared = |tenths, resident, proportional| Gauge {
            proportional: Some(proportional),
            ..look(0, tenths, resident, 99)
        };
        let looks = [shared(0, 50, 40), shared(1, 60, 48), look(0, 2, 30, 99)];
        let profile = profile(&looks);
        let memory = &all(&profile, &Filter::default())[0];
        assert_eq!(
            (memory.proportional, memory.most_proportional),
            (Some(18), Some(48))
        );
    }

    #[test]
    fn filters_choose_processes_and_time() {
        let looks = [
            look(0, 0, 10, 10),
            look(1, 1, 50, 50),
            look(0, 2, 60, 60),
            look(1, 3, 20, 50),
        ];
        let profile = profile(&looks);
        let of = |filter: &Filter| -> Vec<(u32, u64)> {
            let found = all(&profile, filter);
            found.iter().map(|it| (it.process.0, it.peak)).collect()
        };
        assert_eq!(of(&Filter::default()), [(0, 60), (1, 50)]);
        assert_eq!(of(&Filter::default().process("71")), [(1, 50)]);
        assert_eq!(of(&Filter::default().to_seconds(0.15)), [(1, 50), (0, 10)]);
        assert_eq!(of(&Filter::default().thread("nobody")), []);
    }

    #[test]
    fn a_peak_that_was_not_seen_is_in_the_picture_too() {
        let looks = [
            look(0, 0, 10, 10),
            look(0, 2, 30, 30),
            look(0, 8, 20, 99),
            look(0, 9, 20, 99),
        ];
        let profile = profile(&looks);
        let memory = &all(&profile, &Filter::default())[0];
        let (from, to) = (Nanos(0), Nanos(1_000_000_000));
        assert_eq!(
            memory.stretches(from, to, 5),
            [Some(10), Some(30), Some(30), Some(30), Some(99)]
        );
        assert_eq!(
            memory.stretches(from, to, 5).into_iter().max(),
            Some(Some(memory.peak))
        );
    }

    #[test]
    fn stretches_have_their_largest_look() {
        let looks = [
            look(0, 1, 10, 10),
            look(0, 2, 90, 90),
            look(0, 3, 20, 90),
            look(0, 7, 30, 90),
        ];
        let profile = profile(&looks);
        let memory = &all(&profile, &Filter::default())[0];
        let stretches = |from: u64, to: u64, count| -> Vec<Option<u64>> {
            let tenths = |number: u64| Nanos(number * 100_000_000);
            memory.stretches(tenths(from), tenths(to), count)
        };
        assert_eq!(
            stretches(0, 10, 5),
            [Some(10), Some(90), Some(20), Some(30), None]
        );
        let fine = stretches(0, 10, 10);
        assert_eq!(fine[..4], [None, Some(10), Some(90), Some(20)]);
        assert_eq!(
            fine[4..],
            [Some(20), Some(20), Some(20), Some(30), None, None]
        );
        assert_eq!(stretches(0, 10, 1), [Some(90)]);
        assert_eq!(stretches(0, 0, 3), [None, None, None]);
        assert_eq!(stretches(0, 10, 0), []);
    }
}
