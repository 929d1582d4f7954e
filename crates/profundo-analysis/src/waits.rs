//! What threads waited for, for how long, and which line made them wait.

use profundo_model::{LocationKind, Profile, StackId, State, ThreadId, Wait};
use rustc_hash::{FxHashMap, FxHashSet};

use crate::own_line::OwnLines;
use crate::{Place, Selection, Shown};

/// All waiting for one thing at one line.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct WaitRow {
    /// What was waited for. `None`: it is not known.
    pub wait: Option<Wait>,
    /// The frame that names it: the lock, the file, the child.
    pub what: Option<Place>,
    /// The innermost line of one's own that waited; of a library, where there is none.
    pub at: Option<Place>,
    /// Nanoseconds.
    pub weight: u64,
    /// How many threads did.
    pub threads: usize,
}

/// What is waited for, the frame that names it, and the line.
type Key = (Option<Wait>, Option<Place>, Option<Place>);

/// The waits of a selection, the longest first.
pub fn waits(profile: &Profile, selection: &Selection, shown: Shown) -> Vec<WaitRow> {
    let lines = OwnLines::new(profile, shown);
    let mut keys: FxHashMap<StackId, Key> = FxHashMap::default();
    let mut rows: FxHashMap<Key, (u64, FxHashSet<ThreadId>)> = FxHashMap::default();
    for sample in selection.samples(profile) {
        if !matches!(sample.state, State::WallWaiting | State::Sleeping) {
            continue;
        }
        let key = keys.entry(sample.stack).or_insert_with(|| {
            let innermost = profile.stacks.locations(sample.stack).next();
            let kind = innermost.map(|location| profile.locations.get(location).kind);
            let wait = match kind {
                Some(LocationKind::Wait { wait, .. }) => Some(wait),
                _ => None,
            };
            let what = wait.and_then(|_| lines.innermost(sample.stack));
            let at = lines.of(sample.stack);
            (wait, what, at)
        });
        let (weight, threads) = rows.entry(*key).or_default();
        *weight = weight.saturating_add(sample.weight.0);
        threads.insert(sample.thread);
    }
    let mut rows: Vec<WaitRow> = rows
        .into_iter()
        .map(|((wait, what, at), (weight, threads))| WaitRow {
            wait,
            what,
            at,
            weight,
            threads: threads.len(),
        })
        .collect();
    rows.sort_by_key(|row| (std::cmp::Reverse(row.weight), row.at, row.what));
    rows
}
