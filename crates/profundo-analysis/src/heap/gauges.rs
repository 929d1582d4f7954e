//! The memory of each process over time: its peak with its time, the value at the end, the growth.

use profundo_model::{Gauge, Nanos, ProcessId, Profile, Sampling};

use super::Growth;
use super::uses::{Changes, Use, changes, is_forked, uses};
use crate::{Filter, Selection, admit};

/// The memory of one process.
#[derive(Debug, Clone, PartialEq)]
pub struct ProcessMemory<'a> {
    /// The process.
    pub process: ProcessId,
    /// Its readings, oldest first; at least one.
    pub readings: Vec<&'a Gauge>,
    /// The uses of the memory, at each reading.
    pub uses: Vec<Use>,
    /// True if the process has begun as a copy of another one: blocks are counted from then on.
    pub is_forked: bool,
    /// The peak of the resident bytes. The kernel's count includes the time between two readings.
    pub peak: u64,
    /// The time of the first reading that shows it.
    pub peak_at: Nanos,
    /// True if the peak was before the first reading, as with attached processes.
    pub peak_is_earlier: bool,
    /// The resident bytes at the first reading.
    pub start: u64,
    /// The resident bytes at the last reading.
    pub end: u64,
    /// The last proportional set size.
    pub proportional: Option<u64>,
    /// The largest proportional set size.
    pub most_proportional: Option<u64>,
    /// The most swapped bytes.
    pub most_swapped: u64,
    /// The growth, swapped bytes included.
    pub growth: Option<Growth>,
    /// Minor page faults between the first reading and the last.
    pub minor_faults: u64,
    /// Major page faults between the first reading and the last.
    pub major_faults: u64,
}

impl ProcessMemory<'_> {
    /// Whether its resident memory was read. Files of other tools may have only the blocks in use.
    pub fn knows_resident(&self) -> bool {
        self.peak > 0
    }
}

/// The memory of the processes of a selection, which `filter` made: the largest first. A process
/// without a reading is not among them.
pub fn gauges<'a>(
    profile: &'a Profile,
    selection: &Selection,
    filter: &Filter,
) -> Vec<ProcessMemory<'a>> {
    let gauged = Gauged::new(profile, selection, filter);
    let mut readings: Vec<Vec<&Gauge>> = vec![Vec::new(); profile.processes.len()];
    for gauge in &profile.heap.gauges {
        if gauged.passes(gauge) {
            readings[gauge.process.index()].push(gauge);
        }
    }
    let changes = changes(profile);
    let each = readings.into_iter().enumerate();
    let each = each.filter_map(|(index, readings)| {
        of(profile, &changes, ProcessId::from_index(index), readings)
    });
    let mut all: Vec<ProcessMemory> = each.collect();
    all.sort_by_key(|memory| (std::cmp::Reverse(memory.peak), memory.process));
    all
}

/// Which readings belong to a selection.
pub(crate) struct Gauged {
    /// By process.
    processes: Vec<bool>,
    from: Nanos,
    to: Nanos,
}

impl Gauged {
    /// The readings of the processes of a selection, which `filter` made.
    pub(crate) fn new(profile: &Profile, selection: &Selection, filter: &Filter) -> Self {
        Self {
            processes: passing(profile, selection, filter),
            from: filter.from.unwrap_or(Nanos(0)),
            to: filter.to.unwrap_or(Nanos(u64::MAX)),
        }
    }

    pub(crate) fn passes(&self, gauge: &Gauge) -> bool {
        self.processes.get(gauge.process.index()) == Some(&true)
            && (self.from..self.to).contains(&gauge.time)
    }
}

/// By process, whether its readings belong to a selection.
fn passing(profile: &Profile, selection: &Selection, filter: &Filter) -> Vec<bool> {
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
    passes
}

