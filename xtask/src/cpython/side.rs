//! A module's tests, run by CPython's own runner.

use std::process::Command;

use anyhow::Result;

use super::Module;
use crate::sides::{Folder, Tests};

/// The limit of a single test in seconds: then its runner prints where it hangs, and exits.
const TEST_LIMIT: &str = "300";

impl Tests for Module {
    const LIMIT: &'static str = "1500";

    fn prepare(&self, folder: &Folder, command: &mut Command) -> Result<()> {
        command.arg(&self.python.path);
        command.args(["-m", "test", "--timeout", TEST_LIMIT, "--junit-xml"]);
        command.arg(folder.xml());
        command.arg("--tempdir").arg(folder.temporary());
        for name in &self.only {
            command.args(["-m", name]);
        }
        for name in &self.without {
            command.args(["-i", name]);
        }
        command.arg(&self.name);
        Ok(())
    }
}
