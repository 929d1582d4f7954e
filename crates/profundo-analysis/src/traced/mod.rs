//! The table of functions whose calls were all counted, made from the tree of their calls.
//!
//! A function that calls itself must not count its time twice. So the total time of a function or a
//! call is the sum of its *outermost* occurrences alone: those with no other of the same further
//! up. Python's cProfile does that by counting levels while the program runs; here the same is read
//! off the tree afterwards.
//!
//! A function is its file, its first line and its name. Two pieces of code that agree in these are
//! one function.

mod exceptions;
mod label;
mod lines;
mod numbers;
mod sampled;

use profundo_model::{Call, Callers, LocationId, Profile, SampleKind, StackId, ThreadId};
use rustc_hash::{FxHashMap, FxHashSet};

pub use exceptions::{RaisedExceptions, traced_exceptions};
pub use label::CallLabel;
pub use lines::{CountedLine, LinesOfFunction, traced_lines};
pub use sampled::time_lines;

use crate::amount::Amount;
use crate::{Filter, Place, Selection};
use numbers::Key;
pub(crate) use numbers::Numbers;

/// The numbers of calls and resumes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub struct Begun {
    /// The number of calls.
    pub calls: u64,
    /// The number of resumes after a yield or an await.
    pub resumes: u64,
}

impl Begun {
    /// Both, which cProfile counts as calls.
    pub fn all(self) -> u64 {
        self.calls.saturating_add(self.resumes)
    }

    fn add(&mut self, call: &Call) {
        self.calls = self.calls.saturating_add(call.calls);
        self.resumes = self.resumes.saturating_add(call.resumes);
    }
}

/// The sums of all calls of a function, or of all those by one caller. Times are in nanoseconds.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub struct Counted {
    /// All calls.
    pub begun: Begun,
    /// Those with none of the same further up: cProfile's primitive calls.
    pub outermost: Begun,
    /// Their own time.
    pub own: u64,
    /// The time of the outermost ones, callees included.
    pub total: u64,
    /// The overhead of the tracing in `own`, already subtracted.
    pub own_cost: u64,
    /// The overhead of the tracing in `total`, already subtracted.
    pub total_cost: u64,
}

impl Counted {
    fn add(&mut self, call: &Call, is_outermost: bool) {
        self.begun.add(call);
        self.own = self.own.saturating_add(call.own.0);
        self.own_cost = self.own_cost.saturating_add(call.cost[1].0);
        if is_outermost {
            self.outermost.add(call);
            self.total = self.total.saturating_add(call.total.0);
            self.total_cost = self.total_cost.saturating_add(call.cost[0].0);
        }
    }
}

/// The calls of one function by another.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct CallsBetween {
    /// The row of the caller.
    pub caller: usize,
    /// The row of the callee.
    pub callee: usize,
    /// The sums of these calls. Outermost are those with no call by the same caller further up.
    pub counted: Counted,
    /// The time of calls without another call of the callee further up, by any caller. With the
    /// callee's time as a root, those of all its callers add up to its total.
    pub of_total: u64,
}

/// A function.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CountedFunction {
    /// The function.
    pub place: Place,
    /// The sums of its calls.
    pub counted: Counted,
    /// The sums of calls without a caller, which are in `counted` as well.
    pub as_root: Counted,
    /// The rows of `CallTable::between` with its callers.
    pub callers: Vec<usize>,
    /// The rows of `CallTable::between` with its callees.
    pub callees: Vec<usize>,
}

/// The table.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct CallTable {
    /// The functions, in the order of their standard names ([`CallLabel::standard_name`]).
    pub functions: Vec<CountedFunction>,
    /// The calls between functions, in the order of the callers, and then of the callees.
    pub between: Vec<CallsBetween>,
    /// The rows of the functions.
    rows: FxHashMap<Key, usize>,
}

impl CallTable {
    /// The sums of the calls of the function at this place.
    pub fn of(&self, profile: &Profile, place: Place) -> Option<&Counted> {
        let row = self.rows.get(&Key::of(profile, place))?;
        Some(&self.functions[*row].counted)
    }

