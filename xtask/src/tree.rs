//! The files of the repository that people wrote: no build outputs, nothing hidden.

use std::fs;
use std::path::Path;

use anyhow::{Context, Result};

/// Folders of generated files.
const MADE: &[&str] = &["target", "node_modules", "artifacts", "coverage"];

/// A file with its text.
pub struct Text {
    /// Relative to the root, with `/` between folders.
    pub path: String,
    pub text: String,
}

/// Every file below `root` whose name ends in one of `endings`, sorted by path.
pub fn files(root: &Path, endings: &[&str]) -> Result<Vec<Text>> {
    let mut texts = Vec::new();
    let mut folders = vec![root.to_path_buf()];
    while let Some(folder) = folders.pop() {
        let entries = fs::read_dir(&folder);
        for entry in entries.with_context(|| format!("cannot list {}", folder.display()))? {
            let entry = entry?;
            let name = entry.file_name().to_string_lossy().into_owned();
            if name.starts_with('.') || MADE.contains(&name.as_str()) {
                continue;
            }
            let path = entry.path();
            if entry.file_type()?.is_dir() {
                folders.push(path);
            } else if endings.iter().any(|ending| name.ends_with(ending)) {
                let text = fs::read_to_string(&path);
                let text = text.with_context(|| format!("cannot read {}", path.display()))?;
                texts.push(Text {
                    path: relative(root, &path),
                    text,
                });
            }
        }
    }
    texts.sort_by(|a, b| a.path.cmp(&b.path));
    Ok(texts)
}

/// `path` as seen from `root`.
pub fn relative(root: &Path, path: &Path) -> String {
    let path = path.strip_prefix(root).unwrap_or(path);
    path.components()
        .map(|part| part.as_os_str().to_string_lossy())
        .collect::<Vec<_>>()
        .join("/")
}
