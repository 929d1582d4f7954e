//! The rows of each stack of a selection.

/// The rows of each stack, by the stack's number.
#[derive(Debug, Default)]
pub(crate) struct Members {
    /// By stack, the range of its rows.
    ranges: Vec<(u32, u32)>,
    rows: Vec<u32>,
    /// The start of the present stack.
    start: usize,
}

impl Members {
    /// Prepares for so many stacks, which come in any order.
    pub(crate) fn of_many(&mut self, stacks: usize) {
        self.ranges.resize(stacks, (0, 0));
    }

    /// Sets the rows of a stack.
    pub(crate) fn set(&mut self, stack: u32, rows: &[u32]) {
        let start = number(self.rows.len());
        self.rows.extend_from_slice(rows);
        self.ranges[stack as usize] = (start, number(self.rows.len()));
    }

    /// Adds a row to the present stack. A stack names a row once.
    pub(crate) fn add(&mut self, row: usize) {
        self.rows.push(number(row));
    }

    /// Goes to the next stack.
    pub(crate) fn end_stack(&mut self) {
        self.ranges
            .push((number(self.start), number(self.rows.len())));
        self.start = self.rows.len();
    }

    /// Gives each row another number.
    pub(crate) fn renumber(&mut self, numbers: &[u32]) {
        for row in &mut self.rows {
            *row = numbers[*row as usize];
        }
    }

    /// The rows of each stack as other rows: those of their files, say.
    pub(crate) fn map(&self, of: impl Fn(u32) -> u32) -> Self {
        Self {
            ranges: self.ranges.clone(),
            rows: self.rows.iter().map(|&row| of(row)).collect(),
            start: self.start,
        }
    }

    /// The rows of a stack.
    pub(crate) fn of(&self, stack: usize) -> &[u32] {
        let (start, end) = self.ranges[stack];
        &self.rows[start as usize..end as usize]
    }
}

fn number(index: usize) -> u32 {
    u32::try_from(index).expect("fewer than 2^32 rows")
}
