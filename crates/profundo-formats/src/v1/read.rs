//! From chunks to a profile. Every id is checked against the rows read before it, so a profile
//! never refers to a missing row, whatever the file has.
//!
//! A row that a file holds twice is one row of the profile: hence the lists from the file's ids
//! to the profile's. In a file of ours both are the same.

use profundo_model::{
    FileId, FrameId, Growing, LocationId, Process, Profile, SpanId, StackId, StringId,
};

use super::ahead::Ahead;
use super::chunk::{self, Next, Packed, Unpacker};
use super::code::value_of;
use super::column::Columns;
use super::sample::LastSeen;
use super::{
    gauge, growing, heap, meta, name, origin, owner, place, sample, source_file, span, summed,
    syscalls, traced, traffic,
};
use crate::{Damage, Error, Warning};

/// Reads the chunks from `offset` on.
pub(crate) fn read(bytes: &[u8], offset: usize) -> Result<(Profile, Vec<Warning>), Error> {
    std::thread::scope(|scope| {
        let ahead = Ahead::begin(scope, bytes, offset);
        read_chunks(bytes, offset, ahead.as_ref())
    })
}

fn read_chunks(
    bytes: &[u8],
    mut offset: usize,
    ahead: Option<&Ahead>,
) -> Result<(Profile, Vec<Warning>), Error> {
    let mut decoder = Decoder::new();
    let mut unpacker = Unpacker::new();
    let ending = loop {
        let samples = decoder.profile.samples.len();
        let chunk = match chunk::next(bytes, offset) {
            Next::Chunk(chunk) => chunk,
            Next::Cut => break Some(Warning::Cut { offset, samples }),
            Next::Damaged(damage) => {
                break Some(Warning::Damaged {
                    offset,
                    damage,
                    samples,
                });
            }
        };
        if let Err(damage) = decoder.chunk(&chunk, &mut unpacker, ahead)? {
            let samples = decoder.profile.samples.len();
            break Some(Warning::Damaged {
                offset,
                damage,
                samples,
            });
        }
        offset = chunk.end;
        if chunk.kind == chunk::END {
            // Only a continued recording has a use for it.
            decoder.profile.growing = Growing::default();
            let bytes = bytes.len() - offset;
            break (bytes > 0).then_some(Warning::Trailing { offset, bytes });
        }
    };
    Ok(decoder.finish(ending))
}

/// A profile that grows chunk by chunk.
pub(super) struct Decoder {
    pub(super) profile: Profile,
    pub(super) strings: Vec<StringId>,
    pub(super) files: Vec<FileId>,
    pub(super) frames: Vec<FrameId>,
    pub(super) locations: Vec<LocationId>,
    pub(super) stacks: Vec<StackId>,
    pub(super) spans: Vec<SpanId>,
    pub(super) sources: usize,
    pub(super) source_files: usize,
    /// The number of ends of blocks.
    pub(super) ends: usize,
    /// The number of unreachable blocks reported afterwards.
    pub(super) unreachable: usize,
    pub(super) last_seen: LastSeen,
    warnings: Vec<Warning>,
}

impl Decoder {
    pub(super) fn new() -> Self {
        Self {
            profile: Profile::default(),
            strings: vec![StringId(0)],
            files: vec![FileId(0)],
            frames: Vec::new(),
            locations: Vec::new(),
            stacks: Vec::new(),
            spans: vec![SpanId(0)],
            sources: 0,
            source_files: 0,
            ends: 0,
            unreachable: 0,
            last_seen: LastSeen::new(),
            warnings: Vec::new(),
        }
    }

    /// The profile, and the warnings.
    pub(super) fn finish(self, ending: Option<Warning>) -> (Profile, Vec<Warning>) {
        let Self {
            mut profile,
            mut warnings,
            ..
        } = self;
        summed::complete(&mut profile);
        let processes = Process::mend_parents(&mut profile.processes);
        if processes > 0 {
            warnings.push(Warning::Parents { processes });
        }
        warnings.extend(ending);
        (profile, warnings)
    }

