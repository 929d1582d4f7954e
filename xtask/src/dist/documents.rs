//! What the command says of itself, as files: completions for each shell, and a page of the manual
//! for each of its commands.

use std::fs;
use std::path::Path;
use std::process::Command;

use anyhow::{Result, ensure};

use crate::tools::output;

/// A shell, and the name by which it finds its completions.
const SHELLS: &[(&str, &str)] = &[
    ("bash", "profundo.bash"),
    ("zsh", "_profundo"),
    ("fish", "profundo.fish"),
    ("elvish", "profundo.elv"),
    ("powershell", "_profundo.ps1"),
];

/// The line that names a page and its section.
const TITLE: &str = ".TH ";
/// The first line of a page.
const BEGINNING: &str = r".ie \n(.g .ds Aq \(aq";

/// Asks the command, and writes `completions` and `man` in `folder`.
pub fn write(command: &dyn Fn() -> Command, folder: &Path) -> Result<()> {
    let completions = folder.join("completions");
    fs::create_dir_all(&completions)?;
    for (shell, name) in SHELLS {
        let text = output(command().args(["completions", shell]))?;
        fs::write(completions.join(name), text)?;
    }
    let manual = output(command().arg("man"))?;
    let pages = pages(&manual);
    ensure!(!pages.is_empty(), "the manual has no page");
    let folder = folder.join("man");
    fs::create_dir_all(&folder)?;
    for (name, text) in pages {
        fs::write(folder.join(format!("{name}.1")), text)?;
    }
    Ok(())
}

/// The pages of the manual, which the command prints one after the other, with their names.
fn pages(manual: &str) -> Vec<(&str, String)> {
    let parts = manual.split(BEGINNING).skip(1);
    let named = parts.filter_map(|part| {
        let title = part.lines().find_map(|line| line.strip_prefix(TITLE))?;
        Some((title.split(' ').next()?, format!("{BEGINNING}{part}")))
    });
    named.collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_manual_is_taken_apart() {
        let page = |name: &str| format!("{BEGINNING}\n.el .ds Aq '\n.TH {name} 1  \"v\" \nText.\n");
        let manual = [page("profundo"), page("profundo-run")].concat();
        let pages = pages(&manual);
        assert_eq!(
            pages,
            [
                ("profundo", page("profundo")),
                ("profundo-run", page("profundo-run"))
            ]
        );
    }
}
