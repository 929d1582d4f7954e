//! A test that this machine cannot run is skipped, not passed. It says so and returns.

use std::fs::OpenOptions;
use std::io::Write;

/// Names the file that `cargo xtask test` reads (`xtask/src/test/runner.rs`).
const SKIP_FILE: &str = "PROFUNDO_SKIP_FILE";

/// Says why a test, or a part of it, was skipped: as a line of the file that the environment names
/// in `PROFUNDO_SKIP_FILE`, and on standard error for those who run the test by hand.
///
/// The test returns after that:
///
/// ```
/// # fn a_test() {
/// if !std::path::Path::new("/proc/self/io").exists() {
///     return profundo_testing::skip("the kernel does not count what processes read and write");
/// }
/// # }
/// # a_test();
/// ```
#[track_caller]
pub fn skip(why: &str) {
    let line = format!("skipped: {why}\n");
    // Not by `eprintln`, which a test runner keeps to itself as long as the test passes. A program
    // whose standard error is closed loses the line.
    let _ = std::io::stderr().write_all(line.as_bytes());
    if let Some(path) = std::env::var_os(SKIP_FILE) {
        let file = OpenOptions::new().append(true).create(true).open(&path);
        // One write, so that the lines of several tests do not mix.
        let written = file.and_then(|mut file| file.write_all(line.as_bytes()));
        if let Err(error) = written {
            panic!("cannot write to {}: {error}", path.display());
        }
    }
}
