//! The JSON of <https://www.speedscope.app>: profiles side by side, one a thread as a rule, over one
//! table of frames. Samples with weights (`sampled`), or functions that open and close (`evented`).
//!
//! The table may stand behind the profiles, so the file is read twice. Weights are elapsed time,
//! but for tools that leave out threads which wait: ours, and py-spy without `--idle`. Bytes are
//! memory. Numbers without a unit are numbers of samples; beside bytes, memray's are blocks.

mod name;
mod profile;

use profundo_model::{Amount, Domain, LocationId, SampleKind, Sampling, Site, StackId};
use rustc_hash::FxHashMap;

use crate::encoding::json::{Json, Read, first, member, members};
use crate::quantities::value::choose;
use crate::reader::{Reader, Table};
use crate::{Builder, Error, Named, Source, Unit, Value};
use name::Owners;

pub(crate) const READER: Reader = Reader(&Table {
    name: "speedscope",
    writers: "py-spy, rbspy, memray, Scalene, speedscope itself, profundo, …",
    is_start,
    fill,
});

fn is_start(start: &[u8]) -> bool {
    let members = members(start);
    let has = |text: Option<&[u8]>, part| {
        text.is_some_and(|text| memchr::memmem::find(&text[..text.len().min(128)], part).is_some())
    };
    let profile = member(&members, "profiles").and_then(first);
    let is_profile = has(profile, b"\"sampled\"") || has(profile, b"\"evented\"");
    has(
        member(&members, "$schema"),
        b"speedscope.app/file-format-schema",
    ) || is_profile
        || member(&members, "shared").is_some_and(|shared| {
            let shared = self::members(shared);
            has(member(&shared, "frames").and_then(first), b"\"name\"")
        })
}

/// The parts of the file that must be known before its profiles are read.
#[derive(Default)]
struct Head {
    exporter: String,
    name: String,
    frames: Vec<LocationId>,
    /// The unit of each profile.
    units: Vec<String>,
}

fn fill(source: &Source<'_>, builder: &mut Builder) -> Result<(), Error> {
    let mut head = Head::default();
    // The second reading meets the damage again.
    let _ = head.read(&mut Json::new(source.bytes), builder);
    let wanted = head.wanted(source)?;
    let mut file = File {
        tool: Tool::of(&head.exporter),
        head,
        wanted,
        owners: Owners::default(),
        memory: FxHashMap::default(),
        has_times: false,
    };
    file.weigh(builder);
    let result = file.profiles(&mut Json::new(source.bytes), builder);
    if let Err(damage) = result {
        builder.warn(damage.warning());
    }
    file.finish(builder);
    Ok(())
}

impl Head {
    fn read(&mut self, json: &mut Json<'_>, builder: &mut Builder) -> Read<()> {
        json.object(|json, key| {
            match key {
                "exporter" => self.exporter = json.text_or_raw()?.into_owned(),
                "name" => self.name = json.text()?.unwrap_or_default().into_owned(),
                "shared" => json.object(|json, key| match key {
                    "frames" => json.array(|json| {
                        self.frames.push(frame(json, builder)?);
                        Ok(())
                    }),
                    _ => json.skip(),
                })?,
                "profiles" => json.array(|json| {
                    self.units.push(String::new());
                    json.object(|json, key| {
                        match key {
                            "unit" => {
                                let unit = json.text()?.unwrap_or_default();
                                if let Some(last) = self.units.last_mut() {
                                    *last = unit.into_owned();
                                }
                            }
                            _ => json.skip()?,
                        }
                        Ok(())
                    })
                })?,
                _ => json.skip()?,
            }
            Ok(())
        })
    }

    /// The measure that becomes samples. Bytes never do.
    fn wanted(&self, source: &Source<'_>) -> Result<Measure, Error> {
        let mut values: Vec<Value> = Vec::new();
        let mut measures = Vec::new();
        for unit in &self.units {
            let measure = Measure::of(unit);
            if !measures.contains(&measure) {
                measures.push(measure);
                values.push(Value {
                    name: measure.name().to_owned(),
                    unit: Unit::of_name(unit),
                });
            }
        }
        let is = |wanted| measures.iter().position(|&measure| measure == wanted);
        let usual = is(Measure::Time).or(is(Measure::Count)).unwrap_or(0);
        let chosen = choose(&values, source.options.value.as_deref(), usual)?;
        Ok(measures.get(chosen).copied().unwrap_or(Measure::Time))
    }
}

