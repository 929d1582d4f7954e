//! The text of a source file that ran. A modification time says little: `touch`, a checkout and a
//! copy change it, and the text stays. So a profile has a fingerprint of each file that ran, and
//! the file on any disk is compared with it.

/// The text of a source file that ran, as far as known.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum SourceFile {
    /// A text with this fingerprint ran.
    Ran(Fingerprint),
    /// The file was written while the program ran, so another text may have run.
    Rewritten,
    /// Another file of this name ran and was not read, in a process with a file system of its own;
    /// or processes ran several.
    Apart,
}

/// The fingerprint of a text. It recognises an edit, and does not protect against deliberate
/// deception.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Fingerprint {
    /// Its length in bytes.
    pub size: u64,
    /// XXH64 of its bytes, with seed 0.
    pub hash: u64,
}

impl Fingerprint {
    /// The fingerprint of these bytes.
    pub fn of(bytes: &[u8]) -> Self {
        Self {
            size: bytes.len() as u64,
            hash: xxh64(bytes),
        }
    }
}

const P1: u64 = 0x9E37_79B1_85EB_CA87;
const P2: u64 = 0xC2B2_AE3D_27D4_EB4F;
const P3: u64 = 0x1656_67B1_9E37_79F9;
const P4: u64 = 0x85EB_CA77_C2B2_AE63;
const P5: u64 = 0x27D4_EB2F_1656_67C5;

fn round(lane: u64, word: u64) -> u64 {
    (lane.wrapping_add(word.wrapping_mul(P2)))
        .rotate_left(31)
        .wrapping_mul(P1)
}

/// XXH64 with seed 0, after its specification:
/// <https://github.com/Cyan4973/xxHash/blob/dev/doc/xxhash_spec.md>.
fn xxh64(bytes: &[u8]) -> u64 {
    let (stripes, rest) = bytes.as_chunks::<32>();
    let mut hash = if stripes.is_empty() {
        P5
    } else {
        let mut lanes = [P1.wrapping_add(P2), P2, 0, 0_u64.wrapping_sub(P1)];
        for stripe in stripes {
            for (lane, word) in lanes.iter_mut().zip(stripe.as_chunks::<8>().0) {
                *lane = round(*lane, u64::from_le_bytes(*word));
            }
        }
        let turned = lanes.iter().zip([1, 7, 12, 18]);
        let sum = turned.fold(0_u64, |sum, (lane, by)| {
            sum.wrapping_add(lane.rotate_left(by))
        });
        lanes.iter().fold(sum, |sum, &lane| {
            (sum ^ round(0, lane)).wrapping_mul(P1).wrapping_add(P4)
        })
    };
    hash = hash.wrapping_add(bytes.len() as u64);
    let (words, rest) = rest.as_chunks::<8>();
    for word in words {
        hash ^= round(0, u64::from_le_bytes(*word));
        hash = hash.rotate_left(27).wrapping_mul(P1).wrapping_add(P4);
    }
    let (halves, rest) = rest.as_chunks::<4>();
    for half in halves {
        hash ^= u64::from(u32::from_le_bytes(*half)).wrapping_mul(P1);
        hash = hash.rotate_left(23).wrapping_mul(P2).wrapping_add(P3);
    }
    for &byte in rest {
        hash ^= u64::from(byte).wrapping_mul(P5);
        hash = hash.rotate_left(11).wrapping_mul(P1);
    }
    hash = (hash ^ hash >> 33).wrapping_mul(P2);
    hash = (hash ^ hash >> 29).wrapping_mul(P3);
    hash ^ hash >> 32
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The values are those of `xxhsum -H1` and of Python's `xxhash.xxh64`.
    #[test]
    fn the_hash_is_xxh64() {
        for (text, hash) in [
            ("", 0xEF46_DB37_51D8_E999_u64),
            ("a", 0xD24E_C4F1_A98C_6E5B),
            ("abc", 0x44BC_2CF5_AD77_0999),
        ] {
            assert_eq!(Fingerprint::of(text.as_bytes()).hash, hash, "{text}");
        }
        let long: Vec<u8> = (0..=255).cycle().take(1000).collect();
        for (length, hash) in [
            (3, 0xE5C7_BB45_33BC_65DD),
            (7, 0x14CC_643F_630C_72D2),
            (12, 0x424A_F23F_1F08_DCA5),
            (31, 0xC346_D2B5_9B4D_8EE1),
            (32, 0xCBF5_9C51_16FF_32B4),
            (45, 0x10FD_D84D_6409_ABDF),
            (1000, 0x6EF4_36B0_0EBA_4078),
        ] {
            assert_eq!(Fingerprint::of(&long[..length]).hash, hash, "{length}");
        }
    }
}
