//! Packed files: gzip and zstd, several members one after the other included.

use std::io::{self, Read};

use flate2::read::MultiGzDecoder;
use ruzstd::decoding::StreamingDecoder;

use crate::Error;

/// The most bytes that are unpacked.
const LIMIT: u64 = 8 << 30;

/// The most bytes that are unpacked to know the format.
const START: u64 = 64 << 10;

/// An unpacked file.
pub(crate) struct Unpacked {
    pub bytes: Vec<u8>,
    /// Whether the packed file ended early or was damaged.
    pub is_cut: bool,
}

/// The whole file unpacked; `None` for a file that is not packed.
pub(crate) fn all(bytes: &[u8]) -> Result<Option<Unpacked>, Error> {
    decoder(bytes).map(read_all).transpose()
}

fn read_all(mut decoder: impl Read) -> Result<Unpacked, Error> {
    let mut unpacked = Vec::new();
    let result = (&mut decoder).take(LIMIT + 1).read_to_end(&mut unpacked);
    if unpacked.len() as u64 > LIMIT {
        return Err(Error::TooLarge { limit: LIMIT });
    }
    match result {
        Err(error) if unpacked.is_empty() => Err(Error::Unpack(error.to_string())),
        result => Ok(Unpacked {
            bytes: unpacked,
            is_cut: result.is_err(),
        }),
    }
}

/// The whole of a zstd stream that may have no end, because the program that writes it goes on.
pub(crate) fn zstd_stream(mut packed: Vec<u8>) -> Result<Unpacked, Error> {
    /// An empty last block, and room for a checksum.
    const END: [u8; 7] = [1, 0, 0, 0, 0, 0, 0];
    packed.extend(END);
    read_all(ZstdFrames {
        rest: &packed,
        frame: None,
        most_behind: END.len(),
    })
}

/// The unpacked first bytes of a file; `None` for a file that is not packed.
pub(crate) fn start(bytes: &[u8]) -> Option<Vec<u8>> {
    let decoder = decoder(bytes)?;
    let mut unpacked = Vec::new();
    // The start that is at hand may end in the middle.
    let _ = decoder.take(START).read_to_end(&mut unpacked);
    Some(unpacked)
}

fn decoder(bytes: &[u8]) -> Option<Box<dyn Read + '_>> {
    if bytes.starts_with(&[0x1f, 0x8b]) {
        return Some(Box::new(MultiGzDecoder::new(bytes)));
    }
    if bytes.starts_with(&[0x28, 0xb5, 0x2f, 0xfd]) {
        return Some(Box::new(ZstdFrames {
            rest: bytes,
            frame: None,
            most_behind: 0,
        }));
    }
    None
}

/// Zstd frames one after the other, as tools that append write them.
struct ZstdFrames<'a> {
    rest: &'a [u8],
    frame: Option<Box<StreamingDecoder<&'a [u8], ruzstd::decoding::FrameDecoder>>>,
    /// The most bytes behind the last frame that are none.
    most_behind: usize,
}

impl Read for ZstdFrames<'_> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        loop {
            if let Some(frame) = &mut self.frame {
                match frame.read(buffer)? {
                    0 => {
                        self.rest = frame.get_ref();
                        self.frame = None;
                    }
                    read => return Ok(read),
                }
            }
            if self.rest.len() <= self.most_behind {
                return Ok(0);
            }
            let frame = StreamingDecoder::new(self.rest)
                .map_err(|error| io::Error::new(io::ErrorKind::InvalidData, error.to_string()))?;
            self.frame = Some(Box::new(frame));
        }
    }
}

#[cfg(test)]
mod tests {
    use std::io::Write;

    use super::*;

    #[test]
    fn members_follow_each_other() {
        let mut packed = Vec::new();
        for part in ["main;a 1\n", "main;b 2\n"] {
            let mut encoder = flate2::write::GzEncoder::new(Vec::new(), Default::default());
            encoder.write_all(part.as_bytes()).unwrap();
            packed.extend(encoder.finish().unwrap());
        }
        let unpacked = all(&packed).unwrap().unwrap();
        assert_eq!(unpacked.bytes, b"main;a 1\nmain;b 2\n");
        assert!(!unpacked.is_cut);
        let cut = all(&packed[..packed.len() - 9]).unwrap().unwrap();
        assert!(cut.is_cut);

        let mut packed = Vec::new();
        for part in ["main;a 1\n", "main;b 2\n"] {
            packed.extend(ruzstd::encoding::compress_to_vec(
                part.as_bytes(),
                ruzstd::encoding::CompressionLevel::Fastest,
            ));
        }
        assert_eq!(
            all(&packed).unwrap().unwrap().bytes,
            b"main;a 1\nmain;b 2\n"
        );
        assert_eq!(start(&packed).unwrap(), b"main;a 1\nmain;b 2\n");
    }
}
