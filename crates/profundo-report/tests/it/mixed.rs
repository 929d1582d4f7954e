//! A profile of a Python program with native code below it, several threads and two processes.

use profundo_model::{
    Avma, Bytes, CodeAddress, Energy, EnergyZone, Engine, FrameKey, Gauge, Language, LocationId,
    LocationKind, Nanos, Process, ProcessEnd, ProcessId, Profile, Sample, SampleKind, State,
    TaskId, Thread, ThreadId, Traffic, Wait,
};

/// The program's path, which does not exist.
pub const APP: &str = "/nowhere/confidence/confidence.py";

pub const SOURCE: &[(u32, &str)] = &[
    (9, "def mean(values):"),
    (10, "    return sum(values) / len(values)"),
    (11, ""),
    (12, ""),
    (13, "def resample(values, rng):"),
    (14, "\"\"\"Draws as many values as there are.\"\"\""),
    (15, "    n = len(values)"),
    (
        16,
        "    indices = [rng.randint(0, n - 1) for _ in range(n)]",
    ),
    (17, "    return [values[i] for i in indices]"),
    (18, ""),
    (29, "        sample = resample(values, rng)"),
    (30, "        means.append(mean(sample))"),
    (31, "    means.sort()"),
    (52, "def main():"),
    (53, "    packed = zlib.compress(pickle.dumps(values), 9)"),
    (54, "    print(bootstrap(values, 10))"),
];

/// A profile that is being made.
pub struct Maker {
    pub profile: Profile,
    next: u64,
    thread: ThreadId,
    task: TaskId,
}

impl Maker {
    pub fn new() -> Self {
        let mut profile = Profile::default();
        profile.meta.period = Nanos(1_000_000);
        profile.meta.engine = Engine::PerfSignal;
        let command = profile.strings.intern("python3 confidence.py 600000");
        let runtime = profile.strings.intern("CPython 3.12.1");
        profile.processes.push(Process {
            pid: 4711,
            command,
            runtime,
            user: Some(Nanos(34_200_000_000)),
            system: Some(Nanos(700_000_000)),
            end: ProcessEnd::Exited(0),
            ..Process::default()
        });
        let name = profile.strings.intern("MainThread");
        let thread = profile.threads.push(Thread {
            number: 1,
            tid: 4711,
            name,
            process: ProcessId(0),
            ..Thread::default()
        });
        let task = profile.hand_made_task(1);
        Self {
            profile,
            next: 0x1000,
            thread,
            task,
        }
    }

    /// A line of Python.
    pub fn python(&mut self, file: &str, function: &str, line: u32, is_call: bool) -> LocationId {
        self.profile.hand_made_python(file, function, line, is_call)
    }

    /// A native function in a module.
    pub fn native(&mut self, module: &str, key: FrameKey<'_>) -> LocationId {
        let module = self.profile.hand_made_module(module);
        self.next += 16;
        let kind = LocationKind::Code(CodeAddress::Instruction(Avma(self.next)));
        self.profile.hand_made_location(kind, Some(module), &[key])
    }

    /// A location that waits for something.
    pub fn waits(&mut self, wait: Wait, what: &str) -> LocationId {
        let key = FrameKey {
            function: &wait.frame_name(what),
            language: Language::Synthetic,
            ..FrameKey::default()
        };
        let frame = self.profile.frame(key);
        let kind = LocationKind::Wait { frame, wait };
        let location = self.profile.locations.intern(kind, None);
        self.profile.locations.set_frames(location, &[frame]);
        location
    }

    /// Takes the following samples for this thread.
    pub fn on_thread(&mut self, thread: Thread, name: &str) {
        let name = self.profile.strings.intern(name);
        self.thread = self.profile.threads.push(Thread { name, ..thread });
    }

    /// Samples of a stack, given from its root.
    pub fn samples(&mut self, count: u64, stack: &[LocationId], state: State) {
        let stack = self.profile.hand_made_stack(stack);
        let weight = match state {
            State::System => Nanos(10_000_000),
            _ => Nanos(1_000_000),
        };
        for _ in 0..count {
            self.profile.samples.push(Sample {
                time: Nanos(self.profile.samples.len() as u64 * 1_000_000),
                weight,
                thread: self.thread,
                task: self.task,
                stack,
                state,
                ..Sample::default()
            });
        }
    }
}

