//! The folder of recordings: the nearest `.profundo` upwards, or a new one in the current folder,
//! or the user's.

use std::ffi::OsStr;
use std::fs::{self, DirBuilder, File};
use std::io::{self, Write};
use std::os::unix::fs::DirBuilderExt;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result};
use profundo_console::output::is_foreign;
use profundo_formats::is_profundo;

use crate::file_owner;

/// The extension of recordings.
pub const ENDING: &str = "profundo";

/// The name of a project's folder.
const NAME: &str = ".profundo";
/// The variable that names the folder, whatever the current one is.
const VARIABLE: &str = "PROFUNDO_DIR";
/// Git ignores recordings, but not the project's settings.
const GITIGNORE: &str = "*\n!config.toml\n";

/// A folder of recordings, which may not exist yet.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Folder(PathBuf);

impl Folder {
    /// The folder of recordings for the current folder.
    pub fn here() -> Self {
        let named = std::env::var_os(VARIABLE).filter(|value| !value.is_empty());
        let here = std::env::current_dir().unwrap_or_else(|_| PathBuf::from("."));
        let state = state_folder(|name| std::env::var_os(name).map(PathBuf::from));
        Self::found(named.map(PathBuf::from), &here, state)
    }

    fn found(named: Option<PathBuf>, here: &Path, state: Option<PathBuf>) -> Self {
        if let Some(named) = named {
            return Self(named);
        }
        let mut upwards = here.ancestors().map(|folder| folder.join(NAME));
        if let Some(nearest) = upwards.find(|folder| is_ours(folder) && is_writable(folder)) {
            return Self(nearest);
        }
        let here_folder = here.join(NAME);
        // An existing one belongs to another user, or it would have been found.
        let is_taken = here_folder.symlink_metadata().is_ok();
        match state {
            Some(state) if is_taken || !is_writable(here) => Self(state),
            _ => Self(here_folder),
        }
    }

    /// The folder at this path.
    pub fn at(path: &Path) -> Self {
        Self(path.to_owned())
    }

    pub fn path(&self) -> &Path {
        &self.0
    }

    /// Creates the folder, if it does not exist.
    pub fn make(&self) -> Result<()> {
        let made = || -> io::Result<()> {
            // A project's folder may have been made by hand, for its settings.
            let is_for_settings = self.0.ends_with(NAME) && self.0.join("config.toml").exists();
            if self.0.is_dir() && !is_for_settings {
                return Ok(());
            }
            DirBuilder::new()
                .recursive(true)
                .mode(0o700)
                .create(&self.0)?;
            match File::create_new(self.0.join(".gitignore")) {
                Ok(mut file) => file.write_all(GITIGNORE.as_bytes()),
                Err(error) if error.kind() == io::ErrorKind::AlreadyExists => Ok(()),
                Err(error) => Err(error),
            }
        };
        let shown = self.0.display();
        made().with_context(|| {
            format!("cannot make the folder {shown} for recordings; name a file with -o FILE")
        })
    }

    /// The recordings in the folder, in no order.
    pub fn files(&self) -> Vec<PathBuf> {
        let Ok(entries) = fs::read_dir(&self.0) else {
            return Vec::new();
        };
        let paths = entries.flatten().map(|entry| entry.path());
        paths
            .filter(|path| path.extension() == Some(OsStr::new(ENDING)))
            .filter(|path| path.is_file() && !is_foreign(path, is_profundo))
            .collect()
    }
}

/// True if no other user can create files in a folder, or has chosen it by a link of theirs.
fn is_ours(folder: &Path) -> bool {
    let is_link_ours =
        fs::symlink_metadata(folder).is_ok_and(|metadata| file_owner::is_users_own(&metadata));
    is_link_ours
        && fs::metadata(folder).is_ok_and(|metadata| {
            metadata.is_dir()
                && file_owner::is_users_own(&metadata)
                && !file_owner::is_world_writable(&metadata)
        })
}

fn is_writable(folder: &Path) -> bool {
    let Ok(path) = std::ffi::CString::new(folder.as_os_str().as_encoded_bytes()) else {
        return false;
    };
    let how = libc::W_OK | libc::X_OK;
    // SAFETY: the path is a C string.
    unsafe { libc::faccessat(libc::AT_FDCWD, path.as_ptr(), how, libc::AT_EACCESS) == 0 }
}

