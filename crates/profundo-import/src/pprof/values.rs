//! The meaning of the values of a sample, by their names and units: time, events, or memory.
//!
//! Memory goes into the heap, all values together. Of the others the samples have one: the usual
//! one, or the one that is wanted. Beside a time stands the number of samples that it is the sum
//! of.

use profundo_model::{SampleKind, State};

use super::tables::Tables;
use crate::Error;
use crate::quantities::value::{Unit, Value, choose, listed};

/// The values of a file.
#[derive(Debug, Default)]
pub(super) struct Values {
    /// The value of the samples; none where the file has memory alone.
    pub main: Option<Main>,
    pub memory: Memory,
    all: Vec<Value>,
}

/// The value of the samples.
#[derive(Debug, Clone)]
pub(super) struct Main {
    pub column: usize,
    /// The column of the number of samples.
    pub samples: Option<usize>,
    pub unit: Unit,
    pub kind: SampleKind,
    /// The name of events.
    pub event: String,
    /// The state of a thread whose samples do not say it.
    pub state: State,
}

/// The columns of memory.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Memory {
    pub allocated: Pair,
    pub live: Pair,
    pub copied: Option<usize>,
}

/// The columns of blocks and of their bytes.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Pair {
    pub count: Option<usize>,
    pub bytes: Option<usize>,
}

impl Main {
    /// Whether it is time of samples.
    pub(super) fn is_time(&self) -> bool {
        matches!(self.kind, SampleKind::Cpu | SampleKind::Wall)
    }
}

impl Memory {
    /// Whether there is any.
    pub(super) fn is_any(&self) -> bool {
        self.allocated.bytes.is_some() || self.live.bytes.is_some()
    }

    /// Whether freed memory is known, too.
    pub(super) fn has_allocated(&self) -> bool {
        self.allocated.bytes.is_some()
    }

    fn has(&self, column: usize) -> bool {
        let Self {
            allocated,
            live,
            copied,
        } = self;
        let columns = [allocated.count, allocated.bytes, live.count, live.bytes];
        columns.contains(&Some(column)) || *copied == Some(column)
    }

    fn of(all: &[Value]) -> Self {
        let mut memory = Self::default();
        for (column, value) in all.iter().enumerate() {
            let slot = match &plain(&value.name)[..] {
                "alloc_objects" | "alloc_count" | "alloc_samples" | "alloc_in_new_tlab_objects" => {
                    &mut memory.allocated.count
                }
                "alloc_space" | "alloc_size" | "alloc_bytes" | "alloc_in_new_tlab_bytes" => {
                    &mut memory.allocated.bytes
                }
                "inuse_objects" | "objects" | "live_objects" => &mut memory.live.count,
                "inuse_space" | "space" | "heap_space" | "live_space" => &mut memory.live.bytes,
                "copy_space" => &mut memory.copied,
                _ => continue,
            };
            let is_of_bytes = !matches!(&plain(&value.name)[..], name if is_count(name));
            if (value.unit == Unit::Bytes) == is_of_bytes && slot.is_none() {
                *slot = Some(column);
            }
        }
        // Blocks without their bytes are events.
        for pair in [&mut memory.allocated, &mut memory.live] {
            if pair.bytes.is_none() {
                pair.count = None;
            }
        }
        memory
    }
}

impl Values {
    pub(super) fn of(tables: &Tables<'_>, wanted: Option<&str>) -> Result<Self, Error> {
        let value = |kind: &super::tables::Type| Value {
            name: tables.text(kind.name).into_owned(),
            unit: Unit::of_name(&tables.text(kind.unit)),
        };
        let all: Vec<Value> = tables.types.iter().map(value).collect();
        Self::choose(all, &tables.text(tables.default_type), wanted)
    }

