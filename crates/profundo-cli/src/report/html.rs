//! `report --html`: a folder of pages, one for each file of source.

use std::fs;
use std::path::Path;

use anyhow::{Context, Result, bail};
use profundo_console::progress::Progress;
use profundo_console::stderr;
use profundo_model::Profile;
use profundo_report::{Choices, html_pages};

/// The mark in the head of each of these pages.
const OURS: &str = "<meta name=\"generator\" content=\"profundo\">";

/// Writes the pages into a folder, which is made if it is not there.
pub fn write(profile: &Profile, choices: &Choices, folder: &Path, force: bool) -> Result<()> {
    let shown = folder.display();
    fs::create_dir_all(folder).with_context(|| format!("cannot make the folder {shown}"))?;
    let index = folder.join("index.html");
    let is_foreign = |page: Vec<u8>| !String::from_utf8_lossy(&page).contains(OURS);
    if !force && fs::read(&index).is_ok_and(is_foreign) {
        bail!("{} is another page; --force replaces it", index.display());
    }
    let progress = Progress::start(format!("writing {shown}"));
    let pages = html_pages(profile, choices);
    for page in &pages {
        let path = folder.join(&page.name);
        fs::write(&path, &page.html).with_context(|| format!("cannot write {}", path.display()))?;
    }
    drop(progress);
    stderr::note(&format!(
        "wrote {} pages to {shown}; {} is the first one",
        pages.len(),
        index.display()
    ));
    Ok(())
}
