//! Settings: what options are when they are not typed, and whose code is one's own.
//!
//! They come from the user's own file and from the project's, which is found upwards from the current folder. A
//! project may come from anybody, so its settings name no programs, no places to write to, and nothing that is
//! replaced: see [`known`].

mod apply;
mod find;
mod known;
mod read;

use std::path::PathBuf;

pub use apply::{with_defaults, wrong_values};
pub use find::{Kind, PassedOver};
pub use read::{Entry, Value};

/// All that was found here.
#[derive(Debug, Default)]
pub struct Settings {
    /// The weakest first.
    pub files: Vec<File>,
    /// What lies there and is not used.
    pub passed_over: Vec<PassedOver>,
}

/// What one file says.
#[derive(Debug)]
pub struct File {
    pub path: PathBuf,
    pub kind: Kind,
    /// What options are.
    pub entries: Vec<Entry>,
    /// Patterns of own code, for whole paths.
    pub mine: Vec<String>,
}

/// Whether nobody wants any settings.
const VARIABLE: &str = "PROFUNDO_NO_CONFIG";

/// Whether the environment turns them off.
pub fn is_off() -> bool {
    std::env::var_os(VARIABLE).is_some_and(|it| !it.is_empty() && it != "0")
}

impl Settings {
    /// Those that are meant here, and what is wrong with others.
    pub fn here() -> (Self, Vec<String>) {
        let place = find::Place::here();
        let (found, passed_over) = find::find(&place);
        let (mut files, mut wrong) = (Vec::new(), Vec::new());
        // Most folders have none, and the commands need not be known for that.
        let commands = (!found.is_empty()).then(read::commands);
        for (found, commands) in found.iter().filter_map(|it| Some((it, commands.as_ref()?))) {
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