    fn choose(all: Vec<Value>, default: &str, wanted: Option<&str>) -> Result<Self, Error> {
        let memory = Memory::of(&all);
        let usual = usual(&all, &memory, default);
        // A value of memory is in the heap anyway.
        let chosen = choose(&all, wanted, usual.unwrap_or(usize::MAX))?;
        let column = if memory.has(chosen) {
            usual
        } else {
            Some(chosen)
        };
        let main = column.and_then(|column| main(&all, column));
        Ok(Self { main, memory, all })
    }

    /// The names of values that are neither the samples' nor in the heap.
    pub(super) fn others(&self) -> Option<String> {
        let main = self.main.as_ref();
        let is_read = |column: usize| {
            let is_main =
                main.is_some_and(|main| main.column == column || main.samples == Some(column));
            is_main || self.memory.has(column)
        };
        let others = self.all.iter().enumerate();
        let mut others = others
            .filter(|&(column, _)| !is_read(column))
            .map(|(_, value)| &value.name[..])
            .peekable();
        others.peek()?;
        Some(listed(others))
    }
}

/// The column of the samples where none is wanted.
fn usual(all: &[Value], memory: &Memory, default: &str) -> Option<usize> {
    let columns = || (0..all.len()).filter(|&column| !memory.has(column));
    let is_time = |&column: &usize| matches!(all[column].unit, Unit::Time(_));
    let named = columns().find(|&column| !default.is_empty() && all[column].name == default);
    let time = columns()
        .filter(is_time)
        .find(|&column| kind_of_time(&all[column].name).0 == SampleKind::Cpu)
        .or_else(|| columns().rfind(is_time));
    match (named, time) {
        // The number of the samples of a time comes with it.
        (Some(named), Some(time)) if samples_of(all, time) == Some(named) => Some(time),
        (Some(named), _) => Some(named),
        (None, Some(time)) => Some(time),
        (None, None) if memory.is_any() => columns().find(|&column| all[column].name == "events"),
        (None, None) => columns().next_back(),
    }
}

fn main(all: &[Value], column: usize) -> Option<Main> {
    let Value { name, unit } = all.get(column)?;
    let (kind, event, state) = match unit {
        Unit::Time(_) => {
            let (kind, state) = kind_of_time(name);
            (kind, String::new(), state)
        }
        Unit::Count | Unit::Bytes => (SampleKind::Events, event(name), State::Running),
    };
    Some(Main {
        column,
        samples: match unit {
            Unit::Time(_) => samples_of(all, column),
            _ => None,
        },
        unit: *unit,
        kind,
        event,
        state,
    })
}

/// The kind of a time with this name, and the state of its threads.
fn kind_of_time(name: &str) -> (SampleKind, State) {
    let name = plain(name);
    let has = |parts: &[&str]| parts.iter().any(|part| name.contains(part));
    match () {
        () if name == "traced" => (SampleKind::Traced, State::Running),
        () if has(&["off_cpu", "offcpu"]) => (SampleKind::Wall, State::WallWaiting),
        () if has(&["cpu"]) => (SampleKind::Cpu, State::Running),
        // Go's and gperftools' waits for locks, and those of others.
        () if has(&["delay", "wait", "block", "content", "lock", "sleep"])
            && !has(&["wall", "clock"]) =>
        {
            (SampleKind::Wall, State::WallWaiting)
        }
        () => (SampleKind::Wall, State::WallRunning),
    }
}

/// The name of events; samples have none.
fn event(name: &str) -> String {
    match &plain(name)[..] {
        "sample" | "samples" | "events" | "count" => String::new(),
        _ => name.to_owned(),
    }
}

/// The number of samples of a time: it stands before it, or is the only one.
fn samples_of(all: &[Value], time: usize) -> Option<usize> {
    let counts = |column: &usize| {
        let value = all.get(*column);
        value.is_some_and(|value| value.unit == Unit::Count && is_number_of_samples(&value.name))
    };
    let before = time.checked_sub(1).filter(counts);
    before.or_else(|| (0..all.len()).find(counts))
}

