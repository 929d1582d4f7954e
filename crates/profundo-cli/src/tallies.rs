//! Counters that compilers have put into programs: what they mean is read from the programs' files when all is over.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::path::{Path, PathBuf};

use profundo_analysis::{Pattern, Rules};
use profundo_remote::{Lines, LinesOf};
use profundo_symbols::{CountedFunction, GccFunction, GccNotes, LlvmMap, Uncounted};
use profundo_wire::recording::Event;
use profundo_wire::tallies::{GccTallies, Tallies};
use profundo_wire::traced::{
    CountedBy, TracedCalls, TracedFunction, TracedKind, TracedLines, TracedNode, TracedPlace,
};

use crate::function_names;

/// What processes have counted, and what is to be known of it.
#[derive(Debug, Default)]
pub struct Tallied {
    /// Lines, instead of calls.
    lines: Option<Lines>,
    /// Whose code it is, where that is said.
    rules: Rules,
    processes: Vec<(u32, Tallies)>,
    maps: HashMap<String, Result<LlvmMap, Uncounted>>,
    notes: HashMap<String, Result<GccNotes, Uncounted>>,
    /// Of which instances generic functions are the sums.
    instances: BTreeMap<String, u32>,
    /// The names of all functions, where lines of some are asked for.
    names: BTreeSet<String>,
    /// What of [`Lines::of`] some function is.
    asked: BTreeSet<usize>,
}

impl Tallied {
    /// Where lines are counted, those of functions that fit.
    pub fn new(lines: Option<Lines>) -> Self {
        let mine = lines.as_ref().map(|lines| &lines.mine[..]);
        Self {
            rules: Rules::new(mine.unwrap_or_default()),
            lines,
            ..Self::default()
        }
    }

    /// Keeps what a process has counted.
    pub fn keep(&mut self, process: u32, tallies: Tallies) {
        self.processes.push((process, tallies));
    }

    /// What it means.
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
                    events.push(self.told(process, CountedBy::Llvm, found));
                }
                Tallies::Gcc(objects) => {
                    for object in objects {
                        let found = self.of_object(object).map_err(|why| why.to_string());
                        events.push(self.told(process, CountedBy::Gcc, found));
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

    /// What to say of names that no function has.
    fn unknown_names(&self) -> Vec<Event<'static>> {
        let asked = self.lines.iter().flat_map(|lines| lines.of.iter());
        let unknown = asked
            .enumerate()
            .filter(|(index, _)| !self.asked.contains(index));
        let unknown = unknown.filter_map(|(_, asked)| asked.name.as_deref());
        let note = |name: &str| {
            let names = self.names.iter().map(String::as_str);
            let near = function_names::near_ones(&function_names::near(name, names));
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
            .map_or(path.clone(), |it| format!("{it}.gcno"));
        let notes = self.notes.entry(path);
        let at = PathBuf::from(notes.key());
        let notes = notes.or_insert_with(|| GccNotes::open(&at));
        match notes {
            Ok(notes) => notes.functions(stamp, &counted, &at),
            Err(why) => Err(why.clone()),
        }
    }

    /// What functions have counted, as calls or lines.
    fn told(
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
        for it in found {
            if let Some(lines) = &self.lines {
                let asked = (0..).zip(&lines.of);
                let asked = asked.filter(|(_, asked)| is_asked(asked, &it));
                self.asked.extend(asked.map(|(index, _)| index));
                if !lines.of.is_empty() {
                    self.names.insert(it.name.clone());
                }
            }
            let is_wanted = match &self.lines {
                None => it.calls > 0,
                Some(lines) => {
                    is_wanted((lines, &self.rules), &it) && it.lines.iter().any(|line| line.1 > 0)
                }
            };
            if !is_wanted {
                continue;
            }
            if it.instances > 1 {
                let count = self.instances.entry(it.name.clone()).or_default();
                *count = (*count).max(it.instances);
            }
            if self.lines.is_none() {
                nodes.push(TracedNode {
                    parent: 0,
                    place: TracedPlace::Function(functions.len() as u32),
                    calls: it.calls,
                    resumes: 0,
                    total: 0,
                });
            }
            functions.push(TracedFunction {
                kind: match it.is_rust {
                    true => TracedKind::Rust,
                    false => TracedKind::Native,
                },
                line: it.line,
                lines: self.lines.as_ref().and_then(|_| traced_lines(&it.lines)),
                name: it.name,
                file: it.file,
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

/// Lines from the first to the last. Between them there may be such that have no code.
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

/// Whether a function's lines are asked for. If nothing is said of that, those in the program's own files are.
fn is_wanted((lines, rules): (&Lines, &Rules), function: &CountedFunction) -> bool {
    /// Where files lie that are others' work.
    const OTHERS: [&str; 6] = [
        "/.cargo/registry/",
        "/.cargo/git/",
        "/.rustup/",
        "/rustc/",
        "/usr/include/",
        "/usr/lib/",
    ];
    if lines.of.is_empty() {
        let is_own = || !OTHERS.iter().any(|it| function.file.contains(it));
        return rules.is_mine(&function.file).unwrap_or_else(is_own);
    }
    lines.of.iter().any(|it| is_asked(it, function))
}

fn is_asked(asked: &LinesOf, function: &CountedFunction) -> bool {
    let has_file = asked.file.as_ref().is_none_or(|of| {
        let pattern = Pattern::new(of);
        let shorter = function.file.match_indices('/');
        let shorter = shorter.map(|(at, it)| &function.file[at + it.len()..]);
        std::iter::once(function.file.as_str())
            .chain(shorter)
            .any(|it| match pattern.is_glob() {
                true => pattern.is_in(it),
                false => pattern.text() == it,
            })
    });
    let has_name = asked
        .name
        .as_ref()
        .is_none_or(|of| function_names::fits_end(&Pattern::new(of), &function.name));
    has_file && has_name
}
