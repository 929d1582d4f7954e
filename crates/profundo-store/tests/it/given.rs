//! Profiles and stores for tests.

use std::collections::BTreeMap;
use std::ops::Range;
use std::sync::atomic::{AtomicU64, Ordering};

use profundo_model::{
    FrameKey, Language, LocationKind, Nanos, Origin, OriginId, Process, ProcessId, Profile, Sample,
    StackId, State, Task, Thread,
};
use profundo_store::{Entry, Error, Folder, Identity, Query, Store, Stretch, Writer, answer};

/// 2026-11-28 09:00, in milliseconds since 1970.
pub const NINE: i64 = 1_795_856_400_000;
pub const HOUR: i64 = 3_600_000;
pub const PERIOD: u64 = 10_309_278;

/// A profile of one process with a sample every second from `at` on, whose stacks are these lines.
pub fn profile(at: i64, stacks: &[&str]) -> Profile {
    let mut profile = Profile::default();
    profile.meta.started_at_unix = at as u64 * 1_000_000;
    profile.meta.period = Nanos(PERIOD);
    let command = profile.strings.intern("python3 -m serve");
    profile.processes.push(Process {
        pid: 41,
        command,
        ..Process::default()
    });
    let name = profile.strings.intern("worker");
    let thread = profile.threads.push(Thread {
        number: 1,
        tid: 42,
        name,
        process: ProcessId(0),
        ..Thread::default()
    });
    let task = profile.tasks.push(Task {
        number: 1,
        is_root: true,
        ..Task::default()
    });
    for (second, line) in stacks.iter().enumerate() {
        let stack = stack(&mut profile, line);
        profile.samples.push(Sample {
            time: Nanos(second as u64 * 1_000_000_000),
            weight: Nanos(PERIOD),
            thread,
            task,
            stack,
            state: State::Running,
            ..Sample::default()
        });
    }
    profile
}

/// A stack of functions, root first, with `;` between them.
pub fn stack(profile: &mut Profile, line: &str) -> StackId {
    let mut stack = None;
    for name in line.split(';') {
        let frame = profile.frame(FrameKey {
            function: name,
            file: "/srv/app.py",
            line: 7,
            language: Language::Native,
            ..FrameKey::default()
        });
        let kind = LocationKind::Invented(u64::from(frame.0) + 1);
        let location = profile.locations.intern(kind, None);
        profile.locations.set_frames(location, &[frame]);
        stack = Some(profile.stacks.intern(stack, location));
    }
    stack.expect("a function")
}

/// Labels of the first process.
pub fn label(profile: &mut Profile, labels: &[(&str, &str)]) {
    let mut origin = Origin::default();
    for (key, value) in labels {
        let (key, value) = (profile.strings.intern(key), profile.strings.intern(value));
        origin.set_label(key, value);
    }
    profile.origins.push(origin);
    profile.processes[0].origin = Some(OriginId(0));
}

pub fn writer(service: &str, host: &str) -> Writer {
    let identity = Identity {
        service: service.to_owned(),
        host: host.to_owned(),
        version: "1.4".to_owned(),
        ..Identity::default()
    };
    Writer::new(identity, &format!("{service}@{host}"))
}

/// Writes a whole profile.
pub fn put(store: &dyn Store, writer: &mut Writer, profile: &Profile) {
    let segment = writer.segment(profile, &Stretch::all(profile)).unwrap();
    segment.put(store).unwrap();
}

/// The answer to a query of the hours around [`NINE`].
pub fn ask(store: &dyn Store, rest: &str) -> Result<Profile, Error> {
    let text = format!("f?from=2026-11-28T06:00&to=2026-11-28T13:00&{rest}");
    answer(store, &Query::parse(&text, NINE)?, 2)
}

/// The weight of each stack, written root first with `;` between functions.
pub fn sums(profile: &Profile) -> BTreeMap<String, u64> {
    let mut sums = BTreeMap::new();
    for sample in &profile.samples {
        let mut names: Vec<&str> = profile
            .stacks
            .locations(sample.stack)
            .flat_map(|location| &profile.locations.get(location).frames)
            .map(|&frame| profile.function_name(frame))
            .collect();
        names.reverse();
        *sums.entry(names.join(";")).or_insert(0) += sample.weight.0;
    }
    sums
}

/// A store that fails after a number of steps, for ever: as if its process was killed there, or the
/// network cut. A step that writes may have been done before it fails.
#[derive(Debug)]
pub struct Failing<'s> {
    pub inner: &'s Folder,
    left: AtomicU64,
    /// Whether the step at which it fails is done.
    pub does_the_last: bool,
}

impl<'s> Failing<'s> {
    pub fn after(inner: &'s Folder, steps: u64, does_the_last: bool) -> Self {
        Self {
            inner,
            left: AtomicU64::new(steps),
            does_the_last,
        }
    }

    fn step<T>(&self, done: impl FnOnce() -> Result<T, Error>) -> Result<T, Error> {
        let one_less = |left: u64| left.checked_sub(1);
        let left = self
            .left
            .fetch_update(Ordering::Relaxed, Ordering::Relaxed, one_less);
        match left {
            Ok(1) if self.does_the_last => drop(done()?),
            Ok(2..) => return done(),
            _ => {}
        }
        Err(Error::Store {
            verb: "reach",
            path: "the store".to_owned(),
            source: std::io::Error::other("it is away"),
        })
    }
}

impl Store for Failing<'_> {
    fn list(&self, folder: &str) -> Result<Vec<Entry>, Error> {
        self.step(|| self.inner.list(folder))
    }

    fn read(&self, path: &str, range: Range<u64>) -> Result<bytes::Bytes, Error> {
        self.step(|| self.inner.read(path, range))
    }

    fn put(&self, path: &str, bytes: &[u8]) -> Result<(), Error> {
        self.step(|| self.inner.put(path, bytes))
    }

    fn put_new(&self, path: &str, bytes: &[u8]) -> Result<bool, Error> {
        self.step(|| self.inner.put_new(path, bytes))
    }

    fn delete(&self, path: &str) -> Result<(), Error> {
        self.step(|| self.inner.delete(path))
    }
}
