//! A value that is read now and then, by column: the largest of those read in the column, or else
//! the one before.

use super::Window;

/// By column, the largest value of the readings in it. A column without a reading continues the
/// reading before it, but not beyond the last one.
pub fn levels(
    window: Window,
    readings: impl IntoIterator<Item = (u64, Option<u64>)>,
) -> Vec<Option<u64>> {
    let mut columns = vec![None; window.columns];
    // The value that goes on, and the first column that does not have it yet.
    let (mut before, mut next): (Option<u64>, usize) = (None, 0);
    for (time, value) in readings {
        let Some(value) = value else { continue };
        if time < window.from {
            before = Some(value);
            continue;
        }
        let column = window.column(time).min(window.columns);
        if before.is_some() && next < column {
            columns[next..column].fill(before);
        }
        if column == window.columns {
            return columns;
        }
        columns[column] = columns[column].max(Some(value));
        (before, next) = (Some(value), next.max(column + 1));
    }
    columns
}
