//! Counters that compilers have put into programs. Their meaning is read from the programs' files
//! at the end.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::path::{Path, PathBuf};

use profundo_analysis::{Pattern, Rules, function_names};
use profundo_console::stderr;
use profundo_recorder::{Lines, LinesOf};
use profundo_symbols::{CountedFunction, GccFunction, GccNotes, LlvmMap, Uncounted};
use profundo_wire::native_calls::{GccTallies, Tallies};
use profundo_wire::recording::Event;
use profundo_wire::traced::{
    CountedBy, TracedCalls, TracedFunction, TracedKind, TracedLines, TracedNode, TracedPlace,
};

/// The counts of all processes, and how they are to be reported.
#[derive(Debug, Default)]
pub struct CoverageCounters {
    /// The lines to count, instead of calls.
    lines: Option<Lines>,
    /// The rules for own code, if any were given.
    rules: Rules,
    processes: Vec<(u32, Tallies)>,
    maps: HashMap<String, Result<LlvmMap, Uncounted>>,
    notes: HashMap<String, Result<GccNotes, Uncounted>>,
    /// The number of instances behind each generic function.
    instances: BTreeMap<String, u32>,
    /// The names of all functions, if lines of some are asked for.
    names: BTreeSet<String>,
    /// Indices into [`Lines::of`] that some function matches.
    asked: BTreeSet<usize>,
}

impl CoverageCounters {
    /// Counts calls, or, with `lines`, the lines of matching functions.
    pub fn new(lines: Option<Lines>) -> Self {
        let mine = lines.as_ref().map(|lines| &lines.mine[..]);
        Self {
            rules: Rules::new(mine.unwrap_or_default()),
            lines,
            ..Self::default()
        }
    }

    /// Keeps the counts of a process.
    pub fn keep(&mut self, process: u32, tallies: Tallies) {
        self.processes.push((process, tallies));
    }

