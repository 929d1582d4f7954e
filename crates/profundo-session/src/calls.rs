//! The counts of calls that a process wrote, read by the command when the process has ended.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU32, Ordering};

use profundo_linux::map::SharedMap;
use profundo_probe::shared::{
    CALLS_FILE, CUT_CALLS_FILE, CallsFile, EXCEPTION_SITES, EXCEPTIONS, ExceptionRow, FUNCTIONS,
    FunctionRow, LINES, MAGIC, NODES, NodeRow, TEXT, call_clock, exception_end, function_kind,
    node_flag,
};
use profundo_wire::traced::{
    CountedBy, TracedCalls, TracedEnd, TracedExceptions, TracedFunction, TracedKind, TracedLine,
    TracedLines, TracedNode, TracedPlace,
};

use crate::files::open_file;
/// The counts of calls of a process.
#[derive(Debug, Default)]
pub struct Counted {
    /// The calls of its interpreter.
    pub interpreter: Option<TracedCalls>,
    /// The calls of a native program's threads.
    pub native: Vec<TracedCalls>,
}

/// Takes the call files of the process with this ring, as far as they exist. The next process with
/// this ring makes its own.
pub fn take_calls(directory: &Path, ring: usize) -> Counted {
    let first = format!("{CALLS_FILE}{ring}");
    let take = |path: PathBuf| {
        let calls = read(&path);
        let _ = fs::remove_file(&path);
        calls
    };
    let is_part = |name: &str| {
        let part = name
            .strip_prefix(&first)
            .and_then(|rest| rest.strip_prefix('.'));
        part.is_some_and(|number| number.bytes().all(|byte| byte.is_ascii_digit()))
    };
    let files = fs::read_dir(directory).into_iter().flatten().flatten();
    let mut parts: Vec<PathBuf> = files
        .filter(|file| file.file_name().to_str().is_some_and(is_part))
        .map(|file| file.path())
        .collect();
    parts.sort();
    Counted {
        interpreter: take(directory.join(&first)),
        native: parts.into_iter().filter_map(take).collect(),
    }
}

/// Takes what the process with this ring has counted and cut off, or else what it counts in.
pub fn take_cut_calls(directory: &Path, ring: usize) -> Option<TracedCalls> {
    let path = directory.join(format!("{CUT_CALLS_FILE}{ring}"));
    if !path.exists() {
        return take_calls(directory, ring).interpreter;
    }
    let calls = read(&path);
    let _ = fs::remove_file(&path);
    calls
}

fn read(path: &Path) -> Option<TracedCalls> {
    let file = open_file(path).ok()?;
    let map = SharedMap::new(&file, CallsFile::BYTES).ok()?;
    // SAFETY: it is made of atomics. Rows without memory are never touched.
    let calls: &CallsFile = unsafe { map.as_ref() };
    let header = &calls.header;
    if header.magic.load(Ordering::Acquire) != MAGIC {
        return None;
    }
    // Acquire pairs with the agent's release: this many rows are whole.
    let count = |number: &AtomicU32, most| (number.load(Ordering::Acquire) as usize).min(most);
    let functions = count(&header.functions, FUNCTIONS);
    let nodes = count(&header.nodes, NODES);
    let text = count(&header.text, TEXT);
    let is = |number: &AtomicU32, value| number.load(Ordering::Relaxed) == value;
    let functions = calls.functions.get(..functions)?;
    let nodes = calls.nodes.get(1..nodes)?.iter();
    let counted_by = match is(&header.clock, call_clock::NONE) {
        true => CountedBy::Beginnings,
        false => CountedBy::Ends,
    };
    let mut found = TracedCalls {
        counted_by,
        is_cpu: is(&header.clock, call_clock::CPU),
        cost: header
            .cost
            .each_ref()
            .map(|both| both.each_ref().map(|count| count.load(Ordering::Relaxed))),
        has_line_times: is(&header.has_line_times, 1),
        functions: Vec::new(),
        nodes: nodes
            .map(node)
            .map(|node| TracedNode {
                total: if counted_by.is_timed() { node.total } else { 0 },
                ..node
            })
            .collect(),
        exceptions: exceptions(calls),
        uncounted_exceptions: header.uncounted_exceptions.load(Ordering::Relaxed),
        forgotten_exceptions: header.forgotten_exceptions.load(Ordering::Relaxed),
        uncounted: header.uncounted.load(Ordering::Relaxed),
        unlooked: header.unlooked.load(Ordering::Relaxed),
        unmatched: header.unmatched.load(Ordering::Relaxed),
        is_closed: is(&header.is_closed, 1),
        is_replaced: is(&header.is_replaced, 1),
    };
    let with_lines = functions.iter().zip(0..);
    let with_lines = with_lines.filter(|(row, _)| row.lines[2].load(Ordering::Acquire) != 0);
    let kept = found.renumber_functions(with_lines.map(|(_, number)| number));
    let kept = kept.iter().map(|&number| functions.get(number as usize));
    found.functions = kept
        .map(|row| row.map_or_else(TracedFunction::default, |row| function(calls, row, text)))
        .collect();
    Some(found)
}

