//! Rings are made ahead, because a process that starts must not wait for one, and are used again
//! once their process has ended, because making one costs a fraction of a millisecond.

use std::fs;
use std::io;
use std::mem::offset_of;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};
use std::time::{Duration, Instant};

use profundo_linux::map::{SharedMap, allocate};
use profundo_linux::sys;
use profundo_probe::ThreadRecord;
use profundo_probe::buffer::CHUNK_WORDS;
use profundo_probe::claims::Claims;
use profundo_probe::shared::{
    CHUNKS, Control, Listings, MAGIC, MAX_RINGS, RECORDS, Ring, entry_state, file, memory_kind,
};

use crate::counted;
use crate::files::{free_bytes, make_file, open_file};

/// The number of rings made for a program of one process, which takes the first, and the number
/// kept free where there are several processes, or where the first one has lived for a moment. Four
/// times as many are made ahead as were taken between two turns, and twice as many each time that
/// none are left. A ring costs a millisecond of CPU time, from its making to its removal.
const FIRST: usize = 2;
const AHEAD: usize = 4;
const A_MOMENT: Duration = Duration::from_millis(30);
const AHEAD_OF_TAKEN: usize = 4;
const MOST_AHEAD: usize = 32;
const CALM: Duration = Duration::from_secs(1);

/// The chunks of a new ring that get their memory at once. Most programs are short and have few
/// threads. The other chunks get theirs when the process has lived for a while. Until then a chunk
/// gets its memory at the first write, which fails only if the file system fills up just then; so
/// where there is little room, all memory is allocated at once.
const EAGER: usize = 1;
const A_WHILE: Duration = Duration::from_millis(150);
const ROOM: u64 = 64 << 20;

/// A ring.
#[derive(Debug)]
struct Made {
    map: Arc<RingMap>,
    /// Whether all of its memory is allocated.
    whole: bool,
    /// The time at which it was first seen taken.
    taken: Option<Instant>,
}

/// A ring, mapped.
#[derive(Debug)]
pub struct RingMap {
    map: SharedMap,
}

impl RingMap {
    /// Maps the file of a ring.
    pub fn open(path: &Path) -> io::Result<Self> {
        let file = open_file(path)?;
        Self::new(&file)
    }

    fn new(file: &fs::File) -> io::Result<Self> {
        let map = SharedMap::new(file, Ring::BYTES)?;
        Ok(Self { map })
    }

    /// The ring.
    pub fn ring(&self) -> &Ring {
        // SAFETY: it is made of atomics, but for the modules, which only we write.
        unsafe { self.map.as_ref() }
    }

    /// The number of threads that its process has met, as far as the ring has room for them.
    pub fn met(&self) -> usize {
        let met = self.ring().header.met.load(Ordering::Acquire);
        (met as usize).min(RECORDS)
    }

    /// The record of a thread, by its place in the ring.
    pub fn record(&self, index: usize) -> Option<&ThreadRecord> {
        self.ring().records.get(index)
    }

    /// Takes the words of a chunk. False: it is empty, or a thread is writing to it now.
    pub fn take(&self, chunk: usize, out: &mut Vec<u64>) -> bool {
        let claims = Claims::new(&self.ring().chunks, true);
        match claims.begin_read(chunk) {
            None => false,
            Some(0) => {
                claims.end_read(chunk);
                false
            }
            Some(words) => {
                self.copy(chunk, words as usize, out);
                claims.end_read_and_clear(chunk);
                true
            }
        }
    }

    /// Takes the words of a chunk after all writers have ended. What a killed writer had published
    /// is whole.
    pub fn take_last(&self, chunk: usize, out: &mut Vec<u64>) -> bool {
        if self.take(chunk, out) {
            return true;
        }
        let Some(state) = self.ring().chunks.get(chunk) else {
            return false;
        };
        /// The offset of a chunk's published length, behind its claim.
        const WORDS_AT: usize = size_of::<AtomicU64>();
        // SAFETY: the layout is fixed (`repr(C)`), and the field is an atomic.
        let words = unsafe {
            &*std::ptr::from_ref(state)
                .byte_add(WORDS_AT)
                .cast::<AtomicU32>()
        };
        let count = words.swap(0, Ordering::Relaxed) as usize;
        self.copy(chunk, count, out);
        count > 0
    }

