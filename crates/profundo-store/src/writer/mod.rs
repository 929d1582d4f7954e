//! From profiles to segments: the samples of a stretch of time as files that are ready to be put
//! into a store.
//!
//! A stack, a frame or a thread is defined once by a writer in each hour and bucket. So an hour can
//! be deleted without a loss to others, and the definitions cost little beside the samples.

mod batch;
mod definitions;
mod spans;

use std::ops::Range;

use profundo_analysis::Worth;
use profundo_model::{
    Engine, Loss, Nanos, Profile, Sample, SampleKind, Sampling, StackId, State, ThreadId,
};
use rustc_hash::{FxHashMap, FxHashSet};

use crate::Error;
use crate::file::encode;
use crate::ids::{Contents, FrameId, Id};
use crate::names::{HOUR, Partition, segment_name};
use crate::store::Store;
use crate::table::{FrameRow, Kind, LabelRow, SampleRow, SegmentRow, StackRow, Table};
use crate::table::{gil_name, spread, state_name};
use crate::texts::Texts;

pub use batch::{Batch, BatchPart, BatchSample, Frame, Thread};
use definitions::Definitions;
pub(crate) use definitions::language_of;
pub(crate) use spans::{path_of, read_path, unescaped};

/// What is known of all samples of a writer. Labels of a process and of its recording take the
/// place of these: `service`, `host`, `version`, `container` and `pod` by their keys, others beside
/// them.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Identity {
    /// The service.
    pub service: String,
    /// The machine.
    pub host: String,
    /// The version of the service.
    pub version: String,
    /// The container.
    pub container: String,
    /// The pod.
    pub pod: String,
    /// Further labels.
    pub labels: Vec<(String, String)>,
}

/// A part of a profile.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Stretch {
    /// Its time, on the profile's clock.
    pub time: Range<Nanos>,
    /// The samples lost in it.
    pub loss: Loss,
    /// Its number among the stretches of its writer, where their times alone may not tell them
    /// apart: a clock may be set back.
    pub number: u64,
}

impl Stretch {
    /// A whole profile.
    pub fn all(profile: &Profile) -> Self {
        Self {
            time: Nanos(0)..Nanos(u64::MAX),
            loss: profile.meta.loss,
            number: 0,
        }
    }
}

/// A file of a segment.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct File {
    /// Its path in a store.
    pub path: String,
    /// Its contents.
    pub bytes: Vec<u8>,
}

/// A stretch of time, ready to be written. Definitions come before samples.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Segment {
    /// The files, in the order in which they are written.
    pub files: Vec<File>,
    /// The number of samples in them.
    pub samples: u64,
}

impl Segment {
    /// Writes the files. After an error, a later attempt with the same segment completes it, and
    /// nothing is there twice.
    pub fn put(&self, store: &dyn Store) -> Result<(), Error> {
        let mut files = self.files.iter();
        files.try_for_each(|file| store.put(&file.path, &file.bytes))
    }

    /// The sum of the sizes of the files.
    pub fn bytes(&self) -> u64 {
        self.files.iter().map(|file| file.bytes.len() as u64).sum()
    }
}

/// The definitions that are written already.
#[derive(Debug, Default)]
struct Written {
    stacks: FxHashSet<Id>,
    frames: FxHashSet<FrameId>,
    series: FxHashSet<i64>,
    /// The ids of some of the stacks by a hash of their frames: see [`Batch`].
    by_frames: FxHashMap<u128, Id>,
}

/// Makes segments of profiles.
#[derive(Debug)]
pub struct Writer {
    identity: Identity,
    /// The name that tells this writer from all others.
    name: String,
    /// The step of time of rows, in milliseconds.
    step: i64,
    /// By partition and service.
    written: FxHashMap<(Partition, String), Written>,
}

/// Rows that become one.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
struct Key {
    thread: ThreadId,
    stack: StackId,
    state: State,
    kind: Kind,
    rest: u64,
    ts: i64,
}

/// The sum of samples that are alike.
#[derive(Debug, Clone, Copy, Default)]
struct Sum {
    value: u64,
    count: u64,
    squares: f64,
    gil: profundo_model::Gil,
    span: profundo_model::SpanId,
}

/// The rows of one partition.
#[derive(Debug, Default)]
struct Rows {
    texts: Texts,
    samples: Vec<SampleRow>,
    stacks: Vec<StackRow>,
    frames: Vec<FrameRow>,
    labels: Vec<LabelRow>,
    segments: Vec<SegmentRow>,
}

impl Writer {
    /// A writer. `name` tells it from all others that write or have written to the same store: the
    /// host, the process and the time of its start, for example. Segments of one name and one time
    /// are the same segment.
    pub fn new(identity: Identity, name: &str) -> Self {
        Self {
            identity,
            name: name.to_owned(),
            step: 10_000,
            written: FxHashMap::default(),
        }
    }

