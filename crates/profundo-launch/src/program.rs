//! The file that a command line means, as a shell would find it. It is found before the fork, so
//! that a failure is reported in one sentence.

use std::ffi::{OsStr, OsString};
use std::fs;
use std::io;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

/// The variable by which `python -m profundo` names its own interpreter. The program that is
/// started does not see it.
pub const PYTHON: &str = "PROFUNDO_PYTHON";

/// The reason why a program was not started, and the exit code that shells use for it.
#[derive(Debug)]
pub struct Unstarted {
    why: String,
    /// 127 if there is no such program, 126 if it cannot be executed.
    pub code: u8,
}

impl std::fmt::Display for Unstarted {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.why)
    }
}

impl std::error::Error for Unstarted {}

impl Unstarted {
    fn missing(why: String) -> Self {
        Self { why, code: 127 }
    }

    fn unfit(why: String) -> Self {
        Self { why, code: 126 }
    }

    /// The error of the kernel's exec.
    pub fn refused(path: &Path, error: &io::Error) -> Self {
        let shown = shown(path.as_os_str());
        match error.kind() {
            // The file was there a moment ago: its interpreter is missing.
            io::ErrorKind::NotFound => Self::missing(format!(
                "cannot run {shown}: the interpreter that it names (after `#!`, or its loader) is \
                 not here"
            )),
            _ => Self::unfit(format!("cannot run {shown}: {}", reason(error))),
        }
    }
}

/// A program that appears to be executable.
#[derive(Debug, Clone)]
pub struct Program {
    /// The file.
    pub path: PathBuf,
    /// Its arguments; the zeroth is its name as it was typed.
    pub arguments: Vec<OsString>,
    /// Its name in the recording's file name.
    pub name: String,
}

