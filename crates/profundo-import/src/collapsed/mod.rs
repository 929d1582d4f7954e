//! Collapsed stacks: `root;…;leaf number`, one a line, as `stackcollapse-*.pl`, inferno, py-spy,
//! async-profiler, bpftrace's scripts and many others write them.
//!
//! Writers differ, and each of these is read: counts with a fraction, frames with spaces or with a
//! colon and a line, marks such as `_[k]`, two columns of a difference, UTF-16 of PowerShell, CRLF.

mod name;
mod text;

use std::borrow::Cow;

use profundo_model::{LocationId, SampleKind, StackId, State, ThreadId};
use rustc_hash::FxHashMap;

use crate::reader::{Reader, Table};
use crate::{Builder, Error, Row, Source};
use name::Marks;

pub(crate) const READER: Reader = Reader(&Table {
    name: "collapsed",
    writers: "flamegraph.pl's scripts, inferno, py-spy, async-profiler, …",
    is_start,
    fill,
});

/// The most frames of a stack. Deeper ones are cut at their leaf's end.
const DEEPEST: usize = 4096;

/// Whether all whole lines are stacks with a number, and there is one.
fn is_start(start: &[u8]) -> bool {
    let text = text::utf8(start);
    let mut found = false;
    let lines = text.split_inclusive(|&byte| byte == b'\n');
    for line in lines {
        // The last line may be cut.
        let is_whole = line.ends_with(b"\n") || start.len() < 4096;
        let line = line.trim_ascii();
        if line.is_empty() || line.starts_with(b"#") || !is_whole {
            continue;
        }
        let Some((stack, _)) = split(line) else {
            return false;
        };
        if std::str::from_utf8(stack).is_err() || stack.iter().any(|&byte| byte < b'\t') {
            return false;
        }
        found = true;
    }
    found
}

fn fill(source: &Source<'_>, builder: &mut Builder) -> Result<(), Error> {
    builder.weighs(SampleKind::Events, "");
    let text = text::utf8(source.bytes);
    let marks = Marks::of(&text);
    let mut lines = Lines::new(marks);
    let mut rest = &text[..];
    let mut number = 0_u64;
    while !rest.is_empty() {
        let end = memchr::memchr(b'\n', rest);
        let line = &rest[..end.unwrap_or(rest.len())];
        rest = &rest[end.map_or(rest.len(), |end| end + 1)..];
        number += 1;
        lines.line(builder, line.trim_ascii(), number);
    }
    let (has_lines, has_fractions) = (lines.marks.has_lines(), lines.has_fractions);
    if has_fractions {
        builder.note("the numbers of the stacks have fractions, which were rounded");
    }
    let threads = match builder.profile.threads.len() {
        0 | 1 => "threads, ",
        _ => "",
    };
    builder.note(match has_lines {
        true => format!("collapsed stacks have no {threads}times or files"),
        false => format!("collapsed stacks have no {threads}times, files or lines"),
    });
    Ok(())
}

/// The stack and the number of a line.
fn split(line: &[u8]) -> Option<(&[u8], f64)> {
    let at = memchr::memrchr2(b' ', b'\t', line)?;
    let (stack, number) = (&line[..at], &line[at + 1..]);
    Some((stack.trim_ascii_end(), amount(number)?)).filter(|(stack, _)| !stack.is_empty())
}

/// The thread that async-profiler puts at the root, `[name tid=7]`, and the stack above it.
fn thread(stack: &[u8]) -> Option<(&[u8], u64, &[u8])> {
    let rest = stack.strip_prefix(b"[")?;
    let end = memchr::memmem::find(rest, b"];")?;
    let (root, above) = (rest.get(..end)?, rest.get(end + 2..)?);
    let at = memchr::memmem::rfind(root, b" tid=")?;
    let digits = std::str::from_utf8(root.get(at + 5..)?).ok()?;
    Some((root.get(..at)?, digits.parse().ok()?, above)).filter(|_| !above.is_empty())
}

