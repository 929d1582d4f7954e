//! The file that Python's `pstats.Stats(FILE)` loads, as cProfile, profile, yappi and many others
//! write it: `{(file, line, function): (primitive calls, calls, own s, cumulative s, callers)}`.
//!
//! A function has one level of callers, with the sums of the calls that each made. So a call has a
//! stack of two functions, and the table that is made of the calls is that of the file. The samples
//! of their own time have longer stacks, which are estimated.

mod divide;
mod marshal;
mod sampled;

use profundo_model::{
    Call, Callers, Clock, Language, LocationId, Nanos, SampleKind, ThreadId, Tracing,
};
use rustc_hash::FxHashMap;

use crate::reader::{Reader, Table};
use crate::stacks::call_graph::{Arc, Costs, Function, Graph};
use crate::{Builder, Error, Named, Source, Warning};
use divide::{ByCaller, Part, Sums, divide, share};
use marshal::{Marshal, Span, Value};

pub(crate) const READER: Reader = Reader(&Table {
    name: "pstats",
    writers: "Python's cProfile and profile, yappi, Tachyon",
    is_start,
    fill,
});

/// Whether it is a dictionary whose first key is a function, and whose first value is a tuple of
/// five. An empty one is `{0`.
fn is_start(start: &[u8]) -> bool {
    let mut marshal = Marshal::new(start);
    if !marshal.begins_dict() {
        return false;
    }
    let key = match marshal.value() {
        Ok(Some(key)) => key,
        Ok(None) => return marshal.at() == start.len(),
        Err(_) => return false,
    };
    let next = start.get(marshal.at()..).unwrap_or_default();
    if is_mark_of_samples(&marshal, key) {
        return matches!(next, [b'T', ..]);
    }
    let is_function = Key::of(&marshal, key).is_some();
    // A tuple with a length of one byte or of four.
    is_function && matches!(next, [b')' | 0xa9, 5, ..] | [b'(' | 0xa8, 5, 0, 0, 0, ..])
}

/// A function as the file names it.
#[derive(Debug, Clone, Copy)]
struct Key<'a> {
    file: &'a [u8],
    line: u32,
    name: &'a [u8],
}

impl<'a> Key<'a> {
    fn of(marshal: &Marshal<'a>, value: Value) -> Option<Self> {
        let &[file, line, name] = marshal.items(value) else {
            return None;
        };
        Some(Self {
            file: marshal.text(file)?,
            line: u32::try_from(line.count()?).unwrap_or(u32::MAX),
            name: marshal.text(name)?,
        })
    }
}

/// `("__sampled__",)`: a key of Tachyon's files, in which calls are samples.
fn is_mark_of_samples(marshal: &Marshal<'_>, key: Value) -> bool {
    match marshal.items(key) {
        &[mark] => marshal.text(mark) == Some(b"__sampled__"),
        _ => false,
    }
}

/// A function with its sums, which are as in the file, and its callers.
#[derive(Debug, Clone, Copy)]
struct Entry {
    function: u32,
    sums: Sums,
    callers: Value,
}

fn fill(source: &Source<'_>, builder: &mut Builder) -> Result<(), Error> {
    let mut marshal = Marshal::new(source.bytes);
    marshal.begins_dict();
    let mut functions = Functions::default();
    let mut entries = Vec::new();
    let mut is_sampled = false;
    loop {
        let at = marshal.at();
        let pair = match marshal.value() {
            Ok(None) => break,
            Ok(Some(key)) => marshal.value().map(|value| (key, value)),
            Err(stop) => Err(stop),
        };
        let (key, value) = match pair {
            Ok((key, Some(value))) => (key, value),
            Ok((_, None)) => break,
            Err(stop) => {
                builder.warn(Warning::Damaged {
                    offset: stop.at as u64,
                    what: stop.why.to_owned(),
                });
                break;
            }
        };
        if is_mark_of_samples(&marshal, key) {
            is_sampled = true;
            continue;
        }
        match entry(builder, &marshal, &mut functions, key, value) {
            Some(entry) => entries.push(entry),
            None => builder.leave_out("functions", || format!("that at byte {at}")),
        }
    }
    let tables = Tables {
        marshal,
        functions,
        // Each caller takes a key and a value.
        pairs_left: source.bytes.len() / 6,
    };
    match is_sampled {
        true => sampled::fill(builder, tables, &entries),
        false => tables.calls(builder, &entries),
    }
    Ok(())
}

fn entry(
    builder: &mut Builder,
    marshal: &Marshal<'_>,
    functions: &mut Functions,
    key: Value,
    value: Value,
) -> Option<Entry> {
    let &[outermost, all, own, total, callers] = marshal.items(value) else {
        return None;
    };
    Some(Entry {
        sums: Sums {
            all: all.count()?,
            outermost: outermost.count()?,
            own: own.seconds()?,
            total: total.seconds()?,
        },
        callers,
        function: functions.row(builder, marshal, key)?,
    })
}

/// The functions of a file.
#[derive(Debug, Default)]
struct Functions {
    locations: Vec<LocationId>,
    /// The rows by place in the arena: keys are written once.
    by_span: FxHashMap<Span, u32>,
    by_location: FxHashMap<LocationId, u32>,
}

impl Functions {
    fn row(&mut self, builder: &mut Builder, marshal: &Marshal<'_>, key: Value) -> Option<u32> {
        let Value::Items(span) = key else {
            return None;
        };
        if let Some(&row) = self.by_span.get(&span) {
            return Some(row);
        }
        let location = location(builder, Key::of(marshal, key)?);
        let next = u32::try_from(self.locations.len()).ok()?;
        let row = *self.by_location.entry(location).or_insert_with(|| {
            self.locations.push(location);
            next
        });
        self.by_span.insert(span, row);
        Some(row)
    }
}

