//! The terms of what the command contains. Most licences want their text and the names of the
//! authors beside each copy, so every package's own files are collected, each text once.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;
use std::process::Command;

use anyhow::{Context, Result};

use super::graph::{Part, Registry};
use crate::tools::output;

/// Beginnings of the names of files with terms.
const NAMES: &[&str] = &[
    "LICENSE",
    "LICENCE",
    "COPYING",
    "COPYRIGHT",
    "NOTICE",
    "UNLICENSE",
];
/// The terms of the packages in the page, which its build writes beside it.
const OF_PAGE: &str = "ui/dist/notices.txt";
/// The name of the file with the terms of the standard library.
pub const STANDARD: &str = "THIRD-PARTY-rust.html";
/// The place of those terms, in the compiler's folder.
const OF_STANDARD: &str = "share/doc/rust/COPYRIGHT-library.html";

/// Writes the terms of all parts into a folder. A compiler of a distribution may have no file with
/// those of its library.
pub fn write(root: &Path, parts: &[Part], folder: &Path) -> Result<()> {
    let of_page = fs::read_to_string(root.join(OF_PAGE));
    let of_page = of_page.with_context(|| format!("{OF_PAGE} is missing"))?;
    fs::write(folder.join("THIRD-PARTY.txt"), of_crates(parts)? + &of_page)?;
    let compiler = output(Command::new("rustc").args(["--print", "sysroot"]))?;
    let of_standard = Path::new(compiler.trim()).join(OF_STANDARD);
    if of_standard.exists() {
        fs::copy(&of_standard, folder.join(STANDARD))?;
    }
    Ok(())
}

/// The packages that have the same text, and the text.
fn of_crates(parts: &[Part]) -> Result<String> {
    let mut users: BTreeMap<String, Vec<String>> = BTreeMap::new();
    let mut silent = Vec::new();
    let of_others = parts
        .iter()
        .filter(|part| part.registry == Some(Registry::Cargo));
    for part in of_others {
        let name = format!("{} {} ({})", part.name, part.version, part.license);
        let texts = match &part.folder {
            Some(folder) => texts(folder)?,
            None => Vec::new(),
        };
        if texts.is_empty() {
            silent.push(name.clone());
        }
        for text in texts {
            users.entry(text).or_default().push(name.clone());
        }
    }
    let mut sorted: Vec<(&Vec<String>, &String)> =
        users.iter().map(|(text, names)| (names, text)).collect();
    sorted.sort();
    let mut all = String::from(
        "The command `profundo` contains these packages. Each text stands below the packages that have it.\n",
    );
    if !silent.is_empty() {
        all += "\nThese have no text of their own, only the name of their terms:\n";
        silent.iter().for_each(|name| all += &format!("  {name}\n"));
    }
    for (names, text) in sorted {
        all += &format!("\n{}\n", "=".repeat(80));
        names.iter().for_each(|name| all += &format!("{name}\n"));
        all += &format!("{}\n{}\n", "-".repeat(80), text.trim_end());
    }
    Ok(all)
}

/// The texts in a package's folder, without what differs only by the system's line ends.
fn texts(folder: &Path) -> Result<Vec<String>> {
    let mut texts = Vec::new();
    let entries = fs::read_dir(folder);
    for entry in entries.with_context(|| format!("cannot list {}", folder.display()))? {
        let entry = entry?;
        let name = entry.file_name().to_string_lossy().to_uppercase();
        if NAMES.iter().any(|start| name.starts_with(start)) && entry.file_type()?.is_file() {
            let text = fs::read(entry.path())?;
            texts.push(String::from_utf8_lossy(&text).replace("\r\n", "\n"));
        }
    }
    texts.sort();
    Ok(texts)
}

#[cfg(test)]
mod tests {
    use profundo_testing::Folder;

    use super::*;

    #[test]
    fn a_text_that_two_packages_have_stands_once() {
        let folder = Folder::new("notices");
        let part = |name: &str, file: &str, text: &str| {
            let place = folder.path().join(name);
            fs::create_dir_all(&place).unwrap();
            fs::write(place.join(file), text).unwrap();
            Part {
                name: name.to_owned(),
                version: "1.0.0".to_owned(),
                license: "MIT".to_owned(),
                repository: None,
                folder: Some(place),
                registry: Some(Registry::Cargo),
                checksum: None,
                uses: Vec::new(),
            }
        };
        let parts = [
            part("a", "LICENSE-MIT", "Permission is granted.\r\n"),
            part("b", "license.md", "Permission is granted.\n"),
            part("c", "main.rs", "fn main() {}"),
        ];
        let text = of_crates(&parts).unwrap();
        assert_eq!(text.matches("Permission is granted.").count(), 1, "{text}");
        assert!(text.contains("a 1.0.0 (MIT)\nb 1.0.0 (MIT)\n---"), "{text}");
        assert!(
            text.contains("name of their terms:\n  c 1.0.0 (MIT)\n"),
            "{text}"
        );
    }
}
