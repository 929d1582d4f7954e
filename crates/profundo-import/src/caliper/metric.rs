//! The numbers that records have, by their names: `sum#time.duration`, `avg#inclusive#…`, `count`.

use crate::quantities::call_values::Counted;
use crate::quantities::value::choose;
use crate::{Error, Unit, Value};

/// A number that records have.
#[derive(Debug, Clone, Default)]
pub(super) struct Metric {
    /// The name of the attribute.
    pub(super) name: String,
    /// The title in reports.
    pub(super) alias: String,
    /// The unit, where it is given.
    pub(super) unit: String,
}

/// The numbers that are read.
#[derive(Debug, Clone, Copy)]
pub(super) struct Choice {
    /// What samples weigh.
    pub(super) value: usize,
    /// The number of calls, or of measurements.
    pub(super) count: Option<usize>,
    pub(super) counted: Counted,
}

impl Metric {
    fn is_named(&self, name: &str) -> bool {
        self.name.eq_ignore_ascii_case(name) || self.alias.eq_ignore_ascii_case(name)
    }

    fn has(&self, text: &str) -> bool {
        self.name.contains(text)
    }

    /// The names of the operations that it comes from: `inclusive` and `sum` of
    /// `inclusive#sum#time.duration`.
    fn operations(&self) -> impl Iterator<Item = &str> {
        let (operations, _) = self.name.rsplit_once('#').unwrap_or_default();
        operations.split('#')
    }

    /// Whether it is elapsed time.
    pub(super) fn is_time(&self) -> bool {
        /// What is made of times by these is a share, a count, or a square of seconds. The value of
        /// an `iteration` is its number in the loop.
        const OTHERS: [&str; 8] = [
            "percent_total",
            "ipercent_total",
            "ratio",
            "iratio",
            "variance",
            "scount",
            "avg.count",
            "iteration",
        ];
        let is_point = self.has("offset") || self.has("timestamp") || self.has("starttime");
        let title = self.name.to_ascii_lowercase();
        // A `timestep` is none.
        let mut words = title.split(|letter: char| !letter.is_ascii_alphabetic());
        let is_named = words.any(|word| word.ends_with("time") || word.ends_with("duration"));
        let mut operations = self.operations();
        let is_other = operations.any(|it| OTHERS.contains(&it) || it.starts_with("histogram"));
        is_named && !is_point && !is_other && !title.contains('%')
    }

    /// Whether it has that of the callees in it.
    pub(super) fn is_inclusive(&self) -> bool {
        const OPERATIONS: [&str; 5] = ["imin", "imax", "iscale", "iratio", "ipercent_total"];
        let titles = [&self.name, &self.alias];
        let ends = ["(I)", "(inc)", "(incl)", "(inclusive)"];
        let ends = |title: &String| ends.iter().any(|end| title.ends_with(end));
        self.has("inclusive")
            || self.operations().any(|it| OPERATIONS.contains(&it))
            || titles.into_iter().any(ends)
            || self.name == "Total time"
    }

    /// Whether it is of some of the measurements or processes, and no sum.
    pub(super) fn is_statistic(&self) -> bool {
        const OPERATIONS: [&str; 8] = [
            "imin",
            "imax",
            "any",
            "variance",
            "ratio",
            "iratio",
            "percent_total",
            "ipercent_total",
        ];
        let of = |part: &str| {
            let part = part.to_ascii_lowercase();
            ["min", "max", "avg"].iter().any(|it| part.starts_with(it))
        };
        self.name.split('#').any(of) || self.operations().any(|it| OPERATIONS.contains(&it))
    }

    /// The unit. `is_old`: times without one are in microseconds, as they were before version 2.
    pub(super) fn unit(&self, is_old: bool) -> Unit {
        let unit = match &self.unit[..] {
            "nsec" => Unit::Time(1.0),
            unit => Unit::of_name(unit),
        };
        if unit != Unit::Count || !self.is_time() {
            return unit;
        }
        // Those of the graphics card are counted in nanoseconds, unless they were scaled.
        let is_card = self.has("cupti") || self.has("rocm");
        // A scaled time is one in seconds: reports divide by the unit to show these.
        let is_scaled = (self.operations()).any(|it| ["scale", "iscale"].contains(&it));
        match () {
            () if is_scaled => Unit::Time(1e9),
            () if self.name.ends_with(".ns") || is_card => Unit::Time(1.0),
            () if is_old => Unit::Time(1e3),
            () => Unit::Time(1e9),
        }
    }

