//! The memory of a process that goes on meanwhile.

use profundo_cpython::Memory;
use profundo_linux::sys;

use crate::reading::PageMemory;

/// Memory that may change while it is read.
pub trait Live: Memory {
    /// A word as it is now, and not as it was when its page was fetched.
    fn now(&mut self, address: u64) -> Option<u64>;

    /// Forgets all pages.
    fn forget(&mut self);

    /// Forgets pages if there is little room left.
    fn make_room(&mut self);
}

impl Live for PageMemory {
    fn now(&mut self, address: u64) -> Option<u64> {
        let mut bytes = [0; 8];
        let read = sys::read_memory(self.pid(), address, &mut bytes);
        (read == bytes.len()).then(|| u64::from_le_bytes(bytes))
    }

    fn forget(&mut self) {
        self.begin_anew(self.pid());
    }

    fn make_room(&mut self) {
        if self.is_nearly_full() {
            self.forget();
        }
    }
}
