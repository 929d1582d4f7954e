//! Source files with a number before each line, as Julia leaves them beside the sources: `.mem` of
//! `--track-allocation` has bytes, `.cov` of `--code-coverage` has runs.
//!
//! ```text
//!         - function f(x)
//!         0     s = 0
//!   8000080     v = rand(x)
//!         - end
//! ```
//!
//! A number has nine columns, and more if it has to; `-` stands where there is no code. The two
//! differ in nothing but their names: `work.jl.1234.mem` and `work.jl.1234.cov` are of `work.jl` in
//! process 1234.

use std::path::{Path, absolute};

use profundo_model::{Amount, Clock, Frame, FrameId, Line, ProcessId, Sampling, Site, Tracing};

use crate::quantities::value::choose;
use crate::reader::{Reader, Table};
use crate::{Builder, Error, Named, Source, Unit, Value};

pub(crate) const READER: Reader = Reader(&Table {
    name: "counted source",
    writers: "Julia's --track-allocation and --code-coverage",
    is_start,
    fill,
});

/// The columns of a number.
const WIDTH: usize = 9;

/// The mark before a line.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Mark {
    /// There is no code.
    NoCode,
    /// There is code, with an unknown number.
    Unknown,
    Number(u64),
}

/// The mark and the source of a line.
fn split(line: &[u8]) -> Option<(Mark, &[u8])> {
    let line = line.strip_suffix(b"\r").unwrap_or(line);
    let start = line.iter().position(|&byte| byte != b' ')?;
    let end = memchr::memchr(b' ', &line[start..]).map_or(line.len(), |at| start + at);
    // To the right: a number of fewer digits has spaces before it.
    if end < WIDTH || end > WIDTH && start > 0 {
        return None;
    }
    let mark = match &line[start..end] {
        b"-" => Mark::NoCode,
        b"?" => Mark::Unknown,
        digits if digits.iter().all(u8::is_ascii_digit) => {
            Mark::Number(std::str::from_utf8(digits).ok()?.parse().ok()?)
        }
        _ => return None,
    };
    Some((mark, line.get(end + 1..).unwrap_or_default()))
}

fn lines(text: &[u8]) -> impl Iterator<Item = &[u8]> {
    let text = text.strip_suffix(b"\n").unwrap_or(text);
    text.split(|&byte| byte == b'\n')
}

/// Whether all whole lines have a mark. One in the middle of a long start may be cut.
fn is_start(start: &[u8]) -> bool {
    let whole = match memchr::memrchr(b'\n', start) {
        Some(end) => &start[..end],
        None => start,
    };
    !whole.is_empty() && lines(whole).all(|line| split(line).is_some())
}

/// The meaning of the numbers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Meaning {
    Runs,
    Bytes,
}

impl Meaning {
    const ALL: [Self; 2] = [Self::Runs, Self::Bytes];

    /// By the ending of the name; without one, all multiples of a word are bytes.
    fn usual(source: &Source<'_>) -> Self {
        let ending = source.path.and_then(Path::extension);
        match ending.and_then(|ending| ending.to_str()) {
            Some("mem") => Self::Bytes,
            Some("cov") => Self::Runs,
            _ => {
                let mut is_any = false;
                let is_bytes = lines(source.bytes).all(|line| match split(line) {
                    Some((Mark::Number(number), _)) => {
                        is_any |= number > 0;
                        number.is_multiple_of(8)
                    }
                    _ => true,
                });
                if is_bytes && is_any {
                    Self::Bytes
                } else {
                    Self::Runs
                }
            }
        }
    }
}

fn fill(source: &Source<'_>, builder: &mut Builder) -> Result<(), Error> {
    let values = [("runs", Unit::Count), ("bytes", Unit::Bytes)].map(|(name, unit)| Value {
        name: name.to_owned(),
        unit,
    });
    let usual = Meaning::usual(source) as usize;
    let wanted = source.options.value.as_deref();
    let meaning = Meaning::ALL[choose(&values, wanted, usual)?];
    let (file, pid) = source.path.map_or_else(Default::default, source_of);
    let name = file.rsplit('/').next().unwrap_or_default().to_owned();
    let process = builder.process(pid, "");
    let frame = builder.frame(Named {
        function: if name.is_empty() { "[source]" } else { &name },
        file: &file,
        line: 1,
        ..Named::default()
    });
    let mut rows = Rows {
        frame: *builder.profile.frames.get(frame),
        process,
        meaning,
    };
    for (number, line) in (1_u32..).zip(lines(source.bytes)) {
        let Some((mark, text)) = split(line) else {
            builder.leave_out("lines", || format!("line {number}"));
            continue;
        };
        rows.line(builder, number, mark, text);
    }
    finish(builder, meaning);
    Ok(())
}

