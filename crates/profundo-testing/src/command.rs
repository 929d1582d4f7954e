//! The command under test, for tests of other packages than its own.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::OnceLock;

/// The path of `profundo`. It is built once, by the cargo and in the profile that built the tests;
/// `PROFUNDO_COMMAND` names another one.
///
/// The tests of `profundo-cli` itself have it from cargo, as `CARGO_BIN_EXE_profundo`.
#[track_caller]
pub fn profundo() -> &'static Path {
    static BUILT: OnceLock<PathBuf> = OnceLock::new();
    BUILT.get_or_init(|| match std::env::var_os("PROFUNDO_COMMAND") {
        Some(path) => path.into(),
        None => build(),
    })
}

fn build() -> PathBuf {
    // `<target>/<profile>/deps/<this test>`
    let here = std::env::current_exe().unwrap();
    let [_, _, profile, target, ..] = here.ancestors().collect::<Vec<_>>()[..] else {
        panic!("{} is not where cargo puts tests", here.display());
    };
    let cargo = std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
    let mut command = Command::new(cargo);
    command
        .args(["build", "--quiet", "--package", "profundo-cli"])
        .args(["--bin", "profundo"])
        .arg("--target-dir")
        .arg(target)
        .current_dir(env!("CARGO_MANIFEST_DIR"));
    if profile.file_name().is_some_and(|name| name == "release") {
        command.arg("--release");
    }
    let status = command.status().unwrap();
    assert!(status.success(), "profundo-cli does not build: {status}");
    profile.join("profundo")
}
