//! Many small profiles on their way to one segment.
//!
//! A program that takes profiles of others gets some hundreds of samples at a time, thousands of
//! times a second. Their rows are added here as they come, without a [`profundo_model::Profile`] in
//! between: what is known already costs a look into a table.

use std::hash::{Hash, Hasher};

use rustc_hash::FxHashMap;
use twox_hash::XxHash3_128;

use super::{Identity, Rows, Segment, Writer, Written, files};
use crate::Error;
use crate::ids::{Contents, FrameId, Id, ROOT, stack_id};
use crate::names::{HOUR, Partition, segment_name};
use crate::table::{FrameRow, Kind, LabelRow, SampleRow, SegmentRow, StackRow, spread};
use crate::texts::Text;

/// Definitions that a writer remembers at most. Beyond it, all are written again.
const MOST_REMEMBERED: usize = 4_000_000;

/// A frame with its texts.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash)]
pub struct Frame<'t> {
    /// The kind of the code: `python`, `native`, `kernel` and so on.
    pub kind: &'t str,
    /// Whether the compiler put it into the frame before it.
    pub inlined: bool,
    /// The bare name.
    pub function: &'t str,
    /// The name with parameters or generics; empty where only the bare one is known.
    pub signature: &'t str,
    /// The source file.
    pub file: &'t str,
    /// The line, from 1; 0 where unknown.
    pub line: i32,
    /// The column, from 1; 0 where unknown.
    pub column: i32,
    /// The file that the code was loaded from.
    pub module: &'t str,
    /// Its build id, in hexadecimal digits.
    pub build_id: &'t str,
    /// The address in that file of code without a name; 0 for code with one.
    pub address: i64,
}

impl Frame<'_> {
    /// The id of the frame, as [`FrameRow::id`] has it. `buffer` is left with any contents.
    pub fn id(&self, buffer: &mut Vec<u8>) -> FrameId {
        buffer.clear();
        let text = |buffer: &mut Vec<u8>, text: &str| {
            buffer.extend_from_slice(text.as_bytes());
            buffer.push(0);
        };
        text(buffer, self.kind);
        number(buffer, i64::from(self.inlined));
        text(buffer, self.function);
        text(buffer, self.signature);
        text(buffer, self.file);
        // The short form of the path, which is not known.
        buffer.extend_from_slice(&[0, 0]);
        number(buffer, i64::from(self.line));
        number(buffer, i64::from(self.column));
        // No call and no wait.
        buffer.extend_from_slice(b"0\0\0");
        text(buffer, self.module);
        text(buffer, self.build_id);
        number(buffer, self.address);
        twox_hash::XxHash3_64::oneshot(buffer).cast_signed()
    }
}

/// Writes a number in decimal, and a zero byte.
fn number(buffer: &mut Vec<u8>, number: i64) {
    if (0..10).contains(&number) {
        buffer.push(b'0' + number as u8);
        buffer.push(0);
        return;
    }
    let mut digits = [0_u8; 20];
    let mut at = digits.len();
    let mut rest = number.unsigned_abs();
    loop {
        at -= 1;
        digits[at] = b'0' + (rest % 10) as u8;
        rest /= 10;
        if rest == 0 {
            break;
        }
    }
    if number < 0 {
        buffer.push(b'-');
    }
    buffer.extend_from_slice(&digits[at..]);
    buffer.push(0);
}

/// The thread that samples are of.
#[derive(Debug, Clone, Default, PartialEq, Eq, Hash)]
pub struct Thread {
    /// The process id; 0 where unknown.
    pub pid: u32,
    /// The command line of the process.
    pub command: String,
    /// The interpreter, such as `CPython 3.12.1`.
    pub runtime: String,
    /// The thread id; 0 where unknown.
    pub tid: u32,
    /// The thread's name.
    pub name: String,
}

/// Samples that are alike.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct BatchSample<'t> {
    /// The measured quantity.
    pub kind: Kind,
    /// The time, in milliseconds since 1970.
    pub ts: i64,
    /// The thread: see [`BatchPart::thread`].
    pub series: i64,
    /// The stack: see [`BatchPart::stack`].
    pub stack: Id,
    /// The activity of the thread: `running`, `system`, `on` or `waiting`.
    pub state: &'static str,
    /// The state of the interpreter's lock: `held`, `waiting`, `released` or empty.
    pub gil: &'static str,
    /// The path of the innermost span.
    pub span: &'t str,
    /// Nanoseconds or bytes.
    pub value: u64,
    /// The number of samples.
    pub count: u64,
}