    /// All calls together.
    pub fn sum(&self) -> Counted {
        let mut sum = Counted::default();
        for counted in self.functions.iter().map(|function| &function.counted) {
            for (sum, part) in [
                (&mut sum.begun, counted.begun),
                (&mut sum.outermost, counted.outermost),
            ] {
                sum.calls = sum.calls.saturating_add(part.calls);
                sum.resumes = sum.resumes.saturating_add(part.resumes);
            }
            sum.own = sum.own.saturating_add(counted.own);
            sum.own_cost = sum.own_cost.saturating_add(counted.own_cost);
        }
        // In the sum, all time is own time.
        (sum.total, sum.total_cost) = (sum.own, sum.own_cost);
        sum
    }
}

/// The table of a selection.
pub fn traced(profile: &Profile, selection: &Selection) -> CallTable {
    let numbers = selection.numbers(profile);
    let mut functions: Vec<Option<CountedFunction>> = vec![None; numbers.places.len()];
    let mut between: FxHashMap<(u32, u32), CallsBetween> = FxHashMap::default();
    for call in selected(profile, selection) {
        let row = numbers.rows[call.stack.index()];
        let (is_recursive, is_repeated) = match call.callers {
            Callers::All => (row.is_recursive, row.is_repeated),
            Callers::Last {
                is_recursive,
                is_repeated,
            } => (is_recursive, is_repeated),
        };
        let function = function(&mut functions, numbers, row.function);
        function.counted.add(call, !is_recursive);
        let Some(caller) = numbers.caller(profile, call.stack) else {
            function.as_root.add(call, !is_recursive);
            continue;
        };
        // A caller that does not pass itself is still the caller.
        self::function(&mut functions, numbers, caller);
        let pair = between
            .entry((caller, row.function))
            .or_insert(CallsBetween {
                caller: 0,
                callee: 0,
                counted: Counted::default(),
                of_total: 0,
            });
        pair.counted.add(call, !is_repeated);
        if !is_recursive {
            pair.of_total = pair.of_total.saturating_add(call.total.0);
        }
    }
    in_order(profile, functions, between)
}

fn function<'a>(
    functions: &'a mut [Option<CountedFunction>],
    numbers: &Numbers,
    number: u32,
) -> &'a mut CountedFunction {
    functions[number as usize].get_or_insert_with(|| CountedFunction {
        place: numbers.places[number as usize],
        counted: Counted::default(),
        as_root: Counted::default(),
        callers: Vec::new(),
        callees: Vec::new(),
    })
}

/// Puts functions in the order of their standard names.
fn in_order(
    profile: &Profile,
    functions: Vec<Option<CountedFunction>>,
    between: FxHashMap<(u32, u32), CallsBetween>,
) -> CallTable {
    let mut met: Vec<(usize, CountedFunction)> = (functions.into_iter().enumerate())
        .filter_map(|(number, function)| Some((number, function?)))
        .collect();
    met.sort_by_cached_key(|(_, function)| {
        let label = CallLabel::of(profile, function.place);
        (
            label.standard_name(),
            label.file.to_owned(),
            label.line,
            label.name.into_owned(),
        )
    });
    let places = met.iter().enumerate().map(|(place, (number, _))| {
        let number = u32::try_from(*number).expect("numbers of functions are 32 bits");
        (number, place)
    });
    let places: FxHashMap<u32, usize> = places.collect();
    let mut table = CallTable {
        rows: (met.iter().enumerate())
            .map(|(row, (_, function))| (Key::of(profile, function.place), row))
            .collect(),
        functions: met.into_iter().map(|(_, function)| function).collect(),
        between: (between.into_iter())
            .map(|((caller, callee), calls)| CallsBetween {
                caller: places[&caller],
                callee: places[&callee],
                ..calls
            })
            .collect(),
    };
    table
        .between
        .sort_by_key(|calls| (calls.caller, calls.callee));
    for (row, calls) in table.between.iter().enumerate() {
        table.functions[calls.caller].callees.push(row);
        table.functions[calls.callee].callers.push(row);
    }
    table
}

