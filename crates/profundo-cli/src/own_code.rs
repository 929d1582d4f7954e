//! What the reader says of whose code it is: kept in a recording, and added to what a recording says.

use profundo_analysis::Rules;
use profundo_model::Profile;

use crate::options::OwnCode;
use crate::stderr;

/// Adds patterns to those of a profile. They come last, so they decide.
pub fn add(profile: &mut Profile, mine: &[String]) {
    let known = &mut profile.meta.mine;
    if !known.ends_with(mine) {
        known.extend(mine.iter().cloned());
    }
}

/// The same, where a pattern that was typed and fits nothing is a slip.
pub fn add_said(profile: &mut Profile, said: &OwnCode) {
    add(profile, &said.rules());
    for pattern in said.typed() {
        let pattern = pattern.strip_prefix('!').unwrap_or(pattern);
        if !fits_any(profile, pattern) {
            let typed = pattern.split_once("/./").map_or(pattern, |(_, it)| it);
            stderr::note(&format!(
                "`--mine {typed}` fits no file of this recording; a name that may be anywhere begins with `**/`"
            ));
        }
    }
}

/// Whether any file or module has code that a pattern is about.
fn fits_any(profile: &Profile, pattern: &str) -> bool {
    // Behind a `!` it reaches into libraries as well.
    let rules = Rules::new(&[format!("!{pattern}")]);
    let files = profile.files.iter().map(|file| file.path);
    let modules = profile.modules.iter().map(|(_, module)| module.path);
    let mut paths = files.chain(modules).map(|path| profile.strings.get(path));
    paths.any(|path| rules.is_mine(path).is_some())
}
