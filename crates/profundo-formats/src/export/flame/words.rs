//! Amounts, shares and names in words. The script has the same rules (`script/words.js`).

use std::fmt::Write as _;

use profundo_analysis::Estimate;
use profundo_model::{Measure, Part};

use super::super::measured;
use super::super::text::{cells, cut, percent, shortened, time};
use super::picture::{Node, Picture};

/// Longer names are cut in the middle.
const LONGEST_NAME: usize = 400;

/// The meaning of the numbers of a picture.
#[derive(Debug, Clone)]
pub(super) struct Amounts {
    pub unit: Unit,
    /// The sum of all weights and of all counts.
    pub total: u64,
    pub count: u64,
    /// Whether the counts are calls, and not samples.
    pub is_traced: bool,
    /// The number of samples of equal weight with the same information; `None`: no lottery.
    pub samples: Option<f64>,
    /// Whether there are too few samples for shares.
    pub is_few: bool,
}

/// The unit of weights.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Unit {
    /// Nanoseconds.
    Time,
    Bytes,
    Blocks,
    /// Copies.
    Times,
    /// The weights are the counts.
    Counts,
    /// A number of things that the caller names.
    Things,
}

impl Unit {
    pub(super) fn of_measure(measure: Measure) -> Self {
        match (measure.counts, measure.part) {
            (false, _) => Self::Bytes,
            (true, Part::Copied) => Self::Times,
            (true, _) => Self::Blocks,
        }
    }

    /// The name that the script knows.
    pub(super) fn name(self) -> &'static str {
        match self {
            Self::Time => "time",
            Self::Bytes => "bytes",
            Self::Blocks => "blocks",
            Self::Times => "times",
            Self::Counts => "counts",
            Self::Things => "things",
        }
    }

    /// An amount with its unit.
    pub(super) fn text(self, amount: u64) -> String {
        match self {
            Self::Time => time(amount),
            Self::Bytes => measured::bytes(amount),
            Self::Blocks if amount == 1 => "1 block".into(),
            Self::Blocks => format!("{amount} blocks"),
            Self::Times => format!("{amount} times"),
            Self::Counts | Self::Things => amount.to_string(),
        }
    }
}

impl Amounts {
    /// The unit of the counts.
    pub(super) fn counted(&self, count: u64) -> &'static str {
        match (self.is_traced, count) {
            (true, 1) => "call",
            (true, _) => "calls",
            (false, 1) => "sample",
            (false, _) => "samples",
        }
    }

    /// A weight as a share of the whole, with its uncertainty.
    pub(super) fn estimate(&self, weight: u64) -> Estimate {
        let share = weight as f64 / self.total.max(1) as f64;
        match self.samples {
            Some(samples) => Estimate::new(share, samples),
            None => Estimate::exact(share),
        }
    }
}

/// The amounts of a box: its share, with its uncertainty, and what that is.
pub(super) fn amounts(picture: &Picture, at: usize) -> String {
    let node = &picture.nodes[at];
    if let Some(before) = picture.before.get(at) {
        return compared(picture.amounts.unit, before.width, node.width);
    }
    let amounts = &picture.amounts;
    let mut text = match picture.is_timed {
        true => format!(
            "from {} for {}: ",
            time(node.start.saturating_add(picture.origin)),
            time(node.width)
        ),
        false => String::new(),
    };
    text += &match amounts.is_few && matches!(amounts.unit, Unit::Time | Unit::Counts) {
        true => few(amounts, node),
        false => shares(amounts, node, picture.is_timed),
    };
    text
}

fn few(amounts: &Amounts, node: &Node) -> String {
    let whole = amounts.count;
    format!("{} of {whole} {}", node.count, amounts.counted(whole))
}

fn shares(amounts: &Amounts, node: &Node, is_timed: bool) -> String {
    let estimate = amounts.estimate(node.weight);
    let mut text = percent(estimate.share);
    if !estimate.is_exact() && !amounts.is_few && !is_timed {
        let _ = write!(
            text,
            " (95 %: {} to {})",
            percent(estimate.interval.low),
            percent(estimate.interval.high),
        );
    }
    match amounts.unit {
        Unit::Time | Unit::Counts => {
            if amounts.unit == Unit::Time {
                let _ = write!(text, ", {}", time(node.weight));
            }
            let _ = write!(text, ", {} {}", node.count, amounts.counted(node.count));
        }
        unit => {
            let _ = write!(text, ", {}", unit.text(node.weight));
        }
    }
    if node.own > 0 && node.own < node.weight {
        let own = node.own as f64 / amounts.total.max(1) as f64;
        let _ = write!(text, "; of its own {}", percent(own));
    }
    text
}

/// Both amounts, their difference and their ratio.
pub(super) fn compared(unit: Unit, before: u64, after: u64) -> String {
    let sign = if after < before { '−' } else { '+' };
    let mut text = format!(
        "before {}, after {}: {sign}{}",
        unit.text(before),
        unit.text(after),
        unit.text(after.abs_diff(before)),
    );
    match (before, after) {
        (0, _) => text += ", new",
        (_, 0) => text += ", gone",
        (before, after) => {
            let ratio = after as f64 / before as f64;
            let _ = write!(text, ", ×{ratio:.3}");
        }
    }
    text
}

/// A name as it is drawn and kept.
pub(super) fn name(text: &str) -> String {
    shortened(text, LONGEST_NAME)
}

/// The longest tail of `a::b::c` that fits, else as much of the name as does.
pub(super) fn fit(name: &str, room: usize) -> String {
    if cells(name) <= room {
        return name.into();
    }
    let (mut depth, mut rest, mut last) = (0, name, ' ');
    for (at, c) in name.char_indices() {
        match c {
            '<' => depth += 1,
            '>' if last != '-' => depth -= 1,
            ':' if depth == 0 && name[at + 1..].starts_with(':') => {
                rest = &name[at + 2..];
                if cells(rest) <= room {
                    return rest.into();
                }
            }
            _ => {}
        }
        last = c;
    }
    if room < 3 {
        return String::new();
    }
    cut(rest, room)
}

/// A number without trailing zeros.
pub(super) fn short(number: f64) -> String {
    let text = format!("{number:.6}");
    let text = text.trim_end_matches('0').trim_end_matches('.');
    text.to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_label_is_the_tail_of_a_path_that_fits() {
        let rows = [
            ("a::b::cde", 9, "a::b::cde"),
            ("a::b::cde", 8, "b::cde"),
            ("a::b::cde", 5, "cde"),
            ("a::b::cdef", 3, "cd…"),
            ("a<x::y>::b", 5, "b"),
            ("漢字漢字", 5, "漢字…"),
            ("main", 2, ""),
        ];
        for (name, room, text) in rows {
            assert_eq!(fit(name, room), text, "{name} in {room}");
        }
    }

    #[test]
    fn a_comparison_has_both_amounts_their_difference_and_ratio() {
        let rows = [
            (
                1_000_000_000,
                1_100_000_000,
                "before 1.00 s, after 1.10 s: +100.0 ms, ×1.100",
            ),
            (
                2_000_000,
                1_000_000,
                "before 2.0 ms, after 1.0 ms: −1.0 ms, ×0.500",
            ),
            (0, 5_000_000, "before 0.00 s, after 5.0 ms: +5.0 ms, new"),
            (5_000_000, 0, "before 5.0 ms, after 0.00 s: −5.0 ms, gone"),
        ];
        for (before, after, text) in rows {
            assert_eq!(compared(Unit::Time, before, after), text);
        }
    }
}
