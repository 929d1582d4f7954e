//! The made-up fleet.

use profundo_model::{
    FrameKey, Language, LocationKind, Many, Nanos, Process, ProcessId, Profile, Sample, StackId,
    State, Task, TaskId, Thread, ThreadId,
};
use profundo_store::{Error, Identity, Store, Stretch, Writer};

/// Milliseconds in an hour.
pub const HOUR: i64 = 3_600_000;
/// The nominal time between two samples: 97 in a second.
pub const PERIOD: u64 = 10_309_278;
/// The length of a step of time, in milliseconds.
const STEP: i64 = 60_000;
/// The hosts.
pub const HOSTS: [&str; 4] = ["h1", "h2", "h3", "h4"];

/// A version of a service in an hour.
#[derive(Debug, Clone, Copy)]
pub struct Version {
    /// The service.
    pub service: &'static str,
    /// The version.
    pub version: &'static str,
    /// Its command line.
    pub command: &'static str,
    /// Processes on each host, with two threads each.
    pub processes: u32,
    /// The part of a CPU that each thread takes.
    pub busy: f64,
    /// The language of its functions.
    pub language: Language,
    /// Its stacks, the root first and `;` between functions, and their shares of the time.
    pub stacks: &'static [(&'static str, f64)],
}

const API: Version = Version {
    service: "api",
    version: "1.4",
    command: "python3 -m shop.api",
    processes: 2,
    busy: 0.4,
    language: Language::Python,
    stacks: &[
        ("main;serve;route;orders;query_rows", 0.20),
        ("main;serve;route;orders;to_json", 0.14),
        ("main;serve;route;orders;apply_discounts", 0.08),
        ("main;serve;route;search;rank", 0.22),
        ("main;serve;route;search;tokenize", 0.12),
        ("main;serve;check_session", 0.09),
        ("main;serve;parse_request", 0.10),
        ("main;serve;write_log", 0.05),
    ],
};

/// The same with a function that takes three points more, of which the others give up their part.
const NEXT_API: Version = Version {
    version: "1.5",
    stacks: &[
        ("main;serve;route;orders;query_rows", 0.194),
        ("main;serve;route;orders;to_json", 0.170),
        ("main;serve;route;orders;apply_discounts", 0.078),
        ("main;serve;route;search;rank", 0.212),
        ("main;serve;route;search;tokenize", 0.116),
        ("main;serve;check_session", 0.087),
        ("main;serve;parse_request", 0.096),
        ("main;serve;write_log", 0.047),
    ],
    ..API
};

const AUTH: Version = Version {
    service: "auth",
    version: "2.0",
    command: "/usr/bin/auth --port 7000",
    processes: 1,
    busy: 0.25,
    language: Language::Rust,
    stacks: &[
        ("main;run;verify;hash", 0.55),
        ("main;run;verify;compare", 0.10),
        ("main;run;load_keys", 0.15),
        ("main;run;respond", 0.20),
    ],
};

const NEXT_AUTH: Version = Version {
    version: "2.1",
    ..AUTH
};

const WORKER: Version = Version {
    service: "worker",
    version: "7",
    command: "python3 -m shop.worker",
    processes: 1,
    busy: 0.7,
    language: Language::Python,
    stacks: &[
        ("main;loop;resize;decode", 0.40),
        ("main;loop;resize;scale", 0.45),
        ("main;loop;fetch", 0.15),
    ],
};

/// The two hours, the earlier one first.
pub const HOURS: [[Version; 3]; 2] = [[API, AUTH, WORKER], [NEXT_API, NEXT_AUTH, WORKER]];

/// Writes two hours up to a time in milliseconds since 1970.
pub fn shop(store: &dyn Store, end: i64) -> Result<(), Error> {
    for (versions, start) in HOURS.iter().zip([end - 2 * HOUR, end - HOUR]) {
        put(store, versions, start, HOUR)?;
    }
    Ok(())
}

/// Writes a stretch of time of some services on all hosts.
pub fn put(store: &dyn Store, versions: &[Version], start: i64, length: i64) -> Result<(), Error> {
    for (number, host) in HOSTS.into_iter().enumerate() {
        for version in versions {
            let profile = profile(version, number as u64, start, length);
            let identity = Identity {
                service: version.service.to_owned(),
                host: host.to_owned(),
                version: version.version.to_owned(),
                ..Identity::default()
            };
            let name = format!("{}@{host}", version.service);
            let mut writer = Writer::new(identity, &name)
                .with_step(std::time::Duration::from_millis(STEP.unsigned_abs()));
            let segment = writer.segment(&profile, &Stretch::all(&profile))?;
            segment.put(store)?;
        }
    }
    Ok(())
}

