//! The library of a frame: the package or crate that its source file lies in, or else the file of
//! its machine code.

use profundo_model::{FileId, LocationId, Profile};
use rustc_hash::FxHashMap;

/// A library.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(super) struct Library {
    /// Its name: `numpy`, `serde`, `libc.so.6`.
    pub name: String,
    /// The folder of the package, or the file of the machine code.
    pub path: String,
}

/// The names of libraries, as the transforms of libraries match them.
#[derive(Debug)]
pub struct LibraryNames(Libraries);

impl LibraryNames {
    /// Those of a profile.
    pub fn new(profile: &Profile) -> Self {
        Self(Libraries::new(profile))
    }

    /// The name of a location's library; empty if it has none.
    pub fn of(&self, location: LocationId) -> &str {
        let library = self.0.of(location);
        library.map_or("", |library| &self.0.get(library).name)
    }
}

/// The libraries of a profile.
#[derive(Debug, Default)]
pub(super) struct Libraries {
    all: Vec<Library>,
    by_file: Vec<Option<u32>>,
    by_location: Vec<Option<u32>>,
}

impl Libraries {
    /// Looks at every file and module once.
    pub(super) fn new(profile: &Profile) -> Self {
        let strings = &profile.strings;
        let mut known: FxHashMap<Library, u32> = FxHashMap::default();
        let mut all = Vec::new();
        let mut number = |library: Library| {
            *known.entry(library).or_insert_with_key(|library| {
                all.push(library.clone());
                u32::try_from(all.len() - 1).expect("fewer than 2^32 libraries")
            })
        };
        let files: Vec<Option<u32>> = (profile.files.iter())
            .map(|file| package(strings.get(file.path)).map(&mut number))
            .collect();
        let modules: Vec<Option<u32>> = (profile.modules.iter())
            .map(|(_, module)| of_module(strings.get(module.path)).map(&mut number))
            .collect();
        let of_location = |(_, location): (_, &profundo_model::Location)| {
            let innermost = location.frames.first();
            let file = innermost.map(|&frame| profile.frames.get(frame).file);
            (file.and_then(|file| files[file.index()]))
                .or_else(|| modules[location.module?.index()])
        };
        let by_location = profile.locations.iter().map(of_location).collect();
        Self {
            all,
            by_file: files,
            by_location,
        }
    }

    /// The number of the library that a source file lies in.
    pub(super) fn of_file(&self, file: FileId) -> Option<u32> {
        self.by_file[file.index()]
    }

    /// The number of a location's library.
    pub(super) fn of(&self, location: LocationId) -> Option<u32> {
        self.by_location.get(location.index()).copied().flatten()
    }

    /// A library by its number.
    pub(super) fn get(&self, library: u32) -> &Library {
        &self.all[library as usize]
    }

    /// The number of libraries.
    pub(super) fn len(&self) -> usize {
        self.all.len()
    }
}

/// The package of a module, or else the module itself.
fn of_module(path: &str) -> Option<Library> {
    let name = path.rsplit('/').next().filter(|name| !name.is_empty())?;
    Some(package(path).unwrap_or_else(|| Library {
        name: name.trim_matches(['[', ']']).to_owned(),
        path: path.to_owned(),
    }))
}

