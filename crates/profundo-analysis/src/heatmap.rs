//! Time against the offset within each second or minute: what recurs in step with the clock is a
//! pattern, and a pause is a gap.
//!
//! The recording is cut into columns, and each column into rows of equal length. A sample stands
//! for the time before it, so its weight is spread over the cells of that time.

use profundo_model::{FileId, Kind, Kinds, Profile, Sample, StackId, StringId};
use rustc_hash::FxHashMap;

use crate::waits::idle_threads;
use crate::{Filter, Place, Selection, Shown, each_innermost_place};

/// The wanted sizes, in nanoseconds. `None`: such that some hundred columns or fewer show all.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Grid {
    /// The time of a column.
    pub column: Option<u64>,
    /// The time of a row.
    pub row: Option<u64>,
}

/// The cells, see the module.
#[derive(Debug, Clone, PartialEq)]
pub struct Heatmap {
    /// The start of the first column, in nanoseconds since the start of the recording. Columns
    /// begin at multiples of their length.
    pub start: u64,
    /// The time of a column.
    pub column: u64,
    /// The time of a row. The last row of a column may be shorter.
    pub row: u64,
    /// The number of columns.
    pub columns: usize,
    /// The number of rows of each column.
    pub rows: usize,
    /// The cells, column by column.
    pub cells: Vec<Cell>,
    /// The times between which there are samples.
    pub covered: (u64, u64),
    /// The time that was counted and has no sample, so no place in time.
    pub uncovered: u64,
    /// The threads that only waited for work, whose waits are in no cell.
    pub idle: Option<Idle>,
}

/// Threads that only waited for work.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Idle {
    /// Their number.
    pub threads: usize,
    /// The time that they waited.
    pub waiting: u64,
}

/// A cell.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct Cell {
    /// The time on a CPU, of all threads.
    pub busy: u64,
    /// The time that threads waited, where that was sampled. Threads that only waited for work are
    /// not in it.
    pub waiting: u64,
    /// The number of samples that end in it.
    pub samples: u64,
    /// The place with the most time on a CPU, or in waits where there is none, and that time.
    pub hottest: Option<(Place, u64)>,
}

/// A stretch of time without any on a CPU.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Pause {
    /// Its start, since the start of the recording.
    pub from: u64,
    /// Its length: a number of rows.
    pub time: u64,
}

/// The least cells of a recording are not more than these.
const MOST_CELLS: u64 = 40_000;

impl Grid {
    /// The sizes for so much time, and whether they were changed to limit the number of cells.
    fn sizes(self, time: u64) -> (u64, u64) {
        const SECOND: u64 = 1_000_000_000;
        let usual = match time / SECOND {
            ..=1 => SECOND / 10,
            2..=240 => SECOND,
            241..=2_400 => 10 * SECOND,
            2_401..=14_400 => 60 * SECOND,
            _ => 3_600 * SECOND,
        };
        let column = self.column.unwrap_or(usual).max(1);
        let columns = time / column + 2;
        let rows = match column / SECOND {
            // Rows of a second and of a minute.
            60 | 3_600 => 60,
            _ => 50,
        };
        let row = self.row.unwrap_or_else(|| column.div_ceil(rows));
        let least = column.div_ceil((MOST_CELLS / columns).max(1));
        (column, row.clamp(least.min(column), column).max(1))
    }
}

/// The heatmap of all samples of the profile. `None`: no sample has a place in time.
///
/// Threads of a pool that only wait for work would hide all waits that matter, so their waits are
/// left out and added up beside.
pub fn heatmap(profile: &Profile, grid: Grid, shown: impl Into<Shown>) -> Option<Heatmap> {
    let all = Selection::new(profile, &Filter::default());
    heatmap_of(profile, &all, grid, shown)
}

