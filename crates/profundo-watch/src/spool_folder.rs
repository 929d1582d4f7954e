//! The folder for segments on their way to a store, and what earlier watchers have left there.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result};
use profundo_store::{Error, Spool, ids::Contents};

/// The watchers of one user that may send to one store at a time.
const MOST: u32 = 64;

/// The spool of this process, and those that others have left.
#[derive(Debug)]
pub struct Spools {
    /// Where segments are pushed.
    pub own: Spool,
    /// Those with segments of watchers that are gone.
    pub left: Vec<Spool>,
}

/// Opens the spools for the store at a place: in `folder`, or in the user's.
pub fn open(to: &str, folder: Option<&Path>, most: u64) -> Result<Spools> {
    let base = match folder {
        Some(folder) => folder.to_owned(),
        None => {
            of_user().context("there is no folder for segments on their way: HOME is not set")?
        }
    };
    let name = Contents::default().text(to).id().cast_unsigned();
    let folder = base.join(format!("to-{name:016x}"));
    let mut own = None;
    let mut left = Vec::new();
    for number in 1..=MOST {
        let path = folder.join(number.to_string());
        if own.is_some() && !path.exists() {
            continue;
        }
        match Spool::open(&path, most) {
            Ok(spool) if own.is_none() => own = Some(spool),
            Ok(spool) if spool.waiting() > 0 => left.push(spool),
            // Another watcher uses it.
            Ok(_) | Err(Error::InUse { .. }) => {}
            Err(error) => return Err(error.into()),
        }
    }
    let why = || format!("{MOST} watchers use {} already", folder.display());
    Ok(Spools {
        own: own.with_context(why)?,
        left,
    })
}

/// The folder where programs of this user keep their state: that of a service of systemd, or of the
/// user.
fn of_user() -> io::Result<PathBuf> {
    let set = |name| std::env::var_os(name).filter(|value| !value.is_empty());
    if let Some(state) = set("STATE_DIRECTORY") {
        return Ok(PathBuf::from(state).join("spool"));
    }
    let state = match (set("XDG_STATE_HOME"), set("HOME")) {
        (Some(state), _) => PathBuf::from(state),
        (None, Some(home)) => PathBuf::from(home).join(".local/state"),
        (None, None) => return Err(io::ErrorKind::NotFound.into()),
    };
    let folder = state.join("profundo/spool");
    fs::create_dir_all(&folder)?;
    Ok(folder)
}

#[cfg(test)]
mod tests {
    use profundo_testing::Folder;

    use super::*;

    #[test]
    fn each_watcher_has_a_spool_of_its_own() {
        let folder = Folder::new("spools");
        let open = || open("s3://a/b", Some(folder.path()), 1 << 20).unwrap();
        let (first, second) = (open(), open());
        assert!(first.left.is_empty() && second.left.is_empty());
        drop(first);
        // Nothing waits in it, so nothing is left of it.
        let third = open();
        assert!(third.left.is_empty());
    }
}
