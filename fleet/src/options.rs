//! What the program takes.

use std::net::{IpAddr, SocketAddr};
use std::path::PathBuf;
use std::time::Duration;

use clap::{Args, Parser, Subcommand};
use url::Url;

use crate::Error;
use crate::cluster::Scheduler;

/// Sums of a fleet's profiles by several machines.
#[derive(Debug, Parser)]
#[command(name = "profundo-fleet", version)]
pub struct Options {
    /// The part to run.
    #[command(subcommand)]
    pub verb: Verb,
}

/// The parts.
#[derive(Debug, Subcommand)]
pub enum Verb {
    /// Divides questions among executors. There is one of it.
    Scheduler(SchedulerOptions),
    /// Reads the store, on each machine that takes part.
    Executor(ExecutorOptions),
    /// Takes questions over HTTP, such as those of `profundo report --cluster`.
    Gateway(GatewayOptions),
    /// Asks one question.
    Query(QueryOptions),
}

/// Those of `scheduler`.
#[derive(Debug, Args)]
pub struct SchedulerOptions {
    /// The address that executors and gateways reach it at.
    #[arg(long, default_value = "127.0.0.1:50050", value_name = "ADDRESS")]
    pub listen: SocketAddr,
}

/// Those of `executor`.
#[derive(Debug, Args)]
pub struct ExecutorOptions {
    /// The scheduler.
    #[arg(long, default_value = "http://127.0.0.1:50050", value_name = "URL")]
    pub scheduler: String,
    /// The address that the scheduler and other executors reach it at.
    #[arg(long, default_value = "127.0.0.1", value_name = "ADDRESS")]
    pub listen: IpAddr,
    /// Its port; it takes the next one as well. Without it, two ports that are free.
    #[arg(long, value_name = "PORT")]
    pub port: Option<u16>,
    /// The number of tasks at a time; one for each core without it.
    #[arg(long, value_name = "N")]
    pub cores: Option<usize>,
    /// The folder for sums on their way from one executor to another.
    #[arg(long, value_name = "DIR")]
    pub work_dir: Option<PathBuf>,
}

/// How the cluster is asked.
#[derive(Debug, Args)]
pub struct Asking {
    /// The number of parts that the work is divided into.
    #[arg(long, default_value_t = 16, value_name = "N")]
    pub tasks: usize,
    /// How many seconds the scheduler may be away, or without executors.
    #[arg(long, default_value_t = 15, value_name = "SECONDS")]
    pub patience: u64,
}

/// Those of `gateway`.
#[derive(Debug, Args)]
pub struct GatewayOptions {
    /// The scheduler.
    #[arg(long, default_value = "http://127.0.0.1:50050", value_name = "URL")]
    pub scheduler: String,
    /// The address that questions come to.
    #[arg(long, default_value = "127.0.0.1:50080", value_name = "ADDRESS")]
    pub listen: SocketAddr,
    /// A folder or `s3://BUCKET/PREFIX` that may be asked about, with all below it; several times
    /// for several.
    #[arg(long, required = true, value_name = "PLACE")]
    pub store: Vec<String>,
    #[command(flatten)]
    pub asking: Asking,
}

/// Those of `query`.
#[derive(Debug, Args)]
pub struct QueryOptions {
    /// The store and what is wanted of it.
    #[arg(value_name = "PLACE?service=…")]
    pub query: String,
    /// The scheduler that is asked. Without any of the three, the store is read without DataFusion.
    #[arg(long, value_name = "URL", group = "way")]
    pub cluster: Option<String>,
    /// The gateway that is asked, as `profundo report --cluster` asks it.
    #[arg(long, value_name = "URL", group = "way")]
    pub gateway: Option<String>,
    /// By DataFusion, in this process.
    #[arg(long, group = "way")]
    pub local: bool,
    /// The file that the profile goes to.
    #[arg(short, long, value_name = "FILE")]
    pub output: Option<PathBuf>,
    #[command(flatten)]
    pub asking: Asking,
}

/// Host and port of a scheduler.
pub fn address(url: &str) -> Result<(String, u16), Error> {
    let wrong = || Error::Address {
        address: url.to_owned(),
        example: "http://127.0.0.1:50050",
    };
    let read = Url::parse(url).map_err(|_| wrong())?;
    match (read.scheme(), read.host_str(), read.port()) {
        ("http", Some(host), Some(port)) => Ok((host.to_owned(), port)),
        _ => Err(wrong()),
    }
}

impl Asking {
    /// The scheduler at an address.
    pub fn scheduler(&self, url: &str) -> Result<Scheduler, Error> {
        let (host, port) = address(url)?;
        Ok(Scheduler {
            address: format!("http://{host}:{port}"),
            patience: Duration::from_secs(self.patience),
            client: reqwest::Client::new(),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_scheduler_has_a_host_and_a_port() {
        let found = address("http://10.0.0.1:50050/").unwrap();
        assert_eq!(found, ("10.0.0.1".to_owned(), 50050));
        for wrong in ["10.0.0.1:50050", "http://10.0.0.1", "https://a:1", "x"] {
            let error = address(wrong).unwrap_err().to_string();
            let wanted = format!("{wrong} is no address; write http://127.0.0.1:50050");
            assert_eq!(error, wanted);
        }
    }
}