    fn copy(&self, chunk: usize, words: usize, out: &mut Vec<u64>) {
        let words = words.min(CHUNK_WORDS);
        let at = Ring::WORDS_AT + chunk * CHUNK_WORDS * 8;
        // SAFETY: the chunk lies in the mapping, and it is held for reading. A program that has
        // lost its mind may still write to it: then the words are any words.
        unsafe {
            let from = self.map.as_ptr().add(at).cast::<u64>();
            out.reserve(words);
            let to = out.as_mut_ptr().add(out.len());
            std::ptr::copy_nonoverlapping(from, to, words);
            out.set_len(out.len() + words);
        }
    }

    /// Zeroes everything that a process may have written and the next one relies on.
    fn clear(&self) {
        let met = self.met();
        let records = offset_of!(Ring, records);
        let listings = offset_of!(Ring, listings);
        // SAFETY: the ranges lie in the mapping, the process has ended, and we hold no reference
        // into them across this call.
        unsafe {
            let start = self.map.as_ptr();
            start.write_bytes(0, records + met * size_of::<ThreadRecord>());
            start
                .add(listings)
                .write_bytes(0, offset_of!(Listings, modules));
        }
    }
}

/// All rings of a session.
#[derive(Debug)]
pub struct Rings {
    directory: PathBuf,
    maps: Vec<Option<Made>>,
    ahead: usize,
    /// The free rings at the last turn.
    left: usize,
    /// The number of times that a process found no ring, at the last turn.
    starved: u32,
    /// The number of requests for a ring, and the time of the last one.
    asked: u32,
    asked_at: Option<Instant>,
    /// Whether processes count all that they allocate.
    counts: bool,
    /// The reason why the last ring could not be made.
    pub trouble: Option<io::Error>,
}

impl Rings {
    /// Makes the first rings. Fails if not even one can be made.
    pub fn create(directory: &Path, control: &Control) -> io::Result<Self> {
        let mut rings = Self {
            directory: directory.to_owned(),
            maps: Vec::new(),
            ahead: FIRST - 1,
            left: 0,
            starved: 0,
            asked: 0,
            asked_at: None,
            counts: control.memory.load(Ordering::Relaxed) == memory_kind::EXACT,
            trouble: None,
        };
        for _ in 0..FIRST {
            match rings.make(control) {
                Ok(_) => {}
                Err(error) => rings.trouble = Some(error),
            }
        }
        match (rings.maps.first(), rings.trouble.take()) {
            (None | Some(None), Some(error)) => Err(error),
            (_, trouble) => {
                rings.trouble = trouble;
                Ok(rings)
            }
        }
    }

