//! Reads of the own stack and of memory that may not be mapped.

use std::ptr;

use profundo_probe::memory::StackMemory;
use profundo_probe::{Threads, regs, sys};
use profundo_unwind::Memory;

const PAGE: usize = 4096;

fn reader(sp: u64) -> StackMemory<'static> {
    let threads = Threads::new(crate::zeroed(4), crate::zeroed(4));
    let slot = threads
        .enter(sys::thread_id(), regs::thread_pointer())
        .unwrap();
    StackMemory::new(slot, sp, regs::thread_pointer())
}

#[test]
fn a_word_on_the_own_stack_is_read() {
    let word = 0x1234_5678_9abc_def0_u64;
    let address = ptr::from_ref(&word) as u64;
    assert_eq!(reader(address - 64).read(address), Some(word));
}

#[test]
fn a_word_that_is_not_aligned_is_read() {
    let bytes: [u8; 24] = std::array::from_fn(|index| index as u8);
    let address = bytes.as_ptr() as u64 + 3;
    let expected = u64::from_ne_bytes(bytes[3..11].try_into().unwrap());
    assert_eq!(reader(bytes.as_ptr() as u64).read(address), Some(expected));
}

#[test]
fn the_own_stack_is_copied_up_to_its_end() {
    let words: [u64; 64] = std::array::from_fn(|index| index as u64);
    let from = ptr::from_ref(&words) as u64;
    let mut memory = reader(from);
    let mut out = [0; 64];
    assert_eq!(memory.copy(from, &mut out), 64);
    assert_eq!(out, words);
    // The thread's control block is where its stack ends.
    let end = regs::thread_pointer();
    let all = ((end - from) / 8) as usize;
    assert_eq!(memory.words_above(from, usize::MAX), all);
    let mut out = vec![0; all + 100];
    assert_eq!(memory.copy(from, &mut out), all);
    assert_eq!(out[all..], [0; 100]);
}

#[test]
fn a_stack_that_is_not_the_own_one_is_copied_as_far_as_it_is_mapped() {
    // SAFETY: two pages of our own, of which the second is given back at once.
    let start = unsafe {
        let protection = libc::PROT_READ | libc::PROT_WRITE;
        let flags = libc::MAP_PRIVATE | libc::MAP_ANONYMOUS;
        let start = libc::mmap(ptr::null_mut(), 2 * PAGE, protection, flags, -1, 0);
        assert_ne!(start, libc::MAP_FAILED);
        libc::munmap(start.byte_add(PAGE), PAGE);
        start.cast::<u64>().write(7);
        start as u64
    };
    let mut out = [1; 1000];
    assert_eq!(reader(start).copy(start, &mut out), PAGE / 8);
    assert_eq!((out[0], out[1], out[PAGE / 8]), (7, 0, 1));
}

#[test]
fn what_is_not_mapped_is_not_touched() {
    // SAFETY: two pages of our own, of which the second is given back at once.
    let start = unsafe {
        let protection = libc::PROT_READ | libc::PROT_WRITE;
        let flags = libc::MAP_PRIVATE | libc::MAP_ANONYMOUS;
        let start = libc::mmap(ptr::null_mut(), 2 * PAGE, protection, flags, -1, 0);
        libc::munmap(start.byte_add(PAGE), PAGE);
        start as u64
    };
    let mut memory = reader(start);
    assert_eq!(memory.read(start), Some(0));
    assert_eq!(memory.read(start + PAGE as u64 - 8), Some(0));
    assert_eq!(memory.read(start + PAGE as u64), None);
    // A word across the border, and words at the ends of the address space.
    assert_eq!(memory.read(start + PAGE as u64 - 4), None);
    for address in [0, 8, u64::MAX, u64::MAX - 7, u64::MAX - 8, 1 << 63] {
        assert_eq!(memory.read(address), None, "{address:#x}");
    }
}

#[test]
fn the_probe_of_a_page_distinguishes_mapped_from_unmapped() {
    let here = 0_u64;
    assert!(sys::is_readable(ptr::from_ref(&here) as u64));
    assert!(!sys::is_readable(0));
    assert!(!sys::is_readable(u64::MAX - 4095));
    let mut out = [0; 8];
    assert_eq!(
        sys::copy_checked(ptr::from_ref(&0x55_u64) as u64, &mut out),
        8
    );
    assert_eq!(sys::copy_checked(1, &mut out), 0);
}
