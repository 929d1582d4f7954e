//! The samples: a stack, the values and the labels of each.

use profundo_model::{
    Call, Clock, LocationId, Nanos, SampleKind, StackId, State, ThreadId, Tracing,
};
use rustc_hash::FxHashMap;

use super::hidden::Hides;
use super::labels::{Labels, Owner};
use super::memory::Sites;
use super::places::{Place, Places};
use super::tables::Tables;
use super::values::{Main, Values};
use crate::encoding::protobuf::Fields;
use crate::quantities::value::Unit;
use crate::{Builder, Row};

/// The most locations of a stack. Deeper ones are cut at their leaf's end.
const DEEPEST: usize = 4096;

/// Reads all samples of the message.
pub(super) fn read<'a>(
    message: &'a [u8],
    tables: &'a Tables<'a>,
    values: &Values,
    places: &Places,
    builder: &mut Builder,
) {
    let mut labels = Labels::new(tables);
    let mut stacks = Stacks::default();
    let mut sites = Sites::default();
    let mut calls: Vec<(u64, usize)> = Vec::new();
    let mut sample = Record::default();
    let mut tasks = Vec::new();
    let fields = Fields::new(message).flatten();
    for field in fields.filter(|field| field.number == 2) {
        if !sample.read(field.value.bytes()) || sample.values.len() < tables.types.len() {
            builder.leave_out("samples", || "a sample without all its values".to_owned());
            continue;
        }
        if sample.values.iter().any(|&value| value < 0) {
            builder.leave_out("negative values", || "that of a difference".to_owned());
        }
        let Some((stack, is_kernel)) = stacks.stack(builder, tables, places, &sample.locations)
        else {
            continue;
        };
        let (owner, time) = labels.owner(builder, &sample.labels);
        sites.add(
            builder,
            &values.memory,
            &sample.values,
            (owner.thread, stack),
        );
        let Some(main) = &values.main else {
            continue;
        };
        let row = row(
            main,
            &sample.values,
            builder,
            (stack, is_kernel),
            (&owner, time),
        );
        let before = builder.profile.samples.len();
        let count = row.samples;
        let is_traced = main.kind == SampleKind::Traced;
        let is_call = is_traced && (row.weight > 0 || count > 0);
        builder.sample(Row {
            // A call that took no time is a call. Calls are no samples.
            time: row.time.or(is_call.then_some(0)),
            samples: if is_traced { 1 } else { count },
            ..row
        });
        if builder.profile.samples.len() > before
            && let Some(row) = builder.profile.samples.last_mut()
        {
            row.span = owner.span;
            row.gil = owner.gil;
            if is_call {
                calls.push((count, before));
            }
            if let Some(task) = owner.task {
                tasks.push((before, task));
            }
        }
    }
    // The root tasks of all threads are known now, and stand before the others.
    let roots = match tasks.is_empty() {
        true => 0,
        false => builder.profile.threads.len(),
    };
    labels.finish(builder);
    let profile = &mut builder.profile;
    if roots > 0 {
        for row in &mut profile.samples {
            row.task = profundo_model::TaskId::from_index(row.thread.index());
        }
        for (row, task) in tasks {
            let task = profundo_model::TaskId::from_index(roots + task.index());
            profile.samples[row].task = task;
        }
    }
    if profile.threads.is_empty() {
        builder.only_thread();
    }
    if values
        .main
        .as_ref()
        .is_some_and(|main| main.kind == SampleKind::Traced)
    {
        add_calls(builder, &calls);
    }
}

/// The row of a sample.
fn row(
    main: &Main,
    values: &[i64],
    builder: &Builder,
    (stack, is_kernel): (StackId, bool),
    (owner, time): (&Owner, Option<u64>),
) -> Row {
    let value = |column: usize| {
        let value = values.get(column).copied().unwrap_or(0);
        u64::try_from(value).unwrap_or(0)
    };
    let weight = match main.unit {
        Unit::Time(1.0) | Unit::Bytes | Unit::Count => value(main.column),
        unit => unit.weight(value(main.column) as f64),
    };
    let period = builder.profile.meta.period.0;
    let samples = match main.samples {
        Some(column) => value(column),
        None if !main.is_time() => weight,
        None if period > 0 => (weight.saturating_add(period / 2)) / period,
        None => 1,
    };
    let state = match owner.state {
        Some(state) if main.kind == SampleKind::Wall || !state.is_wall() => state,
        _ if is_kernel && main.state == State::Running => State::System,
        _ => main.state,
    };
    Row {
        stack,
        thread: owner.thread,
        weight,
        samples,
        time,
        state,
    }
}

/// The nodes of the tree of calls, of which each row is the own time.
fn add_calls(builder: &mut Builder, calls: &[(u64, usize)]) {
    let profile = &mut builder.profile;
    let mut nodes: FxHashMap<(ThreadId, StackId), Call> = FxHashMap::default();
    for &(count, row) in calls {
        let Some(sample) = profile.samples.get(row) else {
            continue;
        };
        let node = nodes.entry((sample.thread, sample.stack)).or_default();
        node.calls = node.calls.saturating_add(count);
        node.own.0 = node.own.0.saturating_add(sample.weight.0);
    }
    // The time of a function is its own and that of all that it calls.
    let mut totals: FxHashMap<(ThreadId, StackId), u64> = FxHashMap::default();
    let mut keys: Vec<_> = nodes.keys().copied().collect();
    keys.sort_unstable();
    for &(thread, stack) in &keys {
        let own = nodes[&(thread, stack)].own.0;
        let mut next = Some(stack);
        while let Some(stack) = next {
            let total = totals.entry((thread, stack)).or_default();
            *total = total.saturating_add(own);
            next = profile.stacks.get(stack).parent;
        }
    }
    profile.traced.tracing = Tracing::Calls;
    profile.traced.clock = Clock::Wall;
    profile.traced.calls = (keys.into_iter())
        .map(|(thread, stack)| Call {
            thread,
            stack,
            total: Nanos(totals[&(thread, stack)]),
            ..nodes[&(thread, stack)]
        })
        .collect();
}

