//! The samples of all profiles that have the chosen type of value.

use profundo_model::{Nanos, SampleKind, State};

use super::attributes::Owners;
use super::memory::{self, Sums};
use super::message::{Data, Dictionary, Int, Profile, ResourceProfiles, Sample, ValueType};
use super::tables::Tables;
use crate::quantities::value::choose;
use crate::{Builder, Error, Options, Row, Unit, Value};

/// The types of value in a file, in the order of their first profiles.
pub(super) struct Types {
    types: Vec<Measured>,
}

/// A type of value.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Measured {
    name: String,
    unit: Unit,
    /// Nanoseconds between two samples, where they are only counted and that is known.
    period: Option<u64>,
}

/// The values that become samples.
pub(super) enum Choice {
    Value(Measured),
    /// None: there is memory alone.
    Memory,
}

fn text<'d>(dictionary: &'d Dictionary<'_>, index: Int) -> &'d str {
    let row = dictionary.string_table.get(index.index());
    row.map_or("", |text| text)
}

fn names<'d>(dictionary: &'d Dictionary<'_>, value: ValueType) -> (&'d str, &'d str) {
    (
        text(dictionary, value.type_strindex),
        text(dictionary, value.unit_strindex),
    )
}

fn measured(profile: &Profile<'_>, dictionary: &Dictionary<'_>) -> Measured {
    let (name, unit) = names(dictionary, profile.sample_type);
    let unit = Unit::of_name(unit);
    let (_, period_unit) = names(dictionary, profile.period_type);
    let period = match (unit, Unit::of_name(period_unit)) {
        (Unit::Count, Unit::Time(_)) if profile.period.0 > 0 => {
            Some(Unit::of_name(period_unit).weight(profile.period.0 as f64))
        }
        _ => None,
    };
    Measured {
        name: name.to_owned(),
        unit,
        period,
    }
}

fn profiles<'d, 'a>(resource: &'d ResourceProfiles<'a>) -> impl Iterator<Item = &'d Profile<'a>> {
    let scopes = resource.scope_profiles.iter();
    scopes.flat_map(|scope| scope.profiles.iter())
}

impl Types {
    pub(super) fn new(messages: &[Data<'_>]) -> Self {
        let mut types: Vec<Measured> = Vec::new();
        for message in messages {
            for profile in message.resource_profiles.iter().flat_map(profiles) {
                let (name, _) = names(&message.dictionary, profile.sample_type);
                let is_new = types.iter().all(|known| known.name != name);
                if is_new && memory::part_of(name).is_none() {
                    types.push(measured(profile, &message.dictionary));
                }
            }
        }
        Self { types }
    }

    /// The wanted type, or the usual one: time rather than counts.
    pub(super) fn choose(&self, options: &Options) -> Result<Choice, Error> {
        let wanted = options.value.as_deref();
        if self.types.is_empty() && wanted.is_none_or(|name| memory::part_of(name).is_some()) {
            return Ok(Choice::Memory);
        }
        let is_time =
            |value: &Measured| value.period.is_some() || matches!(value.unit, Unit::Time(_));
        let usual = self.types.iter().position(is_time).unwrap_or(0);
        let values: Vec<Value> = (self.types.iter())
            .map(|value| Value {
                name: value.name.clone(),
                unit: value.unit,
            })
            .collect();
        let chosen = choose(&values, wanted, usual)?;
        Ok(Choice::Value(self.types[chosen].clone()))
    }
}

impl Measured {
    /// The quantity and the state of a thread that is measured by it.
    fn kind(&self) -> (SampleKind, State) {
        let name = self.name.to_ascii_lowercase();
        let has = |parts: [&str; 3]| parts.iter().any(|part| name.contains(part));
        match (self.period, self.unit) {
            _ if has(["off_cpu", "off-cpu", "offcpu"]) => (SampleKind::Wall, State::WallWaiting),
            (Some(_), _) | (_, Unit::Time(_)) if has(["wall", "elapsed", "real"]) => {
                (SampleKind::Wall, State::WallRunning)
            }
            (Some(_), _) | (_, Unit::Time(_)) => (SampleKind::Cpu, State::Running),
            _ => (SampleKind::Events, State::Running),
        }
    }

    /// Sets what the samples are.
    pub(super) fn finish(&self, builder: &mut Builder) {
        let (kind, _) = self.kind();
        let is_plain = matches!(&self.name[..], "" | "samples" | "sample" | "events");
        let event = match kind {
            SampleKind::Events if !is_plain => &self.name[..],
            _ => "",
        };
        builder.weighs(kind, event);
    }

