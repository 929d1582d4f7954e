//! From the chunks of a large file to a profile whose samples are gathered: each is added to its
//! row as it is decoded, and the file goes through the memory chunk by chunk.
//!
//! One thread reads the file and takes in all tables. Batches of samples are independent, so
//! several threads unpack, decode and add them up, with the file's own ids; the tables before a
//! batch limit its ids. At the end the sums are merged, in the order of first appearance.
//!
//! Damage is reported by the reader that holds all samples: any irregularity within a batch is left
//! to it.

mod join;
mod sums;
mod table;
#[cfg(test)]
mod tests;
mod worker;

use std::io::{self, Read, Seek, SeekFrom};
use std::num::NonZero;
use std::ops::Range;
use std::sync::Arc;
use std::thread::{Scope, available_parallelism};

use profundo_model::{Nanos, Profile, SampleKind};

use super::chunk::{self, HEAD, Head, Unpacker};
use super::column::Columns;
use super::meta;
use super::read::Decoder;
use crate::{Damage, Error, Warning};

use join::join;
use sums::STRETCH;
use worker::{Job, Limits, Workers};

/// More threads would wait for the reading one.
const MOST_WORKERS: usize = 8;

/// The approximate unpacked bytes of a sample.
const BYTES: u64 = 11;

/// The number of stretches whose order is kept.
const STRETCHES: u64 = 64;

/// The settings of gathering.
#[derive(Debug, Clone)]
pub(crate) struct Manner {
    /// A file with fewer unpacked sample bytes is not for this reader.
    pub(crate) least: u64,
    /// Samples of this stretch of time are kept apart from those before it and after it.
    pub(crate) within: Range<Nanos>,
}

/// Reads the chunks of a file from `offset` on. `None` where its samples are to be read one by one:
/// because they are few, or irregular.
pub(crate) fn gather(
    source: &mut (impl Read + Seek),
    offset: usize,
    manner: &Manner,
) -> Result<Option<(Profile, Vec<Warning>)>, Error> {
    let Ok((length, bytes)) = survey(source, offset) else {
        return Ok(None);
    };
    if bytes < manner.least {
        return Ok(None);
    }
    // At regular intervals one stretch is kept as it is.
    let apart = (bytes / BYTES / (STRETCH * STRETCHES)).max(1);
    std::thread::scope(|scope| {
        let workers = workers(scope, manner, apart);
        let Some(mut reading) = workers.map(|workers| Reading::new(source, length, workers)) else {
            return Ok(None);
        };
        match reading.chunks(offset)? {
            Some(ending) => Ok(reading.finish(ending)),
            None => Ok(None),
        }
    })
}

fn workers<'scope>(
    scope: &'scope Scope<'scope, '_>,
    manner: &Manner,
    apart: u64,
) -> Option<Workers<'scope>> {
    let count = available_parallelism().map_or(1, NonZero::get);
    Workers::begin(scope, count.min(MOST_WORKERS), &manner.within, apart)
}

/// The length of the file, and the unpacked bytes of its samples, from the heads of chunks.
fn survey(source: &mut (impl Read + Seek), offset: usize) -> io::Result<(u64, u64)> {
    let length = source.seek(SeekFrom::End(0))?;
    let (mut at, mut bytes) = (offset as u64, 0);
    let mut head = [0; HEAD];
    while at + HEAD as u64 <= length {
        source.seek(SeekFrom::Start(at))?;
        source.read_exact(&mut head)?;
        let head = Head::read(&head);
        if head.kind == chunk::SUMMED {
            // Its rows are sums already.
            return Ok((length, 0));
        }
        if head.kind == chunk::SAMPLES {
            bytes += head.raw_len as u64;
        }
        at += (HEAD + head.stored_len) as u64;
    }
    source.seek(SeekFrom::Start(offset as u64))?;
    Ok((length, bytes))
}

/// The end of the chunks.
enum Ending {
    /// The end mark, with the number of samples.
    End {
        samples: u64,
        trailing: Option<Warning>,
    },
    Cut {
        offset: usize,
    },
    Damaged {
        offset: usize,
        damage: Damage,
    },
}

struct Reading<'a, 'scope, S> {
    source: &'a mut S,
    length: u64,
    decoder: Decoder,
    unpacker: Unpacker,
    workers: Workers<'scope>,
    stored: Vec<u8>,
}

