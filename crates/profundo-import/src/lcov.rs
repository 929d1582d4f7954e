//! LCOV's tracefiles, `.info`: how often each line was run. `lcov`, `llvm-cov export`, coverage.py,
//! `Coverage.jl`, c8 and many others write them.
//!
//! ```text
//! SF:/home/me/work.c          the file
//! FN:3,9,work                 a function: its first line, its last one (not in all files), its name
//! DA:4,1000                   a line and its runs
//! end_of_record
//! ```
//!
//! LCOV 2 has `FNL:number,first line,last line` and `FNA:number,runs,name` in place of `FN`. A file
//! may come several times, once for each test: the runs add up.

use profundo_model::{Clock, Frame, FrameId, Line, Nanos, ProcessId};
use rustc_hash::FxHashMap;

use crate::counted_source::tracing_of;
use crate::reader::{Reader, Table};
use crate::{Builder, Error, Named, Source};

pub(crate) const READER: Reader = Reader(&Table {
    name: "lcov",
    writers: "lcov, llvm-cov, coverage.py, Coverage.jl, c8, …",
    is_start,
    fill,
});

/// Whether the first lines are of a tracefile, and the first file is among them.
fn is_start(start: &[u8]) -> bool {
    const BEFORE: [&[u8]; 3] = [b"TN:", b"#", b"VER:"];
    for line in start.split(|&byte| byte == b'\n').map(<[u8]>::trim_ascii) {
        if line.starts_with(b"SF:") {
            return line.len() > 3;
        }
        if !line.is_empty() && !BEFORE.iter().any(|before| line.starts_with(before)) {
            return false;
        }
    }
    false
}

fn fill(source: &Source<'_>, builder: &mut Builder) -> Result<(), Error> {
    let process = builder.process(0, "");
    let mut lines = Lines::default();
    let mut record = Record::default();
    let mut rest = source.bytes;
    let mut number = 0_u64;
    while !rest.is_empty() {
        let end = memchr::memchr(b'\n', rest);
        let line = &rest[..end.unwrap_or(rest.len())];
        rest = end.map_or(&[][..], |end| &rest[end + 1..]);
        number += 1;
        let line = line.trim_ascii();
        if line == b"end_of_record" {
            lines.take_in(builder, process, &mut record);
        } else if record.line(line).is_none() {
            builder.leave_out("lines", || format!("line {number}"));
        }
    }
    // The last record may be cut.
    lines.take_in(builder, process, &mut record);
    let traced = &mut builder.profile.traced;
    traced.clock = Clock::None;
    traced.tracing = tracing_of(&traced.lines);
    builder.note("the file has how often each line was run, and no times or callers");
    Ok(())
}

/// A function of a file.
#[derive(Debug, Clone, Copy)]
struct Function<'a> {
    first: u32,
    /// Its last line, where known.
    last: u32,
    name: &'a [u8],
}

/// The lines of one file.
#[derive(Debug, Default)]
struct Record<'a> {
    file: &'a [u8],
    functions: Vec<Function<'a>>,
    /// LCOV 2's functions that have no name yet, by their numbers.
    nameless: FxHashMap<u32, (u32, u32)>,
    /// The lines and their runs.
    lines: Vec<(u32, u64)>,
}

