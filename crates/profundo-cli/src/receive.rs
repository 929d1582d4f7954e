//! `receive`: a server that takes the profiles of other profilers.

use std::path::PathBuf;
use std::process::ExitCode;
use std::sync::Arc;

use anyhow::{Context, Result};
use profundo_console::stderr;
use profundo_push::Destination;
use profundo_receive::{Limits, Server, Settings};

use crate::options::{self, Receive};

pub fn receive(options: &Receive) -> Result<ExitCode> {
    if Destination::is_remote(&options.to) {
        options::refuse("`receive` writes into a store: name a folder or s3://BUCKET/PREFIX");
    }
    let store = profundo_store::open(&options.to)?;
    // A connection takes a descriptor.
    profundo_linux::sys::raise_limit(libc::RLIMIT_NOFILE);
    let (files, _) = profundo_linux::sys::limit(libc::RLIMIT_NOFILE).unwrap_or((1024, 1024));
    let limits = Limits::default();
    let limits = Limits {
        body: usize::try_from(options.max_body.0).unwrap_or(usize::MAX),
        spool: options.spool_size.0,
        connections: limits
            .connections
            .min(
                usize::try_from(files)
                    .unwrap_or(usize::MAX)
                    .saturating_sub(100),
            )
            .max(16),
        ..limits
    };
    let spool = options.spool.clone().unwrap_or_else(|| spool(options));
    let server = Server::listen(Settings {
        listen: options.listen,
        store,
        host: profundo_linux::machine::host(),
        segment: options.every,
        limits,
        say: Arc::new(stderr::note),
        spool: spool.clone(),
    })
    .with_context(|| format!("cannot receive for {}", options.to))?;
    match server.recovered() {
        0 => {}
        1 => stderr::note("a profile that was taken before is written now"),
        many => stderr::note(&format!(
            "{many} profiles that were taken before are written now"
        )),
    }
    stderr::note(&format!(
        "it takes profiles at http://{} for {}; Ctrl-C ends it",
        server.address(),
        options.to
    ));
    let waiting = server.serve()?;
    if waiting > 0 {
        stderr::note(&format!(
            "the store is away: what waits for it in {} is sent by the next `profundo receive`",
            spool.display()
        ));
    }
    Ok(ExitCode::SUCCESS)
}

/// The folder of what is on its way. Two servers have two: they listen on two addresses.
fn spool(options: &Receive) -> PathBuf {
    let port = options.listen.port();
    if !options.to.starts_with("s3://") {
        // Hidden folders are no part of a store.
        return PathBuf::from(&options.to).join(format!(".receive-{port}"));
    }
    let variable = |name: &str| {
        let value = std::env::var_os(name).map(PathBuf::from);
        value.filter(|path| path.is_absolute())
    };
    let state = variable("XDG_STATE_HOME")
        .or_else(|| variable("HOME").map(|home| home.join(".local/state")))
        .unwrap_or_else(std::env::temp_dir);
    state.join(format!("profundo/receive-{port}"))
}
