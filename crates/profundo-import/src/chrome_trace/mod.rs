//! Chrome's trace events (Trace Event Format): stretches of time of threads, as a list or in an
//! object. Browsers, Perfetto, viztracer, py-spy, PyTorch and many programs write them.
//!
//! Stretches that lie in one another become stacks, and each has its own time. Asynchronous ones
//! become spans, instants become marks. A trace of Chrome's developer tools has samples of V8's
//! profiler as well; these are the usual value then, and `--value events` reads the stretches.

mod event;
mod names;
mod nesting;
mod profiles;
mod sampled;
mod spans;

use profundo_model::{SampleKind, ThreadId};
use rustc_hash::FxHashMap;

use crate::encoding::json::{Damage, Json, Read, first, member, members};
use crate::quantities::value::choose;
use crate::reader::{Reader, Table};
use crate::{Builder, Error, Source, Unit, Value};
use event::Event;
use names::Names;
use nesting::Track;
use profiles::Profiles;
use sampled::Sampled;
use spans::Open;

pub(crate) const READER: Reader = Reader(&Table {
    name: "chrome-trace",
    writers: "Chrome, Perfetto, viztracer, py-spy, PyTorch, …",
    is_start,
    fill,
});

/// The zero of times: traces may begin before theirs.
const ZERO: u64 = crate::v8::cpu::ZERO;

fn is_start(start: &[u8]) -> bool {
    let is_event = |event: &[u8]| {
        let event = members(event);
        member(&event, "ph").is_some_and(|kind| kind.trim_ascii_start().starts_with(b"\""))
            && ["ts", "pid", "name"]
                .iter()
                .any(|key| member(&event, key).is_some())
    };
    if let Some(event) = first(start) {
        return is_event(event);
    }
    let members = members(start);
    let is_tools = || {
        // A long head may stand before the events.
        let head = member(&members, "metadata").map(self::members);
        head.and_then(|head| member(&head, "source"))
            .is_some_and(|source| source.trim_ascii_start().starts_with(b"\"DevTools\""))
    };
    match member(&members, "traceEvents") {
        Some(events) => events
            .trim_ascii_start()
            .first()
            .is_none_or(|&byte| byte == b'['),
        None => is_tools(),
    }
}

fn fill(source: &Source<'_>, builder: &mut Builder) -> Result<(), Error> {
    builder.weighs(SampleKind::Wall, "");
    let mut file = File::default();
    let result = file.read(&mut Json::new(source.bytes), builder);
    if let Err(damage) = result {
        builder.warn(damage.warning());
    }
    file.finish(source, builder)
}

/// The file as far as it was read.
#[derive(Default)]
struct File {
    names: Names,
    threads: Threads,
    /// The stretches of each thread, by its row.
    tracks: FxHashMap<ThreadId, Track>,
    profiles: Profiles,
    sampled: Sampled,
    open: Open,
}

impl File {
    fn read(&mut self, json: &mut Json<'_>, builder: &mut Builder) -> Read<()> {
        if json.peek()? != b'[' {
            return json.object(|json, key| match key {
                "traceEvents" => json.array(|json| self.event(json, builder)),
                "samples" => json.array(|json| {
                    let event = Event::read(json)?;
                    let thread = self.threads.of(&event, builder);
                    if let Some(time) = event.time.filter(|_| !event.frame.is_empty()) {
                        self.sampled.sample(thread, time, event.frame);
                    }
                    Ok(())
                }),
                "stackFrames" => self.sampled.frames(json, builder),
                _ => json.skip(),
            });
        }
        json.enter(b'[')?;
        // The closing bracket is optional in a list.
        let is_end = |damage: &Damage| damage.what == crate::encoding::json::ENDS_EARLY;
        while json.element().or_else(|damage| match is_end(&damage) {
            true => Ok(false),
            false => Err(damage),
        })? {
            self.event(json, builder)?;
        }
        Ok(())
    }

    fn event(&mut self, json: &mut Json<'_>, builder: &mut Builder) -> Read<()> {
        let offset = json.offset();
        let event = Event::read(json)?;
        let thread = self.threads.of(&event, builder);
        match event.kind {
            b'X' | b'B' | b'E' => {
                let Some(time) = event.time else {
                    builder.leave_out("events", || format!("that at byte {offset}"));
                    return Ok(());
                };
                let name = self.names.of(&event, thread, builder)?;
                let track = self.tracks.entry(thread).or_default();
                match event.kind {
                    b'X' => track.whole(time, event.duration.unwrap_or(0), name),
                    kind => track.edge(time, kind == b'B', name),
                }
            }
            b'M' => self.threads.name(&event, thread, builder)?,
            b'b' | b'e' | b'S' | b'F' => self.open.event(&event, thread, builder),
            b'i' | b'I' | b'R' => spans::mark(&event, thread, builder),
            _ => {}
        }
        if matches!(&event.name[..], "Profile" | "ProfileChunk" | "CpuProfile") {
            self.profiles.event(&event, thread, builder)?;
        }
        Ok(())
    }

