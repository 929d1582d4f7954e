//! The counts of a function's blocks, from the counts of some of the edges between them: the edges
//! into a block and those out of it have the same sum.

use std::collections::BTreeMap;

/// An edge from one block to another.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Way {
    pub(super) from: usize,
    pub(super) to: usize,
    /// True if the edge has a counter.
    pub(super) is_counted: bool,
}

/// The known counts of a function.
#[derive(Debug)]
pub(super) struct Flow<'a> {
    ways: &'a [Way],
    gone: Vec<u64>,
    blocks: Vec<u64>,
}

/// Functions begin in this block, and end in the next one.
const ENTRY: usize = 0;
const EXIT: usize = 1;

/// `None`: the counters are not this function's.
pub(super) fn solve<'a>(blocks: usize, ways: &'a [Way], counters: &[u64]) -> Option<Flow<'a>> {
    /// Few blocks have no way to or from them. A larger number is damage, and would take memory.
    const MOST_ALONE: usize = 1024;
    if blocks > MOST_ALONE + 2 * ways.len() || ways.iter().any(|way| way.from.max(way.to) >= blocks)
    {
        return None;
    }
    let mut counters = counters.iter().copied();
    let mut gone: Vec<Option<u64>> = Vec::with_capacity(ways.len());
    for way in ways {
        gone.push(match way.is_counted {
            true => Some(counters.next()?),
            false => None,
        });
    }
    if counters.next().is_some() {
        return None;
    }
    let mut sides = vec![[Side::default(), Side::default()]; blocks];
    for (at, way) in ways.iter().enumerate() {
        for (block, side) in [(way.from, OUT), (way.to, IN)] {
            let side = &mut sides[block][side];
            side.ways.push(at);
            side.unknown += usize::from(gone[at].is_none());
        }
    }
    let mut counts: Vec<Option<u64>> = vec![None; blocks];
    let mut waiting: Vec<usize> = (0..blocks).rev().collect();
    while let Some(block) = waiting.pop() {
        // No edge leads into the first block, and none out of the last.
        let meant = |side: usize| (block, side) != (ENTRY, IN) && (block, side) != (EXIT, OUT);
        let sum = |side: &Side, gone: &[Option<u64>]| -> u64 {
            let known = side.ways.iter().filter_map(|&way| gone[way]);
            known.fold(0, u64::saturating_add)
        };
        if counts[block].is_none() {
            let whole = [OUT, IN]
                .into_iter()
                .find(|&side| meant(side) && sides[block][side].unknown == 0);
            counts[block] = whole.map(|side| sum(&sides[block][side], &gone));
        }
        let Some(count) = counts[block] else { continue };
        for side in [OUT, IN] {
            let one = &sides[block][side];
            if !meant(side) || one.unknown != 1 {
                continue;
            }
            let left = one.ways.iter().copied().find(|&way| gone[way].is_none());
            let Some(way) = left else { continue };
            gone[way] = Some(count.saturating_sub(sum(one, &gone)));
            for (block, side) in [(ways[way].from, OUT), (ways[way].to, IN)] {
                sides[block][side].unknown -= 1;
                waiting.push(block);
            }
        }
    }
    Some(Flow {
        ways,
        gone: gone.into_iter().map(|gone| gone.unwrap_or(0)).collect(),
        blocks: counts.into_iter().map(|count| count.unwrap_or(0)).collect(),
    })
}

const OUT: usize = 0;
const IN: usize = 1;

/// The edges that leave a block, or lead into it.
#[derive(Debug, Clone, Default)]
struct Side {
    ways: Vec<usize>,
    unknown: usize,
}