/// The folder in which this user's programs keep persistent data.
fn state_folder(variable: impl Fn(&str) -> Option<PathBuf>) -> Option<PathBuf> {
    let absolute = |name| variable(name).filter(|path| path.is_absolute());
    let state = absolute("XDG_STATE_HOME")
        .or_else(|| absolute("HOME").map(|home| home.join(".local/state")))?;
    Some(state.join("profundo"))
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt;

    use super::*;

    struct Temporary(PathBuf);

    impl Temporary {
        fn new(name: &str) -> Self {
            let name = format!("profundo-{name}-{}", std::process::id());
            let path = std::env::temp_dir().join(name);
            fs::create_dir_all(&path).unwrap();
            Self(path)
        }
    }

    impl Drop for Temporary {
        fn drop(&mut self) {
            let _ = fs::remove_dir_all(&self.0);
        }
    }

    #[test]
    fn the_nearest_folder_upwards_is_meant() {
        let root = Temporary::new("nearest");
        let deep = root.0.join("a/b/c");
        fs::create_dir_all(&deep).unwrap();
        let state = || Some(root.0.join("state"));
        let found = Folder::found(None, &deep, state());
        assert_eq!(found.path(), deep.join(NAME));
        found.make().unwrap();
        let text = fs::read_to_string(found.path().join(".gitignore")).unwrap();
        assert_eq!(text, GITIGNORE);
        fs::remove_dir_all(found.path()).unwrap();

        let upper = root.0.join("a").join(NAME);
        fs::create_dir(&upper).unwrap();
        assert_eq!(Folder::found(None, &deep, state()).path(), upper);
        let named = Some(PathBuf::from("/elsewhere"));
        let named = Folder::found(named, &deep, state());
        assert_eq!(named.path(), Path::new("/elsewhere"));
    }

    #[test]
    fn a_folder_that_was_made_for_settings_is_kept_from_git() {
        let root = Temporary::new("settings");
        let folder = Folder::at(&root.0.join(NAME));
        fs::create_dir(folder.path()).unwrap();
        folder.make().unwrap();
        let ignored = folder.path().join(".gitignore");
        assert!(!ignored.exists());
        fs::write(folder.path().join("config.toml"), "").unwrap();
        folder.make().unwrap();
        assert_eq!(fs::read_to_string(&ignored).unwrap(), GITIGNORE);
        // A user who wants them in git has another file.
        fs::write(&ignored, "").unwrap();
        folder.make().unwrap();
        assert_eq!(fs::read_to_string(&ignored).unwrap(), "");
    }

    #[test]
    fn a_folder_of_everybodys_is_passed_over() {
        let root = Temporary::new("everybodys");
        let below = root.0.join("below");
        fs::create_dir(&below).unwrap();
        let open = root.0.join(NAME);
        fs::create_dir(&open).unwrap();
        fs::set_permissions(&open, fs::Permissions::from_mode(0o777)).unwrap();
        assert_eq!(Folder::found(None, &below, None).path(), below.join(NAME));
        let state = || Some(PathBuf::from("/state"));
        assert_eq!(
            Folder::found(None, &root.0, state()).path(),
            Path::new("/state")
        );
    }

    /// Else another user could have root write into any folder of root's.
    #[test]
    fn a_link_of_another_user_is_passed_over() {
        use std::os::unix::fs::{lchown, symlink};

        let root = Temporary::new("link");
        let (here, other) = (root.0.join("here"), root.0.join("other"));
        fs::create_dir(&here).unwrap();
        fs::create_dir(&other).unwrap();
        let link = here.join(NAME);
        symlink(&other, &link).unwrap();
        let state = || Some(PathBuf::from("/state"));
        assert_eq!(Folder::found(None, &here, state()).path(), link);
        if lchown(&link, Some(65534), Some(65534)).is_err() {
            return profundo_testing::skip("only root can give a link to another user");
        }
        let found = Folder::found(None, &here, state());
        assert_eq!(found.path(), Path::new("/state"));
    }

    #[test]
    fn the_folder_of_the_user_is_where_the_system_says() {
        let of = |pairs: &[(&str, &str)]| {
            state_folder(|name| {
                let pair = pairs.iter().find(|pair| pair.0 == name);
                pair.map(|pair| pair.1.into())
            })
        };
        let home = [("HOME", "/home/u")];
        assert_eq!(of(&home), Some("/home/u/.local/state/profundo".into()));
        let both = [("HOME", "/home/u"), ("XDG_STATE_HOME", "/s")];
        assert_eq!(of(&both), Some("/s/profundo".into()));
        let relative = [("HOME", "/home/u"), ("XDG_STATE_HOME", "s")];
        assert_eq!(of(&relative), of(&home));
        assert_eq!(of(&[]), None);
    }
}
