//! `-` as the name of a file is the standard output. What has to be a file while it is made takes a detour.

use std::fs::{self, DirBuilder, File};
use std::io::{self, IsTerminal, Write};
use std::os::unix::fs::DirBuilderExt;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail};

use super::Refused;

/// Whether this names the standard output.
pub fn is_stdout(path: &Path) -> bool {
    path == Path::new("-")
}

/// A file that is made elsewhere, if it is to go to the standard output, and is copied there when it is whole.
#[derive(Debug)]
pub struct Detour {
    path: PathBuf,
    is_ours: bool,
}

impl Detour {
    /// Where to write what was named so. Nobody wants such bytes on a terminal.
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
        // In a folder of everybody's nobody else is to look into it, or to have made it before.
        let name = format!(".profundo-stdout.{}", std::process::id());
        let folder = std::env::temp_dir().join(name);
        let made = DirBuilder::new().mode(0o700).create(&folder);
        made.with_context(|| format!("cannot make the folder {}", folder.display()))?;
        Ok(Self {
            path: folder.join(what.replace(' ', "-")),
            is_ours: true,
        })
    }

    /// Where it is written.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Whether it goes to the standard output.
    pub fn is_stdout(&self) -> bool {
        self.is_ours
    }

    /// How to speak of it.
    pub fn shown(&self) -> String {
        match self.is_ours {
            true => "the standard output".into(),
            false => self.path.display().to_string(),
        }
    }

    /// It is whole: copies it to where it was to go.
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
            // Nothing else is in it.
            let _ = self.path.parent().map(fs::remove_dir_all);
        }
    }
}
