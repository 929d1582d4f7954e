//! What a file holds, from the heads of its chunks and the few that say what was recorded. Samples are not read, so a
//! list of many recordings is quick.

use std::io::{self, Read, Seek, SeekFrom};

use profundo_model::{Nanos, Profile};

use super::chunk::{self, HEAD, Head, Unpacker};
use super::read::Decoder;
use crate::Error;
use crate::overview::{Holds, Overview};

/// What is known when a recording begins is short.
const MOST: usize = 1 << 20;

/// Reads what the file that begins at `offset` says of itself, up to where it ends or is damaged.
pub(crate) fn overview(source: &mut (impl Read + Seek), offset: usize) -> Result<Overview, Error> {
    let mut reading = Reading {
        decoder: Decoder::new(),
        unpacker: Unpacker::new(),
        holds: Holds::default(),
        is_whole: false,
        last_processes: 0,
    };
    reading.last_processes = last_processes(source, offset).unwrap_or(0);
    // A file that cannot be read further is one that ends there.
    if let Err(Stop::Error(error)) = reading.chunks(source, offset) {
        return Err(error);
    }
    let profile = &reading.decoder.profile;
    Ok(Overview {
        meta: profile.meta.clone(),
        command: command_of(profile),
        lasted: match profile.meta.duration {
            Nanos(0) => {
                (profile.processes.iter().filter_map(|it| it.ended).max()).unwrap_or_default()
            }
            known => known,
        },
        cpu: cpu_of(profile),
        holds: reading.holds,
        is_whole: reading.is_whole,
    })
}

/// When the recording began, in nanoseconds since 1970: it is in the first chunk. `None`: the file has none.
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

/// The command line of the first program.
fn command_of(profile: &Profile) -> Option<String> {
    let process = profile.processes.first()?;
    let command = profile.strings.get(process.command);
    (!command.is_empty()).then(|| command.to_owned())
}

/// The CPU time of all processes by the kernel's count, or that which the program's own clocks have seen.
fn cpu_of(profile: &Profile) -> Option<Nanos> {
    match profile.cpu_used() {
        Some((user, system)) => Some(Nanos(user.0.saturating_add(system.0))),
        None => profile.meta.cpu,
    }
}

/// Why no more chunks are read.
enum Stop {
    End,
    Error(Error),
}

impl From<io::Error> for Stop {
    fn from(_: io::Error) -> Self {
        Self::End
    }
}

/// Where the last chunk of processes begins.
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
    /// Where the last rows of processes begin: texts that come later are names of code.
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

    /// Notes what there is, by the kind of a chunk.
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

    /// Whether a chunk is to be decoded. Texts are, as far as rows of processes have them.
    fn is_wanted(&self, kind: chunk::Kind, at: usize) -> bool {
        match kind {
            chunk::META | chunk::PROCESSES | chunk::PROCESSES_AGAIN => true,
            chunk::STRINGS => at < self.last_processes,
            _ => false,
        }
    }
}
