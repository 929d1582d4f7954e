//! The SQLite export of Nsight Systems: `nsys export --type sqlite`.
//!
//! A file has samples of CPUs, calls of CUDA and of the operating system, kernels on devices, and
//! ranges that the program marks itself, each a value of the profile. What lasts for a time is one
//! row a piece, with the time that nothing inside of it took.

mod ranges;
mod sqlite;
mod strings;

use profundo_model::{Avma, CodeAddress, LocationId, SampleKind, State};
use rustc_hash::FxHashMap;

use crate::quantities::value::{self, Unit, Value};
use crate::reader::{Reader, Table};
use crate::{Builder, Error, Named, Row, Source, Warning};
use sqlite::Database;
use strings::{Strings, thread};

pub(crate) const READER: Reader = Reader(&Table {
    name: NAME,
    writers: "Nsight Systems (`nsys export --type sqlite`)",
    is_start: |start| {
        // The first table of every export.
        start.starts_with(sqlite::MAGIC) && memchr::memmem::find(start, b"StringIds").is_some()
    },
    fill,
});

const NAME: &str = "nsight";

/// The most frames of a stack, and the most ranges in one another.
const DEEPEST: usize = 4096;

/// The values of a file, and the table of each. The usual one is the first that is there.
const VALUES: &[(&str, &str)] = &[
    ("cpu", "COMPOSITE_EVENTS"),
    ("kernels", "CUPTI_ACTIVITY_KIND_KERNEL"),
    ("cuda", "CUPTI_ACTIVITY_KIND_RUNTIME"),
    ("nvtx", "NVTX_EVENTS"),
    ("os", "OSRT_API"),
    ("copies", "CUPTI_ACTIVITY_KIND_MEMCPY"),
];

fn fill(source: &Source<'_>, builder: &mut Builder) -> Result<(), Error> {
    let database = Database::open(source.bytes).map_err(|what| Error::Malformed {
        format: NAME,
        what: what.to_owned(),
    })?;
    let values: Vec<Value> = (VALUES.iter())
        .filter(|(_, table)| database.has(table))
        .map(|(name, _)| Value {
            name: (*name).to_owned(),
            unit: Unit::Time(1.0),
        })
        .collect();
    let chosen = match values.is_empty() && source.options.value.is_none() {
        true => "",
        false => {
            let index = value::choose(&values, source.options.value.as_deref(), 0)?;
            values.get(index).map_or("", |value| &value.name[..])
        }
    };
    let (mut strings, mut is_whole) = Strings::read(&database);
    is_whole &= match chosen {
        "cpu" => samples(&database, &mut strings, builder),
        "" => {
            builder.weighs(SampleKind::Events, "");
            true
        }
        chosen => ranges::fill(&database, &mut strings, builder, chosen),
    };
    if !is_whole {
        builder.warn(Warning::Damaged {
            offset: source.bytes.len() as u64,
            what: "pages of the database are missing or damaged".to_owned(),
        });
    }
    name_processes(&database, builder);
    let mut start = 0;
    let columns = ["utcEpochNs"];
    database.rows("TARGET_INFO_SESSION_START_TIME", columns, |[time]| {
        start = time.number();
    });
    let first = builder.first_time().unwrap_or(0);
    if start > 0 {
        builder.profile.meta.started_at_unix = start.saturating_add(first);
    }
    builder.note("the format has no source files and lines");
    Ok(())
}

/// Reads the samples of CPUs. The answer is whether the tables were whole.
fn samples(database: &Database<'_>, strings: &mut Strings, builder: &mut Builder) -> bool {
    builder.weighs(SampleKind::Events, "");
    let mut frames: Vec<(u64, u64, LocationId, bool)> = Vec::new();
    let mut locations = FxHashMap::default();
    let columns = [
        "id",
        "stackDepth",
        "symbol",
        "module",
        "kernelMode",
        "unresolved",
        "originalIP",
    ];
    let mut is_whole = database.rows("SAMPLING_CALLCHAINS", columns, |cells| {
        let [id, depth, symbol, module, kernel, unresolved, address] =
            cells.each_ref().map(sqlite::Cell::number);
        let is_kernel = kernel != 0;
        let is_return = depth > 0;
        let address = if unresolved != 0 { address } else { 0 };
        let key = (
            symbol,
            module,
            is_kernel,
            address,
            is_return && address != 0,
        );
        let location = *locations.entry(key).or_insert_with(|| {
            let path = match is_kernel {
                true => "[kernel]",
                false => strings.get(module),
            };
            let module = (!path.is_empty()).then(|| builder.module(path));
            match address {
                0 => {
                    let frame = builder.frame(Named {
                        function: strings.get(symbol),
                        ..Named::default()
                    });
                    builder.location_of(frame, module)
                }
                address if is_return => builder.address(CodeAddress::Return(Avma(address)), module),
                address => builder.address(CodeAddress::Instruction(Avma(address)), module),
            }
        });
        frames.push((id, depth, location, is_kernel));
    });
    frames.sort_unstable_by_key(|&(id, depth, ..)| (id, depth));
    let mut stacks = FxHashMap::default();
    for chain in frames.chunk_by(|one, next| one.0 == next.0) {
        let Some(&(id, _, _, is_kernel)) = chain.first() else {
            continue;
        };
        // Deeper ones are cut at their root.
        let chain = chain.get(..DEEPEST).unwrap_or(chain);
        let locations = chain.iter().rev().map(|&(_, _, location, _)| location);
        if let Some(stack) = builder.stack_of(locations) {
            stacks.insert(id, (stack, is_kernel));
        }
    }
    drop(frames);
    let unknown = builder.location(Named {
        function: "[no stack]",
        ..Named::default()
    });
    let unknown = builder.stack(None, unknown);
    let columns = ["id", "start", "globalTid"];
    is_whole &= database.rows("COMPOSITE_EVENTS", columns, |[id, start, tid]| {
        let (stack, is_kernel) = *stacks.get(&id.number()).unwrap_or(&(unknown, false));
        let thread = thread(builder, strings, tid.number());
        builder.sample(Row {
            stack,
            thread,
            weight: 1,
            samples: 1,
            time: Some(start.number()),
            state: if is_kernel {
                State::System
            } else {
                State::Running
            },
        });
    });
    is_whole
}

/// Names the processes that the profile has.
fn name_processes(database: &Database<'_>, builder: &mut Builder) {
    let known: Vec<u32> = (builder.profile.processes.iter())
        .map(|process| process.pid)
        .collect();
    database.rows("PROCESSES", ["pid", "name"], |[pid, name]| {
        if let Ok(pid) = u32::try_from(pid.number())
            && known.contains(&pid)
        {
            builder.process(pid, &name.text());
        }
    });
}
