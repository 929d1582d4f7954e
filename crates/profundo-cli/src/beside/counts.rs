//! What regions of the program have counted.
//!
//! The program ends a stretch of counting whenever a region that counts begins or ends. A stretch
//! belongs to all regions that were open in it, so the counts of a region are the sum of its
//! stretches, however regions overlap.

use std::collections::BTreeMap;
use std::os::unix::ffi::OsStrExt;
use std::path::PathBuf;
use std::rc::Rc;

use anyhow::{Context, Result};
use profundo_model::{Nanos, Tracing};
use profundo_recorder::{Calls, Lines, LinesOf};
use profundo_save::recording_writer::{Counts as Counted, RecordingWriter};
use profundo_save::trace_request::TraceRequest;
use profundo_wire::traced::{TracedCalls, TracedKind, TracedNode, TracedPlace};

use super::reader::unescaped;
use super::sum::sum;

/// What is to be counted.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Wanted {
    tracing: Tracing,
    of: Vec<LinesOf>,
}

impl Wanted {
    /// Reads fields behind tabs: `calls`, `exceptions`, or `lines` and pairs of a file and a name,
    /// each of which may be empty.
    pub fn of(fields: &str) -> Option<Self> {
        let mut fields = fields.split('\t');
        let tracing = tracing_of(fields.next()?)?;
        let mut of = Vec::new();
        while let Some(file) = fields.next() {
            let some = |field: &str| {
                let text = unescaped(field)?.into_string().ok()?;
                Some((!text.is_empty()).then_some(text))
            };
            let (file, name) = (some(file)?, some(fields.next()?)?);
            of.push(LinesOf { file, name });
        }
        Some(Self { tracing, of })
    }

    /// The recorder's setting.
    pub fn calls(&self) -> Calls {
        Calls {
            builtins: true,
            cpu: false,
            lines: (self.tracing == Tracing::Lines).then(|| Lines {
                of: self.of.clone(),
                mine: Vec::new(),
                times: true,
                once: false,
            }),
            exceptions: self.tracing == Tracing::Exceptions,
        }
    }
}

fn tracing_of(word: &str) -> Option<Tracing> {
    match word {
        "calls" => Some(Tracing::Calls),
        "lines" => Some(Tracing::Lines),
        "exceptions" => Some(Tracing::Exceptions),
        _ => None,
    }
}

/// A stretch of counting that has ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Ended {
    /// The folder of the package, whose own functions are left out.
    package: Vec<u8>,
    /// The regions whose counts are not wanted any more.
    forgotten: Vec<u64>,
    /// The regions that were open, with the thread whose calls are theirs; `None`: all threads.
    regions: Vec<(u64, Option<u32>)>,
}

impl Ended {
    /// Reads fields behind tabs: the folder, numbers of regions, and `NUMBER` or `NUMBER:THREAD` of
    /// each region that was open. Commas separate these.
    pub fn of(fields: &str) -> Option<Self> {
        let mut fields = fields.split('\t');
        let package = unescaped(fields.next()?)?.as_bytes().to_owned();
        let list = |field: &'_ str| -> Vec<String> {
            let parts = field.split(',').filter(|part| !part.is_empty());
            parts.map(str::to_owned).collect()
        };
        let forgotten = list(fields.next()?);
        let regions = list(fields.next()?);
        let region = |text: &String| match text.split_once(':') {
            Some((number, thread)) => Some((number.parse().ok()?, Some(thread.parse().ok()?))),
            None => Some((text.parse().ok()?, None)),
        };
        Some(Self {
            package,
            forgotten: (forgotten.iter().map(|number| number.parse().ok()))
                .collect::<Option<_>>()?,
            regions: regions.iter().map(region).collect::<Option<_>>()?,
        })
    }
}

/// A recording of a region's counts that the program wants.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Asked {
    region: u64,
    path: PathBuf,
    tracing: Tracing,
    /// Nanoseconds.
    duration: u64,
    notes: Vec<String>,
}

impl Asked {
    /// Reads fields behind tabs: region, path, what was counted, nanoseconds, and sentences.
    pub fn of(fields: &str) -> Option<Self> {
        let mut fields = fields.split('\t');
        let mut next = || unescaped(fields.next()?)?.into_string().ok();
        let region = next()?.parse().ok()?;
        let path = PathBuf::from(next()?);
        let tracing = tracing_of(&next()?)?;
        let duration = next()?.parse().ok()?;
        let notes = std::iter::from_fn(next).collect();
        Some(Self {
            region,
            path,
            tracing,
            duration,
            notes,
        })
    }
}

