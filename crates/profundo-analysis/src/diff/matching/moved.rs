//! Blocks of lines that have moved past others, such as a function that is above its neighbours
//! now. An alignment keeps the order of lines, so it leaves them out on both sides.

use rustc_hash::FxHashMap;

/// A line of so many bytes is a proof by itself; a shorter one needs its neighbour.
const LONG: usize = 24;

/// The pairs of lines, by their index before and after. `texts` are the lines of both sides, and
/// `left` says which of them the alignment has left out.
pub(super) fn pairs(
    texts: [&[String]; 2],
    mut left: [Vec<bool>; 2],
) -> impl Iterator<Item = (usize, usize)> {
    let [old, new] = texts;
    let unique = |side: usize| {
        let mut found: FxHashMap<&str, Option<usize>> = FxHashMap::default();
        for (at, text) in texts[side].iter().enumerate() {
            // A bracket is no proof.
            if left[side][at] && text.len() > 2 {
                let entry = found.entry(text);
                entry.and_modify(|slot| *slot = None).or_insert(Some(at));
            }
        }
        found
    };
    let (before, after) = (unique(0), unique(1));
    let mut seeds: Vec<(usize, usize)> = (before.iter())
        .filter_map(|(text, at)| Some(((*at)?, (*after.get(text)?)?)))
        .collect();
    seeds.sort_unstable();
    let mut pairs = Vec::new();
    for (one, other) in seeds {
        let is_left = |left: &[Vec<bool>; 2], one: usize, other: usize| {
            left[0].get(one) == Some(&true)
                && left[1].get(other) == Some(&true)
                && old[one] == new[other]
        };
        if !is_left(&left, one, other) {
            continue;
        }
        let down = (1..).take_while(|&by| is_left(&left, one + by, other + by));
        let down = down.count();
        let up = (1..=one.min(other)).take_while(|&by| is_left(&left, one - by, other - by));
        let up = up.count();
        let solid = old[one - up..=one + down]
            .iter()
            .filter(|text| text.len() > 2);
        let is_block = solid.count() > 1 || old[one].len() >= LONG;
        if !is_block {
            continue;
        }
        for by in 0..=up + down {
            let (one, other) = (one - up + by, other - up + by);
            (left[0][one], left[1][other]) = (false, false);
            pairs.push((one, other));
        }
    }
    pairs.into_iter()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn moved(old: &[&str], new: &[&str]) -> Vec<(usize, usize)> {
        let text = |lines: &[&str]| lines.iter().map(ToString::to_string).collect::<Vec<_>>();
        let left = [vec![true; old.len()], vec![true; new.len()]];
        pairs([&text(old), &text(new)], left).collect()
    }

    #[test]
    fn a_block_is_found_by_one_line_of_its_own() {
        let block = ["total = 0", "total += search(text)", "return total"];
        let old = [&["total = 0", "return total"][..], &block].concat();
        let new = [&block[..], &["x = 1", "total = 0"]].concat();
        assert_eq!(moved(&old, &new), [(2, 0), (3, 1), (4, 2)]);
    }

    #[test]
    fn a_short_line_alone_is_no_proof() {
        assert_eq!(moved(&["return None", "a"], &["b", "return None"]), []);
        let long = "result = transformed(values, by=factor)";
        assert_eq!(moved(&[long, "a"], &["b", long]), [(0, 1)]);
        // Nor is a line that is there twice.
        assert_eq!(moved(&[long, "x", long], &["b", long]), []);
    }
}