impl Program {
    /// The program of a command line.
    pub fn find(words: &[OsString]) -> Result<Self, Unstarted> {
        let (first, rest) = words
            .split_first()
            .ok_or_else(|| Unstarted::missing("no program was named".into()))?;
        let name = Path::new(first)
            .file_name()
            .map_or_else(|| "program".into(), |name| name.to_string_lossy());
        if let Some(python) = python_for(first)? {
            let mut arguments = vec![python.clone(), first.clone()];
            arguments.extend_from_slice(rest);
            let path = interpreter(&python, first)?;
            let stem = name.strip_suffix(".py").unwrap_or(&name);
            return Ok(Self::new(path, arguments, stem));
        }
        let path = if first.as_bytes().contains(&b'/') {
            check(Path::new(first))?;
            PathBuf::from(first)
        } else {
            search(first)?.ok_or_else(|| not_in_path(first))?
        };
        let name = match script_of(&name, rest) {
            Some(script) => script,
            None => name.into_owned(),
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

/// The script of a Python command line: a file, or the module after `-m`.
pub fn script(words: &[OsString]) -> Option<String> {
    let (first, rest) = words.split_first()?;
    let name = Path::new(first).file_name()?.to_string_lossy();
    script_of(&name, rest)
}

/// The script that a Python interpreter is to run: a file, or the module after `-m`.
fn script_of(interpreter: &str, arguments: &[OsString]) -> Option<String> {
    if !interpreter.starts_with("python") && !interpreter.starts_with("pypy") {
        return None;
    }
    let mut arguments = arguments.iter().map(|argument| argument.to_string_lossy());
    while let Some(argument) = arguments.next() {
        match &*argument {
            "-m" => return Some(arguments.next()?.into_owned()),
            "-c" | "-" | "--" => return None,
            "-X" | "-W" | "--check-hash-based-pycs" => drop(arguments.next()),
            option if option.starts_with('-') => {}
            file => {
                let name = Path::new(file).file_name()?.to_string_lossy();
                return Some(name.strip_suffix(".py").unwrap_or(&name).to_owned());
            }
        }
    }
    None
}

/// The interpreter, if the word names a Python source file.
fn python_for(word: &OsStr) -> Result<Option<OsString>, Unstarted> {
    let path = Path::new(word);
    if path.extension() != Some(OsStr::new("py")) {
        return Ok(None);
    }
    match fs::metadata(path) {
        Ok(metadata) if metadata.is_file() => Ok(Some(python())),
        Ok(_) => Err(Unstarted::unfit(format!("{} is not a file", shown(word)))),
        // It may still be a command of that name.
        Err(error) if error.kind() == io::ErrorKind::NotFound => {
            if !word.as_bytes().contains(&b'/') && search(word)?.is_some() {
                return Ok(None);
            }
            Err(Unstarted::missing(format!(
                "there is no file {}",
                shown(word)
            )))
        }
        Err(error) => {
            let why = format!("cannot read {}: {}", shown(word), reason(&error));
            Err(Unstarted::unfit(why))
        }
    }
}

/// The interpreter of Python source files: the one that `python -m profundo` is run by, or python3.
pub fn python() -> OsString {
    let named = std::env::var_os(PYTHON).filter(|named| !named.is_empty());
    named.unwrap_or_else(|| "python3".into())
}

/// The path of the interpreter that runs `script`.
fn interpreter(python: &OsStr, script: &OsStr) -> Result<PathBuf, Unstarted> {
    if python.as_bytes().contains(&b'/') {
        check(Path::new(python))?;
        return Ok(python.into());
    }
    search(python)?.ok_or_else(|| {
        let (python, script) = (python.to_string_lossy(), shown(script));
        Unstarted::missing(format!("{python}, which runs {script}, is not in PATH"))
    })
}

fn not_in_path(word: &OsStr) -> Unstarted {
    let here = Path::new(word);
    let mut why = format!("no program {} is in PATH", shown(word));
    if here.is_file() {
        let word = word.to_string_lossy();
        why += &format!("; to run the file of this folder, write ./{word}");
    }
    Unstarted::missing(why)
}

/// The file of that name in the folders of PATH.
fn search(name: &OsStr) -> Result<Option<PathBuf>, Unstarted> {
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

/// Checks that the file can be executed by us.
fn check(file: &Path) -> Result<(), Unstarted> {
    let shown = shown(file.as_os_str());
    let metadata = fs::metadata(file).map_err(|error| match error.kind() {
        io::ErrorKind::NotFound => Unstarted::missing(format!("there is no program {shown}")),
        _ => Unstarted::unfit(format!("cannot run {shown}: {}", reason(&error))),
    })?;
    if metadata.is_dir() {
        return Err(Unstarted::unfit(format!(
            "cannot run {shown}: it is a folder"
        )));
    }
    let c_path = std::ffi::CString::new(file.as_os_str().as_bytes())
        .map_err(|_| Unstarted::missing(format!("there is no program {shown}")))?;
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
    // Root may do anything, but not execute a file without any execute permission.
    if may != 0 || metadata.permissions().mode() & 0o111 == 0 {
        return Err(Unstarted::unfit(format!(
            "cannot run {shown}: it is not executable (chmod +x, or name its interpreter first)"
        )));
    }
    Ok(())
}

/// A word as it is shown in a sentence.
fn shown(word: &OsStr) -> String {
    format!("`{}`", word.to_string_lossy())
}

/// The system's reason, without the error number.
fn reason(error: &io::Error) -> String {
    profundo_console::stderr::reason(error)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(words: &[&str]) -> Result<Program, Unstarted> {
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
    fn what_python_runs_gives_the_name() {
        for (arguments, name) in [
            (&["app.py", "-m"][..], Some("app")),
            (&["-u", "-X", "dev", "/srv/app.py"], Some("app")),
            (&["-m", "http.server", "80"], Some("http.server")),
            (&["-c", "pass"], None),
            (&[], None),
        ] {
            let arguments: Vec<OsString> = arguments.iter().map(Into::into).collect();
            assert_eq!(script_of("python3.12", &arguments).as_deref(), name);
            assert_eq!(script_of("perl", &arguments), None);
        }
    }

    #[test]
    fn what_cannot_run_is_reported() {
        for (words, part, code) in [
            (&["no-such-program-anywhere"][..], "is in PATH", 127),
            (&["/no/such/program"], "there is no program", 127),
            (&["/"], "it is a folder", 126),
            (&["/etc/passwd"], "not executable", 126),
            (&["/no/such/file.py"], "there is no file", 127),
        ] {
            let error = found(words).unwrap_err();
            assert!(error.why.contains(part), "{error}");
            assert_eq!(error.code, code, "{error}");
        }
    }
}
