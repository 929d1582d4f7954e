//! From lines of costs to the graph of each thread.

use profundo_model::{Line, LocationId};
use rustc_hash::FxHashMap;

use super::head::Head;
use super::parse::{Calls, Own, Parser, Thread};
use crate::quantities::value::Unit;
use crate::stacks::call_graph::{Arc, Costs, Function, Graph};
use crate::{Builder, Named, language_of};

/// Adds all threads.
pub(super) fn fill(
    parser: &Parser<'_>,
    builder: &mut Builder,
    head: &Head,
    costs: Costs,
    unit: Unit,
) {
    builder.process(head.pid, &head.command);
    let mut places = Places {
        parser,
        firsts: first_lines(parser),
        locations: FxHashMap::default(),
        has_lines: costs != Costs::Traced,
        is_yappi: head.creator.starts_with("yappi"),
    };
    let mut program = head.is_ours().then(|| program(parser)).flatten();
    for thread in &parser.threads {
        if thread.own.is_empty() && thread.arcs.is_empty() {
            continue;
        }
        let graph = places.graph(builder, thread, unit, program.take());
        let id = builder.thread(head.pid, thread.number, "");
        graph.fill(builder, id, costs);
        if costs == Costs::Traced {
            places.lines(builder, head.pid, thread, unit);
        }
    }
}

/// The function that we write above functions which are roots as well.
fn program(parser: &Parser<'_>) -> Option<u32> {
    let mut functions = parser.functions.iter();
    let row = functions.position(|function| parser.names.text(function.name) == "<program>");
    row.and_then(|row| u32::try_from(row).ok())
}

/// The first line of each function: where its calls lead, or its first line with costs.
fn first_lines(parser: &Parser<'_>) -> Vec<u32> {
    let mut firsts: Vec<u32> = parser.functions.iter().map(|row| row.first).collect();
    for own in parser.threads.iter().flat_map(|thread| &thread.own) {
        let function = &parser.functions[own.function as usize];
        let first = &mut firsts[own.function as usize];
        if function.first == 0 && own.file == function.file && own.line > 0 {
            *first = match *first {
                0 => own.line,
                first => first.min(own.line),
            };
        }
    }
    firsts
}

/// The locations of functions at lines.
struct Places<'p, 'a> {
    parser: &'p Parser<'a>,
    firsts: Vec<u32>,
    locations: FxHashMap<(u32, u32, u32), LocationId>,
    /// Whether frames are at lines; else at the first lines of functions.
    has_lines: bool,
    is_yappi: bool,
}

impl Places<'_, '_> {
    fn graph(
        &mut self,
        builder: &mut Builder,
        thread: &Thread,
        unit: Unit,
        program: Option<u32>,
    ) -> Graph {
        let functions = 0..self.parser.functions.len() as u32;
        let functions = functions.map(|row| Function {
            first: self.first(builder, row),
            ..Function::default()
        });
        let mut graph = Graph {
            functions: functions.collect(),
            arcs: Vec::new(),
            rounding: match unit {
                Unit::Time(nanoseconds) => nanoseconds,
                Unit::Bytes | Unit::Count => 0.0,
            },
        };
        for own in sums(&thread.own) {
            let location = self.location(builder, own.function, own.file, own.line);
            let cost = weight(unit, own.cost);
            graph.functions[own.function as usize]
                .own
                .push((location, cost));
        }
        for calls in sums_of_calls(&thread.arcs) {
            if Some(calls.caller) == program {
                let begun = &mut graph.functions[calls.callee as usize].begun;
                *begun = begun.saturating_add(calls.calls);
                continue;
            }
            graph.arcs.push(Arc {
                caller: calls.caller,
                at: self.location(builder, calls.caller, calls.file, calls.line),
                callee: calls.callee,
                calls: calls.calls,
                cost: weight(unit, calls.cost),
            });
        }
        graph
    }

    /// Lines with the calls that they make: all that a file of times says about lines. Nothing
    /// where each function has one line.
    fn lines(&mut self, builder: &mut Builder, pid: u32, thread: &Thread, unit: Unit) {
        let firsts = &self.firsts;
        let is_elsewhere =
            |calls: &Calls| calls.line > 0 && calls.line != firsts[calls.caller as usize];
        if !thread.arcs.iter().any(is_elsewhere) {
            return;
        }
        let process = builder.process(pid, "");
        let mut rows: FxHashMap<(u32, u32), (u64, u64)> = FxHashMap::default();
        for calls in sums_of_calls(&thread.arcs) {
            let row = rows.entry((calls.caller, calls.line)).or_default();
            if calls.line == firsts[calls.caller as usize] {
                row.1 = row.1.saturating_add(weight(unit, calls.cost));
                continue;
            }
            // A line that calls several functions runs as often as it calls one of them.
            row.0 = row.0.max(calls.calls);
            row.1 = row.1.saturating_add(weight(unit, calls.cost));
        }
        for own in sums(&thread.own) {
            let row = rows.entry((own.function, own.line)).or_default();
            row.1 = row.1.saturating_add(weight(unit, own.cost));
        }
        for calls in &thread.arcs {
            let first = firsts[calls.callee as usize];
            if let Some(row) = rows.get_mut(&(calls.callee, first)) {
                row.0 = row.0.saturating_add(calls.calls);
            }
        }
        let mut rows: Vec<_> = rows.into_iter().collect();
        rows.sort_unstable();
        for ((function, line), (hits, time)) in rows {
            let frame = self.frame(builder, function, None, line, false);
            builder.profile.traced.lines.push(Line {
                process,
                frame,
                first: self.firsts[function as usize],
                hits,
                time: profundo_model::Nanos(time),
            });
        }
        builder.note(
            "lines have the number and the time of the calls that they make; the own time of a \
             function is at its first line",
        );
    }

