//! Files by path.

use std::fs;
use std::path::PathBuf;

use profundo_formats::{read_file, write_file};

use crate::dump::dump;
use crate::small;

/// A folder of one test, gone when the test is.
struct Folder(PathBuf);

impl Folder {
    fn new(test: &str) -> Self {
        let path = std::env::temp_dir().join(format!("profundo-{test}-{}", std::process::id()));
        fs::create_dir_all(&path).unwrap();
        Self(path)
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

#[test]
fn a_file_is_private_and_whole() {
    let folder = Folder::new("private");
    let path = folder.0.join("a.profundo");
    fs::write(&path, "an older file").unwrap();
    let profile = small::small();
    write_file(&path, &profile).unwrap();
    let (again, warnings) = read_file(&path).unwrap();
    assert_eq!(warnings, []);
    assert_eq!(dump(&again), dump(&profile));
    // Nothing stays beside it.
    assert_eq!(fs::read_dir(&folder.0).unwrap().count(), 1);
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt;
        assert_eq!(
            fs::metadata(&path).unwrap().permissions().mode() & 0o7777,
            0o600
        );
    }
}

#[test]
fn a_growing_file_is_private_and_readable_meanwhile() {
    let folder = Folder::new("growing");
    let path = folder.0.join("a.profundo");
    fs::write(&path, "an older file that others may read").unwrap();
    let whole = small::small();
    let mut growing = whole.clone();
    let mut file = profundo_formats::create_file(&path, &growing.meta).unwrap();
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt;
        let mode = fs::metadata(&path).unwrap().permissions().mode();
        assert_eq!(mode & 0o7777, 0o600);
    }
    file.flush(&mut growing).unwrap();
    let (so_far, warnings) = read_file(&path).unwrap();
    assert!(so_far.samples == whole.samples);
    assert_eq!(warnings.len(), 1);
    file.finish(&mut growing).unwrap();
    let (again, warnings) = read_file(&path).unwrap();
    assert_eq!(warnings, []);
    assert_eq!(dump(&again), dump(&whole));
}

#[test]
fn what_fails_leaves_the_older_file() {
    let folder = Folder::new("older");
    let path = folder.0.join("a.profundo");
    let mut profile = small::small();
    write_file(&path, &profile).unwrap();
    let before = fs::read(&path).unwrap();
    profile.samples[0].stack.0 = 999;
    write_file(&path, &profile).unwrap_err();
    assert_eq!(fs::read(&path).unwrap(), before);
    assert_eq!(fs::read_dir(&folder.0).unwrap().count(), 1);
}

#[cfg(unix)]
#[test]
fn links_are_followed_and_devices_stay() {
    let folder = Folder::new("links");
    let (path, link) = (folder.0.join("a.profundo"), folder.0.join("link"));
    fs::write(&path, "").unwrap();
    std::os::unix::fs::symlink(&path, &link).unwrap();
    write_file(&link, &small::small()).unwrap();
    assert!(fs::symlink_metadata(&link).unwrap().is_symlink());
    assert!(read_file(&path).is_ok());
    write_file("/dev/null", &small::small()).unwrap();
    assert!(!fs::metadata("/dev/null").unwrap().is_file());
}

#[test]
fn errors_name_the_path() {
    let folder = Folder::new("errors");
    let missing = folder.0.join("missing").join("a.profundo");
    let shown = missing.display();
    let error = write_file(&missing, &small::small()).unwrap_err();
    assert_eq!(error.to_string(), format!("cannot create {shown}"));
    assert_eq!(
        read_file(&missing).unwrap_err().to_string(),
        format!("cannot read {shown}")
    );
    let text = folder.0.join("text");
    fs::write(&text, "some text that is long enough").unwrap();
    let error = read_file(&text).unwrap_err();
    assert_eq!(error.to_string(), format!("cannot use {}", text.display()));
    let cause = std::error::Error::source(&error).unwrap().to_string();
    assert!(cause.starts_with("not a profundo file"));
}