/// A row of the table of frames.
fn frame(json: &mut Json<'_>, builder: &mut Builder) -> Read<LocationId> {
    let (mut name, mut file, mut line) = (None, None, None);
    json.object(|json, key| {
        match key {
            "name" => name = json.text()?,
            "file" => file = json.text()?,
            "line" => line = json.index()?,
            _ => json.skip()?,
        }
        Ok(())
    })?;
    Ok(builder.location(Named {
        function: name.as_deref().unwrap_or_default(),
        file: file.as_deref().unwrap_or_default(),
        line: line.unwrap_or(0),
        ..Named::default()
    }))
}

/// The quantity of a profile.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Measure {
    Time,
    Bytes,
    Count,
}

impl Measure {
    fn of(unit: &str) -> Self {
        match Unit::of_name(unit) {
            Unit::Time(_) => Self::Time,
            Unit::Bytes => Self::Bytes,
            Unit::Count => Self::Count,
        }
    }

    fn name(self) -> &'static str {
        match self {
            Self::Time => "time",
            Self::Bytes => "bytes",
            Self::Count => "samples",
        }
    }
}

/// The tools whose files mean more than the format says.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Tool {
    Ours,
    PySpy,
    Memray,
    Other,
}

impl Tool {
    fn of(exporter: &str) -> Self {
        match () {
            () if exporter.starts_with("profundo") => Self::Ours,
            () if exporter.starts_with("py-spy") => Self::PySpy,
            () if exporter.starts_with("memray") => Self::Memray,
            () => Self::Other,
        }
    }
}

/// The file while its profiles are read.
struct File {
    tool: Tool,
    head: Head,
    wanted: Measure,
    owners: Owners,
    /// The memory of each stack.
    memory: FxHashMap<StackId, Amount>,
    has_times: bool,
}

impl File {
    fn weigh(&self, builder: &mut Builder) {
        let kind = match (self.wanted, self.tool) {
            (Measure::Time, Tool::Ours | Tool::PySpy) => SampleKind::Cpu,
            (Measure::Time, _) => SampleKind::Wall,
            (Measure::Bytes | Measure::Count, _) => SampleKind::Events,
        };
        builder.weighs(kind, "");
    }

    fn profiles(&mut self, json: &mut Json<'_>, builder: &mut Builder) -> Read<()> {
        json.object(|json, key| match key {
            "profiles" => {
                let mut index = 0;
                json.array(|json| {
                    let mut one = profile::One::new(index);
                    index += 1;
                    let result = one.read(json, &self.head.frames, builder);
                    one.give(self, builder);
                    result
                })
            }
            _ => json.skip(),
        })
    }

    fn finish(self, builder: &mut Builder) {
        self.owners.number(builder);
        let is_named = matches!(self.tool, Tool::Ours | Tool::Memray);
        if is_named && builder.profile.processes.len() <= 1 {
            let pid = builder.profile.processes.first().map_or(0, |row| row.pid);
            let id = builder.process(pid, "");
            let process = builder.profile.processes.get(id.index());
            if process.is_some_and(|process| process.command.index() == 0) {
                builder.process(pid, &self.head.name);
            }
        }
        if self.tool == Tool::PySpy && self.has_times {
            builder.note(
                "py-spy leaves out threads that wait, unless it has --idle: the time is that of \
                 running threads, and a time on the time line is a place among these",
            );
        }
        if !self.has_times && !builder.profile.samples.is_empty() {
            builder.note("speedscope's numbers without a unit have no times");
        }
        if !self.memory.is_empty() {
            self.give_memory(builder);
        }
    }

    fn give_memory(self, builder: &mut Builder) {
        let process = builder.process(0, "");
        let is_in_use = self.tool == Tool::Memray;
        let mut memory: Vec<(StackId, Amount)> = self.memory.into_iter().collect();
        memory.sort_unstable_by_key(|&(stack, _)| stack);
        let sites = (0..).zip(memory).map(|(number, (stack, amount))| Site {
            process,
            stack,
            domain: Domain::Native,
            allocated: amount,
            freed: if is_in_use { Amount::default() } else { amount },
            at_peak: if is_in_use { amount } else { Amount::default() },
            number,
            ..Site::default()
        });
        builder.profile.heap.sites.extend(sites);
        builder.profile.heap.sampling = Sampling::All;
        builder.note(match is_in_use {
            true => {
                "memray's speedscope file has memory of one kind: that in use at the peak, or with \
                 --leaks at the end"
            }
            false => "speedscope's bytes do not say whether the memory was freed",
        });
    }
}
