//! The types of values, by their names and units: CPU time, elapsed time and allocated bytes. The
//! store has no place for others.

use profundo_store::table::Kind;

/// A value of samples that the store takes.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Value {
    pub(crate) column: usize,
    /// The column of the number of samples.
    pub(crate) count: Option<usize>,
    pub(crate) kind: Kind,
    pub(crate) state: &'static str,
    /// Nanoseconds or bytes in one of the unit.
    pub(crate) factor: f64,
    /// The nominal distance of two samples, or 0.
    pub(crate) period: u64,
}

/// A type of value as it stands in a message.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) struct Named<'a> {
    pub(crate) name: &'a str,
    pub(crate) unit: &'a str,
}

/// The values to take, and the names of those that are left out.
pub(crate) fn choose<'a>(
    types: &[Named<'a>],
    period: Option<(Named<'a>, u64)>,
) -> (Vec<Value>, Vec<&'a str>) {
    let times: Vec<(usize, Kind, &'static str, f64)> = (types.iter().enumerate())
        .filter_map(|(column, named)| {
            let factor = time_factor(named.unit)?;
            let (kind, state) = kind_of_time(named.name)?;
            Some((column, kind, state, factor))
        })
        .collect();
    let mut taken: Vec<Value> = Vec::new();
    let mut used = vec![false; types.len()];
    let nominal = |kind: Kind| {
        let (of, period) = period?;
        let is_it = kind_of_time(of.name).is_some_and(|(named, _)| named == kind);
        let nanos = period as f64 * time_factor(of.unit)?;
        (is_it && nanos >= 1.0).then_some(nanos as u64)
    };
    for kind in [Kind::Cpu, Kind::Wall] {
        // Elapsed time as a whole comes before a part of it.
        let mut of_kind = times.iter().filter(|time| time.1 == kind);
        let whole = of_kind.clone().find(|time| time.2 != "waiting");
        if let Some(&(column, kind, state, factor)) = whole.or_else(|| of_kind.next()) {
            let count = samples_of(types, column);
            used[column] = true;
            if let Some(count) = count {
                used[count] = true;
            }
            let period = nominal(kind).unwrap_or(0);
            taken.push(Value {
                column,
                count,
                kind,
                state,
                factor,
                period,
            });
        }
    }
    let is_bytes = |named: &Named<'_>| named.unit.eq_ignore_ascii_case("bytes");
    let allocated = |named: &Named<'_>| {
        is_bytes(named)
            && matches!(
                &plain(named.name)[..],
                "alloc_space"
                    | "alloc_size"
                    | "alloc_bytes"
                    | "alloc_in_new_tlab_bytes"
                    | "allocated_space"
            )
    };
    if let Some(column) = types.iter().position(allocated) {
        let count = types.iter().position(|named| {
            matches!(
                &plain(named.name)[..],
                "alloc_objects"
                    | "alloc_count"
                    | "alloc_samples"
                    | "alloc_in_new_tlab_objects"
                    | "allocated_objects"
            )
        });
        used[column] = true;
        if let Some(count) = count {
            used[count] = true;
        }
        let period = period.filter(|(of, _)| is_bytes(of));
        taken.push(Value {
            column,
            count,
            kind: Kind::Alloc,
            state: "running",
            factor: 1.0,
            period: period.map_or(1, |(_, bytes)| bytes.max(1)),
        });
    }
    // A number of samples whose distance is a time.
    if taken.is_empty()
        && let Some((of, _)) = period
        && let Some((kind, state)) = kind_of_time(of.name)
        && let Some(nanos) = nominal(kind)
        && let Some(column) = types.iter().position(is_number_of_samples)
    {
        used[column] = true;
        taken.push(Value {
            column,
            count: Some(column),
            kind,
            state,
            factor: nanos as f64,
            period: nanos,
        });
    }
    let left_out = types.iter().zip(&used).filter(|(_, used)| !**used);
    let left_out = left_out.map(|(named, _)| named.name).collect();
    (taken, left_out)
}

/// Nanoseconds in a unit of time.
fn time_factor(unit: &str) -> Option<f64> {
    match &unit.to_ascii_lowercase()[..] {
        "nanoseconds" | "nanosecond" | "ns" => Some(1.0),
        "microseconds" | "microsecond" | "us" => Some(1e3),
        "milliseconds" | "millisecond" | "ms" => Some(1e6),
        "seconds" | "second" | "s" => Some(1e9),
        _ => None,
    }
}

/// The kind of a time and the state of its threads. Waits for locks are none: they are parts of
/// elapsed time, and would be added to it.
fn kind_of_time(name: &str) -> Option<(Kind, &'static str)> {
    let name = plain(name);
    if name.contains("off_cpu") || name.contains("offcpu") {
        Some((Kind::Wall, "waiting"))
    } else if name.contains("cpu") {
        Some((Kind::Cpu, "running"))
    } else if name.contains("wall") || name.contains("clock") || name == "itimer" {
        Some((Kind::Wall, "on"))
    } else {
        None
    }
}

/// The number of samples of a time: it stands before it, or is the only one.
fn samples_of(types: &[Named<'_>], time: usize) -> Option<usize> {
    let is_one = |column: &usize| types.get(*column).is_some_and(is_number_of_samples);
    let before = time.checked_sub(1).filter(is_one);
    before.or_else(|| (0..types.len()).find(is_one))
}

fn is_number_of_samples(named: &Named<'_>) -> bool {
    let name = plain(named.name);
    let is_count = named.unit.eq_ignore_ascii_case("count") || named.unit == "1";
    is_count && (name.ends_with("sample") || name.ends_with("samples")) && !name.contains("alloc")
        || is_count && matches!(&name[..], "events" | "event")
}

fn plain(name: &str) -> String {
    name.to_ascii_lowercase().replace(['-', ' ', '.'], "_")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn chosen(types: &'static str, period: &'static str) -> (String, Vec<&'static str>) {
        let named = |text: &'static str| {
            let (name, unit) = text.split_once('/').unwrap();
            Named { name, unit }
        };
        let types: Vec<Named<'static>> = types.split(' ').map(named).collect();
        let period = (!period.is_empty()).then(|| (named(period), 10));
        let (taken, left_out) = choose(&types, period);
        let taken = taken.iter().map(|value| {
            let kind = value.kind.name();
            format!("{kind}:{}:{:?}:{}", value.column, value.count, value.factor)
        });
        (taken.collect::<Vec<_>>().join(" "), left_out)
    }

    #[test]
    fn times_and_allocations_are_taken() {
        let none: Vec<&str> = Vec::new();
        assert_eq!(
            chosen("samples/count cpu/nanoseconds", "cpu/nanoseconds"),
            ("cpu:1:Some(0):1".to_owned(), none.clone())
        );
        let go = "alloc_objects/count alloc_space/bytes inuse_objects/count inuse_space/bytes";
        assert_eq!(
            chosen(go, "space/bytes"),
            (
                "alloc:1:Some(0):1".to_owned(),
                vec!["inuse_objects", "inuse_space"]
            )
        );
        // An agent of the kernel counts, and says how far two samples are apart.
        assert_eq!(
            chosen("samples/count", "cpu/milliseconds"),
            ("cpu:0:Some(0):10000000".to_owned(), none)
        );
        assert_eq!(
            chosen("events/count", "off_cpu/nanoseconds").0,
            "wall:0:Some(0):10"
        );
        assert_eq!(
            chosen("contentions/count delay/nanoseconds", "contentions/count"),
            (String::new(), vec!["contentions", "delay"])
        );
        let many = "cpu-samples/count cpu-time/nanoseconds wall-time/nanoseconds \
                    lock-wait/nanoseconds alloc-samples/count alloc-space/bytes";
        assert_eq!(
            chosen(many, ""),
            (
                "cpu:1:Some(0):1 wall:2:Some(0):1 alloc:5:Some(4):1".to_owned(),
                vec!["lock-wait"]
            )
        );
    }
}
