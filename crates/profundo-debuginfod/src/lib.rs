//! Debug information from debuginfod servers.
//!
//! Distributions strip their files, and offer the debug information of each on a server, by build
//! id. `DEBUGINFOD_URLS` names the servers, and a client keeps what it has got in a folder, which
//! all clients share. The transfer is done by another program, `debuginfod-find` or `curl`: so
//! there is no TLS in ours.
//!
//! Files are fetched only if the user asks for it. A server learns the build ids of the user's
//! libraries.

mod cache;
mod curl;
mod find;

use std::collections::{BTreeMap, BTreeSet};
use std::ffi::OsString;
use std::path::PathBuf;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::{env, io};

use profundo_symbols::DebugServer;

use cache::Cache;

/// The reasons why no server can be asked.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// The environment names no servers.
    #[error(
        "DEBUGINFOD_URLS is not set: it names the servers, as https://debuginfod.elfutils.org/"
    )]
    NoServers,
    /// There is no program for the transfer.
    #[error("neither debuginfod-find nor curl is installed, which fetch the files")]
    NoClient,
}

/// The result of one question.
#[derive(Debug, Clone, PartialEq, Eq)]
enum Answer {
    File(PathBuf),
    /// No server has it.
    Unknown,
    /// The client's message.
    Failed(String),
    /// The servers have failed before.
    NotAsked,
}

/// The servers, and the program that asks them. Each file is asked for once.
#[derive(Debug)]
pub struct Servers {
    client: Client,
    answers: Mutex<BTreeMap<String, Answer>>,
}

#[derive(Debug)]
enum Client {
    Find(find::Find),
    Curl(curl::Curl),
}

/// What came of all questions so far.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Outcome {
    /// The number of files that are there now.
    pub found: usize,
    /// The number of files that no server has.
    pub unknown: usize,
    /// The messages of transfers that failed. A server that fails is not asked again.
    pub failures: BTreeSet<String>,
    /// The number of files that were not asked for, because all servers had failed.
    pub not_asked: usize,
}

impl Servers {
    /// The servers that the environment names.
    pub fn from_environment() -> Result<Self, Error> {
        Self::new(|name| env::var_os(name))
    }

    fn new(variable: impl Fn(&str) -> Option<OsString>) -> Result<Self, Error> {
        urls(&variable)?;
        let path = variable("PATH").unwrap_or_default();
        let program = |name: &str| {
            let mut files = env::split_paths(&path).map(|folder| folder.join(name));
            files.find(|file| file.is_file())
        };
        match (program("debuginfod-find"), program("curl")) {
            (Some(program), _) => Ok(Self::by(Client::Find(find::Find::new(program)))),
            (None, Some(program)) => Self::with_curl(program, variable),
            (None, None) => Err(Error::NoClient),
        }
    }

    /// The servers that these variables name, asked by this `curl`.
    #[doc(hidden)]
    pub fn with_curl(
        curl: PathBuf,
        variable: impl Fn(&str) -> Option<OsString>,
    ) -> Result<Self, Error> {
        let (urls, cache) = (urls(&variable)?, Cache::of(&variable));
        let curl = curl::Curl::new(curl, urls, cache, &variable);
        Ok(Self::by(Client::Curl(curl)))
    }

    fn by(client: Client) -> Self {
        Self {
            client,
            answers: Mutex::default(),
        }
    }

    /// What came of all questions so far.
    pub fn outcome(&self) -> Outcome {
        let mut outcome = Outcome::default();
        for answer in self.answers().values() {
            match answer {
                Answer::File(_) => outcome.found += 1,
                Answer::Unknown => outcome.unknown += 1,
                Answer::Failed(message) => _ = outcome.failures.insert(message.clone()),
                Answer::NotAsked => outcome.not_asked += 1,
            }
        }
        outcome
    }

    fn answers(&self) -> MutexGuard<'_, BTreeMap<String, Answer>> {
        self.answers.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl DebugServer for Servers {
    fn debug_file(&self, build_id: &[u8]) -> Option<PathBuf> {
        /// The shortest and the longest that linkers write.
        const BYTES: std::ops::RangeInclusive<usize> = 4..=64;
        if !BYTES.contains(&build_id.len()) {
            return None;
        }
        let id: String = build_id.iter().map(|byte| format!("{byte:02x}")).collect();
        let known = self.answers().get(&id).cloned();
        // Not locked: other files are asked for meanwhile.
        let answer = known.unwrap_or_else(|| match &self.client {
            Client::Find(find) => find.debug_file(&id),
            Client::Curl(curl) => curl.debug_file(&id),
        });
        self.answers().insert(id, answer.clone());
        match answer {
            Answer::File(file) => Some(file),
            Answer::Unknown | Answer::Failed(_) | Answer::NotAsked => None,
        }
    }
}

/// The servers' addresses.
fn urls(variable: impl Fn(&str) -> Option<OsString>) -> Result<Vec<String>, Error> {
    let urls = variable("DEBUGINFOD_URLS").unwrap_or_default();
    // The other words there say how signatures are checked.
    let urls: Vec<String> = (urls.to_string_lossy().split_whitespace())
        .filter(|word| word.contains("://"))
        .map(str::to_owned)
        .collect();
    match urls.is_empty() {
        true => Err(Error::NoServers),
        false => Ok(urls),
    }
}

/// The answer for a program that cannot be started, or a folder that cannot be written.
fn failed(what: &std::path::Path, error: &io::Error) -> Answer {
    Answer::Failed(format!("{}: {error}", what.display()))
}

/// The last line that a client has written, which says why it failed.
fn last_line(text: &[u8]) -> String {
    let text = String::from_utf8_lossy(text);
    let mut lines = text.lines().map(str::trim);
    let last = lines.rfind(|line| !line.is_empty());
    last.unwrap_or("it does not say why").to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn servers(variables: &'static [(&str, &str)]) -> Result<Servers, Error> {
        Servers::new(|name| {
            let known = variables.iter().find(|(variable, _)| *variable == name);
            known.map(|(_, value)| value.into())
        })
    }

    #[test]
    fn no_server_is_asked_unasked() {
        let none = servers(&[("PATH", "/usr/bin")]);
        assert!(matches!(none, Err(Error::NoServers)));
        let blank = servers(&[("DEBUGINFOD_URLS", " "), ("PATH", "/usr/bin")]);
        assert!(matches!(blank, Err(Error::NoServers)));
        let no_client = servers(&[("DEBUGINFOD_URLS", "http://127.0.0.1:1/")]);
        assert!(matches!(no_client, Err(Error::NoClient)));
    }

    #[test]
    fn messages_are_one_line() {
        assert_eq!(last_line(b"first\n last \n\n"), "last");
        assert_eq!(last_line(b"\n"), "it does not say why");
    }
}
