//! Text profiles of TAU: `profile.NODE.CONTEXT.THREAD`, with all files of their folder.
//!
//! A line has a function, or a path of functions `a => b => c`, with the number of its calls and
//! its time without and with what it calls. Where the paths of a function do not have all of its
//! time, the rest has no callers. A node is a process, a context and a thread of it a thread.

use std::fs;
use std::path::{Path, PathBuf};

use memchr::memmem;
use profundo_model::{Call, Clock, FrameId, Nanos, StackId, State, ThreadId};
use rustc_hash::FxHashMap;

use crate::reader::{Reader, Table};
use crate::{Builder, Error, Named, Row, Source, source};

pub(crate) const READER: Reader = Reader(&Table {
    name: "tau",
    writers: "TAU (profile.0.0.0 and the like)",
    is_start,
    fill,
});

/// The words behind the number of functions.
const TITLE: &[u8] = b" templated_functions";
/// The arrow in a path of functions.
const ARROW: &str = " => ";
/// The deepest path.
const DEEPEST: usize = 4096;

fn is_start(start: &[u8]) -> bool {
    let digits = start
        .iter()
        .take_while(|byte| byte.is_ascii_digit())
        .count();
    digits > 0
        && start
            .get(digits..)
            .is_some_and(|rest| rest.starts_with(TITLE))
}

fn fill(source: &Source<'_>, builder: &mut Builder) -> Result<(), Error> {
    let metric = metric(source.bytes);
    let is_time = is_time(&metric);
    match is_time {
        true => builder.begin_calls(Clock::Wall),
        false => builder.counts(&metric),
    }
    let mut files = Profiles {
        is_time,
        frames: FxHashMap::default(),
    };
    let mut others = 0;
    for (path, place) in ranks(source.path) {
        let is_given = Some(&path[..]) == source.path.and_then(Path::to_str);
        if is_given {
            files.read(builder, source.bytes, place);
            continue;
        }
        let bytes = source::load_beside(Path::new(&path))?;
        if is_start(&bytes) && metric == self::metric(&bytes) {
            files.read(builder, &bytes, place);
            others += 1;
        }
    }
    if builder.profile.threads.is_empty() {
        files.read(builder, source.bytes, [0; 3]);
    }
    if others > 0 {
        builder.note(format!("with {others} other profiles of the same folder"));
    }
    builder.note("the format has no times of single calls");
    Ok(())
}

/// The profiles of the folder, with node, context and thread of each.
fn ranks(path: Option<&Path>) -> Vec<(String, [u32; 3])> {
    let Some((path, _)) = path.and_then(|path| Some((path, place(path)?))) else {
        return Vec::new();
    };
    let folder = match path.parent() {
        Some(folder) if folder.as_os_str().is_empty() => Path::new("."),
        Some(folder) => folder,
        None => return Vec::new(),
    };
    let entries = fs::read_dir(folder).into_iter().flatten().flatten();
    // The given one keeps its way of writing.
    let name_of = |found: PathBuf| match found.file_name() == path.file_name() {
        true => path.to_owned(),
        false => found,
    };
    let mut found: Vec<(String, [u32; 3])> = entries
        .map(|entry| name_of(entry.path()))
        .filter_map(|path| Some((path.to_str()?.to_owned(), place(&path)?)))
        .collect();
    found.sort_by_key(|&(_, place)| place);
    found
}

/// The numbers in `profile.1.0.2`.
fn place(path: &Path) -> Option<[u32; 3]> {
    let name = path.file_name()?.to_str()?;
    let mut numbers = name.strip_prefix("profile.")?.split('.').map(str::parse);
    let place = [
        numbers.next()?.ok()?,
        numbers.next()?.ok()?,
        numbers.next()?.ok()?,
    ];
    numbers.next().is_none().then_some(place)
}

/// The name of what was measured: `TIME`, `PAPI_TOT_CYC`.
fn metric(bytes: &[u8]) -> String {
    let line = bytes.split(|&byte| byte == b'\n').next().unwrap_or(bytes);
    let name = memmem::find(line, b"_MULTI_").and_then(|at| line.get(at + 7..));
    String::from_utf8_lossy(name.unwrap_or(b"TIME"))
        .trim()
        .to_owned()
}

fn is_time(metric: &str) -> bool {
    metric.contains("TIME") || ["LINUX_TIMERS", "LINUXTIMERS"].contains(&metric)
}

/// The rows of a file.
struct Line<'a> {
    path: &'a str,
    calls: f64,
    own: f64,
    total: f64,
}

struct Profiles {
    is_time: bool,
    frames: FxHashMap<String, FrameId>,
}

impl Profiles {
    fn read(&mut self, builder: &mut Builder, bytes: &[u8], [node, context, thread]: [u32; 3]) {
        builder.process(node, &format!("node {node}"));
        let number = u64::from(context) << 32 | u64::from(thread);
        let thread = builder.thread(node, number, "");
        let mut lines = bytes.split(|&byte| byte == b'\n');
        let first = lines.next().unwrap_or_default();
        let digits = first.split(|byte| !byte.is_ascii_digit()).next();
        let count = digits.and_then(|digits| std::str::from_utf8(digits).ok()?.parse().ok());
        let count: usize = count.unwrap_or(0);
        // The second line names the columns.
        lines.next();
        let texts: Vec<_> = (lines.take(count)).map(String::from_utf8_lossy).collect();
        let mut rows = Vec::with_capacity(texts.len());
        for (index, text) in texts.iter().enumerate() {
            match line(text) {
                Some(row) => rows.push(row),
                None => builder.leave_out("lines", || format!("line {}", index + 3)),
            }
        }
        if rows.len() + 1 < count && texts.len() < count {
            builder.leave_out("functions", || format!("line {}", texts.len() + 3));
        }
        self.add(builder, thread, &rows);
    }

