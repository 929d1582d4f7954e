//! `-` as a file name is standard output. Output that has to be a file while it is made is made
//! elsewhere first.

use std::fs::{self, DirBuilder, File};
use std::io::{self, IsTerminal, Write};
use std::os::unix::fs::DirBuilderExt;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail};

use super::Refused;

/// True if this path names standard output.
pub fn is_stdout(path: &Path) -> bool {
    path == Path::new("-")
}

/// A temporary file for standard output, which is copied there when it is complete.
#[derive(Debug)]
pub struct Detour {
    path: PathBuf,
    is_ours: bool,
}

impl Detour {
    /// The writer for output of this name. Binary output is refused on a terminal.
    pub fn of(named: &Path, what: &str) -> Result<Self> {
        if !is_stdout(named) {
            let path = named.to_owned();
            return Ok(Self {
                path,
                is_ours: false,
            });
        }
        if io::stdout().is_terminal() {
            bail!(Refused(format!(
                "a {what} is nothing to look at on a terminal; name a file, or send the standard output elsewhere"
            )));
        }
        // In a shared folder, no other user may read it, or have created it before.
        let name = format!(".profundo-stdout.{}", std::process::id());
        let folder = std::env::temp_dir().join(name);
        let made = DirBuilder::new().mode(0o700).create(&folder);
        made.with_context(|| format!("cannot make the folder {}", folder.display()))?;
        Ok(Self {
            path: folder.join(what.replace(' ', "-")),
            is_ours: true,
        })
    }

    /// The path that is written.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// True if the output goes to standard output.
    pub fn is_stdout(&self) -> bool {
        self.is_ours
    }

    /// Its name in messages.
    pub fn shown(&self) -> String {
        match self.is_ours {
            true => "the standard output".into(),
            false => self.path.display().to_string(),
        }
    }

    /// Copies the complete file to its destination.
    pub fn arrive(self) -> Result<()> {
        if !self.is_ours {
            return Ok(());
        }
        let mut out = io::stdout().lock();
        let mut file = File::open(&self.path).context("cannot read what was written")?;
        io::copy(&mut file, &mut out)
            .and_then(|_| out.flush())
            .context("cannot write to the standard output")
    }
}

impl Drop for Detour {
    fn drop(&mut self) {
        if self.is_ours {
            // The folder has nothing else in it.
            let _ = self.path.parent().map(fs::remove_dir_all);
        }
    }
}
