//! The targets of a release, as data: what is published for each, or why nothing is.

use anyhow::{Context, Result};

use crate::processor::Processor;

/// A target that a release could have.
pub struct Target {
    /// Its name for the compiler, and in the names of files.
    pub triple: &'static str,
    /// The oldest glibc on which the command runs; `None` for a static command.
    pub glibc: Option<(u32, u32)>,
    /// The target whose agent the command carries. A static command has none of its own target.
    pub agent_of: &'static str,
    /// Whether `.deb`, `.rpm` and a package for PyPI are made of this command.
    pub has_packages: bool,
    /// The sentence in place of a release.
    pub unpublished: Option<&'static str>,
    /// Without a release, the crates of which the types are checked for the target.
    pub checked: &'static [&'static str],
}

/// The crates that read our files and report.
const READERS: &[&str] = &[
    "profundo-analysis",
    "profundo-disassembly",
    "profundo-formats",
    "profundo-model",
    "profundo-report",
    "profundo-tables",
];

/// The same for a system of Unix: those that read the files of other tools, too.
const READERS_OF_UNIX: &[&str] = &[
    "profundo-analysis",
    "profundo-disassembly",
    "profundo-formats",
    "profundo-import",
    "profundo-model",
    "profundo-report",
    "profundo-tables",
];

/// Every target, the first of which is that of the Python package.
pub const TARGETS: &[Target] = &[
    Target {
        triple: "x86_64-unknown-linux-gnu",
        glibc: Some((2, 17)),
        agent_of: "x86_64-unknown-linux-gnu",
        has_packages: true,
        unpublished: None,
        checked: &[],
    },
    Target {
        triple: "x86_64-unknown-linux-musl",
        glibc: None,
        agent_of: "x86_64-unknown-linux-gnu",
        has_packages: false,
        unpublished: None,
        checked: &[],
    },
    Target {
        triple: "aarch64-unknown-linux-gnu",
        glibc: Some((2, 17)),
        agent_of: "aarch64-unknown-linux-gnu",
        has_packages: true,
        unpublished: None,
        checked: &[],
    },
    Target {
        triple: "x86_64-apple-darwin",
        glibc: None,
        agent_of: "x86_64-apple-darwin",
        has_packages: false,
        unpublished: Some(
            "the crates that read and report type-check there, but the command cannot leave out yet \
             what records: profundo-probe and all above it are of Linux",
        ),
        checked: READERS_OF_UNIX,
    },
    Target {
        triple: "x86_64-pc-windows-gnu",
        glibc: None,
        agent_of: "x86_64-pc-windows-gnu",
        has_packages: false,
        unpublished: Some(
            "as on macOS, and five crates that read use descriptors and modes of Unix: jit, \
             symbols, view, console and probe",
        ),
        checked: READERS,
    },
];

impl Target {
    /// The target as zig wants it, with the oldest glibc.
    pub fn for_zig(&self) -> String {
        match self.glibc {
            Some((major, minor)) => format!("{}.{major}.{minor}", self.triple),
            None => self.triple.to_owned(),
        }
    }

    /// The processor of its programs.
    pub fn processor(&self) -> Result<&'static Processor> {
        let processor = Processor::of(self.triple);
        processor.with_context(|| format!("the processor of {} is not known", self.triple))
    }

    /// The machines on which the command runs, for the reader of the archive.
    pub fn machines(&self) -> String {
        let processor = self.triple.split('-').next().unwrap_or_default();
        let processor = processor.replace('_', "-");
        match self.glibc {
            Some((major, minor)) => format!("Linux on {processor}, glibc {major}.{minor} or newer"),
            None => format!("Linux on {processor}, with any C library or none"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_target_is_named_for_zig_and_for_people() {
        let [gnu, musl, ..] = TARGETS else {
            panic!("there are targets")
        };
        assert_eq!(gnu.for_zig(), "x86_64-unknown-linux-gnu.2.17");
        assert_eq!(gnu.machines(), "Linux on x86-64, glibc 2.17 or newer");
        assert_eq!(musl.for_zig(), musl.triple);
        assert_eq!(
            musl.machines(),
            "Linux on x86-64, with any C library or none"
        );
    }
}
