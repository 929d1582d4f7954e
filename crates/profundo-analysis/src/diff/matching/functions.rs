//! Which function of the side before is which of the side after: by name and file; by name alone
//! where the file has moved; by its text or its neighbours where it has another name.

use rustc_hash::{FxHashMap, FxHashSet};

use super::super::code::{Code, Function, Text};
use super::lines::similarity;

/// The part of the lines, or of the neighbours, that two functions of different names must share.
const ALIKE: f64 = 0.7;

/// The number of functions compared by text: beyond it, names alone decide.
const MOST_COMPARED: usize = 2000;

/// How a function was recognised.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Pairing {
    /// By its name and its file.
    Same,
    /// By its name, in another file.
    Moved,
    /// By its text or its neighbours, under another name.
    Renamed,
}

/// The pairs of functions.
#[derive(Debug)]
pub(crate) struct Matching {
    /// By function before: the one after.
    pub forward: Vec<Option<(u32, Pairing)>>,
    taken: Vec<bool>,
    files: FxHashMap<String, String>,
}

impl Matching {
    /// The file after that a file before has become.
    pub(crate) fn file<'a>(&self, path: &'a str, known: &Code<'a>) -> &'a str {
        let to = self.files.get(path).filter(|to| *to != path);
        to.and_then(|to| known.path(to)).unwrap_or(path)
    }

    /// The function before that one after was.
    pub(crate) fn before(&self, after: u32) -> Option<u32> {
        let is_it = |pair: &Option<(u32, Pairing)>| pair.is_some_and(|(to, _)| to == after);
        let at = self.forward.iter().position(is_it)?;
        u32::try_from(at).ok()
    }

    /// Whether a function after is one from before.
    pub(crate) fn is_taken(&self, after: u32) -> bool {
        self.taken.get(after as usize).copied().unwrap_or(true)
    }

    pub(crate) fn new(before: &Code<'_>, after: &Code<'_>) -> Self {
        let mut pairs = Pairs {
            before,
            after,
            forward: vec![None; before.functions.len()],
            taken: vec![false; after.functions.len()],
        };
        pairs.by_key();
        pairs.by_name();
        pairs.by_text();
        pairs.by_neighbours();
        let files = pairs.files().into_iter();
        Self {
            files: files
                .map(|(from, to)| (from.to_owned(), to.to_owned()))
                .collect(),
            forward: pairs.forward,
            taken: pairs.taken,
        }
    }
}

struct Pairs<'a> {
    before: &'a Code<'a>,
    after: &'a Code<'a>,
    forward: Vec<Option<(u32, Pairing)>>,
    taken: Vec<bool>,
}

impl<'a> Pairs<'a> {
    fn pair(&mut self, one: u32, other: u32, how: Pairing) {
        if self.forward[one as usize].is_none() && !self.taken[other as usize] {
            self.forward[one as usize] = Some((other, how));
            self.taken[other as usize] = true;
        }
    }

    fn left(&self) -> (Vec<u32>, Vec<u32>) {
        let before = (0..).zip(&self.forward);
        let before = before.filter(|(_, pair)| pair.is_none());
        let after = (0..).zip(&self.taken).filter(|(_, taken)| !**taken);
        (
            before.map(|(number, _)| number).collect(),
            after.map(|(number, _)| number).collect(),
        )
    }

    fn by_key(&mut self) {
        let keys = |function: &Function<'a>| (function.name, function.path);
        let after: FxHashMap<_, u32> = (self.after.functions.iter().zip(0..))
            .map(|(function, number)| (keys(function), number))
            .collect();
        for (number, function) in (0..).zip(&self.before.functions) {
            if let Some(&other) = after.get(&keys(function)) {
                self.pair(number, other, Pairing::Same);
            }
        }
    }

