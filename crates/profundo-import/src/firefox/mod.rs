//! Profiles of <https://profiler.firefox.com>: those that the page saves and samply and others
//! write ("processed"), of all versions from 2017 to 2026, and those of Firefox itself ("gecko").
//!
//! Both have tables of frames and stacks and a list of samples for each thread. Samples are taken
//! at intervals of elapsed time; where the CPU time between them is known, `--value cpu` reads
//! that. Markers and counters are not read.

mod table;
mod tables;
mod thread;

use profundo_model::{ModuleId, SampleKind, StackId};

use crate::encoding::json::{Json, Read, first, member, members};
use crate::quantities::value::choose;
use crate::reader::{Reader, Table as ReaderTable};
use crate::{Builder, Error, Source, Unit, Value};
use tables::{Lib, Tables, View};
use thread::{Memory, Thread};

pub(crate) const READER: Reader = Reader(&ReaderTable {
    name: "firefox",
    writers: "Firefox, profiler.firefox.com, samply, …",
    is_start,
    fill,
});

fn is_start(start: &[u8]) -> bool {
    let members = members(start);
    if let Some(meta) = member(&members, "meta") {
        let meta = self::members(meta);
        let has = |key| member(&meta, key).is_some();
        return has("preprocessedProfileVersion")
            || has("interval") && (has("version") || has("startTime"));
    }
    let lib = member(&members, "libs").and_then(first).map(self::members);
    lib.is_some_and(|lib| {
        member(&lib, "breakpadId").is_some() || member(&lib, "debugName").is_some()
    })
}

fn fill(source: &Source<'_>, builder: &mut Builder) -> Result<(), Error> {
    let json = Json::new(source.bytes);
    let mut head = Head::default();
    // The second reading meets the damage again.
    let _ = head.read(&mut json.clone(), builder);
    let values = [("samples", 1e6), ("cpu", 1.0)].map(|(name, scale)| Value {
        name: name.to_owned(),
        unit: Unit::Time(scale),
    });
    let has_cpu = head.cpu_unit.is_some();
    let values = if has_cpu { &values[..] } else { &values[..1] };
    let is_cpu = choose(values, source.options.value.as_deref(), 0)? == 1;
    let kind = match () {
        () if is_cpu => SampleKind::Cpu,
        () if head.interval > 0.0 => SampleKind::Wall,
        () => SampleKind::Events,
    };
    builder.weighs(kind, "");
    builder.profile.meta.period.0 = Unit::Time(1e6).weight(head.interval);
    builder.profile.meta.started_at_unix = Unit::Time(1e6).weight(head.started);
    let mut file = File {
        is_cpu,
        started: head.started,
        memory: Memory::default(),
        has_markers: false,
    };
    if let Err(damage) = file.process(&mut json.clone(), &head, 0, builder) {
        builder.warn(damage.warning());
    }
    let has_markers = file.has_markers;
    file.memory.give(builder);
    if has_cpu && !is_cpu {
        builder.note("samples are elapsed time; --value cpu reads the CPU time between them");
    }
    if has_markers {
        builder.note("markers are not read");
    }
    Ok(())
}

/// The file while its threads are read.
struct File {
    is_cpu: bool,
    /// The start of the main process, in milliseconds since 1970.
    started: f64,
    memory: Memory,
    has_markers: bool,
}

/// The parts of a process that must be known before its threads.
#[derive(Default)]
struct Head<'a> {
    /// The milliseconds between samples.
    interval: f64,
    /// Milliseconds since 1970.
    started: f64,
    /// The nanoseconds of a unit of CPU time.
    cpu_unit: Option<f64>,
    /// The category of threads that wait.
    idle: Option<usize>,
    libs: Vec<Lib>,
    shared: Tables<'a>,
}

impl<'a> Head<'a> {
    fn read(&mut self, json: &mut Json<'a>, builder: &mut Builder) -> Read<()> {
        if !json.enter(b'{')? {
            return Ok(());
        }
        while let Some(key) = json.key()? {
            match &key[..] {
                "meta" => self.meta(json)?,
                "libs" => json.array(|json| {
                    self.libs.push(lib(json, builder)?);
                    Ok(())
                })?,
                "shared" if json.enter(b'{')? => {
                    while let Some(key) = json.key()? {
                        if !self.shared.read(&key, json)? {
                            json.skip()?;
                        }
                    }
                }
                // Passed over by the condition before.
                "shared" => {}
                _ => json.skip()?,
            }
        }
        Ok(())
    }

