//! The agent that the command carries, and the file from which programs load it.
//!
//! It is kept in the user's cache under a name made of its checksum, so that a recording does
//! not begin with writing it. Programs that outlive the command may go on loading it from there.
//! An agent that no command has used for a month is removed: see `unused`. Where no folder will do,
//! it is kept in memory.
//!
//! One agent is for programs of glibc and of musl: see `any_loader`. A static command that was
//! built without one samples from outside.

mod any_loader;
mod carried;
mod hidden_symbols;
mod in_memory;
mod unused;

use std::borrow::Cow;
use std::fs::{self, DirBuilder, OpenOptions};
use std::io::{self, Write};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::{DirBuilderExt, MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, anyhow, bail};
use carried::AGENT;
use profundo_recorder::{CALL_SYMBOLS, EngineChoice, LATE_SYMBOLS, MEMORY_SYMBOLS};

/// The beginning of agents' names.
const PREFIX: &str = "libprofundo-agent-";

/// The purpose of an agent.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum For {
    /// Time alone.
    Time,
    /// Time and allocations.
    Memory,
    /// Counts of calls.
    Calls,
    /// A program that runs already: time, and allocations if the recording wants them.
    Late,
}

impl For {
    /// The bytes of the file. Each purpose has the same number of them.
    fn bytes(self) -> Result<Cow<'static, [u8]>> {
        let hidden = match self {
            Self::Memory => [CALL_SYMBOLS, LATE_SYMBOLS].concat(),
            Self::Time => [CALL_SYMBOLS, MEMORY_SYMBOLS, LATE_SYMBOLS].concat(),
            Self::Calls => [MEMORY_SYMBOLS, LATE_SYMBOLS].concat(),
            Self::Late => CALL_SYMBOLS.to_vec(),
        };
        let bytes = AGENT.library().and_then(|library| {
            let mut bytes = hidden_symbols::without(&library, &hidden)?;
            any_loader::forget_loader(&mut bytes)?;
            Some(Cow::Owned(bytes))
        });
        bytes.context("the agent that this profundo carries is damaged")
    }
}

/// The agent as it is loaded into a program that runs already. What it exports for allocations is
/// in use only while they are recorded. The loader finds it for no other file.
pub fn library() -> Result<Cow<'static, [u8]>> {
    if AGENT.is_empty() {
        bail!(NO_AGENT);
    }
    For::Late.bytes()
}

const NO_AGENT: &str = match cfg!(target_feature = "crt-static") {
    true => {
        "this profundo was built without its agent, which this wants; build it with `cargo xtask static`"
    }
    false => {
        "this profundo was built without its agent; build it with `cargo build -p profundo-cli`"
    }
};

/// True if there is no agent, and the engine is left to us: then programs are sampled from outside.
/// A static command can be built without one.
pub fn is_done_without(engine: EngineChoice) -> bool {
    cfg!(target_feature = "crt-static") && AGENT.is_empty() && engine == EngineChoice::Auto
}

/// The consequence of [`is_done_without`].
pub const DONE_WITHOUT: &str = "this profundo was built without its agent, so programs are sampled from outside: without the \
     frames of an interpreter (`cargo xtask static` builds one with it)";

/// The path of the agent's file, which is written where it does not exist yet.
pub fn file(what: For) -> Result<PathBuf> {
    if AGENT.is_empty() {
        bail!(NO_AGENT);
    }
    let (checksum, length) = AGENT.checksum_and_length();
    // The beginning of the name marks its frames as the profiler's own.
    let name = format!(
        "{PREFIX}{checksum:08x}-{length:x}{}.so",
        match what {
            For::Time => "",
            For::Memory => "-memory",
            For::Calls => "-calls",
            For::Late => "-late",
        }
    );
    let mut last = None;
    for folder in folders() {
        match place(&folder, &name, what) {
            Ok(path) => return Ok(path),
            Err(error) => last = Some(error),
        }
    }
    // This one is asked for by a command that ends before it is loaded.
    if what != For::Late
        && let Ok(path) = in_memory::write(&name, &what.bytes()?)
        && is_loadable(&path)
    {
        return Ok(path);
    }
    let last = last.map_or_else(|| anyhow!("there is no folder for it"), Into::into);
    Err(last.context("cannot write the agent, which is loaded into the program; set XDG_CACHE_HOME to a folder that can be written"))
}

/// Folders for the file, the best first.
fn folders() -> Vec<PathBuf> {
    let cache = profundo_process::modules::user_cache();
    let mut folders = Vec::from_iter(cache.map(|cache| cache.join("profundo")));
    // SAFETY: asks for our user id, and cannot fail.
    let user = unsafe { libc::geteuid() };
    for shared in [std::env::temp_dir(), PathBuf::from("/dev/shm")] {
        folders.push(shared.join(format!("profundo-agent-{user}")));
    }
    folders
}

fn place(folder: &Path, name: &str, what: For) -> io::Result<PathBuf> {
    // The first two separate the names of preloaded libraries, the third is a variable in one.
    if folder
        .as_os_str()
        .as_bytes()
        .iter()
        .any(|byte| b" :$".contains(byte))
    {
        return Err(io::ErrorKind::InvalidFilename.into());
    }
    if let Some(above) = folder.parent() {
        fs::create_dir_all(above)?;
    }
    match DirBuilder::new().mode(0o700).create(folder) {
        Err(error) if error.kind() != io::ErrorKind::AlreadyExists => return Err(error),
        _ => {}
    }
    // In a folder that others may write, any user could have created this one.
    let metadata = fs::symlink_metadata(folder)?;
    // SAFETY: asks for our user id, and cannot fail.
    let user = unsafe { libc::geteuid() };
    if !metadata.is_dir() || metadata.uid() != user || metadata.mode() & 0o022 != 0 {
        return Err(io::ErrorKind::PermissionDenied.into());
    }
    let path = folder.join(name);
    if is_loadable(&path) && unused::is_kept(&path) {
        return Ok(path);
    }
    unused::remove(folder);
    let bytes = what.bytes().map_err(io::Error::other)?;
    // Another command may be writing it as well: the last one to rename wins, with the same bytes.
    let beside = folder.join(format!(".{name}.{}", std::process::id()));
    let written = OpenOptions::new()
        .write(true)
        .create(true)
        .truncate(true)
        .mode(0o500)
        .open(&beside)
        .and_then(|mut file| file.write_all(&bytes))
        .and_then(|()| fs::rename(&beside, &path));
    if let Err(error) = written {
        let _ = fs::remove_file(&beside);
        return Err(error);
    }
    if is_loadable(&path) {
        Ok(path)
    } else {
        Err(io::ErrorKind::PermissionDenied.into())
    }
}

/// True if the file exists and may be mapped as executable. Its name vouches for its content: no
/// other user may write to its folder, and it got its name when it was complete.
fn is_loadable(path: &Path) -> bool {
    let Ok(file) = fs::File::open(path) else {
        return false;
    };
    let is_whole = file
        .metadata()
        .is_ok_and(|metadata| metadata.len() == AGENT.checksum_and_length().1);
    is_whole && may_execute(&file)
}

fn may_execute(file: &fs::File) -> bool {
    use std::os::fd::AsRawFd;
    // SAFETY: maps a page of a file, which is not accessed, and unmaps it again.
    unsafe {
        let page = libc::mmap(
            std::ptr::null_mut(),
            4096,
            libc::PROT_READ | libc::PROT_EXEC,
            libc::MAP_PRIVATE,
            file.as_raw_fd(),
            0,
        );
        page != libc::MAP_FAILED && libc::munmap(page, 4096) == 0
    }
}
