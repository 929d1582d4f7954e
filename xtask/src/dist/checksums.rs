//! The checksums of a release, as `sha256sum --check` reads them.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result};

use crate::tools::{done, output};

/// The name of the list.
pub const NAME: &str = "SHA256SUMS";

/// Writes the list of the files of a folder, sorted by name, and has it checked.
pub fn write(folder: &Path) -> Result<()> {
    let list = folder.join(NAME);
    let _ = fs::remove_file(&list);
    let mut sum = Command::new("sha256sum");
    sum.arg("--").args(names(folder)?).current_dir(folder);
    fs::write(&list, output(&mut sum)?)?;
    let mut check = Command::new("sha256sum");
    done(
        check
            .args(["--check", "--strict", "--quiet", NAME])
            .current_dir(folder),
    )
}

/// The names of the files in a folder, sorted.
pub fn names(folder: &Path) -> Result<Vec<PathBuf>> {
    let mut names = Vec::new();
    for entry in fs::read_dir(folder)? {
        let path = entry?.path();
        if path.is_file() {
            names.push(PathBuf::from(
                path.file_name().context("a file has a name")?,
            ));
        }
    }
    names.sort();
    Ok(names)
}

#[cfg(test)]
mod tests {
    use profundo_testing::Folder;

    use super::*;

    #[test]
    fn the_list_has_every_file_but_itself() {
        let folder = Folder::new("checksums");
        fs::write(folder.path().join("b"), "").unwrap();
        fs::write(folder.path().join("a"), "abc").unwrap();
        for _ in 0..2 {
            write(folder.path()).unwrap();
        }
        let list = fs::read_to_string(folder.path().join(NAME)).unwrap();
        assert_eq!(
            list,
            "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad  a\n\
             e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855  b\n"
        );
    }
}