/// By sample, the number of its calls; `None` where calls were not counted. Places that have a
/// thread and a stack in common, as where not all callers are known, are counted by the first of
/// their samples.
pub fn calls_by_sample(profile: &Profile) -> Option<Vec<u64>> {
    if profile.meta.kind != SampleKind::Traced {
        return None;
    }
    let spots = Spots::of(profile);
    let mut calls: FxHashMap<Spot, u64> = FxHashMap::default();
    for call in &profile.traced.calls {
        let spot = spots.spot(profile, call.thread, call.stack);
        let sum = calls.entry(spot).or_default();
        *sum = sum.saturating_add(call.calls);
    }
    let samples = profile.samples.iter();
    let of = samples.map(|sample| spots.spot(profile, sample.thread, sample.stack));
    Some(of.map(|spot| calls.remove(&spot).unwrap_or(0)).collect())
}

/// How calls and samples of their own time belong together.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Spots {
    /// They have the same stack.
    Stacks,
    /// Calls have one caller each, and the stacks of samples are longer, as far as they could be
    /// estimated: they have the function and its caller in common.
    Pairs,
}

/// A thread, and a stack or the end of one.
type Spot = (ThreadId, Result<StackId, [Option<LocationId>; 2]>);

impl Spots {
    fn of(profile: &Profile) -> Self {
        let mut calls = profile
            .traced
            .calls
            .iter()
            .filter(|call| has_one_caller(call));
        let Some(first) = calls.next() else {
            return Self::Stacks;
        };
        let samples = profile.samples.iter();
        let stacks: FxHashSet<StackId> = samples.map(|sample| sample.stack).collect();
        let is_missing = |call: &Call| !stacks.contains(&call.stack);
        match is_missing(first) || calls.any(is_missing) {
            true => Self::Pairs,
            false => Self::Stacks,
        }
    }

    fn spot(self, profile: &Profile, thread: ThreadId, stack: StackId) -> Spot {
        match self {
            Self::Stacks => (thread, Ok(stack)),
            Self::Pairs => {
                let mut locations = profile.stacks.locations(stack);
                (thread, Err([locations.next(), locations.next()]))
            }
        }
    }
}

/// Whether only one caller of a call is known.
fn has_one_caller(call: &Call) -> bool {
    matches!(call.callers, Callers::Last { .. })
}

/// The table, where it knows more of total times than stacks do: of some calls only one caller is
/// known.
pub(crate) fn known_totals(profile: &Profile, selection: &Selection) -> Option<CallTable> {
    let is_traced = profile.meta.kind == SampleKind::Traced;
    let has_some = is_traced && profile.traced.calls.iter().any(has_one_caller);
    has_some.then(|| traced(profile, selection))
}

impl CallTable {
    /// Gives an amount with all callees the time of the calls of the function at this place. It is
    /// at most the time of the `whole`: cProfile counts some recursive functions more than once.
    pub(crate) fn correct(&self, profile: &Profile, place: Place, whole: u64, total: &mut Amount) {
        let Some(known) = self.of(profile, place) else {
            return;
        };
        let known = known.total.min(whole);
        if total.weight > 0 {
            *total = total.times(known as f64 / total.weight as f64);
        }
        total.weight = known;
    }
}

/// Keeps only the calls, the lines and the exceptions that pass.
pub(crate) fn keep_only(profile: &mut Profile, selection: &Selection, filter: &Filter) {
    let calls = selected(profile, selection).copied().collect();
    let passes = lines::line_filter(profile, filter);
    profile.traced.calls = calls;
    profile.traced.lines.retain(|line| passes(line));
    let passes = lines::place_filter(profile, filter);
    (profile.traced.exceptions).retain(|row| passes(row.process, row.raised));
}

/// The selected calls: those whose own time is among the selected samples.
fn selected<'a>(
    profile: &'a Profile,
    selection: &'a Selection,
) -> impl Iterator<Item = &'a Call> + 'a {
    let is_all = selection.len() == profile.samples.len();
    let spots = Spots::of(profile);
    let chosen: FxHashSet<Spot> = match is_all {
        true => FxHashSet::default(),
        false => (selection.samples(profile))
            .map(|sample| spots.spot(profile, sample.thread, sample.stack))
            .collect(),
    };
    (profile.traced.calls.iter()).filter(move |call| {
        is_all || chosen.contains(&spots.spot(profile, call.thread, call.stack))
    })
}