    /// Takes one chunk in. The outer error ends the reading, the inner one is damage.
    pub(super) fn chunk(
        &mut self,
        chunk: &Packed<'_>,
        unpacker: &mut Unpacker,
        ahead: Option<&Ahead>,
    ) -> Result<Result<(), Damage>, Error> {
        type Decode = fn(&mut Decoder, &Columns) -> Result<(), Damage>;
        let (rows, decode): (usize, Decode) = match chunk.kind {
            chunk::META => (0, meta::decode),
            chunk::STRINGS => (self.strings.len(), name::strings::decode),
            chunk::FILES => (self.files.len(), name::files::decode),
            chunk::FRAMES => (self.frames.len(), name::frames::decode),
            chunk::MODULES => (self.profile.modules.len(), place::modules::decode),
            chunk::LOCATIONS => (self.locations.len(), place::locations::decode),
            chunk::STACKS => (self.stacks.len(), place::stacks::decode),
            chunk::ORIGINS => (self.profile.origins.len(), origin::decode),
            chunk::PROCESSES => (self.profile.processes.len(), owner::processes::decode),
            chunk::THREADS => (self.profile.threads.len(), owner::threads::decode),
            chunk::TASKS => (self.profile.tasks.len(), owner::tasks::decode),
            chunk::SPAN_PATHS => (self.spans.len(), span::paths::decode),
            chunk::SPANS => (self.profile.spans.each.len(), span::each::decode),
            chunk::SPAN_SUMS => (self.profile.spans.sums.len(), span::sums::decode),
            chunk::SPAN_LOSS => (0, span::loss::decode),
            chunk::MARKS => (self.profile.spans.marks.len(), span::marks::decode),
            chunk::CODES => (self.profile.growing.codes.len(), growing::codes::decode),
            chunk::MAPPINGS => (
                self.profile.growing.mappings.len(),
                growing::mappings::decode,
            ),
            chunk::SOURCES => (self.sources, name::sources::decode),
            chunk::SOURCE_FILES => (self.source_files, source_file::decode),
            chunk::TRAFFIC => (self.profile.traffic.len(), traffic::decode),
            chunk::SYSCALLS => (self.profile.syscalls.len(), syscalls::decode),
            chunk::HEAP => (0, heap::sampling::decode),
            chunk::BLOCKS => (self.profile.heap.blocks.len(), heap::blocks::decode),
            chunk::COPIES => (self.profile.heap.copies.len(), heap::copies::decode),
            chunk::ENDS => (self.ends, heap::ends::decode),
            chunk::UNREACHABLE => (self.unreachable, heap::unreachable::decode),
            chunk::SEARCHED => (self.profile.heap.searched.len(), heap::searched::decode),
            chunk::SITES => (self.profile.heap.sites.len(), heap::sites::decode),
            chunk::MOMENTS => (self.profile.heap.moments.len(), heap::moments::decode),
            chunk::GAUGES => (self.profile.heap.gauges.len(), gauge::decode),
            chunk::TRACED => (0, traced::about::decode),
            chunk::CALLS => (self.profile.traced.calls.len(), traced::calls::decode),
            chunk::LINES => (self.profile.traced.lines.len(), traced::lines::decode),
            chunk::EXCEPTIONS => (
                self.profile.traced.exceptions.len(),
                traced::exceptions::decode,
            ),
            chunk::SAMPLES => (self.profile.samples.len(), sample::decode),
            // Existing rows.
            chunk::SUMMED => (self.profile.samples.len(), summed::decode),
            chunk::MODULES_AGAIN => (self.profile.modules.len(), place::modules::decode),
            chunk::LOCATIONS_NAMED => (self.locations.len(), place::locations::decode_frames),
            chunk::PROCESSES_AGAIN => (self.profile.processes.len(), owner::processes::decode),
            chunk::THREADS_AGAIN => (self.profile.threads.len(), owner::threads::decode),
            chunk::TASKS_AGAIN => (self.profile.tasks.len(), owner::tasks::decode),
            chunk::SITES_AGAIN => (self.profile.heap.sites.len(), heap::sites::decode),
            chunk::END => (0, |decoder, columns| meta::decode_end(decoder, columns)),
            // A newer writer's: it need not even be unpacked.
            _ => return Ok(Ok(())),
        };
        let payload = match unpacker.unpack(chunk, ahead)? {
            Ok(payload) => payload,
            Err(damage) => return Ok(Err(damage)),
        };
        Ok(Columns::parse(payload).and_then(|columns| {
            let (expected, found) = (rows as u64, columns.first);
            let last = found.saturating_add(columns.rows as u64);
            let is_repeated = chunk.kind[0].is_ascii_lowercase();
            if if is_repeated {
                last > expected
            } else {
                found != expected
            } {
                return Err(Damage::Order { expected, found });
            }
            // Ids are 32 bits wide; rows without references have none.
            let has_ids = ![
                chunk::SAMPLES,
                chunk::TRAFFIC,
                chunk::SYSCALLS,
                chunk::BLOCKS,
                chunk::COPIES,
                chunk::ENDS,
                chunk::UNREACHABLE,
                chunk::MOMENTS,
                chunk::GAUGES,
                chunk::CALLS,
                chunk::LINES,
                chunk::SPANS,
                chunk::SPAN_SUMS,
                chunk::MARKS,
            ]
            .contains(&chunk.kind);
            if last > u64::from(u32::MAX) && has_ids {
                return Err(Damage::Length);
            }
            decode(self, &columns)
        }))
    }

