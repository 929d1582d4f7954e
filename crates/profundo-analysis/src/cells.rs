//! Code of a notebook's cells: its files have names such as `In [3]`, which readers know.

use profundo_model::Profile;

/// The files that are cells of a notebook: their paths, and their names such as `In [3]`.
pub fn cells(profile: &Profile) -> impl Iterator<Item = (&str, &str)> {
    let text = |id| profile.strings.get(id);
    let files = (profile.files.iter()).map(move |file| (text(file.path), text(file.rest)));
    files.filter(|(path, name)| path != name && name.starts_with("In ["))
}
