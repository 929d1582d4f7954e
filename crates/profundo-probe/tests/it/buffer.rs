//! The budget is Julia's; records are read back unchanged; a ring keeps the newest.

use profundo_probe::buffer::{Buffer, CHUNK_WORDS};
use profundo_probe::claims::{ChunkState, Claim};

fn buffer(capacity: u64, chunks: usize, ring: bool) -> Buffer {
    let states: Vec<ChunkState> = (0..chunks).map(|_| ChunkState::default()).collect();
    let words = vec![0_u64; chunks * CHUNK_WORDS].leak();
    // SAFETY: the words are leaked, as many as the chunks need, and used by this buffer alone.
    unsafe {
        Buffer::new(
            words.as_mut_ptr(),
            Box::leak(states.into()),
            capacity,
            ring,
            1,
        )
    }
}

/// Writes a record of `words` equal words for a sample of `depth`; `None` if it was refused.
fn write(buffer: &Buffer, last: Option<Claim>, depth: usize, word: u64) -> Option<Claim> {
    if buffer.is_full() {
        return None;
    }
    let room = match buffer.open(last)? {
        room if room.words.len() >= depth => room,
        small => {
            buffer.abandon(small);
            buffer.open_for(depth)?
        }
    };
    if buffer.reserve(depth) != Some(depth) {
        buffer.abandon(room);
        return None;
    }
    room.words[..depth].fill(word);
    Some(buffer.commit(room, depth))
}

fn contents(buffer: &Buffer) -> Vec<u64> {
    let chunks = 0..buffer.claims().touched();
    chunks
        .flat_map(|index| buffer.read_chunk(index, <[u64]>::to_vec).unwrap())
        .collect()
}

#[test]
fn a_sample_costs_its_depth_plus_six() {
    let buffer = buffer(1000, 2, false);
    write(&buffer, None, 10, 7);
    assert_eq!(buffer.used(), 16);
    assert_eq!(contents(&buffer), [7; 10]);
}

#[test]
fn it_is_full_when_the_largest_entry_would_not_fit() {
    // 23 words are the least that can hold an entry of Julia's: 17 are full from the start.
    assert!(buffer(17, 1, false).is_full());
    assert!(buffer(22, 1, false).is_full());
    assert!(!buffer(23, 1, false).is_full());
    let buffer = buffer(60, 1, false);
    write(&buffer, None, 32, 1).expect("there is room");
    assert_eq!(buffer.used(), 38);
    assert!(buffer.is_full());
    assert!(write(&buffer, None, 1, 1).is_none());
}

#[test]
fn a_stack_too_deep_for_the_rest_is_cut_not_dropped() {
    let buffer = buffer(30, 1, false);
    assert_eq!(buffer.reserve(100), Some(24));
    assert_eq!(buffer.used(), 30);
    assert_eq!(buffer.reserve(1), None);
}

#[test]
fn a_thread_goes_on_in_its_chunk_and_takes_another_when_it_is_full() {
    let buffer = buffer(1 << 20, 3, false);
    let mut claim = None;
    let depth = 1000;
    for word in 0..10 {
        claim = write(&buffer, claim, depth, word);
        claim.expect("there is room");
    }
    assert_eq!(buffer.claims().touched(), 2);
    let expected: Vec<u64> = (0..10).flat_map(|word| vec![word; depth]).collect();
    assert_eq!(contents(&buffer), expected);
}

#[test]
fn without_chunks_left_threads_share_one_with_room() {
    let buffer = buffer(1 << 20, 1, false);
    let first = write(&buffer, None, 10, 1);
    // Another thread finds no chunk of its own, and goes on in this one.
    let second = write(&buffer, None, 10, 2);
    first.expect("there is room");
    second.expect("there is room");
    assert!(!buffer.is_full());
    // The first one notices, and takes it back.
    write(&buffer, first, 10, 3).expect("there is room");
    assert_eq!(contents(&buffer), [[1; 10], [2; 10], [3; 10]].concat());
}

#[test]
fn without_room_anywhere_a_sample_is_refused() {
    let buffer = buffer(1 << 20, 1, false);
    write(&buffer, None, CHUNK_WORDS, 1).expect("there is room");
    assert!(write(&buffer, None, 10, 2).is_none());
}

#[test]
fn more_threads_than_chunks_share_a_ring() {
    let buffer = buffer(CHUNK_WORDS as u64 * 2, 2, true);
    let mut claims = [None; 20];
    for word in 0..100 {
        let claim = &mut claims[word % 20];
        *claim = write(&buffer, *claim, 10, word as u64);
        claim.expect("there is room");
    }
    assert_eq!(buffer.overwritten(), 0);
    let expected: Vec<u64> = (0..100).flat_map(|word| [word; 10]).collect();
    assert_eq!(contents(&buffer), expected);
}

#[test]
fn a_ring_keeps_the_newest_and_counts_what_it_overwrote() {
    let buffer = buffer(CHUNK_WORDS as u64 * 2, 2, true);
    let mut claim = None;
    let depth = CHUNK_WORDS / 4;
    for word in 0..40 {
        claim = write(&buffer, claim, depth, word);
        assert!(claim.is_some(), "a ring is never full");
    }
    let mut kept = contents(&buffer);
    kept.sort_unstable();
    kept.dedup();
    assert_eq!(kept.last(), Some(&39));
    assert!(kept.iter().all(|&word| word >= 32), "{kept:?}");
    assert_eq!(kept.len() as u64 + buffer.overwritten(), 40);
    assert!(buffer.used() <= buffer.capacity());
}

#[test]
fn clearing_takes_the_chunks_back() {
    let buffer = buffer(1000, 2, false);
    let claim = write(&buffer, None, 10, 7);
    assert!(buffer.clear());
    assert_eq!((buffer.used(), contents(&buffer)), (0, vec![]));
    // The former owner notices, and writes elsewhere.
    write(&buffer, claim, 5, 8).expect("there is room");
    assert_eq!(contents(&buffer), [8; 5]);
}

#[test]
fn a_record_moves_to_where_there_is_room_for_more() {
    let buffer = buffer(1 << 20, 2, false);
    let claim = write(&buffer, None, CHUNK_WORDS - 100, 1);
    let room = buffer.open(claim).unwrap();
    room.words[..20].fill(2);
    // Enough room here.
    let room = buffer.roomier(room, 20, 80);
    assert_eq!(room.words.len(), 100);
    // Not enough: it goes to another chunk, and the first one stays as it was.
    let room = buffer.roomier(room, 20, 4000);
    assert_eq!(room.words.len(), CHUNK_WORDS);
    assert_eq!(room.words[..20], [2; 20]);
    let claim = buffer.commit(room, 20);
    let expected = [vec![1; CHUNK_WORDS - 100], vec![2; 20]].concat();
    assert_eq!(contents(&buffer), expected);
    // More than any chunk has: it stays.
    let room = buffer.open(Some(claim)).unwrap();
    room.words[..20].fill(3);
    let room = buffer.roomier(room, 20, CHUNK_WORDS);
    assert_eq!(room.words.len(), CHUNK_WORDS - 20);
    buffer.commit(room, 20);
    assert_eq!(contents(&buffer), [expected, vec![3; 20]].concat());
}
