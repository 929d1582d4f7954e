//! `watch`: profiles without an end, into a store.

use std::process::ExitCode;
use std::time::Duration;

use anyhow::Result;
use profundo_launch::end_as;
use profundo_watch::{Settings, Target, watch as watch_target};

use crate::agent_file;
use crate::options::{self, Labels, Watch};

/// The time of a row within a segment, at most.
const STEP: Duration = Duration::from_secs(10);
/// The limit of holding threads of Python, as one part in so many of the time that they run.
const MOST_HELD: u64 = 125;

pub fn watch(options: &Watch) -> Result<ExitCode> {
    if let Some(why) = misfit(options) {
        options::refuse(why);
    }
    let target = match (options.machine.chosen(), &options.pids[..]) {
        (Some(chosen), _) => Target::Machine {
            chosen,
            most_held: (!options.machine.no_hold).then_some(MOST_HELD),
        },
        (None, [first, others @ ..]) => Target::Processes(*first, others.to_vec()),
        (None, []) => Target::Program {
            words: options.words.clone(),
            agent: agent_file::file(match options.memory {
                true => agent_file::For::Memory,
                false => agent_file::For::Time,
            })?,
        },
    };
    let ended = watch_target(&Settings {
        target,
        to: options.to.clone(),
        headers: options.header.clone(),
        service: options.service.clone(),
        labels: Labels::all(&options.label),
        period: options.period(),
        waits: !options.no_waits,
        memory: options.memory(),
        every: options.every,
        step: STEP.min(options.every),
        duration: options.duration,
        keeps_up: options.store.keeps_up(&options.to),
        limits: options.store.limits(&options.to),
        spool: options.store.spool.clone(),
        spool_size: options.store.spool_size.0,
    })?;
    Ok(end_as(ended))
}

/// The reason why these options do not go together.
fn misfit(options: &Watch) -> Option<&'static str> {
    if options.to.is_empty() {
        return Some("`--to` names the place of the profiles: a folder, or s3://BUCKET/PREFIX");
    }
    if options.to.contains('?') && !options.to.contains("://") {
        return Some("`--to` is a place alone; a `?` begins a query");
    }
    None
}
