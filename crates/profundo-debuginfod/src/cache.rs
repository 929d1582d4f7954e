//! The folder in which clients of debuginfod keep files: `BUILD-ID/debuginfo`. An empty file means
//! that no server had it some minutes ago.

use std::ffi::OsString;
use std::fs::{self, File};
use std::io;
use std::path::{Path, PathBuf};
use std::time::Duration;

/// The time after which the servers are asked again for a file that they did not have.
const ASKED_AGAIN: Duration = Duration::from_secs(600);

/// The folder.
#[derive(Debug)]
pub struct Cache {
    folder: PathBuf,
}

/// What is known of a file.
#[derive(Debug, PartialEq, Eq)]
pub enum Known {
    There(PathBuf),
    /// No server had it.
    Nowhere,
    Nothing,
}

impl Cache {
    /// The folder that elfutils' client uses in this environment.
    pub fn of(variable: impl Fn(&str) -> Option<OsString>) -> Self {
        let set = |name: &str| variable(name).filter(|value| !value.is_empty());
        let home = || PathBuf::from(set("HOME").unwrap_or_else(|| "/".into()));
        let folder = match (set("DEBUGINFOD_CACHE_PATH"), set("XDG_CACHE_HOME")) {
            (Some(folder), _) => folder.into(),
            _ if home().join(".debuginfod_client_cache").is_dir() => {
                home().join(".debuginfod_client_cache")
            }
            (None, Some(caches)) => Path::new(&caches).join("debuginfod_client"),
            (None, None) => home().join(".cache/debuginfod_client"),
        };
        Self { folder }
    }

    /// The place of a file with this build id.
    pub fn place(&self, id: &str) -> PathBuf {
        self.folder.join(id).join("debuginfo")
    }

    pub fn look(&self, id: &str) -> Known {
        let place = self.place(id);
        let Ok(file) = fs::metadata(&place) else {
            return Known::Nothing;
        };
        if file.len() > 0 {
            return Known::There(place);
        }
        let age = file.modified().ok().and_then(|time| time.elapsed().ok());
        match age.is_some_and(|age| age < ASKED_AGAIN) {
            true => Known::Nowhere,
            false => Known::Nothing,
        }
    }

    /// A name beside the place, for a file that is not whole yet.
    pub fn begin(&self, id: &str) -> io::Result<PathBuf> {
        let place = self.place(id);
        if let Some(folder) = place.parent() {
            fs::create_dir_all(folder)?;
        }
        let mut name = place.into_os_string();
        name.push(format!(".{}", std::process::id()));
        Ok(name.into())
    }

    /// Notes that no server has a file.
    pub fn note_nowhere(&self, id: &str) {
        // Without the note the servers are asked again.
        let _ = fs::remove_file(self.place(id));
        let _ = File::create_new(self.place(id));
    }
}

#[cfg(test)]
mod tests {
    use profundo_testing::Folder;

    use super::*;

    #[test]
    fn the_folder_is_that_of_elfutils() {
        let place = |variables: &[(&str, &str)]| {
            let cache = Cache::of(|name| {
                let known = variables.iter().find(|(variable, _)| *variable == name);
                known.map(|(_, value)| value.into())
            });
            cache.place("ab").to_string_lossy().into_owned()
        };
        let home = ("HOME", "/nowhere");
        let expected = "/nowhere/.cache/debuginfod_client/ab/debuginfo";
        assert_eq!(place(&[home]), expected);
        let caches = ("XDG_CACHE_HOME", "/caches");
        assert_eq!(
            place(&[home, caches]),
            "/caches/debuginfod_client/ab/debuginfo"
        );
        let own = ("DEBUGINFOD_CACHE_PATH", "/own");
        assert_eq!(place(&[home, caches, own]), "/own/ab/debuginfo");
    }

    #[test]
    fn an_empty_file_says_that_it_is_nowhere() {
        let folder = Folder::new("debuginfod-cache");
        let cache = Cache {
            folder: folder.path().to_owned(),
        };
        assert_eq!(cache.look("ab"), Known::Nothing);
        let begun = cache.begin("ab").unwrap();
        cache.note_nowhere("ab");
        assert_eq!(cache.look("ab"), Known::Nowhere);
        fs::write(&begun, "text").unwrap();
        fs::rename(&begun, cache.place("ab")).unwrap();
        assert_eq!(cache.look("ab"), Known::There(cache.place("ab")));
    }
}
