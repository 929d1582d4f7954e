//! A place for values that are found on the way and must not move: split debug files are opened in
//! the middle of a lookup, and the parsed data borrows from them until the lookups end.

use std::cell::{Cell, OnceCell};

/// Holds values at fixed places until it is dropped. Buckets double in size, so a value never
/// moves and there is no unsafe code.
#[derive(Debug)]
pub(crate) struct Arena<T> {
    buckets: [OnceCell<Box<[OnceCell<T>]>>; 32],
    count: Cell<usize>,
}

impl<T> Arena<T> {
    pub(crate) fn new() -> Self {
        Self {
            buckets: std::array::from_fn(|_| OnceCell::new()),
            count: Cell::new(0),
        }
    }

    /// Keeps `value`.
    pub(crate) fn keep(&self, value: T) -> &T {
        let number = self.count.get() + 1;
        self.count.set(number);
        let bucket = number.ilog2();
        let places = self.buckets[bucket as usize]
            .get_or_init(|| (0..1usize << bucket).map(|_| OnceCell::new()).collect());
        places[number - (1 << bucket)].get_or_init(|| value)
    }
}

#[cfg(test)]
mod tests {
    use super::Arena;

    #[test]
    fn values_stay_where_they_are() {
        let arena = Arena::new();
        let kept: Vec<&String> = (0..100).map(|i| arena.keep(i.to_string())).collect();
        assert!(
            kept.iter()
                .enumerate()
                .all(|(i, text)| **text == i.to_string())
        );
    }
}