    fn weight(&self, value: u64) -> u64 {
        match self.period {
            Some(period) => value.saturating_mul(period),
            None => self.unit.weight(value as f64),
        }
    }
}

/// The sums of one profile's rows in a stack, or of memory.
pub(super) fn fill(message: &Data<'_>, choice: &Choice, memory: &mut Sums, builder: &mut Builder) {
    let dictionary = &message.dictionary;
    let mut tables = Tables::new(dictionary);
    for resource in &message.resource_profiles {
        let mut owners = Owners::new(&resource.resource, dictionary);
        for profile in profiles(resource) {
            let (name, unit) = names(dictionary, profile.sample_type);
            if let Some(part) = memory::part_of(name) {
                let is_bytes = Unit::of_name(unit) == Unit::Bytes;
                for sample in &profile.samples {
                    let sample = sample.get();
                    let (stack, _) = tables.stack(builder, sample.stack_index);
                    let owner = owners.owner(builder, &sample.attribute_indices);
                    let values = sample.values.iter().map(|value| value.0);
                    let value = values.fold(0, u64::saturating_add);
                    memory.add(builder, (owner.thread, stack), part, is_bytes, value);
                }
                continue;
            }
            if let Choice::Value(value) = choice
                && value.name == name
            {
                about(profile, builder);
                let period = profile_period(profile, dictionary);
                if let (SampleKind::Cpu | SampleKind::Wall, _) = value.kind() {
                    let known = &mut builder.profile.meta.period;
                    *known = Nanos(if known.0 == 0 { period } else { known.0 });
                }
                let mut rows = Rows {
                    value,
                    period,
                    tables: &mut tables,
                    owners: &mut owners,
                };
                for sample in &profile.samples {
                    rows.add(builder, &sample.get());
                }
            }
        }
    }
}

/// The nanoseconds between two samples of a profile of time.
fn profile_period(profile: &Profile<'_>, dictionary: &Dictionary<'_>) -> u64 {
    let (_, unit) = names(dictionary, profile.period_type);
    match Unit::of_name(unit) {
        unit @ Unit::Time(_) => unit.weight(profile.period.0 as f64),
        _ => 0,
    }
}

/// The start and the length of the recording: those of all profiles together.
fn about(profile: &Profile<'_>, builder: &mut Builder) {
    let meta = &mut builder.profile.meta;
    let (start, length) = (profile.time_unix_nano.0, profile.duration_nano.0);
    if start == 0 {
        meta.duration = meta.duration.max(Nanos(length));
        return;
    }
    let known = meta.started_at_unix;
    let end = start.saturating_add(length);
    let end = match known {
        0 => end,
        known => end.max(known.saturating_add(meta.duration.0)),
    };
    meta.started_at_unix = if known == 0 { start } else { known.min(start) };
    meta.duration = Nanos(end - meta.started_at_unix);
}

/// The rows of a profile.
struct Rows<'r, 'd, 'a> {
    value: &'r Measured,
    period: u64,
    tables: &'r mut Tables<'d, 'a>,
    owners: &'r mut Owners<'d, 'a>,
}

impl Rows<'_, '_, '_> {
    fn add(&mut self, builder: &mut Builder, sample: &Sample) {
        let (stack, place) = self.tables.stack(builder, sample.stack_index);
        let owner = self.owners.owner(builder, &sample.attribute_indices);
        let state = owner.state.unwrap_or(match self.value.kind() {
            (SampleKind::Cpu | SampleKind::Events, _) => place,
            (_, state) => state,
        });
        let count = sample.values.len().max(sample.timestamps_unix_nano.len());
        for at in 0..count {
            // Without values each time is one.
            let value = match sample.values.get(at) {
                Some(value) => value.0,
                None if sample.values.is_empty() => 1,
                None => continue,
            };
            // A negative one is a mistake.
            let weight = match value >> 63 {
                0 => self.value.weight(value),
                _ => 0,
            };
            let time = sample.timestamps_unix_nano.get(at).map(|time| time.0);
            let before = builder.profile.samples.len();
            builder.sample(Row {
                stack,
                thread: owner.thread,
                weight,
                samples: match (self.value.unit, time) {
                    (_, Some(_)) => 1,
                    (Unit::Count, None) => value,
                    (_, None) => (weight + self.period / 2)
                        .checked_div(self.period)
                        .unwrap_or(1),
                },
                time,
                state,
            });
            if let Some(row) = builder.profile.samples.get_mut(before) {
                row.gil = owner.gil;
                if let Some(task) = owner.task {
                    row.task = task;
                }
            }
        }
    }
}
