//! The sum of several counts of one process: a region that begins often has as many as that.

use std::collections::HashMap;

use profundo_wire::traced::{
    TracedCalls, TracedEnd, TracedExceptions, TracedFunction, TracedLine, TracedLines, TracedNode,
    TracedPlace,
};

/// What tells a function from others: its kind, line, file and names.
type FunctionKey = (u8, u32, String, String, String);

/// What tells a node from its siblings: the kind of its place, the thread or function, and flags.
type PlaceKey = (u8, u32, bool, bool);

/// Adds up counts.
pub fn sum<'a>(all: impl IntoIterator<Item = &'a TracedCalls>) -> TracedCalls {
    let mut whole = Sum::default();
    for calls in all {
        whole.add(calls);
    }
    whole.calls
}

#[derive(Default)]
struct Sum {
    calls: TracedCalls,
    is_begun: bool,
    functions: HashMap<FunctionKey, u32>,
    nodes: HashMap<(u32, PlaceKey), u32>,
}

impl Sum {
    fn add(&mut self, calls: &TracedCalls) {
        let whole = &mut self.calls;
        if !std::mem::replace(&mut self.is_begun, true) {
            whole.is_cpu = calls.is_cpu;
            whole.counted_by = calls.counted_by;
            whole.cost = calls.cost;
            whole.has_line_times = calls.has_line_times;
            whole.is_closed = true;
        }
        whole.is_closed &= calls.is_closed;
        whole.is_replaced |= calls.is_replaced;
        whole.uncounted += calls.uncounted;
        whole.uncounted_exceptions += calls.uncounted_exceptions;
        whole.forgotten_exceptions += calls.forgotten_exceptions;
        // The same functions each time.
        whole.unlooked = whole.unlooked.max(calls.unlooked);
        whole.unmatched += calls.unmatched;
        let functions: Vec<u32> = (calls.functions.iter())
            .map(|function| self.function(function))
            .collect();
        self.add_nodes(calls, &functions);
        for row in &calls.exceptions {
            self.add_exceptions(row, &functions);
        }
    }

    /// The row of a function, with its lines added.
    fn function(&mut self, function: &TracedFunction) -> u32 {
        let key = (
            function.kind as u8,
            function.line,
            function.file.clone(),
            function.name.clone(),
            function.qualified.clone(),
        );
        let rows = &mut self.calls.functions;
        let row = *self.functions.entry(key).or_insert_with(|| {
            rows.push(TracedFunction {
                lines: None,
                ..function.clone()
            });
            u32::try_from(rows.len() - 1).unwrap_or(u32::MAX)
        });
        if let (Some(lines), Some(own)) = (&function.lines, rows.get_mut(row as usize)) {
            add_lines(&mut own.lines, lines);
        }
        row
    }

    fn add_nodes(&mut self, calls: &TracedCalls, functions: &[u32]) {
        let function = |row: u32| functions.get(row as usize).copied().unwrap_or(u32::MAX);
        // By old row, counted from 1; what has no parent stays so.
        let mut rows: Vec<u32> = vec![0];
        for node in &calls.nodes {
            let parent = rows.get(node.parent as usize).copied().unwrap_or(0);
            let (key, place) = match node.place {
                TracedPlace::Thread { tid, name } => {
                    let name = name.map(function);
                    ((0, tid, false, false), TracedPlace::Thread { tid, name })
                }
                TracedPlace::Function(row) => {
                    let row = function(row);
                    ((1, row, false, false), TracedPlace::Function(row))
                }
                TracedPlace::Anywhere(row) => {
                    let row = function(row);
                    ((2, row, false, false), TracedPlace::Anywhere(row))
                }
                TracedPlace::Called {
                    function: row,
                    is_recursive,
                    is_repeated,
                } => {
                    let place = TracedPlace::Called {
                        function: function(row),
                        is_recursive,
                        is_repeated,
                    };
                    ((3, function(row), is_recursive, is_repeated), place)
                }
            };
            let nodes = &mut self.calls.nodes;
            let row = *self.nodes.entry((parent, key)).or_insert_with(|| {
                nodes.push(TracedNode {
                    parent,
                    place,
                    calls: 0,
                    resumes: 0,
                    total: 0,
                });
                u32::try_from(nodes.len()).unwrap_or(0)
            });
            let own = (row as usize).checked_sub(1);
            if let Some(own) = own.and_then(|row| nodes.get_mut(row)) {
                own.calls += node.calls;
                own.resumes += node.resumes;
                own.total = own.total.wrapping_add(node.total);
            }
            rows.push(row);
        }
    }