/// One thread of Python, with zlib and the standard library below it.
pub fn python() -> Profile {
    let mut maker = Maker::new();
    let random = "/usr/lib/python3.12/random.py";
    let root = maker.python(APP, "<module>", 60, true);
    let main_packs = maker.python(APP, "main", 53, true);
    let main_boots = maker.python(APP, "main", 54, true);
    let boot_resamples = maker.python(APP, "bootstrap", 29, true);
    let boot_means = maker.python(APP, "bootstrap", 30, true);
    let boot_sorts = maker.python(APP, "bootstrap", 31, true);
    let draw = maker.python(APP, "resample", 16, true);
    let pick = maker.python(APP, "resample", 17, false);
    let mean = maker.python(APP, "mean", 10, true);
    let randint = maker.python(random, "Random.randint", 336, true);
    let randrange = maker.python(random, "Random.randrange", 319, true);
    let below = maker.python(random, "Random._randbelow_with_getrandbits", 242, false);
    let getrandbits = maker.python(random, "Random._randbelow_with_getrandbits", 245, true);
    let zlib = "/usr/lib/python3.12/lib-dynload/zlib.cpython-312-x86_64-linux-gnu.so";
    let c = |function| FrameKey {
        function,
        ..FrameKey::default()
    };
    let compress = maker.native(zlib, c("zlib_compress"));
    let deflate = maker.native("/usr/lib/x86_64-linux-gnu/libz.so.1.3", c("deflate"));
    let builtin_sum = maker.native("/usr/bin/python3.12", c("builtin_sum"));
    let read = maker.native("/usr/lib/x86_64-linux-gnu/libc.so.6", c("__read"));
    let bits = maker.native(
        "/usr/lib/python3.12/lib-dynload/_random.cpython-312-x86_64-linux-gnu.so",
        c("_random_Random_getrandbits"),
    );
    let path = [root, main_boots, boot_resamples];
    let drawing = [&path[..], &[draw, randint, randrange]].concat();
    maker.samples(900, &[&path[..], &[draw]].concat(), State::Running);
    maker.samples(1400, &[&drawing[..], &[below]].concat(), State::Running);
    maker.samples(
        700,
        &[&drawing[..], &[getrandbits, bits]].concat(),
        State::Running,
    );
    maker.samples(1100, &[&path[..], &[pick]].concat(), State::Running);
    maker.samples(
        600,
        &[root, main_boots, boot_means, mean, builtin_sum],
        State::Running,
    );
    maker.samples(4, &[root, main_boots, boot_sorts], State::Running);
    maker.samples(250, &[root, main_packs, compress, deflate], State::Running);
    maker.samples(6, &[root, main_packs, read], State::System);
    let file = maker.profile.file(APP, "", "");
    for &(line, text) in SOURCE {
        let text = maker.profile.strings.intern(text);
        maker.profile.sources.insert(file, line, text);
    }
    maker.profile.meta.duration = Nanos(5_104_000_000);
    maker.profile.meta.cpu = Some(Nanos(4_960_000_000));
    maker.profile.meta.own_cost = Some(Nanos(31_000_000));
    maker.profile.processes[0].user = Some(Nanos(4_960_000_000));
    maker.profile.processes[0].system = Some(Nanos(61_000_000));
    maker.profile
}

/// The same profile on a machine that counts its energy.
pub fn metered() -> Profile {
    let mut profile = python();
    let zone = |name: &str, microjoules, is_counted| EnergyZone {
        name: name.into(),
        microjoules,
        is_counted,
    };
    profile.meta.energy = Some(Energy {
        zones: vec![
            zone("package-0", 80_000_000, true),
            zone("package-0/core", 60_000_000, false),
        ],
        duration: Nanos(5_104_000_000),
        machine_cpu: Nanos(10_042_000_000),
        program_cpu: Nanos(5_021_000_000),
    });
    profile
}