/// The heatmap of a selection. The same threads are idle as in the whole profile.
pub fn heatmap_of(
    profile: &Profile,
    selection: &Selection,
    grid: Grid,
    shown: impl Into<Shown>,
) -> Option<Heatmap> {
    let all = selection.samples(profile).map(|sample| sample.weight.0);
    let all = all.fold(0, u64::saturating_add);
    let mut timed: Vec<Sample> = Vec::with_capacity(selection.len());
    selection.each_taken(profile, |sample| {
        if !profile.is_counted(sample.stack) {
            timed.push(*sample);
        }
    });
    let placed = timed.iter().map(|sample| sample.weight.0);
    let uncovered = all.saturating_sub(placed.fold(0, u64::saturating_add));
    let from = timed
        .iter()
        .map(|sample| sample.time.0.saturating_sub(sample.weight.0));
    let (from, to) = (from.min()?, timed.iter().map(|sample| sample.time.0).max()?);
    let (column, row) = grid.sizes(to - from);
    let start = from / column * column;
    let columns = usize::try_from((to - start) / column + 1).ok()?;
    let rows = usize::try_from(column.div_ceil(row)).ok()?;
    if columns.checked_mul(rows)? as u64 > 4 * MOST_CELLS {
        return None;
    }
    let mut map = Heatmap {
        start,
        column,
        row,
        columns,
        rows,
        cells: vec![Cell::default(); columns * rows],
        covered: (from, to),
        uncovered,
        idle: None,
    };
    let shown = shown.into();
    let places = Places::new(profile, timed.iter().map(|sample| sample.stack), shown);
    let idle = idle_threads(profile, selection.whole(profile), shown);
    let kinds = Kinds::of(profile);
    // By cell, function, and whether it waited.
    let mut by_function: FxHashMap<(u32, u32, bool), u64> = FxHashMap::default();
    for sample in timed {
        let is_waiting = kinds.kind(&sample) == Kind::Waiting;
        if is_waiting && idle.contains(&sample.thread) {
            let sum = map.idle.get_or_insert_default();
            (sum.threads, sum.waiting) = (idle.len(), sum.waiting.saturating_add(sample.weight.0));
            continue;
        }
        let (to, weight) = (sample.time.0, sample.weight.0);
        let function = places.of(sample.stack);
        let last = map.cell_at(to);
        map.cells[last].samples += 1;
        map.spread(
            to.saturating_sub(weight),
            to,
            weight,
            |cell, index, part| {
                let sum = match is_waiting {
                    true => &mut cell.waiting,
                    false => &mut cell.busy,
                };
                *sum = sum.saturating_add(part);
                if let Some(function) = function {
                    let sum = by_function.entry((index as u32, function, is_waiting));
                    let sum = sum.or_default();
                    *sum = sum.saturating_add(part);
                }
            },
        );
    }
    let mut order: Vec<_> = by_function.into_iter().collect();
    order.sort_unstable();
    for ((index, function, is_waiting), time) in order {
        let cell = &mut map.cells[index as usize];
        let is_worse = cell.hottest.is_some_and(|(_, most)| most >= time);
        if !is_worse && is_waiting == (cell.busy == 0) {
            cell.hottest = Some((places.places[function as usize], time));
        }
    }
    Some(map)
}

impl Heatmap {
    /// The start and the end of a cell.
    pub fn times(&self, cell: usize) -> (u64, u64) {
        let (column, row) = (cell / self.rows, cell % self.rows);
        let start = self.start.saturating_add(column as u64 * self.column);
        let from = start.saturating_add(row as u64 * self.row);
        (
            from,
            from.saturating_add(self.row)
                .min(start.saturating_add(self.column)),
        )
    }

    /// The longest pauses: stretches without time on a CPU between the first and the last sample,
    /// the longest first, at least two rows long.
    pub fn pauses(&self) -> Vec<Pause> {
        let mut pauses = Vec::new();
        let mut open: Option<(u64, u64, usize)> = None;
        for (index, cell) in self.cells.iter().enumerate() {
            let (from, to) = self.times(index);
            let is_inside = from >= self.covered.0 && to <= self.covered.1;
            if is_inside && cell.busy == 0 {
                let (start, _, rows) = open.unwrap_or((from, to, 0));
                open = Some((start, to, rows + 1));
                continue;
            }
            pauses.extend(open.take());
        }
        pauses.extend(open);
        let long = pauses.into_iter().filter(|&(_, _, rows)| rows > 1);
        let mut pauses: Vec<Pause> = long
            .map(|(from, to, _)| Pause {
                from,
                time: to - from,
            })
            .collect();
        pauses.sort_by_key(|pause| (std::cmp::Reverse(pause.time), pause.from));
        pauses
    }

