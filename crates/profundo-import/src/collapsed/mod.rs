//! Collapsed stacks: `root;…;leaf number`, one a line, as `stackcollapse-*.pl`, inferno, py-spy,
//! async-profiler, bpftrace's scripts and many others write them.
//!
//! Writers differ, and each of these is read: counts with a fraction, frames with spaces or with a
//! colon and a line, marks such as `_[k]`, two columns of a difference, UTF-16 of PowerShell, CRLF.

mod name;
mod owner;

use profundo_model::{LocationId, LocationKind, Reason, SampleKind, StackId, State, ThreadId};
use rustc_hash::FxHashMap;

use crate::encoding::text;
use crate::reader::{Reader, Table};
use crate::{Builder, Error, Row, Source};
use name::Marks;
use owner::Owners;

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
        if without_stack(line).is_some() {
            continue;
        }
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
        match without_stack(line) {
            Some(amount) => lines.sample(builder, b"", amount),
            None => lines.line(builder, line.trim_ascii(), number),
        }
    }
    let (has_lines, has_fractions) = (lines.marks.has_lines(), lines.has_fractions);
    if has_fractions {
        builder.note("the numbers of the stacks have fractions, which were rounded");
    }
    builder.note(match (has_lines, lines.owners.is_any()) {
        (true, true) => "collapsed stacks have no times",
        (true, false) => "collapsed stacks have no threads or times",
        (false, true) => "collapsed stacks have no times, files or lines",
        (false, false) => "collapsed stacks have no threads, times, files or lines",
    });
    Ok(())
}

/// The stack and the number of a line.
fn split(line: &[u8]) -> Option<(&[u8], f64)> {
    let at = memchr::memrchr2(b' ', b'\t', line)?;
    let (stack, number) = (&line[..at], &line[at + 1..]);
    Some((stack.trim_ascii_end(), amount(number)?)).filter(|(stack, _)| !stack.is_empty())
}

/// The number of a line that has nothing before its space. py-spy writes such a line for samples of
/// threads without a Python frame, as at the end of a program.
fn without_stack(line: &[u8]) -> Option<f64> {
    let begins_with_space = matches!(line, [b' ' | b'\t', ..]);
    amount(line.trim_ascii()).filter(|_| begins_with_space)
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
struct Lines {
    marks: Marks,
    locations: FxHashMap<Box<[u8]>, (LocationId, State)>,
    /// Stacks by the hash of their text.
    stacks: FxHashMap<u64, (StackId, State)>,
    /// The frames of the previous line.
    previous: Vec<Frame>,
    previous_line: Vec<u8>,
    /// The thread of stacks without a root for it, once there is one.
    only_thread: Option<ThreadId>,
    owners: Owners,
    has_fractions: bool,
}

/// A frame of a line.
#[derive(Debug, Clone, Copy)]
struct Frame {
    start: usize,
    end: usize,
    /// The hash of the line up to its end.
    hash: u64,
}

impl Lines {
    fn new(marks: Marks) -> Self {
        Self {
            marks,
            locations: FxHashMap::default(),
            stacks: FxHashMap::default(),
            previous: Vec::new(),
            previous_line: Vec::new(),
            only_thread: None,
            owners: Owners::default(),
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
        self.sample(builder, stack, amount);
    }

    /// So many samples of a stack, which may be empty.
    fn sample(&mut self, builder: &mut Builder, stack: &[u8], amount: f64) {
        self.has_fractions |= amount.fract() != 0.0;
        let weight = amount.round() as u64;
        let (thread, stack) = match self.owners.split(builder, stack) {
            Some(owned) => owned,
            None => {
                let thread = *self
                    .only_thread
                    .get_or_insert_with(|| builder.only_thread());
                (thread, stack)
            }
        };
        let found = match stack {
            // A thread that has no frame.
            b"" => Some((Self::no_frame(builder), State::Running)),
            stack => self.stack(builder, stack),
        };
        let Some((stack, state)) = found else {
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

    fn no_frame(builder: &mut Builder) -> StackId {
        let kind = LocationKind::Reason(Reason::PythonUnreadable);
        let location = builder.profile.locations.intern(kind, None);
        builder.profile.name_reasons();
        builder.stack(None, location)
    }

    /// The stack of a line. Most lines begin like the one before, or like another one.
    fn stack(&mut self, builder: &mut Builder, line: &[u8]) -> Option<(StackId, State)> {
        let shared = shared_length(&self.previous_line, line);
        let is_end = |end: usize| end <= shared && line.get(end).is_none_or(|&byte| byte == b';');
        let kept = self.previous.iter().take_while(|frame| is_end(frame.end));
        let kept = kept.count();
        self.previous.truncate(kept);
        self.previous_line.clear();
        self.previous_line.extend_from_slice(line);
        self.cut(line);
        // All prefixes of a known stack are known.
        let frames = &self.previous[kept..];
        let known = kept + frames.partition_point(|frame| self.stacks.contains_key(&frame.hash));
        let hash = self.previous[..known].last().map(|frame| frame.hash);
        let mut found = hash.and_then(|hash| self.stacks.get(&hash)).copied();
        for at in known..self.previous.len() {
            let Frame { start, end, hash } = self.previous[at];
            let (location, state) = self.location(builder, &line[start..end]);
            let stack = builder.stack(found.map(|(stack, _)| stack), location);
            self.stacks.insert(hash, (stack, state));
            found = Some((stack, state));
        }
        found
    }

    /// Adds the frames of a line that are not the previous one's.
    fn cut(&mut self, line: &[u8]) {
        let last = self.previous.last();
        let (mut start, mut hash) = last.map_or((0, 0), |frame| (frame.end + 1, frame.hash));
        while start <= line.len() && self.previous.len() < DEEPEST {
            let end = memchr::memchr(b';', &line[start..]).map_or(line.len(), |end| start + end);
            // Some writers end or begin with a semicolon.
            if end > start {
                hash = hashed(hash, &line[start..end]);
                self.previous.push(Frame { start, end, hash });
            }
            start = end + 1;
        }
    }

    fn location(&mut self, builder: &mut Builder, name: &[u8]) -> (LocationId, State) {
        if let Some(&known) = self.locations.get(name) {
            return known;
        }
        let text = String::from_utf8_lossy(name);
        let found = self.marks.location(builder, &text);
        self.locations.insert(name.into(), found);
        found
    }
}

/// The hash of a frame below one of this hash: two words at a time, multiplied to 128 bits.
fn hashed(hash: u64, name: &[u8]) -> u64 {
    let mix = |a: u64, b: u64| {
        let product = u128::from(a ^ 0x9e37_79b9_7f4a_7c15) * u128::from(b ^ 0xd1b5_4a32_d192_ed03);
        product as u64 ^ (product >> 64) as u64
    };
    let mut hash = mix(hash, name.len() as u64);
    let (words, rest) = name.as_chunks::<8>();
    for pair in words.chunks(2) {
        let second = pair.get(1).map_or(0, |word| u64::from_le_bytes(*word));
        hash = mix(hash ^ u64::from_le_bytes(pair[0]), second);
    }
    let mut last = [0; 8];
    last[..rest.len()].copy_from_slice(rest);
    mix(hash, u64::from_le_bytes(last))
}

/// The length of the bytes that both begin with.
fn shared_length(one: &[u8], other: &[u8]) -> usize {
    const WORD: usize = 16;
    let words = one.chunks_exact(WORD).zip(other.chunks_exact(WORD));
    let start = words.take_while(|(a, b)| a == b).count() * WORD;
    let rest = one[start..].iter().zip(&other[start..]);
    start + rest.take_while(|(a, b)| a == b).count()
}