    fn meta(&mut self, json: &mut Json<'a>) -> Read<()> {
        json.object(|json, key| {
            match key {
                "interval" => self.interval = json.number()?.unwrap_or(0.0).max(0.0),
                "startTime" => self.started = json.number()?.unwrap_or(0.0),
                "categories" => {
                    let mut number = 0;
                    json.array(|json| {
                        json.object(|json, key| {
                            match key {
                                "name" if json.text()?.as_deref() == Some("Idle") => {
                                    self.idle = Some(number);
                                }
                                "name" => {}
                                _ => json.skip()?,
                            }
                            Ok(())
                        })?;
                        number += 1;
                        Ok(())
                    })?;
                }
                "sampleUnits" => json.object(|json, key| {
                    match key {
                        "threadCPUDelta" => {
                            let unit = json.text()?.unwrap_or_default();
                            self.cpu_unit = match Unit::of_name(&unit) {
                                Unit::Time(scale) => Some(scale),
                                _ => None,
                            };
                        }
                        _ => json.skip()?,
                    }
                    Ok(())
                })?,
                _ => json.skip()?,
            }
            Ok(())
        })
    }
}

/// Reads a file that was mapped.
fn lib(json: &mut Json<'_>, builder: &mut Builder) -> Read<Lib> {
    let (mut name, mut path, mut code_id) = (None, None, None);
    let (mut start, mut end, mut offset) = (0, 0, 0);
    json.object(|json, key| {
        match key {
            "name" => name = json.text()?,
            "path" => path = json.text()?,
            "codeId" => code_id = json.text()?,
            "start" => start = json.whole()?.unwrap_or(0) as u64,
            "end" => end = json.whole()?.unwrap_or(0) as u64,
            "offset" => offset = json.whole()?.unwrap_or(0) as u64,
            _ => json.skip()?,
        }
        Ok(())
    })?;
    let path = path
        .filter(|path| !path.is_empty())
        .or(name)
        .unwrap_or_default();
    let is_kernel = path.starts_with("[kernel") || path.ends_with("/vmlinux");
    let module: ModuleId = builder.module(if is_kernel { "[kernel]" } else { &path });
    let row = builder.profile.modules.get_mut(module);
    row.start.0 = start;
    row.end.0 = end;
    row.bias = start.wrapping_sub(offset);
    if let Some(id) = code_id.as_deref().and_then(hex) {
        row.build_id = id;
    }
    Ok(Lib { module, start, end })
}

/// The bytes of hexadecimal digits.
fn hex(digits: &str) -> Option<Vec<u8>> {
    let (pairs, rest) = digits.as_bytes().as_chunks::<2>();
    let byte = |pair: &[u8; 2]| u8::from_str_radix(std::str::from_utf8(pair).ok()?, 16).ok();
    let bytes: Option<Vec<u8>> = pairs.iter().map(byte).collect();
    bytes.filter(|_| rest.is_empty())
}

impl File {
    /// Reads a process: the whole file, or one of those in it.
    fn process<'a>(
        &mut self,
        json: &mut Json<'a>,
        head: &Head<'a>,
        depth: u32,
        builder: &mut Builder,
    ) -> Read<()> {
        /// A process starts processes, these start more, and so on.
        const DEEPEST: u32 = 8;
        // The stacks of the shared tables, once they are needed.
        let mut shared: Option<Vec<Option<StackId>>> = None;
        if !json.enter(b'{')? {
            return Ok(());
        }
        while let Some(key) = json.key()? {
            match &key[..] {
                "threads" if json.enter(b'[')? => {
                    while json.element()? {
                        let mut thread = Thread::default();
                        let result = thread.read(json);
                        self.thread(&thread, head, &mut shared, builder);
                        result?;
                    }
                }
                "processes" if depth < DEEPEST && json.enter(b'[')? => {
                    while json.element()? {
                        let mut head = Head::default();
                        let _ = head.read(&mut json.clone(), builder);
                        self.process(json, &head, depth + 1, builder)?;
                    }
                }
                "threads" => {}
                "processes" if depth < DEEPEST => {}
                _ => json.skip()?,
            }
        }
        Ok(())
    }

    fn thread<'a>(
        &mut self,
        thread: &Thread<'a>,
        head: &Head<'a>,
        shared: &mut Option<Vec<Option<StackId>>>,
        builder: &mut Builder,
    ) {
        self.has_markers |= thread.has_markers;
        let mut libs = Vec::new();
        let view = View {
            own: &thread.tables,
            shared: &head.shared,
            libs: match thread.libs.is_empty() {
                true => &head.libs,
                false => {
                    libs.extend(
                        thread
                            .libs
                            .iter()
                            .filter_map(|text| lib(&mut Json::new(text), builder).ok()),
                    );
                    &libs
                }
            },
        };
        let own;
        let stacks = match thread.tables.has_stacks() {
            true => {
                own = view.stacks(builder);
                &own
            }
            false => shared.get_or_insert_with(|| view.stacks(builder)),
        };
        let times = thread::Times {
            interval: head.interval,
            cpu_unit: head.cpu_unit,
            is_cpu: self.is_cpu,
            // Processes have clocks of their own.
            later: head.started - self.started,
            idle: head.idle,
        };
        thread.give(&times, view, stacks, &mut self.memory, builder);
    }
}
