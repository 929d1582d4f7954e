//! Checks whether the program can have a stack. A truncated or torn stack must not pass for a whole
//! one, so the check is exact: below `climb` there is one way down, and a stack ends somewhere on
//! it.

use profundo::model::{LocationKind, Profile};

use crate::workload::{LEAVES, callers};

/// The validity of some stacks.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Counts {
    /// All stacks.
    pub all: u64,
    /// Stacks that reach the program's root.
    pub whole: u64,
    /// Stacks that are whole and possible in the program.
    pub possible: u64,
}

impl Counts {
    /// Adds `count` stacks of these functions, leaf first.
    pub fn add(&mut self, functions: &[&str], reaches_root: bool, count: u64) {
        self.all += count;
        if reaches_root {
            self.whole += count;
            if is_possible(functions) {
                self.possible += count;
            }
        }
    }

    /// The share of whole stacks, in percent.
    pub fn percent_whole(&self) -> f64 {
        100.0 * self.whole as f64 / self.all.max(1) as f64
    }

    /// The share of possible stacks, in percent.
    pub fn percent_possible(&self) -> f64 {
        100.0 * self.possible as f64 / self.all.max(1) as f64
    }
}

/// True if the program can have a stack of these functions, leaf first, named by the last part of
/// their paths. Outside of `climb`, where a session starts and stops, any function may be called.
pub fn is_possible(functions: &[&str]) -> bool {
    if !functions.contains(&"main") {
        return false;
    }
    let is_leaf = |name: &str| LEAVES.iter().any(|(leaf, _)| *leaf == name);
    let Some(climb) = functions.iter().position(|name| *name == "climb") else {
        let ours = |name: &&str| is_leaf(name) || *name == "stair" || *name == "landing";
        return !functions.iter().any(ours);
    };
    let callers = callers();
    let mut below: Vec<&str> = functions[..climb].iter().rev().copied().collect();
    if below.len() == callers.len() + 1 && below.last().is_some_and(|name| is_leaf(name)) {
        below.pop();
    }
    callers.starts_with(&below)
}

/// Counts the stacks of a named profile.
pub fn count(profile: &Profile) -> Counts {
    let mut counts = Counts::default();
    for sample in &profile.samples {
        let mut functions = Vec::new();
        let mut reaches_root = true;
        for id in profile.stacks.locations(sample.stack) {
            let location = profile.locations.get(id);
            reaches_root &=
                !matches!(location.kind, LocationKind::Reason(reason) if reason.is_gap());
            // The last one is the function itself; those before were inlined into it.
            let function = location.frames.last();
            functions.extend(function.map(|&frame| last_part(profile.function_name(frame))));
        }
        counts.add(&functions, reaches_root, 1);
    }
    counts
}

/// The last part of a path: `stair` of `profundo_bench::workload::stair`.
pub fn last_part(path: &str) -> &str {
    path.rsplit("::").next().unwrap_or(path)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A stack from the outermost function to the innermost, as it is called.
    fn check(stack: &[&str], expected: bool) {
        let leaf_first: Vec<&str> = stack.iter().rev().copied().collect();
        assert_eq!(is_possible(&leaf_first), expected, "{stack:?}");
    }

    #[test]
    fn a_stack_ends_anywhere_on_the_way_down() {
        let mut whole = vec!["_start", "main", "climb"];
        check(&whole, true);
        for name in callers() {
            whole.push(name);
            check(&whole, true);
        }
        whole.push("leaf_rest");
        check(&whole, true);
        check(&["_start", "main", "start", "open"], true);
    }

    #[test]
    fn torn_stacks_are_found_out() {
        check(&["climb", "stair"], false);
        check(&["main", "climb", "landing"], false);
        check(&["main", "climb", "stair", "stair"], false);
        check(&["main", "climb", "stair", "leaf_half"], false);
        check(&["main", "stair"], false);
        let mut skipped = vec!["main", "climb"];
        skipped.extend(&callers()[2..]);
        skipped.push("leaf_half");
        check(&skipped, false);
    }

    #[test]
    fn shares_are_of_all_stacks() {
        let mut counts = Counts::default();
        counts.add(&["climb", "main"], true, 2);
        counts.add(&["landing", "climb", "main"], true, 1);
        counts.add(&["stair"], false, 1);
        assert_eq!(
            (counts.percent_whole(), counts.percent_possible()),
            (75.0, 50.0)
        );
    }

    #[test]
    fn a_path_ends_in_a_name() {
        assert_eq!(last_part("a::b::stair"), "stair");
        assert_eq!(last_part("main"), "main");
    }
}