    pub(super) fn string(&self, id: u64) -> Result<StringId, Damage> {
        row(&self.strings, "strings", id)
    }

    pub(super) fn file(&self, id: u64) -> Result<FileId, Damage> {
        row(&self.files, "files", id)
    }

    pub(super) fn frame(&self, id: u64) -> Result<FrameId, Damage> {
        row(&self.frames, "frames", id)
    }

    pub(super) fn location(&self, id: u64) -> Result<LocationId, Damage> {
        row(&self.locations, "locations", id)
    }

    pub(super) fn stack(&self, id: u64) -> Result<StackId, Damage> {
        row(&self.stacks, "stacks", id)
    }

    pub(super) fn span(&self, id: u64) -> Result<SpanId, Damage> {
        row(&self.spans, "paths of spans", id)
    }

    pub(super) fn module(&self, id: u64) -> Result<usize, Damage> {
        index(self.profile.modules.len(), "modules", id)
    }

    pub(super) fn origin(&self, id: u64) -> Result<usize, Damage> {
        index(self.profile.origins.len(), "origins", id)
    }

    pub(super) fn process(&self, id: u64) -> Result<usize, Damage> {
        index(self.profile.processes.len(), "processes", id)
    }

    pub(super) fn thread(&self, id: u64) -> Result<usize, Damage> {
        index(self.profile.threads.len(), "threads", id)
    }

    pub(super) fn task(&self, id: u64) -> Result<usize, Damage> {
        index(self.profile.tasks.len(), "tasks", id)
    }

    /// The value of a code, or a warning.
    pub(super) fn value<T: Copy>(
        &mut self,
        list: &[T],
        what: &'static str,
        code: u64,
    ) -> Option<T> {
        let value = value_of(list, code);
        if value.is_none() {
            self.unknown(what, code);
        }
        value
    }

    /// Notes an unknown code: one warning for each kind of value.
    pub(super) fn unknown(&mut self, what: &'static str, code: u64) {
        for warning in &mut self.warnings {
            if let Warning::UnknownCode {
                what: known, times, ..
            } = warning
                && *known == what
            {
                *times += 1;
                return;
            }
        }
        self.warnings.push(Warning::UnknownCode {
            what,
            code,
            times: 1,
        });
    }
}

fn row<T: Copy>(rows: &[T], table: &'static str, id: u64) -> Result<T, Damage> {
    index(rows.len(), table, id).map(|index| rows[index])
}

pub(super) fn index(rows: usize, table: &'static str, id: u64) -> Result<usize, Damage> {
    let index = usize::try_from(id).ok().filter(|&index| index < rows);
    index.ok_or(Damage::Id { table, id })
}