    /// The events that the counts amount to.
    pub fn finish(mut self) -> Vec<Event<'static>> {
        let mut events = Vec::new();
        for (process, tallies) in std::mem::take(&mut self.processes) {
            match tallies {
                Tallies::Llvm { path, counters } => {
                    let map = self.maps.entry(path);
                    let map = map.or_insert_with_key(|path| LlvmMap::open(Path::new(path)));
                    let found = match map {
                        Ok(map) => map.functions(&counters).map_err(|why| why.to_string()),
                        Err(why) => Err(why.to_string()),
                    };
                    events.push(self.event(process, CountedBy::Llvm, found));
                }
                Tallies::Gcc(objects) => {
                    for object in objects {
                        let found = self.of_object(object).map_err(|why| why.to_string());
                        events.push(self.event(process, CountedBy::Gcc, found));
                    }
                }
            }
        }
        events.extend(self.unknown_names());
        if !self.instances.is_empty() {
            let several = self.instances.iter();
            let several = several.map(|(name, count)| format!("{name} ({count})"));
            let several: Vec<String> = several.collect();
            events.push(Event::Note(format!(
                "instances of generic functions are added up: {}",
                several.join(", ")
            )));
        }
        events
    }

    /// Notes on asked names that no function has.
    fn unknown_names(&self) -> Vec<Event<'static>> {
        let asked = self.lines.iter().flat_map(|lines| lines.of.iter());
        let unknown = asked
            .enumerate()
            .filter(|(index, _)| !self.asked.contains(index));
        let unknown = unknown.filter_map(|(_, asked)| asked.name.as_deref());
        let note = |name: &str| {
            let names = self.names.iter().map(String::as_str);
            let near = stderr::near_ones(&function_names::near(name, names));
            format!(
                "lines of {name} were not counted: no function with counters has that name{near}"
            )
        };
        match self.names.is_empty() {
            true => Vec::new(),
            false => unknown.map(|name| Event::Note(note(name))).collect(),
        }
    }

    fn of_object(&mut self, object: GccTallies) -> Result<Vec<CountedFunction>, Uncounted> {
        let GccTallies {
            path,
            stamp,
            functions,
        } = object;
        let counted: Vec<GccFunction> = (functions.into_iter())
            .map(|(ident, checksum, counters)| GccFunction {
                ident,
                checksum,
                counters,
            })
            .collect();
        if counted.is_empty() {
            return Ok(Vec::new());
        }
        let path = path
            .strip_suffix(".gcda")
            .map_or(path.clone(), |stem| format!("{stem}.gcno"));
        let notes = self.notes.entry(path);
        let at = PathBuf::from(notes.key());
        let notes = notes.or_insert_with(|| GccNotes::open(&at));
        match notes {
            Ok(notes) => notes.functions(stamp, &counted, &at),
            Err(why) => Err(why.clone()),
        }
    }

    /// The counts of functions, as calls or lines.
    fn event(
        &mut self,
        process: u32,
        counted_by: CountedBy,
        found: Result<Vec<CountedFunction>, String>,
    ) -> Event<'static> {
        let found = match found {
            Ok(found) => found,
            Err(why) => {
                return Event::Note(format!(
                    "what the compiler's counters say is not known: {why}"
                ));
            }
        };
        let mut functions = Vec::new();
        let mut nodes = Vec::new();
        for function in found {
            if let Some(lines) = &self.lines {
                let asked = (0..).zip(&lines.of);
                let asked = asked.filter(|(_, asked)| is_asked(asked, &function));
                self.asked.extend(asked.map(|(index, _)| index));
                if !lines.of.is_empty() {
                    self.names.insert(function.name.clone());
                }
            }
            let is_wanted = match &self.lines {
                None => function.calls > 0,
                Some(lines) => {
                    is_wanted(lines, &self.rules, &function)
                        && function.lines.iter().any(|line| line.1 > 0)
                }
            };
            if !is_wanted {
                continue;
            }
            if function.instances > 1 {
                let count = self.instances.entry(function.name.clone()).or_default();
                *count = (*count).max(function.instances);
            }
            if self.lines.is_none() {
                nodes.push(TracedNode {
                    parent: 0,
                    place: TracedPlace::Function(functions.len() as u32),
                    calls: function.calls,
                    resumes: 0,
                    total: 0,
                });
            }
            functions.push(TracedFunction {
                kind: match function.is_rust {
                    true => TracedKind::Rust,
                    false => TracedKind::Native,
                },
                line: function.line,
                lines: self
                    .lines
                    .as_ref()
                    .and_then(|_| traced_lines(&function.lines)),
                name: function.name,
                file: function.file,
                ..TracedFunction::default()
            });
        }
        Event::Calls {
            process,
            calls: TracedCalls {
                counted_by,
                functions,
                nodes,
                ..TracedCalls::default()
            },
        }
    }
}

/// Lines from the first to the last. Lines in between may have no code.
fn traced_lines(lines: &[(u32, u64)]) -> Option<TracedLines> {
    let (first, last) = (lines.first()?.0, lines.last()?.0);
    let mut rows = vec![[0, 0]; (last - first) as usize + 1];
    for &(line, hits) in lines {
        rows[(line - first) as usize][0] = hits;
    }
    Some(TracedLines {
        first,
        is_marked: false,
        rows,
    })
}

/// True if a function's lines are asked for. Without patterns, those in the program's own files
/// are.
fn is_wanted(lines: &Lines, rules: &Rules, function: &CountedFunction) -> bool {
    /// Folders of other people's code.
    const OTHERS: [&str; 6] = [
        "/.cargo/registry/",
        "/.cargo/git/",
        "/.rustup/",
        "/rustc/",
        "/usr/include/",
        "/usr/lib/",
    ];
    if lines.of.is_empty() {
        let is_own = || !OTHERS.iter().any(|folder| function.file.contains(folder));
        return rules.is_mine(&function.file).unwrap_or_else(is_own);
    }
    lines.of.iter().any(|asked| is_asked(asked, function))
}

fn is_asked(asked: &LinesOf, function: &CountedFunction) -> bool {
    let has_file = asked.file.as_ref().is_none_or(|of| {
        let pattern = Pattern::new(of);
        let shorter = function.file.match_indices('/');
        let shorter = shorter.map(|(at, slash)| &function.file[at + slash.len()..]);
        std::iter::once(function.file.as_str())
            .chain(shorter)
            .any(|path| match pattern.is_glob() {
                true => pattern.is_in(path),
                false => pattern.text() == path,
            })
    });
    let has_name = asked
        .name
        .as_ref()
        .is_none_or(|of| function_names::fits_end(&Pattern::new(of), &function.name));
    has_file && has_name
}