impl Flow<'_> {
    /// The number of calls of the function.
    pub(super) fn calls(&self) -> u64 {
        self.blocks.get(ENTRY).copied().unwrap_or(0)
    }

    /// The counts of lines, as gcov has them: the entries of their blocks from outside, and the
    /// rounds of loops within them. A block belongs to the last of its lines; the others have its
    /// count if they have no block.
    pub(super) fn lines<L: Ord + Copy>(
        &self,
        placed: impl Iterator<Item = (usize, L)>,
    ) -> BTreeMap<L, u64> {
        let mut of_block: BTreeMap<usize, Vec<L>> = BTreeMap::new();
        for (block, line) in placed {
            of_block.entry(block).or_default().push(line);
        }
        let mut hits: BTreeMap<L, u64> = BTreeMap::new();
        let mut blocks: BTreeMap<L, Vec<usize>> = BTreeMap::new();
        for (&block, lines) in &of_block {
            let count = self.blocks.get(block).copied().unwrap_or(0);
            for &line in lines {
                let sum = hits.entry(line).or_default();
                *sum = sum.saturating_add(count);
            }
            if let (Some(&last), false) = (lines.last(), [ENTRY, EXIT].contains(&block)) {
                blocks.entry(last).or_default().push(block);
            }
        }
        for (line, blocks) in blocks {
            hits.insert(line, self.come_into(&blocks));
        }
        hits
    }

    fn come_into(&self, blocks: &[usize]) -> u64 {
        let is_own = |block: usize| blocks.binary_search(&block).is_ok();
        let mut sum = 0_u64;
        let mut within: BTreeMap<usize, Vec<(usize, u64)>> = BTreeMap::new();
        // Blocks are few, edges many: lists by block would be faster, but functions are small.
        for (way, &gone) in self.ways.iter().zip(&self.gone) {
            match (is_own(way.from), is_own(way.to)) {
                (false, true) => sum = sum.saturating_add(gone),
                (true, true) if gone > 0 => {
                    within.entry(way.from).or_default().push((way.to, gone))
                }
                _ => {}
            }
        }
        sum.saturating_add(rounds(&mut within))
    }
}

/// The rounds of loops: each loop is taken out as often as its least edge was taken, until there is
/// none.
fn rounds(ways: &mut BTreeMap<usize, Vec<(usize, u64)>>) -> u64 {
    let mut sum = 0_u64;
    while let Some(round) = find_loop(ways) {
        let gone = |&(from, at): &(usize, usize)| ways[&from][at].1;
        let least = round.iter().map(gone).min().unwrap_or(0);
        sum = sum.saturating_add(least);
        for (from, at) in round {
            if let Some(way) = ways.get_mut(&from).and_then(|ways| ways.get_mut(at)) {
                way.1 -= least;
            }
        }
    }
    sum
}

/// Edges that form a loop: their blocks, and their positions there.
fn find_loop(ways: &BTreeMap<usize, Vec<(usize, u64)>>) -> Option<Vec<(usize, usize)>> {
    let mut is_done = std::collections::BTreeSet::new();
    for &first in ways.keys() {
        // The path to the present block, and the next edge to try at each block.
        let mut path = vec![(first, 0)];
        while let Some(&mut (block, ref mut next)) = path.last_mut() {
            let at = *next;
            *next += 1;
            let Some(&(to, gone)) = ways.get(&block).and_then(|ways| ways.get(at)) else {
                is_done.insert(block);
                path.pop();
                continue;
            };
            if gone == 0 || is_done.contains(&to) {
                continue;
            }
            if let Some(start) = path.iter().position(|&(block, _)| block == to) {
                return Some(
                    path[start..]
                        .iter()
                        .map(|&(block, next)| (block, next - 1))
                        .collect(),
                );
            }
            path.push((to, 0));
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    fn way(from: usize, to: usize, is_counted: bool) -> Way {
        Way {
            from,
            to,
            is_counted,
        }
    }

    #[test]
    fn a_number_of_blocks_without_ways_is_damage() {
        let ways = [way(0, 1, true)];
        assert!(solve(1026, &ways, &[1]).is_some());
        assert!(solve(1027, &ways, &[1]).is_none());
    }

    #[test]
    fn what_comes_into_a_block_leaves_it() {
        // A loop: 0 → 2 → 3 ⇄ 4, 3 → 1.
        let ways = [
            way(0, 2, false),
            way(2, 3, false),
            way(3, 4, true),
            way(3, 1, true),
            way(4, 3, false),
        ];
        let flow = solve(5, &ways, &[30, 3]).unwrap();
        assert_eq!(flow.calls(), 3);
        assert_eq!(flow.blocks, [3, 3, 3, 33, 30]);
        // The line with the condition is entered from before and from the loop's body.
        let lines = flow.lines([(2, 10), (3, 11), (4, 12)].into_iter());
        assert_eq!(lines, BTreeMap::from([(10, 3), (11, 33), (12, 30)]));
        // All in one line: its count is that of the calls and of the loop's rounds.
        let lines = flow.lines([(2, 10), (3, 10), (4, 10)].into_iter());
        assert_eq!(lines, BTreeMap::from([(10, 33)]));
        assert!(solve(5, &ways, &[30]).is_none());
        assert!(solve(5, &ways, &[30, 3, 1]).is_none());
        assert!(solve(4, &ways, &[30, 3]).is_none());
    }
}