fn is_number_of_samples(name: &str) -> bool {
    let name = plain(name);
    let ends = |part: &str| {
        name.strip_suffix(part)
            .is_some_and(|rest| !rest.contains("alloc"))
    };
    ["sample", "samples", "calls", "contentions", "count"]
        .iter()
        .any(|part| ends(part))
}

fn is_count(name: &str) -> bool {
    ["objects", "count", "samples"]
        .iter()
        .any(|part| name.ends_with(part))
}

/// The name in the spelling of Go's heap profiles.
fn plain(name: &str) -> String {
    name.to_ascii_lowercase().replace(['-', ' '], "_")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn values(types: &str, default: &str, wanted: Option<&str>) -> Values {
        let types = types.split(' ').map(|each| {
            let (name, unit) = each.split_once('/').expect("a unit");
            Value {
                name: name.to_owned(),
                unit: Unit::of_name(unit),
            }
        });
        Values::choose(types.collect(), default, wanted).expect("a value")
    }

    #[test]
    fn a_time_is_the_usual_value() {
        let check = |types: &str, default, column, samples, kind| {
            let main = values(types, default, None).main.expect("a value");
            let found = (main.column, main.samples, main.kind);
            assert_eq!(found, (column, samples, kind), "{types} {default}");
        };
        let cpu = "samples/count cpu/nanoseconds";
        check(cpu, "", 1, Some(0), SampleKind::Cpu);
        check(cpu, "samples", 1, Some(0), SampleKind::Cpu);
        check(
            "contentions/count delay/nanoseconds",
            "",
            1,
            Some(0),
            SampleKind::Wall,
        );
        check(
            "sample/count wall/microseconds",
            "",
            1,
            Some(0),
            SampleKind::Wall,
        );
        check("goroutine/count", "", 0, None, SampleKind::Events);
        check("samples/count", "", 0, None, SampleKind::Events);
        check(
            "cycles_sample/count cycles_event/count",
            "",
            1,
            None,
            SampleKind::Events,
        );
        let many = "cpu-samples/count cpu-time/nanoseconds wall-time/nanoseconds \
                    lock-wait/nanoseconds alloc-samples/count alloc-space/bytes";
        check(many, "", 1, Some(0), SampleKind::Cpu);
        check(many, "wall-time", 2, Some(0), SampleKind::Wall);
        check(
            "calls/count traced/nanoseconds",
            "traced",
            1,
            Some(0),
            SampleKind::Traced,
        );
    }

    #[test]
    fn memory_goes_into_the_heap() {
        let go = "alloc_objects/count alloc_space/bytes inuse_objects/count inuse_space/bytes";
        let found = values(go, "inuse_space", None);
        assert!(found.main.is_none() && found.memory.has_allocated());
        assert_eq!(found.memory.live.bytes, Some(3));
        assert!(values(go, "", Some("alloc_space")).main.is_none());
        let live = values("objects/count space/bytes", "", None);
        assert!(live.main.is_none() && !live.memory.has_allocated());
        let ours = "samples/count cpu/nanoseconds alloc_objects/count alloc_space/bytes";
        let ours = values(ours, "cpu", None);
        assert_eq!(ours.main.map(|main| main.column), Some(1));
        assert_eq!(ours.memory.allocated.bytes, Some(3));
        // Blocks alone are events.
        let objects = values("objects/count", "", None);
        assert_eq!(
            objects.main.map(|main| main.event),
            Some("objects".to_owned())
        );
    }

    #[test]
    fn another_value_is_had_by_name() {
        let cpu = "samples/count cpu/nanoseconds";
        let samples = values(cpu, "", Some("samples"));
        assert_eq!(samples.others().as_deref(), Some("cpu"));
        let main = samples.main.expect("a value");
        assert_eq!((main.kind, &main.event[..]), (SampleKind::Events, ""));
        let unknown = Values::choose(Vec::new(), "", Some("x"));
        assert!(unknown.is_err());
    }
}
