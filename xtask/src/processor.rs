//! The processors that we publish for: how this machine looks into programs of theirs, and runs
//! them.

use std::env::consts::ARCH;
use std::path::Path;
use std::process::{Command, Stdio};

use anyhow::{Result, ensure};

/// A processor, by its name in a target.
pub struct Processor {
    pub name: &'static str,
    /// What Debian puts before the names of the tools for its programs.
    prefix: &'static str,
    /// The emulator of one program, with its arguments.
    emulator: &'static [&'static str],
    /// The packages of Debian that have both.
    packages: &'static str,
}

const PROCESSORS: &[Processor] = &[
    Processor {
        name: "x86_64",
        prefix: "x86_64-linux-gnu-",
        emulator: &["qemu-x86_64-static", "-L", "/usr/x86_64-linux-gnu"],
        packages: "binutils-x86-64-linux-gnu, libc6-amd64-cross and qemu-user-static",
    },
    Processor {
        name: "aarch64",
        prefix: "aarch64-linux-gnu-",
        emulator: &["qemu-aarch64-static", "-L", "/usr/aarch64-linux-gnu"],
        packages: "binutils-aarch64-linux-gnu, libc6-arm64-cross and qemu-user-static",
    },
];

impl Processor {
    /// The processor of a target.
    pub fn of(triple: &str) -> Option<&'static Self> {
        let name = triple.split('-').next()?;
        PROCESSORS.iter().find(|it| it.name == name)
    }

    /// Whether this machine has it.
    pub fn is_here(&self) -> bool {
        self.name == ARCH
    }

    /// A tool of binutils that reads its programs.
    pub fn tool(&self, name: &str) -> Command {
        match self.is_here() {
            true => Command::new(name),
            false => Command::new(format!("{}{name}", self.prefix)),
        }
    }

    /// A program that was built for it, which this machine runs.
    pub fn program(&self, path: &Path) -> Command {
        match (self.is_here(), self.emulator) {
            (false, [emulator, arguments @ ..]) => {
                let mut command = Command::new(emulator);
                command.args(arguments).arg(path);
                command
            }
            _ => Command::new(path),
        }
    }

    /// Fails if this machine cannot look into its programs, or cannot run them.
    pub fn check(&self) -> Result<()> {
        if self.is_here() {
            return Ok(());
        }
        let emulator = self.emulator.first().copied().unwrap_or_default();
        for mut tool in [self.tool("objcopy"), Command::new(emulator)] {
            tool.arg("--version").stdout(Stdio::null());
            ensure!(
                tool.status().is_ok_and(|status| status.success()),
                "programs for {} need the packages {}",
                self.name,
                self.packages
            );
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_program_of_another_processor_is_emulated() {
        let other = PROCESSORS.iter().find(|it| !it.is_here()).unwrap();
        let command = other.program(Path::new("/x"));
        assert_eq!(command.get_program(), other.emulator[0]);
        assert_eq!(command.get_args().last().unwrap(), "/x");
        let here = Processor::of(&format!("{ARCH}-unknown-linux-gnu"));
        let here = here.filter(|it| it.is_here());
        let command = here.map(|it| it.program(Path::new("/x")));
        assert!(command.is_none_or(|command| command.get_program() == "/x"));
        assert!(Processor::of("sparc-unknown").is_none());
    }
}