/// Writes what is estimated of the memory of each process into its readings, for a profile that
/// will have only some of the blocks behind the estimates.
pub(crate) fn keep_uses(profile: &mut Profile, selection: &Selection, filter: &Filter) {
    if matches!(profile.heap.sampling, Sampling::None | Sampling::All) {
        return;
    }
    let whole = Selection::new(profile, &Filter::default());
    let blocks = &profile.heap.blocks;
    let admitted = admit::Admitted::new(profile, filter);
    let passes = |block: &profundo_model::Block| {
        let profundo_model::Block {
            thread,
            task,
            time,
            stack,
            span,
            ..
        } = *block;
        admitted.event(thread, task, time, stack, span)
    };
    if selection.is_whole(profile) && blocks.iter().all(passes) {
        return;
    }
    let mut known: Vec<(ProcessId, Nanos, [Option<u64>; 2])> = Vec::new();
    for memory in gauges(profile, &whole, &Filter::default()) {
        for (reading, uses) in memory.readings.iter().zip(&memory.uses) {
            let bytes = [uses.in_use, uses.mapped].map(|figure| figure.map(|figure| figure.value));
            known.push((memory.process, reading.time, bytes));
        }
    }
    known.sort_unstable();
    for gauge in &mut profile.heap.gauges {
        let key = (gauge.process, gauge.time);
        if let Ok(at) = known.binary_search_by_key(&key, |&(process, time, _)| (process, time)) {
            [gauge.in_use, gauge.mapped] = known[at].2;
        }
    }
}

fn of<'a>(
    profile: &Profile,
    changes: &Changes<'_>,
    process: ProcessId,
    mut readings: Vec<&'a Gauge>,
) -> Option<ProcessMemory<'a>> {
    readings.sort_by_key(|reading| reading.time);
    let (&first, &last) = (readings.first()?, readings.last()?);
    let seen = readings
        .iter()
        .copied()
        .rev()
        .max_by_key(|reading| reading.resident)?;
    let by_kernel = readings.iter().map(|reading| reading.peak_resident).max()?;
    // A peak that no reading shows was between two readings, or before the first.
    let unseen = readings
        .iter()
        .find(|reading| reading.peak_resident == by_kernel);
    let (peak, peak_at) = match unseen.filter(|_| by_kernel > seen.resident) {
        Some(reading) => (by_kernel, reading.time),
        None => (seen.resident, seen.time),
    };
    let seconds = |reading: &Gauge| reading.time.0 as f64 / 1e9;
    let held = |reading: &Gauge| reading.resident as f64 + reading.swapped as f64;
    let points: Vec<(f64, f64)> = readings
        .iter()
        .map(|reading| (seconds(reading), held(reading)))
        .collect();
    let others = |reading: &Gauge| Some(reading.resident.saturating_sub(reading.proportional?));
    let others = readings.iter().rev().find_map(|reading| others(reading));
    let shares = || readings.iter().filter_map(|reading| reading.proportional);
    Some(ProcessMemory {
        process,
        peak,
        peak_at,
        peak_is_earlier: peak > seen.resident && peak == first.peak_resident,
        start: first.resident,
        end: last.resident,
        proportional: others.map(|others| last.resident.saturating_sub(others)),
        most_proportional: shares().max(),
        most_swapped: readings.iter().map(|reading| reading.swapped).max()?,
        growth: Growth::of(&points),
        minor_faults: last.minor_faults.saturating_sub(first.minor_faults),
        major_faults: last.major_faults.saturating_sub(first.major_faults),
        uses: uses(profile, changes, process, &readings),
        is_forked: is_forked(profile, process),
        readings,
    })
}

impl<'a> ProcessMemory<'a> {
    /// The largest resident bytes in each of `count` stretches of a span of time. A stretch without
    /// a reading continues the one before, but not before the first reading and not beyond the
    /// last. A kernel's peak between two readings belongs to the later one.
    pub fn stretches(&self, from: Nanos, to: Nanos, count: usize) -> Vec<Option<u64>> {
        let largest = self.largest(from, to, count, |reading| {
            Some(self.readings[reading].resident)
        });
        let each = largest.into_iter();
        let mut stretches: Vec<Option<u64>> = each
            .map(|reading| reading.map(|reading| self.readings[reading].resident))
            .collect();
        for pair in self.readings.windows(2) {
            let [before, reading] = *pair else { continue };
            if reading.peak_resident > before.peak_resident
                && (from..=to).contains(&reading.time)
                && let Some(most) = stretches.get_mut(stretch_of(reading.time, (from, to), count))
            {
                *most = (*most).max(Some(reading.peak_resident));
            }
        }
        stretches
    }

