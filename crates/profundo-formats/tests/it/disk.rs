//! Files by path.

use std::fs;

use profundo_formats::{
    begun_file, create_file, is_being_written, overview_file, read_file, write_file,
};
use profundo_model::{Meta, Nanos};
use profundo_testing::Folder;

use crate::dump::dump;
use crate::small;

#[test]
fn a_file_is_private_and_whole() {
    let folder = Folder::new("private");
    let path = folder.join("a.profundo");
    fs::write(&path, "an older file").unwrap();
    let profile = small::small();
    write_file(&path, &profile).unwrap();
    let (again, warnings) = read_file(&path).unwrap();
    assert_eq!(warnings, []);
    assert_eq!(dump(&again), dump(&profile));
    // Nothing stays beside it.
    assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 1);
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
    let path = folder.join("a.profundo");
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
    let path = folder.join("a.profundo");
    let mut profile = small::small();
    write_file(&path, &profile).unwrap();
    let before = fs::read(&path).unwrap();
    profile.samples[0].stack.0 = 999;
    write_file(&path, &profile).unwrap_err();
    assert_eq!(fs::read(&path).unwrap(), before);
    assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 1);
}

#[cfg(unix)]
#[test]
fn links_are_followed_and_devices_stay() {
    let folder = Folder::new("links");
    let (path, link) = (folder.join("a.profundo"), folder.join("link"));
    fs::write(&path, "").unwrap();
    std::os::unix::fs::symlink(&path, &link).unwrap();
    write_file(&link, &small::small()).unwrap();
    assert!(fs::symlink_metadata(&link).unwrap().is_symlink());
    let (behind, warnings) = read_file(&path).unwrap();
    assert_eq!((dump(&behind), warnings), (dump(&small::small()), vec![]));
    write_file("/dev/null", &small::small()).unwrap();
    assert!(!fs::metadata("/dev/null").unwrap().is_file());
}

#[test]
fn errors_name_the_path() {
    let folder = Folder::new("errors");
    let missing = folder.join("missing").join("a.profundo");
    let shown = missing.display();
    let error = write_file(&missing, &small::small()).unwrap_err();
    assert_eq!(error.to_string(), format!("cannot create {shown}"));
    assert_eq!(
        read_file(&missing).unwrap_err().to_string(),
        format!("cannot read {shown}")
    );
    let text = folder.join("text");
    fs::write(&text, "some text that is long enough").unwrap();
    let error = read_file(&text).unwrap_err();
    assert_eq!(error.to_string(), format!("cannot use {}", text.display()));
    let cause = std::error::Error::source(&error).unwrap().to_string();
    assert!(cause.starts_with("not a profundo file"));
}

#[test]
fn a_recording_says_what_it_is_about() {
    let folder = Folder::new("overview");
    let path = folder.join("a.profundo");
    let mut profile = small::small();
    profile.meta.started_at_unix = 1_234_567_890;
    for process in &mut profile.processes {
        process.user.get_or_insert(Nanos(1));
    }
    write_file(&path, &profile).unwrap();
    assert_eq!(begun_file(&path), Some(1_234_567_890));
    let overview = overview_file(&path).unwrap();
    assert_eq!(overview.meta, profile.meta);
    let command = profile.strings.get(profile.processes[0].command);
    assert_eq!(overview.command.as_deref(), Some(command));
    assert!(overview.is_whole && overview.holds.samples);
    let (user, system) = profile.cpu_used().unwrap();
    assert_eq!(overview.cpu, Some(Nanos(user.0 + system.0)));
    assert!(!is_being_written(&path));

    // Wherever it is cut, it gives the facts before the cut.
    let whole = fs::read(&path).unwrap();
    for length in 0..whole.len() {
        fs::write(&path, &whole[..length]).unwrap();
        match overview_file(&path) {
            Ok(overview) => assert!(!overview.is_whole, "{length}"),
            Err(error) => assert!(length < 16, "{length}: {error}"),
        }
    }
    for length in [0, 16, whole.len() / 2] {
        let mut odd = whole.clone();
        odd[length] ^= 0x40;
        fs::write(&path, &odd).unwrap();
        // No input makes it panic.
        let _ = (overview_file(&path), begun_file(&path));
    }
}

#[test]
fn a_file_is_being_written_until_its_writer_is_gone() {
    let folder = Folder::new("written");
    let path = folder.join("a.profundo");
    let writer = create_file(&path, &Meta::default()).unwrap();
    assert!(is_being_written(&path));
    assert!(is_being_written(&path), "asking changes nothing");
    drop(writer);
    assert!(!is_being_written(&path));
}
