//! GDB's JIT interface: a list of object files in the program's memory, whose head lies at a
//! symbol that debuggers know.
//!
//! ```text
//! head:  version flag         u32 each · entry of the last change, first entry  u64 each
//! entry: next, previous, address of the object file, its size                   u64 each
//! ```
//!
//! A debugger stops the program where the list changes. We read it from time to time, perhaps in
//! the middle of a change. A list that is half read now is whole at the next poll.
//!
//! An allocator gives memory that was freed to the next one that asks. So a new object may lie
//! where an old one was, with an entry at the same place, and no address in the list tells them
//! apart: the content does.

use std::hash::Hasher;

use rustc_hash::{FxHashMap, FxHashSet, FxHasher};

use crate::code::{At, Change};
use crate::object_file::object_code;

/// The memory of a process.
pub trait Memory {
    /// Copies memory; returns how many bytes could be read.
    fn read(&self, address: u64, out: &mut [u8]) -> usize;
}

impl<F: Fn(u64, &mut [u8]) -> usize> Memory for F {
    fn read(&self, address: u64, out: &mut [u8]) -> usize {
        self(address, out)
    }
}

/// The limit of object files in a list.
const MOST_ENTRIES: usize = 1 << 16;
/// The largest object file that is read.
const LARGEST: u64 = 64 << 20;
/// The number of tries for an object file that cannot be parsed.
const TRIES: u8 = 3;

/// The newest entries whose content is compared where the list has changed.
const MOST_COMPARED: usize = 1024;
/// The bytes at the beginning and at the end of an object file that are compared: a file has its
/// tables there.
const COMPARED: usize = 4096;

/// The known part of one process's list.
#[derive(Debug, Default)]
pub struct Registered {
    entries: FxHashMap<u64, Object>,
    /// The head and its first entry, as they were at the last poll.
    last: Option<([u64; 3], [u64; 4])>,
}

#[derive(Debug)]
struct Object {
    /// The address and the size of the file.
    file: (u64, u64),
    /// The hash of its ends.
    fingerprint: u64,
    /// The starts of its functions.
    starts: Vec<u64>,
    tries: u8,
}

impl Registered {
    /// Reads the list whose head is at `descriptor`. New code came after `since`.
    pub fn poll(
        &mut self,
        descriptor: u64,
        memory: &dyn Memory,
        since: At,
        now: At,
        out: &mut Vec<Change>,
    ) {
        let Some(head) = words::<3>(memory, descriptor) else {
            return;
        };
        let [first_word, latest, first] = head;
        // The version, in the lower half.
        if first_word as u32 != 1 {
            return;
        }
        let before = match first {
            0 => [0; 4],
            entry => words(memory, entry).unwrap_or_default(),
        };
        let is_settled = self.entries.values().all(|object| object.tries == 0);
        let is_same = is_settled && self.last == Some((head, before));
        let latest = self.entries.get(&latest);
        if is_same
            && latest.is_none_or(|object| fingerprint(memory, object.file) == object.fingerprint)
        {
            return;
        }
        let Some(list) = list(memory, first) else {
            // It was changing while we read.
            self.last = None;
            return;
        };
        self.last = Some((head, before));
        let newest = list.iter().take(MOST_COMPARED);
        let newest: FxHashSet<u64> = newest.map(|(entry, _)| *entry).collect();
        let present: FxHashMap<u64, (u64, u64)> = list.into_iter().collect();
        self.entries.retain(|entry, object| {
            let is_there = present.get(entry) == Some(&object.file)
                && (!newest.contains(entry)
                    || fingerprint(memory, object.file) == object.fingerprint);
            if !is_there {
                let starts = object.starts.iter();
                out.extend(starts.map(|&start| Change::Unloaded { start, at: now }));
            }
            is_there
        });
        for (entry, file) in present {
            self.take(entry, file, memory, since, out);
        }
    }

    fn take(
        &mut self,
        entry: u64,
        file: (u64, u64),
        memory: &dyn Memory,
        since: At,
        out: &mut Vec<Change>,
    ) {
        let tries = match self.entries.get(&entry) {
            None => TRIES,
            Some(object) if object.tries > 0 => object.tries,
            Some(_) => return,
        };
        let (address, size) = file;
        // Before the rest: an object that changes meanwhile is read again.
        let fingerprint = fingerprint(memory, file);
        let mut starts = Vec::new();
        let mut left = tries - 1;
        if (1..=LARGEST).contains(&size) {
            let mut bytes = vec![0; size as usize];
            let read = memory.read(address, &mut bytes);
            bytes.truncate(read);
            if let Some(object) = object_code(&bytes) {
                left = 0;
                for mut code in object.codes {
                    code.since = since;
                    starts.push(code.start);
                    out.push(Change::Loaded(code));
                }
            }
        }
        let object = Object {
            file,
            fingerprint,
            starts,
            tries: left,
        };
        self.entries.insert(entry, object);
    }
}

/// The hash of the ends of an object file.
fn fingerprint(memory: &dyn Memory, (address, size): (u64, u64)) -> u64 {
    let mut hasher = FxHasher::default();
    let mut add = |address: u64, bytes: u64| {
        let mut bytes = vec![0; bytes as usize];
        let read = memory.read(address, &mut bytes);
        bytes.truncate(read);
        hasher.write(&bytes);
    };
    let first = size.min(COMPARED as u64);
    let last = (size - first).min(COMPARED as u64);
    add(address, first);
    if last > 0 {
        add(address.wrapping_add(size - last), last);
    }
    hasher.finish()
}

/// The entries, each with its object file. `None`: this is no list.
fn list(memory: &dyn Memory, first: u64) -> Option<Vec<(u64, (u64, u64))>> {
    let mut seen = FxHashSet::default();
    let mut entries = Vec::new();
    let mut at = first;
    while at != 0 && entries.len() < MOST_ENTRIES {
        let [next, _, address, size] = words(memory, at)?;
        if !seen.insert(at) {
            return None;
        }
        entries.push((at, (address, size)));
        at = next;
    }
    Some(entries)
}

fn words<const N: usize>(memory: &dyn Memory, address: u64) -> Option<[u64; N]> {
    let mut bytes = [0; 32];
    let bytes = bytes.get_mut(..N * 8)?;
    if memory.read(address, bytes) < N * 8 {
        return None;
    }
    let mut words = [0; N];
    for (word, bytes) in words.iter_mut().zip(bytes.chunks_exact(8)) {
        *word = u64::from_le_bytes(*bytes.first_chunk()?);
    }
    Some(words)
}
