//! Pages that are followed until they are unmapped, possibly piece by piece.

use core::sync::atomic::{AtomicU32, Ordering};

use profundo_probe::heap::Spin;

/// The most mappings that are followed at one time.
const ROOM: usize = 4096;

/// The mappings that are followed. All zero is none.
#[repr(C)]
pub struct Mapped {
    /// Their number. Read without the lock.
    count: AtomicU32,
    ranges: Spin<[Range; ROOM]>,
}

#[derive(Clone, Copy)]
struct Range {
    start: u64,
    end: u64,
    /// The bytes that are still mapped. 0: unused.
    left: u64,
    number: u64,
}

impl Mapped {
    /// Follows a mapping. `false`: there is no room.
    pub fn insert(&self, start: u64, bytes: u64, number: u64) -> bool {
        let inserted = self.ranges.with(|ranges| {
            let Some(place) = ranges.iter_mut().find(|range| range.left == 0) else {
                return false;
            };
            *place = Range {
                start,
                end: start.saturating_add(bytes),
                left: bytes.max(1),
                number,
            };
            self.count.fetch_add(1, Ordering::Relaxed);
            true
        });
        inserted.unwrap_or(false)
    }

    /// True if no mapping is followed.
    #[inline]
    pub fn is_empty(&self) -> bool {
        self.count.load(Ordering::Relaxed) == 0
    }

    /// Removes a range that is unmapped: `gone` gets the number of each mapping that loses
    /// something, how many bytes, and whether it is gone now.
    pub fn remove(&self, start: u64, bytes: u64, mut gone: impl FnMut(u64, u64, bool)) {
        const SOME: usize = 16;
        let end = start.saturating_add(bytes);
        loop {
            let mut found = [(0, 0, false); SOME];
            let mut count = 0;
            self.ranges.with(|ranges| {
                let overlapping =
                    |range: &&mut Range| range.left != 0 && range.start < end && start < range.end;
                for range in ranges.iter_mut().filter(overlapping) {
                    let Some(place) = found.get_mut(count) else {
                        break;
                    };
                    let common = range.end.min(end) - range.start.max(start);
                    let before = range.left;
                    range.left = range.left.saturating_sub(common);
                    if start <= range.start {
                        range.start = range.end.min(end);
                    } else if end >= range.end {
                        range.end = start;
                    }
                    let is_all = range.left == 0 || range.start >= range.end;
                    if is_all {
                        range.left = 0;
                        self.count.fetch_sub(1, Ordering::Relaxed);
                    }
                    *place = (range.number, before - range.left, is_all);
                    count += 1;
                }
            });
            // Not under the lock, since the report takes a while.
            for &(number, bytes, is_all) in found.iter().take(count) {
                gone(number, bytes, is_all);
            }
            if count < SOME {
                return;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn some() -> Box<Mapped> {
        // SAFETY: all zero is a valid one.
        unsafe { Box::<Mapped>::new_zeroed().assume_init() }
    }

    fn removed(mapped: &Mapped, start: u64, bytes: u64) -> Vec<u64> {
        let mut gone = Vec::new();
        mapped.remove(start, bytes, |number, _, is_all| {
            if is_all {
                gone.push(number);
            }
        });
        gone
    }

    #[test]
    fn pages_are_gone_when_their_last_piece_is() {
        let mapped = some();
        assert!(mapped.is_empty());
        assert!(mapped.insert(0x10000, 0x4000, 7));
        assert_eq!(removed(&mapped, 0x20000, 0x1000), []);
        assert_eq!(removed(&mapped, 0x10000, 0x1000), []);
        assert_eq!(removed(&mapped, 0x13000, 0x1000), []);
        assert!(!mapped.is_empty());
        assert_eq!(removed(&mapped, 0x11000, 0x2000), [7]);
        assert!(mapped.is_empty());
    }

    #[test]
    fn a_hole_in_the_middle_is_no_end() {
        let mapped = some();
        assert!(mapped.insert(0x10000, 0x3000, 7));
        assert_eq!(removed(&mapped, 0x11000, 0x1000), []);
        assert_eq!(removed(&mapped, 0x10000, 0x3000), [7]);
    }

    #[test]
    fn many_go_at_once() {
        let mapped = some();
        for number in 0..100 {
            assert!(mapped.insert(0x10000 + number * 0x1000, 0x1000, number));
        }
        let gone = removed(&mapped, 0x10000, 100 * 0x1000);
        assert_eq!(gone, (0..100).collect::<Vec<_>>());
    }
}
