//! In memory `.eh_frame` has no name, but the header that program headers point to
//! (`PT_GNU_EH_FRAME`) begins with its address.

use super::Error;

/// The address of `.eh_frame`, from an `.eh_frame_hdr` that lies at `address`.
///
/// It has no length: the section ends at a terminator, or with the segment.
pub fn parse_eh_frame_hdr(bytes: &[u8], address: u64) -> Result<u64, Error> {
    let (&[version, encoding, _, _], rest) = bytes.split_first_chunk().ok_or(Error::Truncated)?;
    if version != 1 {
        return Err(Error::UnknownVersion(version));
    }
    let word = |rest: &[u8]| rest.first_chunk().map(|bytes| u32::from_le_bytes(*bytes));
    let double = |rest: &[u8]| rest.first_chunk().map(|bytes| u64::from_le_bytes(*bytes));
    // The low half is the format of the number, the high half what it is relative to.
    let number = match encoding & 0x0f {
        0x00 | 0x04 | 0x0c => double(rest),
        0x03 => word(rest).map(u64::from),
        0x0b => word(rest).map(|word| word as i32 as i64 as u64),
        _ => return Err(Error::UnknownEncoding(encoding)),
    }
    .ok_or(Error::Truncated)?;
    match encoding & 0xf0 {
        0x00 => Ok(number),
        // Relative to the number itself.
        0x10 => Ok(address.wrapping_add(4).wrapping_add(number)),
        // Relative to the header.
        0x30 => Ok(address.wrapping_add(number)),
        _ => Err(Error::UnknownEncoding(encoding)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_usual_encoding_is_relative_to_itself() {
        let header = [1, 0x1b, 3, 0x3b, 0xfc, 0xff, 0xff, 0xff];
        assert_eq!(parse_eh_frame_hdr(&header, 0x1000), Ok(0x1000));
        let absolute = [1, 0x00, 3, 0x3b, 1, 2, 0, 0, 0, 0, 0, 0];
        assert_eq!(parse_eh_frame_hdr(&absolute, 0x1000), Ok(0x201));
    }

    #[test]
    fn damage_is_an_error() {
        let check = |header: &[u8], error| assert_eq!(parse_eh_frame_hdr(header, 0), Err(error));
        check(&[], Error::Truncated);
        check(&[1, 0x1b, 3, 0x3b, 0], Error::Truncated);
        check(&[2, 0x1b, 3, 0x3b, 0, 0, 0, 0], Error::UnknownVersion(2));
        check(
            &[1, 0xff, 3, 0x3b, 0, 0, 0, 0],
            Error::UnknownEncoding(0xff),
        );
    }
}