impl<'a, 'scope, S: Read> Reading<'a, 'scope, S> {
    fn new(source: &'a mut S, length: u64, workers: Workers<'scope>) -> Self {
        Self {
            source,
            length,
            decoder: Decoder::new(),
            unpacker: Unpacker::new(),
            workers,
            stored: Vec::new(),
        }
    }

    /// Reads chunk after chunk. `None` at an irregularity.
    fn chunks(&mut self, mut offset: usize) -> Result<Option<Ending>, Error> {
        let mut head_bytes = [0; HEAD];
        loop {
            if (offset + HEAD) as u64 > self.length {
                return Ok(Some(Ending::Cut { offset }));
            }
            if self.source.read_exact(&mut head_bytes).is_err() {
                return Ok(None);
            }
            let head = Head::read(&head_bytes);
            if (offset + HEAD + head.stored_len) as u64 > self.length {
                return Ok(Some(Ending::Cut { offset }));
            }
            let mut stored = std::mem::take(&mut self.stored);
            stored.resize(head.stored_len, 0);
            if self.source.read_exact(&mut stored).is_err() {
                return Ok(None);
            }
            let chunk = head.with(offset, &head_bytes, &stored);
            let end = chunk.end;
            if !chunk.is_sound() {
                let damage = Damage::Checksum;
                return Ok(Some(Ending::Damaged { offset, damage }));
            }
            let taken = match head.kind {
                chunk::SAMPLES => match self.unpacker.admit(&chunk)? {
                    Ok(()) => {
                        let limits = Limits::of(&self.decoder);
                        let meta = Arc::new(self.decoder.profile.meta.clone());
                        let job = Job::new(head, head_bytes, offset, stored, limits, meta);
                        if !self.workers.give(job) {
                            return Ok(None);
                        }
                        stored = self.workers.memory();
                        Ok(())
                    }
                    Err(damage) => Err(damage),
                },
                chunk::END => {
                    let payload = match self.unpacker.unpack(&chunk, None)? {
                        Ok(payload) => payload,
                        Err(damage) => return Ok(Some(Ending::Damaged { offset, damage })),
                    };
                    let samples =
                        Columns::parse(payload).and_then(|columns| meta::end_count(&columns));
                    let Ok(samples) = samples else {
                        return Ok(None);
                    };
                    let bytes = self.length as usize - end;
                    let trailing = Warning::Trailing { offset: end, bytes };
                    let trailing = (bytes > 0).then_some(trailing);
                    return Ok(Some(Ending::End { samples, trailing }));
                }
                _ => self.decoder.chunk(&chunk, &mut self.unpacker, None)?,
            };
            if let Err(damage) = taken {
                return Ok(Some(Ending::Damaged { offset, damage }));
            }
            self.stored = stored;
            offset = end;
        }
    }

    /// Makes the profile. `None` at an irregularity.
    fn finish(self, ending: Ending) -> Option<(Profile, Vec<Warning>)> {
        let mut decoder = self.decoder;
        let begun = self.workers.meta();
        let sums = self.workers.finish()?;
        let meta = &decoder.profile.meta;
        let is_same = begun.is_none_or(|begun| {
            (begun.kind, begun.engine, begun.period) == (meta.kind, meta.engine, meta.period)
        });
        let is_sampled = matches!(meta.kind, SampleKind::Cpu | SampleKind::Wall);
        if !is_same || !is_sampled {
            return None;
        }
        let samples: u64 = sums.iter().map(|sums| sums.samples).sum();
        let (rows, gathered) = join(sums, &decoder);
        (decoder.profile.samples, decoder.profile.gathered) = (rows, gathered);
        let samples = usize::try_from(samples).ok()?;
        let warning = match ending {
            Ending::End {
                samples: announced,
                trailing,
            } => match announced == samples as u64 {
                true => {
                    // Only a continued recording has a use for it.
                    decoder.profile.growing = Default::default();
                    trailing
                }
                false => return None,
            },
            Ending::Cut { offset } => Some(Warning::Cut { offset, samples }),
            Ending::Damaged { offset, damage } => Some(Warning::Damaged {
                offset,
                damage,
                samples,
            }),
        };
        Some(decoder.finish(warning))
    }
}