    fn is_calls(&self) -> bool {
        let is_count = ["region.count", "rc.count", "Calls"];
        let is_count = is_count.iter().any(|end| self.name.ends_with(end));
        is_count && !self.is_statistic() && !self.has("inclusive")
    }

    fn is_samples(&self) -> bool {
        ["count", "sum#count", "aggregate.count"].contains(&&self.name[..])
    }

    /// The place in the order of usual values.
    fn rank(&self) -> u32 {
        let kind = match () {
            () if self.is_time() => 0,
            () if self.is_samples() => 4,
            () if self.is_calls() => 8,
            () if self.has("slot") || self.has("rank") || self.has("order") => 16,
            () => 12,
        };
        kind + u32::from(self.is_inclusive()) + 2 * u32::from(self.is_statistic())
    }
}

/// The wanted value, or the usual one. `None`: there are no numbers.
pub(super) fn choice(metrics: &[Metric], wanted: Option<&str>) -> Result<Option<Choice>, Error> {
    let find = |is: fn(&Metric) -> bool| metrics.iter().position(is);
    let usual = (metrics.iter().enumerate()).min_by_key(|(_, metric)| metric.rank());
    let Some((usual, _)) = usual else {
        return Ok(None);
    };
    let named = wanted.and_then(|name| metrics.iter().position(|metric| metric.is_named(name)));
    let value = match named {
        Some(value) => value,
        None => {
            let value = |metric: &Metric| Value {
                name: metric.name.clone(),
                unit: Unit::Count,
            };
            let values: Vec<Value> = metrics.iter().map(value).collect();
            choose(&values, wanted, usual)?
        }
    };
    let (count, counted) = match (find(Metric::is_calls), find(Metric::is_samples)) {
        (Some(calls), _) => (Some(calls), Counted::Calls),
        (None, Some(samples)) => (Some(samples), Counted::Samples),
        (None, None) => (None, Counted::Nothing),
    };
    Ok(Some(Choice {
        value,
        count,
        counted,
    }))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn usual(names: &[&str]) -> String {
        let metric = |name: &&str| Metric {
            name: (*name).to_owned(),
            ..Metric::default()
        };
        let metrics: Vec<Metric> = names.iter().map(metric).collect();
        let choice = choice(&metrics, None).unwrap().unwrap();
        metrics[choice.value].name.clone()
    }

    #[test]
    fn own_time_is_the_usual_value() {
        let names = [
            "count",
            "min#time.duration",
            "inclusive#sum#time.duration",
            "time.offset",
            "sum#time.duration",
        ];
        assert_eq!(usual(&names), "sum#time.duration");
        assert_eq!(usual(&names[..3]), "inclusive#sum#time.duration");
        assert_eq!(usual(&names[..2]), "min#time.duration");
        assert_eq!(usual(&["aggregate.slot", "count"]), "count");
        let inclusive = ["variance#inclusive#sum#time.duration", "isum", names[2]];
        assert_eq!(usual(&inclusive), names[2]);
        assert_eq!(usual(&["iteration#timesteps", "count"]), "count");
    }

    #[test]
    fn what_is_made_of_times_is_a_time_or_not() {
        let metric = |name: &str| Metric {
            name: name.to_owned(),
            ..Metric::default()
        };
        for name in [
            "percent_total#sum#time.duration",
            "ratio#time.duration/count",
            "variance#inclusive#sum#time.duration",
            "iteration#time loop",
            "timestep",
        ] {
            assert_eq!(metric(name).unit(false), Unit::Count, "{name}");
        }
        let seconds = metric("iscale#sum#time.duration.ns");
        assert_eq!(seconds.unit(false), Unit::Time(1e9));
        assert!(seconds.is_inclusive() && !seconds.is_statistic());
        assert_eq!(metric("sum#time.duration.ns").unit(true), Unit::Time(1.0));
        assert_eq!(metric("Total runtime").unit(true), Unit::Time(1e3));
        assert!(metric("imax#sum#time.duration").is_statistic());
    }
}
