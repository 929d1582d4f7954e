//! Programs of this machine by their names.

use std::path::PathBuf;

use crate::skip;

/// The path of a program in `PATH`; `None`, and skipped, where there is none.
#[track_caller]
pub fn tool(name: &str) -> Option<PathBuf> {
    let found = find_tool(name);
    if found.is_none() {
        skip(&format!("there is no {name}"));
    }
    found
}

/// Like [`tool`], but a test without the program is not skipped.
pub fn find_tool(name: &str) -> Option<PathBuf> {
    let path = std::env::var_os("PATH")?;
    std::env::split_paths(&path)
        .map(|folder| folder.join(name))
        .find(|file| file.is_file())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_tool_is_found_on_the_path() {
        let shell = find_tool("sh").map(|path| path.file_name().unwrap().to_owned());
        assert_eq!(shell.as_deref(), Some("sh".as_ref()));
        assert_eq!(find_tool("no-such-program-of-anyone"), None);
    }
}
