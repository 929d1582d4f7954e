//! A lookup first goes to the bucket of [`BUCKET_BYTES`] bytes of code that holds the address,
//! which leaves a handful of rows next to each other: one or two cache lines.

use crate::Row;

/// Bytes of code to one entry of the index.
pub const BUCKET_BYTES: u32 = 1 << BUCKET_SHIFT;
const BUCKET_SHIFT: u32 = 8;

/// Buckets with more rows than this are searched by halving.
const FEW: usize = 16;

/// The compiled rows of one module, borrowed: from a [`Table`](crate::Table) or a mapped file.
///
/// Nothing here is trusted: rows out of order or an index that is not theirs give wrong rules or
/// none, no panic.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[repr(C)]
pub struct TableRef<'a> {
    /// The address in memory that rows and index count from.
    pub base: u64,
    /// Sorted by pc. The last one is without information: it ends the one before.
    pub rows: &'a [Row],
    /// Entry `b` is the number of rows that begin before byte `b * BUCKET_BYTES`. It has one entry
    /// more than there are buckets.
    pub index: &'a [u32],
}

impl TableRef<'_> {
    /// The row that holds at an address, if there is information.
    #[inline]
    pub fn find(&self, pc: u64) -> Option<Row> {
        let pc = u32::try_from(pc.checked_sub(self.base)?).ok()?;
        let bucket = (pc >> BUCKET_SHIFT) as usize;
        let first = *self.index.get(bucket)? as usize;
        let last = *self.index.get(bucket + 1)? as usize;
        let rows = self.rows.get(first..last)?;
        let begun = if rows.len() <= FEW {
            rows.iter().take_while(|row| row.pc() <= pc).count()
        } else {
            rows.partition_point(|row| row.pc() <= pc)
        };
        let row = *self.rows.get((first + begun).checked_sub(1)?)?;
        (!row.is_none()).then_some(row)
    }

    /// The possible starts of the function that holds an address, judged by rows: the ranges with
    /// the rule of a first instruction, nearest first, back to one that begins on a boundary as
    /// functions do. A `ret` has the same rule, but seldom lies there. It looks back over at most
    /// `limit` rows and never past code without information.
    pub(crate) fn entries_before(&self, pc: u64, limit: usize) -> Entries {
        let mut entries = Entries::default();
        let Some(pc) = pc
            .checked_sub(self.base)
            .and_then(|pc| u32::try_from(pc).ok())
        else {
            return entries;
        };
        let end = self.rows.partition_point(|row| row.pc() <= pc);
        let mut rows = self.rows.get(..end).unwrap_or_default().iter().rev();
        let mut next = pc.saturating_add(1);
        let mut rest = entries.ranges.iter_mut();
        while let Some(row) = rows.next().filter(|row| !row.is_none()) {
            if end - rows.len() > limit {
                break;
            }
            if row.is_entry() {
                let Some(range) = rest.next() else { break };
                *range = (
                    self.base.wrapping_add(row.pc().into()),
                    self.base.wrapping_add(next.into()),
                );
                if row.pc().is_multiple_of(16) {
                    break;
                }
            }
            next = row.pc();
        }
        entries
    }
}

/// Places where a function may begin.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Entries {
    ranges: [(u64, u64); 8],
}

impl Entries {
    /// The start of the range that an address is in.
    pub fn find(&self, address: u64) -> Option<u64> {
        let holds = |range: &&(u64, u64)| range.0 <= address && address < range.1;
        self.ranges.iter().find(holds).map(|range| range.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Rule;

    #[test]
    fn an_address_belongs_to_the_last_row_that_began() {
        let rows = [
            Row::new(0x10, Rule::sp(8)),
            Row::new(0x11, Rule::sp(16)),
            Row::new(0x20, Rule::NONE),
            Row::new(0x300, Rule::fp()),
            Row::new(0x301, Rule::NONE),
        ];
        let table = TableRef {
            base: 0x1000,
            rows: &rows,
            index: &[0, 3, 3, 3, 5],
        };
        let check = |pc, expected: Option<Rule>| {
            assert_eq!(table.find(pc).map(Row::rule), expected, "{pc:#x}");
        };
        check(0, None);
        check(0xfff, None);
        check(0x100f, None);
        check(0x1010, Some(Rule::sp(8)));
        check(0x1011, Some(Rule::sp(16)));
        check(0x101f, Some(Rule::sp(16)));
        check(0x1020, None);
        check(0x1200, None);
        check(0x1300, Some(Rule::fp()));
        check(0x1301, None);
        check(0x1400, None);
        check(u64::MAX, None);
        let entries = table.entries_before(0x1018, 8);
        assert_eq!(entries.find(0x1010), Some(0x1010));
        assert_eq!(entries.find(0x1011), None);
        assert_eq!(table.entries_before(0x1018, 1).find(0x1010), None);
        assert_eq!(table.entries_before(0x1300, 8).find(0x1010), None);
    }

    #[test]
    fn a_damaged_index_finds_nothing() {
        let rows = [Row::new(0, Rule::sp(8))];
        for index in [&[][..], &[0], &[7, 9], &[9, 7], &[u32::MAX, 0]] {
            let table = TableRef {
                base: 0,
                rows: &rows,
                index,
            };
            assert_eq!(table.find(0), None);
        }
    }
}
