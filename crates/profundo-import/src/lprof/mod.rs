//! The file of line_profiler (`kernprof -l`): a pickled `LineStats` with
//! `timings`, `{(file, first line, function): [(line, hits, time)]}`, and the `unit` of the times
//! in seconds.

mod pickle;
mod words;

use profundo_model::{Clock, Language, Line, Nanos, Tracing};

use crate::reader::{Reader, Table};
use crate::{Builder, Error, Named, Source, Warning};
use pickle::{Machine, Value};

pub(crate) const READER: Reader = Reader(&Table {
    name: "lprof",
    writers: "line_profiler (kernprof -l)",
    is_start,
    fill,
});

/// Whether it is a pickle that soon names the class of line_profiler's results.
fn is_start(start: &[u8]) -> bool {
    const STEPS: u32 = 16;
    let is_pickle = matches!(start, [0x80, 0..=5, ..] | [b'c', ..]);
    is_pickle && Machine::new(start).meets_class(STEPS, is_line_stats)
}

fn is_line_stats(class: &str) -> bool {
    class.ends_with(".LineStats") && class.contains("line_profiler")
}

fn fill(source: &Source<'_>, builder: &mut Builder) -> Result<(), Error> {
    let mut machine = Machine::new(source.bytes);
    let value = machine.run();
    let (functions, unit) = match value {
        Ok(value) => whole(&machine, value).ok_or_else(|| Error::Malformed {
            format: READER.name(),
            what: "it has no timings".to_owned(),
        })?,
        Err(stop) => {
            builder.warn(Warning::Damaged {
                offset: stop.at as u64,
                what: stop.why.to_owned(),
            });
            (unfinished(&machine), None)
        }
    };
    let has_unit = unit.is_some();
    let traced = &mut builder.profile.traced;
    traced.tracing = Tracing::Lines;
    traced.clock = if has_unit { Clock::Wall } else { Clock::None };
    // Several functions of a damaged file may refer to the same lines. Each takes four bytes.
    let mut left = source.bytes.len() / 4;
    for [key, lines] in functions {
        let lines = machine.items(lines);
        let within = lines.len().min(left);
        left -= within;
        let lines = lines.get(..within).unwrap_or_default();
        if function(builder, &machine, key, lines, unit.unwrap_or(0.0)).is_none() {
            builder.leave_out("functions", || "one without a name".to_owned());
        }
    }
    if !has_unit {
        builder.note("the file is cut before the unit of its times: they are left out");
    }
    builder.note("an lprof file has no threads, and no calls");
    Ok(())
}

/// The functions of a whole file, and the unit.
fn whole(machine: &Machine<'_>, value: Value) -> Option<(Vec<[Value; 2]>, Option<f64>)> {
    let object = machine.object(value)?;
    let is_meant = machine.text(object.class).is_some_and(is_line_stats);
    let state = match machine.items(object.state) {
        // The state of a class with slots.
        [state, _] => *state,
        _ => object.state,
    };
    let timings = machine.at(state, "timings").filter(|_| is_meant)?;
    let unit = match machine.at(state, "unit") {
        Some(Value::Float(unit)) => Some(unit),
        Some(Value::Int(unit)) => Some(unit as f64),
        _ => None,
    };
    Some((machine.pairs(timings).to_vec(), unit))
}

/// The functions that a cut file has put on the stack, and not yet into the dictionary.
fn unfinished(machine: &Machine<'_>) -> Vec<[Value; 2]> {
    let mut found: Vec<[Value; 2]> = Vec::new();
    for &value in &machine.stack {
        found.extend(
            machine
                .pairs(value)
                .iter()
                .filter(|[key, _]| is_key(machine, *key)),
        );
    }
    let on_stack = machine.stack.windows(2).filter_map(|pair| match *pair {
        [key, lines] if is_key(machine, key) => Some([key, lines]),
        _ => None,
    });
    found.extend(on_stack);
    found
}

fn is_key(machine: &Machine<'_>, key: Value) -> bool {
    matches!(
        machine.items(key),
        [Value::Text(_), Value::Int(_), Value::Text(_)]
    )
}

fn function(
    builder: &mut Builder,
    machine: &Machine<'_>,
    key: Value,
    lines: &[Value],
    unit: f64,
) -> Option<()> {
    let &[file, first, name] = machine.items(key) else {
        return None;
    };
    let (file, name) = (machine.text(file)?, machine.text(name)?);
    let first = line_number(first)?;
    let process = builder.process(0, "");
    for &row in lines {
        let &[line, hits, time] = machine.items(row) else {
            builder.leave_out("lines", || format!("one of {name}"));
            continue;
        };
        let numbers = (line_number(line), count(hits), count(time));
        let (Some(line), Some(hits), Some(time)) = numbers else {
            builder.leave_out("lines", || format!("one of {name}"));
            continue;
        };
        let frame = builder.frame(Named {
            function: name,
            file,
            line,
            language: Some(Language::Python),
            ..Named::default()
        });
        builder.profile.traced.lines.push(Line {
            process,
            frame,
            first,
            hits,
            // A cast saturates.
            time: Nanos((time as f64 * unit * 1e9).round() as u64),
        });
    }
    Some(())
}

fn line_number(value: Value) -> Option<u32> {
    count(value).and_then(|line| u32::try_from(line).ok())
}

fn count(value: Value) -> Option<u64> {
    match value {
        Value::Int(number) => u64::try_from(number).ok(),
        Value::Float(number) if number >= 0.0 => Some(number as u64),
        _ => None,
    }
}