/// A sample of the file.
#[derive(Debug, Default)]
struct Record<'a> {
    /// The leaf first.
    locations: Vec<u64>,
    values: Vec<i64>,
    labels: Vec<&'a [u8]>,
}

impl<'a> Record<'a> {
    /// Reads a message. False where it is damaged.
    fn read(&mut self, message: &'a [u8]) -> bool {
        self.locations.clear();
        self.values.clear();
        self.labels.clear();
        for field in Fields::new(message) {
            let Ok(field) = field else {
                return false;
            };
            match field.number {
                1 => self.locations.extend(field.value.numbers()),
                2 => self
                    .values
                    .extend(field.value.numbers().map(|value| value as i64)),
                3 => self.labels.push(field.value.bytes()),
                _ => {}
            }
        }
        true
    }
}

/// The stacks so far. Most begin like the one before.
#[derive(Debug, Default)]
struct Stacks {
    /// The ids of the previous stack, the root first, each with its stack and whether it is the
    /// kernel's.
    previous: Vec<(u64, StackId, bool)>,
    shown: Vec<u64>,
    callees: Callees,
}

/// Two of the callees of each stack, the latest first. They lie together where the table of all
/// stacks scatters its rows.
#[derive(Debug, Default)]
struct Callees(Vec<[Callee; 2]>);

/// A location above a stack, and their stack. The first row of all stands for none: it is a root.
type Callee = (LocationId, StackId);

impl Stacks {
    /// The stack of these locations, and whether its leaf is the kernel's.
    fn stack(
        &mut self,
        builder: &mut Builder,
        tables: &Tables<'_>,
        places: &Places,
        leaf_first: &[u64],
    ) -> Option<(StackId, bool)> {
        let mut leaf_first = leaf_first;
        if places.hides {
            self.hide(tables, places, leaf_first);
            leaf_first = &self.shown;
        }
        if leaf_first.len() > DEEPEST {
            builder.leave_out("leaves of deep stacks", || {
                format!("below {DEEPEST} callers")
            });
        }
        let ids = || leaf_first.iter().rev().take(DEEPEST).copied();
        let same = ids()
            .zip(&self.previous)
            .take_while(|(id, (previous, ..))| id == previous);
        let same = same.count();
        self.previous.truncate(same);
        for id in ids().skip(same) {
            let place = tables.location(id).and_then(|row| places.get(row));
            let (location, is_kernel) = match place {
                Some(place) => (place.location, place.is_kernel),
                None => (places.missing(builder), false),
            };
            let parent = self.previous.last().map(|&(_, stack, _)| stack);
            let stack = self.callees.stack(builder, parent, location);
            self.previous.push((id, stack, is_kernel));
        }
        match self.previous.last() {
            Some(&(_, stack, is_kernel)) => Some((stack, is_kernel)),
            // A sample without a stack keeps its weight.
            None => {
                let missing = places.missing(builder);
                Some((builder.stack(None, missing), false))
            }
        }
    }

    /// Leaves out the hidden locations and all that they call. Functions at the root are never
    /// hidden, so that something is left.
    fn hide(&mut self, tables: &Tables<'_>, places: &Places, leaf_first: &[u64]) {
        self.shown.clear();
        let place = |&id: &u64| tables.location(id).and_then(|row| places.get(row));
        let hides = |id: &u64| place(id).map_or(Hides::Nothing, |place: &Place| place.hides);
        let is_shown = |id: &u64| hides(id) == Hides::Nothing;
        let first_shown = leaf_first.iter().rposition(is_shown).unwrap_or(0);
        let hidden = leaf_first[..first_shown]
            .iter()
            .rposition(|id| !is_shown(id));
        let from = match hidden {
            Some(at) if hides(&leaf_first[at]) == Hides::All => at + 1,
            Some(at) => at,
            None => 0,
        };
        self.shown.extend_from_slice(&leaf_first[from..]);
    }
}

impl Callees {
    /// The stack of a location that a stack calls.
    fn stack(
        &mut self,
        builder: &mut Builder,
        parent: Option<StackId>,
        location: LocationId,
    ) -> StackId {
        const NONE: [Callee; 2] = [(LocationId(0), StackId(0)); 2];
        let Some(caller) = parent else {
            return builder.stack(None, location);
        };
        if self.0.len() <= caller.index() {
            self.0.resize(builder.profile.stacks.len(), NONE);
        }
        let [latest, other] = &mut self.0[caller.index()];
        let is_known = |&(of, stack): &Callee| of == location && stack != StackId(0);
        if is_known(latest) {
            return latest.1;
        }
        std::mem::swap(latest, other);
        if !is_known(latest) {
            *latest = (location, builder.stack(parent, location));
        }
        latest.1
    }
}