    /// Makes or removes rings, so that enough are free, and not too many.
    pub fn provide(&mut self, control: &Control) {
        control.waiting_since.store(0, Ordering::Relaxed);
        // Each waiting process asks once a millisecond.
        let asked = control.asked.load(Ordering::Relaxed);
        let waiting = asked.wrapping_sub(std::mem::replace(&mut self.asked, asked)) as usize;
        if waiting > 0 {
            self.asked_at = Some(Instant::now());
        } else {
            self.complete(control);
        }
        let free = |entry: &&profundo_probe::shared::RingEntry| {
            entry.state.load(Ordering::Relaxed) == entry_state::FREE
        };
        let mut count = control
            .rings
            .iter()
            .take(self.maps.len())
            .filter(free)
            .count();
        let starved = control.starved.load(Ordering::Relaxed);
        if std::mem::replace(&mut self.starved, starved) != starved
            || count == 0 && !self.maps.is_empty()
        {
            self.ahead = (self.ahead * 2).min(MOST_AHEAD);
        }
        // The first ring says nothing about the need for more.
        let taken = self.left.saturating_sub(count);
        if self.maps.len() > FIRST {
            self.ahead = self.ahead.max((taken * AHEAD_OF_TAKEN).min(MOST_AHEAD));
        }
        let enough = self.ahead + waiting.min(MOST_AHEAD);
        let mut exhausted = self.trouble.is_some();
        while count < enough && self.trouble.is_none() {
            match self.make(control) {
                Ok(true) => count += 1,
                Ok(false) => {
                    exhausted = true;
                    break;
                }
                Err(error) => self.trouble = Some(error),
            }
        }
        let exhausted = u32::from(exhausted && count == 0);
        control.exhausted.store(exhausted, Ordering::Relaxed);
        if waiting > 0 {
            // Release pairs with the agent's acquire.
            control.provided.fetch_add(1, Ordering::Release);
            sys::futex_wake(&control.provided);
        }
        // A recent request may be repeated.
        let is_storm = self.asked_at.is_some_and(|at| at.elapsed() < CALM);
        let mut index = if is_storm { 0 } else { self.maps.len() };
        while count > MOST_AHEAD.max(enough) && index > 0 {
            index -= 1;
            if self.unmake(index, control) {
                count -= 1;
            }
        }
        self.left = count;
    }

    /// Allocates all memory of rings whose processes have lived for a while.
    fn complete(&mut self, control: &Control) {
        for (index, entry) in control.rings.iter().enumerate().take(self.maps.len()) {
            let Some(Some(made)) = self.maps.get_mut(index) else {
                continue;
            };
            let lives = made.taken.is_some_and(|at| at.elapsed() >= A_MOMENT);
            if lives {
                self.ahead = self.ahead.max(AHEAD);
            }
            if made.whole || entry.state.load(Ordering::Relaxed) != entry_state::TAKEN {
                continue;
            }
            // The process has ended, but is not handled yet.
            if made.map.ring().header.ends.known.load(Ordering::Relaxed) != 0 {
                continue;
            }
            if made.taken.get_or_insert_with(Instant::now).elapsed() < A_WHILE {
                continue;
            }
            made.whole = true;
            let path = self.directory.join(format!("{}{index}", file::RING));
            let file = open_file(&path);
            if let Err(error) = file.and_then(|file| allocate(&file, 0, Ring::BYTES)) {
                // Sampling stops rather than risk a bus error.
                made.map.ring().header.enabled.store(0, Ordering::Relaxed);
                self.trouble = Some(error);
            }
        }
    }

    /// Expects several processes from now on.
    pub fn expect_several(&mut self) {
        self.ahead = self.ahead.max(AHEAD);
    }

    fn file(&self, index: usize) -> PathBuf {
        self.directory.join(format!("{}{index}", file::RING))
    }

    /// Makes one more ring; false at the limit.
    fn make(&mut self, control: &Control) -> io::Result<bool> {
        let index = match self.maps.iter().position(Option::is_none) {
            Some(index) => index,
            None if self.maps.len() < MAX_RINGS => self.maps.len(),
            None => return Ok(false),
        };
        let path = self.file(index);
        let whole = free_bytes(&self.directory) < ROOM;
        let made = if whole {
            make_file(&path, Ring::BYTES)
        } else {
            make_part(&path)
        };
        let map = match made.and_then(|file| RingMap::new(&file)) {
            Ok(map) => map,
            Err(error) => {
                let _ = fs::remove_file(&path);
                return Err(error);
            }
        };
        if index == self.maps.len() {
            self.maps.push(None);
        }
        self.make_counted(index);
        if let (Some(slot), Some(entry)) = (self.maps.get_mut(index), control.rings.get(index)) {
            map.ring().header.magic.store(MAGIC, Ordering::Relaxed);
            *slot = Some(Made {
                map: Arc::new(map),
                whole,
                taken: None,
            });
            // Release pairs with the agent's compare-and-swap: it finds the file finished.
            entry.state.store(entry_state::FREE, Ordering::Release);
        }
        Ok(true)
    }

