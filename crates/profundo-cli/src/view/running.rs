//! Servers that run: each leaves its address in a folder that only its user can read. A second
//! `view` of the same recordings finds the first one's page there, and asks it whether it is still
//! so.

use std::fs::{self, DirBuilder, OpenOptions};
use std::io::{Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::os::unix::fs::{DirBuilderExt, MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::time::Duration;

use serde_json::{Value, json};

/// How long a server is asked.
const PATIENCE: Duration = Duration::from_secs(2);
/// The ending of entries.
const ENDING: &str = "view";

/// The absolute paths of recordings, by which a server is found.
pub(super) fn files(paths: &[PathBuf]) -> Vec<PathBuf> {
    let whole = |path: &PathBuf| fs::canonicalize(path).unwrap_or_else(|_| path.clone());
    paths.iter().map(whole).collect()
}

/// The entry of a server. Its file goes with it.
#[derive(Debug)]
pub(super) struct Entry(PathBuf);

impl Entry {
    /// Leaves an address. Where that is not possible, no second `view` finds the server, and it
    /// serves all the same.
    pub(super) fn new(url: &str, files: &[PathBuf]) -> Option<Self> {
        let folder = folder()?;
        let pid = std::process::id();
        let path = folder.join(format!("{pid}.{ENDING}"));
        // One of an earlier process with this number.
        let _ = fs::remove_file(&path);
        let mut options = OpenOptions::new();
        let file = options.write(true).create_new(true).mode(0o600);
        let entry = json!({
            "profundo": env!("CARGO_PKG_VERSION"),
            "pid": pid,
            "url": url,
            "files": files.iter().map(|file| file.to_string_lossy()).collect::<Vec<_>>(),
        });
        let written = file.open(&path).and_then(|mut file| {
            file.write_all(entry.to_string().as_bytes())?;
            Ok(Self(path))
        });
        written.ok()
    }
}

impl Drop for Entry {
    fn drop(&mut self) {
        let _ = fs::remove_file(&self.0);
    }
}

/// The address of a server that shows these recordings.
pub(super) fn find(files: &[PathBuf]) -> Option<String> {
    let wanted: Vec<String> = files
        .iter()
        .map(|file| file.to_string_lossy().into_owned())
        .collect();
    let entries = fs::read_dir(folder()?).ok()?;
    entries.filter_map(Result::ok).find_map(|entry| {
        let path = entry.path();
        if path.extension()? != ENDING {
            return None;
        }
        let said: Value = serde_json::from_slice(&fs::read(&path).ok()?).ok()?;
        let is_ours = said["profundo"] == env!("CARGO_PKG_VERSION");
        if !is_ours || said["files"] != json!(wanted) {
            return None;
        }
        let url = said["url"].as_str()?;
        if is_alive(url) {
            return Some(url.to_owned());
        }
        // Its process was killed.
        let _ = fs::remove_file(&path);
        None
    })
}

/// Whether a server answers at this address.
fn is_alive(url: &str) -> bool {
    asked(url).is_some_and(|answer| answer.starts_with("HTTP/1.1 200"))
}

fn asked(url: &str) -> Option<String> {
    let (host, path) = url.strip_prefix("http://")?.split_once('/')?;
    let address: SocketAddr = host.parse().ok()?;
    let mut stream = TcpStream::connect_timeout(&address, PATIENCE).ok()?;
    stream.set_read_timeout(Some(PATIENCE)).ok()?;
    stream.set_write_timeout(Some(PATIENCE)).ok()?;
    let request =
        format!("GET /{path}api/alive HTTP/1.1\r\nHost: {host}\r\nConnection: close\r\n\r\n");
    stream.write_all(request.as_bytes()).ok()?;
    let mut answer = String::new();
    stream.take(65_536).read_to_string(&mut answer).ok()?;
    Some(answer)
}

/// The folder of entries: no other user may write or read there.
fn folder() -> Option<PathBuf> {
    // SAFETY: it takes nothing, and cannot fail.
    let user = unsafe { libc::geteuid() };
    let runtime = std::env::var_os("XDG_RUNTIME_DIR").filter(|value| !value.is_empty());
    let folder = match runtime {
        Some(runtime) => Path::new(&runtime).join("profundo"),
        None => PathBuf::from(format!("/tmp/profundo-{user}")),
    };
    let _ = DirBuilder::new().mode(0o700).create(&folder);
    // Another user may have made it, or a link to elsewhere.
    let found = fs::symlink_metadata(&folder).ok()?;
    let is_ours = found.is_dir() && found.uid() == user && found.mode() & 0o077 == 0;
    is_ours.then_some(folder)
}
