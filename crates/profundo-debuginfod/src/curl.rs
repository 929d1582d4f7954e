//! The transfer by `curl`, into the folder that elfutils' client uses.

use std::ffi::OsString;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};

use crate::cache::{Cache, Known};
use crate::{Answer, failed, last_line};

/// The client.
#[derive(Debug)]
pub struct Curl {
    program: PathBuf,
    servers: Vec<Server>,
    cache: Cache,
    /// The time in seconds for a connection, and for each 100 KB.
    timeout: u32,
}

#[derive(Debug)]
struct Server {
    url: String,
    has_failed: AtomicBool,
}

/// The result from one server.
enum Transfer {
    Done,
    NotThere,
    Failed(String),
}

impl Curl {
    pub fn new(
        program: PathBuf,
        urls: Vec<String>,
        cache: Cache,
        variable: impl Fn(&str) -> Option<OsString>,
    ) -> Self {
        /// elfutils' own.
        const SECONDS: u32 = 90;
        let timeout = variable("DEBUGINFOD_TIMEOUT");
        let timeout = timeout.and_then(|text| text.to_str()?.parse().ok());
        Self {
            program,
            servers: (urls.into_iter())
                .map(|url| Server {
                    url,
                    has_failed: AtomicBool::new(false),
                })
                .collect(),
            cache,
            timeout: timeout.filter(|&seconds| seconds > 0).unwrap_or(SECONDS),
        }
    }

    /// The debug information of a file with this build id.
    pub fn debug_file(&self, id: &str) -> Answer {
        match self.cache.look(id) {
            Known::There(file) => return Answer::File(file),
            Known::Nowhere => return Answer::Unknown,
            Known::Nothing => {}
        }
        let place = self.cache.place(id);
        let begun = match self.cache.begin(id) {
            Ok(begun) => begun,
            Err(error) => return failed(&place, &error),
        };
        let (mut failure, mut is_unknown) = (None, false);
        for server in &self.servers {
            if server.has_failed.load(Ordering::Relaxed) {
                continue;
            }
            let url = server.url.trim_end_matches('/');
            let url = format!("{url}/buildid/{id}/debuginfo");
            match self.transfer(&url, &begun) {
                Transfer::Done => match fs::rename(&begun, &place) {
                    Ok(()) => return Answer::File(place),
                    Err(error) => failure = Some(format!("{}: {error}", place.display())),
                },
                Transfer::NotThere => is_unknown = true,
                Transfer::Failed(why) => {
                    server.has_failed.store(true, Ordering::Relaxed);
                    failure = Some(why);
                }
            }
            // What came of a transfer that broke off.
            let _ = fs::remove_file(&begun);
        }
        let have_all_answered = || {
            let mut servers = self.servers.iter();
            servers.all(|server| !server.has_failed.load(Ordering::Relaxed))
        };
        match failure {
            Some(why) => Answer::Failed(why),
            None if !is_unknown => Answer::NotAsked,
            None => {
                if have_all_answered() {
                    self.cache.note_nowhere(id);
                }
                Answer::Unknown
            }
        }
    }

    fn transfer(&self, url: &str, to: &Path) -> Transfer {
        /// The largest file that is taken: debug information of a browser is half of that.
        const LARGEST: &str = "8G";
        const NOT_FOUND: &[u8] = b"404";
        let timeout = self.timeout.to_string();
        let slowest = (100_000 / self.timeout).max(1).to_string();
        let mut command = Command::new(&self.program);
        command
            // Not the user's settings.
            .arg("--disable")
            .args(["--silent", "--show-error", "--fail", "--location"])
            .args(["--proto", "=http,https", "--proto-redir", "=http,https"])
            .args(["--max-redirs", "5", "--max-filesize", LARGEST])
            .args(["--connect-timeout", &timeout])
            .args(["--speed-time", &timeout, "--speed-limit", &slowest])
            .args(["--write-out", "%{http_code}"])
            .arg("--output")
            .arg(to)
            .arg("--")
            .arg(url)
            .stdin(Stdio::null());
        match command.output() {
            Ok(output) if output.status.success() => Transfer::Done,
            Ok(output) if output.stdout == NOT_FOUND => Transfer::NotThere,
            Ok(output) => Transfer::Failed(format!("{url}: {}", last_line(&output.stderr))),
            Err(error) => Transfer::Failed(format!("{}: {error}", self.program.display())),
        }
    }
}
