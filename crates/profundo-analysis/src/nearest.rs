//! The functions with names nearest to a requested one that is missing: the most likely meanings.

use std::cmp::Reverse;

use profundo_model::{Profile, StringId};
use rustc_hash::FxHashMap;

use crate::pattern::segments;
use crate::shown::{Shown, Sieve};
use crate::{Pattern, Place, Selection};

/// Longer names are compared by their beginnings.
const MOST_LETTERS: usize = 64;

/// At most `most` names of functions that are shown and were sampled, the nearest to `name` first
/// and of equally near ones the one with most time. None that is too far off to have been meant.
pub fn nearest<'a>(
    profile: &'a Profile,
    selection: &Selection,
    name: &Pattern,
    shown: impl Into<Shown>,
    most: usize,
) -> Vec<&'a str> {
    let asked: Vec<char> = letters(name.text().trim_matches(['*', '?']));
    let mut found: Vec<(usize, Reverse<u64>, &str)> = (weights(profile, selection, shown.into()))
        .into_iter()
        .filter_map(|(name, weight)| {
            let name = profile.strings.get(name);
            Some((distance(&asked, name)?, Reverse(weight), name))
        })
        .collect();
    found.sort_unstable();
    found.into_iter().map(|near| near.2).take(most).collect()
}

/// The word nearest to a requested one that is missing; `None` where none can have been meant.
pub fn nearest_word<'a>(asked: &str, words: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    let asked = letters(asked);
    let near = words.into_iter().filter_map(|word| {
        let off = edits(&asked, &letters(word));
        (off <= asked.len().div_ceil(3)).then_some((off, word))
    });
    near.min().map(|(_, word)| word)
}

/// The weight of each function's stacks, by its name.
fn weights(profile: &Profile, selection: &Selection, shown: Shown) -> FxHashMap<StringId, u64> {
    let sieve = Sieve::new(profile, shown);
    let mut weights: FxHashMap<StringId, u64> = FxHashMap::default();
    let (mut path, mut names) = (Vec::new(), Vec::new());
    for stack in selection.stacks(profile) {
        sieve.path(stack.stack, &mut path);
        names.clear();
        names.extend(path.iter().filter_map(|(place, _)| match place {
            Place::Frame(frame) => Some(profile.frames.get(*frame).function),
            _ => None,
        }));
        // A recursion counts once.
        names.sort_unstable();
        names.dedup();
        for &name in &names {
            *weights.entry(name).or_default() += stack.weight;
        }
    }
    weights
}

/// Lower-case letters, because users are unsure of the case.
fn letters(text: &str) -> Vec<char> {
    let small = text.chars().flat_map(char::to_lowercase);
    small.take(MOST_LETTERS).collect()
}

/// The distance of a name from the requested one: its nearest end that begins at a segment counts.
/// `None` where it is another name altogether: more than a third of the letters differ.
fn distance(asked: &[char], name: &str) -> Option<usize> {
    if asked.is_empty() {
        return None;
    }
    let enough = asked.len().div_ceil(3);
    let of_end = |end: &str| {
        let end = letters(end);
        if end.windows(asked.len()).any(|part| part == asked) {
            // The name contains all of it.
            return Some(0);
        }
        let is_far = end.len().abs_diff(asked.len()) > enough;
        let distance = (!is_far).then(|| edits(asked, &end))?;
        (distance <= enough && distance < asked.len()).then_some(distance)
    };
    segments(name).filter_map(of_end).min()
}

/// The number of letters to change, remove, insert, or swap with the next one.
fn edits(one: &[char], other: &[char]) -> usize {
    let mut before: Vec<usize> = Vec::new();
    let mut last: Vec<usize> = (0..=other.len()).collect();
    for (i, &a) in one.iter().enumerate() {
        let mut row = vec![i + 1];
        for (j, &b) in other.iter().enumerate() {
            let mut least = (last[j] + usize::from(a != b)).min(last[j + 1] + 1);
            least = least.min(row[j] + 1);
            if i > 0 && j > 0 && a == other[j - 1] && one[i - 1] == b {
                least = least.min(before[j - 1] + 1);
            }
            row.push(least);
        }
        before = std::mem::replace(&mut last, row);
    }
    last[other.len()]
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Filter;

    #[track_caller]
    fn check(folded: &str, asked: &str, expected: &[&str]) {
        let profile = Profile::from_folded(folded).unwrap();
        let all = Selection::new(&profile, &Filter::default());
        let found = nearest(&profile, &all, &asked.into(), Shown::ALL, 3);
        assert_eq!(found, expected, "{asked}");
    }

    #[test]
    fn a_word_is_near_or_not_meant() {
        let words = ["service", "version", "host"];
        assert_eq!(nearest_word("servce", words), Some("service"));
        assert_eq!(nearest_word("Verison", words), Some("version"));
        assert_eq!(nearest_word("colour", words), None);
    }

    const FOLDED: &str = "main;Bootstrap.resample 5\nmain;app::mean 3\nmain;median 9\nmain;x 1";

    #[test]
    fn a_slip_of_the_pen_is_forgiven() {
        check(FOLDED, "resmaple", &["Bootstrap.resample"]);
        check(FOLDED, "resampel", &["Bootstrap.resample"]);
        check(FOLDED, "bootstrap.resamples", &["Bootstrap.resample"]);
        check(FOLDED, "RESAMPLE", &["Bootstrap.resample"]);
    }

    #[test]
    fn the_nearest_comes_first_and_then_the_hottest() {
        check(
            "start;mean 1\nstart;meant 5\nstart;moan 2",
            "meen",
            &["mean", "meant", "moan"],
        );
        check("main;abx 1\nmain;aby 2", "abz", &["aby", "abx"]);
    }

    #[test]
    fn a_glob_that_fits_nothing_whole_may_fit_a_part() {
        check(FOLDED, "sampl*", &["Bootstrap.resample"]);
    }

    #[test]
    fn what_is_far_off_is_not_named() {
        check(FOLDED, "nothing_like_it", &[]);
        check(FOLDED, "q", &[]);
        check(FOLDED, "", &[]);
        check(FOLDED, "*", &[]);
    }

    #[test]
    fn a_swap_is_one_edit() {
        let rows = [
            ("abc", "acb", 1),
            ("abc", "abc", 0),
            ("", "ab", 2),
            ("kitten", "sitting", 3),
        ];
        for (one, other, expected) in rows {
            assert_eq!(
                edits(&letters(one), &letters(other)),
                expected,
                "{one} {other}"
            );
        }
    }
}
