//! The scheduler. What it knows is in memory: a question that is asked while it ends is asked
//! again.

use std::sync::Arc;

use ballista_core::utils::default_session_builder;
use ballista_scheduler::cluster::BallistaCluster;
use ballista_scheduler::config::SchedulerConfig;
use ballista_scheduler::scheduler_process::start_server;
use datafusion::execution::FunctionRegistry;
use datafusion::execution::SessionStateBuilder;

use crate::Error;
use crate::cluster::MOST_BYTES;
use crate::files::FilesCodec;
use crate::options::SchedulerOptions;
use crate::places::runtime;
use crate::squares::squares;

/// An executor that says nothing for so long has ended. It says something each
/// [`HEARTBEAT`](crate::executor::HEARTBEAT).
const SILENCE: u64 = 10;

/// How long work waits for an executor when all are lost. Those who asked have less patience.
const WAIT: u64 = 60;

/// Runs until it is ended.
pub async fn run(options: &SchedulerOptions) -> Result<(), Error> {
    let runtime = runtime(None)?;
    let config = SchedulerConfig {
        external_host: options.listen.ip().to_string(),
        bind_host: options.listen.ip().to_string(),
        bind_port: options.listen.port(),
        executor_timeout_seconds: SILENCE,
        expire_dead_executor_interval_seconds: 2,
        no_executors_grace_period_seconds: WAIT,
        finished_job_data_clean_up_interval_seconds: 60,
        finished_job_state_clean_up_interval_seconds: 600,
        grpc_server_max_decoding_message_size: MOST_BYTES as u32,
        grpc_server_max_encoding_message_size: MOST_BYTES as u32,
        grpc_client_max_message_size: MOST_BYTES as u32,
        override_logical_codec: Some(Arc::new(FilesCodec::default())),
        override_session_builder: Some(Arc::new(move |config| {
            let state = default_session_builder(config)?;
            let mut state = SessionStateBuilder::new_from_existing(state)
                .with_runtime_env(Arc::clone(&runtime))
                .build();
            state.register_udf(squares())?;
            Ok(state)
        })),
        ..SchedulerConfig::default()
    };
    let cluster = BallistaCluster::new_from_config(&config).await?;
    Ok(start_server(cluster, options.listen, Arc::new(config)).await?)
}
