//! The tar around the files: blocks of 512 bytes, a head before the blocks of each file.

use rustc_hash::FxHashMap;

/// The size of a block.
const BLOCK: usize = 512;

pub(super) fn is_start(start: &[u8]) -> bool {
    let is_tar = start.get(257..262) == Some(b"ustar");
    let Some(name) = start.get(..BLOCK).and_then(name) else {
        return false;
    };
    let is_member = |name: &str| {
        let (number, end) = name.rsplit_once('.').unwrap_or((name, ""));
        ["data", "index"].contains(&end) && number.bytes().all(|byte| byte.is_ascii_digit())
    };
    // Other tars begin with `0.data` as well: the values say what they are.
    let first = start.get(BLOCK..BLOCK + 11).unwrap_or_default();
    let is_values = first.starts_with(b"CUBEX.") || first.starts_with(b"ZCUBEX.");
    is_tar && ((is_member(name) && is_values) || ["anchor.xml", "remapping.spec"].contains(&name))
}

fn name(head: &[u8]) -> Option<&str> {
    let name = head.get(..100)?.split(|&byte| byte == 0).next()?;
    let name = std::str::from_utf8(name).ok()?;
    Some(name.strip_prefix("./").unwrap_or(name))
}

/// The files by their names, and whether the archive is whole.
pub(super) fn files(bytes: &[u8]) -> (FxHashMap<&str, &[u8]>, bool) {
    let mut files = FxHashMap::default();
    let mut at = 0_usize;
    while let Some(head) = bytes.get(at..at.saturating_add(BLOCK)) {
        if head.iter().all(|&byte| byte == 0) {
            return (files, true);
        }
        let size = head.get(124..136).and_then(octal);
        let (Some(name), Some(size)) = (name(head), size) else {
            return (files, false);
        };
        let start = at + BLOCK;
        let Some(content) = bytes.get(start..start.saturating_add(size)) else {
            return (files, false);
        };
        files.insert(name, content);
        at = start.saturating_add(size.next_multiple_of(BLOCK));
    }
    // Some writers leave out the empty blocks at the end.
    let is_whole = at == bytes.len() && at > 0;
    (files, is_whole)
}

fn octal(digits: &[u8]) -> Option<usize> {
    let digits = std::str::from_utf8(digits).ok()?;
    let digits = digits.trim_matches(|letter| letter == '\0' || letter == ' ');
    usize::from_str_radix(digits, 8).ok()
}
