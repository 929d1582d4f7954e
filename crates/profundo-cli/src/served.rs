//! `--debuginfod`: the servers of distributions are asked for debug information.

use std::sync::Arc;

use anyhow::Result;
use profundo_console::stderr;
use profundo_debuginfod::{Outcome, Servers};
use profundo_save::served_names;

use crate::options;

/// Has the servers asked that the environment names.
pub fn ask_servers() -> Result<Arc<Servers>> {
    match Servers::from_environment() {
        Ok(servers) => {
            let servers = Arc::new(servers);
            served_names::ask(Arc::clone(&servers) as _);
            Ok(servers)
        }
        Err(why) => options::refuse(&format!("--debuginfod cannot ask: {why}")),
    }
}

/// Says what came of it.
pub fn say(outcome: &Outcome) {
    let Outcome {
        found,
        unknown,
        failures,
        not_asked,
    } = outcome;
    let files = |count: usize| match count {
        1 => "1 file".to_owned(),
        _ => format!("{count} files"),
    };
    for failure in failures {
        stderr::note(&format!("debuginfod: {failure}"));
    }
    if *not_asked > 0 {
        stderr::note(&format!(
            "debuginfod: the servers failed, so they were not asked for {} more",
            files(*not_asked)
        ));
    }
    if *unknown > 0 {
        stderr::note(&format!(
            "debuginfod: debug information of {} was found, and no server has that of {}",
            files(*found),
            files(*unknown)
        ));
    }
}
