//! An executor: it reads files of the store, and adds up.

use std::net::{IpAddr, TcpListener};
use std::path::PathBuf;
use std::sync::Arc;

use ballista_core::registry::BallistaFunctionRegistry;
use ballista_executor::executor_process::{ExecutorProcessConfig, start_executor_process};

use crate::Error;
use crate::cluster::MOST_BYTES;
use crate::files::FilesCodec;
use crate::options::{ExecutorOptions, address};
use crate::places::runtime;
use crate::squares::squares;

/// How often it tells the scheduler that it is there, in seconds.
pub const HEARTBEAT: u64 = 2;

/// Runs until it is ended.
pub async fn run(options: &ExecutorOptions) -> Result<(), Error> {
    let (scheduler_host, scheduler_port) = address(&options.scheduler)?;
    let port = match options.port {
        Some(port) => port,
        None => free_ports(options.listen)?,
    };
    let folder = folder(options, port)?;
    let mut functions = BallistaFunctionRegistry::default();
    let squares = squares();
    let name = squares.name().to_owned();
    functions.scalar_functions.insert(name, squares);
    let for_runtime = folder.clone();
    let config = ExecutorProcessConfig {
        bind_host: options.listen.to_string(),
        external_host: Some(options.listen.to_string()),
        port,
        grpc_port: port + 1,
        scheduler_host,
        scheduler_port,
        // It waits for a scheduler that starts at the same time.
        scheduler_connect_timeout_seconds: 60,
        vcores: options.cores.unwrap_or(0),
        work_dir: Some(folder.display().to_string()),
        job_data_ttl_seconds: 3600,
        job_data_clean_up_interval_seconds: 600,
        executor_heartbeat_interval_seconds: HEARTBEAT,
        grpc_max_decoding_message_size: MOST_BYTES as u32,
        grpc_max_encoding_message_size: MOST_BYTES as u32,
        override_function_registry: Some(Arc::new(functions)),
        override_logical_codec: Some(Arc::new(FilesCodec::default())),
        override_runtime_producer: Some(Arc::new(move |_| runtime(Some(&for_runtime)))),
        ..ExecutorProcessConfig::default()
    };
    Ok(start_executor_process(Arc::new(config)).await?)
}

/// The folder for sums on their way.
fn folder(options: &ExecutorOptions, port: u16) -> Result<PathBuf, Error> {
    let folder = match &options.work_dir {
        Some(folder) => folder.clone(),
        None => std::env::temp_dir().join(format!("profundo-fleet-{port}")),
    };
    match std::fs::create_dir_all(&folder) {
        Ok(()) => Ok(folder),
        Err(source) => Err(Error::Io {
            verb: "make",
            what: folder.display().to_string(),
            source,
        }),
    }
}

/// The first of two neighbouring ports that are free.
fn free_ports(host: IpAddr) -> Result<u16, Error> {
    let failed = |source| Error::Io {
        verb: "listen on",
        what: host.to_string(),
        source,
    };
    loop {
        let listener = TcpListener::bind((host, 0)).map_err(failed)?;
        let port = listener.local_addr().map_err(failed)?.port();
        if port < u16::MAX && TcpListener::bind((host, port + 1)).is_ok() {
            return Ok(port);
        }
    }
}
