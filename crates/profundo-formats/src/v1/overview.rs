//! An overview of a file, from the heads of its chunks and the few with facts about the recording.
//! Samples are not read, so a list of many recordings is quick.

use std::io::{self, Read, Seek, SeekFrom};

use profundo_model::{Nanos, Profile};

use super::chunk::{self, HEAD, Head, Unpacker};
use super::read::Decoder;
use crate::Error;
use crate::overview::{Holds, Overview};

/// The limit of the facts at the start of a recording.
const MOST: usize = 1 << 20;

/// Reads the overview of the file that begins at `offset`, up to its end or its damage.
pub(crate) fn overview(source: &mut (impl Read + Seek), offset: usize) -> Result<Overview, Error> {
    let mut reading = Reading {
        decoder: Decoder::new(),
        unpacker: Unpacker::new(),
        holds: Holds::default(),
        is_whole: false,
        last_processes: 0,
    };
    reading.last_processes = last_processes(source, offset).unwrap_or(0);
    // A file that cannot be read further counts as ending there.
    if let Err(Stop::Error(error)) = reading.chunks(source, offset) {
        return Err(error);
    }
    let profile = &reading.decoder.profile;
    Ok(Overview {
        meta: profile.meta.clone(),
        command: command_of(profile),
        lasted: match profile.meta.duration {
            Nanos(0) => (profile
                .processes
                .iter()
                .filter_map(|process| process.ended)
                .max())
            .unwrap_or_default(),
            known => known,
        },
        cpu: cpu_of(profile),
        origins: profile.origins.len(),
        holds: reading.holds,
        is_whole: reading.is_whole,
    })
}

/// The start of the recording, in nanoseconds since 1970, from the first chunk. `None`: the file
/// has none.
pub(crate) fn began(source: &mut (impl Read + Seek), offset: usize) -> Option<u64> {
    source.seek(SeekFrom::Start(offset as u64)).ok()?;
    let mut first = [0; HEAD];
    source.read_exact(&mut first).ok()?;
    let head = Head::read(&first);
    if head.kind != chunk::META || head.stored_len > MOST {
        return None;
    }
    let mut bytes = vec![0; head.stored_len];
    source.read_exact(&mut bytes).ok()?;
    let chunk = head.with(offset, &first, &bytes);
    let mut decoder = Decoder::new();
    let taken = decoder.chunk(&chunk, &mut Unpacker::new(), None);
    (chunk.is_sound() && matches!(taken, Ok(Ok(()))))
        .then_some(decoder.profile.meta.started_at_unix)
}

/// The command line of the first program, unless all processes of a machine were recorded.
fn command_of(profile: &Profile) -> Option<String> {
    let process = profile
        .processes
        .first()
        .filter(|_| !profile.meta.is_of_machine)?;
    let command = profile.strings.get(process.command);
    (!command.is_empty()).then(|| command.to_owned())
}

/// The CPU time of all processes by the kernel's count, or by the program's own clocks.
fn cpu_of(profile: &Profile) -> Option<Nanos> {
    match profile.cpu_used() {
        Some((user, system)) => Some(Nanos(user.0.saturating_add(system.0))),
        None => profile.meta.cpu,
    }
}

/// The reason why no more chunks are read.
enum Stop {
    End,
    Error(Error),
}

impl From<io::Error> for Stop {
    fn from(_: io::Error) -> Self {
        Self::End
    }
}

/// The offset of the last chunk of processes.
fn last_processes(source: &mut (impl Read + Seek), offset: usize) -> io::Result<usize> {
    let length = source.seek(SeekFrom::End(0))?;
    let (mut at, mut last) = (offset, 0);
    while (at + HEAD) as u64 <= length {
        source.seek(SeekFrom::Start(at as u64))?;
        let mut first = [0; HEAD];
        source.read_exact(&mut first)?;
        let head = Head::read(&first);
        if matches!(head.kind, chunk::PROCESSES | chunk::PROCESSES_AGAIN) {
            last = at;
        }
        at += HEAD + head.stored_len;
    }
    Ok(last)
}

struct Reading {
    decoder: Decoder,
    unpacker: Unpacker,
    holds: Holds,
    is_whole: bool,
    /// The offset of the last rows of processes: later texts are names of code.
    last_processes: usize,
}

impl Reading {
    fn chunks(&mut self, source: &mut (impl Read + Seek), offset: usize) -> Result<(), Stop> {
        let length = source.seek(SeekFrom::End(0))?;
        let mut at = offset;
        let mut bytes = Vec::new();
        while (at + HEAD) as u64 <= length {
            source.seek(SeekFrom::Start(at as u64))?;
            let mut first = [0; HEAD];
            source.read_exact(&mut first)?;
            let head = Head::read(&first);
            let end = at + HEAD + head.stored_len;
            if end as u64 > length {
                return Ok(());
            }
            self.count(head.kind);
            if self.is_wanted(head.kind, at) {
                bytes.resize(head.stored_len, 0);
                source.read_exact(&mut bytes)?;
                let chunk = head.with(at, &first, &bytes);
                let taken = match chunk.is_sound() {
                    true => self.decoder.chunk(&chunk, &mut self.unpacker, None),
                    false => return Ok(()),
                };
                if taken.map_err(Stop::Error)?.is_err() {
                    return Ok(());
                }
            } else {
                self.unpacker.skip(&head);
            }
            if head.kind == chunk::END {
                self.is_whole = true;
                return Ok(());
            }
            at = end;
        }
        Ok(())
    }

    /// Notes the presence of a chunk's kind.
    fn count(&mut self, kind: chunk::Kind) {
        let holds = &mut self.holds;
        match kind {
            chunk::SAMPLES => holds.samples = true,
            chunk::TRAFFIC => holds.waits = true,
            chunk::BLOCKS => holds.blocks = true,
            chunk::SITES => holds.exact_blocks = true,
            chunk::CALLS => holds.calls = true,
            chunk::LINES => holds.lines = true,
            _ => {}
        }
    }

    /// Whether a chunk is to be decoded. Texts are, as far as rows of processes use them.
    fn is_wanted(&self, kind: chunk::Kind, at: usize) -> bool {
        match kind {
            chunk::META | chunk::ORIGINS | chunk::PROCESSES | chunk::PROCESSES_AGAIN => true,
            chunk::STRINGS => at < self.last_processes,
            _ => false,
        }
    }
}
