//! Lists and a map in memory from the kernel: the copy uses no allocator.

use core::marker::PhantomData;

use profundo_probe::sys;

use super::Failure;

/// A list that grows. Its memory is never unmapped, since the process ends soon.
#[derive(Debug)]
pub struct Pages<T: Copy> {
    start: *mut T,
    length: usize,
    room: usize,
    _items: PhantomData<T>,
}

const FIRST_BYTES: usize = 64 << 10;

impl<T: Copy> Pages<T> {
    /// An empty list.
    pub const fn new() -> Self {
        Self {
            start: core::ptr::null_mut(),
            length: 0,
            room: 0,
            _items: PhantomData,
        }
    }

    /// The number of items.
    pub fn len(&self) -> usize {
        self.length
    }

    /// All items.
    pub fn as_slice(&self) -> &[T] {
        if self.start.is_null() {
            return &[];
        }
        // SAFETY: so many were written.
        unsafe { core::slice::from_raw_parts(self.start, self.length) }
    }

    /// All items, mutable.
    pub fn as_mut_slice(&mut self) -> &mut [T] {
        if self.start.is_null() {
            return &mut [];
        }
        // SAFETY: so many were written.
        unsafe { core::slice::from_raw_parts_mut(self.start, self.length) }
    }

    /// The item at an index.
    pub fn get(&self, index: usize) -> Option<T> {
        self.as_slice().get(index).copied()
    }

    /// Removes all items.
    pub fn clear(&mut self) {
        self.length = 0;
    }

    /// Adds an item.
    pub fn push(&mut self, item: T) -> Result<(), Failure> {
        if self.length == self.room {
            self.grow()?;
        }
        // SAFETY: there is room for it.
        unsafe { self.start.add(self.length).write(item) };
        self.length += 1;
        Ok(())
    }

    /// A list of this many items, all of them zero.
    ///
    /// # Safety
    /// All zero is a valid item.
    pub unsafe fn zeros(length: usize) -> Result<Self, Failure> {
        let start = map(length.saturating_mul(size_of::<T>()).max(1))?;
        Ok(Self {
            start: start.cast(),
            length,
            room: length,
            _items: PhantomData,
        })
    }

    /// Unmaps the memory.
    pub fn release(self) {
        let bytes = (self.room * size_of::<T>()).max(1);
        // SAFETY: it was mapped by us, and has no users any more.
        unsafe { sys::call(libc::SYS_munmap, [self.start as usize, bytes, 0, 0, 0, 0]) };
    }

    #[cold]
    fn grow(&mut self) -> Result<(), Failure> {
        let old = self.room * size_of::<T>();
        let new = (old * 2).max(FIRST_BYTES);
        let start = if old == 0 {
            map(new)?.cast()
        } else {
            let may_move = libc::MREMAP_MAYMOVE as usize;
            // SAFETY: it was mapped by us, and is ours alone.
            let moved = unsafe {
                sys::call(
                    libc::SYS_mremap,
                    [self.start as usize, old, new, may_move, 0, 0],
                )
            };
            if moved < 0 {
                return Err(libc::ENOMEM);
            }
            moved as *mut T
        };
        self.start = start;
        self.room = new / size_of::<T>();
        Ok(())
    }
}

fn map(bytes: usize) -> Result<*mut u8, Failure> {
    let protection = (libc::PROT_READ | libc::PROT_WRITE) as usize;
    let flags = (libc::MAP_PRIVATE | libc::MAP_ANONYMOUS) as usize;
    // SAFETY: a new mapping, at a place that the kernel chooses.
    let start = unsafe { sys::call(libc::SYS_mmap, [0, bytes, protection, flags, usize::MAX, 0]) };
    if start < 0 {
        return Err(libc::ENOMEM);
    }
    Ok(start as *mut u8)
}

/// From addresses to numbers.
#[derive(Debug)]
pub struct Map {
    /// Addresses and numbers; address 0: free. Its length is a power of two.
    slots: Pages<(u64, u32)>,
    used: usize,
}

impl Map {
    /// An empty map.
    pub fn new() -> Result<Self, Failure> {
        Self::with_slots(1 << 12)
    }

    fn with_slots(slots: usize) -> Result<Self, Failure> {
        Ok(Self {
            // SAFETY: a pair of zeros is one.
            slots: unsafe { Pages::zeros(slots)? },
            used: 0,
        })
    }

    fn first_slot(&self, key: u64) -> usize {
        /// 2^64 divided by the golden ratio. The high bits are good.
        const SPREAD: u64 = 0x9E37_79B9_7F4A_7C15;
        let bits = self.slots.len().trailing_zeros();
        ((key >> 3).wrapping_mul(SPREAD) >> (64 - bits)) as usize
    }

    /// The number of an address that is not 0.
    pub fn get(&self, key: u64) -> Option<u32> {
        let slots = self.slots.as_slice();
        let mut at = self.first_slot(key);
        loop {
            match slots.get(at) {
                Some(&(found, number)) if found == key => return Some(number),
                Some(&(0, _)) | None => return None,
                Some(_) => at = (at + 1) & (slots.len() - 1),
            }
        }
    }

    /// Notes the number of an address that has none yet.
    pub fn insert(&mut self, key: u64, number: u32) -> Result<(), Failure> {
        if self.used * 4 >= self.slots.len() * 3 {
            let mut larger = Self::with_slots(self.slots.len() * 2)?;
            for &(key, number) in self.slots.as_slice() {
                if key != 0 {
                    larger.place(key, number);
                }
            }
            core::mem::replace(self, larger).slots.release();
        }
        self.place(key, number);
        Ok(())
    }

    fn place(&mut self, key: u64, number: u32) {
        let mut at = self.first_slot(key);
        let slots = self.slots.as_mut_slice();
        let last = slots.len() - 1;
        while let Some(slot) = slots.get_mut(at) {
            if slot.0 == 0 {
                *slot = (key, number);
                self.used += 1;
                return;
            }
            at = (at + 1) & last;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_list_keeps_what_it_is_given() {
        let mut list = Pages::new();
        for number in 0..100_000_u64 {
            list.push(number).unwrap();
        }
        assert!(list.as_slice().iter().copied().eq(0..100_000));
        list.clear();
        assert_eq!(list.get(0), None);
    }

    #[test]
    fn numbers_are_found_by_their_addresses() {
        let mut map = Map::new().unwrap();
        for number in 1..50_000_u32 {
            map.insert(u64::from(number) * 48, number).unwrap();
        }
        for number in 1..50_000_u32 {
            assert_eq!(map.get(u64::from(number) * 48), Some(number));
            assert_eq!(map.get(u64::from(number) * 48 + 8), None);
        }
    }
}