    /// Functions whose file has moved: first where the file kept its name, then anywhere, and last
    /// names that many files have, in the files that go together by then.
    fn by_name(&mut self) {
        let in_file = |function: &Function<'a>| Some((function.name, base(function.path)));
        self.by_unique(in_file);
        self.by_unique(|function| (!is_common(function.name)).then_some((function.name, "")));
        let mut votes: FxHashMap<(&str, &str), usize> = FxHashMap::default();
        for (function, pair) in self.before.functions.iter().zip(&self.forward) {
            if let Some((other, Pairing::Moved)) = pair {
                let other = &self.after.functions[*other as usize];
                *votes.entry((function.path, other.path)).or_default() += 1;
            }
        }
        let mut votes: Vec<_> = votes.into_iter().collect();
        votes.sort_unstable_by_key(|&(paths, count)| (std::cmp::Reverse(count), paths));
        let mut moved: FxHashMap<&str, &str> = FxHashMap::default();
        for ((from, to), _) in votes {
            moved.entry(from).or_insert(to);
        }
        let (before, after) = self.left();
        let after: FxHashMap<(&str, &str), u32> = (after.into_iter())
            .map(|number| {
                let function = &self.after.functions[number as usize];
                ((function.name, function.path), number)
            })
            .collect();
        for one in before {
            let function = &self.before.functions[one as usize];
            let to = moved.get(function.path);
            if let Some(&other) = to.and_then(|to| after.get(&(function.name, *to))) {
                self.pair(one, other, Pairing::Moved);
            }
        }
    }

