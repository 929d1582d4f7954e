//! Which file a command line means, as a shell would find it. It is found before the fork, so that
//! what cannot be started is said in one sentence.

use std::ffi::{OsStr, OsString};
use std::fs;
use std::io;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use anyhow::{Result, anyhow, bail};

/// A program that can be executed, or so it seems.
#[derive(Debug, Clone)]
pub struct Program {
    /// The file.
    pub path: PathBuf,
    /// Its arguments, the zeroth being its name as it was typed.
    pub arguments: Vec<OsString>,
    /// What to call it in the recording's file name.
    pub name: String,
}

impl Program {
    /// The program of a command line.
    pub fn find(words: &[OsString]) -> Result<Self> {
        let (first, rest) = words
            .split_first()
            .ok_or_else(|| anyhow!("no program was named"))?;
        let name = Path::new(first)
            .file_name()
            .map_or_else(|| "program".into(), |name| name.to_string_lossy());
        if let Some(python) = python_for(first)? {
            let mut arguments = vec![python.clone(), first.clone()];
            arguments.extend_from_slice(rest);
            let path = search(&python)?
                .ok_or_else(|| anyhow!("python3, which runs {}, is not in PATH", shown(first)))?;
            let stem = name.strip_suffix(".py").unwrap_or(&name);
            return Ok(Self::new(path, arguments, stem));
        }
        let path = if first.as_bytes().contains(&b'/') {
            check(Path::new(first))?;
            PathBuf::from(first)
        } else {
            search(first)?.ok_or_else(|| nowhere(first))?
        };
        Ok(Self::new(path, words.to_vec(), &name))
    }

    fn new(path: PathBuf, arguments: Vec<OsString>, name: &str) -> Self {
        // It becomes a part of a file's name.
        let name = name
            .chars()
            .map(|c| {
                if c.is_control() || c == '/' || c == ' ' {
                    '_'
                } else {
                    c
                }
            })
            .take(60)
            .collect();
        Self {
            path,
            arguments,
            name,
        }
    }
}

/// The interpreter, if the word names a file of Python source.
fn python_for(word: &OsStr) -> Result<Option<OsString>> {
    let path = Path::new(word);
    if path.extension() != Some(OsStr::new("py")) {
        return Ok(None);
    }
    match fs::metadata(path) {
        Ok(metadata) if metadata.is_file() => Ok(Some("python3".into())),
        Ok(_) => bail!("{} is not a file", shown(word)),
        // It may still be a command of that name.
        Err(error) if error.kind() == io::ErrorKind::NotFound => {
            if !word.as_bytes().contains(&b'/') && search(word)?.is_some() {
                return Ok(None);
            }
            bail!("there is no file {}", shown(word))
        }
        Err(error) => Err(anyhow!("cannot read {}: {}", shown(word), said(&error))),
    }
}

fn nowhere(word: &OsStr) -> anyhow::Error {
    let here = Path::new(word);
    if here.is_file() {
        return anyhow!(
            "no program {0} is in PATH; to run the file of this folder, write ./{0}",
            word.to_string_lossy()
        );
    }
    anyhow!("no program {} is in PATH", shown(word))
}

/// The file of that name in the folders of PATH.
fn search(name: &OsStr) -> Result<Option<PathBuf>> {
    let path = std::env::var_os("PATH").unwrap_or_else(|| "/bin:/usr/bin".into());
    let mut refused = None;
    for folder in std::env::split_paths(&path) {
        let folder = if folder.as_os_str().is_empty() {
            PathBuf::from(".")
        } else {
            folder
        };
        let file = folder.join(name);
        match check(&file) {
            Ok(()) => return Ok(Some(file)),
            Err(error) if file.is_file() => refused = Some(error),
            Err(_) => {}
        }
    }
    refused.map_or(Ok(None), Err)
}

/// Whether the file can be executed by us.
fn check(file: &Path) -> Result<()> {
    let shown = shown(file.as_os_str());
    let metadata = fs::metadata(file).map_err(|error| match error.kind() {
        io::ErrorKind::NotFound => anyhow!("there is no program {shown}"),
        _ => anyhow!("cannot run {shown}: {}", said(&error)),
    })?;
    if metadata.is_dir() {
        bail!("cannot run {shown}: it is a folder");
    }
    let c_path = std::ffi::CString::new(file.as_os_str().as_bytes())
        .map_err(|_| anyhow!("there is no program {shown}"))?;
    // As the kernel will ask: by the effective user.
    // SAFETY: the path is a C string.
    let may = unsafe {
        libc::faccessat(
            libc::AT_FDCWD,
            c_path.as_ptr(),
            libc::X_OK,
            libc::AT_EACCESS,
        )
    };
    // To root everything is permitted, but not to execute what nobody may.
    if may != 0 || metadata.permissions().mode() & 0o111 == 0 {
        bail!("cannot run {shown}: it is not executable (chmod +x, or name its interpreter first)");
    }
    Ok(())
}

/// A word in a sentence.
fn shown(word: &OsStr) -> String {
    format!("`{}`", word.to_string_lossy())
}

/// Why, without the number.
fn said(error: &io::Error) -> String {
    crate::say::reason(error)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(words: &[&str]) -> Result<Program> {
        let words: Vec<OsString> = words.iter().map(Into::into).collect();
        Program::find(&words)
    }

    #[test]
    fn a_program_is_found_as_a_shell_finds_it() {
        let program = found(&["sh", "-c", "true"]).unwrap();
        assert!(program.path.ends_with("sh") && program.path.is_absolute());
        assert_eq!(program.arguments, ["sh", "-c", "true"]);
        assert_eq!(program.name, "sh");
        let by_path = found(&["/bin/sh"]).unwrap();
        assert_eq!(by_path.path, Path::new("/bin/sh"));
    }

    #[test]
    fn what_cannot_run_is_said() {
        for (words, part) in [
            (&["no-such-program-anywhere"][..], "is in PATH"),
            (&["/no/such/program"], "there is no program"),
            (&["/"], "it is a folder"),
            (&["/etc/passwd"], "not executable"),
            (&["/no/such/file.py"], "there is no file"),
        ] {
            let said = found(words).unwrap_err().to_string();
            assert!(said.contains(part), "{said}");
        }
    }
}