    /// The same writer with rows of this length of time, at least 1 ms. Ten seconds are usual;
    /// shorter steps show more and cost more.
    pub fn with_step(mut self, step: std::time::Duration) -> Self {
        let step = i64::try_from(step.as_millis()).unwrap_or(HOUR);
        self.step = step.clamp(1, HOUR);
        self
    }

    /// Writes all definitions again from now on. It is needed after a segment was lost: later ones
    /// may refer to what it defined.
    pub fn forget(&mut self) {
        self.written.clear();
    }

    /// The segment of a stretch of a profile. The same stretch gives files of the same names.
    pub fn segment(&mut self, profile: &Profile, stretch: &Stretch) -> Result<Segment, Error> {
        let sums = self.sums(profile, &stretch.time)?;
        if sums.is_empty() {
            return Ok(Segment::default());
        }
        let mut definitions = Definitions::new(profile, &self.identity);
        let mut parts: FxHashMap<Partition, Rows> = FxHashMap::default();
        let samples = sums.iter().map(|(_, sum)| sum.count).sum();
        for (key, sum) in &sums {
            let label = definitions.label_of(key.thread);
            let partition = Partition::of(&label.service, key.ts);
            let rows = parts.entry(partition).or_default();
            let known = (partition, label.service.clone());
            let written = self.written.entry(known).or_default();
            let (service, series) = definitions.series(key.thread, rows, written);
            let stack = definitions.stack(key.stack, service, rows, written);
            let texts = &mut rows.texts;
            let value = i64::try_from(sum.value).unwrap_or(i64::MAX);
            let count = i64::try_from(sum.count).unwrap_or(i64::MAX);
            rows.samples.push(SampleRow {
                service,
                ts: key.ts,
                kind: texts.add(key.kind.name()),
                series,
                stack,
                value,
                count,
                spread: spread(value, count, sum.squares),
                state: texts.add(state_name(key.state)),
                gil: texts.add(gil_name(sum.gil)),
                span: match sum.span.index() {
                    0 => 0,
                    _ => texts.add(&path_of(profile, sum.span)),
                },
            });
        }
        let steps = sums.iter().map(|(key, _)| key.ts);
        let from = steps.clone().min().unwrap_or(0);
        let to = steps.max().unwrap_or(0) + self.step;
        let number = Contents::default().text(&self.name).number(from).number(to);
        // A stretch that begins within a step of another one is another segment.
        let begin = profile
            .meta
            .started_at_unix
            .saturating_add(stretch.time.start.0);
        let number = number.number(begin.cast_signed());
        let number = match stretch.number {
            0 => number,
            several => number.number(several.cast_signed()),
        };
        let number = number.id();
        self.forget_before(to.div_euclid(HOUR) - 2);
        let mut parts: Vec<(Partition, Rows)> = parts.into_iter().collect();
        parts.sort_by_key(|&(partition, _)| partition);
        for (_, rows) in &mut parts {
            rows.add_segments(profile, stretch, number, from..to, &self.identity.host);
        }
        let files = files(parts, &segment_name(&(from..to), number))?;
        Ok(Segment { files, samples })
    }

    /// Forgets hours that no further segment belongs to. One that does writes its definitions
    /// again.
    fn forget_before(&mut self, hour: i64) {
        self.written
            .retain(|(partition, _), _| partition.hour >= hour);
    }

    /// The samples of a stretch, added up where they are alike, in an order that depends on the
    /// profile alone.
    fn sums(&self, profile: &Profile, time: &Range<Nanos>) -> Result<Vec<(Key, Sum)>, Error> {
        let is_wall = match profile.meta.kind {
            SampleKind::Cpu => false,
            // A clock of CPU time beside waits that are measured.
            SampleKind::Wall => matches!(profile.meta.engine, Engine::Unknown | Engine::Wall),
            other => {
                let what = format!("{other:?}");
                return Err(Error::Kind { what });
            }
        };
        let mut places: FxHashMap<Key, usize> = FxHashMap::default();
        let mut sums: Vec<(Key, Sum)> = Vec::new();
        let mut add = |key: Key, more: Sum| {
            let place = *places.entry(key).or_insert_with(|| {
                let zero = Sum {
                    value: 0,
                    count: 0,
                    squares: 0.0,
                    ..more
                };
                sums.push((key, zero));
                sums.len() - 1
            });
            let sum = &mut sums[place].1;
            sum.value = sum.value.saturating_add(more.value);
            sum.count = sum.count.saturating_add(more.count);
            sum.squares += more.squares;
        };
        let meta = &profile.meta;
        for (row, sample) in profile.samples.iter().enumerate() {
            if !time.contains(&sample.time) {
                continue;
            }
            let (count, squares) = match profile.gathered.get(row) {
                Some(many) => (many.samples, many.squares),
                None if profile.is_counted(sample.stack) => (1, 0.0),
                None => (1, Worth::of(meta, sample.state, sample.weight).square),
            };
            let key = Key {
                thread: sample.thread,
                stack: sample.stack,
                state: sample.state,
                kind: match is_wall || sample.state.is_wall() {
                    true => Kind::Wall,
                    false => Kind::Cpu,
                },
                rest: u64::from(sample.span.0) << 8 | sample.gil as u64,
                ts: self.ts(profile, middle(sample)),
            };
            let value = sample.weight.0;
            add(
                key,
                Sum {
                    value,
                    count,
                    squares,
                    gil: sample.gil,
                    span: sample.span,
                },
            );
        }
        for block in &profile.heap.blocks {
            if !time.contains(&block.time) {
                continue;
            }
            let bytes = (block.size as f64 * profile.heap.sampling.weight_of(block)).round();
            let unit = sampling_period(profile.heap.sampling) as f64;
            let key = Key {
                thread: block.thread,
                stack: block.stack,
                state: State::Running,
                kind: Kind::Alloc,
                rest: u64::from(block.span.0) << 8,
                ts: self.ts(profile, block.time),
            };
            let squares = bytes * bytes.min(unit);
            let (gil, span) = (Default::default(), block.span);
            add(
                key,
                Sum {
                    value: bytes as u64,
                    count: 1,
                    squares,
                    gil,
                    span,
                },
            );
        }
        Ok(sums)
    }

