//! What a message has, as rows whose texts lie in the message.

use std::collections::BTreeMap;

use profundo_model::Language;
use profundo_store::ids::FrameId;
use profundo_store::table::Kind;
use profundo_store::{Frame, Identity, Thread};
use rustc_hash::FxHashMap;

/// The most frames of a stack. Deeper ones are cut at their leaf's end.
pub(crate) const DEEPEST: usize = 1024;
/// The most rows of a message's tables, and what may be made of them: a message of a few bytes can
/// refer to one thing millions of times.
pub(crate) const MOST_ROWS: usize = 4 << 20;
const MOST_FRAMES: usize = 1 << 20;
const MOST_IN_STACKS: usize = 16 << 20;
const MOST_SAMPLES: usize = 2 << 20;
/// Times further back than this, or further ahead, are wrong, and the time of arrival is taken.
const OLDEST: i64 = 7 * 86_400_000;
const NEWEST: i64 = 600_000;

/// What a message has.
#[derive(Debug)]
pub struct Decoded<'a> {
    /// The time of arrival, in milliseconds since 1970.
    at: i64,
    pub(crate) frames: Vec<Frame<'a>>,
    ids: Vec<FrameId>,
    /// By stack, the end of its frames in the lists below.
    ends: Vec<u32>,
    stack_frames: Vec<u32>,
    stack_ids: Vec<FrameId>,
    pub(crate) groups: Vec<Group>,
    /// Paths of spans. The first one is empty.
    pub(crate) spans: Vec<String>,
    pub(crate) rows: Vec<Row>,
    /// The number of values that are left out, by their names.
    pub(crate) left_out: BTreeMap<String, u64>,
    /// Stacks that were cut.
    pub(crate) truncated: u64,
    /// Whether it has more than is taken of one message.
    is_too_large: bool,
    buffer: Vec<u8>,
}

/// A source of samples, with its threads.
#[derive(Debug, Default)]
pub(crate) struct Group {
    pub(crate) identity: Identity,
    pub(crate) threads: Vec<Thread>,
}

/// Samples that are alike.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Row {
    pub(crate) group: u32,
    pub(crate) thread: u32,
    pub(crate) stack: u32,
    pub(crate) span: u32,
    pub(crate) kind: Kind,
    pub(crate) state: &'static str,
    pub(crate) gil: &'static str,
    /// In milliseconds since 1970.
    pub(crate) ts: i64,
    pub(crate) value: u64,
    pub(crate) count: u64,
    /// The nominal distance of two samples, or 0.
    pub(crate) period: u64,
}

impl<'a> Decoded<'a> {
    pub(crate) fn new(at: i64) -> Self {
        Self {
            at,
            frames: Vec::new(),
            ids: Vec::new(),
            ends: Vec::new(),
            stack_frames: Vec::new(),
            stack_ids: Vec::new(),
            groups: Vec::new(),
            spans: vec![String::new()],
            rows: Vec::new(),
            left_out: BTreeMap::new(),
            truncated: 0,
            is_too_large: false,
            buffer: Vec::new(),
        }
    }

    /// The time of a message in milliseconds since 1970, or that of its arrival where it is none or
    /// cannot be right.
    pub(crate) fn time(&self, millis: Option<i64>) -> i64 {
        let right = self.at.saturating_sub(OLDEST)..self.at.saturating_add(NEWEST);
        millis
            .filter(|time| right.contains(time))
            .unwrap_or(self.at)
    }

    /// Adds a frame.
    pub(crate) fn frame(&mut self, frame: Frame<'a>) -> u32 {
        if self.frames.len() >= MOST_FRAMES {
            self.is_too_large = true;
            return 0;
        }
        self.ids.push(frame.id(&mut self.buffer));
        self.frames.push(frame);
        (self.frames.len() - 1) as u32
    }

    /// Adds a stack of these frames, the root first.
    pub(crate) fn stack(&mut self, frames: &[u32]) -> u32 {
        let mut taken = &frames[..frames.len().min(DEEPEST)];
        self.truncated += u64::from(taken.len() < frames.len());
        if self.stack_frames.len() >= MOST_IN_STACKS || self.ends.len() >= MOST_SAMPLES {
            self.is_too_large = true;
            taken = &[];
        }
        self.stack_frames.extend_from_slice(taken);
        let ids = taken.iter().map(|&frame| self.ids[frame as usize]);
        self.stack_ids.extend(ids);
        self.ends.push(self.stack_frames.len() as u32);
        (self.ends.len() - 1) as u32
    }

    /// Makes room for so many frames and stacks. A message can say that it has more than it has, so
    /// it is room for those of a usual one.
    pub(crate) fn reserve(&mut self, frames: usize, stacks: usize) {
        const MOST: usize = 4096;
        self.ids.reserve(frames.min(MOST));
        self.frames.reserve(frames.min(MOST));
        self.ends.reserve(stacks.min(MOST));
        self.rows.reserve(stacks.min(MOST));
    }

    /// Adds samples.
    pub(crate) fn row(&mut self, row: Row) {
        match self.rows.len() < MOST_SAMPLES {
            true => self.rows.push(row),
            false => self.is_too_large = true,
        }
    }

    /// Whether it has more than is taken of one message.
    pub(crate) fn is_too_large(&self) -> bool {
        self.is_too_large
    }

    /// The number of rows.
    pub fn rows(&self) -> usize {
        self.rows.len()
    }