    /// Pairs functions with a key that is the only one of its kind on either side.
    fn by_unique(&mut self, key: impl Fn(&Function<'a>) -> Option<(&'a str, &'a str)>) {
        let (before, after) = self.left();
        let unique = |numbers: Vec<u32>, functions: &[Function<'a>]| {
            let mut found: FxHashMap<(&'a str, &'a str), Option<u32>> = FxHashMap::default();
            for number in numbers {
                let function = &functions[number as usize];
                if function.name.is_empty() || function.path.is_empty() {
                    continue;
                }
                if let Some(key) = key(function) {
                    let entry = found.entry(key);
                    entry
                        .and_modify(|slot| *slot = None)
                        .or_insert(Some(number));
                }
            }
            found
        };
        let before = unique(before, &self.before.functions);
        let after = unique(after, &self.after.functions);
        let mut pairs: Vec<(u32, u32)> = (before.iter())
            .filter_map(|(key, one)| Some(((*one)?, (*after.get(key)?)?)))
            .collect();
        pairs.sort_unstable();
        for (one, other) in pairs {
            self.pair(one, other, Pairing::Moved);
        }
    }

    /// The file after that a file before has become.
    fn files(&self) -> FxHashMap<&'a str, &'a str> {
        let mut files: FxHashMap<&str, &str> = FxHashMap::default();
        for (function, pair) in self.before.functions.iter().zip(&self.forward) {
            if let Some((other, _)) = pair {
                let to = self.after.functions[*other as usize].path;
                files.entry(function.path).or_insert(to);
            }
        }
        files
    }

    /// Renamed functions: those of one file with nearly the same lines.
    fn by_text(&mut self) {
        let (before, after) = self.left();
        if before.is_empty() || after.is_empty() || before.len().max(after.len()) > MOST_COMPARED {
            return;
        }
        let files = self.files();
        let mut found: Vec<(u32, u32, u32)> = Vec::new();
        for &one in &before {
            let function = &self.before.functions[one as usize];
            let to = files.get(function.path).copied().unwrap_or(function.path);
            let (Some(from), Some(into)) = (
                self.before.files.get(function.path),
                self.after.files.get(to),
            ) else {
                continue;
            };
            let lines = text_of(function, from);
            for &other in &after {
                let other_function = &self.after.functions[other as usize];
                if other_function.path != to || other_function.language != function.language {
                    continue;
                }
                let others = text_of(other_function, into);
                let alike = similarity(&lines, &others, function.name, other_function.name);
                if alike >= ALIKE {
                    found.push(((alike * 1000.0) as u32, one, other));
                }
            }
        }
        found.sort_unstable_by_key(|&(alike, one, other)| (std::cmp::Reverse(alike), one, other));
        for (_, one, other) in found {
            self.pair(one, other, Pairing::Renamed);
        }
    }

    /// Renamed functions without text: those of one file with the same callers and callees.
    fn by_neighbours(&mut self) {
        let (before, after) = self.left();
        if before.is_empty() || after.is_empty() || before.len().max(after.len()) > MOST_COMPARED {
            return;
        }
        let files = self.files();
        let numbers = |numbers: &[u32]| numbers.iter().copied().collect::<FxHashSet<u32>>();
        let of_before = self.before.neighbours(&numbers(&before));
        let of_after = self.after.neighbours(&numbers(&after));
        let mut found: Vec<(u32, u32, u32)> = Vec::new();
        let mut leaves: Vec<(u32, u32)> = Vec::new();
        for &one in &before {
            let function = &self.before.functions[one as usize];
            let to = files.get(function.path).copied().unwrap_or(function.path);
            let Some(around) = of_before.get(&one) else {
                continue;
            };
            let around = around.each_ref().map(|set| self.carried(set));
            if to.is_empty() || around[0].is_empty() {
                continue;
            }
            for &other in &after {
                let other_function = &self.after.functions[other as usize];
                let Some(others) = of_after.get(&other) else {
                    continue;
                };
                if other_function.path != to || self.have_texts(function, other_function) {
                    continue;
                }
                let are_leaves = around[1].is_empty() && others[1].is_empty();
                if are_leaves
                    && jaccard(&around[0], &others[0]) >= ALIKE
                    && self.have_one_text(function, other_function)
                {
                    leaves.push((one, other));
                }
                if around.iter().chain(others).any(FxHashSet::is_empty) {
                    continue;
                }
                let alike = around
                    .iter()
                    .zip(others)
                    .map(|(one, other)| jaccard(one, other));
                let least = alike.fold(1.0, f64::min);
                if least >= ALIKE {
                    found.push(((least * 1000.0) as u32, one, other));
                }
            }
        }
        found.sort_unstable_by_key(|&(alike, one, other)| (std::cmp::Reverse(alike), one, other));
        for (_, one, other) in found {
            self.pair(one, other, Pairing::Renamed);
        }
        // A function without callees has too few neighbours for a proof. The same text is one, if
        // no other function has it.
        for &(one, other) in &leaves {
            let rivals = leaves
                .iter()
                .filter(|pair| pair.0 == one || pair.1 == other);
            if rivals.count() == 1 {
                self.pair(one, other, Pairing::Renamed);
            }
        }
    }

    /// Whether the lines that are known of both have one text, be it a single line.
    fn have_one_text(&self, one: &Function<'_>, other: &Function<'_>) -> bool {
        let of = |code: &Code<'a>, function: &Function<'_>| {
            let text = code.files.get(function.path);
            text.map(|text| text_of(function, text)).unwrap_or_default()
        };
        let (before, after) = (of(self.before, one), of(self.after, other));
        !before.is_empty() && before == after
    }

    /// Whether both have enough text to be compared by: then the text decides.
    fn have_texts(&self, one: &Function<'_>, other: &Function<'_>) -> bool {
        let has = |code: &Code<'_>, function: &Function<'_>| {
            (code.files.get(function.path)).is_some_and(|text| text_of(function, text).len() > 1)
        };
        has(self.before, one) && has(self.after, other)
    }

    /// The functions after that these are; a function that is in no pair is none of them.
    fn carried(&self, before: &FxHashSet<u32>) -> FxHashSet<u32> {
        let pairs = before.iter().map(|&number| self.forward[number as usize]);
        pairs
            .map(|pair| pair.map_or(u32::MAX, |(to, _)| to))
            .collect()
    }
}

/// The kept text around the lines at which a function was seen.
fn text_of<'a>(function: &Function<'_>, text: &Text<'a>) -> Vec<&'a str> {
    let (Some(&first), Some(&last)) = (function.lines.first(), function.lines.last()) else {
        return Vec::new();
    };
    let range = first.saturating_sub(1)..=last.saturating_add(1);
    let lines = text.lines.range(range).map(|(_, text)| text.trim());
    lines.filter(|text| !text.is_empty()).collect()
}

fn jaccard(one: &FxHashSet<u32>, other: &FxHashSet<u32>) -> f64 {
    let both = one.intersection(other).count();
    both as f64 / (one.len() + other.len() - both).max(1) as f64
}

fn base(path: &str) -> &str {
    path.rsplit('/').next().unwrap_or(path)
}

/// Whether a name says nothing without its file.
fn is_common(name: &str) -> bool {
    let last = name.rsplit(['.', ':']).next().unwrap_or(name);
    name.starts_with('[')
        || matches!(
            last,
            "<module>"
                | "<lambda>"
                | "<listcomp>"
                | "<genexpr>"
                | "<dictcomp>"
                | "<setcomp>"
                | "__init__"
                | "__call__"
                | "main"
                | "run"
                | "new"
                | "fmt"
                | "{{closure}}"
                | "call"
        )
}
