//! One question, asked from the command line.

use std::io::Write;
use std::time::{Instant, SystemTime, UNIX_EPOCH};

use profundo_model::Profile;
use profundo_store::{Query, answer, answer_by, cluster, open};
use tokio::runtime::Handle;

use crate::Error;
use crate::cluster::Engine;
use crate::options::QueryOptions;

/// The threads that read definitions.
pub const THREADS: usize = 8;

/// Asks, and says what came.
pub fn run(options: &QueryOptions, handle: &Handle) -> Result<(), Error> {
    let query = Query::parse(&options.query, now())?;
    let start = Instant::now();
    let (file, profile) = match &options.gateway {
        Some(gateway) => {
            let file = cluster::ask(gateway, &query)?;
            let (profile, _) = profundo_formats::read(&file)?;
            (file, profile)
        }
        None => {
            let profile = asked(options, &query, handle)?;
            (saved(&profile)?, profile)
        }
    };
    let spent = start.elapsed().as_secs_f64();
    let failed = |what: String| {
        move |source| Error::Io {
            verb: "write",
            what,
            source,
        }
    };
    if let Some(path) = &options.output {
        std::fs::write(path, &file).map_err(failed(path.display().to_string()))?;
    }
    let (rows, samples) = (profile.samples.len(), profile.sample_count());
    let weight: u64 = profile.samples.iter().map(|sample| sample.weight.0).sum();
    let line = format!("rows {rows} samples {samples} weight {weight}");
    let mut out = std::io::stdout();
    let written = writeln!(out, "{line} bytes {} seconds {spent:.2}", file.len());
    written.map_err(failed("stdout".to_owned()))
}

/// The answer that is put together here.
fn asked(options: &QueryOptions, query: &Query, handle: &Handle) -> Result<Profile, Error> {
    let store = open(&query.place)?;
    if options.cluster.is_none() && !options.local {
        return Ok(answer(&*store, query, THREADS)?);
    }
    let scheduler = options.cluster.as_ref();
    let scheduler = scheduler.map(|url| options.asking.scheduler(url));
    let engine = Engine {
        scheduler: scheduler.transpose()?,
        tasks: options.asking.tasks,
        handle: handle.clone(),
    };
    Ok(answer_by(&engine, &*store, query, THREADS)?)
}

/// The profile as a `.profundo` file.
pub fn saved(profile: &Profile) -> Result<Vec<u8>, Error> {
    let mut file = Vec::new();
    profundo_formats::write(profile, &mut file)?;
    Ok(file)
}

/// Milliseconds since 1970.
fn now() -> i64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH);
    since.map_or(0, |since| {
        i64::try_from(since.as_millis()).unwrap_or(i64::MAX)
    })
}