/// Rows on their way to one segment.
#[derive(Debug)]
pub struct Batch {
    name: String,
    host: String,
    number: u64,
    step: i64,
    parts: FxHashMap<Partition, Part>,
    rows: usize,
    samples: u64,
    lost: u64,
    truncated: u64,
}

/// The rows of one hour and bucket.
#[derive(Debug, Default)]
struct Part {
    rows: Rows,
    places: FxHashMap<Key, usize>,
    /// By row of the samples.
    squares: Vec<f64>,
    periods: FxHashMap<(Text, Text), u64>,
}

/// The samples that become one row.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Key {
    stack: Id,
    service: Text,
    ts: i64,
    series: i64,
    kind: Text,
    state: Text,
    gil: Text,
    span: Text,
}

impl Hash for Key {
    /// Stacks and series are hashes already.
    fn hash<H: Hasher>(&self, state: &mut H) {
        let rest = u64::from(self.service) << 40
            ^ u64::from(self.kind) << 24
            ^ u64::from(self.state) << 16
            ^ u64::from(self.gil) << 8
            ^ u64::from(self.span);
        let series = self.series.cast_unsigned().rotate_left(17);
        state.write_u64(self.stack as u64 ^ series ^ self.ts.cast_unsigned() ^ rest);
    }
}

impl Writer {
    /// The rows of the next segment. `number` tells it from all others of this writer. `now` is
    /// the time in milliseconds since 1970.
    ///
    /// A segment may refer to what those of earlier batches define: they must be kept in the order
    /// of their batches, or [`Writer::forget`] be called before the next one.
    pub fn batch(&mut self, number: u64, now: i64) -> Batch {
        self.forget_before(now.div_euclid(HOUR) - 2);
        let written = self.written.values();
        let remembered: usize = written
            .map(|written| written.stacks.len() + written.frames.len() + written.series.len())
            .sum();
        if remembered > MOST_REMEMBERED {
            self.forget();
        }
        Batch {
            name: self.name.clone(),
            host: self.identity.host.clone(),
            number,
            step: self.step,
            parts: FxHashMap::default(),
            rows: 0,
            samples: 0,
            lost: 0,
            truncated: 0,
        }
    }

    /// The rows of a service in the hour of a time, in milliseconds since 1970.
    pub fn gather<'w>(&'w mut self, batch: &'w mut Batch, service: &str, ts: i64) -> BatchPart<'w> {
        let partition = Partition::of(service, ts);
        let part = batch.parts.entry(partition).or_default();
        let key = (partition, service.to_owned());
        BatchPart {
            service: part.rows.texts.add(service),
            part,
            written: self.written.entry(key).or_default(),
            last: [0; 3],
            hour: partition.hour,
            step: batch.step,
            rows: &mut batch.rows,
            samples: &mut batch.samples,
        }
    }
}

/// The rows of a service in one hour.
#[derive(Debug)]
pub struct BatchPart<'w> {
    part: &'w mut Part,
    written: &'w mut Written,
    /// The kind, the state and the lock's state of the row before.
    last: [Text; 3],
    service: Text,
    hour: i64,
    step: i64,
    rows: &'w mut usize,
    samples: &'w mut u64,
}

