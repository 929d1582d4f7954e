//! Unpacking, within a limit.

use std::io::Read;

use flate2::bufread::MultiGzDecoder;
use zlib_rs::{Inflate, InflateFlush, Status};

use crate::Error;

/// The unpacked bytes of a body that is packed by gzip, or its bytes. More than `limit` are
/// refused.
pub fn unpacked(body: &[u8], limit: usize) -> Result<Vec<u8>, Error> {
    let too_large = || Error::TooLarge {
        what: "unpacked body",
        limit,
    };
    if !body.starts_with(&[0x1f, 0x8b]) {
        return match body.len() > limit {
            true => Err(too_large()),
            false => Ok(body.to_vec()),
        };
    }
    // The size stands at the end of an honest body; deflate packs by 1032 at most.
    let size = body
        .last_chunk()
        .map_or(0, |size| u32::from_le_bytes(*size) as usize);
    let most = body.len().saturating_mul(1032).min(limit);
    if size <= most
        && let Some(bytes) = at_once(body, size)
    {
        return Ok(bytes);
    }
    // Several members, a size that is wrong, or damage.
    let mut bytes = Vec::new();
    let read = (MultiGzDecoder::new(body).take(limit as u64 + 1)).read_to_end(&mut bytes);
    if bytes.len() > limit {
        return Err(too_large());
    }
    match read {
        Ok(_) => Ok(bytes),
        Err(_) => Err(Error::malformed("whole gzip", "it is damaged or cut")),
    }
}

/// The contents of a body that is one member of this size, whose checksum is right.
fn at_once(body: &[u8], size: usize) -> Option<Vec<u8>> {
    /// The head of gzip, and the largest window.
    const GZIP: u8 = 16 + 15;
    let mut bytes = vec![0; size];
    let mut inflate = Inflate::new(true, GZIP);
    let status = inflate.decompress(body, &mut bytes, InflateFlush::Finish);
    let is_all = status == Ok(Status::StreamEnd)
        && inflate.total_in() == body.len() as u64
        && inflate.total_out() == size as u64;
    is_all.then_some(bytes)
}

#[cfg(test)]
mod tests {
    use std::io::Write;

    use super::*;

    fn packed(bytes: &[u8]) -> Vec<u8> {
        let mut packed = flate2::write::GzEncoder::new(Vec::new(), Default::default());
        packed.write_all(bytes).unwrap();
        packed.finish().unwrap()
    }

    #[test]
    fn a_bomb_is_refused() {
        let mut packed = packed(&vec![0; 1 << 20]);
        assert_eq!(unpacked(&packed, 1 << 20).unwrap().len(), 1 << 20);
        let refused = unpacked(&packed, (1 << 20) - 1).unwrap_err();
        assert!(matches!(refused, Error::TooLarge { .. }));
        // A size that is a lie.
        let at = packed.len() - 1;
        packed[at] = 0xff;
        assert!(unpacked(&packed, 1 << 21).is_err());
        assert!(unpacked(&packed[..100], 1 << 21).is_err());
        assert_eq!(unpacked(b"plain", 5).unwrap(), b"plain");
        assert!(unpacked(b"plain", 4).is_err());
    }

    #[test]
    fn members_follow_one_another() {
        let (one, other) = (packed(b"first "), packed(b"second"));
        let both = [one.clone(), other].concat();
        assert_eq!(unpacked(&both, 100).unwrap(), b"first second");
        assert_eq!(unpacked(&packed(b""), 100).unwrap(), b"");
        let refused = unpacked(&both, 11).unwrap_err();
        assert!(matches!(refused, Error::TooLarge { .. }));
        assert!(at_once(&one, 6).is_some() && at_once(&both, 6).is_none());
        let mut damaged = one;
        let at = damaged.len() - 6;
        damaged[at] ^= 1;
        assert!(unpacked(&damaged, 100).is_err());
    }
}
