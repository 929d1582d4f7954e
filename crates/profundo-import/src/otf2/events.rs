//! The events of a location: what it enters and leaves makes a tree of calls with their times.

use rustc_hash::FxHashMap;

use super::records::{Damage, Record, little_endian, records};

/// The calls of a region in one place of the tree. A parent comes before its children.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct Visit {
    pub(super) parent: Option<usize>,
    pub(super) region: u64,
    pub(super) calls: u64,
    /// The ticks of all calls, added up.
    pub(super) total: u64,
    /// The ticks of the calls that they made.
    pub(super) inner: u64,
}

/// The tree of a location.
#[derive(Debug, Default)]
pub(super) struct Tree {
    pub(super) visits: Vec<Visit>,
    pub(super) first: u64,
    pub(super) last: u64,
    /// Whether regions were left open.
    pub(super) is_unfinished: bool,
    rows: FxHashMap<(Option<usize>, u64), usize>,
    /// The rows of the open regions, and when they were entered.
    open: Vec<(usize, u64)>,
}

/// The deepest tree. Deeper calls are parts of the deepest one.
const DEEPEST: usize = 4096;

/// Reads the file of a location's events.
pub(super) fn tree(
    bytes: &[u8],
    chunk: usize,
    map: &FxHashMap<u64, u64>,
) -> (Tree, Option<Damage>) {
    const ENTER: u8 = 12;
    const LEAVE: u8 = 13;
    let mut tree = Tree {
        first: u64::MAX,
        ..Tree::default()
    };
    let mut deeper = 0_u64;
    let damage = records(bytes, chunk, true, |record| match record {
        Record::Time(time) => {
            tree.first = tree.first.min(time);
            tree.last = tree.last.max(time);
        }
        Record::Plain(ENTER, _) if tree.open.len() >= DEEPEST => deeper += 1,
        Record::Plain(ENTER, region) => {
            if let Some(region) = little_endian(region) {
                tree.enter(*map.get(&region).unwrap_or(&region));
            }
        }
        Record::Plain(LEAVE, _) if deeper > 0 => deeper -= 1,
        Record::Plain(LEAVE, _) => tree.leave(),
        Record::Plain(..) => {}
    });
    tree.is_unfinished = !tree.open.is_empty();
    while !tree.open.is_empty() {
        tree.leave();
    }
    tree.first = tree.first.min(tree.last);
    (tree, damage)
}

impl Tree {
    fn enter(&mut self, region: u64) {
        let parent = self.open.last().map(|&(row, _)| row);
        let row = *self.rows.entry((parent, region)).or_insert_with(|| {
            self.visits.push(Visit {
                parent,
                region,
                ..Visit::default()
            });
            self.visits.len() - 1
        });
        self.open.push((row, self.last));
    }

    fn leave(&mut self) {
        let Some((row, since)) = self.open.pop() else {
            return;
        };
        let length = self.last.saturating_sub(since);
        if let Some(visit) = self.visits.get_mut(row) {
            visit.calls += 1;
            visit.total = visit.total.saturating_add(length);
        }
        let outer = self
            .open
            .last()
            .and_then(|&(row, _)| self.visits.get_mut(row));
        if let Some(outer) = outer {
            outer.inner = outer.inner.saturating_add(length);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A file of one chunk with these records.
    fn file(records: &[u8]) -> Vec<u8> {
        let mut bytes = vec![3, b'B'];
        bytes.extend([0; 16]);
        bytes.extend(records);
        bytes.extend([2, 1]);
        bytes
    }

    fn at(time: u8) -> [u8; 9] {
        [5, time, 0, 0, 0, 0, 0, 0, 0]
    }

    #[test]
    fn own_time_is_what_inner_calls_leave() {
        let records = [
            &at(10)[..],
            &[12, 1, 7],
            &at(13),
            &[12, 0],
            &at(20),
            &[13, 0, 99, 2, 1, 1],
            &at(30),
            &[13, 1, 7],
        ];
        let bytes = file(&records.concat());
        let map = [(7, 70)].into_iter().collect();
        let (found, damage) = tree(&bytes, 4096, &map);
        assert_eq!(damage, None);
        let visit = |parent, region, total, inner| Visit {
            parent,
            region,
            calls: 1,
            total,
            inner,
        };
        assert_eq!(
            found.visits,
            [visit(None, 70, 20, 7), visit(Some(0), 0, 7, 0)]
        );
        assert_eq!((found.first, found.last), (10, 30));
        // A cut file gives the calls so far, up to the last time.
        let (found, damage) = tree(&bytes[..44], 4096, &map);
        assert!(damage.is_some() && found.is_unfinished);
        assert_eq!(found.visits[0].total, 3);
    }

    #[test]
    fn damage_is_no_reason_to_panic() {
        let whole = file(&[&at(1)[..], &[12, 1, 7], &at(9), &[13, 1, 7]].concat());
        for at in 0..whole.len() {
            let _ = tree(&whole[..at], 4096, &FxHashMap::default());
            for changed in [0, 0xff, 5, 12] {
                let mut bytes = whole.clone();
                bytes[at] = changed;
                let _ = tree(&bytes, 8, &FxHashMap::default());
                let _ = super::super::definitions::Definitions::read(&bytes, 4096);
                let _ = super::super::definitions::regions_of(&bytes, 4096);
            }
        }
    }
}
