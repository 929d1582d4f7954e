//! Old recordings are removed from the folder: only those with a name of ours, and none that is
//! being written.

use std::fs::{self, File};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::str::FromStr;
use std::time::{Duration, SystemTime};

use profundo_console::options::values::Size;
use profundo_console::stderr;
use profundo_formats::{begun_file, is_being_written};
use profundo_report::text;

use super::folder::Folder;
use super::name;

/// The time after which a file that cannot be locked is no longer being written.
const SETTLED: Duration = Duration::from_secs(30);
/// A file that marks that the note on removed recordings was printed once.
const SAID: &str = ".keep-said";

/// The limit on recordings that stay.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Keep {
    count: usize,
    bytes: u64,
}

impl Default for Keep {
    fn default() -> Self {
        Self {
            count: 50,
            bytes: 2_000_000_000,
        }
    }
}

impl FromStr for Keep {
    type Err = String;

    /// `100` recordings, `10G` bytes, or `all`.
    fn from_str(text: &str) -> Result<Self, String> {
        let text = text.trim();
        if text == "all" {
            return Ok(Self {
                count: usize::MAX,
                bytes: u64::MAX,
            });
        }
        if let Ok(count) = text.parse() {
            return match count {
                0 => Err("the newest recording always stays: keep 1 or more".to_owned()),
                count => Ok(Self {
                    count,
                    bytes: u64::MAX,
                }),
            };
        }
        match text.parse::<Size>() {
            Ok(size) => Ok(Self {
                count: usize::MAX,
                bytes: size.0,
            }),
            Err(_) => Err("write a number of recordings, a size such as 10G, or `all`".to_owned()),
        }
    }
}

impl Keep {
    /// Removes the oldest recordings above the limit beside this one. The first removal is
    /// announced.
    pub fn tidy(self, written: &Path) {
        let folder = Folder::here();
        // A recording elsewhere leaves the folder as it is.
        if written.parent() != Some(folder.path()) {
            return;
        }
        let removed = self.remove(&folder, written);
        let is_first = || File::create_new(folder.path().join(SAID)).is_ok();
        if removed.is_empty() || !is_first() {
            return;
        }
        let (shown, default) = (folder.path().display(), Self::default());
        let which = match self == default {
            true => format!(
                "the newest {} stay, up to {} in all",
                default.count,
                text::bytes(default.bytes)
            ),
            false => "the newest stay, as `--keep` says".to_owned(),
        };
        stderr::note(&format!(
            "old recordings are removed from {shown}: {which}; `--keep all` keeps every one, and `-o FILE` names one that is \
             never removed"
        ));
    }

    fn remove(self, folder: &Folder, written: &Path) -> Vec<PathBuf> {
        let mut files: Vec<(u64, PathBuf)> = (folder.files().into_iter())
            .map(|path| (begun_file(&path).unwrap_or(0), path))
            .collect();
        files.sort_unstable_by(|a, b| b.cmp(a));
        let mut removed = Vec::new();
        let (mut count, mut bytes) = (0_usize, 0_u64);
        for (_, path) in files {
            let size = fs::metadata(&path).map_or(0, |metadata| metadata.len());
            count += 1;
            bytes += size;
            let is_too_many = count > self.count || bytes > self.bytes;
            let is_newest = count == 1 || path == written;
            if is_too_many && !is_newest && may_go(&path) && fs::remove_file(&path).is_ok() {
                count -= 1;
                bytes -= size;
                removed.push(path);
            }
        }
        removed
    }
}

/// True for a recording that we have named, that is our user's, and that is done.
fn may_go(path: &Path) -> bool {
    let is_ours = path
        .file_stem()
        .is_some_and(|stem| name::is_given(&stem.to_string_lossy()));
    // SAFETY: asks for a number.
    let user = unsafe { libc::geteuid() };
    let is_done = fs::symlink_metadata(path).is_ok_and(|metadata| {
        let since = metadata
            .modified()
            .map(|time| SystemTime::now().duration_since(time));
        metadata.is_file()
            && metadata.uid() == user
            && matches!(since, Ok(Ok(since)) if since > SETTLED)
    });
    is_ours && is_done && !is_being_written(path)
}

#[cfg(test)]
mod tests {
    use profundo_model::Profile;

    use super::*;

    #[test]
    fn what_stays_is_a_number_or_a_size() {
        let all = usize::MAX;
        for (text, count, bytes) in [
            ("7", 7, u64::MAX),
            ("10K", all, 10 << 10),
            ("all", all, u64::MAX),
        ] {
            assert_eq!(text.parse(), Ok(Keep { count, bytes }), "{text}");
        }
        for wrong in ["", "0", "none", "-1"] {
            assert!(wrong.parse::<Keep>().is_err(), "{wrong}");
        }
    }

    /// A recording that began at this second, and was written long ago.
    fn recording(folder: &Path, name: &str, second: u64) -> PathBuf {
        let mut profile = Profile::default();
        profile.meta.started_at_unix = second * 1_000_000_000;
        let path = folder.join(format!("{name}.profundo"));
        profundo_formats::write_file(&path, &profile).unwrap();
        let file = File::options().write(true).open(&path).unwrap();
        file.set_modified(SystemTime::now() - 2 * SETTLED).unwrap();
        path
    }

    #[test]
    fn only_old_recordings_of_ours_go() {
        let name = format!("profundo-keep-{}", std::process::id());
        let root = std::env::temp_dir().join(name);
        fs::create_dir_all(&root).unwrap();
        let named = recording(&root, "before", 1);
        let being_written = recording(&root, "app-20260101-0001", 2);
        let old = recording(&root, "app-20260101-0002", 3);
        let foreign = root.join("app-20260101-0003.profundo");
        fs::write(&foreign, "no recording").unwrap();
        let newer = recording(&root, "app-20260101-0004", 5);
        let newest = recording(&root, "app-20260101-0005", 6);
        let lock = File::open(&being_written).unwrap();
        lock.lock_shared().unwrap();

        let folder = Folder::at(&root);
        let keep = |count| Keep {
            count,
            bytes: u64::MAX,
        };
        assert_eq!(keep(4).remove(&folder, &newest), Vec::<PathBuf>::new());
        assert_eq!(keep(2).remove(&folder, &newest), [old]);
        for stays in [&named, &being_written, &foreign, &newer, &newest] {
            assert!(stays.exists(), "{}", stays.display());
        }
        let none = Keep {
            count: usize::MAX,
            bytes: 1,
        };
        assert_eq!(none.remove(&folder, &newest), [newer]);
        drop(lock);
        assert_eq!(keep(1).remove(&folder, &newest), [being_written]);
        fs::remove_dir_all(&root).unwrap();
    }
}