    /// For each stretch, the number of the reading with the largest value, in the same way.
    /// Readings without a value are skipped.
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
        for (number, reading) in self.readings.iter().enumerate() {
            if reading.time < from || reading.time > to || value(number).is_none() {
                continue;
            }
            let at = index(reading.time);
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

/// The stretch of a moment, of `count` in a span of time.
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

    fn reading(process: u32, tenths: u64, resident: u64, peak_resident: u64) -> Gauge {
        Gauge {
            process: ProcessId(process),
            time: Nanos(tenths * 100_000_000),
            resident,
            peak_resident,
            minor_faults: 10 * tenths,
            ..Gauge::default()
        }
    }

    fn profile(readings: &[Gauge]) -> Profile {
        let mut profile = Profile::default();
        for pid in [70, 71] {
            profile.processes.push(Process {
                pid,
                ..Process::default()
            });
        }
        profile.heap.gauges = readings.to_vec();
        profile
    }

    fn all<'a>(profile: &'a Profile, filter: &Filter) -> Vec<ProcessMemory<'a>> {
        gauges(profile, &Selection::new(profile, filter), filter)
    }

    #[test]
    fn a_peak_that_was_seen_has_its_moment() {
        let profile = profile(&[
            reading(0, 0, 10, 10),
            reading(0, 1, 50, 50),
            reading(0, 2, 50, 50),
            reading(0, 3, 20, 50),
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
    fn a_peak_between_two_readings_is_the_later_ones() {
        let between = profile(&[
            reading(0, 0, 10, 10),
            reading(0, 1, 30, 30),
            reading(0, 2, 20, 99),
            reading(0, 3, 20, 99),
        ]);
        let memory = &all(&between, &Filter::default())[0];
        assert_eq!((memory.peak, memory.peak_at), (99, Nanos(200_000_000)));
        assert!(!memory.peak_is_earlier);
        let earlier = profile(&[reading(0, 5, 10, 99), reading(0, 6, 30, 99)]);
        let memory = &all(&earlier, &Filter::default())[0];
        assert_eq!((memory.peak, memory.peak_is_earlier), (99, true));
    }

    #[test]
    fn what_it_shares_is_subtracted_from_the_end() {
        let shared = |tenths, resident, proportional| Gauge {
            proportional: Some(proportional),
            ..reading(0, tenths, resident, 99)
        };
        let readings = [shared(0, 50, 40), shared(1, 60, 48), reading(0, 2, 30, 99)];
        let profile = profile(&readings);
        let memory = &all(&profile, &Filter::default())[0];
        assert_eq!(
            (memory.proportional, memory.most_proportional),
            (Some(18), Some(48))
        );
    }

    #[test]
    fn filters_choose_processes_and_time() {
        let readings = [
            reading(0, 0, 10, 10),
            reading(1, 1, 50, 50),
            reading(0, 2, 60, 60),
            reading(1, 3, 20, 50),
        ];
        let profile = profile(&readings);
        let of = |filter: &Filter| -> Vec<(u32, u64)> {
            let found = all(&profile, filter);
            found.iter().map(|row| (row.process.0, row.peak)).collect()
        };
        assert_eq!(of(&Filter::default()), [(0, 60), (1, 50)]);
        assert_eq!(of(&Filter::default().process("71")), [(1, 50)]);
        assert_eq!(of(&Filter::default().to_seconds(0.15)), [(1, 50), (0, 10)]);
        assert_eq!(of(&Filter::default().thread("nobody")), []);
    }

    #[test]
    fn a_peak_that_was_not_seen_is_in_the_picture_too() {
        let readings = [
            reading(0, 0, 10, 10),
            reading(0, 2, 30, 30),
            reading(0, 8, 20, 99),
            reading(0, 9, 20, 99),
        ];
        let profile = profile(&readings);
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
    fn stretches_have_their_largest_reading() {
        let readings = [
            reading(0, 1, 10, 10),
            reading(0, 2, 90, 90),
            reading(0, 3, 20, 90),
            reading(0, 7, 30, 90),
        ];
        let profile = profile(&readings);
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
