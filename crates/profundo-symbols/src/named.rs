//! A named frame in plain text: the result of a lookup, before it becomes rows of a profile, and
//! the input of a line correction.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;

use profundo_model::Language;

/// A function at a line. Texts are shared: many addresses lie in one function.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct NamedFrame {
    /// The function's path without parameters; empty where it is unknown.
    pub function: Arc<str>,
    /// The name with its parameters or generics, where more than `function` is known; else empty.
    pub signature: Arc<str>,
    /// The source file, or the module's path where only that is known.
    pub file: Arc<str>,
    /// The line, from 1; 0 where it is unknown.
    pub line: u32,
    /// The owner of the code.
    pub language: Language,
    /// Whether the compiler inlined this function into the next outer frame.
    pub inlined: bool,
}

impl NamedFrame {
    /// The frame of an address that was looked up in vain.
    pub(crate) fn unknown(module_path: &str) -> Self {
        Self {
            function: "".into(),
            signature: "".into(),
            file: module_path.into(),
            line: 0,
            language: Language::Native,
            inlined: false,
        }
    }
}

/// A callback that may rewrite the frames of one address (innermost first) after the lookup, so
/// that lines match files that were edited since. It may be called from several threads.
pub type LineCorrection = dyn Fn(&mut [NamedFrame]) + Send + Sync;

/// The frames after `correction`. If it panics, they are unchanged.
pub(crate) fn corrected(frames: &[NamedFrame], correction: &LineCorrection) -> Vec<NamedFrame> {
    let mut rewritten = frames.to_vec();
    match catch_unwind(AssertUnwindSafe(|| correction(&mut rewritten))) {
        Ok(()) => rewritten,
        Err(_) => frames.to_vec(),
    }
}