    fn add(&mut self, builder: &mut Builder, thread: ThreadId, rows: &[Line<'_>]) {
        // The parts of functions that paths have.
        let mut parts: FxHashMap<&str, (f64, f64, f64)> = FxHashMap::default();
        for row in rows.iter().filter(|row| row.path.contains(ARROW)) {
            let leaf = row.path.rsplit(ARROW).next().unwrap_or(row.path).trim();
            let part = parts.entry(leaf).or_default();
            part.0 += row.calls;
            part.1 += row.own;
            part.2 += row.total;
        }
        for row in rows {
            let mut parent: Option<StackId> = None;
            for name in row.path.split(ARROW).take(DEEPEST) {
                let frame = self.frame(builder, name.trim());
                let location = builder.location_of(frame, None);
                parent = Some(builder.stack(parent, location));
            }
            let Some(stack) = parent else {
                continue;
            };
            let (mut calls, mut own, mut total) = (row.calls, row.own, row.total);
            if let Some(part) = parts.get(row.path.trim()) {
                (calls, own, total) = (calls - part.0, own - part.1, total - part.2);
                if calls < 0.5 && own < 0.5 {
                    continue;
                }
            }
            self.row(builder, (thread, stack), (calls, own, total));
        }
    }

    fn row(
        &self,
        builder: &mut Builder,
        (thread, stack): (ThreadId, StackId),
        (calls, own, total): (f64, f64, f64),
    ) {
        let whole = |value: f64| value.max(0.0).round() as u64;
        if !self.is_time {
            return builder.sample(Row {
                stack,
                thread,
                weight: whole(own),
                samples: whole(calls),
                time: None,
                state: State::Running,
            });
        }
        // Microseconds.
        let time = |value: f64| Nanos(whole(value * 1000.0));
        let call = Call {
            thread,
            stack,
            calls: whole(calls),
            total: time(total),
            own: time(own),
            ..Call::default()
        };
        builder.call(call);
    }

    fn frame(&mut self, builder: &mut Builder, name: &str) -> FrameId {
        if let Some(&known) = self.frames.get(name) {
            return known;
        }
        let (function, file, line) = parts(name);
        let frame = builder.frame(Named {
            function,
            file,
            line,
            ..Named::default()
        });
        self.frames.insert(name.to_owned(), frame);
        frame
    }
}

/// `"NAME" CALLS SUBROUTINES OWN TOTAL PROFILES GROUP="…"`.
fn line(text: &str) -> Option<Line<'_>> {
    let rest = text.strip_prefix('"')?;
    // Names have quotes in them, groups have no numbers before them.
    let group = rest.rfind(" GROUP=").unwrap_or(rest.len());
    let (path, numbers) = rest.get(..group)?.rsplit_once("\" ")?;
    let mut numbers = numbers.split_whitespace().map(str::parse::<f64>);
    let mut number = || numbers.next()?.ok().filter(|number| number.is_finite());
    let calls = number()?;
    number()?;
    Some(Line {
        path,
        calls,
        own: number()?,
        total: number()?,
    })
}

/// The name, the file and the line of `main C [{a.c} {5,1}-{9,1}]`, or of `[SAMPLE] f [{a.c} {7}]`.
fn parts(name: &str) -> (&str, &str, u32) {
    let place = name
        .strip_suffix(']')
        .and_then(|name| name.rsplit_once(" [{"));
    let Some((function, place)) = place else {
        return (name, "", 0);
    };
    let (file, rest) = place.split_once('}').unwrap_or((place, ""));
    let digits = rest.trim_start_matches([' ', '{']);
    let end = digits.find(|letter: char| !letter.is_ascii_digit());
    let line = digits.get(..end.unwrap_or(digits.len()));
    let line = line.and_then(|line| line.parse().ok()).unwrap_or(0);
    let function = function.strip_suffix(" C").unwrap_or(function);
    (function.trim(), file, line)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_have_places() {
        let check = |name, found| assert_eq!(parts(name), found);
        check(
            "int main(int, char **) C [{/a b/c.c} {5,1}-{30,1}]",
            ("int main(int, char **)", "/a b/c.c", 5),
        );
        check("[SAMPLE] work [{w.c} {17}]", ("[SAMPLE] work", "w.c", 17));
        check("MPI_Init()", ("MPI_Init()", "", 0));
        check(".TAU application", (".TAU application", "", 0));
    }

    #[test]
    fn lines_have_quotes_in_names() {
        let found = line("\"f \"x\" => g\" 2 0 1.5E+03 1500 0 GROUP=\"A|B\" ").unwrap();
        assert_eq!(
            (found.path, found.calls, found.own),
            ("f \"x\" => g", 2.0, 1500.0)
        );
        assert!(line("\"f\" 2 x").is_none());
    }

    #[test]
    fn files_have_numbers() {
        assert_eq!(place(Path::new("/a/profile.1.0.23")), Some([1, 0, 23]));
        assert_eq!(place(Path::new("profile.1.0")), None);
        assert_eq!(place(Path::new("profile.1.0.0.gz")), None);
    }
}
