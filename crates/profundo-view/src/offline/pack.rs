//! Answers as letters: compressed by gzip, and coded in base 64. No letter of it means anything in
//! markup, so no name of a recording can end the script that it stands in.

use std::io::Write;

use flate2::Compression;
use flate2::write::GzEncoder;

use crate::Error;

pub(super) fn packed(json: &[u8]) -> Result<String, Error> {
    let failed = |error: std::io::Error| Error::Write(error.to_string());
    let mut encoder = GzEncoder::new(Vec::new(), Compression::new(9));
    encoder.write_all(json).map_err(failed)?;
    Ok(base64(&encoder.finish().map_err(failed)?))
}

fn base64(bytes: &[u8]) -> String {
    const LETTERS: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    let mut text = String::with_capacity(bytes.len().div_ceil(3) * 4);
    for three in bytes.chunks(3) {
        let byte = |at: usize| u32::from(three.get(at).copied().unwrap_or_default());
        let bits = byte(0) << 16 | byte(1) << 8 | byte(2);
        for at in 0..4 {
            let letter = LETTERS[(bits >> (18 - 6 * at) & 63) as usize];
            text.push(match at <= three.len() {
                true => char::from(letter),
                false => '=',
            });
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn letters_are_those_of_the_standard() {
        for (plain, coded) in [
            ("", ""),
            ("f", "Zg=="),
            ("fo", "Zm8="),
            ("foo", "Zm9v"),
            ("foobar", "Zm9vYmFy"),
        ] {
            assert_eq!(base64(plain.as_bytes()), coded);
        }
        assert_eq!(base64(&[0xfb, 0xff]), "+/8=");
    }
}
