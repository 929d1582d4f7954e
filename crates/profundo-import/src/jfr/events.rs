//! The events of a recording: the chosen kind become samples, allocations become blocks.

use profundo_model::{Block, Gauge, Nanos, SampleKind, Sampling, StackId, State, ThreadId};
use rustc_hash::FxHashMap;

use super::chunk::Chunk;
use super::constants::Constants;
use super::metadata::{ROLES, Role, Shape, Type};
use super::settings::{Settings, USUAL_INTERVAL, USUAL_WALL};
use super::stacks::Stacks;
use super::wire::Cursor;
use crate::{Builder, Row};

/// The samples of execution.
pub(super) const EXECUTION: &str = "jdk.ExecutionSample";
/// The looks at all threads among them.
pub(super) const WALL: &str = "wall";

/// The use of a kind of event.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Form {
    /// Samples of running threads, at the clock of the profiler.
    Execution,
    /// Samples of CPU time with their own lengths.
    CpuTime,
    /// Samples of all threads, running or not.
    WallClock,
    /// Samples of threads in native code.
    Native,
    /// A block or a part of all allocations.
    Memory,
    /// The end of a block.
    Free,
    Setting,
    Machine,
    Resident,
    Other,
}

impl Form {
    pub(super) fn of_name(name: &str) -> Self {
        match name {
            "jdk.ExecutionSample" | "datadog.ExecutionSample" => Self::Execution,
            "jdk.CPUTimeSample" => Self::CpuTime,
            "profiler.WallClockSample" | "datadog.MethodSample" => Self::WallClock,
            "jdk.NativeMethodSample" => Self::Native,
            "jdk.ObjectAllocationSample"
            | "jdk.ObjectAllocationInNewTLAB"
            | "jdk.ObjectAllocationOutsideTLAB"
            | "profiler.LiveObject"
            | "profiler.Malloc" => Self::Memory,
            "profiler.Free" => Self::Free,
            "jdk.ActiveSetting" => Self::Setting,
            "jdk.JVMInformation" => Self::Machine,
            "jdk.ResidentSetSize" => Self::Resident,
            _ => Self::Other,
        }
    }
}

/// A kind of event in a chunk.
struct Kind<'c> {
    id: u64,
    found: &'c Type,
    form: Form,
    is_chosen: bool,
}

/// The fields of an event: numbers, keys of constants, or places of strings.
struct Event {
    values: [u64; ROLES],
    shapes: [Option<Shape>; ROLES],
}

impl Event {
    fn read(chunk: &Chunk<'_>, found: &Type, cursor: &mut Cursor<'_>) -> Option<Self> {
        let mut event = Self {
            values: [0; ROLES],
            shapes: [None; ROLES],
        };
        for &field in &found.fields {
            let slot = field.role as usize;
            if slot >= ROLES || field.is_array || event.shapes[slot].is_some() {
                chunk.types.skip(cursor, field)?;
                continue;
            }
            event.shapes[slot] = Some(field.shape);
            event.values[slot] = match field.shape {
                Shape::Byte => u64::from(cursor.byte()?),
                Shape::Number | Shape::Constant(_) => cursor.number()?,
                Shape::String | Shape::Float | Shape::Double | Shape::Fields(_) => {
                    let at = cursor.at() as u64;
                    chunk.types.skip(cursor, field)?;
                    at
                }
            };
        }
        Some(event)
    }

    fn number(&self, role: Role) -> Option<u64> {
        let is_number = matches!(
            self.shapes[role as usize],
            Some(Shape::Number | Shape::Byte)
        );
        is_number.then_some(self.values[role as usize])
    }

    fn constant(&self, role: Role) -> Option<(usize, u64)> {
        match self.shapes[role as usize] {
            Some(Shape::Constant(index)) => Some((index, self.values[role as usize])),
            _ => None,
        }
    }

    fn text(&self, constants: &Constants<'_, '_>, role: Role) -> String {
        let at = match self.shapes[role as usize] {
            Some(Shape::String) => self.values[role as usize],
            _ => return String::new(),
        };
        let mut cursor = Cursor::new(constants.chunk.bytes, usize::try_from(at).unwrap_or(0));
        constants
            .string(&mut cursor)
            .unwrap_or_default()
            .into_owned()
    }
}

/// A recording that is read.
pub(super) struct Reading {
    /// The name of the events that become samples.
    chosen: String,
    /// Whether only the looks at all threads among them do.
    is_wall: bool,
    settings: Settings,
    /// Rows of blocks by their addresses.
    by_address: FxHashMap<u64, usize>,
    /// Rows of sampled allocations by their times and stacks.
    by_time: FxHashMap<(u64, StackId), usize>,
    pid: u32,
    /// The earliest time of a sample.
    first: u64,
}

