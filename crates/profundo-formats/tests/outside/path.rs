//! Exports by path: whole under their name, or not at all.

use std::fs;
use std::path::{Path, PathBuf};

use profundo_formats::Error;
use profundo_formats::export::{Format, Merge, Options, Weights, to_path};
use profundo_model::Profile;
use profundo_testing::skip;

use crate::{made, tools};

fn folder(name: &str) -> PathBuf {
    let folder = tools::folder().join(format!("path-{name}"));
    let _ = fs::remove_dir_all(&folder);
    fs::create_dir_all(&folder).unwrap();
    folder
}

fn export(profile: &Profile, format: Option<Format>, path: &Path) -> Result<(), Error> {
    to_path(profile, format, &Options::default(), path)
}

#[test]
fn the_format_follows_from_the_ending() {
    let folder = folder("ending");
    let profile = made::odd();
    for (name, start) in [
        ("a.pb.gz", &b"\x1f\x8b"[..]),
        ("a.pprof", b"\x1f\x8b"),
        ("a.folded", b"<module> ("),
        ("a.speedscope.json", b"{\"$schema\""),
        ("A.SVG", b"<?xml"),
    ] {
        let path = folder.join(name);
        export(&profile, None, &path).unwrap();
        let bytes = fs::read(&path).unwrap();
        let shown = String::from_utf8_lossy(&bytes[..20]);
        assert!(bytes.starts_with(start), "{name}: {shown}");
        // The second export replaces the first.
        export(&profile, None, &path).unwrap();
    }
    assert_eq!(fs::read_dir(&folder).unwrap().count(), 5);
    let error = export(&profile, None, &folder.join("a.out")).unwrap_err();
    assert!(error.to_string().contains("does not tell the format"));
    let error = "xml".parse::<Format>().unwrap_err();
    let expected = "xml is not known: it is pprof, collapsed, speedscope, flame, graph, dot, square, pstats, callgrind, lprof, chrome, firefox, cpuprofile, heapprofile, perf-script, massif, dhat, vega-lite, jlprof or otlp";
    assert_eq!(error.to_string(), expected);
    assert_eq!("time".parse::<Weights>().unwrap(), Weights::Time);
    assert_eq!("line".parse::<Merge>().unwrap(), Merge::Line);
    let error = "lines".parse::<Merge>().unwrap_err();
    assert_eq!(
        error.to_string(),
        "lines is not known: it is function or line"
    );
    let error = "x".parse::<Weights>().unwrap_err();
    assert_eq!(error.to_string(), "x is not known: it is samples or time");
    for &format in Format::ALL {
        assert_eq!(format.name().parse::<Format>().unwrap(), format);
        let name = format!("x.{}", format.extension());
        assert_eq!(Format::of_path(Path::new(&name)), Some(format));
    }
    // A name that is nothing but an ending has none.
    assert_eq!(Format::of_path(Path::new("svg")), None);
}

#[test]
fn a_full_disk_leaves_what_was_there() {
    // A device that is always full, written directly.
    let error = export(&made::odd(), Some(Format::PPROF), Path::new("/dev/full")).unwrap_err();
    let is_write = |error: &Error| {
        matches!(
            error,
            Error::File {
                action: "write",
                ..
            }
        )
    };
    assert!(is_write(&error), "{error}");

    // A disk that fills up on the way.
    let folder = folder("full");
    let mounted = std::process::Command::new("mount")
        .args(["-t", "tmpfs", "-o", "size=64k", "tmpfs"])
        .arg(&folder)
        .stderr(std::process::Stdio::null())
        .status();
    if !mounted.is_ok_and(|status| status.success()) {
        return skip("no right to mount a small disk to fill");
    }
    let path = folder.join("x.folded");
    fs::write(&path, "old").unwrap();
    let result = export(&made::large(20_000), None, &path);
    let old = fs::read_to_string(&path);
    let names = fs::read_dir(&folder).unwrap().count();
    // A child that another test has just forked has our files open until its exec.
    let unmounted = (0..50).any(|_| {
        std::thread::sleep(std::time::Duration::from_millis(20));
        let status = std::process::Command::new("umount").arg(&folder).status();
        status.unwrap().success()
    });
    assert!(unmounted);
    let error = result.unwrap_err();
    assert!(is_write(&error), "{error}");
    assert_eq!((old.unwrap().as_str(), names), ("old", 1));
}

#[test]
fn a_place_that_is_not_there_is_said() {
    let path = folder("nowhere").join("missing/x.svg");
    let error = export(&made::odd(), None, &path).unwrap_err();
    assert!(error.to_string().starts_with("cannot create "), "{error}");
}

#[test]
fn links_are_followed_and_modes_kept() {
    use std::os::unix::fs::{PermissionsExt, symlink};
    let folder = folder("links");
    let (real, link) = (folder.join("real.svg"), folder.join("link.svg"));
    fs::write(&real, "old").unwrap();
    fs::set_permissions(&real, fs::Permissions::from_mode(0o640)).unwrap();
    symlink(&real, &link).unwrap();
    export(&made::odd(), None, &link).unwrap();
    assert!(fs::symlink_metadata(&link).unwrap().is_symlink());
    let mode = fs::metadata(&real).unwrap().permissions().mode();
    assert_eq!(mode & 0o777, 0o640);
    assert!(fs::read_to_string(&real).unwrap().starts_with("<?xml"));
}
