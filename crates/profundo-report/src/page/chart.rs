//! Pictures of numbers over time, in characters: bars side by side, to an eighth of a row.

/// The steps of a bar, from the lowest to the highest.
const STEPS: [char; 8] = ['▁', '▂', '▃', '▄', '▅', '▆', '▇', '█'];

/// One row of bars, the highest of which is `top`. An unknown value is blank; a value of 0 has the
/// lowest bar.
pub(crate) fn sparkline(values: &[Option<u64>], top: u64) -> String {
    let bar = |value: &Option<u64>| match value {
        Some(value) => {
            let step = eighths(*value, top, 1).saturating_sub(1);
            STEPS[step.min(STEPS.len() - 1)]
        }
        None => ' ',
    };
    values.iter().map(bar).collect()
}

/// Bars that are this many rows high, the upper row first.
pub(crate) fn chart(values: &[Option<u64>], top: u64, rows: usize) -> Vec<String> {
    let row = |from_below: usize| -> String {
        let bar = |value: &Option<u64>| {
            let height = value.map_or(0, |value| eighths(value, top, rows).max(1));
            match height.saturating_sub(from_below * STEPS.len()) {
                0 => ' ',
                part => STEPS[part.min(STEPS.len()) - 1],
            }
        };
        let text: String = values.iter().map(bar).collect();
        text.trim_end().to_owned()
    };
    (0..rows).rev().map(row).collect()
}

/// The height of a bar, in eighths of a row.
fn eighths(value: u64, top: u64, rows: usize) -> usize {
    let share = value as f64 / top.max(1) as f64;
    (share.min(1.0) * (rows * STEPS.len()) as f64).round() as usize
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_sparkline_is_as_high_as_its_numbers() {
        let values = [None, Some(0), Some(1), Some(4), Some(8), Some(7), None];
        assert_eq!(sparkline(&values, 8), " ▁▁▄█▇ ");
        assert_eq!(sparkline(&[Some(3)], 0), "█");
        assert_eq!(sparkline(&[], 7), "");
    }

    #[test]
    fn a_chart_has_its_highest_bar_up_to_the_top() {
        let values = [Some(0), Some(12), None, Some(16), Some(9)];
        assert_eq!(chart(&values, 16, 2), [" ▄ █▁", "▁█ ██"]);
    }
}