    /// The step of a time on the profile's clock, in milliseconds since 1970.
    fn ts(&self, profile: &Profile, time: Nanos) -> i64 {
        let nanos = profile.meta.started_at_unix.saturating_add(time.0);
        let millis = (nanos / 1_000_000).cast_signed();
        millis - millis.rem_euclid(self.step)
    }
}

/// The time that a sample counts for: a wait is recorded at its end, and the middle of it lies in
/// the step that has most of it.
fn middle(sample: &Sample) -> Nanos {
    match sample.state {
        State::WallWaiting => Nanos(sample.time.0.saturating_sub(sample.weight.0 / 2)),
        _ => sample.time,
    }
}

/// The mean distance of two samples of the heap, in bytes.
fn sampling_period(sampling: Sampling) -> u64 {
    match sampling {
        Sampling::Bytes(mean) => mean,
        Sampling::All => 1,
        Sampling::None | Sampling::Events(_) => 0,
    }
}

impl Rows {
    /// The rows of the table of segments: one for each service and type.
    fn add_segments(
        &mut self,
        profile: &Profile,
        stretch: &Stretch,
        segment: i64,
        time: Range<i64>,
        host: &str,
    ) {
        let host = self.texts.add(host);
        let mut places = FxHashMap::default();
        for sample in &self.samples {
            let place = *places
                .entry((sample.service, sample.kind))
                .or_insert_with(|| {
                    let is_alloc = self.texts.get(sample.kind) == Kind::Alloc.name();
                    let period = match is_alloc {
                        true => sampling_period(profile.heap.sampling),
                        false => profile.meta.period.0,
                    };
                    self.segments.push(SegmentRow {
                        service: sample.service,
                        segment,
                        host,
                        kind: sample.kind,
                        starts: time.start,
                        ends: time.end,
                        period: period.cast_signed(),
                        value: 0,
                        count: 0,
                        lost: stretch.loss.lost().cast_signed(),
                        truncated: stretch.loss.truncated.cast_signed(),
                        broken: stretch.loss.broken.cast_signed(),
                    });
                    self.segments.len() - 1
                });
            let row = &mut self.segments[place];
            row.value = row.value.saturating_add(sample.value);
            row.count = row.count.saturating_add(sample.count);
        }
    }
}

/// The files of a segment: definitions first, and samples last.
fn files(parts: Vec<(Partition, Rows)>, name: &str) -> Result<Vec<File>, Error> {
    let (mut files, mut samples) = (Vec::new(), Vec::new());
    for (partition, rows) in parts {
        let rows = rows.sorted();
        let texts = &rows.texts;
        let add = |table: &str, bytes: Vec<u8>, to: &mut Vec<File>| {
            let path = format!("{}{name}", partition.folder(table, true));
            to.push(File { path, bytes });
        };
        if !rows.frames.is_empty() {
            add(
                FrameRow::NAME,
                encode(&rows.frames, texts, &[])?,
                &mut files,
            );
        }
        if !rows.stacks.is_empty() {
            add(
                StackRow::NAME,
                encode(&rows.stacks, texts, &[])?,
                &mut files,
            );
        }
        if !rows.labels.is_empty() {
            add(
                LabelRow::NAME,
                encode(&rows.labels, texts, &[])?,
                &mut files,
            );
        }
        add(
            SegmentRow::NAME,
            encode(&rows.segments, texts, &[])?,
            &mut files,
        );
        add(
            SampleRow::NAME,
            encode(&rows.samples, texts, &[])?,
            &mut samples,
        );
    }
    files.extend(samples);
    Ok(files)
}

impl Rows {
    fn sorted(mut self) -> Self {
        let texts = &self.texts;
        crate::order::samples(&mut self.samples, texts);
        crate::order::stacks(&mut self.stacks, texts);
        crate::order::frames(&mut self.frames, texts);
        crate::order::labels(&mut self.labels, texts);
        crate::order::segments(&mut self.segments, texts);
        self
    }
}