/// The same profile with threads that want the lock, and a child process.
pub fn crowd() -> Profile {
    let mut maker = Maker::new();
    let root = maker.python(APP, "<module>", 60, true);
    let wait = maker.python(APP, "main", 53, true);
    let work = maker.python(APP, "worker", 16, false);
    maker.samples(40, &[root, wait], State::Running);
    for number in 2..6 {
        let thread = Thread {
            number,
            tid: 4711 + number as u32,
            gil_wait: Some(Nanos(number * 700_000_000)),
            alive: Some(Nanos(5_000_000_000)),
            cpu: Some(Nanos(1_000_000_000 + number * 20_000_000)),
            ..Thread::default()
        };
        maker.on_thread(thread, &format!("worker-{number}"));
        maker.samples(1000 + 20 * number, &[root, work], State::Running);
    }
    let profile = &mut maker.profile;
    let command = profile
        .strings
        .intern("gzip -9 /nowhere/confidence/a/long/way/to/a/file.json");
    profile.processes.push(Process {
        pid: 4720,
        command,
        parent: Some(ProcessId(0)),
        end: ProcessEnd::Killed(9),
        user: Some(Nanos(380_000_000)),
        system: Some(Nanos(40_000_000)),
        ..Process::default()
    });
    let deflate = maker.native(
        "/usr/bin/gzip",
        FrameKey {
            function: "deflate",
            file: "/build/gzip-1.12/deflate.c",
            line: 710,
            ..FrameKey::default()
        },
    );
    let main = maker.native(
        "/usr/bin/gzip",
        FrameKey {
            function: "main",
            file: "/build/gzip-1.12/gzip.c",
            line: 420,
            ..FrameKey::default()
        },
    );
    let thread = Thread {
        number: 6,
        tid: 4720,
        process: ProcessId(1),
        ..Thread::default()
    };
    maker.on_thread(thread, "gzip");
    maker.samples(400, &[main, deflate], State::Running);
    maker.profile.meta.duration = Nanos(5_100_000_000);
    maker.profile.processes[0].user = Some(Nanos(4_360_000_000));
    maker.profile.processes[0].system = Some(Nanos(0));
    maker.profile
}

/// A program whose threads wait: for a lock, for a file, and asleep.
pub fn waiting() -> Profile {
    let mut maker = Maker::new();
    let root = maker.python(APP, "<module>", 60, true);
    let sleeps = maker.python(APP, "pause", 12, true);
    let locks = maker.python(APP, "worker", 17, true);
    let reads = maker.python(APP, "worker", 19, true);
    let [asleep, lock, file] = [
        (Wait::Sleep, ""),
        (Wait::Lock, "0x7f0000001000"),
        (Wait::Read, "/tmp/fifo"),
    ]
    .map(|(wait, what)| maker.waits(wait, what));
    maker.samples(200, &[root, sleeps], State::Running);
    maker.samples(800, &[root, sleeps, asleep], State::WallWaiting);
    let thread = Thread {
        number: 2,
        tid: 4712,
        ..Thread::default()
    };
    maker.on_thread(thread, "worker");
    maker.samples(500, &[root, locks, lock], State::WallWaiting);
    maker.samples(400, &[root, reads, file], State::WallWaiting);
    maker.profile.meta.kind = SampleKind::Wall;
    maker.profile.meta.cpu = None;
    maker.profile
}

/// A Python program that reads a file and a pipe, writes a file, and has I/O without samples.
pub fn reading() -> Profile {
    let mut maker = Maker::new();
    let root = maker.python(APP, "<module>", 60, true);
    let reads = maker.python(APP, "load", 21, true);
    let waits = maker.python(APP, "receive", 27, true);
    let writes = maker.python(APP, "store", 33, true);
    let pipe = maker.waits(Wait::Read, "pipe, descriptor 5");
    let [read, write] = ["__libc_read", "__libc_write"].map(|function| {
        let key = FrameKey {
            function,
            ..FrameKey::default()
        };
        maker.native("/usr/lib/x86_64-linux-gnu/libc.so.6", key)
    });
    maker.samples(30, &[root, reads, read], State::System);
    maker.samples(400, &[root, waits, pipe], State::WallWaiting);
    maker.samples(12, &[root, writes, write], State::System);
    maker.samples(50, &[root, writes], State::Running);
    let [data, out] = ["/srv/data/2026/measurements.parquet", "/tmp/out"]
        .map(|name| maker.profile.strings.intern(name));
    maker.profile.samples[..30]
        .iter_mut()
        .for_each(|maker| maker.file = data);
    maker.profile.samples[430..440]
        .iter_mut()
        .for_each(|maker| maker.file = out);
    let row = |from: u64, to: u64, read, written| Traffic {
        thread: ThreadId(0),
        from: Nanos(from * 1_000_000),
        to: Nanos(to * 1_000_000),
        waits: 1,
        bytes: Bytes {
            read,
            written,
            fetched: read / 2,
            stored: written,
        },
    };
    maker.profile.traffic = vec![
        row(0, 29, 67_108_864, 0),
        row(200, 300, 40_000, 0),
        row(430, 441, 0, 1_234_567_890),
        row(900, 910, 4_096, 812),
    ];
    maker.profile.meta.kind = SampleKind::Wall;
    maker.profile.meta.cpu = None;
    maker.profile
}