impl BatchPart<'_> {
    /// Whether samples of this time belong here.
    pub fn has(&self, ts: i64) -> bool {
        ts.div_euclid(HOUR) == self.hour
    }

    /// The series of a thread, which is defined if it is not yet.
    pub fn thread(&mut self, identity: &Identity, thread: &Thread) -> i64 {
        let texts = &mut self.part.rows.texts;
        let mut row = LabelRow {
            service: self.service,
            host: texts.add(&identity.host),
            version: texts.add(&identity.version),
            container: texts.add(&identity.container),
            pod: texts.add(&identity.pod),
            pid: i64::from(thread.pid),
            command: texts.add(&thread.command),
            runtime: texts.add(&thread.runtime),
            tid: i64::from(thread.tid),
            thread: texts.add(&thread.name),
            ..LabelRow::default()
        };
        let mut labels: Vec<&(String, String)> = identity.labels.iter().collect();
        labels.sort_unstable();
        labels.dedup_by(|one, other| one.0 == other.0);
        let labels = labels.into_iter();
        row.labels = labels
            .map(|(key, value)| (texts.add(key), texts.add(value)))
            .collect();
        row.series = row.id(texts);
        let series = row.series;
        if self.written.series.insert(series) {
            self.part.rows.labels.push(row);
        }
        series
    }

    /// The id of the stack of these frames, the root first. A stack that is not defined yet is,
    /// with its frames; `frame` is asked for the texts of one by its place in the stack.
    pub fn stack<'t>(&mut self, frames: &[FrameId], frame: impl Fn(usize) -> Frame<'t>) -> Id {
        let key = XxHash3_128::oneshot(&bytes_of(frames));
        if let Some(&id) = self.written.by_frames.get(&key) {
            return id;
        }
        let id = (frames.iter()).fold(ROOT, |id, &frame| stack_id(id, frame));
        self.written.by_frames.insert(key, id);
        if !self.written.stacks.insert(id) {
            return id;
        }
        let rows = &mut self.part.rows;
        for (place, &id) in frames.iter().enumerate() {
            if !self.written.frames.insert(id) {
                continue;
            }
            let frame = frame(place);
            let texts = &mut rows.texts;
            rows.frames.push(FrameRow {
                service: self.service,
                frame: id,
                kind: texts.add(frame.kind),
                inlined: frame.inlined,
                function: texts.add(frame.function),
                signature: texts.add(frame.signature),
                file: texts.add(frame.file),
                line: frame.line,
                column: frame.column,
                module: texts.add(frame.module),
                build_id: texts.add(frame.build_id),
                address: frame.address,
                ..FrameRow::default()
            });
        }
        rows.stacks.push(StackRow {
            service: self.service,
            stack: id,
            frames: frames.to_vec(),
        });
        *self.rows += 1;
        id
    }

    /// Adds samples. Those that are alike become one row. `period` is the nominal time or number of
    /// bytes between two of them, or 0.
    pub fn add(&mut self, sample: &BatchSample<'_>, period: u64) {
        let part = &mut *self.part;
        let texts = &mut part.rows.texts;
        let [last_kind, last_state, last_gil] = &mut self.last;
        let key = Key {
            stack: sample.stack,
            service: self.service,
            ts: sample.ts - sample.ts.rem_euclid(self.step),
            series: sample.series,
            kind: texts.add_again(sample.kind.name(), last_kind),
            state: texts.add_again(sample.state, last_state),
            gil: texts.add_again(sample.gil, last_gil),
            span: texts.add(sample.span),
        };
        let rows = &mut part.rows.samples;
        let place = *part.places.entry(key).or_insert_with(|| {
            rows.push(SampleRow {
                service: key.service,
                ts: key.ts,
                kind: key.kind,
                series: key.series,
                stack: key.stack,
                state: key.state,
                gil: key.gil,
                span: key.span,
                ..SampleRow::default()
            });
            part.squares.push(0.0);
            part.periods
                .entry((key.service, key.kind))
                .or_insert(period);
            *self.rows += 1;
            rows.len() - 1
        });
        let count = sample.count.max(1);
        let row = &mut rows[place];
        let limited = |number: u64| i64::try_from(number).unwrap_or(i64::MAX);
        row.value = row.value.saturating_add(limited(sample.value));
        row.count = row.count.saturating_add(limited(count));
        part.squares[place] += sample.value as f64 * sample.value as f64 / count as f64;
        *self.samples = self.samples.saturating_add(count);
    }
}

/// Frames as bytes.
fn bytes_of(frames: &[FrameId]) -> Vec<u8> {
    let mut bytes = vec![0; frames.len() * 8];
    let (places, _) = bytes.as_chunks_mut();
    for (place, frame) in places.iter_mut().zip(frames) {
        *place = frame.to_ne_bytes();
    }
    bytes
}

impl Batch {
    /// The number of rows so far: a measure of the memory that it takes.
    pub fn rows(&self) -> usize {
        self.rows
    }

    /// The number of samples so far.
    pub fn samples(&self) -> u64 {
        self.samples
    }

    /// Counts samples that are missing, and those whose stacks are cut.
    pub fn count_lost(&mut self, lost: u64, truncated: u64) {
        self.lost = self.lost.saturating_add(lost);
        self.truncated = self.truncated.saturating_add(truncated);
    }

