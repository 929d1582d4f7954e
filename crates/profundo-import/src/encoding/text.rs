//! The encoding: UTF-8 almost always, UTF-16 where PowerShell redirected the output.

use std::borrow::Cow;

/// The text as UTF-8, without a byte-order mark.
pub(crate) fn utf8(bytes: &[u8]) -> Cow<'_, [u8]> {
    match bytes {
        [0xef, 0xbb, 0xbf, rest @ ..] => Cow::Borrowed(rest),
        [0xff, 0xfe, rest @ ..] => Cow::Owned(utf16(rest, u16::from_le_bytes)),
        [0xfe, 0xff, rest @ ..] => Cow::Owned(utf16(rest, u16::from_be_bytes)),
        _ => Cow::Borrowed(bytes),
    }
}

fn utf16(bytes: &[u8], unit: fn([u8; 2]) -> u16) -> Vec<u8> {
    let (pairs, _) = bytes.as_chunks::<2>();
    let units = pairs.iter().map(|&pair| unit(pair));
    let letters = char::decode_utf16(units).map(|letter| letter.unwrap_or('\u{fffd}'));
    letters.collect::<String>().into_bytes()
}
