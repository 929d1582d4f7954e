//! Names of functions without one: their file, and their first address in it.

/// The name of a nameless function that begins at `start` in the file at `path`:
/// `libruby.so.3.1+0x1a40`.
pub fn place_name(path: &str, start: u64) -> String {
    let path = path.strip_suffix(" (deleted)").unwrap_or(path);
    let file = path.rsplit('/').next().unwrap_or(path);
    format!("{file}+0x{start:x}")
}

/// Whether a function has such a name, or none at all.
pub fn is_nameless(name: &str) -> bool {
    name.is_empty()
        || name.rsplit_once("+0x").is_some_and(|(file, start)| {
            !file.is_empty() && !start.is_empty() && start.bytes().all(|it| it.is_ascii_hexdigit())
        })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_is_a_file_and_an_address_in_it() {
        for (path, start, name) in [
            ("/usr/lib/libx.so.1", 0x1a40, "libx.so.1+0x1a40"),
            ("/usr/bin/app (deleted)", 16, "app+0x10"),
        ] {
            assert_eq!(place_name(path, start), name);
            assert!(is_nameless(name));
        }
        assert!(is_nameless(""));
        for name in ["read", "a+0x", "+0x12", "f+0xg", "operator+"] {
            assert!(!is_nameless(name), "{name}");
        }
    }
}
