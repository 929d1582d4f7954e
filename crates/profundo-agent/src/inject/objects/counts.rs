//! The number of references to an object.

use profundo_cpython::References;
use profundo_cpython::objects::object;

use crate::inject::word;

/// The number of references to an object; `None`: it is never freed.
///
/// # Safety
/// `address` is that of an object.
pub unsafe fn of(references: References, address: u64) -> Option<u64> {
    // SAFETY: the caller vouches: an object begins with its counts.
    let [first, own, others] = unsafe {
        [
            word(address + object::REFERENCES),
            word(address + object::OWN_REFERENCES),
            word(address + object::OTHERS_REFERENCES),
        ]
    };
    match references {
        References::Plain => Some(first),
        References::Immortal => (first as i32 > 0).then_some(first & 0xFFFF_FFFF),
        // SAFETY: as above.
        References::Split => split(own as u32, others as i64, unsafe {
            ((address + object::COLLECTOR_BITS) as *const u8).read()
        }),
    }
}

/// The sum of both counts. An object whose references from frames are not counted has more of them
/// than it is held by.
fn split(own: u32, others: i64, bits: u8) -> Option<u64> {
    /// Bits below the count of the references that other threads have made.
    const FLAGS: u32 = 2;
    /// The references that are added to an object whose references from frames are not counted,
    /// from 3.14 on. 3.13 adds one.
    const ADDED: i64 = i64::MAX / 8;
    let others = others >> FLAGS;
    let added = match bits & object::DEFERRED {
        0 => 0,
        _ if others > ADDED / 2 => ADDED,
        _ => 1,
    };
    let count = i64::from(own) + others - added;
    (own != u32::MAX).then_some(count.max(0) as u64)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn both_counts_of_an_object_are_added() {
        assert_eq!(split(3, 2 << 2 | 1, 0), Some(5));
        assert_eq!(split(0, -1 << 2, 0), Some(0));
        assert_eq!(split(u32::MAX, 0, 0), None);
        let added = i64::MAX / 8;
        assert_eq!(split(1, (added + 1) << 2, object::DEFERRED), Some(2));
        assert_eq!(split(2, 0, object::DEFERRED), Some(1));
    }
}
