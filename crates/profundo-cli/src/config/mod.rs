//! Settings: the values of options that are not typed, and which code is the user's own.
//!
//! They come from the user's own file and from the project's, which is found upwards from the
//! current folder. A project may be foreign, so its settings name no programs, no output files, and
//! nothing that is replaced: see [`known`].

mod apply;
mod find;
mod known;
mod read;

use std::path::PathBuf;

pub use apply::{with_defaults, wrong_values};
pub use find::{Kind, PassedOver};
pub use read::{Entry, Value};

/// The settings of all files.
#[derive(Debug, Default)]
pub struct Settings {
    /// The files, the weakest first.
    pub files: Vec<File>,
    /// Files that are not used.
    pub passed_over: Vec<PassedOver>,
}

/// The settings of one file.
#[derive(Debug)]
pub struct File {
    pub path: PathBuf,
    pub kind: Kind,
    pub entries: Vec<Entry>,
    /// Patterns of own code, for whole paths.
    pub mine: Vec<String>,
}

/// The variable that turns all settings off.
const VARIABLE: &str = "PROFUNDO_NO_CONFIG";

/// True if the environment turns settings off.
pub fn is_off() -> bool {
    std::env::var_os(VARIABLE).is_some_and(|value| !value.is_empty() && value != "0")
}

impl Settings {
    /// The settings of this folder, and errors in settings.
    pub fn here() -> (Self, Vec<String>) {
        let place = find::Place::here();
        let (found, passed_over) = find::find(&place);
        let (mut files, mut wrong) = (Vec::new(), Vec::new());
        // Most folders have no settings, and then the commands need not be built.
        let commands = (!found.is_empty()).then(read::commands);
        for (found, commands) in found
            .iter()
            .filter_map(|file| Some((file, commands.as_ref()?)))
        {
            match read::read(found, &place, commands) {
                Ok(file) => files.extend(file),
                Err(why) => wrong.push(why),
            }
        }
        (Self { files, passed_over }, wrong)
    }

    /// All patterns of own code, the last that fits decides.
    pub fn mine(&self) -> impl Iterator<Item = &str> {
        (self.files.iter()).flat_map(|file| file.mine.iter().map(String::as_str))
    }
}
