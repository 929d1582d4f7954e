//! The reader's browser: whether there is one, and how a page is opened in it.

use std::io::{self, BufRead, BufReader};
use std::mem::MaybeUninit;
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{Command, Stdio};

use anyhow::{Context, Result, bail};
use profundo_console::stderr;

use super::Served;

/// Whether a browser can be shown.
pub(super) fn is_there() -> bool {
    ["DISPLAY", "WAYLAND_DISPLAY", "BROWSER"]
        .iter()
        .any(|name| is_set(name))
}

fn is_set(name: &str) -> bool {
    std::env::var_os(name).is_some_and(|value| !value.is_empty())
}

/// Opens a page. True if a program was started for it; the address has been printed anyway.
pub(super) fn open(url: &str) -> bool {
    let browser = std::env::var_os("BROWSER").filter(|browser| !browser.is_empty());
    let program = browser.unwrap_or_else(|| "xdg-open".into());
    let started = Command::new(program)
        .arg(url)
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn();
    match started {
        Ok(mut child) => {
            std::thread::spawn(move || child.wait());
            true
        }
        Err(_) => false,
    }
}

/// A sentence for who opens the page by hand.
pub(super) fn how_to_open(url: &str, served: Served) -> String {
    let port = url
        .strip_prefix("http://")
        .and_then(|rest| rest.split('/').next()?.rsplit(':').next());
    let tunnel = match port.filter(|_| is_set("SSH_CONNECTION")) {
        Some(port) => {
            format!("; from your own machine, `ssh -L {port}:127.0.0.1:{port} HOST` leads to it")
        }
        None => String::new(),
    };
    let end = match served {
        Served::Here => "Ctrl-C ends the page",
        Served::Elsewhere => "another `profundo view` serves the page",
    };
    format!("open this address in a browser{tunnel}; {end}")
}

/// A recorder blocks the signals that it reads, and a server that it starts would never get them.
fn unblock_signals() -> io::Result<()> {
    let mut none = MaybeUninit::<libc::sigset_t>::uninit();
    // SAFETY: the set is written before it is read.
    let failed = unsafe {
        libc::sigemptyset(none.as_mut_ptr());
        libc::sigprocmask(libc::SIG_SETMASK, none.as_ptr(), std::ptr::null_mut())
    };
    match failed {
        0 => Ok(()),
        _ => Err(io::Error::last_os_error()),
    }
}

/// Shows a recording on a page whose server goes on by itself until the page was closed, and prints
/// its address to the standard error: the standard output is the program's.
pub fn in_background(recording: &Path) -> Result<()> {
    let myself = std::env::current_exe().context("cannot find this command")?;
    // An absolute path is no option, whatever the name begins with.
    let recording = std::path::absolute(recording)?;
    let mut command = Command::new(myself);
    // SAFETY: only system calls are made between fork and exec.
    unsafe { command.pre_exec(unblock_signals) };
    let mut server = command
        .args(["--no-config", "view"])
        .arg(recording)
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        // Ctrl-C is the program's.
        .process_group(0)
        .spawn()
        .context("cannot start the server of the page")?;
    let mut url = String::new();
    if let Some(stdout) = server.stdout.take() {
        BufReader::new(stdout).read_line(&mut url)?;
    }
    if url.trim().is_empty() {
        // It has ended without an address.
        let _ = server.wait();
        bail!("the page cannot be shown; `profundo view` says why");
    }
    stderr::note(&format!("the page: {}", url.trim()));
    Ok(())
}