    fn cell_at(&self, time: u64) -> usize {
        let time = time - self.start;
        let (column, within) = (time / self.column, time % self.column);
        column as usize * self.rows + (within / self.row) as usize
    }

    /// Calls `add` with each cell between two times, and its part of the weight.
    fn spread(
        &mut self,
        from: u64,
        to: u64,
        weight: u64,
        mut add: impl FnMut(&mut Cell, usize, u64),
    ) {
        let (mut index, mut at, mut left) = (self.cell_at(from), from, weight);
        while at < to {
            let end = self.times(index).1.min(to);
            let share = (end - at) as f64 / (to - from) as f64;
            let part = match end == to {
                true => left,
                false => ((weight as f64 * share).round() as u64).min(left),
            };
            left -= part;
            add(&mut self.cells[index], index, part);
            (at, index) = (end, index + 1);
        }
    }
}

/// The innermost shown functions of stacks.
struct Places {
    places: Vec<Place>,
    of_stack: FxHashMap<StackId, Option<u32>>,
}

impl Places {
    fn new(profile: &Profile, stacks: impl Iterator<Item = StackId>, shown: Shown) -> Self {
        let mut stacks: Vec<StackId> = stacks.collect();
        stacks.sort_unstable();
        stacks.dedup();
        let mut places = Vec::new();
        let mut rows: FxHashMap<(StringId, FileId, u32), u32> = FxHashMap::default();
        let mut of_stack = FxHashMap::default();
        each_innermost_place(profile, stacks, shown, |stack, innermost| {
            let row = innermost.map(|(place, _)| {
                let key = match place {
                    Place::Frame(frame) => {
                        let frame = profile.frames.get(frame);
                        (frame.function, frame.file, 0)
                    }
                    other => (StringId(0), FileId(0), other.key()),
                };
                *rows.entry(key).or_insert_with(|| {
                    places.push(place);
                    places.len() as u32 - 1
                })
            });
            of_stack.insert(stack, row);
        });
        Self { places, of_stack }
    }

    fn of(&self, stack: StackId) -> Option<u32> {
        self.of_stack.get(&stack).copied().flatten()
    }
}

#[cfg(test)]
mod tests {
    use profundo_model::{Nanos, Process, SampleKind, State, Thread};

    use super::*;

    const MS: u64 = 1_000_000;

    /// Samples at these milliseconds, each of so many milliseconds, in turn of two functions.
    fn profile(samples: &[(u64, u64)]) -> Profile {
        let text: String = (0..samples.len())
            .map(|index| format!("main;f{} 1\n", index % 2))
            .collect();
        let mut profile = Profile::from_folded(&text).unwrap();
        for (sample, &(time, weight)) in profile.samples.iter_mut().zip(samples) {
            (sample.time, sample.weight) = (Nanos(time * MS), Nanos(weight * MS));
        }
        profile
    }

    fn map(samples: &[(u64, u64)], grid: Grid) -> Heatmap {
        heatmap(&profile(samples), grid, Shown::ALL).unwrap()
    }

    fn grid(column: u64, row: u64) -> Grid {
        Grid {
            column: Some(column * MS),
            row: Some(row * MS),
        }
    }

    #[test]
    fn a_weight_is_spread_over_its_time() {
        let map = map(&[(10, 10), (130, 30), (1050, 20)], grid(1000, 100));
        assert_eq!((map.start, map.columns, map.rows), (0, 2, 10));
        let busy = |cell: usize| map.cells[cell].busy / MS;
        // 100 to 130 is in one cell; 1030 to 1050 in the first of the second column.
        assert_eq!((busy(0), busy(1), busy(10)), (10, 30, 20));
        let sum: u64 = map.cells.iter().map(|cell| cell.busy).sum();
        assert_eq!(sum, 60 * MS);
        assert_eq!(map.times(11), (1100 * MS, 1200 * MS));
    }

