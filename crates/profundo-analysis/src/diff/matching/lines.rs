//! Which line of a file before is which after. The kept texts of both files are aligned, so that a
//! line below an inserted one is still the same line. Between two lines that were found, a line
//! keeps its distance from the nearer one; an edited line is one that is left between the same
//! neighbours. Without text, a function's lines are shifted together, so that most of them meet.

use std::collections::{BTreeMap, BTreeSet};

use similar::{Algorithm, DiffOp, capture_diff_slices};

use super::super::code::Text;

/// The lines of a file that are aligned. The work may grow with their square.
const MOST_ALIGNED: usize = 8000;

/// A line after.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Mapped {
    pub line: u32,
    /// True if its text is another one.
    pub is_edited: bool,
}

/// The lines of one file.
#[derive(Debug)]
pub(crate) struct LineMap {
    is_same: bool,
    /// Lines with the same text, in the order of both files.
    anchors: BTreeMap<u32, u32>,
    /// Lines with the same text that are in another order now.
    moved: BTreeMap<u32, u32>,
    /// The lines before and after with text.
    before: BTreeSet<u32>,
    after: BTreeSet<u32>,
    /// The distance of all lines, where no text says more.
    shift: i64,
}

impl LineMap {
    /// Aligns two texts of a file; `seen` are the lines on stacks, of functions that are the same.
    pub(crate) fn new(
        before: Option<&Text<'_>>,
        after: Option<&Text<'_>>,
        seen: [&BTreeSet<u32>; 2],
    ) -> Self {
        let empty = Text::default();
        let (before, after) = (before.unwrap_or(&empty), after.unwrap_or(&empty));
        let mut map = Self {
            is_same: before.fingerprint.is_some() && before.fingerprint == after.fingerprint,
            anchors: BTreeMap::new(),
            moved: BTreeMap::new(),
            before: before.lines.keys().copied().collect(),
            after: after.lines.keys().copied().collect(),
            shift: 0,
        };
        if map.is_same {
            return map;
        }
        if before.lines.is_empty() || after.lines.is_empty() {
            map.shift = best_shift(seen[0], seen[1]);
            return map;
        }
        let list = |text: &Text<'_>| -> (Vec<u32>, Vec<String>) {
            (text.lines.iter().take(MOST_ALIGNED))
                .map(|(&line, text)| (line, text.trim().to_owned()))
                .unzip()
        };
        let (old_lines, old) = list(before);
        let (new_lines, new) = list(after);
        let mut left = [vec![true; old.len()], vec![true; new.len()]];
        for op in capture_diff_slices(Algorithm::Patience, &old, &new) {
            if let DiffOp::Equal {
                old_index,
                new_index,
                len,
            } = op
            {
                for at in 0..len {
                    left[0][old_index + at] = false;
                    left[1][new_index + at] = false;
                    // A blank line or a bracket is no proof by itself.
                    if old[old_index + at].len() > 2 {
                        let (old, new) = (old_lines[old_index + at], new_lines[new_index + at]);
                        map.anchors.insert(old, new);
                    }
                }
            }
        }
        for (one, other) in super::moved::pairs([&old, &new], left) {
            map.moved.insert(old_lines[one], new_lines[other]);
        }
        if map.anchors.is_empty() {
            map.shift = best_shift(seen[0], seen[1]);
        }
        map
    }

    /// The line after that a line before has become.
    pub(crate) fn of(&self, line: u32) -> Option<Mapped> {
        if self.is_same {
            return Some(Mapped {
                line,
                is_edited: false,
            });
        }
        let known = self.anchors.get(&line).or_else(|| self.moved.get(&line));
        if let Some(&line) = known.or(self.within_moved(line).as_ref()) {
            return Some(Mapped {
                line,
                is_edited: false,
            });
        }
        let above = self.anchors.range(..line).next_back();
        let below = self.anchors.range(line..).next();
        let shifted = |(old, new): (&u32, &u32)| {
            let shift = i64::from(*new) - i64::from(*old);
            u32::try_from(i64::from(line) + shift).ok()
        };
        let to = match (above, below) {
            (None, None) => u32::try_from(i64::from(line) + self.shift).ok()?,
            (Some(above), None) => shifted((above.0, above.1))?,
            (None, Some(below)) => shifted((below.0, below.1))?,
            (Some(above), Some(below)) => {
                let [from_above, from_below] = [shifted(above)?, shifted(below)?];
                let is_nearer = line - above.0 <= below.0 - line;
                // Lines were inserted or removed between the two: only near one of them it is
                // known where the line is.
                let to = match is_nearer {
                    true => from_above,
                    false => from_below,
                };
                (*above.1 < to && to < *below.1).then_some(to)?
            }
        };
        if to == 0 {
            return None;
        }
        // Where both texts are known, they are different: an alignment would have found them.
        let is_edited = self.before.contains(&line) && self.after.contains(&to);
        Some(Mapped {
            line: to,
            is_edited,
        })
    }
}

impl LineMap {
    /// The line after, of a line without text between two that were moved together.
    fn within_moved(&self, line: u32) -> Option<u32> {
        if self.before.contains(&line) {
            return None;
        }
        let above = self.moved.range(..line).next_back()?;
        let below = self.moved.range(line..).next()?;
        let is_one_block = self.anchors.range(above.0..below.0).next().is_none()
            && below.0 - above.0 == below.1.wrapping_sub(*above.1);
        is_one_block.then(|| above.1 + (line - above.0))
    }
}

