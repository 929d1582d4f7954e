//! Two recordings that are compared, or two sets of them: each reduced to what passes a filter, as
//! `profundo diff` reads them, and the tree of both sides. The last few are kept.
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

/// Two sides that are compared, as far as they pass a filter.
pub(crate) struct Pair {
    /// The profiles before and behind them those after.
    profiles: Vec<Profile>,
    /// The names of these.
    pub names: Vec<String>,
    /// The number of those before.
    before: usize,
    /// The filter.
    pub filter: Filter,
    /// The scale, where the question does not choose one.
    pub per: Per,
    /// Whether both sides are parts of one run.
    pub is_one_run: bool,
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
            per: self.per.clone(),
            is_one_run: self.is_one_run,
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
        let (sides, before) = self.parts_of(question)?;
        let measure = question.measure()?;
        let with_runtime = question.is("runtime");
        let filter = sides[0].1.clone();
        let parts = sides
            .iter()
            .map(|(number, filter)| format!("{number} {filter}"));
        let parts = parts.collect::<Vec<_>>().join(" / ");
        let key = (
            self.version(),
            format!("{measure:?} {with_runtime} {parts}"),
        );
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
        let profiles: Result<Vec<Profile>, Error> = sides.iter().map(part).collect();
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
        let is_one_run = question.get("after").is_some();
        if is_one_run {
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
        let name = |((number, filter), profile): (&(usize, Filter), &Profile)| match &profile
            .meta
            .question
        {
            _ if is_one_run => times(filter),
            Some(question) => question.title.clone(),
            None => self.stem(*number),
        };
        let names = sides.iter().zip(&profiles).map(name).collect();
        // Answers may be of other times and loads.
        let are_answers = (profiles.iter()).all(|profile| profile.meta.question.is_some());
        let pair = Arc::new(Pair {
            profiles,
            names,
            before,
            per: match (is_one_run, are_answers) {
                (true, _) => Per::Second,
                (false, true) => Per::Share,
                (false, false) => Per::Automatic,
            },
            is_one_run,
            filter,
            trees: Mutex::default(),
        });
        lock(&self.pairs).put(key, Arc::clone(&pair), PAIRS);
        Ok(pair)
    }

    /// The recording and the filter of each part that is compared, and the number of those before.
    fn parts_of(&self, question: &Question) -> Result<(Vec<(usize, Filter)>, usize), Error> {
        let filter = question.filter()?;
        if let Some(after) = question.parsed::<Filter>("after")? {
            let number = question.parsed("recording")?.unwrap_or(0);
            if number >= self.recordings.len() {
                return Err(Error::Nothing(format!("there is no recording {number}")));
            }
            return Ok((vec![(number, filter), (number, after)], 1));
        }
        let Some(before) = self.before() else {
            let why = "two recordings are compared: `profundo view BEFORE AFTER`";
            return Err(Error::Nothing(why.to_owned()));
        };
        let all = (0..self.recordings.len()).map(|number| (number, filter.clone()));
        Ok((all.collect(), before))
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
