//! The places of a reading's pages.
//!
//! Frames of a deep recursion lie on hundreds of pages, and a walk goes to and fro between them and
//! those of the code. So a page is found in a small hash table, which a new reading empties at no
//! cost.

/// Slots; a power of two, and at least twice as many as there are pages.
const SLOTS: usize = 4096;

#[derive(Debug, Clone, Copy, Default)]
struct Slot {
    start: u64,
    at: u32,
    /// The slot is empty unless this is the reading's own number.
    reading: u32,
}

/// The places of pages, by their start.
#[derive(Debug, Default)]
pub(super) struct Pages {
    slots: Vec<Slot>,
    reading: u32,
}

impl Pages {
    /// Begins a reading without pages.
    pub(super) fn clear(&mut self) {
        self.reading = self.reading.wrapping_add(1);
        if self.slots.is_empty() || self.reading == 0 {
            self.slots.clear();
            self.slots.resize(SLOTS, Slot::default());
            self.reading = 1;
        }
    }

    /// The place of a page.
    pub(super) fn find(&self, start: u64) -> Option<usize> {
        let found = self.slots.get(self.slot_of(start)?)?;
        (found.reading == self.reading).then_some(found.at as usize)
    }

    /// Adds a page. A full table takes no more.
    pub(super) fn insert(&mut self, start: u64, at: usize) {
        let reading = self.reading;
        let slot = self
            .slot_of(start)
            .and_then(|slot| self.slots.get_mut(slot));
        if let (Some(slot), Ok(at)) = (slot, u32::try_from(at)) {
            *slot = Slot { start, at, reading };
        }
    }

    /// The slot of a page, used or free.
    fn slot_of(&self, start: u64) -> Option<usize> {
        /// The golden ratio in 64 bits, which spreads neighbours.
        const SPREAD: u64 = 0x9e37_79b9_7f4a_7c15;
        let first = (start >> 12).wrapping_mul(SPREAD) >> (64 - SLOTS.trailing_zeros());
        let slots = (0..SLOTS).map(|step| (first as usize + step) & (SLOTS - 1));
        slots.into_iter().find(|&at| {
            let slot = self.slots.get(at);
            slot.is_some_and(|slot| slot.reading != self.reading || slot.start == start)
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pages_are_found_until_the_next_reading() {
        let mut pages = Pages::default();
        assert_eq!(pages.find(4096), None);
        for reading in 0..3 {
            pages.clear();
            for page in 0..2048_u64 {
                assert_eq!(pages.find(page << 12), None, "reading {reading}");
                pages.insert(page << 12, page as usize + reading);
            }
            for page in 0..2048_u64 {
                assert_eq!(pages.find(page << 12), Some(page as usize + reading));
            }
        }
        // The number of the reading wraps around.
        pages.reading = u32::MAX;
        pages.clear();
        assert_eq!(pages.find(4096), None);
    }
}
