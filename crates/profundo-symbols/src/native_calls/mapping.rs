//! The places of the source that LLVM's counters stand for. A place without a counter of its own
//! has a sum or difference of others.

use super::cursor::Cursor;

/// The counter of a place.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Counter {
    /// Never run.
    Zero,
    /// A counter, by its number in the function.
    Number(usize),
    /// An expression, by its number.
    Expression(usize),
}

/// A sum or a difference.
#[derive(Debug, Clone, Copy)]
struct Expression {
    is_sum: bool,
    left: Counter,
    right: Counter,
}

/// The kind of a place.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Kind {
    Code,
    /// The use of a macro, whose text is another place.
    Expansion,
    Skipped,
    /// A gap between two others.
    Gap,
}

/// A line and a column, from 1 on.
pub(super) type Place = (u32, u32);

/// A place.
#[derive(Debug, Clone, Copy)]
pub(super) struct Region {
    /// The index of its file in the function's list.
    file: usize,
    kind: Kind,
    counter: Counter,
    start: Place,
    end: Place,
}

/// A place with its count.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Counted {
    pub(super) kind: Kind,
    pub(super) start: Place,
    pub(super) end: Place,
    pub(super) count: u64,
}

/// The places of a function.
#[derive(Debug, Clone)]
pub(super) struct Mapping {
    /// Its files, by their numbers in the list of all.
    files: Vec<usize>,
    expressions: Vec<Expression>,
    regions: Vec<Region>,
    /// The file that it is written in, among its own.
    main: usize,
}

impl Mapping {
    /// Reads a function's record.
    pub(super) fn read(bytes: &[u8]) -> Option<Self> {
        let mut cursor = Cursor::new(bytes);
        let count = cursor.count()?;
        let mut files = Vec::with_capacity(count);
        for _ in 0..count {
            files.push(usize::try_from(cursor.leb()?).ok()?);
        }
        let count = cursor.count()?;
        let mut both = Vec::with_capacity(count);
        for _ in 0..count {
            both.push((cursor.leb32()?, cursor.leb32()?));
        }
        // The use of an expression decides whether it is a sum.
        let mut sums = vec![false; count];
        let mut expressions = Vec::with_capacity(count);
        for (left, right) in both {
            expressions.push(Expression {
                is_sum: false,
                left: counter(left, &mut sums),
                right: counter(right, &mut sums),
            });
        }
        let mut regions = Vec::new();
        let mut expanded = vec![None; files.len()];
        for file in 0..files.len() {
            let mut line = 0_u32;
            for _ in 0..cursor.count()? {
                region(
                    &mut cursor,
                    &mut sums,
                    file,
                    &mut line,
                    &mut regions,
                    &mut expanded,
                )?;
            }
        }
        for (expression, is_sum) in expressions.iter_mut().zip(sums) {
            expression.is_sum = is_sum;
        }
        let main = expanded.iter().position(Option::is_none).unwrap_or(0);
        expand(&mut regions, &expanded);
        Some(Self {
            main,
            files,
            expressions,
            regions,
        })
    }

    /// The file that it is written in, by its number in the list of all.
    pub(super) fn file(&self) -> Option<usize> {
        self.files.get(self.main).copied()
    }

    /// Its start.
    pub(super) fn start(&self) -> Option<Place> {
        Some(self.own().find(|region| region.kind == Kind::Code)?.start)
    }

    fn own(&self) -> impl Iterator<Item = &Region> {
        self.regions
            .iter()
            .filter(|region| region.file == self.main)
    }

    /// The number of its calls, and its places in its main file, with their counts.
    pub(super) fn counted(&self, counters: &[u64]) -> (u64, Vec<Counted>) {
        let values = self.values(counters);
        let count = |region: &Region| value(region.counter, counters, &values).unwrap_or(0);
        // Threads that count without synchronisation may leave less than nothing.
        let count = |region: &Region| u64::try_from(count(region)).unwrap_or(0);
        let counted = self.own().map(|region| Counted {
            kind: region.kind,
            start: region.start,
            end: region.end,
            count: count(region),
        });
        (self.regions.first().map_or(0, count), counted.collect())
    }

