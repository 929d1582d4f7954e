//! What a file wants from glibc: the newest version among its symbols says on which machines it is
//! loaded.

use std::path::Path;
use std::process::Command;

use anyhow::{Context, Result};

use crate::tools::output;

/// The newest version that a file wants; (0, 0) for none.
pub fn newest(file: &Path) -> Result<(u32, u32)> {
    let mut readelf = Command::new("readelf");
    let list = output(readelf.args(["--version-info", "--wide"]).arg(file));
    let list = list.with_context(|| format!("cannot look into {}", file.display()))?;
    Ok(newest_among(&list))
}

/// The newest version in the lists that `readelf` prints: it reads files of every processor.
fn newest_among(list: &str) -> (u32, u32) {
    let words = list.split(|c: char| c.is_whitespace() || c == '(' || c == ')');
    let versions = words.filter_map(|word| {
        let (major, rest) = word.strip_prefix("GLIBC_")?.split_once('.')?;
        let minor = rest.split('.').next()?;
        Some((major.parse().ok()?, minor.parse().ok()?))
    });
    versions.max().unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_newest_version_is_found() {
        let text = "\
  000:   0 (*local*)       2 (GLIBC_2.2.5)   3 (GLIBC_2.14)    1 (*global*)
  0x0010:   Name: GLIBC_2.3.4  Flags: none  Version: 4
";
        assert_eq!(newest_among(text), (2, 14));
        assert_eq!(newest_among("No version information found"), (0, 0));
    }
}
