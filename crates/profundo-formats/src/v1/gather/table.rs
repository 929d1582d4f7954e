//! Rows that samples of one stack and of one context are added to.
//!
//! Adding a sample to its row takes as long as fetching the row, so a row is half a cache line, and
//! its key determines its place. The rows of a batch of samples are fetched at the same time. Data
//! not needed for each sample is kept separately.

/// The number of samples whose rows are fetched at the same time.
const BATCH: usize = 64;

/// The sums of a row. Its key is 0 where there is none.
#[derive(Debug, Clone, Copy, Default)]
struct Cell {
    key: u64,
    weight: u64,
    squares: f64,
    samples: u32,
    /// The number of its further data.
    beside: u32,
}

/// The further data of a row.
#[derive(Debug, Clone, Copy, Default)]
struct Beside {
    first: First,
    merged: u64,
    /// The excess of the sum of the samples' counts over their number.
    more: u64,
}

/// The first sample of a row: its number in the file, its time and its cycle counter.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct First {
    pub(super) number: u64,
    pub(super) time: u64,
    pub(super) clock: u64,
}

/// The contribution of one sample to a row.
#[derive(Debug, Clone, Copy)]
pub(super) struct Worth {
    pub(super) weight: u64,
    pub(super) square: f64,
    pub(super) count: u64,
    pub(super) is_merged: bool,
}

/// A sample that waits for its row.
#[derive(Debug, Clone, Copy)]
struct Waiting {
    key: u64,
    worth: Worth,
    first: First,
}

/// A row: the numbers of its context and its stack, and its sums.
#[derive(Debug, Clone, Copy)]
pub(super) struct Whole {
    pub(super) context: u32,
    pub(super) stack: u32,
    pub(super) first: First,
    pub(super) weight: u64,
    pub(super) squares: f64,
    pub(super) samples: u64,
    pub(super) count: u64,
    pub(super) merged: u64,
}

/// Rows by their keys.
#[derive(Debug)]
pub(super) struct Table {
    cells: Vec<Cell>,
    /// In the order of the rows' first samples.
    beside: Vec<Beside>,
    waiting: Vec<Waiting>,
}

fn key_of(context: u32, stack: u32) -> u64 {
    (u64::from(context) + 1) << 32 | u64::from(stack)
}

impl Table {
    pub(super) fn new() -> Self {
        const FIRST: usize = 1 << 10;
        Self {
            cells: vec![Cell::default(); FIRST],
            beside: Vec::new(),
            waiting: Vec::with_capacity(BATCH),
        }
    }

    /// The first place where a row may be.
    #[inline]
    fn start(&self, key: u64) -> usize {
        let spread = key.wrapping_mul(0x9E37_79B9_7F4A_7C15);
        (spread ^ spread >> 32) as usize & (self.cells.len() - 1)
    }

    /// The place of a row, existing or new.
    #[inline]
    fn place(&self, key: u64) -> usize {
        let mask = self.cells.len() - 1;
        let mut place = self.start(key);
        // There are always empty cells.
        while self.cells[place].key != key && self.cells[place].key != 0 {
            place = (place + 1) & mask;
        }
        place
    }

    /// Adds a sample. `None` if that or one before it cannot be counted.
    #[inline]
    pub(super) fn add(
        &mut self,
        context: u32,
        stack: u32,
        worth: Worth,
        first: First,
    ) -> Option<()> {
        self.waiting.push(Waiting {
            key: key_of(context, stack),
            worth,
            first,
        });
        match self.waiting.len() < BATCH {
            true => Some(()),
            false => self.flush(),
        }
    }

    /// Adds the samples that wait for their rows. `None` if one of them cannot be counted.
    pub(super) fn flush(&mut self) -> Option<()> {
        // No fetch depends on another here, so the processor begins them all.
        let fetched = (self.waiting.iter()).map(|sample| self.cells[self.start(sample.key)].key);
        std::hint::black_box(fetched.fold(0, |all, key| all ^ key));
        let mut waiting = std::mem::take(&mut self.waiting);
        let added = waiting
            .drain(..)
            .try_for_each(|sample| self.add_now(sample));
        self.waiting = waiting;
        added
    }

    #[inline]
    fn add_now(&mut self, Waiting { key, worth, first }: Waiting) -> Option<()> {
        let mut place = self.place(key);
        if self.cells[place].key == 0 {
            place = self.insert(key, place, first);
        }
        let cell = &mut self.cells[place];
        cell.weight = cell.weight.saturating_add(worth.weight);
        cell.squares += worth.square;
        cell.samples = cell.samples.checked_add(1)?;
        if worth.count > 1 || worth.is_merged {
            let beside = &mut self.beside[cell.beside as usize];
            beside.more = beside.more.saturating_add(worth.count - 1);
            if worth.is_merged {
                beside.merged = beside.merged.saturating_add(worth.weight);
            }
        }
        Some(())
    }

    #[cold]
    fn insert(&mut self, key: u64, mut place: usize, first: First) -> usize {
        if self.beside.len() * 2 >= self.cells.len() {
            self.grow();
            place = self.place(key);
        }
        self.cells[place].key = key;
        // A table of more rows would not fit into the memory.
        self.cells[place].beside = self.beside.len() as u32;
        self.beside.push(Beside {
            first,
            ..Beside::default()
        });
        place
    }

    fn grow(&mut self) {
        let size = self.cells.len() * 2;
        let cells = std::mem::replace(&mut self.cells, vec![Cell::default(); size]);
        for cell in cells.into_iter().filter(|cell| cell.key != 0) {
            let place = self.place(cell.key);
            self.cells[place] = cell;
        }
    }

    /// The number of rows.
    pub(super) fn len(&self) -> usize {
        self.beside.len()
    }

    /// All rows, in no order. No sample may wait.
    pub(super) fn rows(self) -> impl Iterator<Item = Whole> {
        let used = self.cells.into_iter().filter(|cell| cell.key != 0);
        used.map(move |cell| {
            let beside = &self.beside[cell.beside as usize];
            Whole {
                context: (cell.key >> 32) as u32 - 1,
                stack: cell.key as u32,
                first: beside.first,
                weight: cell.weight,
                squares: cell.squares,
                samples: u64::from(cell.samples),
                count: u64::from(cell.samples).saturating_add(beside.more),
                merged: beside.merged,
            }
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_are_sums_however_many_there_are() {
        let mut table = Table::new();
        let rows = 5000;
        for number in 0..3 * rows {
            let worth = Worth {
                weight: 10 + number / rows,
                square: 1.5,
                count: 1 + number % 2,
                is_merged: number < rows,
            };
            let stack = number % rows;
            let first = First {
                number,
                ..First::default()
            };
            table.add(0, stack as u32, worth, first).unwrap();
        }
        table.flush().unwrap();
        let mut found: Vec<Whole> = table.rows().collect();
        found.sort_by_key(|row| row.stack);
        assert_eq!(found.len() as u64, rows);
        for (number, row) in (0..).zip(&found) {
            assert_eq!((row.context, u64::from(row.stack)), (0, number));
            assert_eq!((row.samples, row.weight, row.squares), (3, 33, 4.5));
            assert_eq!(row.count, 3 + 3 * (number % 2));
            assert_eq!((row.first.number, row.merged), (number, 10));
        }
    }
}