    /// The values of all expressions. A recursive one has none.
    fn values(&self, counters: &[u64]) -> Vec<Option<i64>> {
        let mut values = vec![None; self.expressions.len()];
        let mut has_begun = vec![false; self.expressions.len()];
        for first in 0..self.expressions.len() {
            let mut stack = vec![first];
            while let Some(&at) = stack.last() {
                let Expression {
                    is_sum,
                    left,
                    right,
                } = self.expressions[at];
                if !std::mem::replace(&mut has_begun[at], true) {
                    let parts = [left, right]
                        .into_iter()
                        .filter_map(|counter| match counter {
                            Counter::Expression(part) => Some(part),
                            _ => None,
                        });
                    stack.extend(parts.filter(|&part| has_begun.get(part) == Some(&false)));
                    continue;
                }
                stack.pop();
                let [left, right] = [left, right].map(|counter| value(counter, counters, &values));
                if let (None, Some(left), Some(right)) = (values[at], left, right) {
                    values[at] = Some(match is_sum {
                        true => left.wrapping_add(right),
                        false => left.wrapping_sub(right),
                    });
                }
            }
        }
        values
    }
}

/// The value of a place's counter, given the values of expressions.
fn value(counter: Counter, counters: &[u64], values: &[Option<i64>]) -> Option<i64> {
    match counter {
        Counter::Zero => Some(0),
        Counter::Number(at) => counters.get(at).map(|&count| count as i64),
        Counter::Expression(at) => values.get(at).copied().flatten(),
    }
}

/// The meaning of an encoded counter: its two lowest bits are its kind.
fn counter(encoded: u32, sums: &mut [bool]) -> Counter {
    let at = (encoded >> 2) as usize;
    match encoded & 3 {
        0 => Counter::Zero,
        1 => Counter::Number(at),
        kind => {
            if let Some(is_sum) = sums.get_mut(at) {
                *is_sum = kind == 3;
            }
            Counter::Expression(at)
        }
    }
}

/// Reads a place of a file; returns its first line.
fn region(
    cursor: &mut Cursor<'_>,
    sums: &mut [bool],
    file: usize,
    line: &mut u32,
    regions: &mut Vec<Region>,
    expanded: &mut [Option<usize>],
) -> Option<()> {
    const GAP: u32 = 1 << 31;
    let encoded = cursor.leb32()?;
    let mut kind = Some(Kind::Code);
    let mut of = Counter::Zero;
    let mut expands = None;
    if encoded & 3 != 0 {
        of = counter(encoded, sums);
    } else if encoded & 4 != 0 {
        kind = Some(Kind::Expansion);
        expands = Some((encoded >> 3) as usize);
    } else {
        match encoded >> 3 {
            0 => {}
            2 => kind = Some(Kind::Skipped),
            // Branches, and the conditions of decisions: no places, but numbers that follow.
            what @ 4..=6 => {
                kind = None;
                let numbers = match what {
                    4 | 5 => 2,
                    _ => 5,
                };
                for _ in 0..numbers {
                    cursor.leb()?;
                }
            }
            _ => return None,
        }
    }
    *line = line.checked_add(cursor.leb32()?)?;
    let column = cursor.leb32()?;
    let lines = cursor.leb32()?;
    let end_column = cursor.leb32()?;
    let Some(mut kind) = kind else {
        return Some(());
    };
    let mut end = (line.checked_add(lines)?, end_column & !GAP);
    let mut start = (*line, column);
    if end_column & GAP != 0 {
        kind = Kind::Gap;
    }
    // Whole lines.
    if (start.1, end.1) == (0, 0) {
        (start.1, end.1) = (1, u32::MAX);
    }
    if let Some(whose) = expands.and_then(|expanded_file| expanded.get_mut(expanded_file)) {
        *whose = Some(regions.len());
    }
    regions.push(Region {
        file,
        kind,
        counter: of,
        start,
        end,
    });
    Some(())
}

/// A macro's use has the count of the first place of its text. Macros stand in macros.
fn expand(regions: &mut [Region], expanded: &[Option<usize>]) {
    const DEEPEST: usize = 32;
    let mut first = vec![None; expanded.len()];
    for (at, region) in regions.iter().enumerate() {
        first[region.file].get_or_insert(at);
    }
    let both = || expanded.iter().zip(&first);
    for _ in 0..expanded.len().min(DEEPEST) {
        for (&whose, &first) in both() {
            if let (Some(whose), Some(first)) = (whose, first) {
                regions[whose].counter = regions[first].counter;
            }
        }
    }
}