impl Reading {
    /// Reads the settings.
    pub(super) fn new(chunks: &[(usize, Chunk<'_>)], builder: &mut Builder) -> Self {
        let mut reading = Self {
            chosen: String::new(),
            is_wall: false,
            settings: Settings::default(),
            by_address: FxHashMap::default(),
            by_time: FxHashMap::default(),
            pid: 0,
            first: u64::MAX,
        };
        // The settings of later chunks hold for the kind of all samples.
        for (_, chunk) in chunks {
            reading.about(builder, chunk);
        }
        reading
    }

    /// Whether looks at all threads are among the samples of execution: as async-profiler had it
    /// before they were events of their own.
    pub(super) fn is_mixed(&self) -> bool {
        self.settings.wall > 0 && self.settings.event != "wall"
    }

    /// Chooses the events that become samples, by their name.
    pub(super) fn choose(
        &mut self,
        builder: &mut Builder,
        chunks: &[(usize, Chunk<'_>)],
        name: &str,
    ) {
        self.is_wall = name == WALL;
        let name = if self.is_wall { EXECUTION } else { name };
        name.clone_into(&mut self.chosen);
        self.name_samples(builder, chunks);
    }

    /// The settings and the process of a chunk.
    fn about(&mut self, builder: &mut Builder, chunk: &Chunk<'_>) {
        let kinds = kinds(chunk, |form| matches!(form, Form::Setting | Form::Machine));
        if kinds.is_empty() {
            return;
        }
        let constants = Constants::none(chunk);
        chunk.events(|id, mut cursor| {
            let Some(kind) = kinds.get(&id) else {
                return;
            };
            let Some(event) = Event::read(chunk, kind.found, &mut cursor) else {
                return;
            };
            let text = |role| event.text(&constants, role);
            if kind.form == Form::Setting {
                let id = event.number(Role::Id).unwrap_or(0);
                self.settings.add(id, &text(Role::Name), &text(Role::Value));
                return;
            }
            let words = [
                "java".to_owned(),
                text(Role::JvmArguments),
                text(Role::JavaArguments),
            ];
            let words: Vec<_> = words.iter().filter(|word| !word.is_empty()).collect();
            let command: Vec<&str> = words.iter().map(|word| &word[..]).collect();
            let process = builder.process(0, &command.join(" "));
            let (name, version) = (text(Role::JvmName), text(Role::JvmVersion));
            // HotSpot's version begins with the name.
            let runtime = match version.starts_with(&name[..]) {
                true => version,
                false => format!("{name} {version}"),
            };
            let runtime = builder.profile.strings.intern(runtime.trim());
            builder.profile.processes[process.index()].runtime = runtime;
            let pid = event.number(Role::Pid).unwrap_or(0);
            self.pid = u32::try_from(pid).unwrap_or(0);
        });
    }

    /// The quantity of the samples.
    fn name_samples(&self, builder: &mut Builder, chunks: &[(usize, Chunk<'_>)]) {
        let types = || chunks.iter().flat_map(|(_, chunk)| chunk.types.iter());
        let Some(found) = types().find(|found| found.name == self.chosen) else {
            return builder.weighs(SampleKind::Events, "");
        };
        let has_length = found
            .fields
            .iter()
            .any(|field| field.role == Role::Duration);
        let settings = &self.settings;
        match Form::of_name(&self.chosen) {
            Form::CpuTime => builder.weighs(SampleKind::Cpu, ""),
            Form::WallClock | Form::Native => builder.weighs(SampleKind::Wall, ""),
            Form::Execution if settings.period(found.id).is_some() => {
                builder.weighs(SampleKind::Cpu, "");
                builder.note(
                    "the JDK's sampler looks at some of the threads that run Java code, so the time \
                     of the samples may be less than the CPU time",
                );
            }
            Form::Execution if self.is_wall || settings.event == "wall" => {
                builder.weighs(SampleKind::Wall, "")
            }
            Form::Execution if settings.event.is_empty() => builder.weighs(SampleKind::Events, ""),
            Form::Execution if settings.is_clock() => builder.weighs(SampleKind::Cpu, ""),
            Form::Execution => builder.weighs(SampleKind::Events, &settings.event),
            _ if has_length => builder.weighs(SampleKind::Wall, ""),
            _ => builder.weighs(SampleKind::Events, &self.chosen),
        }
    }

    /// Takes in the events of a chunk. The answer is the first damage.
    pub(super) fn chunk(
        &mut self,
        builder: &mut Builder,
        chunk: &Chunk<'_>,
    ) -> Option<(usize, &'static str)> {
        let mut kinds = kinds(chunk, |form| {
            matches!(form, Form::Memory | Form::Free | Form::Resident)
        });
        for found in chunk.types.iter().filter(|found| found.name == self.chosen) {
            let kind = Kind {
                id: found.id,
                found,
                form: Form::of_name(&found.name),
                is_chosen: true,
            };
            kinds.insert(found.id, kind);
        }
        if kinds.keys().all(|id| !chunk.counts.contains_key(id)) {
            return None;
        }
        let mut stacks = Stacks::new(Constants::read(chunk));
        let mut damage = stacks
            .constants
            .damage
            .map(|at| (at, "a table of constants is cut"));
        chunk.events(|id, mut cursor| {
            let Some(kind) = kinds.get(&id) else {
                return;
            };
            let at = cursor.at();
            match Event::read(chunk, kind.found, &mut cursor) {
                Some(event) => self.event(builder, &mut stacks, kind, &event),
                None => damage = damage.or(Some((at, "an event is cut"))),
            }
        });
        damage
    }

    fn event(
        &mut self,
        builder: &mut Builder,
        stacks: &mut Stacks<'_, '_>,
        kind: &Kind<'_>,
        event: &Event,
    ) {
        let chunk = stacks.constants.chunk;
        let time = chunk.time(event.number(Role::Start).unwrap_or(0));
        match kind.form {
            Form::Free => {
                let address = event.number(Role::Address).unwrap_or(0);
                let block = self.by_address.remove(&address);
                if let Some(block) = block.and_then(|row| builder.profile.heap.blocks.get_mut(row))
                {
                    block.freed = Some(Nanos(time));
                }
                return;
            }
            Form::Resident => {
                builder.process(0, "");
                builder.profile.heap.gauges.push(Gauge {
                    time: Nanos(time),
                    resident: event.number(Role::Size).unwrap_or(0),
                    peak_resident: event.number(Role::Peak).unwrap_or(0),
                    ..Gauge::default()
                });
                return;
            }
            _ => {}
        }
        let thread = match event.constant(Role::Thread) {
            Some(key) => stacks.thread(builder, key),
            None => builder.only_thread(),
        };
        let no_stack = (usize::MAX, 0);
        let stack = event.constant(Role::Stack).unwrap_or(no_stack);
        let (stack, is_kernel) = stacks.stack(builder, stack);
        let place = (thread, stack, time);
        if kind.form == Form::Memory {
            return self.block(builder, stacks, kind, event, place);
        }
        if kind.is_chosen {
            self.sample(builder, stacks, kind, event, (place, is_kernel));
        }
    }

    fn sample(
        &mut self,
        builder: &mut Builder,
        stacks: &Stacks<'_, '_>,
        kind: &Kind<'_>,
        event: &Event,
        ((thread, stack, time), is_kernel): ((ThreadId, StackId, u64), bool),
    ) {
        let chunk = stacks.constants.chunk;
        let state = event.constant(Role::State).map(|key| stacks.state(key));
        let is_look = state.is_some_and(|state| state.is_wall());
        if kind.form == Form::Execution && self.is_mixed() && is_look != self.is_wall {
            return;
        }
        let wall_state = match state {
            Some(State::WallWaiting) => State::WallWaiting,
            _ => State::WallRunning,
        };
        let interval = self.settings.interval;
        let mut samples = 1;
        let (weight, state) = match kind.form {
            Form::CpuTime => {
                let period = event.number(Role::Period).unwrap_or(0);
                (chunk.length(period), State::Running)
            }
            Form::WallClock => {
                samples = event.number(Role::Samples).unwrap_or(1).max(1);
                let span = event.number(Role::Span).unwrap_or(0);
                let period = or_usual(self.settings.wall.max(interval), USUAL_WALL);
                let weight = match span {
                    0 => period.saturating_mul(samples),
                    span => chunk.length(span),
                };
                (weight, wall_state)
            }
            Form::Native => {
                let period = self.settings.period(kind.id);
                (period.unwrap_or(USUAL_INTERVAL), State::WallRunning)
            }
            Form::Execution => match builder.profile.meta.kind {
                SampleKind::Cpu if state == Some(State::WallWaiting) => return,
                SampleKind::Cpu => {
                    let period = self.settings.period(kind.id);
                    let period = period.unwrap_or(or_usual(interval, USUAL_INTERVAL));
                    (period, State::Running)
                }
                SampleKind::Wall => {
                    let period = match self.is_wall {
                        true => self.settings.wall,
                        false => or_usual(interval, USUAL_WALL),
                    };
                    (period, wall_state)
                }
                _ => (interval.max(1), State::Running),
            },
            _ => match event.number(Role::Duration) {
                Some(length) => (chunk.length(length), State::WallWaiting),
                None => (1, State::Running),
            },
        };
        let state = match state {
            State::Running if is_kernel => State::System,
            state => state,
        };
        self.first = self.first.min(time);
        builder.sample(Row {
            stack,
            thread,
            weight,
            samples,
            time: Some(time),
            state,
        });
    }

    fn block(
        &mut self,
        builder: &mut Builder,
        stacks: &Stacks<'_, '_>,
        kind: &Kind<'_>,
        event: &Event,
        (thread, stack, time): (ThreadId, StackId, u64),
    ) {
        let size = [Role::Weight, Role::Tlab, Role::Allocated, Role::Size];
        let size = size.iter().find_map(|&role| event.number(role));
        let class = event.constant(Role::ObjectClass);
        let class = class.map_or(String::new(), |key| stacks.class(key));
        let type_name = builder.profile.strings.intern(&class);
        let address = event.number(Role::Address);
        let is_live = kind.found.name == "profiler.LiveObject";
        let allocated = match event.number(Role::AllocationTime) {
            Some(ticks) if is_live => stacks.constants.chunk.time(ticks),
            _ => time,
        };
        let heap = &mut builder.profile.heap;
        heap.sampling = Sampling::All;
        if let Some(address) = address {
            self.by_address.insert(address, heap.blocks.len());
        } else if !is_live {
            self.by_time.insert((allocated, stack), heap.blocks.len());
        } else if let Some(row) = self.by_time.get(&(allocated, stack)) {
            // Its allocation was an event as well.
            heap.blocks[*row].freed = None;
            return;
        }
        heap.blocks.push(Block {
            time: Nanos(allocated),
            // The collector's frees are not recorded.
            freed: (address.is_none() && !is_live).then_some(Nanos(allocated)),
            size: size.unwrap_or(0),
            thread,
            stack,
            type_name,
            ..Block::default()
        });
    }

    /// Completes the profile. `end` is the end of the recording.
    pub(super) fn finish(self, builder: &mut Builder, end: u64) {
        let profile = &mut builder.profile;
        let heap = &mut profile.heap;
        let times = (heap.blocks.iter().map(|block| block.time.0))
            .chain(heap.gauges.iter().map(|gauge| gauge.time.0));
        let start = match self.first {
            u64::MAX => times.min().unwrap_or(0),
            first => first,
        };
        let since = |time: &mut Nanos| time.0 = time.0.saturating_sub(start);
        for block in &mut heap.blocks {
            since(&mut block.time);
            block.freed.iter_mut().for_each(since);
        }
        heap.gauges
            .iter_mut()
            .for_each(|gauge| since(&mut gauge.time));
        let is_sampled = heap
            .blocks
            .iter()
            .any(|block| block.freed == Some(block.time));
        profile.meta.started_at_unix = start;
        profile.meta.duration = Nanos(end.saturating_sub(start));
        builder.process(0, "");
        if let Some(process) = builder.profile.processes.first_mut() {
            process.pid = self.pid;
        }
        if is_sampled {
            builder.note(
                "allocations are samples: each stands for all bytes that its thread allocated since \
                 the one before, so numbers of blocks are numbers of samples; it is not known when \
                 they were freed",
            );
        }
        if self.chosen == "jdk.NativeMethodSample" {
            builder.note("threads in native code were sampled, whether they ran or waited");
        }
        builder.note("the format has no source files");
    }
}

fn or_usual(interval: u64, usual: u64) -> u64 {
    match interval {
        0 => usual,
        interval => interval,
    }
}

/// The kinds of event of these forms, by their ids.
fn kinds<'c>(chunk: &'c Chunk<'_>, is_wanted: impl Fn(Form) -> bool) -> FxHashMap<u64, Kind<'c>> {
    let kinds = chunk.types.iter().filter_map(|found| {
        let form = Form::of_name(&found.name);
        let kind = Kind {
            id: found.id,
            found,
            form,
            is_chosen: false,
        };
        is_wanted(form).then_some((found.id, kind))
    });
    kinds.collect()
}
