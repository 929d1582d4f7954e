//! Locks that count contention.
//!
//! The standard library's locks count nothing, and from outside a wait for a lock looks like any
//! other wait. These wrap the same locks and try first: a failed attempt is a conflict, counted for
//! the whole process, for [`lock_conflicts!`](crate::lock_conflicts!) and [`time!`](crate::time!).

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{
    self, LockResult, MutexGuard, RwLockReadGuard, RwLockWriteGuard, TryLockError, TryLockResult,
};

static CONFLICTS: AtomicU64 = AtomicU64::new(0);
static ARE_USED: AtomicBool = AtomicBool::new(false);

/// The number of waits for these locks; `None` if none was ever taken.
pub fn conflicts() -> Option<u64> {
    ARE_USED
        .load(Ordering::Relaxed)
        .then(|| CONFLICTS.load(Ordering::Relaxed))
}

/// Counts the attempt, and waits if it failed.
fn taken<G>(attempt: TryLockResult<G>, wait: impl FnOnce() -> LockResult<G>) -> LockResult<G> {
    if !ARE_USED.load(Ordering::Relaxed) {
        ARE_USED.store(true, Ordering::Relaxed);
    }
    match attempt {
        Ok(guard) => Ok(guard),
        Err(TryLockError::Poisoned(poisoned)) => Err(poisoned),
        Err(TryLockError::WouldBlock) => {
            CONFLICTS.fetch_add(1, Ordering::Relaxed);
            wait()
        }
    }
}

/// A [`std::sync::Mutex`] whose waits are counted. It returns the same guards, so it works with a
/// `Condvar`.
#[derive(Debug, Default)]
pub struct Mutex<T: ?Sized>(sync::Mutex<T>);

impl<T> Mutex<T> {
    /// An unlocked mutex.
    pub const fn new(value: T) -> Self {
        Self(sync::Mutex::new(value))
    }

    /// Unwraps the value.
    pub fn into_inner(self) -> LockResult<T> {
        self.0.into_inner()
    }
}

impl<T: ?Sized> Mutex<T> {
    /// Waits for the lock.
    pub fn lock(&self) -> LockResult<MutexGuard<'_, T>> {
        taken(self.0.try_lock(), || self.0.lock())
    }

    /// Takes the lock if it is free; failure is no conflict, since it does not wait.
    pub fn try_lock(&self) -> TryLockResult<MutexGuard<'_, T>> {
        self.0.try_lock()
    }

    /// The value, which the exclusive borrow protects.
    pub fn get_mut(&mut self) -> LockResult<&mut T> {
        self.0.get_mut()
    }
}

/// A [`std::sync::RwLock`] whose waits are counted.
#[derive(Debug, Default)]
pub struct RwLock<T: ?Sized>(sync::RwLock<T>);

impl<T> RwLock<T> {
    /// An unlocked lock.
    pub const fn new(value: T) -> Self {
        Self(sync::RwLock::new(value))
    }

    /// Unwraps the value.
    pub fn into_inner(self) -> LockResult<T> {
        self.0.into_inner()
    }
}

impl<T: ?Sized> RwLock<T> {
    /// Waits until there is no writer.
    pub fn read(&self) -> LockResult<RwLockReadGuard<'_, T>> {
        taken(self.0.try_read(), || self.0.read())
    }

    /// Waits until there are no readers and no writer.
    pub fn write(&self) -> LockResult<RwLockWriteGuard<'_, T>> {
        taken(self.0.try_write(), || self.0.write())
    }

    /// The value, which the exclusive borrow protects.
    pub fn get_mut(&mut self) -> LockResult<&mut T> {
        self.0.get_mut()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::thread;
    use std::time::Duration;

    #[test]
    fn waits_are_counted_and_free_locks_are_not() {
        static LOCK: Mutex<u32> = Mutex::new(0);
        *LOCK.lock().unwrap() += 1;
        let before = conflicts().expect("one was taken");
        *LOCK.lock().unwrap() += 1;
        assert_eq!(conflicts(), Some(before), "nobody had it");
        let held = LOCK.lock().unwrap();
        assert!(LOCK.try_lock().is_err());
        assert_eq!(conflicts(), Some(before), "nobody waited");
        let waiter = thread::spawn(|| *LOCK.lock().unwrap() += 1);
        while conflicts() == Some(before) {
            thread::sleep(Duration::from_millis(1));
        }
        drop(held);
        waiter.join().unwrap();
        assert_eq!(conflicts(), Some(before + 1));
        assert_eq!(*LOCK.lock().unwrap(), 3);
    }
}
