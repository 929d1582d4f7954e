//! Damage to bytes, the same each time: for readers of what others have written, which must neither
//! panic nor loop nor allocate without bound, whatever they are given.

/// Calls `check` with the bytes as they are, with every end of a short text and many of a long one,
/// and `times` times with bytes that were changed, put in or taken out.
pub fn damage(bytes: &[u8], times: usize, mut check: impl FnMut(&[u8])) {
    check(bytes);
    let step = bytes.len().div_ceil(times.max(1)).max(1);
    (0..bytes.len())
        .step_by(step)
        .for_each(|end| check(&bytes[..end]));
    let mut chance = Chance(bytes.len() as u64 + 1);
    for _ in 0..times {
        let mut changed = bytes.to_vec();
        for _ in 0..=chance.below(4) {
            change(&mut changed, &mut chance);
        }
        check(&changed);
    }
}

/// Numbers that are at the ends of something, little-endian.
const ENDS: [u64; 6] = [0, 1, 0x7F, 0x7FFF_FFFF, 0xFFFF_FFFF, u64::MAX];

fn change(bytes: &mut Vec<u8>, chance: &mut Chance) {
    let at = chance.below(bytes.len() + 1);
    let length = chance.below(9).min(bytes.len() - at);
    match chance.below(5) {
        0 => drop(bytes.drain(at..at + length)),
        1 => {
            let copy = bytes[at..at + length].to_vec();
            bytes.splice(at..at, copy);
        }
        2 => {
            let end = ENDS[chance.below(ENDS.len())].to_le_bytes();
            bytes[at..at + length].copy_from_slice(&end[..length.min(8)]);
        }
        _ => {
            let other = chance.next() as u8;
            bytes.splice(at..(at + 1).min(bytes.len()), [other]);
        }
    }
}

/// A pseudo-random sequence of numbers (xorshift64*).
struct Chance(u64);

impl Chance {
    fn next(&mut self) -> u64 {
        self.0 ^= self.0 >> 12;
        self.0 ^= self.0 << 25;
        self.0 ^= self.0 >> 27;
        self.0.wrapping_mul(0x2545_F491_4F6C_DD1D) >> 32
    }

    fn below(&mut self, most: usize) -> usize {
        self.next() as usize % most
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    #[test]
    fn much_is_tried_and_the_same_each_time() {
        let tried = || {
            let mut all = Vec::new();
            damage(b"some text", 100, |bytes| all.push(bytes.to_vec()));
            all
        };
        let all = tried();
        assert_eq!(all, tried());
        assert_eq!(all.len(), 1 + 9 + 100);
        let distinct: BTreeSet<&Vec<u8>> = all.iter().collect();
        assert!(distinct.len() > 90, "{}", distinct.len());
        damage(b"", 10, |bytes| assert!(bytes.len() < 40));
    }
}
