//! The printed report: for each marked function its file, and a table of its lines with the
//! resident memory behind each and the increment to it.

use profundo_model::{Amount, Language, Sampling, Site};

use super::bytes;
use crate::reader::{Reader, Table};
use crate::{Builder, Error, Named, Source};

pub(crate) const READER: Reader = Reader(&Table {
    name: "memory_profiler",
    writers: "memory_profiler's report of lines",
    is_start,
    fill,
});

/// Whether it begins with a table. The program's own output may come before.
fn is_start(start: &[u8]) -> bool {
    let lines = || {
        start
            .split(|&byte| byte == b'\n')
            .map(<[u8]>::trim_ascii_end)
    };
    let mut after = lines().skip_while(|line| !line.starts_with(b"Filename: "));
    let is_head = |line: &[u8]| line.starts_with(b"Line #    Mem usage    Increment");
    after.next().is_some() && after.take(3).any(is_head)
}

/// A row of a table.
#[derive(Debug, Clone, Copy)]
struct Line<'a> {
    number: u32,
    /// MiB; `None` for a line that did not run.
    increment: Option<f64>,
    occurrences: u64,
    text: &'a str,
}

impl<'a> Line<'a> {
    fn of(line: &'a str, has_occurrences: bool) -> Option<Self> {
        /// The columns of numbers, in letters.
        const NUMBER: usize = 6;
        const MEMORY: usize = 26;
        const OCCURRENCES: usize = 12;
        let number = line.get(..NUMBER)?.trim().parse().ok()?;
        let rest = line.get(NUMBER..)?;
        let memory = rest.get(..MEMORY.min(rest.len()))?;
        let rest = rest.get(memory.len()..)?;
        let width = if has_occurrences { OCCURRENCES } else { 0 };
        let occurrences = rest.get(..width.min(rest.len()))?;
        let text = rest.get(occurrences.len()..)?;
        let mut words = memory.split("MiB");
        let increment = words.nth(1).and_then(|word| word.trim().parse().ok());
        Some(Self {
            number,
            increment,
            occurrences: occurrences.trim().parse().unwrap_or(0),
            text: text.strip_prefix("   ").unwrap_or(text),
        })
    }
}

fn fill(source: &Source<'_>, builder: &mut Builder) -> Result<(), Error> {
    let text = String::from_utf8_lossy(source.bytes);
    let (mut file, mut is_table, mut has_occurrences, mut function) = ("", false, false, "");
    builder.profile.heap.sampling = Sampling::All;
    for line in text.lines() {
        let line = line.trim_end();
        if let Some(path) = line.strip_prefix("Filename: ") {
            (file, is_table, function) = (path, false, "");
        } else if line.starts_with("Line #") {
            (is_table, has_occurrences) = (true, line.contains("Occurrences"));
        } else if let Some(line) = Line::of(line, has_occurrences).filter(|_| is_table) {
            if let Some(name) = defined(line.text) {
                function = name;
            }
            row(builder, file, function, &line);
        }
    }
    builder.note(
        "memory_profiler's report has the growth of the resident memory by line, of marked functions alone",
    );
    Ok(())
}

/// The name in `def name(`.
fn defined(text: &str) -> Option<&str> {
    let text = text.trim_start();
    let text = text.strip_prefix("async ").unwrap_or(text);
    let (name, _) = text.strip_prefix("def ")?.split_once('(')?;
    Some(name.trim())
}

fn row(builder: &mut Builder, file: &str, function: &str, line: &Line<'_>) {
    let frame = builder.frame(Named {
        function,
        file,
        line: line.number,
        language: Some(Language::Python),
        ..Named::default()
    });
    let profile = &mut builder.profile;
    let text = profile.strings.intern(line.text);
    let file = profile.frames.get(frame).file;
    profile.sources.insert(file, line.number, text);
    // The first line has the memory before the function.
    let increment = line
        .increment
        .filter(|_| !line.text.trim_start().starts_with('@'));
    let Some(increment) = increment.filter(|&increment| increment != 0.0) else {
        return;
    };
    let location = builder.location_of(frame, None);
    let stack = builder.stack(None, location);
    let process = builder.process(0, "");
    let amount = Amount {
        count: line.occurrences.max(1),
        bytes: bytes(increment.abs()),
    };
    let (allocated, freed) = match increment > 0.0 {
        true => (amount, Amount::default()),
        false => (Amount::default(), amount),
    };
    builder.profile.heap.sites.push(Site {
        process,
        stack,
        allocated,
        freed,
        ..Site::default()
    });
}