/// The lines of the file.
struct Rows {
    /// The file as a function.
    frame: Frame,
    process: ProcessId,
    meaning: Meaning,
}

impl Rows {
    fn line(&mut self, builder: &mut Builder, line: u32, mark: Mark, text: &[u8]) {
        let profile = &mut builder.profile;
        let text = profile.strings.intern(&String::from_utf8_lossy(text));
        profile.sources.insert(self.frame.file, line, text);
        let Mark::Number(number) = mark else {
            return;
        };
        let frame = profile.frames.intern(Frame { line, ..self.frame });
        match self.meaning {
            Meaning::Runs => profile.traced.lines.push(Line {
                process: self.process,
                frame,
                first: 1,
                hits: number,
                time: Default::default(),
            }),
            Meaning::Bytes if number > 0 => self.site(builder, frame, number),
            Meaning::Bytes => {}
        }
    }

    fn site(&self, builder: &mut Builder, frame: FrameId, bytes: u64) {
        let location = builder.location_of(frame, None);
        let stack = builder.stack(None, location);
        let sites = &mut builder.profile.heap.sites;
        let amount = Amount { count: 0, bytes };
        sites.push(Site {
            process: self.process,
            stack,
            allocated: amount,
            // It is not known what was freed.
            freed: amount,
            number: sites.len() as u32,
            ..Site::default()
        });
    }
}

fn finish(builder: &mut Builder, meaning: Meaning) {
    match meaning {
        Meaning::Runs => {
            let traced = &mut builder.profile.traced;
            traced.clock = Clock::None;
            traced.tracing = tracing_of(&traced.lines);
            builder.note("the file has how often each line was run, and no functions or times");
        }
        Meaning::Bytes => {
            // A thread for what asks for the first one.
            builder.only_thread();
            builder.profile.heap.sampling = Sampling::All;
            builder.note(
                "the file has the bytes that each line has allocated: no functions, callers or numbers of blocks, and nothing of what was freed",
            );
        }
    }
}

/// The kind of tracing behind counts: some tools only mark the lines that were run.
pub(crate) fn tracing_of(lines: &[Line]) -> Tracing {
    match lines.iter().any(|line| line.hits > 1) {
        true => Tracing::Lines,
        false => Tracing::LinesOnce,
    }
}

/// The path of the source and the number of the process: `a/work.jl.1234.mem` is of `a/work.jl`.
fn source_of(path: &Path) -> (String, u32) {
    let path = absolute(path).unwrap_or_else(|_| path.to_owned());
    let path = path.to_string_lossy();
    let Some(name) = ["mem", "cov"]
        .iter()
        .find_map(|ending| path.strip_suffix(ending)?.strip_suffix('.'))
    else {
        return (path.into_owned(), 0);
    };
    if let Some((source, pid)) = name.rsplit_once('.')
        && let Ok(pid) = pid.parse()
    {
        return (source.to_owned(), pid);
    }
    (name.to_owned(), 0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_has_nine_columns_before_it() {
        assert_eq!(split(b"        - end"), Some((Mark::NoCode, &b"end"[..])));
        assert_eq!(split(b"        -"), Some((Mark::NoCode, &b""[..])));
        let wide = split(b"12345678901     x\r");
        assert_eq!(wide, Some((Mark::Number(12_345_678_901), &b"    x"[..])));
        for other in [
            "end",
            "1 x",
            "  12 main",
            "          12 x",
            "",
            "   1.5000 x",
        ] {
            assert_eq!(split(other.as_bytes()), None, "{other}");
        }
    }

    #[test]
    fn the_name_has_the_source_and_the_process() {
        let path = |path| source_of(Path::new(path));
        assert_eq!(path("/a/w.jl.12.mem"), ("/a/w.jl".to_owned(), 12));
        assert_eq!(path("/a/w.jl.cov"), ("/a/w.jl".to_owned(), 0));
        assert_eq!(path("/a/w"), ("/a/w".to_owned(), 0));
    }
}