/// The shift by which most lines meet; the smallest of several.
fn best_shift(before: &BTreeSet<u32>, after: &BTreeSet<u32>) -> i64 {
    const MOST: usize = 400;
    let mut counts: BTreeMap<i64, usize> = BTreeMap::new();
    for &old in before.iter().take(MOST) {
        for &new in after.iter().take(MOST) {
            *counts.entry(i64::from(new) - i64::from(old)).or_default() += 1;
        }
    }
    let none = counts.get(&0).copied().unwrap_or(0);
    let best = counts
        .into_iter()
        .max_by_key(|&(shift, count)| (count, std::cmp::Reverse(shift.abs())));
    // Lines that were not sampled again look like a shift: it has to be plain.
    match best {
        Some((shift, count)) if count > none + 1 && count * 2 > before.len() => shift,
        _ => 0,
    }
}

/// The part of the lines that two texts share, the names of their functions taken out.
pub(super) fn similarity(one: &[&str], other: &[&str], name: &str, other_name: &str) -> f64 {
    /// Fewer lines are no proof.
    const FEW: usize = 2;
    if one.len().min(other.len()) < FEW {
        return 0.0;
    }
    let last = |name: &str| {
        name.rsplit(['.', ':'])
            .next()
            .unwrap_or_default()
            .to_owned()
    };
    let without = |lines: &[&str], name: String| -> Vec<String> {
        let line = |line: &&str| match name.is_empty() {
            true => (*line).to_owned(),
            false => line.replace(&name, "\u{0}"),
        };
        let mut lines: Vec<String> = lines.iter().map(line).collect();
        lines.sort_unstable();
        lines
    };
    let (one, other) = (without(one, last(name)), without(other, last(other_name)));
    let (mut at, mut same) = (0, 0);
    for line in &one {
        while at < other.len() && other[at] < *line {
            at += 1;
        }
        if at < other.len() && other[at] == *line {
            same += 1;
            at += 1;
        }
    }
    f64::from(same) / one.len().max(other.len()) as f64
}

#[cfg(test)]
mod tests {
    use super::*;

    fn text(lines: &[(u32, &'static str)]) -> Text<'static> {
        Text {
            lines: lines.iter().copied().collect(),
            fingerprint: None,
        }
    }

    fn whole(text: &'static str) -> Text<'static> {
        Text {
            lines: (1..).zip(text.lines()).collect(),
            fingerprint: None,
        }
    }

    fn none() -> [&'static BTreeSet<u32>; 2] {
        const NONE: &BTreeSet<u32> = &BTreeSet::new();
        [NONE, NONE]
    }

    #[test]
    fn a_line_below_an_inserted_one_is_the_same() {
        let before = whole("import os\n\ndef f(x):\n    y = x * 2\n    return y\n");
        let after = whole("import os\nimport sys\n\ndef f(x):\n    y = x * 3\n    return y\n");
        let map = LineMap::new(Some(&before), Some(&after), none());
        let of = |line| map.of(line).map(|to| (to.line, to.is_edited));
        assert_eq!(of(1), Some((1, false)));
        assert_eq!(of(3), Some((4, false)));
        // Edited, between two lines that are known.
        assert_eq!(of(4), Some((5, true)));
        assert_eq!(of(5), Some((6, false)));
    }

    #[test]
    fn a_removed_line_is_gone() {
        let before = whole("first()\nsecond()\nthird()\n");
        let after = whole("first()\nthird()\n");
        let map = LineMap::new(Some(&before), Some(&after), none());
        assert_eq!(map.of(2), None);
        assert_eq!(map.of(3).map(|to| to.line), Some(2));
    }

    #[test]
    fn lines_without_text_keep_their_distance() {
        let before = text(&[(10, "a = one()"), (30, "b = two()")]);
        let after = text(&[(14, "a = one()"), (34, "b = two()")]);
        let map = LineMap::new(Some(&before), Some(&after), none());
        let of = |line| map.of(line).map(|to| to.line);
        assert_eq!([of(8), of(20), of(40)], [Some(12), Some(24), Some(44)]);
    }

    #[test]
    fn without_any_text_most_lines_meet() {
        let lines = |lines: &[u32]| lines.iter().copied().collect::<BTreeSet<u32>>();
        let (before, after) = (lines(&[10, 12, 15, 19]), lines(&[13, 15, 18, 22]));
        let map = LineMap::new(None, None, [&before, &after]);
        assert_eq!(map.of(12).map(|to| to.line), Some(15));
        // Other lines of the same function were sampled.
        let (before, after) = (lines(&[10, 12]), lines(&[12, 14]));
        let map = LineMap::new(None, None, [&before, &after]);
        assert_eq!(map.of(12).map(|to| to.line), Some(12));
    }

    #[test]
    fn a_renamed_function_has_the_same_lines() {
        let one = ["def old(x):", "y = x + 1", "return y"];
        let other = ["def new(x):", "y = x + 1", "return y"];
        assert_eq!(similarity(&one, &other, "old", "new"), 1.0);
        let edited = ["def new(x):", "y = x + 2", "z = y", "return z"];
        assert!(similarity(&one, &edited, "old", "new") < 0.7);
        assert_eq!(similarity(&["x"], &["x"], "old", "new"), 0.0);
    }
}
