//! Two recordings that are compared: both reduced to what passes a filter, as `profundo diff` reads
//! them, and the tree of both. The last few are kept.
//!
//! A question with `after=FILTER` compares two parts of one recording in the same way: what passes
//! `filter` is before, and what passes `after` is after. Amounts are those of a second then,
//! because parts are as long as their reader chose them.

use std::sync::{Arc, Mutex};

use profundo_analysis::diff::{self, Per, StackTree};
use profundo_analysis::{Filter, Shown, keep_only, transform};
use profundo_model::{Nanos, Profile};

use crate::library::{Recent, lock, measure_of};
use crate::{Error, Library, Question};

/// The number of comparisons that are kept.
const PAIRS: usize = 3;
/// The number of trees that are kept for each.
const TREES: usize = 3;

/// The kept comparisons, by the state of the files and the filter.
pub(crate) type Pairs = Mutex<Recent<(u64, String), Arc<Pair>>>;

/// Two recordings that are compared, as far as they pass a filter.
pub(crate) struct Pair {
    /// The profiles before and after.
    pub profiles: [Profile; 2],
    /// The filter.
    pub filter: Filter,
    /// The names of both sides.
    pub names: [String; 2],
    /// The scale, where the question does not choose one.
    pub per: Per,
    /// The tree of both, by the shown part of stacks.
    trees: Mutex<Recent<Shown, Arc<StackTree>>>,
}

impl std::fmt::Debug for Pair {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Pair").finish_non_exhaustive()
    }
}

impl Pair {
    /// The tree of both.
    pub fn tree(&self, shown: Shown) -> Result<Arc<StackTree>, Error> {
        if let Some(known) = lock(&self.trees).get(&shown) {
            return Ok(Arc::clone(known));
        }
        let options = diff::Options {
            shown,
            per: self.per.clone(),
            ..diff::Options::default()
        };
        let [before, after] = &self.profiles;
        let tree = diff::compare_stacks(&[before], &[after], &options);
        let tree = Arc::new(tree.map_err(|why| Error::Nothing(why.to_string()))?);
        lock(&self.trees).put(shown, Arc::clone(&tree), TREES);
        Ok(tree)
    }
}

impl Library {
    /// Both sides, reduced to what passes the filter: as `profundo diff` reads them.
    pub(crate) fn pair(&self, question: &Question) -> Result<Arc<Pair>, Error> {
        let sides = self.sides(question)?;
        let measure = question.measure()?;
        let with_runtime = question.is("runtime");
        let [(number, before), (_, after)] = &sides;
        let key = format!("{measure:?} {with_runtime} {number} {before} / {after}");
        let key = (self.version(), key);
        if let Some(known) = lock(&self.pairs).get(&key) {
            return Ok(Arc::clone(known));
        }
        let part = |(number, filter): &(usize, Filter)| -> Result<Profile, Error> {
            let whole = self.recordings[*number].whole()?;
            let mut profile = measure_of(&whole.profile, measure)?;
            let left = transform(&mut profile, filter);
            keep_only(&mut profile, &left);
            Ok(profile)
        };
        let mut profiles = [part(&sides[0])?, part(&sides[1])?];
        let is_empty = |profile: &Profile| {
            profile.samples.is_empty()
                && profile.traced.calls.is_empty()
                && profile.traced.lines.is_empty()
        };
        if profiles.iter().all(is_empty) {
            let why = format!("nothing of either recording passes the filter ({before})");
            return Err(Error::Nothing(why));
        }
        let is_of_one = sides[0].0 == sides[1].0;
        if is_of_one {
            for (profile, (_, filter)) in profiles.iter_mut().zip(&sides) {
                let whole = profile.meta.duration;
                let to = filter.to.map_or(whole, |to| to.min(whole));
                let from = filter.from.unwrap_or_default();
                profile.meta.duration = Nanos(to.0.saturating_sub(from.0));
            }
        }
        if !with_runtime {
            diff::hide_alike(&mut profiles);
        }
        let pair = Arc::new(Pair {
            profiles,
            names: [0, 1].map(|side| match is_of_one {
                true => times(&sides[side].1),
                false => self.stem(side),
            }),
            per: match is_of_one {
                true => Per::Second,
                false => Per::Automatic,
            },
            filter: sides[0].1.clone(),
            trees: Mutex::default(),
        });
        lock(&self.pairs).put(key, Arc::clone(&pair), PAIRS);
        Ok(pair)
    }

    /// The recording and the filter of each side.
    fn sides(&self, question: &Question) -> Result<[(usize, Filter); 2], Error> {
        let before = question.filter()?;
        if let Some(after) = question.parsed::<Filter>("after")? {
            let number = question.parsed("recording")?.unwrap_or(0);
            if number >= self.recordings.len() {
                return Err(Error::Nothing(format!("there is no recording {number}")));
            }
            return Ok([(number, before), (number, after)]);
        }
        if self.recordings.len() != 2 {
            let why = "two recordings are compared: `profundo view BEFORE AFTER`";
            return Err(Error::Nothing(why.to_owned()));
        }
        Ok([(0, before.clone()), (1, before)])
    }

    /// A recording's name: its file's, without folder and ending.
    fn stem(&self, number: usize) -> String {
        let path = self.source(number).map(crate::Source::path);
        let stem = path.and_then(|path| path.file_stem());
        stem.map_or_else(String::new, |stem| stem.to_string_lossy().into_owned())
    }
}

/// The times of a filter in words.
fn times(filter: &Filter) -> String {
    let seconds = |time: Nanos| {
        let text = format!("{:.9}", time.0 as f64 / 1e9);
        let text = text.trim_end_matches('0').trim_end_matches('.');
        format!("{text} s")
    };
    match (filter.from, filter.to) {
        (None, None) => "all".to_owned(),
        (from, None) => format!("from {}", seconds(from.unwrap_or_default())),
        (from, Some(to)) => format!("{} to {}", seconds(from.unwrap_or_default()), seconds(to)),
    }
}
