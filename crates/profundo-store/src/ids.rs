//! Ids are hashes of contents, so that equal things of different hosts have equal ids, and files
//! can be joined without asking each other. `docs/fleet.md` says what is hashed.

use twox_hash::{XxHash3_64, XxHash3_128};

/// The id of a frame or a stack: XXH3 with 128 bits.
pub type Id = u128;

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

    /// The 128-bit id.
    pub fn id(&self) -> Id {
        XxHash3_128::oneshot(&self.0)
    }

    /// The 64-bit id.
    pub fn short_id(&self) -> i64 {
        XxHash3_64::oneshot(&self.0).cast_signed()
    }
}

/// The id of the stack in which `frame` is called from the stack `parent`.
pub fn stack_id(parent: Id, frame: Id) -> Id {
    let mut bytes = [0; 32];
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
        // Python: xxhash.xxh3_128_hexdigest(b"a\0" b"7\0"), xxh3_64_intdigest(b"api") % 32.
        let id = Contents::default().text("a").number(7).id();
        assert_eq!(format!("{id:032x}"), "ecf1865280dc66800819074e2bec0d74");
        assert_eq!(bucket("api"), 10);
        assert_eq!(format!("{:032x}", stack_id(ROOT, 1)), "16f184439fa0d1cf45a94dd99b8ad8c9");
    }

    #[test]
    fn a_boundary_between_columns_counts() {
        let id = |one: &str, two: &str| Contents::default().text(one).text(two).id();
        assert_ne!(id("ab", "c"), id("a", "bc"));
    }
}
