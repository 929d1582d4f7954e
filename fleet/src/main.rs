//! Sums of a fleet's profiles by several machines: Ballista over a store of `profundo-store`.
//!
//! One program has all parts. A scheduler divides questions among executors, which read the store.
//! A gateway takes questions over HTTP, and `profundo report --cluster` asks it. What a question
//! needs is found and what its answer is made of is put together by `profundo-store`: only the
//! sums in between come from the cluster ([`cluster`]).
//!
//! Constraints: the answer is the same as without a cluster, byte for byte; the loss of a machine
//! costs seconds; no unsafe code.

#![forbid(unsafe_code)]

mod cluster;
mod error;
mod executor;
mod files;
mod gateway;
mod options;
mod places;
mod query;
mod question;
mod scheduler;
mod squares;

use std::process::ExitCode;

use clap::Parser;

use error::Error;
use options::{Options, Verb};

/// The stack of each thread: plans are read by functions that call themselves.
const STACK: usize = 32 << 20;

fn main() -> ExitCode {
    let level = env_logger::Env::default().default_filter_or("warn");
    env_logger::Builder::from_env(level).init();
    match run(Options::parse().verb) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("profundo-fleet: {error}");
            ExitCode::FAILURE
        }
    }
}

fn run(verb: Verb) -> Result<(), Error> {
    // It fails where one was chosen already.
    let _ = rustls::crypto::ring::default_provider().install_default();
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .enable_all()
        .thread_stack_size(STACK)
        .build();
    let runtime = runtime.map_err(|source| Error::Io {
        verb: "start",
        what: "threads".to_owned(),
        source,
    })?;
    match verb {
        Verb::Scheduler(options) => runtime.block_on(scheduler::run(&options)),
        Verb::Executor(options) => runtime.block_on(executor::run(&options)),
        Verb::Gateway(options) => runtime.block_on(gateway::run(options)),
        Verb::Query(options) => query::run(&options, runtime.handle()),
    }
}
