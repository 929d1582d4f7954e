//! Profiles of Score-P and Scalasca: `profile.cubex`, a tar of an anchor in XML and two files for
//! each metric, its index and its values.
//!
//! A value is of a place in the tree of calls and of a location, which is a thread of a process.
//! The time of a place, and the number of its calls, make a profile of calls; any other metric is
//! read as events.

mod anchor;
mod archive;
mod data;

use profundo_model::SampleKind;
use rustc_hash::{FxHashMap, FxHashSet};

use crate::quantities::call_values::{CallValues, Counted};
use crate::quantities::value::choose;
use crate::reader::{Reader, Table};
use crate::{Builder, Error, Named, Source, Unit, Value, Warning};
use anchor::{Anchor, Metric};
use data::Values;

pub(crate) const READER: Reader = Reader(&Table {
    name: NAME,
    writers: "Score-P, Scalasca, CubeLib (profile.cubex)",
    is_start: archive::is_start,
    fill,
});

const NAME: &str = "cube";

fn fill(source: &Source<'_>, builder: &mut Builder) -> Result<(), Error> {
    let malformed = |what: &str| Error::Malformed {
        format: NAME,
        what: what.to_owned(),
    };
    let (files, is_whole) = archive::files(source.bytes);
    if !is_whole {
        builder.warn(Warning::Damaged {
            offset: source.bytes.len() as u64,
            what: "the archive is cut".to_owned(),
        });
    }
    let anchor = files.get("anchor.xml");
    let anchor = anchor.ok_or_else(|| malformed("it has no anchor.xml"))?;
    let anchor =
        crate::encoding::unpack::all(anchor)?.map_or_else(|| anchor.to_vec(), |it| it.bytes);
    let anchor = Anchor::read(&anchor);
    // Only some of the metrics have values.
    let has_values = |metric: &&Metric| files.contains_key(&*format!("{}.data", metric.id));
    let metrics: Vec<&Metric> = anchor.metrics.iter().filter(has_values).collect();
    let usual = metrics.iter().position(|metric| metric.name == "time");
    let values: Vec<Value> = metrics
        .iter()
        .map(|metric| Value {
            name: metric.name.clone(),
            unit: metric.unit,
        })
        .collect();
    let wanted = source.options.value.as_deref();
    let row = choose(&values, wanted, usual.unwrap_or(0))?;
    let Some(&metric) = metrics.get(row) else {
        return Err(malformed("it has no values"));
    };
    let visits = metrics.iter().find(|metric| metric.name == "visits");
    let calls = match metric.unit {
        Unit::Time(_) => visits.map(|visits| anchor.values(visits, &files)),
        Unit::Bytes | Unit::Count => None,
    };
    add(builder, &anchor, metric, &files, calls, source.bytes.len());
    builder.note("the format has no times of single calls");
    Ok(())
}

/// Adds the values of a metric, with the numbers of calls.
fn add(
    builder: &mut Builder,
    anchor: &Anchor,
    metric: &Metric,
    files: &FxHashMap<&str, &[u8]>,
    calls: Option<Values>,
    length: usize,
) {
    /// The most values beyond one for each byte of the file, which packed ones may exceed.
    const MOST: usize = 1 << 19;
    let most = length.saturating_add(MOST);
    let mut threads = Vec::new();
    let mut taken = FxHashSet::default();
    for (row, location) in (0_u64..).zip(&anchor.locations) {
        let (process, rank) = match anchor.groups.get(location.group) {
            Some(group) => (&group.name[..], group.rank),
            None => ("", 0),
        };
        builder.process(rank, process);
        let number = u64::from(location.thread);
        // The streams of a graphics card may have the numbers of the program's threads.
        let number = match taken.insert((rank, number)) {
            true => number,
            false => (1 << 32) + row,
        };
        threads.push(builder.thread(rank, number, &location.name));
    }
    let mut stacks = Vec::with_capacity(anchor.nodes.len());
    let mut locations = FxHashMap::default();
    for node in &anchor.nodes {
        let location = *locations.entry(node.region).or_insert_with(|| {
            let region = anchor.regions.get(&node.region);
            let unknown = format!("region {}", node.region);
            builder.location(Named {
                function: region.map_or(&unknown, |region| &region.name),
                file: region.map(|region| &region.file[..]).unwrap_or_default(),
                line: region.map_or(0, |region| region.line),
                ..Named::default()
            })
        });
        let around = node.around.and_then(|row| stacks.get(row).copied());
        stacks.push(builder.stack(around, location));
    }
    let mut values = anchor.values(metric, files);
    if values.is_damaged {
        builder.leave_out("metrics", || metric.name.clone());
    }
    if metric.is_inclusive {
        values.subtract_inner(&anchor.nodes);
    }
    let mut sums = CallValues::default();
    for (row, &stack) in stacks.iter().enumerate() {
        if !values.has(row) && !calls.as_ref().is_some_and(|it| it.has(row)) {
            continue;
        }
        for (location, &thread) in threads.iter().enumerate() {
            let weight = metric.unit.weight(values.get(row, location));
            let calls = calls.as_ref().map_or(0.0, |it| it.get(row, location));
            let calls = calls.round() as u64;
            match (weight, calls) {
                (0, 0) => {}
                _ if sums.len() >= most => builder.leave_out("values", || metric.name.clone()),
                _ => sums.add(thread, stack, weight, calls),
            }
        }
    }
    match (metric.unit, calls) {
        (Unit::Time(_), Some(_)) => sums.finish_time(builder, SampleKind::Wall, Counted::Calls),
        (Unit::Time(_), None) => sums.finish_time(builder, SampleKind::Wall, Counted::Nothing),
        _ => sums.finish_events(builder, &metric.name, Counted::Nothing),
    }
}