impl<'a> Record<'a> {
    /// Takes a line of the file in. `None`: it is not as it should be.
    fn line(&mut self, line: &'a [u8]) -> Option<()> {
        let at = memchr::memchr(b':', line);
        let (key, value) = at.map_or((line, &[][..]), |at| (&line[..at], &line[at + 1..]));
        match key {
            b"SF" => {
                *self = Self {
                    file: value,
                    ..Self::default()
                }
            }
            b"DA" => {
                let (line, runs) = cut(value)?;
                // A checksum may follow.
                let runs = cut(runs).map_or(runs, |(runs, _)| runs);
                self.lines.push((digits(line)?, count(runs)?));
            }
            b"FN" => {
                let (first, rest) = cut(value)?;
                let first = digits(first)?;
                let function = match cut(rest).map(|(last, name)| (digits(last), name)) {
                    Some((Some(last), name)) => Function { first, last, name },
                    _ => Function {
                        first,
                        last: u32::MAX,
                        name: rest,
                    },
                };
                self.functions.push(function);
            }
            b"FNL" => {
                let (number, rest) = cut(value)?;
                let (first, last) = match cut(rest) {
                    Some((first, last)) => (digits(first)?, digits(last)?),
                    None => (digits(rest)?, u32::MAX),
                };
                self.nameless.insert(digits(number)?, (first, last));
            }
            b"FNA" => {
                let (number, rest) = cut(value)?;
                let (_, name) = cut(rest)?;
                // Others of its instances may have had a name before.
                if let Some((first, last)) = self.nameless.remove(&digits(number)?) {
                    self.functions.push(Function { first, last, name });
                }
            }
            // Tests, sums, and branches.
            b"" | b"TN" | b"VER" | b"FNDA" | b"FNF" | b"FNH" | b"LF" | b"LH" => {}
            key if key.starts_with(b"BR") || key.starts_with(b"MC") || key[0] == b'#' => {}
            _ => return None,
        }
        Some(())
    }
}

/// The parts before and after a comma.
fn cut(text: &[u8]) -> Option<(&[u8], &[u8])> {
    let at = memchr::memchr(b',', text)?;
    Some((&text[..at], &text[at + 1..]))
}

fn digits(text: &[u8]) -> Option<u32> {
    std::str::from_utf8(text).ok()?.parse().ok()
}

/// A number of runs: some tools write it with a fraction, or less than none by mistake.
fn count(text: &[u8]) -> Option<u64> {
    let text = std::str::from_utf8(text).ok()?;
    let number = text.parse().ok();
    number.or_else(|| text.parse::<f64>().ok().map(|number| number as u64))
}

/// The most functions in one another, and bytes of a path.
const DEEPEST: usize = 64;
const LONGEST_PATH: usize = 4096;

/// The rows of lines, by their frames.
#[derive(Debug, Default)]
struct Lines {
    rows: FxHashMap<FrameId, usize>,
}

impl Lines {
    fn take_in(&mut self, builder: &mut Builder, process: ProcessId, record: &mut Record<'_>) {
        let Record {
            file,
            mut functions,
            mut lines,
            ..
        } = std::mem::take(record);
        functions.sort_by_key(|function| function.first);
        lines.sort_by_key(|&(line, _)| line);
        let file = String::from_utf8_lossy(&file[..file.len().min(LONGEST_PATH)]);
        let name = file.rsplit(['/', '\\']).next().unwrap_or_default();
        let whole = Function {
            first: 1,
            last: u32::MAX,
            name: name.as_bytes(),
        };
        let whole = Open::new(builder, &file, whole);
        // The functions around a line, the outermost first.
        let mut open: Vec<Open> = Vec::new();
        let mut next = functions.into_iter().peekable();
        for (line, runs) in lines {
            while let Some(function) = next.next_if(|function| function.first <= line) {
                // One without an end goes on to the next one.
                open.retain(|open| open.last >= function.first && open.last != u32::MAX);
                if open.len() == DEEPEST {
                    open.remove(0);
                }
                open.push(Open::new(builder, &file, function));
            }
            open.retain(|open| open.last >= line);
            let function = open.last().unwrap_or(&whole);
            let frames = &mut builder.profile.frames;
            let frame = frames.intern(Frame {
                line,
                ..function.frame
            });
            let all = &mut builder.profile.traced.lines;
            let row = *self.rows.entry(frame).or_insert(all.len());
            match all.get_mut(row) {
                Some(row) => row.hits = row.hits.saturating_add(runs),
                None => all.push(Line {
                    process,
                    frame,
                    first: function.first,
                    hits: runs,
                    time: Nanos(0),
                }),
            }
        }
    }
}

/// A function whose lines come.
struct Open {
    first: u32,
    last: u32,
    frame: Frame,
}

impl Open {
    fn new(builder: &mut Builder, file: &str, function: Function<'_>) -> Self {
        let name = String::from_utf8_lossy(function.name);
        let frame = builder.frame(Named {
            function: &name,
            file,
            line: function.first,
            ..Named::default()
        });
        Self {
            first: function.first,
            last: function.last,
            frame: *builder.profile.frames.get(frame),
        }
    }
}
