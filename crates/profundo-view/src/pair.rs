//! Two recordings that are compared, or two sets of them: each reduced to what passes a filter, as
//! `profundo diff` reads them, and the tree of both sides. The last few are kept.

use std::sync::{Arc, Mutex};

use profundo_analysis::diff::{self, StackTree};
use profundo_analysis::{Filter, Shown, keep_only, transform};
use profundo_model::Profile;

use crate::library::{Recent, Recording, lock, measure_of};
use crate::{Error, Library, Question};

/// The number of comparisons that are kept.
const PAIRS: usize = 3;
/// The number of trees that are kept for each.
const TREES: usize = 3;

/// The kept comparisons, by the state of the files and the filter.
pub(crate) type Pairs = Mutex<Recent<(u64, String), Arc<Pair>>>;

/// Two sides that are compared, as far as they pass a filter.
pub(crate) struct Pair {
    /// The profiles before and behind them those after.
    profiles: Vec<Profile>,
    /// The number of those before.
    before: usize,
    /// The filter.
    pub filter: Filter,
    /// The tree of both, by the shown part of stacks.
    trees: Mutex<Recent<Shown, Arc<StackTree>>>,
}

impl std::fmt::Debug for Pair {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Pair").finish_non_exhaustive()
    }
}

impl Pair {
    /// The profiles before and after.
    pub fn sides(&self) -> [Vec<&Profile>; 2] {
        let (before, after) = self.profiles.split_at(self.before);
        [before, after].map(|side| side.iter().collect())
    }

    /// A profile of one side: 0 before, 1 after.
    pub fn profile(&self, side: usize, run: usize) -> &Profile {
        &self.profiles[side * self.before + run]
    }

    /// The tree of both.
    pub fn tree(&self, shown: Shown) -> Result<Arc<StackTree>, Error> {
        if let Some(known) = lock(&self.trees).get(&shown) {
            return Ok(Arc::clone(known));
        }
        let options = diff::Options {
            shown,
            ..diff::Options::default()
        };
        let [before, after] = self.sides();
        let tree = diff::compare_stacks(&before, &after, &options);
        let tree = Arc::new(tree.map_err(|why| Error::Nothing(why.to_string()))?);
        lock(&self.trees).put(shown, Arc::clone(&tree), TREES);
        Ok(tree)
    }
}

impl Library {
    /// Both sides, reduced to what passes the filter: as `profundo diff` reads them.
    pub(crate) fn pair(&self, question: &Question) -> Result<Arc<Pair>, Error> {
        let Some(before) = self.before() else {
            let why = "two recordings are compared: `profundo view BEFORE AFTER`";
            return Err(Error::Nothing(why.to_owned()));
        };
        let filter = question.filter()?;
        let measure = question.measure()?;
        let with_runtime = question.is("runtime");
        let key = format!("{measure:?} {with_runtime} {filter}");
        let key = (self.version(), key);
        if let Some(known) = lock(&self.pairs).get(&key) {
            return Ok(Arc::clone(known));
        }
        let part = |recording: &Recording| -> Result<Profile, Error> {
            let whole = recording.whole()?;
            let mut profile = measure_of(&whole.profile, measure)?;
            let left = transform(&mut profile, &filter);
            keep_only(&mut profile, &left);
            Ok(profile)
        };
        let profiles: Result<Vec<Profile>, Error> = self.recordings.iter().map(part).collect();
        let mut profiles = profiles?;
        let is_empty = |profile: &Profile| {
            profile.samples.is_empty()
                && profile.traced.calls.is_empty()
                && profile.traced.lines.is_empty()
        };
        if profiles.iter().all(is_empty) {
            let why = format!("nothing of these recordings passes the filter ({filter})");
            return Err(Error::Nothing(why));
        }
        if !with_runtime {
            diff::hide_alike(&mut profiles);
        }
        let pair = Arc::new(Pair {
            profiles,
            before,
            filter,
            trees: Mutex::default(),
        });
        lock(&self.pairs).put(key, Arc::clone(&pair), PAIRS);
        Ok(pair)
    }
}
