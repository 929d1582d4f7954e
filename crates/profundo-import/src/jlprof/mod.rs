//! `.jlprof`, as `FlameGraphs.jl` and ProfileView save it: the words of Julia's
//! `Profile.retrieve()` and the frames of each address.
//!
//! ```text
//! "JLPROF" 01 00 | order mark u32 = 0x01020304 | kind u8 = 1
//! n i64 | n × word u64
//! m i64 | m × { address u64, k i32, k × frame }
//! frame = length i32, function | length i32, file | line i64 | from_c u8 | inlined u8
//! ```
//!
//! Numbers have the byte order of the machine, which the order mark shows. The inlined functions of
//! an address come first, the innermost at the start. The words are laid out in [`blocks`].

mod blocks;
mod head;
mod names;

use profundo_model::{
    Avma, CodeAddress, LocationId, LocationKind, Reason, SampleKind, StackId, State, Task, TaskId,
    Thread, ThreadId,
};
use rustc_hash::FxHashMap;

use crate::reader::{Reader, Table};
use crate::{Builder, Error, Row, Source, Warning};
use blocks::{Block, Blocks, Words};
use head::Input;
use names::Names;

pub(crate) const READER: Reader = Reader(&Table {
    name: "jlprof",
    writers: "Julia's FlameGraphs.jl and ProfileView",
    is_start: head::is_start,
    fill,
});

/// The number in place of a thread's where a parked task was sampled.
const PARKED: u64 = 1 << 15;

fn fill(source: &Source<'_>, builder: &mut Builder) -> Result<(), Error> {
    let mut input = head::open(source.bytes)?;
    builder.weighs(SampleKind::Events, "");
    let words = words(&mut input, builder);
    let names = Names::read(&mut input, builder);
    let mut rows = Rows::new(names);
    let blocks = Blocks::new(words);
    let has_metadata = blocks.has_metadata();
    blocks.for_each(|block| match block {
        Ok(block) => rows.add(builder, block),
        Err(at) => builder.leave_out("samples", || format!("that before word {at}")),
    });
    rows.finish(builder);
    builder.profile.name_reasons();
    builder.note(match has_metadata {
        true => "the file has no times and no sampling interval: samples are counted",
        false => {
            "the file has no threads, tasks or times and no sampling interval: samples are counted"
        }
    });
    Ok(())
}

/// The words of the samples; those that are there, where the file was cut.
fn words<'a>(input: &mut Input<'a>, builder: &mut Builder) -> Words<'a> {
    let is_big = input.is_big;
    let bytes = match input.count(size_of::<u64>()) {
        Some((count, true)) => input.take(count * size_of::<u64>()).unwrap_or_default(),
        _ => {
            builder.warn(Warning::Damaged {
                offset: input.offset(),
                what: "fewer samples than the file says".into(),
            });
            input.rest()
        }
    };
    Words { bytes, is_big }
}

/// The samples so far.
struct Rows<'a> {
    names: Names<'a>,
    locations: FxHashMap<u64, LocationId>,
    threads: FxHashMap<u64, ThreadId>,
    tasks: FxHashMap<u64, TaskId>,
    /// The task of each row, where the file has tasks.
    of_rows: Vec<TaskId>,
    has_interpreted: bool,
}

impl<'a> Rows<'a> {
    fn new(names: Names<'a>) -> Self {
        Self {
            names,
            locations: FxHashMap::default(),
            threads: FxHashMap::default(),
            tasks: FxHashMap::default(),
            of_rows: Vec::new(),
            has_interpreted: false,
        }
    }

    fn add(&mut self, builder: &mut Builder, block: Block<'_>) {
        self.has_interpreted |= block.has_interpreted;
        let stack = self.stack(builder, block.addresses);
        let (thread, state) = match block.metadata {
            None => (self.thread(builder, 1), State::Running),
            Some(about) => {
                let task = self.task(builder, about.task);
                self.of_rows.push(task);
                let state = match about.state {
                    2 => State::Sleeping,
                    3 if about.thread == PARKED => State::WallWaiting,
                    3 => State::WallRunning,
                    _ => State::Running,
                };
                (self.thread(builder, about.thread), state)
            }
        };
        builder.sample(Row {
            stack,
            thread,
            weight: 1,
            samples: 1,
            time: None,
            state,
        });
        if let (Some(about), Some(sample)) = (block.metadata, builder.profile.samples.last_mut()) {
            sample.clock = about.clock;
        }
    }

    /// The stack of these addresses, the innermost first.
    fn stack(&mut self, builder: &mut Builder, addresses: &[u64]) -> StackId {
        let mut stack = None;
        for &address in addresses.iter().rev() {
            let location = self.location(builder, address);
            stack = Some(builder.stack(stack, location));
        }
        stack.unwrap_or_else(|| {
            let kind = LocationKind::Reason(Reason::Broken);
            let location = builder.profile.locations.intern(kind, None);
            builder.stack(None, location)
        })
    }

    fn location(&mut self, builder: &mut Builder, address: u64) -> LocationId {
        if let Some(&id) = self.locations.get(&address) {
            return id;
        }
        // `flatten` invents addresses from the upper end, where no program has code.
        let kind = match address >> 63 {
            0 => LocationKind::Code(CodeAddress::Instruction(Avma(address))),
            _ => LocationKind::Invented(address),
        };
        let id = builder.profile.locations.intern(kind, None);
        let frames = self.names.frames(builder, address);
        builder.profile.locations.set_frames(id, &frames);
        self.locations.insert(address, id);
        id
    }

    fn thread(&mut self, builder: &mut Builder, number: u64) -> ThreadId {
        let profile = &mut builder.profile;
        let name = match number {
            PARKED => profile.strings.intern("parked tasks"),
            _ => Default::default(),
        };
        *self.threads.entry(number).or_insert_with(|| {
            profile.threads.push(Thread {
                number,
                name,
                ..Thread::default()
            })
        })
    }

    fn task(&mut self, builder: &mut Builder, number: u64) -> TaskId {
        *self.tasks.entry(number).or_insert_with(|| {
            builder.profile.tasks.push(Task {
                // No task has it: one could not be chosen.
                number: if number == 0 { u64::MAX } else { number },
                ..Task::default()
            })
        })
    }

    fn finish(self, builder: &mut Builder) {
        for (sample, task) in builder.profile.samples.iter_mut().zip(self.of_rows) {
            sample.task = task;
        }
        if self.has_interpreted {
            builder.note("interpreted code of Julia has no names in the file");
        }
    }
}