    /// The number of values that the store has no place for, by their names.
    pub fn left_out(&self) -> &BTreeMap<String, u64> {
        &self.left_out
    }

    /// The number of stacks.
    pub(crate) fn stacks(&self) -> usize {
        self.ends.len()
    }

    /// The frames of a stack, the root first: their ids and their places.
    pub(crate) fn frames_of(&self, stack: u32) -> (&[FrameId], &[u32]) {
        let stack = stack as usize;
        let start = match stack {
            0 => 0,
            _ => self.ends[stack - 1] as usize,
        };
        let range = start..self.ends[stack] as usize;
        (&self.stack_ids[range.clone()], &self.stack_frames[range])
    }

    /// Counts values that are left out.
    pub(crate) fn leave_out(&mut self, what: &str, count: u64) {
        match self.left_out.get_mut(what) {
            Some(sum) => *sum += count,
            None => _ = self.left_out.insert(what.to_owned(), count),
        }
    }
}

/// Numbers of texts and other things, in the order in which they came.
#[derive(Debug)]
pub(crate) struct Numbers<K>(FxHashMap<K, u32>);

impl<K> Default for Numbers<K> {
    fn default() -> Self {
        Self(FxHashMap::default())
    }
}

impl<K: std::hash::Hash + Eq> Numbers<K> {
    /// The number of a thing, and whether it is new.
    pub(crate) fn of(&mut self, key: K) -> (u32, bool) {
        let next = self.0.len() as u32;
        let number = *self.0.entry(key).or_insert(next);
        (number, number == next)
    }
}

/// The state of the interpreter's lock, in our own exports' words.
pub(crate) fn gil_of(text: &str) -> &'static str {
    match text {
        "held" => "held",
        "waiting" => "waiting",
        "released" => "released",
        _ => "",
    }
}

/// The state of a thread, in our own exports' words.
pub(crate) fn state_of(text: &str) -> Option<&'static str> {
    match text {
        "sleeping" => Some("sleeping"),
        "waiting" => Some("waiting"),
        "running" => Some("on"),
        "system" => Some("system"),
        _ => None,
    }
}

/// The word of the store for the language of a function.
pub(crate) fn kind_of(function: &str, file: &str) -> &'static str {
    match profundo_import::language_of(function, file) {
        Language::Rust => "rust",
        Language::Python => "python",
        Language::JavaScript => "javascript",
        Language::Julia => "julia",
        Language::Synthetic => "marker",
        _ => "native",
    }
}

/// A text that is UTF-8 up to a fault, without zero bytes, which separate the parts of ids.
pub(crate) fn text_of(bytes: &[u8]) -> &str {
    let text = match std::str::from_utf8(bytes) {
        Ok(text) => text,
        Err(error) => std::str::from_utf8(&bytes[..error.valid_up_to()]).unwrap_or_default(),
    };
    match memchr::memchr(0, text.as_bytes()) {
        Some(end) => &text[..end],
        None => text,
    }
}

/// A build id, or nothing where it is none.
pub(crate) fn build_id_of(text: &str) -> &str {
    let is_one = (8..=128).contains(&text.len())
        && text.len().is_multiple_of(2)
        && text
            .bytes()
            .all(|byte| matches!(byte, b'0'..=b'9' | b'a'..=b'f'));
    if is_one { text } else { "" }
}

/// The path of a span with these attributes, as the store has it: `a=1, b=2?a=1&b=2`, with what is
/// special written as in a URL.
pub(crate) fn span_of(attributes: &mut [(&str, &str)]) -> String {
    attributes.sort_unstable();
    let (mut name, mut path) = (String::new(), String::new());
    for (at, (key, value)) in attributes.iter().enumerate() {
        let (key, value) = (escaped(key), escaped(value));
        name += if at == 0 { "" } else { ", " };
        name += &format!("{key}%3D{value}");
        path.push(if at == 0 { '?' } else { '&' });
        path += &format!("{key}={value}");
    }
    name + &path
}

/// A text in which what is special in the path of a span is written as in a URL.
pub(crate) fn escaped(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for character in text.chars() {
        match character {
            '/' => out += "%2F",
            '?' => out += "%3F",
            '&' => out += "%26",
            '=' => out += "%3D",
            '%' => out += "%25",
            _ => out.push(character),
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_wrong_time_is_that_of_the_arrival() {
        let decoded = Decoded::new(1_795_856_400_000);
        assert_eq!(decoded.time(None), 1_795_856_400_000);
        assert_eq!(decoded.time(Some(0)), 1_795_856_400_000);
        assert_eq!(decoded.time(Some(i64::MAX)), 1_795_856_400_000);
        assert_eq!(decoded.time(Some(1_795_856_390_000)), 1_795_856_390_000);
    }

    #[test]
    fn texts_end_at_a_fault() {
        assert_eq!(text_of(b"ab\xff"), "ab");
        assert_eq!(text_of(b"a\0b"), "a");
        assert_eq!(build_id_of("0123abcd"), "0123abcd");
        assert_eq!(build_id_of("0123ABCD"), "");
        assert_eq!(build_id_of("../../etc"), "");
    }

    #[test]
    fn labels_are_a_span() {
        let span = span_of(&mut [("user", "a/b"), ("endpoint", "x")]);
        assert_eq!(span, "endpoint%3Dx, user%3Da%2Fb?endpoint=x&user=a%2Fb");
    }
}
