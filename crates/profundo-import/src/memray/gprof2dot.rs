//! The JSON that gprof2dot reads: `{"version": 0, "costs": [{description, unit}], "functions":
//! [{name, module}], "events": [{callchain: [innermost …], cost: […]}]}`. memray writes it with one
//! cost in bytes; others may write times or counts.

use std::borrow::Cow;

use profundo_model::{Amount, LocationId, SampleKind, State};

use super::{ONE_AMOUNT, add, named};
use crate::encoding::json::{Json, Read, member, members};
use crate::quantities::value::{Unit, Value, choose};
use crate::reader::{Reader, Table};
use crate::{Builder, Error, Row, Source};

pub(crate) const READER: Reader = Reader(&Table {
    name: "gprof2dot",
    writers: "memray transform gprof2dot",
    is_start,
    fill,
});

/// The most frames of a stack. Deeper ones are cut at their leaf's end.
const DEEPEST: usize = 4096;

fn is_start(start: &[u8]) -> bool {
    let members = members(start);
    let has = |key| member(&members, key).is_some();
    has("version") && has("costs") && (has("events") || has("functions"))
}

/// An event: functions, the innermost first, and its costs.
#[derive(Debug, Default)]
struct Event {
    functions: Vec<u32>,
    costs: Vec<f64>,
}

/// The file so far. Events may come before their functions.
#[derive(Debug, Default)]
struct Whole<'a> {
    values: Vec<Value>,
    functions: Vec<(Cow<'a, str>, Cow<'a, str>)>,
    events: Vec<Event>,
}

fn fill(source: &Source<'_>, builder: &mut Builder) -> Result<(), Error> {
    let mut whole = Whole::default();
    if let Err(damage) = read(source.bytes, &mut whole) {
        builder.warn(damage.warning());
    }
    let chosen = choose(&whole.values, source.options.value.as_deref(), 0)?;
    let unit = whole
        .values
        .get(chosen)
        .map_or(Unit::Count, |value| value.unit);
    let locations: Vec<LocationId> = (whole.functions.iter())
        .map(|(name, module)| builder.location(named(name, module, 0)))
        .collect();
    match unit {
        Unit::Bytes => builder.note(ONE_AMOUNT),
        Unit::Time(_) => builder.weighs(SampleKind::Wall, ""),
        Unit::Count => {
            let name = whole.values.get(chosen).map_or("", |value| &value.name);
            builder.weighs(SampleKind::Events, name);
        }
    }
    let thread = builder.only_thread();
    for (event, number) in whole.events.iter().zip(1_u64..) {
        let functions = event.functions.iter().rev().take(DEEPEST);
        let known = functions.filter_map(|&row| locations.get(row as usize).copied());
        let (Some(stack), Some(&cost)) = (builder.stack_of(known), event.costs.get(chosen)) else {
            builder.leave_out("events", || format!("event {number}"));
            continue;
        };
        let weight = unit.weight(cost);
        match unit {
            Unit::Bytes => add(
                builder,
                stack,
                Amount {
                    count: 1,
                    bytes: weight,
                },
            ),
            Unit::Time(_) | Unit::Count => builder.sample(Row {
                stack,
                thread,
                weight,
                samples: if matches!(unit, Unit::Count) {
                    weight
                } else {
                    1
                },
                time: None,
                state: match unit {
                    Unit::Time(_) => State::WallRunning,
                    _ => State::Running,
                },
            }),
        }
    }
    builder.note("a gprof2dot file has no lines, threads or times");
    Ok(())
}

fn read<'a>(bytes: &'a [u8], whole: &mut Whole<'a>) -> Read<()> {
    Json::new(bytes).object(|json, key| match key {
        "costs" => json.array(|json| {
            let (mut name, mut unit) = (Cow::default(), Cow::default());
            json.object(|json, key| {
                match key {
                    "description" => name = json.text()?.unwrap_or_default(),
                    "unit" => unit = json.text()?.unwrap_or_default(),
                    _ => json.skip()?,
                }
                Ok(())
            })?;
            whole.values.push(Value {
                name: name.into_owned(),
                unit: Unit::of_name(&unit),
            });
            Ok(())
        }),
        "functions" => json.array(|json| {
            let (mut name, mut module) = (Cow::default(), Cow::default());
            json.object(|json, key| {
                match key {
                    "name" => name = json.text()?.unwrap_or_default(),
                    "module" => module = json.text()?.unwrap_or_default(),
                    _ => json.skip()?,
                }
                Ok(())
            })?;
            whole.functions.push((name, module));
            Ok(())
        }),
        "events" => json.array(|json| {
            let mut event = Event::default();
            json.object(|json, key| match key {
                "callchain" => json.array(|json| {
                    event.functions.push(json.index()?.unwrap_or(u32::MAX));
                    Ok(())
                }),
                "cost" => json.array(|json| {
                    event.costs.push(json.number()?.unwrap_or(0.0));
                    Ok(())
                }),
                _ => json.skip(),
            })?;
            whole.events.push(event);
            Ok(())
        }),
        _ => json.skip(),
    })
}
