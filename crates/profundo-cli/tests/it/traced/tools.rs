//! Other people's programs: found, or fetched once, or the test is skipped with its reason.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::OnceLock;

/// Each CPython of this machine that is supported.
pub fn pythons() -> Vec<PathBuf> {
    let present = profundo_testing::pythons().iter();
    present.map(|python| python.path.clone()).collect()
}

/// The output of a program, which must succeed.
#[track_caller]
pub fn printed(command: &mut Command) -> String {
    let output = command.output().unwrap();
    let errors = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{command:?}: {errors}");
    String::from_utf8(output.stdout).unwrap()
}

/// A Python of our own with packages from PyPI, made once and kept from run to run; or why there is
/// none.
pub fn python_with(name: &str, packages: &[&str]) -> Result<PathBuf, String> {
    let python = profundo_testing::python().ok_or("there is no Python")?;
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("venv-{name}"));
    let ours = folder.join("bin/python");
    // Written last, so that what was broken off is done again.
    let done = folder.join("done");
    if fs::read_to_string(&done).is_ok_and(|installed| installed == packages.join(" ")) {
        return Ok(ours);
    }
    let run = |command: &mut Command| {
        let output = command.output().map_err(|error| error.to_string())?;
        match output.status.success() {
            true => Ok(()),
            false => Err(String::from_utf8_lossy(&output.stderr).into_owned()),
        }
    };
    let _ = fs::remove_dir_all(&folder);
    run(Command::new(python).args(["-m", "venv"]).arg(&folder))?;
    let mut pip = Command::new(&ours);
    pip.args([
        "-m",
        "pip",
        "install",
        "--quiet",
        "--disable-pip-version-check",
    ]);
    run(pip.args(packages)).map_err(|error| {
        let last = error.trim_end().lines().last().unwrap_or_default();
        format!("{} cannot be fetched: {last}", packages.join(" and "))
    })?;
    fs::write(done, packages.join(" ")).unwrap();
    Ok(ours)
}

/// `callgrind_annotate`, which comes with Valgrind.
pub fn callgrind_annotate() -> Option<&'static Path> {
    static FOUND: OnceLock<Option<PathBuf>> = OnceLock::new();
    let found = FOUND.get_or_init(|| {
        let path = std::env::var_os("PATH")?;
        let mut programs =
            std::env::split_paths(&path).map(|folder| folder.join("callgrind_annotate"));
        programs.find(|program| program.is_file())
    });
    found.as_deref()
}