    /// Makes the files beside a ring in which its next process counts. Without them, that process
    /// reports that it cannot count.
    fn make_counted(&self, index: usize) {
        if self.counts {
            let _ = counted::make(&self.directory, index);
        }
    }

    /// Removes a free ring.
    fn unmake(&mut self, index: usize, control: &Control) -> bool {
        let Some(entry) = control.rings.get(index) else {
            return false;
        };
        let removed = entry
            .state
            .compare_exchange(
                entry_state::FREE,
                entry_state::ABSENT,
                Ordering::AcqRel,
                Ordering::Relaxed,
            )
            .is_ok();
        if removed {
            let _ = fs::remove_file(self.file(index));
            counted::remove(&self.directory, index);
            if let Some(slot) = self.maps.get_mut(index) {
                *slot = None;
            }
        }
        removed
    }

    /// Frees a ring whose process has ended and whose samples were taken.
    pub fn recycle(&mut self, index: usize, control: &Control) {
        self.make_counted(index);
        let (Some(Some(made)), Some(entry)) = (self.maps.get_mut(index), control.rings.get(index))
        else {
            return;
        };
        made.taken = None;
        let map = &made.map;
        map.clear();
        map.ring().header.magic.store(MAGIC, Ordering::Relaxed);
        entry.pid.store(0, Ordering::Relaxed);
        // Release pairs with the agent's compare-and-swap: it finds the ring cleared.
        entry.state.store(entry_state::FREE, Ordering::Release);
        self.left += 1;
        // There is room again.
        self.trouble = None;
    }

    /// Whether a process has taken a ring.
    pub fn has(&self, pid: u32, control: &Control) -> bool {
        control.rings.iter().take(self.maps.len()).any(|entry| {
            entry.pid.load(Ordering::Relaxed) == pid
                && entry.state.load(Ordering::Acquire) == entry_state::TAKEN
        })
    }

    /// The taken rings, with their numbers.
    pub fn taken(&self, control: &Control) -> Vec<(usize, Arc<RingMap>)> {
        self.maps
            .iter()
            .zip(&control.rings)
            .enumerate()
            .filter(|(_, (_, entry))| entry.state.load(Ordering::Acquire) == entry_state::TAKEN)
            .filter_map(|(index, (made, _))| Some((index, Arc::clone(&made.as_ref()?.map))))
            .collect()
    }
}

/// A ring's file, with the memory that a short program needs.
fn make_part(path: &Path) -> io::Result<fs::File> {
    let first_records = offset_of!(Ring, records) + 64 * size_of::<ThreadRecord>();
    let file = make_file(path, first_records)?;
    file.set_len(Ring::BYTES as u64)?;
    allocate(&file, Ring::WORDS_AT, EAGER * CHUNK_WORDS * 8)?;
    Ok(file)
}

