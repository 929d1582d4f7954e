//! Records as both forms have them: a path, a process, a thread, and numbers.

use profundo_model::{SampleKind, StackId};

use rustc_hash::FxHashSet;

use super::metric::{Choice, Metric};
use crate::quantities::call_values::{CallValues, Counted};
use crate::{Builder, Named, Unit};

/// Whether the values of an attribute are numbers of processes.
pub(super) fn is_rank(attribute: &str) -> bool {
    ["mpi.rank", "Rank"].contains(&attribute)
}

/// Whether the values of an attribute are numbers of threads.
pub(super) fn is_thread(attribute: &str) -> bool {
    ["pthread.id", "omp.thread.id", "thread.id", "omp.thread"].contains(&attribute)
}

/// Whether the values of an attribute are functions that call each other.
pub(super) fn is_callpath(attribute: &str) -> bool {
    ["source.function#callpath", "callpath.regname"]
        .iter()
        .any(|start| attribute.starts_with(start))
}

/// A record without its path.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Record {
    pub(super) rank: Option<u32>,
    pub(super) thread: Option<u64>,
    pub(super) value: f64,
    /// The number of calls, or of measurements.
    pub(super) count: f64,
}

/// The records so far.
#[derive(Debug)]
pub(super) struct Records {
    values: CallValues,
    ranks: FxHashSet<u32>,
    unit: Unit,
    outside: Option<StackId>,
}

impl Records {
    pub(super) fn new(unit: Unit) -> Self {
        Self {
            values: CallValues::default(),
            ranks: FxHashSet::default(),
            unit,
            outside: None,
        }
    }

    /// Adds a record. One without a path is of the time outside of all regions.
    pub(super) fn add(&mut self, builder: &mut Builder, stack: Option<StackId>, record: &Record) {
        let stack = stack.unwrap_or_else(|| {
            *self.outside.get_or_insert_with(|| {
                let location = builder.location(Named {
                    function: "[outside of regions]",
                    ..Named::default()
                });
                builder.stack(None, location)
            })
        });
        if let Some(rank) = record.rank
            && self.ranks.insert(rank)
        {
            builder.process(rank, &format!("rank {rank}"));
        }
        let rank = record.rank.unwrap_or(0);
        let thread = builder.thread(rank, record.thread.unwrap_or(0), "");
        let value = self.unit.weight(record.value);
        // A cast saturates, and takes what is no number as 0.
        let count = record.count.round() as u64;
        self.values.add(thread, stack, value, count);
    }

    pub(super) fn finish(mut self, builder: &mut Builder, metrics: &[Metric], choice: Choice) {
        let Some(metric) = metrics.get(choice.value) else {
            return;
        };
        if metric.is_inclusive() {
            self.values.subtract_callees(builder);
        }
        if metric.is_statistic() {
            builder.note(format!(
                "each value is {} of several processes or records, not their sum",
                metric.name
            ));
        }
        let counted = choice.counted;
        match self.unit {
            Unit::Time(_) => self.values.finish_time(builder, SampleKind::Wall, counted),
            Unit::Bytes | Unit::Count => {
                let counted = match counted {
                    Counted::Calls => Counted::Nothing,
                    counted => counted,
                };
                self.values.finish_events(builder, &metric.name, counted);
            }
        }
        if self.ranks.is_empty() {
            builder.note(
                "the file does not say which process a value is of: if there were several, they \
                 are added up",
            );
        }
    }
}