fn location(builder: &mut Builder, key: Key<'_>) -> LocationId {
    let file = String::from_utf8_lossy(key.file);
    let name = String::from_utf8_lossy(key.name);
    // cProfile's builtins are `~:0(<built-in method f>)`, and those of profile are `:0(f)`.
    let is_builtin = matches!(&file[..], "~" | "") && key.line == 0;
    let inside = name
        .strip_prefix('<')
        .and_then(|name| name.strip_suffix('>'));
    let named = match (is_builtin, inside) {
        (true, Some(inside)) => Named {
            function: inside,
            language: Some(Language::Native),
            ..Named::default()
        },
        (true, None) if file.is_empty() => Named {
            function: &name,
            language: Some(Language::Native),
            ..Named::default()
        },
        _ => Named {
            function: &name,
            file: &file,
            line: key.line,
            language: Some(match is_builtin {
                true => Language::Native,
                false => Language::Python,
            }),
            ..Named::default()
        },
    };
    builder.location(named)
}

/// The whole file.
#[derive(Debug)]
struct Tables<'a> {
    marshal: Marshal<'a>,
    functions: Functions,
    /// The number of callers that a file of this size can have: several functions of a damaged one
    /// may refer to the same callers.
    pairs_left: usize,
}

impl Tables<'_> {
    fn calls(mut self, builder: &mut Builder, entries: &[Entry]) {
        builder.weighs(SampleKind::Traced, "");
        builder.profile.traced.tracing = Tracing::Calls;
        builder.profile.traced.clock = Clock::Wall;
        let thread = builder.only_thread();
        let (mut parts, mut are_counted) = (Vec::new(), false);
        let mut graph = Graph {
            // Times are fractions of seconds.
            rounding: 1.0,
            ..Graph::default()
        };
        for entry in entries {
            let sums = in_order(entry.sums);
            let (mut pairs, has_times) = self.callers(builder, entry);
            if !has_times {
                are_counted = true;
                share(sums, &mut pairs);
            }
            graph.arcs.extend(pairs.iter().map(|pair| Arc {
                caller: pair.caller,
                at: self.functions.locations[pair.caller as usize],
                callee: entry.function,
                calls: pair.sums.all,
                cost: pair.sums.total,
            }));
            divide(sums, pairs, &mut parts);
            for part in parts.drain(..) {
                self.call(builder, thread, entry.function, part);
            }
        }
        if are_counted {
            builder.note(
                "the file has the number of calls by each caller, not their time: each has its share",
            );
        }
        graph.functions = (self.functions.locations.iter())
            .map(|&location| Function {
                first: location,
                ..Function::default()
            })
            .collect();
        for entry in entries {
            let function = &mut graph.functions[entry.function as usize];
            function.own.push((function.first, entry.sums.own));
        }
        graph.sample(builder, thread, Costs::Traced);
        builder.note("a pstats file has no threads");
    }

    /// The calls by each caller, and whether they have times.
    fn callers(&mut self, builder: &mut Builder, entry: &Entry) -> (Vec<ByCaller>, bool) {
        let items = self.marshal.items(entry.callers);
        let (items, _) = items.as_chunks::<2>();
        let within = items.len().min(self.pairs_left);
        self.pairs_left -= within;
        let mut has_times = true;
        let mut pairs = Vec::with_capacity(within);
        for &[key, value] in items.get(..within).unwrap_or_default() {
            let sums = match *self.marshal.items(value) {
                [all, outermost, own, total] => sums_of(all, outermost, own, total),
                _ => {
                    has_times = false;
                    value.count().map(|all| Sums {
                        all,
                        outermost: all,
                        ..Sums::default()
                    })
                }
            };
            let caller = self.functions.row(builder, &self.marshal, key);
            let (Some(sums), Some(caller)) = (sums, caller) else {
                builder.leave_out("callers", || "one of a function's".to_owned());
                continue;
            };
            pairs.push(ByCaller {
                caller,
                sums: in_order(sums),
                is_self: caller == entry.function,
            });
        }
        (pairs, has_times)
    }

    fn call(&self, builder: &mut Builder, thread: ThreadId, function: u32, part: Part) {
        let location = |row: u32| self.functions.locations.get(row as usize).copied();
        let Some(callee) = location(function) else {
            return;
        };
        let caller = part.caller.and_then(location);
        let caller = caller.map(|caller| builder.stack(None, caller));
        let callers = match caller {
            Some(_) => Callers::Last {
                is_recursive: part.is_recursive,
                is_repeated: part.is_repeated,
            },
            None => Callers::All,
        };
        let stack = builder.stack(caller, callee);
        builder.profile.traced.calls.push(Call {
            thread,
            stack,
            calls: part.calls,
            total: Nanos(part.total),
            own: Nanos(part.own),
            callers,
            ..Call::default()
        });
    }
}

fn sums_of(all: Value, outermost: Value, own: Value, total: Value) -> Option<Sums> {
    Some(Sums {
        all: all.count()?,
        outermost: outermost.count()?,
        own: own.seconds()?,
        total: total.seconds()?,
    })
}

/// All calls are at least as many as the outermost ones: yappi writes them the other way round.
fn in_order(sums: Sums) -> Sums {
    Sums {
        all: sums.all.max(sums.outermost),
        outermost: sums.all.min(sums.outermost),
        ..sums
    }
}
