//! The reader's rules of own code: kept in a recording, and added to those that a recording has.

use profundo_analysis::Rules;
use profundo_console::options::OwnCode;
use profundo_console::stderr;
use profundo_model::Profile;

/// Adds the reader's patterns to those of a recording. Prints a note on a typed pattern that
/// matches nothing.
pub fn add_said(profile: &mut Profile, said: &OwnCode) {
    profile.meta.add_mine(&said.rules());
    for pattern in said.typed() {
        let pattern = pattern.strip_prefix('!').unwrap_or(pattern);
        if !fits_any(profile, pattern) {
            let typed = pattern.split_once("/./").map_or(pattern, |(_, rest)| rest);
            stderr::note(&format!(
                "`--mine {typed}` fits no file of this recording; a name that may be anywhere begins with `**/`"
            ));
        }
    }
}

/// True if a pattern matches any file or module of the profile.
fn fits_any(profile: &Profile, pattern: &str) -> bool {
    // With a `!` the pattern matches code of libraries as well.
    let rules = Rules::new(&[format!("!{pattern}")]);
    let files = profile.files.iter().map(|file| file.path);
    let modules = profile.modules.iter().map(|(_, module)| module.path);
    let mut paths = files.chain(modules).map(|path| profile.strings.get(path));
    paths.any(|path| rules.is_mine(path).is_some())
}
