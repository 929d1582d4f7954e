//! gcc's counters, as its library has them in a process: a list of objects, each of which has
//! functions, which have counters.
//!
//! ```text
//! root      first object (8) · whether they were written (1 bit)
//! object    version (4) · next (8, at 8) · stamp (4, at 16) · path (8, at 24) · functions that add (8 each, at 32)
//!           · how many functions (8) · where they are (8)
//! function  object (8) · number (4) · checksum of lines (4) · checksum of blocks (4) · counters (at 24): how many (8), where (8)
//! ```
//!
//! The number of functions that add differs between versions. It is found by what follows them:
//! functions that name this object as theirs.

use profundo_linux::sys;
use profundo_wire::native_calls::GccTallies;

/// More than any program has.
const MANY_OBJECTS: usize = 1 << 16;
const MANY_FUNCTIONS: u64 = 1 << 20;
const MANY_COUNTERS: u64 = 1 << 24;
/// The possible numbers of functions that add.
const ADDERS: std::ops::RangeInclusive<u64> = 6..=14;
const ADDERS_AT: u64 = 32;

/// Reads all counters, and whether they were written to files.
pub(super) fn read(pid: u32, root: u64) -> Option<(Vec<GccTallies>, bool)> {
    let memory = Process(pid);
    let [mut at, flags] = memory.words(root, 2)?[..] else {
        return None;
    };
    let mut objects = Vec::new();
    while at != 0 && objects.len() < MANY_OBJECTS {
        let [_, next, stamp, path, ..] = memory.words(at, 4)?[..] else {
            return None;
        };
        objects.push(GccTallies {
            path: memory.text(path)?,
            stamp: stamp as u32,
            functions: functions(&memory, at).unwrap_or_default(),
        });
        at = next;
    }
    Some((objects, flags & 1 != 0))
}

/// The number, checksum and counters of the object's functions.
fn functions(memory: &Process, object: u64) -> Option<Vec<(u32, u32, Vec<u64>)>> {
    let list = ADDERS.into_iter().find_map(|adders| {
        let [count, list] = memory.words(object + ADDERS_AT + 8 * adders, 2)?[..] else {
            return None;
        };
        let list = (1..=MANY_FUNCTIONS).contains(&count).then_some(list)?;
        let functions = memory.words(list, count)?;
        let mut listed = functions
            .iter()
            .filter(|&&function| is_of(memory, function, object));
        listed.next().is_some().then_some(functions)
    })?;
    // The counter of arcs comes first, if there is one.
    if memory.words(object + ADDERS_AT, 1)?[..] == [0] {
        return None;
    }
    // A function belongs to another object if that object lists it.
    let listed = list
        .into_iter()
        .filter(|&function| is_of(memory, function, object));
    listed
        .map(|function| {
            let [_, numbers, checksum, count, counters] = memory.words(function, 5)?[..] else {
                return None;
            };
            let count = u64::from(count as u32);
            let counters = match count {
                0 => Vec::new(),
                1..=MANY_COUNTERS => memory.words(counters, count)?,
                _ => return None,
            };
            Some((numbers as u32, checksum as u32, counters))
        })
        .collect()
}

fn is_of(memory: &Process, function: u64, object: u64) -> bool {
    function != 0
        && memory
            .words(function, 1)
            .is_some_and(|words| words[..] == [object])
}

/// The memory of a process.
struct Process(u32);

impl Process {
    fn words(&self, at: u64, count: u64) -> Option<Vec<u64>> {
        let mut bytes = vec![0; usize::try_from(count.checked_mul(8)?).ok()?];
        let read = sys::read_memory(self.0, at, &mut bytes);
        let words = bytes.as_chunks::<8>().0.iter();
        let words = words.map(|&word| u64::from_le_bytes(word)).collect();
        (read == bytes.len()).then_some(words)
    }

    fn text(&self, at: u64) -> Option<String> {
        const LONGEST: usize = 4096;
        let mut bytes = vec![0; LONGEST];
        let read = sys::read_memory(self.0, at, &mut bytes);
        let text = bytes.get(..read)?.split(|&byte| byte == 0).next()?;
        Some(String::from_utf8_lossy(text).into_owned())
    }
}
