//! The commands' common parts at the terminal: options, sentences on stderr, the progress of long
//! work, and the destination of output.
//!
//! An option means the same in every command ([`options`]). Every message of a command begins with
//! `profundo:` and is one sentence ([`stderr`]). Long work shows its progress on a terminal
//! ([`progress`]). Output replaces no file of another kind ([`output`]).
//!
//! What this is not for: the text of reports, which is in `profundo-report`.

#![forbid(unsafe_code)]

pub mod completing;
pub mod options;
pub mod output;
pub mod progress;
pub mod stderr;
