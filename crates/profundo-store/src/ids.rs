//! Ids are hashes of contents, so that equal things of different hosts have equal ids, and files
//! can be joined without asking each other. `docs/fleet.md` says what is hashed.

use twox_hash::{XxHash3_64, XxHash3_128};

/// The id of a stack: XXH3 with 128 bits.
pub type Id = u128;

/// The id of a frame: XXH3 with 64 bits. Frames are far fewer than stacks, and each of them stands
/// in many stacks.
pub type FrameId = i64;

/// The id of a stack without frames.
pub const ROOT: Id = 0;

/// Columns in their order, each followed by a zero byte.
#[derive(Debug, Default)]
pub struct Contents(Vec<u8>);

impl Contents {
    /// Adds a text.
    pub fn text(mut self, text: &str) -> Self {
        self.0.extend_from_slice(text.as_bytes());
        self.0.push(0);
        self
    }

    /// Adds a number, in decimal.
    pub fn number(self, number: i64) -> Self {
        self.text(&number.to_string())
    }

    /// Their id.
    pub fn id(&self) -> i64 {
        XxHash3_64::oneshot(&self.0).cast_signed()
    }
}

/// The id of the stack in which `frame` is called from the stack `parent`.
pub fn stack_id(parent: Id, frame: FrameId) -> Id {
    let mut bytes = [0; 24];
    bytes[..16].copy_from_slice(&parent.to_be_bytes());
    bytes[16..].copy_from_slice(&frame.to_be_bytes());
    XxHash3_128::oneshot(&bytes)
}

/// The number of partitions that services are spread over.
pub const BUCKETS: u8 = 32;

/// The partition of a service.
pub fn bucket(service: &str) -> u8 {
    (XxHash3_64::oneshot(service.as_bytes()) % u64::from(BUCKETS)) as u8
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ids_are_those_that_others_compute() {
        // Python: xxhash.xxh3_64_intdigest(b"a\0" b"7\0"), xxh3_64_intdigest(b"api") % 32.
        let id = Contents::default().text("a").number(7).id();
        assert_eq!(id.cast_unsigned(), 9_270_802_406_541_180_981);
        assert_eq!(bucket("api"), 10);
        assert_eq!(
            format!("{:032x}", stack_id(ROOT, 1)),
            "c2900041aeb96b7bb1fd99763215efd2"
        );
    }

    #[test]
    fn a_boundary_between_columns_counts() {
        let id = |one: &str, two: &str| Contents::default().text(one).text(two).id();
        assert_ne!(id("ab", "c"), id("a", "bc"));
    }
}
