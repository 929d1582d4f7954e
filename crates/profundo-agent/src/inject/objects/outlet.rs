//! The output of a copy: a piece of memory, which the command empties from outside.

use core::sync::atomic::Ordering;

use profundo_probe::shared::Outlet;
use profundo_probe::sys;
use profundo_wire::graph::text_head;

use super::pages::Pages;
use crate::process;

/// The size of a piece.
const WORDS: usize = 1 << 17;

/// The longest wait for the command to take a piece, in nanoseconds: after it, the command must
/// have been killed.
const LONGEST_WAIT: u64 = 20_000_000_000;

/// The writer to the outlet.
pub struct Out<'a> {
    outlet: &'a Outlet,
    piece: Pages<u64>,
    used: usize,
}

impl<'a> Out<'a> {
    /// Publishes the address of the piece. `None`: there is no memory.
    pub fn new(outlet: &'a Outlet) -> Option<Self> {
        // SAFETY: zeros are words.
        let piece = unsafe { Pages::<u64>::zeros(WORDS) }.ok()?;
        outlet.filled.store(0, Ordering::Relaxed);
        let address = piece.as_slice().as_ptr() as u64;
        // Release: it is mapped when the address is seen.
        outlet.address.store(address, Ordering::Release);
        Some(Self {
            outlet,
            piece,
            used: 0,
        })
    }

    /// Writes an item, which is not longer than a piece. An item is never split.
    pub fn put(&mut self, words: &[u64]) {
        self.make_room(words.len());
        let places = self.piece.as_mut_slice();
        if let Some(places) = places.get_mut(self.used..self.used + words.len()) {
            places.copy_from_slice(words);
            self.used += words.len();
        }
    }

    /// Writes a text.
    pub fn put_text(&mut self, text: &[u8]) {
        let words = text.len().div_ceil(8);
        self.make_room(1 + words);
        let places = self.piece.as_mut_slice();
        let Some([head, places @ ..]) = places.get_mut(self.used..self.used + 1 + words) else {
            return;
        };
        *head = text_head(text.len() as u32);
        for (place, bytes) in places.iter_mut().zip(text.chunks(8)) {
            let mut word = [0; 8];
            if let Some(word) = word.get_mut(..bytes.len()) {
                word.copy_from_slice(bytes);
            }
            *place = u64::from_le_bytes(word);
        }
        self.used += 1 + words;
    }

    /// Reports the progress of the search.
    pub fn progress(&self, objects: u64) {
        self.outlet.progress.store(objects, Ordering::Relaxed);
    }

    fn make_room(&mut self, words: usize) {
        if self.used + words > WORDS {
            self.hand_over();
        }
    }

    fn hand_over(&mut self) {
        let filled = &self.outlet.filled;
        // Release pairs with the command's reading of the words after it.
        filled.store(self.used as u64, Ordering::Release);
        self.used = 0;
        let began = process::time(libc::CLOCK_MONOTONIC);
        while filled.load(Ordering::Acquire) != 0 {
            pause();
            if process::time(libc::CLOCK_MONOTONIC) - began > LONGEST_WAIT {
                super::exit(1);
            }
        }
    }

    /// Writes the rest, and stays: the command may look at the memory, and ends the process.
    pub fn finish(&mut self) {
        /// The command reads all of the memory, at a gigabyte per second.
        const LONGEST: u64 = 120_000_000_000;
        self.hand_over();
        let began = process::time(libc::CLOCK_MONOTONIC);
        while process::time(libc::CLOCK_MONOTONIC) - began < LONGEST {
            sys::sleep_a_millisecond();
        }
    }
}

/// The command is not woken, so it polls often, and so do we.
fn pause() {
    let time = libc::timespec {
        tv_sec: 0,
        tv_nsec: 50_000,
    };
    // SAFETY: the time is valid during the call.
    unsafe {
        sys::call(
            libc::SYS_nanosleep,
            [(&raw const time) as usize, 0, 0, 0, 0, 0],
        );
    }
}