/// The samples of a version on one host. Processes differ by some per cent from each other.
pub fn profile(version: &Version, host: u64, start: i64, length: i64) -> Profile {
    let mut profile = Profile::default();
    profile.meta.started_at_unix = start.unsigned_abs() * 1_000_000;
    profile.meta.duration = Nanos(length.unsigned_abs() * 1_000_000);
    profile.meta.period = Nanos(PERIOD);
    let command = profile.strings.intern(version.command);
    let stacks: Vec<(StackId, f64)> = (version.stacks.iter())
        .map(|&(line, share)| (stack(&mut profile, version, line), share))
        .collect();
    let seed = start.unsigned_abs() ^ host << 50 ^ (version.service.len() as u64) << 57;
    let mut chance = Chance(seed);
    let mut threads = Vec::new();
    for process in 0..version.processes {
        profile.processes.push(Process {
            pid: 1000 * (host as u32 + 1) + process + version.service.len() as u32 * 10,
            command,
            ..Process::default()
        });
        let jitter: Vec<f64> = stacks
            .iter()
            .map(|_| 1.0 + 0.04 * chance.normal())
            .collect();
        for number in 1..=2 {
            let name = profile
                .strings
                .intern(if number == 1 { "main" } else { "pool-1" });
            let pid = profile.processes[process as usize].pid;
            let thread = profile.threads.push(Thread {
                number,
                tid: pid + number as u32 - 1,
                name,
                process: ProcessId(process),
                ..Thread::default()
            });
            let task = profile.tasks.push(Task {
                number: u64::from(process) * 2 + number,
                is_root: true,
                ..Task::default()
            });
            threads.push((thread, task, jitter.clone()));
        }
    }
    let expected = STEP as f64 * 1e6 * version.busy / PERIOD as f64;
    for step in 0..length / STEP {
        for (thread, task, jitter) in &threads {
            for ((stack, share), jitter) in stacks.iter().zip(jitter) {
                let mean = expected * share * jitter;
                let count = (mean + mean.sqrt() * chance.normal()).round().max(0.0) as u64;
                let time = Nanos((step * STEP).unsigned_abs() * 1_000_000);
                add(&mut profile, (*thread, *task, *stack), time, count);
            }
        }
    }
    profile
}

fn add(
    profile: &mut Profile,
    (thread, task, stack): (ThreadId, TaskId, StackId),
    time: Nanos,
    count: u64,
) {
    if count == 0 {
        return;
    }
    profile.samples.push(Sample {
        time,
        weight: Nanos(count * PERIOD),
        thread,
        task,
        stack,
        state: State::Running,
        ..Sample::default()
    });
    profile.gathered.rows.push(Many {
        samples: count,
        count,
        squares: count as f64 * (PERIOD as f64).powi(2),
        merged: 0,
        last: time,
    });
}

fn stack(profile: &mut Profile, version: &Version, line: &str) -> StackId {
    let (folder, ending) = match version.language {
        Language::Python => ("/srv/shop", "py"),
        _ => ("/src", "rs"),
    };
    let file = format!("{folder}/{}.{ending}", version.service);
    let mut stack = None;
    for (depth, name) in line.split(';').enumerate() {
        let line = 10 * (depth as u32 + 1) + name.len() as u32;
        let frame = profile.frame(FrameKey {
            function: name,
            file: &file,
            line,
            language: version.language,
            ..FrameKey::default()
        });
        let kind = match version.language {
            Language::Python => LocationKind::Python {
                frame,
                column: 0,
                is_call: false,
            },
            _ => LocationKind::Invented(u64::from(frame.0) + 1),
        };
        let location = profile.locations.intern(kind, None);
        profile.locations.set_frames(location, &[frame]);
        stack = Some(profile.stacks.intern(stack, location));
    }
    stack.unwrap_or_default()
}

/// Pseudo-random numbers (SplitMix64).
struct Chance(u64);

impl Chance {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut word = self.0;
        word = (word ^ (word >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        word = (word ^ (word >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        word ^ (word >> 31)
    }

    /// A normal number, near enough: the sum of twelve even ones.
    fn normal(&mut self) -> f64 {
        let even = (0..12).map(|_| self.next() as f64 / u64::MAX as f64);
        even.sum::<f64>() - 6.0
    }
}