/// So many stretches of a region are added up: one that begins often would fill the memory.
const MOST_PARTS: usize = 32;

/// A stretch as a region has it.
#[derive(Debug)]
struct Part {
    calls: Rc<TracedCalls>,
    thread: Option<u32>,
}

/// The counts of all regions that may still be asked for.
#[derive(Debug, Default)]
pub struct Counts {
    /// The program's number in the recording.
    process: u32,
    regions: BTreeMap<u64, Vec<Part>>,
}

impl Counts {
    /// Keeps a stretch, given what was counted in it.
    pub fn keep(&mut self, ended: &Ended, counted: Option<(u32, TracedCalls)>) {
        for region in &ended.forgotten {
            self.regions.remove(region);
        }
        let Some((process, calls)) = counted else {
            return;
        };
        self.process = process;
        let calls = Rc::new(without_package(&calls, &ended.package));
        for &(region, thread) in &ended.regions {
            let calls = Rc::clone(&calls);
            let parts = self.regions.entry(region).or_default();
            parts.push(Part { calls, thread });
            if parts.len() >= MOST_PARTS {
                let all: Vec<TracedCalls> = parts.iter().map(Part::counts).collect();
                let calls = Rc::new(sum(&all));
                *parts = vec![Part {
                    calls,
                    thread: None,
                }];
            }
        }
    }

    /// Writes a recording of what a region has counted.
    pub fn write(
        &self,
        asked: &Asked,
        writer: &mut RecordingWriter,
        keeps_source: bool,
    ) -> Result<()> {
        let parts = self
            .regions
            .get(&asked.region)
            .map_or(&[][..], Vec::as_slice);
        let calls: Vec<TracedCalls> = parts.iter().map(Part::counts).collect();
        let counted = Counted {
            process: self.process,
            calls: &calls,
            request: TraceRequest::new(asked.tracing, &[]),
            duration: Nanos(asked.duration),
            notes: asked.notes.clone(),
        };
        writer
            .counts(&asked.path, counted, keeps_source)
            .context("the counts cannot be written")
    }
}

impl Part {
    fn counts(&self) -> TracedCalls {
        match self.thread {
            Some(thread) => of_thread(&self.calls, thread),
            None => TracedCalls::clone(&self.calls),
        }
    }
}

/// The row of a parent; `None`: there is none.
fn row_of(parent: u32) -> Option<usize> {
    (parent as usize).checked_sub(1)
}

/// The calls of one thread. Lines and exceptions are those of all threads.
fn of_thread(calls: &TracedCalls, thread: u32) -> TracedCalls {
    let mut is_its: Vec<bool> = Vec::with_capacity(calls.nodes.len());
    let nodes = calls.nodes.iter().map(|&node| {
        let is_kept = match node.place {
            TracedPlace::Thread { tid, .. } => tid == thread,
            _ => row_of(node.parent).is_some_and(|row| is_its.get(row) == Some(&true)),
        };
        is_its.push(is_kept);
        match is_kept {
            true => node,
            // Its row stays, so that the numbers of others do.
            false => TracedNode {
                calls: 0,
                resumes: 0,
                total: 0,
                ..node
            },
        }
    });
    let nodes = nodes.collect();
    TracedCalls {
        nodes,
        ..calls.clone()
    }
}

/// Leaves out the package's functions: those that begin and end a region, and those around a
/// decorated function. What they call stands where they stood, but for C functions.
fn without_package(calls: &TracedCalls, package: &[u8]) -> TracedCalls {
    let is_ours: Vec<bool> = (calls.functions.iter())
        .map(|function| !package.is_empty() && function.file.as_bytes().starts_with(package))
        .collect();
    let ours = |row: u32| is_ours.get(row as usize) == Some(&true);
    let is_builtin = |row: u32| {
        let function = calls.functions.get(row as usize);
        function.is_some_and(|function| function.kind == TracedKind::Builtin)
    };
    // By old row: the number that its children have as their parent, and whether it is left out.
    let mut moved: Vec<(u32, bool)> = Vec::with_capacity(calls.nodes.len());
    let mut nodes: Vec<TracedNode> = Vec::with_capacity(calls.nodes.len());
    for &node in &calls.nodes {
        let known = row_of(node.parent).and_then(|row| moved.get(row).copied());
        let (parent, is_below_ours) = known.unwrap_or((0, false));
        let is_left_out = match node.place {
            TracedPlace::Thread { .. } => false,
            TracedPlace::Function(row)
            | TracedPlace::Anywhere(row)
            | TracedPlace::Called { function: row, .. } => {
                ours(row) || is_below_ours && is_builtin(row)
            }
        };
        if is_left_out {
            moved.push((parent, true));
            continue;
        }
        nodes.push(TracedNode { parent, ..node });
        moved.push((u32::try_from(nodes.len()).unwrap_or(0), false));
    }
    let mut functions = calls.functions.clone();
    for (function, &is_ours) in functions.iter_mut().zip(&is_ours) {
        if is_ours {
            function.lines = None;
        }
    }
    let exceptions = calls.exceptions.iter();
    TracedCalls {
        nodes,
        functions,
        exceptions: exceptions
            .filter(|row| !ours(row.raised.function))
            .copied()
            .collect(),
        ..calls.clone()
    }
}

