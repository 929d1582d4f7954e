//! Sums by a cluster, or by DataFusion in this process.
//!
//! A question is asked again where a machine was lost with what it had done. A store that has
//! changed makes it begin anew, and a damaged file makes this process read the store by itself,
//! because only it says what could not be read.

use std::sync::Arc;
use std::time::{Duration, Instant};

use ballista::prelude::SessionContextExt;
use ballista_core::extension::SessionConfigExt;
use datafusion::common::DataFusionError;
use datafusion::execution::SessionStateBuilder;
use datafusion::prelude::{SessionConfig, SessionContext};
use futures_util::StreamExt;
use profundo_store::{Error as StoreError, Gathering, Here, Summing, Sums, Work};
use tokio::runtime::Handle;

use crate::Error;
use crate::files::FilesCodec;
use crate::places::runtime;
use crate::question::Question;

/// The greatest message between the programs of a cluster.
pub const MOST_BYTES: usize = 256 << 20;
/// The number of times that a question is asked, where the cluster was there all the time.
const ATTEMPTS: u32 = 3;
/// The pause before a question is asked again.
const PAUSE: Duration = Duration::from_millis(500);
/// How often it is looked whether the cluster is there.
const LOOK: Duration = Duration::from_secs(1);

/// What adds up samples by DataFusion.
#[derive(Debug, Clone)]
pub struct Engine {
    /// The scheduler; none for this process.
    pub scheduler: Option<Scheduler>,
    /// The number of parts that the work is divided into.
    pub tasks: usize,
    /// What the work of this process runs on.
    pub handle: Handle,
}

/// A scheduler's address.
#[derive(Debug, Clone)]
pub struct Scheduler {
    /// Such as `http://10.0.0.1:50050`.
    pub address: String,
    /// How long it may be away, or without executors.
    pub patience: Duration,
    /// Asks it whether it has executors.
    pub client: reqwest::Client,
}

impl Scheduler {
    /// Whether it is there and has executors.
    async fn is_ready(&self) -> Result<(), &'static str> {
        let asked = self.client.get(format!("{}/readyz", self.address));
        match asked.timeout(Duration::from_secs(2)).send().await {
            Ok(answer) if answer.status().is_success() => Ok(()),
            Ok(_) => Err("has no executors"),
            Err(_) => Err("does not answer"),
        }
    }

    /// Waits until it is there. After `patience` it gives up.
    async fn ready(&self) -> Result<(), Error> {
        let start = Instant::now();
        while let Err(why) = self.is_ready().await {
            if start.elapsed() >= self.patience {
                return Err(self.absent(why));
            }
            tokio::time::sleep(LOOK.min(self.patience)).await;
        }
        Ok(())
    }

    /// Ends when it was away for the whole of `patience`.
    async fn gone(&self) -> Error {
        let mut since = Instant::now();
        loop {
            match self.is_ready().await {
                Ok(()) => since = Instant::now(),
                Err(why) if since.elapsed() >= self.patience => return self.absent(why),
                Err(_) => {}
            }
            tokio::time::sleep(LOOK).await;
        }
    }

    fn absent(&self, why: &str) -> Error {
        let seconds = self.patience.as_secs();
        Error::Absent(format!(
            "the scheduler {} {why} since {seconds} s",
            self.address
        ))
    }
}

impl Engine {
    /// A session of its own for a question, so that one does not wait for another's.
    async fn context(&self) -> Result<SessionContext, Error> {
        let Some(scheduler) = &self.scheduler else {
            let config = SessionConfig::new().with_target_partitions(self.tasks);
            return Ok(SessionContext::new_with_config_rt(config, runtime(None)?));
        };
        let config = SessionConfig::new_with_ballista()
            .with_target_partitions(self.tasks)
            .with_ballista_grpc_client_max_message_size(MOST_BYTES)
            .with_ballista_logical_extension_codec(Arc::new(FilesCodec::default()));
        let state = SessionStateBuilder::new()
            .with_default_features()
            .with_config(config)
            .with_runtime_env(runtime(None)?)
            .build();
        Ok(SessionContext::remote_with_state(&scheduler.address, state).await?)
    }

    /// Asks once, and adds the answer to the gatherings.
    async fn ask(
        &self,
        question: &Question,
        gatherings: &mut [Gathering<'_>],
    ) -> Result<(), Error> {
        let context = self.context().await?;
        let mut sums = question.sums(&context)?.execute_stream().await?;
        while let Some(batch) = sums.next().await {
            question.add(&batch?, gatherings)?;
        }
        if let Some(parts) = question.parts(&context)? {
            for batch in parts.collect().await? {
                Question::add_parts(&batch, gatherings)?;
            }
        }
        Ok(())
    }

    /// Asks once, as long as the cluster is there.
    async fn ask_while_there(
        &self,
        question: &Question,
        gatherings: &mut [Gathering<'_>],
    ) -> Result<(), Error> {
        let Some(scheduler) = &self.scheduler else {
            return self.ask(question, gatherings).await;
        };
        scheduler.ready().await?;
        tokio::select! {
            answer = self.ask(question, gatherings) => answer,
            gone = scheduler.gone() => Err(gone),
        }
    }

    fn answer(&self, work: &Work<'_>) -> Result<Vec<Sums>, Error> {
        let mut attempt = 1;
        loop {
            let mut gatherings = work.gatherings()?;
            let question = Question::new(work, &mut gatherings)?;
            if question.is_empty() {
                return Ok(work.finish(gatherings)?);
            }
            let asked = self.ask_while_there(&question, &mut gatherings);
            let error = match self.handle.block_on(asked) {
                Ok(()) => return Ok(work.finish(gatherings)?),
                Err(error @ Error::Plan(_)) => error,
                Err(error) => return Err(error),
            };
            // The store's own changes are no fault of the cluster.
            work.is_there()?;
            if is_of_data(&error) {
                log::warn!("this process reads the store by itself, after: {error}");
                return Ok(Here.sums(work)?);
            }
            if attempt == ATTEMPTS {
                return Err(error);
            }
            log::warn!("the question is asked again, after: {error}");
            attempt += 1;
            std::thread::sleep(PAUSE);
        }
    }
}

impl Summing for Engine {
    fn sums(&self, work: &Work<'_>) -> Result<Vec<Sums>, StoreError> {
        self.answer(work).map_err(|error| match error {
            Error::Store(error) => error,
            error => StoreError::Cluster {
                address: match &self.scheduler {
                    Some(scheduler) => scheduler.address.clone(),
                    None => "of this process".to_owned(),
                },
                why: error.to_string(),
            },
        })
    }
}

/// Whether an error comes from what is in a file. Those of other machines come as text.
fn is_of_data(error: &Error) -> bool {
    let Error::Plan(error) = error else {
        return false;
    };
    let is_own = matches!(
        error.find_root(),
        DataFusionError::ParquetError(_) | DataFusionError::ArrowError(..)
    );
    let text = error.to_string();
    let marks = [
        "ParquetError",
        "Parquet error",
        "Parquet argument error",
        "Arrow error",
    ];
    is_own || marks.iter().any(|mark| text.contains(mark))
}
