//! Whether a file is a heap snapshot: judged by its first bytes, never by its name.

/// True if a file with these first bytes is a heap snapshot: an object whose first key is
/// `snapshot`.
pub fn is_heapsnapshot(start: &[u8]) -> bool {
    let start = start.strip_prefix(b"\xef\xbb\xbf").unwrap_or(start);
    let Some(rest) = start.trim_ascii_start().strip_prefix(b"{") else {
        return false;
    };
    let Some(rest) = rest.trim_ascii_start().strip_prefix(b"\"snapshot\"") else {
        return false;
    };
    rest.trim_ascii_start().first() == Some(&b':')
}

#[cfg(test)]
mod tests {
    use super::is_heapsnapshot;

    #[test]
    fn a_snapshot_is_recognised_by_its_first_key() {
        for yes in [
            &br#"{"snapshot":{"meta""#[..],
            b" {\n \"snapshot\" : {",
            b"\xef\xbb\xbf{\"snapshot\":",
        ] {
            assert!(is_heapsnapshot(yes), "{yes:?}");
        }
        for no in [
            &b""[..],
            b"{",
            b"{\"snapshot\"",
            b"{\"snapshots\":",
            b"{\"nodes\":",
            b"[\"snapshot\":",
            b"PROFUNDO",
        ] {
            assert!(!is_heapsnapshot(no), "{no:?}");
        }
    }
}
