//! What a file wants from glibc: the newest version among its symbols says on which machines it is
//! loaded.

use std::path::Path;
use std::process::Command;

use anyhow::{Context, Result};

use crate::tools::output;

/// The newest version that a file wants; (0, 0) for none.
pub fn newest(file: &Path) -> Result<(u32, u32)> {
    let symbols = output(Command::new("objdump").arg("-T").arg(file));
    let symbols = symbols.with_context(|| format!("cannot look into {}", file.display()))?;
    Ok(newest_among(&symbols))
}

/// The newest version in the list of symbols that `objdump` prints.
fn newest_among(symbols: &str) -> (u32, u32) {
    let words = symbols.split(|c: char| c.is_whitespace() || c == '(' || c == ')');
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
0000000000000000      DF *UND*  0000000000000000 (GLIBC_2.2.5) free
0000000000000000      DF *UND*  0000000000000000 (GLIBC_2.14) memcpy
0000000000000000      DF *UND*  0000000000000000  GLIBC_2.3.4 __xpg_basename
0000000000012340 g    DF .text  0000000000000010  Base        malloc
";
        assert_eq!(newest_among(text), (2, 14));
        assert_eq!(newest_among("free"), (0, 0));
    }
}
