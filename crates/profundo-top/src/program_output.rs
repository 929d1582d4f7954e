//! While a page is shown, the program's output goes to a file: on the terminal it would tear the
//! page.

use std::fs::{File, OpenOptions};
use std::io;
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result};
use profundo_console::output;
use profundo_launch::Streams;

/// The file of the program's output.
#[derive(Debug)]
pub struct ProgramOutput {
    path: PathBuf,
    /// True if the user named the file.
    is_named: bool,
}

impl ProgramOutput {
    /// Opens the named file, or a new one, with the streams for the program.
    pub fn create(named: Option<&Path>, program: &str, force: bool) -> Result<(Self, Streams)> {
        let (file, path) = match named {
            Some(path) => {
                output::check(path, output::Kind::Printed, &[], force)
                    .context("nothing was run")?;
                let file = File::create(path);
                let why = || format!("nothing was run: cannot write {}", path.display());
                (file.with_context(why)?, path.to_owned())
            }
            None => new_file(&std::env::temp_dir(), program)
                .context("nothing was run: cannot make a file for the program's output")?,
        };
        let input = File::open("/dev/null").context("cannot open /dev/null")?;
        let streams = Streams {
            input: input.into(),
            output: file.into(),
        };
        let is_named = named.is_some();
        Ok((Self { path, is_named }, streams))
    }

    /// The path of the file.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// The path of the file if it has output; an empty file of ours is removed.
    pub fn keep(&self) -> Option<&Path> {
        let is_empty = std::fs::metadata(&self.path).is_ok_and(|file| file.len() == 0);
        if is_empty && !self.is_named {
            // A file that cannot be removed stays.
            let _ = std::fs::remove_file(&self.path);
        }
        (!is_empty).then_some(&*self.path)
    }
}

/// A new file that only we can read: in a shared folder, no other user may have created it before.
fn new_file(folder: &Path, program: &str) -> io::Result<(File, PathBuf)> {
    let pid = std::process::id();
    let mut last = io::ErrorKind::AlreadyExists.into();
    for number in 0..100 {
        let more = match number {
            0 => String::new(),
            number => format!(".{number}"),
        };
        let path = folder.join(format!("profundo-top.{program}.{pid}{more}.out"));
        // In append mode, so that both outputs of the program do not overwrite each other.
        let file = OpenOptions::new()
            .append(true)
            .create_new(true)
            .mode(0o600)
            .open(&path);
        match file {
            Ok(file) => return Ok((file, path)),
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => last = error,
            Err(error) => return Err(error),
        }
    }
    Err(last)
}
