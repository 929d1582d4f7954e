//! The sites of blocks: stacks by their numbers, as a recording that can be named.

use profundo_probe::MAX_DEPTH;
use profundo_wire::recording::Recording;
use profundo_wire::{End, Gil, PythonEnd, SampleHead, State};

use super::Copied;
use crate::heap::following::following;
use crate::heap::session::refresh_modules;
use crate::probe;
use crate::state::STATE;
use crate::{proc, recording};

/// The allocating stacks of followed blocks.
#[derive(Debug, Clone, Default)]
pub struct Sites {
    /// The number of sites, which count from 1.
    pub count: u32,
    /// A sample for each, whose weight is its number.
    pub stacks: Recording,
}

/// The stacks until now, without the first `known` of them.
pub fn sites(known: u32) -> Sites {
    let Some(following) = following() else {
        return Sites::default();
    };
    let count = following.site_count();
    if count <= known {
        return Sites {
            count,
            ..Sites::default()
        };
    }
    refresh_modules();
    let mut words = Vec::new();
    let mut room = vec![0; MAX_DEPTH];
    for site in known + 1..=count {
        let trace = following.trace(site);
        let Some((addresses, end, clock)) =
            trace.and_then(|trace| following.traces.read(trace, &mut room))
        else {
            continue;
        };
        let head = SampleHead {
            state: State::Running,
            end: End::from_code(end).unwrap_or(End::Broken),
            frames: addresses.len() as u16,
            python: 0,
            python_end: PythonEnd::Whole,
            gil: Gil::None,
            clock,
            weight: u64::from(site),
            task: 0,
            thread: 0,
            tid: 0,
            span: 0,
        };
        words.extend(head.to_words());
        words.extend(addresses);
    }
    let sessions = STATE.lock();
    let threads = probe::probe().map(|probe| recording::threads(probe, &sessions.totals));
    let stacks = Recording {
        chunks: vec![words],
        pid: std::process::id(),
        command: proc::command_line(),
        threads: threads.unwrap_or_default(),
        modules: sessions
            .modules
            .as_ref()
            .map(|list| list.infos())
            .unwrap_or_default(),
        ..Recording::default()
    };
    Sites { count, stacks }
}

impl Copied {
    /// Blocks that could not be followed for want of room.
    pub fn missed(&self) -> u64 {
        let missed = &self.following.missed;
        missed.load(std::sync::atomic::Ordering::Relaxed)
    }
}
