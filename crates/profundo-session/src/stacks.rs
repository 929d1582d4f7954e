//! The stacks that a process has numbered, read from its file as records.

use std::fs::File;
use std::path::Path;
use std::sync::atomic::{AtomicU64, Ordering};

use profundo_linux::map::{self, SharedMap};
use profundo_probe::shared::{
    NewStack, STACK_WORDS, STACKS_BYTES, StackWindows, WINDOW_WORDS, WINDOWS, entry_kind, from_root,
};
use profundo_wire::Site;

use crate::counted::{WINDOW, stacks_path};
use crate::files::open_file;

/// The words of records that are made at one time, approximately.
const MOST: usize = 1 << 21;

/// A process's file of stacks.
#[derive(Debug)]
pub struct StacksFile {
    file: File,
    map: SharedMap,
    windows: Vec<Window>,
}

/// The last stack of a window, leaf first: native frames, and Python's words with places from the
/// root.
#[derive(Debug, Default, Clone)]
struct Window {
    frames: Vec<u64>,
    python: Vec<u64>,
    /// Whether it was read since it was given.
    has_begun: bool,
}

/// The entry after an entry.
enum Next {
    Entry(usize),
    /// None so far.
    Nothing,
    /// None, ever.
    End,
}

impl StacksFile {
    /// Opens the file of the process with this ring, if it has one.
    pub fn open(directory: &Path, ring: usize) -> Option<Self> {
        let path = stacks_path(directory, ring);
        let file = open_file(&path).ok()?;
        let map = SharedMap::new(&file, STACKS_BYTES).ok()?;
        Some(Self {
            file,
            map,
            windows: vec![Window::default(); WINDOWS],
        })
    }

    /// Appends the records of new stacks, or of a part of them. Returns whether there are more.
    pub fn take(&mut self, header: &StackWindows, out: &mut Vec<u64>) -> bool {
        let most = out.len() + MOST;
        let mut windows = std::mem::take(&mut self.windows);
        let mut are_more = false;
        for (number, window) in windows.iter_mut().enumerate() {
            let Some(before) = header.read[number].load(Ordering::Relaxed).checked_sub(1) else {
                continue;
            };
            if header.is_free(number) {
                continue;
            }
            are_more = out.len() >= most;
            if are_more {
                break;
            }
            let before = before as usize;
            if !std::mem::replace(&mut window.has_begun, true) && before > 0 {
                // Another reader has read this far. Later stacks are encoded relative to the
                // earlier ones.
                self.entries(number, 0..before, window, &mut Vec::new());
            }
            let (at, is_over) = self.entries(number, before..WINDOW_WORDS, window, out);
            if is_over {
                *window = Window::default();
                self.clear(number);
                // The window may be given out again.
                header.read[number].store(0, Ordering::Release);
            } else {
                header.read[number].store(at as u32 + 1, Ordering::Release);
            }
        }
        self.windows = windows;
        are_more
    }

    /// Appends the records of a window's entries. Returns the place of the next one, and whether
    /// there will be none.
    fn entries(
        &self,
        number: usize,
        words: std::ops::Range<usize>,
        window: &mut Window,
        out: &mut Vec<u64>,
    ) -> (usize, bool) {
        let mut at = words.start;
        while at < words.end {
            match self.entry(number, at, window, out) {
                Next::Entry(length) => at += length,
                Next::Nothing => return (at, false),
                Next::End => return (at, true),
            }
        }
        (at, at == WINDOW_WORDS)
    }

    /// Gives the memory of a window back. It is zero when it is given out again.
    fn clear(&self, number: usize) {
        if !map::give_back(&self.file, number * WINDOW, WINDOW) {
            // SAFETY: the window lies in the mapping, has its memory, and is not written to any
            // more.
            unsafe {
                self.map
                    .as_ptr()
                    .add(number * WINDOW)
                    .write_bytes(0, WINDOW)
            };
        }
    }

    /// Appends the records of an entry.
    fn entry(&self, number: usize, at: usize, window: &mut Window, out: &mut Vec<u64>) -> Next {
        // SAFETY: the place lies in the mapping, in a window that was given, and so has its memory.
        let first = unsafe {
            let place = self.map.as_ptr().cast::<u64>();
            &*place.add(number * WINDOW_WORDS + at).cast::<AtomicU64>()
        };
        // Acquire pairs with the release of the process: the other words are there.
        let word = first.load(Ordering::Acquire);
        let length = (word & 0xFFFF_FFFF) as usize;
        let kind = word >> 56;
        if kind == entry_kind::NOTHING {
            return Next::Nothing;
        }
        if !matches!(kind, entry_kind::STACK | entry_kind::RECORDS)
            || length == 0
            || length > WINDOW_WORDS - at
        {
            return Next::End;
        }
        // SAFETY: as above, and the process does not write to it any more.
        let entry = unsafe { std::slice::from_raw_parts(first.as_ptr(), length) };
        let is_whole = match kind {
            entry_kind::RECORDS => {
                out.extend_from_slice(&entry[1..]);
                true
            }
            _ => window.stack(entry, out).is_some(),
        };
        match is_whole {
            true => Next::Entry(length),
            false => Next::End,
        }
    }
}

impl Window {
    /// Appends the records of a stack.
    fn stack(&mut self, entry: &[u64], out: &mut Vec<u64>) -> Option<()> {
        let new = NewStack::from_words(entry)?;
        let [frames, _] = new.added();
        let (frames, python) = entry.get(STACK_WORDS..)?.split_at_checked(frames)?;
        let [kept_frames, kept_python] = new.kept.map(usize::from);
        replace_but(&mut self.frames, kept_frames, frames)?;
        replace_but(&mut self.python, kept_python, python)?;
        out.extend(new.head.to_words());
        out.extend(&self.frames);
        let depth = self.frames.len();
        out.extend(self.python.iter().map(|word| from_root(*word, depth)));
        let site = Site {
            clock: new.head.clock,
            number: new.number,
            source: new.source,
        };
        out.extend(site.to_words());
        Some(())
    }
}

/// Replaces all but the last `last` words.
fn replace_but(words: &mut Vec<u64>, last: usize, new: &[u64]) -> Option<()> {
    let others = words.len().checked_sub(last)?;
    words.splice(..others, new.iter().copied());
    Some(())
}
