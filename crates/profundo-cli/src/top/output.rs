//! What a program says while a page is shown goes to a file: on the terminal it would tear the page.

use std::fs::{File, OpenOptions};
use std::io;
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result};

use crate::launch::Streams;
use crate::output;

/// The file.
#[derive(Debug)]
pub struct Output {
    path: PathBuf,
    /// Whether the reader named it.
    is_named: bool,
}

impl Output {
    /// The file that was named, or a new one, and what the program is started with.
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

    /// Where it is.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Where it is, if there is anything in it; one of ours without anything is removed.
    pub fn keep(&self) -> Option<&Path> {
        let is_empty = std::fs::metadata(&self.path).is_ok_and(|it| it.len() == 0);
        if is_empty && !self.is_named {
            // What cannot be removed stays.
            let _ = std::fs::remove_file(&self.path);
        }
        (!is_empty).then_some(&*self.path)
    }
}

/// A new file for us alone: in a folder of everybody's, nobody may have made it before.
fn new_file(folder: &Path, program: &str) -> io::Result<(File, PathBuf)> {
    let pid = std::process::id();
    let mut last = io::ErrorKind::AlreadyExists.into();
    for number in 0..100 {
        let more = match number {
            0 => String::new(),
            number => format!(".{number}"),
        };
        let path = folder.join(format!("profundo-top.{program}.{pid}{more}.out"));
        // Appending, so that both outputs of the program come one after the other.
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
