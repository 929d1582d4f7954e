//! The files of settings: the user's own, and in the nearest folders upwards
//! `.profundo/config.toml`, `pyproject.toml` and `Cargo.toml`.

use std::fs;
use std::io::Read;
use std::path::{Path, PathBuf};

use crate::file_owner;

/// The size from which on a file is not read as settings.
const LONGEST: u64 = 1 << 20;
/// The name of our table in other tools' files.
const NAME: &str = "profundo";

/// The kinds of files, the weakest first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Kind {
    /// In the user's folder for settings.
    Users,
    /// `[workspace.metadata.profundo]` of a `Cargo.toml`.
    Workspace,
    /// `[package.metadata.profundo]` of a `Cargo.toml`.
    Package,
    /// `[tool.profundo]` of a `pyproject.toml`.
    Pyproject,
    /// `.profundo/config.toml`.
    Folders,
}

impl Kind {
    /// The tables in which they lie, from the outermost.
    pub fn tables(self) -> &'static [&'static str] {
        match self {
            Self::Users | Self::Folders => &[],
            Self::Workspace => &["workspace", "metadata", NAME],
            Self::Package => &["package", "metadata", NAME],
            Self::Pyproject => &["tool", NAME],
        }
    }

    /// The file in a project's folder.
    fn file(self) -> &'static str {
        match self {
            Self::Users => "config.toml",
            Self::Folders => ".profundo/config.toml",
            Self::Workspace | Self::Package => "Cargo.toml",
            Self::Pyproject => "pyproject.toml",
        }
    }
}

/// The folders where the search begins.
#[derive(Debug, Clone, Default)]
pub struct Place {
    /// The current folder.
    pub here: PathBuf,
    pub home: Option<PathBuf>,
    /// The user's folder for settings.
    pub users: Option<PathBuf>,
}

impl Place {
    pub fn here() -> Self {
        let absolute = |name| {
            let value = std::env::var_os(name).map(PathBuf::from);
            value.filter(|path: &PathBuf| path.is_absolute())
        };
        let home = absolute("HOME");
        let users = absolute("XDG_CONFIG_HOME").or_else(|| Some(home.as_ref()?.join(".config")));
        Self {
            here: std::env::current_dir().unwrap_or_default(),
            users: users.map(|folder| folder.join(NAME)),
            home,
        }
    }
}

/// A file with settings.
#[derive(Debug)]
pub struct Found {
    pub path: PathBuf,
    pub kind: Kind,
    pub text: String,
    /// The project's folder, where relative patterns begin.
    pub base: PathBuf,
}

/// A file that is not used.
#[derive(Debug)]
pub struct PassedOver {
    pub path: PathBuf,
    pub why: String,
}

/// The existing files, the weakest first, and those that are not trustworthy.
pub fn find(place: &Place) -> (Vec<Found>, Vec<PassedOver>) {
    let (mut found, mut passed_over) = (Vec::new(), Vec::new());
    let mut add_from = |folder: &Path, kind: Kind| {
        let path = folder.join(kind.file());
        match contents(&path, kind) {
            Ok(None) => false,
            Ok(Some(text)) => {
                let base = folder.to_owned();
                found.push(Found {
                    path,
                    kind,
                    text,
                    base,
                });
                true
            }
            // The search goes on above it.
            Err(why) => {
                passed_over.push(PassedOver { path, why });
                false
            }
        }
    };
    if let Some(folder) = &place.users {
        add_from(folder, Kind::Users);
    }
    for kind in [
        Kind::Workspace,
        Kind::Package,
        Kind::Pyproject,
        Kind::Folders,
    ] {
        place.here.ancestors().any(|folder| add_from(folder, kind));
    }
    // Both tables of a file are looked for.
    passed_over.dedup_by(|one, other| one.path == other.path);
    (found, passed_over)
}

/// The text of a file, if it has settings; or why it is not used.
fn contents(path: &Path, kind: Kind) -> Result<Option<String>, String> {
    let Ok(about) = fs::metadata(path) else {
        return Ok(None);
    };
    if !about.is_file() {
        return Ok(None);
    }
    let mut text = String::new();
    let read = fs::File::open(path).and_then(|file| {
        let mut file = file.take(LONGEST);
        file.read_to_string(&mut text)
    });
    let is_whole = read.is_ok_and(|bytes| (bytes as u64) < LONGEST);
    if !kind.tables().is_empty() && (!is_whole || !has_table(&text, kind)) {
        // The file is another tool's, which reports its errors.
        return Ok(None);
    }
    if let Some(why) = distrust(path, &about) {
        return Err(why);
    }
    match is_whole {
        true => Ok(Some(text)),
        false => Err("it cannot be read as text".to_owned()),
    }
}

/// True if another tool's file may have a table of ours.
fn has_table(text: &str, kind: Kind) -> bool {
    let tables = kind.tables();
    tables.iter().all(|name| text.contains(name)) && is_there(text, tables)
}