    /// The segment of all rows; one without files if there are none. The same rows under the same
    /// number are the same segment.
    pub fn segment(self) -> Result<Segment, Error> {
        let times = self.parts.values().flat_map(|part| &part.rows.samples);
        let (from, to) = times.fold((i64::MAX, i64::MIN), |(from, to), row| {
            (from.min(row.ts), to.max(row.ts))
        });
        if from > to {
            return Ok(Segment::default());
        }
        let to = to + self.step;
        let number = Contents::default()
            .text(&self.name)
            .number(from)
            .number(to)
            .number(self.number.cast_signed())
            .id();
        let mut parts: Vec<(Partition, Rows)> = Vec::new();
        let (lost, truncated) = (self.lost.cast_signed(), self.truncated.cast_signed());
        for (partition, mut part) in self.parts {
            for (row, sum) in part.rows.samples.iter_mut().zip(&part.squares) {
                row.spread = spread(row.value, row.count, *sum);
            }
            let host = part.rows.texts.add(&self.host);
            let mut segments: FxHashMap<(Text, Text), SegmentRow> = FxHashMap::default();
            for row in &part.rows.samples {
                let of = (row.service, row.kind);
                let period = part.periods.get(&of).copied().unwrap_or(0);
                let segment = segments.entry(of).or_insert(SegmentRow {
                    service: row.service,
                    segment: number,
                    host,
                    kind: row.kind,
                    starts: from,
                    ends: to,
                    period: i64::try_from(period).unwrap_or(0),
                    value: 0,
                    count: 0,
                    lost,
                    truncated,
                    broken: 0,
                });
                segment.value = segment.value.saturating_add(row.value);
                segment.count = segment.count.saturating_add(row.count);
            }
            part.rows.segments.extend(segments.into_values());
            parts.push((partition, part.rows));
        }
        parts.sort_by_key(|&(partition, _)| partition);
        let files = files(parts, &segment_name(&(from..to), number))?;
        Ok(Segment {
            files,
            samples: self.samples,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::texts::Texts;

    #[test]
    fn a_frame_has_the_id_of_its_row() {
        for (line, address) in [(0, 0), (7, -1), (12_345, i64::MIN), (9, 0x4010)] {
            let frame = Frame {
                kind: "native",
                inlined: true,
                function: "f",
                signature: "f(int)",
                file: "/a/b.c",
                line,
                column: 3,
                module: "/bin/a",
                build_id: "0a",
                address,
            };
            let mut texts = Texts::default();
            let row = FrameRow {
                kind: texts.add("native"),
                inlined: true,
                function: texts.add("f"),
                signature: texts.add("f(int)"),
                file: texts.add("/a/b.c"),
                line,
                column: 3,
                module: texts.add("/bin/a"),
                build_id: texts.add("0a"),
                address,
                ..FrameRow::default()
            };
            assert_eq!(frame.id(&mut Vec::new()), row.id(&texts));
        }
    }

    fn added(writer: &mut Writer, batch: &mut Batch, service: &str, ts: i64, value: u64) {
        let frame = Frame {
            kind: "python",
            function: "work",
            file: "a.py",
            line: 3,
            ..Frame::default()
        };
        let identity = Identity {
            service: service.to_owned(),
            host: "node-1".to_owned(),
            ..Identity::default()
        };
        let mut rows = writer.gather(batch, service, ts);
        let series = rows.thread(&identity, &Thread::default());
        let stack = rows.stack(&[frame.id(&mut Vec::new())], |_| frame);
        let sample = BatchSample {
            kind: Kind::Cpu,
            ts,
            series,
            stack,
            state: "running",
            gil: "",
            span: "",
            value,
            count: 2,
        };
        rows.add(&sample, 10);
    }

    #[test]
    fn rows_of_many_become_one_segment() {
        const TS: i64 = 1_795_856_400_000;
        let mut writer = Writer::new(Identity::default(), "w");
        let mut batch = writer.batch(1, TS);
        for _ in 0..3 {
            added(&mut writer, &mut batch, "api", TS + 1, 20);
            added(&mut writer, &mut batch, "web", TS + 2, 20);
        }
        assert_eq!((batch.samples(), batch.rows()), (12, 4));
        let segment = batch.segment().unwrap();
        assert_eq!(segment.samples, 12);
        let mut later = writer.batch(2, TS);
        added(&mut writer, &mut later, "api", TS + 1, 20);
        let later = later.segment().unwrap();
        // What is defined is not defined again.
        assert!(
            later
                .files
                .iter()
                .all(|file| !file.path.contains("/stacks/"))
        );
        let folder = profundo_testing::Folder::new("store-batch");
        let store = crate::Folder::new(folder.path());
        segment.put(&store).unwrap();
        later.put(&store).unwrap();
        let query = format!(
            "{}?service=api&from=2026-11-28&to=2026-11-29",
            folder.path().display()
        );
        let query = crate::Query::parse(&query, TS).unwrap();
        let profile = crate::answer(&store, &query, 1).unwrap();
        let sum: u64 = profile.samples.iter().map(|sample| sample.weight.0).sum();
        assert_eq!(sum, 80);
        let counts: u64 = profile.gathered.rows.iter().map(|row| row.samples).sum();
        assert_eq!(counts, 8);
    }
}