/// A Rust program with an inlined function, without Python.
pub fn rust() -> Profile {
    let mut maker = Maker::new();
    let profile = &mut maker.profile;
    profile.processes[0].command = profile.strings.intern("target/release/wordcount big.txt");
    profile.processes[0].runtime = profile.strings.intern("");
    let key = |function, file, prefix, rest, line| FrameKey {
        function,
        file,
        prefix,
        rest,
        line,
        language: Language::Rust,
        ..FrameKey::default()
    };
    let exe = "/nowhere/wordcount/target/release/wordcount";
    let mine = |function, line| {
        key(
            function,
            "/nowhere/wordcount/src/main.rs",
            "@wordcount",
            "/src/main.rs",
            line,
        )
    };
    let main = maker.native(exe, mine("wordcount::main", 8));
    let count = maker.native(exe, mine("wordcount::count", 21));
    let insert = maker.native(
        exe,
        key(
            "std::collections::hash::map::HashMap<K,V,S>::insert",
            "/rustc/abc/library/std/src/collections/hash/map.rs",
            "@std",
            "/collections/hash/map.rs",
            1200,
        ),
    );
    let hash = maker.native(
        exe,
        key(
            "core::hash::BuildHasher::hash_one",
            "/rustc/abc/library/core/src/hash/mod.rs",
            "@core",
            "/hash/mod.rs",
            652,
        ),
    );
    maker.samples(120, &[main, count], State::Running);
    maker.samples(300, &[main, count, insert], State::Running);
    maker.samples(500, &[main, count, insert, hash], State::Running);
    maker.samples(80, &[main], State::Running);
    maker.profile.meta.duration = Nanos(1_020_000_000);
    maker.profile.meta.cpu = Some(Nanos(1_000_000_000));
    maker.profile.processes[0].user = Some(Nanos(1_000_000_000));
    maker.profile.processes[0].system = Some(Nanos(2_000_000));
    maker.profile
}

/// Two processes for twelve seconds: one loads 60 MB and then leaks 2 MB a second, the other comes
/// and goes.
pub fn growing() -> Profile {
    let mut profile = crowd();
    let look = |process: u32, tenth: u64, resident: u64| Gauge {
        process: ProcessId(process),
        time: Nanos(tenth * 100_000_000),
        resident,
        proportional: tenth.is_multiple_of(25).then(|| resident - 3_000_000),
        anonymous: resident - 4_000_000,
        minor_faults: resident / 4096,
        ..Gauge::default()
    };
    let mut peaks = [0, 0];
    for tenth in 0..120 {
        let second = tenth as f64 / 10.0;
        let first = 8e6 + 6e7 * (second / 2.0).min(1.0) + 2e6 * (second - 2.0).max(0.0);
        let mut looks = vec![look(0, tenth, first as u64)];
        if (40..80).contains(&tenth) {
            let up = (tenth - 40).min(79 - tenth) * 1_000_000;
            looks.push(look(1, tenth, 10_000_000 + up));
        }
        for mut look in looks {
            let peak = &mut peaks[look.process.index()];
            *peak = look.resident.max(*peak);
            look.peak_resident = *peak;
            profile.heap.gauges.push(look);
        }
    }
    profile
}
