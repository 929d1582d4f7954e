//! Files of symbols on this machine: each is fetched from a store once.
//!
//! They lie as distributions lay theirs, `.build-id/01/23456789.debug`, so that a stripped program
//! of this machine finds its debug information among them too.

use std::collections::BTreeMap;
use std::fs;
use std::io::{self, Read};
use std::path::{Path, PathBuf};

use flate2::read::MultiGzDecoder;
use object::Object;
use profundo_model::Profile;
use profundo_store::Store;

use crate::Error;
use crate::files::{File, digits, is_build_id};

/// The most bytes of a file that is unpacked.
const MOST: u64 = 8 << 30;

/// A folder of files that were fetched.
#[derive(Debug, Clone)]
pub struct Cache {
    folder: PathBuf,
}

impl Cache {
    /// The folder of files, which is made when one is fetched.
    pub fn new(folder: impl Into<PathBuf>) -> Self {
        Self {
            folder: folder.into(),
        }
    }

    /// The usual folder of a user: below `$XDG_CACHE_HOME` or `~/.cache`, and a temporary one for a
    /// user without a home.
    pub fn of_user() -> Self {
        let variable = |name: &str| {
            let value = std::env::var_os(name).map(PathBuf::from);
            value.filter(|path| path.is_absolute())
        };
        let cache = variable("XDG_CACHE_HOME")
            .or_else(|| variable("HOME").map(|home| home.join(".cache")))
            .unwrap_or_else(std::env::temp_dir);
        Self::new(cache.join("profundo/symbols"))
    }

    pub(crate) fn folder(&self) -> &Path {
        &self.folder
    }

    /// The file of a build id, if it is here.
    pub(crate) fn get(&self, build_id: &str) -> Option<PathBuf> {
        let path = self.path(build_id);
        path.is_file().then_some(path)
    }

    /// The files of a profile's modules that are here, by build id.
    pub fn files_of(&self, profile: &Profile) -> BTreeMap<Vec<u8>, PathBuf> {
        let ids = profile.modules.iter().map(|(_, module)| &module.build_id);
        let known = |id: &Vec<u8>| {
            let text = digits(id);
            let path = is_build_id(&text).then(|| self.get(&text)).flatten()?;
            Some((id.clone(), path))
        };
        ids.filter_map(known).collect()
    }

    fn path(&self, build_id: &str) -> PathBuf {
        let (first, rest) = build_id.split_at(2);
        self.folder.join(format!(".build-id/{first}/{rest}.debug"))
    }

    /// Fetches a file.
    pub(crate) fn fetch(&self, store: &dyn Store, file: &File) -> Result<PathBuf, Error> {
        let damaged = |why| Error::Damaged {
            path: file.path.clone(),
            why,
        };
        let packed = store.read(&file.path, 0..file.size)?;
        let mut bytes = Vec::new();
        let read = (MultiGzDecoder::new(&packed[..]).take(MOST + 1)).read_to_end(&mut bytes);
        if read.is_err() || bytes.len() as u64 > MOST {
            return Err(damaged("it cannot be unpacked"));
        }
        let build_id = object::File::parse(&bytes[..])
            .ok()
            .and_then(|object| object.build_id().ok().flatten().map(digits));
        if build_id.as_deref() != Some(&file.build_id) {
            return Err(damaged("it has another build id"));
        }
        let path = self.path(&file.build_id);
        let written = write(&path, &bytes);
        written.map_err(|source| Error::File {
            verb: "write",
            path: path.clone(),
            source,
        })?;
        Ok(path)
    }
}

/// Writes a file whole or not at all.
fn write(path: &Path, bytes: &[u8]) -> io::Result<()> {
    if let Some(folder) = path.parent() {
        fs::create_dir_all(folder)?;
    }
    let unfinished = path.with_extension(format!("{}.part", std::process::id()));
    let written = fs::write(&unfinished, bytes).and_then(|()| fs::rename(&unfinished, path));
    if written.is_err() {
        let _ = fs::remove_file(&unfinished);
    }
    written
}