    fn add_exceptions(&mut self, row: &TracedExceptions, functions: &[u32]) {
        let function = |row: u32| functions.get(row as usize).copied().unwrap_or(u32::MAX);
        let line = |at: TracedLine| TracedLine {
            function: function(at.function),
            line: at.line,
        };
        let row = TracedExceptions {
            of_type: function(row.of_type),
            raised: line(row.raised),
            end: match row.end {
                TracedEnd::Caught(at) => TracedEnd::Caught(line(at)),
                other => other,
            },
            count: row.count,
        };
        let known = self.calls.exceptions.iter_mut().find(|known| {
            known.of_type == row.of_type && known.raised == row.raised && known.end == row.end
        });
        match known {
            Some(known) => known.count += row.count,
            None => self.calls.exceptions.push(row),
        }
    }
}

/// Adds the runs of lines, and their times.
fn add_lines(into: &mut Option<TracedLines>, lines: &TracedLines) {
    let known = into.get_or_insert_with(|| TracedLines {
        first: lines.first,
        ..TracedLines::default()
    });
    known.is_marked |= lines.is_marked;
    if lines.first < known.first {
        let before = (known.first - lines.first) as usize;
        known.rows.splice(0..0, std::iter::repeat_n([0; 2], before));
        known.first = lines.first;
    }
    let from = (lines.first - known.first) as usize;
    let length = known.rows.len().max(from + lines.rows.len());
    known.rows.resize(length, [0; 2]);
    for (own, added) in known.rows.iter_mut().skip(from).zip(&lines.rows) {
        own[0] += added[0];
        own[1] = own[1].wrapping_add(added[1]);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn counted(names: &[&str]) -> TracedCalls {
        let function = |(at, name): (usize, &&str)| TracedFunction {
            name: (*name).to_owned(),
            lines: Some(TracedLines {
                first: 5 - at as u32,
                rows: vec![[1, 10]; 2],
                ..TracedLines::default()
            }),
            ..TracedFunction::default()
        };
        let node = |(at, _): (usize, &&str)| TracedNode {
            parent: at as u32 + 1,
            place: TracedPlace::Function(at as u32),
            calls: 1,
            resumes: 2,
            total: 3,
        };
        let root = TracedNode {
            parent: 0,
            place: TracedPlace::Thread { tid: 7, name: None },
            calls: 0,
            resumes: 0,
            total: 0,
        };
        let at = TracedLine {
            function: 0,
            line: 5,
        };
        TracedCalls {
            functions: names.iter().enumerate().map(function).collect(),
            nodes: std::iter::once(root)
                .chain(names.iter().enumerate().map(node))
                .collect(),
            exceptions: vec![TracedExceptions {
                of_type: 0,
                raised: at,
                end: TracedEnd::Caught(at),
                count: 4,
            }],
            is_closed: true,
            ..TracedCalls::default()
        }
    }

    #[test]
    fn the_same_is_added_up_and_the_rest_added() {
        let once = counted(&["a", "b"]);
        assert_eq!(sum([&once]), once);
        let twice = sum([&once, &once]);
        assert_eq!(twice.functions.len(), 2);
        assert_eq!(twice.nodes.len(), 3);
        assert_eq!(twice.nodes[2].calls, 2);
        assert_eq!((twice.nodes[2].resumes, twice.nodes[2].total), (4, 6));
        assert_eq!(
            twice.functions[1].lines.as_ref().unwrap().rows,
            [[2, 20]; 2]
        );
        assert_eq!(twice.exceptions.len(), 1);
        assert_eq!(twice.exceptions[0].count, 8);
        // `b` is called by `a` once, and once by the thread.
        let other = counted(&["b", "c"]);
        let both = sum([&once, &other]);
        let names: Vec<&str> = (both.functions.iter())
            .map(|function| function.name.as_str())
            .collect();
        assert_eq!(names, ["a", "b", "c"]);
        assert_eq!(both.nodes.len(), 5);
        // The line of `b` at 4 has one run, that at 5 has two, and that at 6 one.
        let lines = both.functions[1].lines.as_ref().unwrap();
        assert_eq!((lines.first, lines.rows[1][0], lines.rows.len()), (4, 2, 3));
        assert_eq!(both.exceptions.len(), 2);
    }
}
