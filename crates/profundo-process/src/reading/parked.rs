//! The lock behind a wait in CPython's parking lot.
//!
//! From 3.13 on, the interpreter's mutexes are a byte each. `threading.Lock` is one of them from
//! 3.14 on, and so is the lock of each object in a build without the global lock. A thread that
//! waits for one waits for a semaphore on its own stack, which is another one each time. The lock's
//! address lies before the semaphore:
//!
//! ```text
//!  −16       −8         0           32      40
//! ┌─────────┬──────────┬───────────┬───────┬──────────┐
//! │ (a word)│ the lock │ semaphore │ next  │ previous │   in a list of waiters
//! └─────────┴──────────┴───────────┴───────┴──────────┘
//! ```
//!
//! It is known by its list, whose neighbours lead back to it.

use profundo_linux::sys;

/// The size of the C library's semaphores.
const SEMAPHORE: usize = 32;
const NEXT: usize = 8 + SEMAPHORE;
const PREVIOUS: usize = NEXT + 8;

/// The lock that a thread with this stack pointer waits for, by its futex. `None`: the futex is no
/// semaphore of a waiter.
pub fn lock(pid: u32, sp: u64, futex: u64) -> Option<u64> {
    /// The frames between the waiter's and the system call's.
    const NEAR: u64 = 1 << 12;
    if !(sp..sp.saturating_add(NEAR)).contains(&futex) || !futex.is_multiple_of(8) {
        return None;
    }
    let mut bytes = [0; PREVIOUS + 8];
    let place = futex.checked_sub(8)?;
    if sys::read_memory(pid, place, &mut bytes) != bytes.len() {
        return None;
    }
    let word_at = |offset: usize| {
        let word = bytes.get(offset..offset + 8)?;
        Some(u64::from_ne_bytes(word.try_into().ok()?))
    };
    let node = place.checked_add(NEXT as u64)?;
    let (lock, next, previous) = (word_at(0)?, word_at(NEXT)?, word_at(PREVIOUS)?);
    let leads_back = |from: u64, offset: u64| {
        let mut bytes = [0; 8];
        let place = from.checked_add(offset);
        let read = place.map(|place| sys::read_memory(pid, place, &mut bytes));
        read == Some(bytes.len()) && u64::from_ne_bytes(bytes) == node
    };
    // The neighbours of the last node in a list are one: the list itself. It is never alone.
    let is_waiter = next != node && leads_back(next, 8) && leads_back(previous, 0);
    (is_waiter && lock != 0).then_some(lock)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A waiter as it lies on the stack: the argument, the lock, the semaphore, its neighbours.
    #[repr(C)]
    struct Waiter([u64; 8]);

    fn address<T>(of: &T) -> u64 {
        std::ptr::from_ref(of) as u64
    }

    #[test]
    fn a_waiter_leads_to_its_lock() {
        let pid = std::process::id();
        // The list's own two words, and two waiters for different locks.
        let mut list = Box::new([0_u64; 2]);
        let mut waiters = [Waiter([0; 8]), Waiter([0; 8])];
        let root = address(&*list);
        let [first, second] = [address(&waiters[0]), address(&waiters[1])];
        let (first, second) = (first + 48, second + 48);
        *list = [first, second];
        waiters[0].0 = [0, 0xA001, 0, 0, 0, 0, second, root];
        waiters[1].0 = [0, 0xB002, 0, 0, 0, 0, root, first];
        let of = |node: u64| lock(pid, node - 100, node - 32);
        assert_eq!((of(first), of(second)), (Some(0xA001), Some(0xB002)));
        // Not near the top of the stack.
        assert_eq!(lock(pid, first + 8, first - 32), None);
        assert_eq!(lock(pid, first - (1 << 20), first - 32), None);
        // A waiter that is being woken has left its list.
        waiters[0].0[6] = 0;
        std::hint::black_box(&waiters);
        assert_eq!(lock(pid, first - 100, first - 32), None);
        // Words of another kind.
        let others = Waiter([1; 8]);
        let place = address(&others) + 16;
        assert_eq!(lock(pid, place - 64, place), None);
        assert_eq!(lock(pid, u64::MAX - 64, u64::MAX - 7), None);
    }
}
