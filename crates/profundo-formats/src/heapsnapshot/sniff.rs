//! Whether a file is a heap snapshot: by how it begins, never by its name.

/// Whether these first bytes are those of a heap snapshot: an object whose first key is `snapshot`.
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
    fn the_first_key_tells() {
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
