//! How often each block of a function was run, from how often some of the ways between blocks were gone: what comes into a block
//! leaves it.

use std::collections::BTreeMap;

/// A way from one block to another.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Way {
    pub(super) from: usize,
    pub(super) to: usize,
    /// Whether it has a counter.
    pub(super) is_counted: bool,
}

/// What is known of a function.
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
    /// No function has more; who claims more is damaged.
    const MOST: usize = 1 << 24;
    if blocks > MOST || ways.iter().any(|way| way.from.max(way.to) >= blocks) {
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
        // Nothing comes into the first, and nothing leaves the last.
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
        gone: gone.into_iter().map(|it| it.unwrap_or(0)).collect(),
        blocks: counts.into_iter().map(|it| it.unwrap_or(0)).collect(),
    })
}

const OUT: usize = 0;
const IN: usize = 1;

/// The ways that leave a block, or come into it.
#[derive(Debug, Clone, Default)]
struct Side {
    ways: Vec<usize>,
    unknown: usize,
}

impl Flow<'_> {
    /// How often the function was called.
    pub(super) fn calls(&self) -> u64 {
        self.blocks.get(ENTRY).copied().unwrap_or(0)
    }

    /// How often lines were run, as gcov counts: as often as their blocks were come into from others, and as often as loops went round
    /// within them. A block belongs to the last of its lines; the others have its count if they have no block.
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
        // Blocks are few, ways many: each block's own would be quicker to find, but functions are small.
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

/// How often loops went round: each is taken out as often as its least way was gone, until there is none.
fn rounds(ways: &mut BTreeMap<usize, Vec<(usize, u64)>>) -> u64 {
    let mut sum = 0_u64;
    while let Some(round) = find_loop(ways) {
        let gone = |&(from, at): &(usize, usize)| ways[&from][at].1;
        let least = round.iter().map(gone).min().unwrap_or(0);
        sum = sum.saturating_add(least);
        for (from, at) in round {
            if let Some(way) = ways.get_mut(&from).and_then(|it| it.get_mut(at)) {
                way.1 -= least;
            }
        }
    }
    sum
}

/// Ways that make a round: whose they are, and which of those.
fn find_loop(ways: &BTreeMap<usize, Vec<(usize, u64)>>) -> Option<Vec<(usize, usize)>> {
    let mut is_done = std::collections::BTreeSet::new();
    for &first in ways.keys() {
        // The way to where we are, and which is to be tried next there.
        let mut path = vec![(first, 0)];
        while let Some(&mut (block, ref mut next)) = path.last_mut() {
            let at = *next;
            *next += 1;
            let Some(&(to, gone)) = ways.get(&block).and_then(|it| it.get(at)) else {
                is_done.insert(block);
                path.pop();
                continue;
            };
            if gone == 0 || is_done.contains(&to) {
                continue;
            }
            if let Some(start) = path.iter().position(|&(it, _)| it == to) {
                return Some(
                    path[start..]
                        .iter()
                        .map(|&(it, next)| (it, next - 1))
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
        // The line with the condition is come to from before and from the loop's body.
        let lines = flow.lines([(2, 10), (3, 11), (4, 12)].into_iter());
        assert_eq!(lines, BTreeMap::from([(10, 3), (11, 33), (12, 30)]));
        // All in one line: it was come to as often as it was called, and its loop went round.
        let lines = flow.lines([(2, 10), (3, 10), (4, 10)].into_iter());
        assert_eq!(lines, BTreeMap::from([(10, 33)]));
        assert!(solve(5, &ways, &[30]).is_none());
        assert!(solve(5, &ways, &[30, 3, 1]).is_none());
        assert!(solve(4, &ways, &[30, 3]).is_none());
    }
}