    #[test]
    fn a_long_sample_crosses_cells_and_loses_nothing() {
        let map = map(&[(1150, 300)], grid(1000, 100));
        let busy: Vec<u64> = (8..12).map(|cell| map.cells[cell].busy / MS).collect();
        // From 850 on: half of a cell, one, one, half of one.
        assert_eq!(busy, [50, 100, 100, 50]);
        assert_eq!(
            map.cells.iter().map(|cell| cell.busy).sum::<u64>(),
            300 * MS
        );
        assert_eq!(map.cells[11].samples, 1);
    }

    #[test]
    fn the_hottest_function_of_a_cell_has_the_most_of_it() {
        // f0 has 30 ms in the first cell, and f1 has 60 ms; later f0 is alone.
        let profile = profile(&[(30, 30), (90, 60), (250, 20)]);
        let map = heatmap(&profile, grid(1000, 100), Shown::ALL).unwrap();
        let name = |cell: usize| match map.cells[cell].hottest {
            Some((Place::Frame(frame), time)) => (profile.function_name(frame), time / MS),
            other => panic!("{other:?}"),
        };
        assert_eq!(name(0), ("f1", 60));
        assert_eq!(name(2), ("f0", 20));
        assert_eq!(map.cells[1].hottest, None);
    }

    #[test]
    fn pauses_are_between_samples() {
        let map = map(&[(100, 100), (900, 100), (1600, 100)], grid(1000, 100));
        let pauses: Vec<_> = (map.pauses().iter())
            .map(|pause| (pause.from / MS, pause.time / MS))
            .collect();
        assert_eq!(pauses, [(100, 700), (900, 600)]);
    }

    #[test]
    fn idle_threads_of_a_pool_are_left_out() {
        // The main thread works; two others wait at one place, and a third one at another.
        let mut profile = profile(&[(100, 100), (500, 400), (500, 400), (300, 200)]);
        profile.meta.kind = SampleKind::Wall;
        profile.processes.push(Process {
            pid: 100,
            ..Process::default()
        });
        let pool = profile.samples[1].stack;
        for (row, tid) in [(1, 101), (2, 102), (3, 103)] {
            let thread = profile.threads.push(Thread {
                number: u64::from(tid),
                tid,
                ..Thread::default()
            });
            let stack = if row < 3 {
                pool
            } else {
                profile.samples[0].stack
            };
            let sample = &mut profile.samples[row];
            (sample.thread, sample.state, sample.stack) = (thread, State::WallWaiting, stack);
        }
        let map = heatmap(&profile, grid(1000, 100), Shown::ALL).unwrap();
        let expected = Idle {
            threads: 2,
            waiting: 800 * MS,
        };
        assert_eq!(map.idle, Some(expected));
        let waiting: Vec<u64> = (0..4).map(|cell| map.cells[cell].waiting / MS).collect();
        assert_eq!(waiting, [0, 100, 100, 0]);
        assert_eq!(map.cells[0].busy, 100 * MS);
    }

    #[test]
    fn sizes_suit_the_time_and_are_bounded() {
        const S: u64 = 1_000_000_000;
        let sizes = |time| Grid::default().sizes(time);
        assert_eq!(sizes(S), (S / 10, S / 500));
        assert_eq!(sizes(60 * S), (S, S / 50));
        assert_eq!(sizes(600 * S), (10 * S, S / 5));
        assert_eq!(sizes(7_200 * S), (60 * S, S));
        let (column, row) = grid(1, 1).sizes(3_600 * S);
        assert_eq!((column, row), (MS, MS));
        // A nanosecond for each row would be 10^9 rows.
        let tiny = Grid {
            column: None,
            row: Some(1),
        };
        let (column, row) = tiny.sizes(60 * S);
        assert!(column / row * 62 <= MOST_CELLS, "{column} {row}");
    }

    #[test]
    fn nothing_has_no_map() {
        assert_eq!(
            heatmap(&Profile::default(), Grid::default(), Shown::ALL),
            None
        );
        // An hour of columns of a millisecond cannot be drawn.
        let long = profile(&[(1, 1), (3_600_000, 1)]);
        assert_eq!(heatmap(&long, grid(1, 1), Shown::ALL), None);
    }
}