    /// A function at its first line.
    fn first(&mut self, builder: &mut Builder, function: u32) -> LocationId {
        let row = self.parser.functions[function as usize];
        let line = self.firsts[function as usize];
        self.at(builder, function, row.file, line)
    }

    /// A function at a line, where the costs have lines.
    fn location(
        &mut self,
        builder: &mut Builder,
        function: u32,
        file: u32,
        line: u32,
    ) -> LocationId {
        match self.has_lines {
            true => self.at(builder, function, file, line),
            false => self.first(builder, function),
        }
    }

    fn at(&mut self, builder: &mut Builder, function: u32, file: u32, line: u32) -> LocationId {
        if let Some(&known) = self.locations.get(&(function, file, line)) {
            return known;
        }
        let row = self.parser.functions[function as usize];
        let object = self.parser.objects.text(row.object);
        let module = (!object.is_empty()).then(|| builder.module(&object));
        let location = match file == row.file {
            true => {
                let frame = self.frame(builder, function, None, line, false);
                builder.location_of(frame, module)
            }
            // Code of another file was inlined into the function, without its name.
            false => {
                let inner = self.frame(builder, function, Some(file), line, true);
                let outer = self.frame(builder, function, None, 0, false);
                builder.inlined(&[inner, outer], module)
            }
        };
        self.locations.insert((function, file, line), location);
        location
    }

    fn frame(
        &self,
        builder: &mut Builder,
        function: u32,
        file: Option<u32>,
        line: u32,
        is_inlined: bool,
    ) -> profundo_model::FrameId {
        let parser = self.parser;
        let row = parser.functions[function as usize];
        let of_function = parser.files.text(row.file);
        let file = file.map_or(of_function.clone(), |file| parser.files.text(file));
        let name = parser.names.text(row.name);
        // Our own exports and pstats have this file and `<len>` for what is built in.
        let is_built_in = file == "~";
        let file = if is_built_in { "".into() } else { file };
        let inside = name
            .strip_prefix('<')
            .and_then(|name| name.strip_suffix('>'));
        let function = match inside {
            Some(inside) if is_built_in => inside,
            _ if self.is_yappi => without_place(&name, &of_function),
            _ => &name,
        };
        builder.frame(Named {
            function,
            file: &file,
            line,
            language: Some(language_of(function, &file)),
            is_inlined,
            ..Named::default()
        })
    }
}

/// `main` of `main /app.py:17`, as yappi names functions.
fn without_place<'n>(name: &'n str, file: &str) -> &'n str {
    let place = name.rsplit_once(':').map(|(place, _)| place);
    let bare = place.and_then(|place| place.strip_suffix(file));
    bare.map_or(name, str::trim_end)
}

fn weight(unit: Unit, cost: i64) -> u64 {
    match unit {
        Unit::Time(nanoseconds) if nanoseconds != 1.0 => unit.weight(cost.max(0) as f64),
        _ => u64::try_from(cost).unwrap_or(0),
    }
}

/// Own costs, one for each line.
fn sums(rows: &[Own]) -> Vec<Own> {
    let mut rows = rows.to_vec();
    rows.sort_by_key(|row| (row.function, row.file, row.line));
    rows.dedup_by(|next, row| {
        let is_same = (next.function, next.file, next.line) == (row.function, row.file, row.line);
        if is_same {
            row.cost = row.cost.saturating_add(next.cost);
        }
        is_same
    });
    rows
}

/// Calls, one row for each line and callee.
fn sums_of_calls(rows: &[Calls]) -> Vec<Calls> {
    let key = |row: &Calls| (row.caller, row.file, row.line, row.callee);
    let mut rows = rows.to_vec();
    rows.sort_by_key(key);
    rows.dedup_by(|next, row| {
        let is_same = key(next) == key(row);
        if is_same {
            row.cost = row.cost.saturating_add(next.cost);
            row.calls = row.calls.saturating_add(next.calls);
        }
        is_same
    });
    rows
}
