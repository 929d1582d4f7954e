//! The agent's bytes within the command: the library as it was built, or packed by gzip if it was
//! built before (see `build.rs`). Gzip's last words are the checksum and the length of the library,
//! so the name of the agent's file is known without unpacking it.

use std::borrow::Cow;
use std::io::Read;

use flate2::read::GzDecoder;

static CARRIED: &[u8] = include_bytes!(env!("PROFUNDO_AGENT"));

/// The first bytes of what gzip has packed by deflate.
const GZIP: [u8; 3] = [0x1f, 0x8b, 8];

/// The agent of this command.
pub const AGENT: Carried = Carried(CARRIED);

/// An agent as it is carried.
#[derive(Debug, Clone, Copy)]
pub struct Carried(&'static [u8]);

impl Carried {
    /// True if the command was built without one.
    pub const fn is_empty(self) -> bool {
        self.0.is_empty()
    }

    /// The checksum (CRC-32) and the length of the library.
    pub fn checksum_and_length(self) -> (u32, u64) {
        match self.trailer() {
            Some([checksum, length]) => (checksum, length.into()),
            None => (crc32fast::hash(self.0), self.0.len() as u64),
        }
    }

    /// The library. `None` if what is carried is damaged.
    pub fn library(self) -> Option<Cow<'static, [u8]>> {
        let Some([_, length]) = self.trailer() else {
            return Some(Cow::Borrowed(self.0));
        };
        let mut library = Vec::with_capacity(usize::try_from(length).ok()?);
        GzDecoder::new(self.0).read_to_end(&mut library).ok()?;
        Some(Cow::Owned(library))
    }

    /// The last two words of a packed agent.
    fn trailer(self) -> Option<[u32; 2]> {
        if !self.0.starts_with(&GZIP) {
            return None;
        }
        let (words, _) = self.0.last_chunk::<8>()?.as_chunks::<4>();
        Some([
            u32::from_le_bytes(*words.first()?),
            u32::from_le_bytes(*words.get(1)?),
        ])
    }
}

#[cfg(test)]
mod tests {
    use std::io::Write;

    use flate2::Compression;
    use flate2::write::GzEncoder;

    use super::*;

    /// As `build.rs` packs it.
    fn packed(library: &[u8]) -> Carried {
        let mut packed = GzEncoder::new(Vec::new(), Compression::best());
        packed.write_all(library).unwrap();
        Carried(packed.finish().unwrap().leak())
    }

    #[test]
    fn a_packed_agent_is_the_same_as_a_bare_one() {
        let library: &'static [u8] =
            Vec::from_iter((0..100_000_u32).map(|at| (at / 7) as u8)).leak();
        let (bare, packed) = (Carried(library), packed(library));
        assert!(packed.0.len() < library.len() / 2);
        assert_eq!(bare.checksum_and_length(), packed.checksum_and_length());
        assert_eq!(bare.library(), packed.library());
        assert!(!packed.is_empty());
    }

    #[test]
    fn a_damaged_agent_is_refused() {
        let whole = packed(&[7; 5000]);
        let cut = Carried(&whole.0[..whole.0.len() - 12]);
        assert_eq!(cut.library(), None);
        assert!(Carried(b"").is_empty());
    }
}
