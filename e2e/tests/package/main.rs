//! The Python package's own tests (`python/tests`), with the oldest and the newest Python that are
//! here. `PROFUNDO_E2E_ALL=1` runs them on every version.

use std::path::Path;
use std::process::{Command, Stdio};

use profundo_e2e::sys::note;
use profundo_testing::{Python, profundo, pythons, skip, wants_all_pythons};

#[test]
fn the_package_passes_its_tests() {
    let present = pythons();
    let [oldest, .., newest] = present else {
        return match present {
            [only] => check(only),
            _ => skip("there is no CPython from 3.8 to 3.15"),
        };
    };
    match wants_all_pythons() {
        true => present.iter().for_each(check),
        false => [oldest, newest].into_iter().for_each(check),
    }
}

fn check(python: &Python) {
    let package = Path::new(env!("CARGO_MANIFEST_DIR")).join("../python");
    let output = Command::new(&python.path)
        .args(["-m", "unittest", "discover", "--start-directory"])
        .arg(package.join("tests"))
        .env("PYTHONPATH", package.join("src"))
        .env("PYTHONDONTWRITEBYTECODE", "1")
        .env("PROFUNDO_BINARY", profundo())
        .env("PROFUNDO_NO_CONFIG", "1")
        .env_remove("PROFUNDO_DIR")
        .stdin(Stdio::null())
        .output()
        .unwrap();
    let said = String::from_utf8_lossy(&output.stderr);
    note(&format!(
        "{}: {}",
        python.path.display(),
        said.trim().lines().last().unwrap_or_default()
    ));
    let (major, minor) = python.version;
    assert!(output.status.success(), "Python {major}.{minor}:\n{said}");
    // A run that finds no tests succeeds too.
    assert!(
        said.contains("\nRan ") && !said.contains("\nRan 0 "),
        "{said}"
    );
}
