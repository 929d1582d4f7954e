//! Numbers by two others: the child of a node by the function's key; the row of a key.

use core::ptr::NonNull;

use super::tree::Memory;

#[derive(Debug, Clone, Copy)]
#[repr(C)]
struct Place {
    key: u64,
    parent: u32,
    /// 0: the place is empty.
    value: u32,
}

/// A table that grows. All zero is an empty one.
#[derive(Debug)]
pub(super) struct Index {
    places: Option<NonNull<Place>>,
    /// The number of places, less one: all ones in binary.
    mask: usize,
    used: usize,
}

/// The number of places at first.
const FIRST: usize = 1 << 10;

impl Index {
    pub(super) const fn new() -> Self {
        Self {
            places: None,
            mask: 0,
            used: 0,
        }
    }

    /// Empties the table.
    pub(super) fn clear(&mut self, memory: &impl Memory) {
        if let Some(old) = self.places.take() {
            memory.unmap(old.cast(), (self.mask + 1) * size_of::<Place>());
        }
        *self = Self::new();
    }

    /// Visits the keys and values of all entries.
    pub(super) fn each(&self, mut visit: impl FnMut(u64, u32)) {
        for at in 0..self.capacity() {
            // SAFETY: the place is within the table.
            let place = self.places.map(|places| unsafe { places.add(at).read() });
            if let Some(place) = place.filter(|place| place.value != 0) {
                visit(place.key, place.value);
            }
        }
    }

    #[inline]
    pub(super) fn find(&self, parent: u32, key: u64) -> Option<u32> {
        let places = self.places?;
        let mut at = hash(parent, key) & self.mask;
        loop {
            // SAFETY: the place is within the table, whose length is the mask and one.
            let place = unsafe { places.add(at).read() };
            match place.value {
                0 => return None,
                value if place.key == key && place.parent == parent => return Some(value),
                _ => at = (at + 1) & self.mask,
            }
        }
    }

    /// Adds an entry that is missing. `false`: there is no memory.
    pub(super) fn insert(
        &mut self,
        parent: u32,
        key: u64,
        value: u32,
        memory: &impl Memory,
    ) -> bool {
        // At most three quarters are used, so that each search ends.
        if (self.used + 1) * 4 > self.capacity() * 3 && !self.grow(memory) {
            return false;
        }
        self.used += 1;
        self.put(Place { key, parent, value });
        true
    }

    fn capacity(&self) -> usize {
        self.places.map_or(0, |_| self.mask + 1)
    }

    fn put(&mut self, new: Place) {
        let Some(places) = self.places else { return };
        let mut at = hash(new.parent, new.key) & self.mask;
        loop {
            // SAFETY: as in `find`; the table has no other user.
            unsafe {
                let place = places.add(at);
                if place.read().value == 0 {
                    return place.write(new);
                }
            }
            at = (at + 1) & self.mask;
        }
    }

    fn grow(&mut self, memory: &impl Memory) -> bool {
        let old = self.places.map(|places| (places, self.mask + 1));
        let capacity = old.map_or(FIRST, |(_, count)| count * 2);
        let Some(new) = memory.map(capacity * size_of::<Place>()) else {
            return false;
        };
        self.places = Some(new.cast());
        self.mask = capacity - 1;
        if let Some((places, count)) = old {
            for at in 0..count {
                // SAFETY: the old table had so many places.
                let place = unsafe { places.add(at).read() };
                if place.value != 0 {
                    self.put(place);
                }
            }
            memory.unmap(places.cast(), count * size_of::<Place>());
        }
        true
    }
}

#[inline]
fn hash(parent: u32, key: u64) -> usize {
    const MIX: u64 = 0x9E37_79B9_7F4A_7C15;
    let product = (key ^ u64::from(parent).wrapping_mul(0xC2B2_AE3D_27D4_EB4F)).wrapping_mul(MIX);
    (product ^ product >> 32) as usize
}