/// The package that a file lies in.
fn package(path: &str) -> Option<Library> {
    /// Folders with a package in each of their entries.
    const PACKAGES: [&str; 3] = ["/site-packages/", "/dist-packages/", "/node_modules/"];
    /// Folders of Rust's own library, with a crate in each of their entries.
    const CRATES: [&str; 1] = ["/library/"];
    let behind = |marker: &str| path.rfind(marker).map(|at| at + marker.len());
    let library = |start: usize, name: &dyn Fn(&str) -> String| {
        let rest = &path[start..];
        let length = match rest.strip_prefix('@').and_then(|scoped| scoped.find('/')) {
            // A package of a scope: `@scope/name`.
            Some(scope) => {
                let behind = scope + 2;
                rest[behind..].find('/').map(|at| behind + at)
            }
            None => rest.find('/'),
        };
        let entry = &rest[..length.unwrap_or(rest.len())];
        (!entry.is_empty()).then(|| Library {
            name: name(entry),
            path: path[..start + entry.len()].to_owned(),
        })
    };
    let plain = |entry: &str| match entry.starts_with('@') {
        true => entry.to_owned(),
        // A module in one file: `six.py`, `_cffi_backend.cpython-312-x86_64-linux-gnu.so`.
        false => entry.split('.').next().unwrap_or(entry).to_owned(),
    };
    if let Some(start) = PACKAGES.iter().find_map(|marker| behind(marker)) {
        return library(start, &plain);
    }
    if let Some(start) = behind("/registry/src/") {
        let start = start + path[start..].find('/')? + 1;
        return library(start, &|entry| without_version(entry).to_owned());
    }
    let is_rusts = path.starts_with("/rustc/") || path.contains("/lib/rustlib/src/rust/");
    if is_rusts && let Some(start) = CRATES.iter().find_map(|marker| behind(marker)) {
        return library(start, &str::to_owned);
    }
    if let Some(inside) = path.strip_prefix("<frozen ") {
        let name = inside.split(['.', '>']).next()?;
        return Some(Library {
            name: name.to_owned(),
            path: format!("<frozen {name}"),
        });
    }
    // Python's own library: `…/lib/python3.12/json/decoder.py`.
    let start = behind("/lib/python3")?;
    let version = path[start..].find('/')?;
    let is_version = path[start..start + version]
        .bytes()
        .all(|byte| byte.is_ascii_digit() || byte == b'.' || byte == b't');
    let entry = path[start + version + 1..].strip_prefix("lib-dynload/");
    let behind = entry.map_or(start + version + 1, |entry| path.len() - entry.len());
    (is_version).then(|| library(behind, &plain)).flatten()
}

/// `serde-1.0.219` is `serde`.
fn without_version(entry: &str) -> &str {
    let ends = entry.match_indices('-');
    let mut ends = ends.filter(|(at, _)| {
        let version = &entry[at + 1..];
        version.starts_with(|first: char| first.is_ascii_digit()) && version.contains('.')
    });
    ends.next().map_or(entry, |(at, _)| &entry[..at])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_tells_its_package() {
        let rows = [
            ("/v/lib/python3.12/site-packages/numpy/core/a.py", "numpy"),
            ("/v/lib/python3.12/site-packages/six.py", "six"),
            (
                "/usr/lib/python3/dist-packages/yaml/_yaml.cpython-312.so",
                "yaml",
            ),
            ("/usr/lib/python3.12/json/decoder.py", "json"),
            ("/usr/lib/python3.13t/threading.py", "threading"),
            (
                "/usr/lib/python3.12/lib-dynload/_json.cpython-312.so",
                "_json",
            ),
            (
                "/home/me/.cargo/registry/src/index-1/serde_json-1.0.2/src/de.rs",
                "serde_json",
            ),
            (
                "/home/me/.cargo/registry/src/index-1/addr2line-0.27.1/src/a.rs",
                "addr2line",
            ),
            ("/rustc/0123/library/core/src/iter.rs", "core"),
            ("/srv/node_modules/@babel/core/lib/a.js", "@babel/core"),
            ("/srv/node_modules/react/index.js", "react"),
            ("<frozen importlib._bootstrap>", "importlib"),
        ];
        for (path, name) in rows {
            let library = package(path).unwrap_or_else(|| panic!("{path} is in no package"));
            assert_eq!(library.name, name, "{path}");
            assert!(path.starts_with(&library.path), "{path}: {}", library.path);
        }
        for path in [
            "/home/me/app.py",
            "",
            "/usr/lib/libz.so.1",
            "/home/me/lib/python3x/a.py",
        ] {
            assert_eq!(package(path), None, "{path}");
        }
        assert_eq!(of_module("/usr/lib/libz.so.1").unwrap().name, "libz.so.1");
        assert_eq!(of_module("[kernel]").unwrap().name, "kernel");
        assert_eq!(of_module(""), None);
    }
}
