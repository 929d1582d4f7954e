//! Warnings on stderr.

use std::io::Write;

/// Warns on stderr.
pub(crate) fn warn(sentence: &str) {
    // A failed write to stderr cannot be reported.
    let _ = writeln!(std::io::stderr(), "Warning: {sentence}");
}
