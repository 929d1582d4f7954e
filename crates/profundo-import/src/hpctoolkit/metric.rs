//! The quantities that were sampled: `CPUTIME (sec)`, `REALTIME (usec)`, `cycles`.

use profundo_model::SampleKind;

use crate::quantities::call_values::{CallValues, Counted};
use crate::quantities::value::choose;
use crate::{Builder, Error, Unit, Value};

/// A quantity.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Metric {
    pub(super) name: String,
    unit: Unit,
}

impl Metric {
    /// The quantity of a title, which has its unit in brackets.
    pub(super) fn of(title: &str) -> Self {
        let title = title.trim();
        let parts = title
            .strip_suffix(')')
            .and_then(|title| title.rsplit_once(" ("));
        let (name, unit) = parts.unwrap_or((title, ""));
        Self {
            name: name.to_owned(),
            unit: Unit::of_name(unit),
        }
    }

    /// The place in the order of usual values.
    fn rank(&self) -> usize {
        let names = ["CPUTIME", "REALTIME", "WALLCLOCK", "cycles", "PAPI_TOT_CYC"];
        let known = names.iter().position(|name| self.name.starts_with(name));
        known.unwrap_or(names.len())
    }

    pub(super) fn weight(&self, value: f64) -> u64 {
        self.unit.weight(value)
    }

    /// Fills the profile with the values of this quantity.
    pub(super) fn finish(&self, builder: &mut Builder, values: CallValues) {
        let counted = Counted::Nothing;
        match self.unit {
            Unit::Time(_) if self.name.starts_with("CPUTIME") => {
                values.finish_time(builder, SampleKind::Cpu, counted);
            }
            Unit::Time(_) => values.finish_time(builder, SampleKind::Wall, counted),
            Unit::Bytes | Unit::Count => values.finish_events(builder, &self.name, counted),
        }
    }
}

/// The row of the wanted quantity, or of the usual one of those that have values.
pub(super) fn choice(
    metrics: &[Metric],
    wanted: Option<&str>,
    has_values: impl Fn(usize) -> bool,
) -> Result<usize, Error> {
    let rows = metrics.iter().enumerate();
    let rows = rows.filter(|(row, _)| has_values(*row));
    let usual = rows.min_by_key(|(_, metric)| metric.rank());
    let usual = usual.map_or(0, |(row, _)| row);
    let value = |metric: &Metric| Value {
        name: metric.name.clone(),
        unit: metric.unit,
    };
    let values: Vec<Value> = metrics.iter().map(value).collect();
    choose(&values, wanted, usual)
}
