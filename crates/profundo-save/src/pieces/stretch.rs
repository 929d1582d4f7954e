//! A stretch of a recording that is being recorded. Its figures are those of its own time: what the
//! recorder counts since the beginning, less what it had counted when the stretch began.

use std::collections::BTreeMap;

use profundo_ingest::{EarlierBlocks, Ingest, Split};
use profundo_model::{Nanos, Profile};
use profundo_recorder::SoFar;
use profundo_wire::recording::{Event, Finish, Start};

use super::standing::Standing;

/// The recorder's figures at a moment.
#[derive(Debug, Clone, Default)]
pub(crate) struct Figures {
    pub(crate) finish: Finish,
    /// By key, the user and system time of a process.
    times: BTreeMap<u32, (u64, u64)>,
}

impl Figures {
    /// The figures at the recording's beginning, or where it was cleared.
    pub(crate) fn none(start: Start) -> Self {
        Self {
            finish: Finish {
                ended: start.started,
                own_cost: Some(0),
                ..Finish::default()
            },
            times: BTreeMap::new(),
        }
    }

    pub(crate) fn new(so_far: &SoFar) -> Self {
        let times = so_far.processes.iter();
        Self {
            finish: so_far.finish,
            times: times
                .map(|times| (times.key, (times.user, times.system)))
                .collect(),
        }
    }
}

/// The stretch.
#[derive(Debug)]
pub(crate) struct Stretch {
    ingest: Ingest,
    before: Figures,
    /// The times of processes that have ended meanwhile.
    ended: BTreeMap<u32, (u64, u64)>,
    start: Start,
}

/// A stretch that is complete.
#[derive(Debug)]
pub(crate) struct Ended {
    pub(crate) profile: Profile,
    /// The samples whose addresses had other names when they were taken.
    pub(crate) split: Split,
    /// Its time, since the start of the recording.
    pub(crate) from: Nanos,
    pub(crate) to: Nanos,
    /// The same without the time in which sampling was paused.
    pub(crate) ran: (Nanos, Nanos),
    /// The keys of its processes, by their rows.
    pub(crate) keys: Vec<u32>,
    /// The number of blocks of all stretches before it, and its own.
    pub(crate) blocks: (u64, u64),
    /// What became of blocks of earlier stretches.
    pub(crate) earlier: EarlierBlocks,
}

impl Stretch {
    /// Begins a stretch with what is known of the programs.
    pub(crate) fn begin(
        mut ingest: Ingest,
        start: Start,
        standing: &Standing,
        before: Figures,
    ) -> Self {
        ingest.event(Event::Clock(before.finish.ended));
        standing.tell(&mut |event| ingest.event(event));
        ingest.begin_figures();
        Self {
            ingest,
            before,
            ended: BTreeMap::new(),
            start,
        }
    }

    /// Takes in an event.
    pub(crate) fn event(&mut self, event: Event<'_>) {
        if let Event::Ended(end) = &event
            && let (Some(user), Some(system)) = (end.user, end.system)
        {
            self.ended.insert(end.process, (user, system));
        }
        self.ingest.event(event);
    }

    /// The profile so far.
    pub(crate) fn profile(&self) -> &Profile {
        self.ingest.profile()
    }

    /// The same, to take rows out of it.
    pub(crate) fn profile_mut(&mut self) -> &mut Profile {
        self.ingest.profile_mut()
    }

    /// The tables of the stretch after this one, which knows blocks from `first_kept` on.
    pub(crate) fn next(&mut self, first_kept: u64) -> Ingest {
        self.ingest.next_piece(self.start, first_kept)
    }

    /// Ends the stretch, where the recorder has these figures.
    pub(crate) fn end(mut self, after: &Figures) -> Ended {
        let keys = self.ingest.keys().to_vec();
        let blocks = self.ingest.block_rows();
        let (now, before) = (after.finish, self.before.finish);
        let difference = |now: u64, before: u64| now.saturating_sub(before);
        let own_cost = now.own_cost.zip(before.own_cost);
        // The clock is known best at the end.
        self.ingest.event(Event::Clock(now.ended));
        let earlier = self.ingest.take_earlier_blocks();
        let (mut profile, split) = self.ingest.finish_unsplit(Finish {
            ended: now.ended,
            duration: difference(now.duration, before.duration),
            cpu: difference(now.cpu, before.cpu),
            own_cost: own_cost.map(|(now, before)| difference(now, before)),
            recorder_cpu: None,
            by_ticks: difference(now.by_ticks, before.by_ticks),
        });
        for (process, key) in profile.processes.iter_mut().zip(&keys) {
            let last = self
                .ended
                .get(key)
                .or_else(|| after.times.get(key))
                .copied();
            let first = self.before.times.get(key).copied().unwrap_or_default();
            process.user = last.map(|(user, _)| Nanos(difference(user, first.0)));
            process.system = last.map(|(_, system)| Nanos(difference(system, first.1)));
        }
        Ended {
            profile,
            split,
            from: since(self.start, before),
            to: since(self.start, now),
            ran: (Nanos(before.duration), Nanos(now.duration)),
            keys,
            blocks,
            earlier,
        }
    }
}

/// The time of figures, since the start of the recording.
fn since(start: Start, finish: Finish) -> Nanos {
    let monotonic = finish.ended.monotonic;
    Nanos(monotonic.saturating_sub(start.started.monotonic))
}