/// A number that is not negative.
fn amount(digits: &[u8]) -> Option<f64> {
    // Almost all are short and whole.
    if digits.len() <= 15 && digits.iter().all(u8::is_ascii_digit) {
        let add = |sum: u64, digit: &u8| sum * 10 + u64::from(digit - b'0');
        return (!digits.is_empty()).then(|| digits.iter().fold(0, add) as f64);
    }
    let is_number = |byte: &u8| byte.is_ascii_digit() || b".eE+-".contains(byte);
    if !(digits.first()?.is_ascii_digit() && digits.iter().all(is_number)) {
        return None;
    }
    let number: f64 = std::str::from_utf8(digits).ok()?.parse().ok()?;
    number.is_finite().then_some(number)
}

/// The lines so far.
struct Lines<'a> {
    marks: Marks,
    locations: FxHashMap<Cow<'a, [u8]>, (LocationId, State)>,
    /// The previous line's frames: where each ends, its stack, and whether it is the kernel's.
    previous: Vec<(usize, StackId, State)>,
    previous_line: Vec<u8>,
    /// The thread of lines that name none.
    thread: Option<ThreadId>,
    has_fractions: bool,
}

impl Lines<'_> {
    fn new(marks: Marks) -> Self {
        Self {
            marks,
            locations: FxHashMap::default(),
            previous: Vec::new(),
            previous_line: Vec::new(),
            thread: None,
            has_fractions: false,
        }
    }

    fn line(&mut self, builder: &mut Builder, line: &[u8], number: u64) {
        if line.is_empty() || line.starts_with(b"#") {
            return;
        }
        let Some((stack, amount)) = split(line) else {
            return builder.leave_out("lines", || format!("line {number}"));
        };
        let (stack, amount) = match split(stack) {
            // `difffolded.pl` writes the numbers before and after: the later one is meant.
            Some((both, _)) if self.marks.has_two_numbers => (both, amount),
            _ => (stack, amount),
        };
        self.has_fractions |= amount.fract() != 0.0;
        let weight = amount.round() as u64;
        let (thread, stack) = match thread(stack) {
            Some((name, tid, rest)) => {
                let name = String::from_utf8_lossy(name);
                (builder.thread(0, tid, &name), rest)
            }
            None => {
                let thread = self.thread.get_or_insert_with(|| builder.only_thread());
                (*thread, stack)
            }
        };
        let Some((stack, state)) = self.stack(builder, stack) else {
            return;
        };
        builder.sample(Row {
            stack,
            thread,
            weight,
            samples: weight,
            time: None,
            state,
        });
    }

    /// The stack of a line. Most lines begin like the one before.
    fn stack(&mut self, builder: &mut Builder, stack: &[u8]) -> Option<(StackId, State)> {
        let shared = shared_length(&self.previous_line, stack);
        let is_end = |end: usize| end <= shared && stack.get(end).is_none_or(|&byte| byte == b';');
        let kept = self.previous.iter().take_while(|&&(end, ..)| is_end(end));
        let kept = kept.count();
        self.previous.truncate(kept);
        self.previous_line.clear();
        self.previous_line.extend_from_slice(stack);
        let mut at = self.previous.last().map_or(0, |&(end, ..)| end + 1);
        while at <= stack.len() && self.previous.len() < DEEPEST {
            let end = memchr::memchr(b';', &stack[at..]).map_or(stack.len(), |end| at + end);
            let name = &stack[at..end];
            // Some writers end or begin with a semicolon.
            if !name.is_empty() {
                let (location, state) = self.location(builder, name);
                let parent = self.previous.last().map(|&(_, stack, _)| stack);
                let stack = builder.stack(parent, location);
                self.previous.push((end, stack, state));
            }
            at = end + 1;
        }
        self.previous
            .last()
            .map(|&(_, stack, state)| (stack, state))
    }

    fn location(&mut self, builder: &mut Builder, name: &[u8]) -> (LocationId, State) {
        if let Some(&known) = self.locations.get(name) {
            return known;
        }
        let text = String::from_utf8_lossy(name);
        let found = self.marks.location(builder, &text);
        self.locations.insert(Cow::Owned(name.to_vec()), found);
        found
    }
}

/// The length of the bytes that both begin with.
fn shared_length(one: &[u8], other: &[u8]) -> usize {
    const WORD: usize = 16;
    let words = one.chunks_exact(WORD).zip(other.chunks_exact(WORD));
    let start = words.take_while(|(a, b)| a == b).count() * WORD;
    let rest = one[start..].iter().zip(&other[start..]);
    start + rest.take_while(|(a, b)| a == b).count()
}
