//! The values of a column in some rows: one for each row, or one for all.

/// Values by row.
#[derive(Debug, Clone)]
pub enum Column<T> {
    /// All rows have this value.
    Same(T),
    /// A value for each row.
    Each(Vec<T>),
}

impl<T: Copy + Default + PartialEq> Column<T> {
    /// The value of a row.
    pub fn get(&self, row: usize) -> T {
        match self {
            Self::Same(value) => *value,
            Self::Each(values) => values.get(row).copied().unwrap_or_default(),
        }
    }

    /// The first run of rows with this value among `rows` rows, and whether it is the only one.
    pub fn run_of(&self, value: T, rows: usize) -> (std::ops::Range<usize>, bool) {
        match self {
            Self::Same(same) => match *same == value {
                true => (0..rows, true),
                false => (0..0, true),
            },
            Self::Each(values) => {
                let is = |other: &T| *other == value;
                let Some(first) = values.iter().position(is) else {
                    return (0..0, true);
                };
                let length = values[first..].iter().take_while(|other| is(other)).count();
                let end = first + length;
                (first..end, !values[end..].iter().any(is))
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_run_is_found_and_a_second_one_is_noticed() {
        let column = Column::Each(vec![1, 2, 2, 3, 2]);
        assert_eq!(column.run_of(2, 5), (1..3, false));
        assert_eq!(column.run_of(3, 5), (3..4, true));
        assert_eq!(column.run_of(9, 5), (0..0, true));
        assert_eq!(Column::Same(4).run_of(4, 5), (0..5, true));
        assert_eq!(Column::Same(4).run_of(1, 5), (0..0, true));
    }
}