fn function(calls: &CallsFile, row: &FunctionRow, end: usize) -> TracedFunction {
    let text = |[start, length]: &[AtomicU32; 2]| {
        let start = start.load(Ordering::Relaxed) as usize;
        let last = start + length.load(Ordering::Relaxed) as usize;
        let bytes = calls.text.get(start..last.min(end)).unwrap_or_default();
        let bytes: Vec<u8> = bytes
            .iter()
            .map(|byte| byte.load(Ordering::Relaxed))
            .collect();
        String::from_utf8_lossy(&bytes).into_owned()
    };
    TracedFunction {
        kind: match row.kind.load(Ordering::Relaxed) {
            function_kind::BUILTIN => TracedKind::Builtin,
            function_kind::NATIVE => TracedKind::Native,
            _ => TracedKind::Python,
        },
        line: row.line.load(Ordering::Relaxed),
        name: text(&row.name),
        qualified: text(&row.qualified),
        file: text(&row.file),
        address: (row.kind.load(Ordering::Relaxed) == function_kind::NATIVE)
            .then(|| row.address.load(Ordering::Relaxed)),
        lines: lines(calls, row),
    }
}

fn lines(calls: &CallsFile, row: &FunctionRow) -> Option<TracedLines> {
    // Acquire pairs with the agent's release: the rest is there.
    let count = row.lines[2].load(Ordering::Acquire) as usize;
    let [first, start, _] = row
        .lines
        .each_ref()
        .map(|field| field.load(Ordering::Relaxed));
    let start = start as usize;
    let known = (calls.header.lines.load(Ordering::Relaxed) as usize).min(LINES);
    if count == 0 || start + count > known {
        return None;
    }
    let rows = calls.lines.get(start..start + count)?.iter();
    Some(TracedLines {
        first,
        is_marked: row.is_marked.load(Ordering::Relaxed) != 0,
        rows: rows
            .map(|row| [&row.hits, &row.time].map(|count| count.load(Ordering::Relaxed)))
            .collect(),
    })
}

/// The exceptions by their ends. Those that have none are a row of their own.
fn exceptions(calls: &CallsFile) -> Vec<TracedExceptions> {
    let header = &calls.header;
    // Acquire pairs with the agent's release: this many rows are whole.
    let count = |number: &AtomicU32, most| (number.load(Ordering::Acquire) as usize).min(most);
    let sites = count(&header.sites, EXCEPTION_SITES);
    let rows = count(&header.exceptions, EXCEPTIONS);
    let rows = calls.exceptions.get(..rows).unwrap_or_default();
    let number = |field: &AtomicU32| field.load(Ordering::Relaxed);
    let line = |site: u32| {
        let row = calls.sites.get(..sites)?.get(site as usize)?;
        Some(TracedLine {
            function: number(&row.function),
            line: number(&row.line),
        })
    };
    let mut unseen: Vec<u64> = (rows.iter())
        .map(|row| row.count.load(Ordering::Relaxed))
        .collect();
    let mut found = Vec::new();
    for row in rows
        .iter()
        .filter(|row| number(&row.end) != exception_end::NONE)
    {
        let count = row.count.load(Ordering::Relaxed);
        let base = number(&row.raised) as usize;
        let Some((base, left)) = rows.get(base).zip(unseen.get_mut(base)) else {
            continue;
        };
        let count = count.min(*left);
        let end = match number(&row.end) {
            exception_end::CAUGHT => line(number(&row.caught)).map(TracedEnd::Caught),
            _ => Some(TracedEnd::Left),
        };
        if let Some((raised, end)) = line(number(&base.raised)).zip(end)
            && count > 0
        {
            *left -= count;
            found.push(exceptions_of(base, raised, end, count));
        }
    }
    for (row, count) in rows.iter().zip(unseen).filter(|(_, count)| *count > 0) {
        if number(&row.end) == exception_end::NONE
            && let Some(raised) = line(number(&row.raised))
        {
            found.push(exceptions_of(row, raised, TracedEnd::Unseen, count));
        }
    }
    found
}

fn exceptions_of(
    row: &ExceptionRow,
    raised: TracedLine,
    end: TracedEnd,
    count: u64,
) -> TracedExceptions {
    TracedExceptions {
        of_type: row.of_type.load(Ordering::Relaxed),
        raised,
        end,
        count,
    }
}

fn node(row: &NodeRow) -> TracedNode {
    let flags = row.flags.load(Ordering::Relaxed);
    let number = row.function.load(Ordering::Relaxed);
    let has = |flag| flags & flag != 0;
    let place = if has(node_flag::THREAD) {
        TracedPlace::Thread {
            tid: number,
            name: row.name.load(Ordering::Relaxed).checked_sub(1),
        }
    } else if has(node_flag::ANYWHERE) {
        TracedPlace::Anywhere(number)
    } else if has(node_flag::FOLDED) {
        TracedPlace::Called {
            function: number,
            is_recursive: has(node_flag::RECURSIVE),
            is_repeated: has(node_flag::REPEATED),
        }
    } else {
        TracedPlace::Function(number)
    };
    TracedNode {
        parent: row.parent.load(Ordering::Relaxed),
        place,
        calls: row.calls.load(Ordering::Relaxed),
        resumes: row.resumes.load(Ordering::Relaxed),
        total: row.total.load(Ordering::Relaxed),
    }
}
