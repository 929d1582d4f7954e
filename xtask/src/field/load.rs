//! Busy processes beside the programs under test, like other users' load.

use std::process::{Child, Command, Stdio, id};

use anyhow::{Context, Result};

/// Processes that keep the processors busy until this is dropped, or until we exit.
#[derive(Debug)]
pub struct Load(Vec<Child>);

impl Load {
    /// Starts this many processes.
    pub fn start(count: usize) -> Result<Self> {
        let line = format!(
            "while kill -0 {} 2>/dev/null; do i=0; while [ $i -lt 100000 ]; do i=$((i+1)); done; done",
            id()
        );
        let mut load = Self(Vec::new());
        for _ in 0..count {
            let child = Command::new("sh")
                .args(["-c", &line])
                .stdin(Stdio::null())
                .spawn()
                .context("cannot start sh")?;
            load.0.push(child);
        }
        Ok(load)
    }
}

impl Drop for Load {
    fn drop(&mut self) {
        for child in &mut self.0 {
            // The process may have ended by itself.
            let _ = child.kill();
            let _ = child.wait();
        }
    }
}
