//! Another command of ours that the program wants to have run, such as a report. It is a child of
//! the recorder, so that it is neither a child of the program nor a part of its recording.

use std::ffi::{OsStr, OsString};
use std::fs::File;
use std::io;
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::process::{Command, Stdio};
use std::sync::Arc;

use profundo_linux::sys;
use profundo_session::SessionHandle;

/// The command.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Reader {
    /// The file for its output.
    output: OsString,
    /// The file for its messages.
    messages: OsString,
    /// The folder that it runs in.
    folder: OsString,
    /// The variables that have changed since the recorder began: `NAME=VALUE`, or `NAME` of one
    /// that is not set any more.
    variables: Vec<OsString>,
    words: Vec<OsString>,
}

impl Reader {
    /// Reads fields behind tabs: output, messages, folder, the number of variables, these, and
    /// words.
    pub fn of(fields: &str) -> Option<Self> {
        let mut fields = fields.split('\t').map(unescaped);
        Some(Self {
            output: fields.next()??,
            messages: fields.next()??,
            folder: fields.next()??,
            variables: {
                let count = fields.next()??.to_str()?.parse().ok()?;
                fields.by_ref().take(count).collect::<Option<_>>()?
            },
            words: fields.collect::<Option<_>>()?,
        })
    }

    /// Runs it to its end. Returns its exit code, or the number of the signal that has killed it,
    /// as a negative number.
    ///
    /// `session` is that of a recorder which would take it for a child of the program.
    pub fn run(&self, session: Option<&Arc<SessionHandle>>) -> io::Result<i32> {
        let mut command = Command::new(std::env::current_exe()?);
        if let Some(session) = session.cloned() {
            let began = sys::nanoseconds(libc::CLOCK_MONOTONIC);
            let announce = move || {
                session.announce(std::process::id(), began);
                Ok(())
            };
            // SAFETY: it asks for its own number, and stores to memory that is mapped.
            unsafe { command.pre_exec(announce) };
        }
        for variable in &self.variables {
            let mut parts = variable.as_bytes().splitn(2, |&byte| byte == b'=');
            let name = OsStr::from_bytes(parts.next().unwrap_or_default());
            match parts.next() {
                Some(value) => command.env(name, OsStr::from_bytes(value)),
                None => command.env_remove(name),
            };
        }
        let status = command
            .args(&self.words)
            .current_dir(&self.folder)
            .stdin(Stdio::null())
            .stdout(File::create(&self.output)?)
            .stderr(File::create(&self.messages)?)
            .status()?;
        let code = status.code();
        Ok(code.unwrap_or_else(|| -status.signal().unwrap_or_default()))
    }
}

/// A field in which `%` and two digits stand for each byte that a line cannot have.
pub fn unescaped(field: &str) -> Option<OsString> {
    let mut bytes = Vec::with_capacity(field.len());
    let mut rest = field.bytes();
    while let Some(byte) = rest.next() {
        if byte != b'%' {
            bytes.push(byte);
            continue;
        }
        let mut digit = || char::from(rest.next()?).to_digit(16);
        let (high, low) = (digit()?, digit()?);
        bytes.push((high << 4 | low) as u8);
    }
    Some(OsString::from_vec(bytes))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fields_and_their_escapes() {
        let reader = Reader::of("/o\t/m\t/a%09b\t2\tA=b=c\tD\treport\t%25\t").unwrap();
        assert_eq!(reader.folder, "/a\tb");
        assert_eq!(reader.variables, ["A=b=c", "D"]);
        assert_eq!(reader.words, ["report", "%", ""]);
        assert_eq!(Reader::of("/o\t/m"), None);
        assert_eq!(Reader::of("/o\t/m\t/%4\t0"), None);
        let bytes = unescaped("%ff%0A").unwrap().into_vec();
        assert_eq!(bytes, b"\xff\n");
    }
}