const _: () = assert!(size_of::<profundo_probe::claims::ChunkState>() == 16 && CHUNKS > 0);

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Directory;

    #[test]
    fn rings_are_made_ahead_and_used_again() {
        let directory = Directory::create(None).unwrap();
        let control = directory.control();
        let mut rings = Rings::create(directory.path(), control).unwrap();
        assert_eq!(rings.maps.len(), FIRST);
        let entry = &control.rings[0];
        entry.state.store(entry_state::TAKEN, Ordering::Relaxed);
        rings.provide(control);
        assert_eq!(rings.maps.len(), FIRST);
        rings.expect_several();
        rings.provide(control);
        assert_eq!(rings.maps.len(), AHEAD + 1);
        let taken = rings.taken(control);
        assert_eq!(taken.len(), 1);
        let header = &taken[0].1.ring().header;
        header.pid.store(7, Ordering::Relaxed);
        header.met.store(2, Ordering::Relaxed);
        let record = taken[0].1.record(1).unwrap();
        record.set_name([1; 16]);
        rings.recycle(0, control);
        assert_eq!(header.pid.load(Ordering::Relaxed), 0);
        assert_eq!(record.name(), [0; 16]);
        assert_eq!(entry.state.load(Ordering::Relaxed), entry_state::FREE);
        // Many processes at once leave many rings; some of them are removed.
        let many = 3 * MOST_AHEAD;
        for index in 0..many {
            rings.provide(control);
            assert!(rings.ahead <= MOST_AHEAD);
            control.rings[index]
                .state
                .store(entry_state::TAKEN, Ordering::Relaxed);
        }
        for index in 0..many {
            rings.recycle(index, control);
        }
        rings.provide(control);
        let free = rings.maps.iter().filter(|map| map.is_some()).count();
        assert_eq!(free, MOST_AHEAD);
        assert!(!rings.file(many).exists());
    }

    #[test]
    fn four_times_as_many_are_made_as_were_taken_in_a_turn() {
        let directory = Directory::create(None).unwrap();
        let control = directory.control();
        let mut rings = Rings::create(directory.path(), control).unwrap();
        rings.expect_several();
        rings.provide(control);
        let free = |control: &Control| {
            let states = control.rings.iter().map(|entry| &entry.state);
            states
                .filter(|state| state.load(Ordering::Relaxed) == entry_state::FREE)
                .count()
        };
        assert_eq!(free(control), AHEAD);
        // Three of four are taken, so no process was starved.
        for entry in control.rings.iter().take(3) {
            entry.state.store(entry_state::TAKEN, Ordering::Relaxed);
        }
        // A process waits for this turn.
        control.waiting_since.store(7, Ordering::Relaxed);
        rings.provide(control);
        assert_eq!(free(control), 3 * AHEAD_OF_TAKEN);
        assert_eq!(control.waiting_since.load(Ordering::Relaxed), 0);
        // A turn without a taken ring makes no more.
        rings.provide(control);
        assert_eq!(free(control), 3 * AHEAD_OF_TAKEN);
    }

    #[test]
    fn a_ring_gets_all_of_its_memory_when_its_process_lives() {
        use std::os::unix::fs::MetadataExt;
        let directory = Directory::create(None).unwrap();
        let control = directory.control();
        let mut rings = Rings::create(directory.path(), control).unwrap();
        let allocated = || {
            fs::metadata(directory.path().join("ring.0"))
                .unwrap()
                .blocks()
                * 512
        };
        let whole = Ring::BYTES as u64;
        if free_bytes(directory.path()) < ROOM {
            assert!(allocated() >= whole);
            return;
        }
        assert!(allocated() < whole / 4);
        let entry = &control.rings[0];
        entry.state.store(entry_state::TAKEN, Ordering::Relaxed);
        rings.provide(control);
        assert!(allocated() < whole / 4);
        // The time that it lives is the subject.
        std::thread::sleep(A_WHILE);
        rings.provide(control);
        assert!(allocated() >= whole);
        assert!(rings.trouble.is_none());
    }

    #[test]
    fn words_of_a_writer_that_was_killed_are_found() {
        let directory = Directory::create(None).unwrap();
        let rings = Rings::create(directory.path(), directory.control()).unwrap();
        let map = &rings.maps[0].as_ref().unwrap().map;
        let claims = Claims::new(&map.ring().chunks, true);
        let claim = claims.acquire().unwrap();
        claims.release(claim, 3, 1);
        // SAFETY: the first word of the chunk lies in the mapping.
        unsafe { map.map.as_ptr().add(Ring::WORDS_AT).cast::<u64>().write(42) };
        assert_eq!(claims.resume(claim), Some(3));
        let mut out = Vec::new();
        assert!(!map.take(claim.chunk as usize, &mut out));
        assert!(map.take_last(claim.chunk as usize, &mut out));
        assert_eq!(out, [42, 0, 0]);
        assert!(!map.take_last(claim.chunk as usize, &mut out));
    }
}