/// True if the table is there. A file that cannot be parsed counts as one that has it, so that the
/// error is reported.
fn is_there(text: &str, tables: &[&str]) -> bool {
    let Ok(document) = toml::de::DeTable::parse(text) else {
        return true;
    };
    let mut table = document.get_ref();
    for name in tables {
        match table
            .get(*name)
            .and_then(|value| value.get_ref().as_table())
        {
            Some(inner) => table = inner,
            None => return false,
        }
    }
    true
}

/// The reason why another user may have written a file, if there is one.
fn distrust(path: &Path, about: &fs::Metadata) -> Option<String> {
    if !file_owner::is_users_own(about) && !file_owner::is_roots(about) {
        return Some("it belongs to another user".to_owned());
    }
    if file_owner::is_world_writable(about) {
        return Some("everybody may write to it".to_owned());
    }
    let folder = path.parent().and_then(|folder| fs::metadata(folder).ok())?;
    if !file_owner::is_users_own(&folder) && !file_owner::is_roots(&folder) {
        return Some("its folder belongs to another user".to_owned());
    }
    (file_owner::is_world_writable(&folder) && !file_owner::is_sticky(&folder))
        .then(|| "everybody may write to its folder".to_owned())
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt;

    use super::*;

    struct Temporary(PathBuf);

    impl Temporary {
        fn new(name: &str) -> Self {
            let name = format!("profundo-config-{name}-{}", std::process::id());
            let path = std::env::temp_dir().join(name);
            fs::create_dir_all(path.join("a/b/.profundo")).unwrap();
            fs::create_dir_all(path.join("own")).unwrap();
            Self(path)
        }

        fn file(&self, name: &str, text: &str) {
            fs::write(self.0.join(name), text).unwrap();
        }

        fn found(&self) -> (Vec<(Kind, String)>, Vec<PassedOver>) {
            let place = Place {
                here: self.0.join("a/b"),
                home: None,
                users: Some(self.0.join("own")),
            };
            let (found, passed_over) = find(&place);
            let found = found.into_iter().map(|file| {
                let path = file.path.strip_prefix(&self.0).unwrap();
                (file.kind, path.display().to_string())
            });
            // Folders above the test's folder are not the test's.
            (
                found.collect(),
                passed_over
                    .into_iter()
                    .filter(|file| file.path.starts_with(&self.0))
                    .collect(),
            )
        }
    }

    impl Drop for Temporary {
        fn drop(&mut self) {
            let _ = fs::remove_dir_all(&self.0);
        }
    }

    #[test]
    fn the_nearest_of_each_kind_is_found() {
        let folder = Temporary::new("nearest");
        folder.file("own/config.toml", "");
        folder.file("Cargo.toml", "[workspace.metadata.profundo]\nrate = 5\n");
        folder.file("a/Cargo.toml", "[package]\nname = \"profundo\"\n");
        folder.file("a/pyproject.toml", "[tool.profundo]\n");
        folder.file("a/b/pyproject.toml", "[tool.other]\nprofundo = 1\n");
        folder.file("a/b/.profundo/config.toml", "rate = 5\n");
        let (found, passed_over) = folder.found();
        let expected = [
            (Kind::Users, "own/config.toml"),
            (Kind::Workspace, "Cargo.toml"),
            (Kind::Pyproject, "a/pyproject.toml"),
            (Kind::Folders, "a/b/.profundo/config.toml"),
        ];
        assert_eq!(found, expected.map(|(kind, path)| (kind, path.to_owned())));
        assert!(passed_over.is_empty());
    }

    #[test]
    fn what_belongs_to_another_user_is_passed_over() {
        let folder = Temporary::new("another");
        let path = folder.0.join("a/b/.profundo/config.toml");
        folder.file("a/b/.profundo/config.toml", "rate = 5\n");
        // Only root can give files away.
        if std::os::unix::fs::chown(&path, Some(65_533), None).is_ok() {
            let (found, passed_over) = folder.found();
            assert!(found.is_empty(), "{found:?}");
            assert_eq!(passed_over[0].why, "it belongs to another user");
        }
    }

    #[test]
    fn what_others_could_have_written_is_passed_over() {
        let folder = Temporary::new("others");
        let path = folder.0.join("a/b/.profundo/config.toml");
        folder.file("a/b/.profundo/config.toml", "rate = 5\n");
        fs::set_permissions(&path, fs::Permissions::from_mode(0o666)).unwrap();
        let (found, passed_over) = folder.found();
        assert!(found.is_empty(), "{found:?}");
        assert_eq!(passed_over[0].why, "everybody may write to it");
        fs::set_permissions(&path, fs::Permissions::from_mode(0o600)).unwrap();
        let dot = path.parent().unwrap();
        fs::set_permissions(dot, fs::Permissions::from_mode(0o777)).unwrap();
        let (found, passed_over) = folder.found();
        assert!(found.is_empty(), "{found:?}");
        assert_eq!(passed_over[0].why, "everybody may write to its folder");
    }
}
