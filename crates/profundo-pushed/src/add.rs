//! Decoded rows on their way into a segment.

use profundo_store::ids::Id;
use profundo_store::{Batch, BatchSample, Writer};

use crate::Decoded;

impl Decoded<'_> {
    /// Adds all rows to those of a segment.
    pub fn add(&self, writer: &mut Writer, batch: &mut Batch) {
        let rows = &self.rows;
        // The ids of stacks and threads in the hour and service of the row before.
        let mut stacks: Vec<Option<Id>> = Vec::new();
        let mut series: Vec<Option<i64>> = Vec::new();
        let mut at = 0;
        while let Some(first) = rows.get(at) {
            let group = &self.groups[first.group as usize];
            let mut gathering = writer.gather(batch, &group.identity.service, first.ts);
            stacks.clear();
            stacks.resize(self.stacks(), None);
            series.clear();
            series.resize(group.threads.len(), None);
            while let Some(row) = rows.get(at) {
                if row.group != first.group || !gathering.has(row.ts) {
                    break;
                }
                let series = *series[row.thread as usize].get_or_insert_with(|| {
                    let thread = &group.threads[row.thread as usize];
                    gathering.thread(&group.identity, thread)
                });
                let stack = *stacks[row.stack as usize].get_or_insert_with(|| {
                    let (ids, places) = self.frames_of(row.stack);
                    gathering.stack(ids, |place| self.frames[places[place] as usize])
                });
                let sample = BatchSample {
                    kind: row.kind,
                    ts: row.ts,
                    series,
                    stack,
                    state: row.state,
                    gil: row.gil,
                    span: &self.spans[row.span as usize],
                    value: row.value,
                    count: row.count,
                };
                gathering.add(&sample, row.period);
                at += 1;
            }
        }
        batch.count_lost(0, self.truncated);
    }
}
