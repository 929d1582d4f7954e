//! Which stacks a process has given numbers to: out of its file, as records.

use std::fs::{self, File};
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};

use profundo_probe::shared::{
    NewStack, STACK_WORDS, STACKS_FILE, STREAMS, WINDOW_WORDS, entry_kind, from_root,
};
use profundo_wire::Site;

use crate::map;

const WINDOW: usize = 8 * WINDOW_WORDS;

/// About so many words of records are made at one time.
const MOST: usize = 1 << 21;

/// A process's file.
#[derive(Debug)]
pub(crate) struct StacksFile {
    path: PathBuf,
    file: File,
    streams: Vec<Stream>,
    /// Whether anything was read.
    has_begun: bool,
    /// What was read, reused.
    words: Vec<u64>,
    bytes: Vec<u8>,
    /// How many windows have given their memory back.
    given_back: usize,
}

/// The last stack of a stream, leaf first: native frames, and Python's words with places from the root.
#[derive(Debug, Default, Clone)]
struct Stream {
    frames: Vec<u64>,
    python: Vec<u64>,
}

impl StacksFile {
    /// That of the process with this ring, if there is one.
    pub(crate) fn open(directory: &Path, ring: usize) -> Option<Self> {
        let path = directory.join(format!("{STACKS_FILE}{ring}"));
        let file = File::options().read(true).write(true).open(&path).ok()?;
        Some(Self {
            path,
            file,
            streams: vec![Stream::default(); STREAMS],
            has_begun: false,
            words: Vec::new(),
            bytes: Vec::new(),
            given_back: 0,
        })
    }

    /// Appends the records of what is new, or of a part of it. `position` is how many words there are, and how many were
    /// read. Returns whether there is more.
    pub(crate) fn take(&mut self, position: &[AtomicU64; 2], out: &mut Vec<u64>) -> bool {
        let [written, read] = position;
        // Acquire pairs with the release of the process: the words are there.
        let end = written.load(Ordering::Acquire);
        let mut at = read.load(Ordering::Relaxed);
        if !self.has_begun && at < end {
            self.go_on(at);
        }
        let most = out.len() + MOST;
        while at < end && out.len() < most {
            let window = at - at % WINDOW_WORDS as u64 + WINDOW_WORDS as u64;
            let upto = end.min(window);
            if !self.read(at, (upto - at) as usize) {
                // What cannot be read is not tried again.
                at = end;
                break;
            }
            self.entries(out);
            at = upto;
        }
        // Behind the reading: the process counts what is not read.
        read.store(at, Ordering::Release);
        let done = (at / WINDOW_WORDS as u64) as usize;
        if done > self.given_back {
            let bytes = (done - self.given_back) * WINDOW;
            map::give_back(&self.file, self.given_back * WINDOW, bytes);
            self.given_back = done;
        }
        at < end
    }

    /// Goes on for somebody else who has read as far: what the window had before is what stacks are told by.
    fn go_on(&mut self, at: u64) {
        self.has_begun = true;
        let before = at % WINDOW_WORDS as u64;
        if before > 0 && self.read(at - before, before as usize) {
            self.entries(&mut Vec::new());
        }
    }

    /// Appends the records of what was read.
    fn entries(&mut self, out: &mut Vec<u64>) {
        let words = std::mem::take(&mut self.words);
        let mut rest = words.as_slice();
        while let Some(more) = self.entry(rest, out) {
            rest = more;
        }
        self.words = words;
    }

    /// Reads words of the file.
    fn read(&mut self, at: u64, words: usize) -> bool {
        self.bytes.resize(8 * words, 0);
        let is_read = self.file.read_exact_at(&mut self.bytes, 8 * at).is_ok();
        let (read, _) = self.bytes.as_chunks();
        self.words.clear();
        self.words
            .extend(read.iter().map(|it| u64::from_ne_bytes(*it)));
        is_read
    }

    /// Appends the records of the first entry; returns the words behind it. `None`: the rest is none.
    fn entry<'a>(&mut self, words: &'a [u64], out: &mut Vec<u64>) -> Option<&'a [u64]> {
        let first = *words.first()?;
        let length = (first & 0xFFFF_FFFF) as usize;
        let (entry, rest) = words.split_at_checked(length).filter(|_| length > 0)?;
        match first >> 56 {
            entry_kind::STACK => self.stack(entry, out)?,
            entry_kind::RECORDS => out.extend_from_slice(entry.get(1..)?),
            _ => return None,
        }
        Some(rest)
    }

    /// Appends the records of a stack.
    fn stack(&mut self, entry: &[u64], out: &mut Vec<u64>) -> Option<()> {
        let new = NewStack::from_words(entry)?;
        let stream = self.streams.get_mut(usize::from(new.stream))?;
        let [frames, _] = new.added();
        let (frames, python) = entry.get(STACK_WORDS..)?.split_at_checked(frames)?;
        let [kept_frames, kept_python] = new.kept.map(usize::from);
        replace_but(&mut stream.frames, kept_frames, frames)?;
        replace_but(&mut stream.python, kept_python, python)?;
        out.extend(new.head.to_words());
        out.extend(&stream.frames);
        let depth = stream.frames.len();
        out.extend(stream.python.iter().map(|word| from_root(*word, depth)));
        let site = Site {
            clock: new.head.clock,
            number: new.number,
            source: new.source,
        };
        out.extend(site.to_words());
        Some(())
    }

    /// The next process with this ring makes its own.
    pub(crate) fn remove(&self) {
        let _ = fs::remove_file(&self.path);
    }
}

/// Puts other words in the place of all but the last ones.
fn replace_but(words: &mut Vec<u64>, last: usize, new: &[u64]) -> Option<()> {
    let others = words.len().checked_sub(last)?;
    words.splice(..others, new.iter().copied());
    Some(())
}
