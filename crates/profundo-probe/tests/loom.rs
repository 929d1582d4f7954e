//! The claims on the buffer's chunks, in every order that two or three threads can run in.
//!
//! Run with `RUSTFLAGS="--cfg loom" cargo test -p profundo-probe --test loom --release`.
#![cfg(loom)]

use loom::cell::UnsafeCell;
use loom::sync::Arc;
use loom::thread;
use profundo_probe::claims::{ChunkState, Claim, Claims};

/// Claims over chunks whose one word is watched by loom: two accesses at once, one of them a
/// write, fail the test.
struct Arena {
    claims: Claims<'static>,
    words: Vec<UnsafeCell<u64>>,
}

// SAFETY: the cells are reached only while a claim or a read is held; the test shows that this is
// exclusive.
unsafe impl Sync for Arena {}
// SAFETY: as above.
unsafe impl Send for Arena {}

impl Arena {
    fn new(chunks: usize, ring: bool) -> Arc<Self> {
        let states: Vec<ChunkState> = (0..chunks).map(|_| ChunkState::default()).collect();
        let words = (0..chunks).map(|_| UnsafeCell::new(0)).collect();
        Arc::new(Self {
            claims: Claims::new(Box::leak(states.into_boxed_slice()), ring),
            words,
        })
    }

    fn write(&self, claim: Claim, value: u64) {
        let (chunk, _) = claim.to_words();
        // SAFETY: the claim is held for writing.
        self.words[chunk as usize].with_mut(|word| unsafe { *word = value });
        self.claims.release(claim, 1, 1);
    }

    fn sample(&self, last: Option<Claim>, value: u64) -> Option<Claim> {
        let claim = match last {
            Some(claim) if self.claims.resume(claim).is_some() => claim,
            _ => self.claims.acquire()?,
        };
        self.write(claim, value);
        Some(claim)
    }

    fn read(&self, index: usize) -> Option<u64> {
        let words = self.claims.begin_read(index)?;
        // SAFETY: the chunk is held for reading.
        let value = self.words[index].with(|word| unsafe { *word });
        self.claims.end_read(index);
        (words > 0).then_some(value)
    }
}

#[test]
fn a_reader_sees_a_whole_sample_or_none() {
    loom::model(|| {
        let arena = Arena::new(1, false);
        let writer = {
            let arena = arena.clone();
            thread::spawn(move || {
                let claim = arena.sample(None, 7);
                arena.sample(claim, 8);
            })
        };
        if let Some(value) = arena.read(0) {
            assert!(value == 7 || value == 8);
        }
        writer.join().unwrap();
    });
}

#[test]
fn two_writers_never_share_a_chunk() {
    loom::model(|| {
        let arena = Arena::new(2, false);
        let writers: Vec<_> = (0..2)
            .map(|value| {
                let arena = arena.clone();
                thread::spawn(move || arena.sample(None, value).map(|claim| claim.to_words().0))
            })
            .collect();
        let chunks: Vec<_> = writers
            .into_iter()
            .map(|writer| writer.join().unwrap())
            .collect();
        assert_ne!(chunks[0], chunks[1]);
        assert!(chunks.iter().all(Option::is_some));
    });
}

#[test]
fn in_a_ring_the_former_owner_notices() {
    loom::model(|| {
        let arena = Arena::new(1, true);
        let first = arena.sample(None, 1);
        let thief = {
            let arena = arena.clone();
            thread::spawn(move || arena.sample(None, 2))
        };
        let again = arena.sample(first, 3);
        let stolen = thief.join().unwrap();
        // The second one found the chunk taken, and took it with a new generation; loom has checked
        // that they never wrote at once.
        assert!(again.is_some() || stolen.is_some());
        if let (Some(again), Some(stolen)) = (again, stolen) {
            assert_ne!(again, stolen);
        }
    });
}

#[test]
fn a_chunk_that_is_adopted_is_written_by_one_at_a_time() {
    loom::model(|| {
        let arena = Arena::new(1, false);
        let first = arena.sample(None, 1);
        let other = {
            let arena = arena.clone();
            thread::spawn(move || {
                let adopted = arena.claims.adopt(8);
                if let Some((claim, _)) = adopted {
                    arena.write(claim, 2);
                }
                adopted.is_some()
            })
        };
        let mut mine = first.filter(|claim| arena.claims.resume(*claim).is_some());
        if mine.is_none() {
            mine = arena.claims.adopt(8).map(|(claim, _)| claim);
        }
        if let Some(claim) = mine {
            arena.write(claim, 3);
        }
        let adopted = other.join().unwrap();
        assert!(adopted || mine.is_some());
    });
}

#[test]
fn clearing_takes_chunks_from_their_owners() {
    loom::model(|| {
        let arena = Arena::new(1, false);
        let claim = arena.sample(None, 1).unwrap();
        let clearer = {
            let arena = arena.clone();
            thread::spawn(move || {
                let asked = arena.claims.asked();
                if arena.claims.begin_read(0).is_some() {
                    arena.claims.end_read_and_clear(0);
                    return arena.claims.rewind(asked);
                }
                false
            })
        };
        let resumed = arena.sample(Some(claim), 2);
        let cleared = clearer.join().unwrap();
        assert!(cleared || resumed.is_some());
    });
}

#[test]
fn a_chunk_that_is_emptied_stays_its_owners_and_loses_nothing() {
    loom::model(|| {
        let arena = Arena::new(2, false);
        let first = arena.sample(None, 1);
        let reader = {
            let arena = arena.clone();
            thread::spawn(move || {
                let Some(words) = arena.claims.begin_read(0) else {
                    return 0;
                };
                // SAFETY: the chunk is held for reading.
                let seen = arena.words[0].with(|word| unsafe { *word });
                arena.claims.end_read_and_keep(0);
                seen * u64::from(words)
            })
        };
        let second = arena.sample(first, 2);
        assert!(second.is_some(), "there is always a chunk to write to");
        let seen = reader.join().unwrap();
        let left: u64 = (0..2).filter_map(|index| arena.read(index)).sum();
        // The second sample replaces the first where it was not read before: one word a chunk.
        assert!(matches!(seen + left, 2 | 3), "{seen} + {left}");
    });
}
