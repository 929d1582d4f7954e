//! The patterns for the user's own code, if the command line has some.

use std::path::{Path, PathBuf};

use clap::Args;

/// The separator between the project's folder and the rest of a pattern: see
/// `profundo_analysis::Rules`.
const FROM_HERE: &str = "/./";

// Which code is the user's own.
#[expect(missing_docs, reason = "clap would print it as what the command does")]
#[derive(Debug, Clone, Default, Args)]
pub struct OwnCode {
    /// Code there is yours, or with a `!` a library's; may be repeated
    ///
    /// A path from the current folder, `~/`, `/` or anywhere (`**/`); a folder stands for all below
    /// it, and the last that fits decides. It is kept in the recording
    #[arg(long, value_name = "GLOB", value_parser = whole)]
    pub mine: Vec<String>,
    /// The same, of the packages that are profiled: anything else that is said comes after it
    #[arg(long, value_name = "GLOB", value_parser = whole, hide = true)]
    pub packages: Vec<String>,
    /// The number of the first that were not typed, but come from settings.
    #[arg(skip)]
    pub set: usize,
}

impl OwnCode {
    /// All patterns, of which the last that fits decides.
    pub fn rules(&self) -> Vec<String> {
        [&self.packages[..], &self.mine].concat()
    }

    /// Those that were typed.
    pub fn typed(&self) -> &[String] {
        self.mine.get(self.set..).unwrap_or_default()
    }
}

/// A pattern as it was typed, as one for whole paths.
fn whole(text: &str) -> Result<String, String> {
    let here = std::env::current_dir().map_err(|_| "the current folder is gone".to_owned())?;
    let home = std::env::var_os("HOME").map(PathBuf::from);
    rule(text, &here, home.as_deref())
}

/// A pattern as one for whole paths: what does not begin at the root, at home or anywhere (`**/`)
/// begins in this folder.
pub fn rule(text: &str, here: &Path, home: Option<&Path>) -> Result<String, String> {
    let (sign, pattern) = match text.strip_prefix('!') {
        Some(pattern) => ("!", pattern),
        None => ("", text),
    };
    if pattern.trim().is_empty() {
        return Err("a pattern is a path, in which `*`, `?` and `**` stand for others".to_owned());
    }
    if text.contains(char::is_control) {
        return Err(format!("`{}` is no path", text.escape_debug()));
    }
    let shown = |folder: &Path| {
        let folder = folder
            .to_str()
            .map(|path| path.trim_end_matches('/').to_owned());
        folder.ok_or_else(|| "the path of the folder is no text".to_owned())
    };
    if pattern.starts_with('/') || pattern.starts_with("**/") {
        return Ok(text.to_owned());
    }
    if let Some(below) = pattern.strip_prefix("~/") {
        let home = home.ok_or("`~` is not known, because HOME is not set")?;
        return Ok(format!("{sign}{}/{below}", shown(home)?));
    }
    Ok(format!("{sign}{}{FROM_HERE}{pattern}", shown(here)?))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_pattern_begins_where_it_was_typed() {
        let (here, home) = (Path::new("/p"), Some(Path::new("/home/u")));
        for (typed, whole) in [
            ("src", "/p/./src"),
            ("./src/**", "/p/././src/**"),
            ("!third_party", "!/p/./third_party"),
            ("/usr/lib/x", "/usr/lib/x"),
            ("**/requests", "**/requests"),
            ("!**/x", "!**/x"),
            ("~/lib", "/home/u/lib"),
            ("!~/lib", "!/home/u/lib"),
        ] {
            assert_eq!(rule(typed, here, home).as_deref(), Ok(whole));
        }
        assert_eq!(rule("src", Path::new("/"), home).as_deref(), Ok("/./src"));
        for wrong in ["", "!", " ", "a\nb"] {
            assert!(rule(wrong, here, home).is_err(), "{wrong}");
        }
        rule("~/x", here, None).unwrap_err();
    }
}