#[cfg(test)]
mod tests {
    use profundo_wire::traced::TracedFunction;

    use super::*;

    fn function(kind: TracedKind, file: &str, name: &str) -> TracedFunction {
        TracedFunction {
            kind,
            file: file.to_owned(),
            name: name.to_owned(),
            ..TracedFunction::default()
        }
    }

    fn node(parent: u32, place: TracedPlace, calls: u64) -> TracedNode {
        TracedNode {
            parent,
            place,
            calls,
            resumes: 0,
            total: 10 * calls,
        }
    }

    fn counted() -> TracedCalls {
        let at = TracedPlace::Function;
        let thread = |tid| TracedPlace::Thread { tid, name: None };
        TracedCalls {
            functions: vec![
                function(TracedKind::Python, "/a.py", "main"),
                function(TracedKind::Python, "/p/profundo/wrap.py", "of_function"),
                function(TracedKind::Python, "/a.py", "load"),
                function(TracedKind::Builtin, "", "perf_counter"),
            ],
            nodes: vec![
                node(0, thread(7), 0),
                node(1, at(0), 0),
                node(2, at(1), 3),
                node(3, at(2), 3),
                node(3, at(3), 6),
                node(4, at(3), 1),
                node(0, thread(8), 0),
                node(7, at(2), 5),
            ],
            ..TracedCalls::default()
        }
    }

    #[test]
    fn functions_of_the_package_are_left_out() {
        let calls = without_package(&counted(), b"/p/profundo/");
        let at = TracedPlace::Function;
        let found: Vec<_> = (calls.nodes.iter())
            .filter(|node| !matches!(node.place, TracedPlace::Thread { .. }))
            .map(|node| (node.parent, node.place, node.calls))
            .collect();
        // What `load` calls counts, and not what the wrapper calls.
        let expected = [(1, at(0), 0), (2, at(2), 3), (3, at(3), 1), (5, at(2), 5)];
        assert_eq!(found, expected);
        assert_eq!(without_package(&counted(), b""), counted());
    }

    #[test]
    fn a_thread_has_its_own_calls() {
        let sum = |calls: &TracedCalls| calls.nodes.iter().map(|node| node.calls).sum::<u64>();
        let counted = counted();
        assert_eq!(sum(&of_thread(&counted, 7)), 13);
        assert_eq!(sum(&of_thread(&counted, 8)), 5);
        assert_eq!(sum(&of_thread(&counted, 9)), 0);
        assert_eq!(of_thread(&counted, 8).nodes.len(), counted.nodes.len());
    }

    #[test]
    fn what_the_program_says() {
        let wanted = Wanted::of("lines\t/a%09b.py\tload\t\tf").unwrap();
        assert_eq!(wanted.of.len(), 2);
        assert_eq!(wanted.of[0].file.as_deref(), Some("/a\tb.py"));
        assert_eq!(wanted.of[1].file, None);
        assert!(wanted.calls().lines.is_some_and(|lines| lines.times));
        assert!(Wanted::of("calls").unwrap().calls().lines.is_none());
        assert!(Wanted::of("exceptions").unwrap().calls().exceptions);
        assert_eq!(Wanted::of("words"), None);
        assert_eq!(Wanted::of("lines\tf"), None);
        let ended = Ended::of("/p/\t3,4\t5,6:77").unwrap();
        assert_eq!(ended.forgotten, [3, 4]);
        assert_eq!(ended.regions, [(5, None), (6, Some(77))]);
        assert!(Ended::of("/p/\t\t").unwrap().regions.is_empty());
        assert_eq!(Ended::of("/p/\tx\t"), None);
        let asked = Asked::of("5\t/x.profundo\tcalls\t12\tone%0atwo").unwrap();
        assert_eq!((asked.region, asked.duration), (5, 12));
        assert_eq!(asked.notes, ["one\ntwo"]);
        assert_eq!(Asked::of("5\t/x\tcalls"), None);
    }
}