    fn finish(self, source: &Source<'_>, builder: &mut Builder) -> Result<(), Error> {
        let value = |name: &str| Value {
            name: name.to_owned(),
            unit: Unit::Time(1.0),
        };
        let values = [value("samples"), value("events")];
        let (values, has_samples) = match self.profiles.is_any() || self.sampled.is_any() {
            true => (&values[..], true),
            false => (&values[1..], false),
        };
        let chosen = choose(values, source.options.value.as_deref(), 0)?;
        self.open.finish(builder);
        if has_samples && chosen == 0 {
            self.profiles.give(builder);
            self.sampled.give(builder);
            builder.note(
                "the samples in the trace were read; --value events reads the stretches of all \
                 threads",
            );
            return Ok(());
        }
        let mut tracks: Vec<(ThreadId, Track)> = self.tracks.into_iter().collect();
        tracks.sort_unstable_by_key(|&(thread, _)| thread);
        let mut ends: Option<(i64, i64)> = None;
        for (thread, track) in tracks {
            let (start, end) = ends.unwrap_or((i64::MAX, i64::MIN));
            let of_track = track.give(thread, &self.names, builder);
            ends = of_track
                .map(|(first, last)| (first.min(start), last.max(end)))
                .or(ends);
        }
        if let Some((start, end)) = ends {
            builder.profile.meta.duration.0 = end.abs_diff(start);
        }
        builder.note("a trace has the time of its events: what ran between them is not in it");
        Ok(())
    }
}

/// A thread with its numbers as they stand in the file.
struct Last {
    pid: Box<[u8]>,
    tid: Box<[u8]>,
    thread: ThreadId,
}

/// The threads and processes of the file, which may have texts for numbers.
#[derive(Default)]
struct Threads {
    texts: FxHashMap<Box<[u8]>, u32>,
    /// The thread of the event before.
    last: Option<Last>,
}

impl Threads {
    fn of(&mut self, event: &Event<'_>, builder: &mut Builder) -> ThreadId {
        if let Some(last) = &self.last
            && *last.pid == *event.pid
            && *last.tid == *event.tid
        {
            return last.thread;
        }
        let pid = self.pid(event, builder);
        let (tid, is_text) = self.number(event.tid);
        let thread = builder.thread(pid, tid, "");
        if is_text && builder.profile.threads.get(thread).name.index() == 0 {
            builder.thread(pid, tid, &plain(event.tid));
        }
        self.last = Some(Last {
            pid: event.pid.into(),
            tid: event.tid.into(),
            thread,
        });
        thread
    }

    fn pid(&mut self, event: &Event<'_>, builder: &mut Builder) -> u32 {
        let (number, is_text) = self.number(event.pid);
        // Numbers beyond those of a kernel meet others rarely.
        let pid = u32::try_from(number).unwrap_or((number >> 8) as u32 | 1 << 31);
        let process = builder.process(pid, "");
        let is_named = |row: &profundo_model::Process| row.command.index() > 0;
        if is_text
            && !builder
                .profile
                .processes
                .get(process.index())
                .is_some_and(is_named)
        {
            builder.process(pid, &plain(event.pid));
        }
        pid
    }

    /// A number, or one for a text.
    fn number(&mut self, raw: &[u8]) -> (u64, bool) {
        if raw.is_empty() {
            return (0, false);
        }
        let digits = raw
            .strip_prefix(b"\"")
            .and_then(|raw| raw.strip_suffix(b"\""));
        match crate::encoding::json::scaled(digits.unwrap_or(raw), 0) {
            Some(number) => (number as u64, false),
            None => {
                let next = self.texts.len() as u32;
                let number = *self.texts.entry(raw.into()).or_insert(next);
                // Beyond the numbers of kernels.
                ((1 << 40) + (u64::from(number) << 8), true)
            }
        }
    }

    /// Takes the name of a thread or a process.
    fn name(&mut self, event: &Event<'_>, thread: ThreadId, builder: &mut Builder) -> Read<()> {
        let Some(text) = event.argument(&["name", "labels"])? else {
            return Ok(());
        };
        match &event.name[..] {
            "thread_name" => {
                let name = builder.profile.strings.intern(&text);
                builder.profile.threads.get_mut(thread).name = name;
            }
            "process_name" => {
                let pid = self.pid(event, builder);
                builder.process(pid, &text);
            }
            "process_labels" => {
                let pid = self.pid(event, builder);
                let process = builder.process(pid, "");
                let command = builder.profile.processes[process.index()].command;
                let command = builder.profile.strings.get(command);
                if !command.contains(&text[..]) {
                    let command = format!("{command} {text}").trim_ascii().to_owned();
                    builder.process(pid, &command);
                }
            }
            _ => {}
        }
        Ok(())
    }
}

/// A text without its quotes.
fn plain(raw: &[u8]) -> String {
    let text = raw
        .strip_prefix(b"\"")
        .and_then(|raw| raw.strip_suffix(b"\""));
    String::from_utf8_lossy(text.unwrap_or(raw)).into_owned()
}
