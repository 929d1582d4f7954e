//! The meaning of counters that a compiler has put into a program: the calls of each function, and
//! the runs of each line.
//!
//! LLVM (`rustc -Cinstrument-coverage`, `clang -fprofile-instr-generate`) leaves a map from
//! counters to places of the source in the program's file: see `llvm`. gcc (`--coverage`) leaves it
//! in files beside the objects: see `gcno`. The counters themselves come from the process, and are
//! given here as numbers.

mod cursor;
mod flow;
#[doc(hidden)]
pub mod fuzzing;
mod gcno;
mod lines;
mod llvm;
mod mapping;
mod md5;

use std::path::PathBuf;

pub use gcno::{GccFunction, GccNotes};
pub use llvm::LlvmMap;

/// A function with the counts of its calls and lines.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct CountedFunction {
    /// Its readable name.
    pub name: String,
    /// True for a Rust function.
    pub is_rust: bool,
    /// Its file; empty where only its name is known.
    pub file: String,
    /// Its first line, or 0.
    pub line: u32,
    /// The number of calls.
    pub calls: u64,
    /// The number of instances of a generic function in the sum.
    pub instances: u32,
    /// Its lines with code, with their counts.
    pub lines: Vec<(u32, u64)>,
}

/// The reason why counters have no meaning.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum Uncounted {
    /// The file cannot be read.
    #[error("{} cannot be read", .0.display())]
    Gone(PathBuf),
    /// The compiler's format is unknown.
    #[error("version {version} of {format} is not known to this profundo")]
    UnknownVersion {
        /// The format's name.
        format: &'static str,
        /// Its version, as the compiler writes it.
        version: String,
    },
    /// The counters are of a kind that does not count.
    #[error("they are of a kind that is not read ({0})")]
    UnknownKind(&'static str),
    /// The file is of another build than the program that ran.
    #[error("{} is of another build", .0.display())]
    OtherBuild(PathBuf),
    /// The file is damaged.
    #[error("{} is damaged", .0.display())]
    Damaged(PathBuf),
}

/// A name without the arguments of an instance: `list::sort::<u8>`, `sort<int>`.
fn general(name: &str) -> &str {
    let Some(inner) = name.strip_suffix('>') else {
        return name;
    };
    let mut depth = 1;
    for (at, letter) in inner.char_indices().rev() {
        match letter {
            '>' if !inner[..at].ends_with('-') => depth += 1,
            '<' => depth -= 1,
            _ => {}
        }
        if depth == 0 {
            let head = inner[..at].trim_end_matches("::");
            // `<A as B>` is no instance, and `operator<` is a name.
            return match head.is_empty() || head.ends_with("operator") {
                true => name,
                false => head,
            };
        }
    }
    name
}

#[cfg(test)]
mod tests;
