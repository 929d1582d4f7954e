//! Profiles to export: an odd one with all special cases, and a large one.

use profundo_model::{
    Avma, Block, CodeAddress, Engine, FrameKey, Gil, Language, LocationId, LocationKind, ModuleId,
    Nanos, ProcessId, Profile, Reason, Sample, SampleKind, Sampling, StackId, State, TaskId,
    ThreadId,
};

/// The clock of the kernel's upper half, where its code lies.
const KERNEL: u64 = 0xffff_ffff_8100_0000;

/// Makes profiles in few words, with the parts that the model's own helpers leave out.
pub struct Maker {
    pub profile: Profile,
}

impl Maker {
    pub fn module(&mut self, path: &str, start: u64, build_id: &[u8]) -> ModuleId {
        let id = self.profile.hand_made_module(path);
        let module = self.profile.modules.get_mut(id);
        (module.start, module.end) = (Avma(start), Avma(start + 0x10_0000));
        (module.bias, module.build_id) = (start, build_id.to_vec());
        id
    }

    /// A code address with its frames: the innermost inlined function first.
    pub fn code(
        &mut self,
        address: u64,
        module: Option<ModuleId>,
        frames: &[FrameKey<'_>],
    ) -> LocationId {
        let kind = LocationKind::Code(CodeAddress::Return(Avma(address)));
        self.profile.hand_made_location(kind, module, frames)
    }

    pub fn python(&mut self, function: &str, file: &str, line: u32) -> LocationId {
        self.profile.hand_made_python(file, function, line, true)
    }

    pub fn thread(&mut self, process: ProcessId, number: u64, name: &str) -> ThreadId {
        let id = self.profile.hand_made_thread(number, name);
        let thread = self.profile.threads.get_mut(id);
        (thread.tid, thread.process) = (4000 + number as u32, process);
        id
    }

    pub fn task(&mut self, number: u64, name: &str, is_root: bool) -> TaskId {
        let id = self.profile.hand_made_task(number);
        let name = self.profile.strings.intern(name);
        let task = self.profile.tasks.get_mut(id);
        (task.name, task.is_root) = (name, is_root);
        id
    }

    /// `times` samples one millisecond apart, each of the weight of the state's own clock.
    pub fn samples(
        &mut self,
        times: u64,
        (thread, task): (ThreadId, TaskId),
        stack: StackId,
        state: State,
        gil: Gil,
    ) {
        for _ in 0..times {
            let time = self.profile.samples.len() as u64 * 1_000_000;
            self.profile.samples.push(Sample {
                time: Nanos(time),
                // A system call's tick is of the slow clock. The odd part shows rounding.
                weight: Nanos(match state {
                    State::System => 10_000_000,
                    _ => 1_000_000 + time % 7919,
                }),
                thread,
                task,
                stack,
                state,
                gil,
                ..Sample::default()
            });
        }
    }
}

fn native<'a>(function: &'a str, file: &'a str, line: u32) -> FrameKey<'a> {
    FrameKey {
        function,
        file,
        line,
        language: Language::Native,
        ..FrameKey::default()
    }
}

fn runtime(function: &str) -> FrameKey<'_> {
    FrameKey {
        function,
        language: Language::Runtime,
        ..FrameKey::default()
    }
}

/// A stack, root first, its number of samples, and its owners.
type Turn<'a> = (&'a [LocationId], u64, (ThreadId, TaskId), State, Gil);

/// Two processes, three threads, both languages, and every name that could break a format.
pub fn odd() -> Profile {
    let mut maker = Maker {
        profile: Profile::default(),
    };
    let meta = &mut maker.profile.meta;
    meta.engine = Engine::PerfSignal;
    meta.period = Nanos(1_000_000);
    meta.started_at_unix = 1_790_000_000_000_000_000;
    meta.duration = Nanos(2_500_000_000);
    meta.loss.buffer_full = 3;
    meta.notes.push("one <note> & \"another\"".into());

    let python = maker.module("/usr/bin/python3.12", 0x40_0000, &[0xab, 0xcd, 0xef, 1]);
    let libz = maker.module("/usr/lib/libz.so.1", 0x7f00_0000_0000, &[1; 20]);
    let app = maker.module("/srv/my app/bin/server", 0x5555_0000_0000, &[]);
    let kernel = maker.module("[kernel]", KERNEL, &[]);

    let first = maker
        .profile
        .hand_made_process(4001, "python3 app.py --name \"a;b\" <x> & ]]>");
    let second = maker
        .profile
        .hand_made_process(4100, "/srv/my app/bin/server");
    let main = maker.thread(first, 1, "MainThread");
    let worker = maker.thread(first, 2, "");
    let server = maker.thread(second, 3, "tokio; worker 12");
    let root = maker.task(0xF0F0_0000_0001, "", true);
    let fetch = maker.task(7, "fetch \"pages\"", false);
    let nameless = maker.task(0xbeef, "", false);

    let start = maker.code(0x40_1000, Some(python), &[runtime("_start")]);
    let eval = maker.code(
        0x40_2000,
        Some(python),
        &[runtime("_PyEval_EvalFrameDefault")],
    );
    let add = maker.code(0x40_3000, Some(python), &[runtime("PyNumber_Add")]);
    let module = maker.python("<module>", "/srv/app.py", 30);
    let other_module = maker.python("<module>", "/srv/lib/json.py", 1);
    let work = maker.python("Worker.work.<locals>.<lambda>", "/srv/app.py", 12);
    let work_later = maker.python("Worker.work.<locals>.<lambda>", "/srv/app.py", 14);
    let deflate = maker.code(
        0x7f00_0000_1000,
        Some(libz),
        &[native("deflate_fast", "/build/zlib/deflate.c", 1823)],
    );
    let inlined = maker.code(
        0x5555_0000_1000,
        Some(app),
        &[
            FrameKey {
                function: "core::ptr::read",
                signature: "core::ptr::read::<[u8; 4]>",
                file: "/rustc/lib/core/src/ptr/mod.rs",
                prefix: "@core",
                rest: "src/ptr/mod.rs",
                line: 1700,
                language: Language::Rust,
                inlined: true,
            },
            FrameKey {
                function: "<server::Item<T> as server::Take>::take",
                file: "/srv/src/item.rs",
                line: 41,
                language: Language::Rust,
                ..FrameKey::default()
            },
        ],
    );
    let name_with_everything = "operator new[](a; b)\n\t\"quoted\" <T> & ünïcødé 漢字 ]]> 12";
    let odd_name = maker.code(
        0x5555_0000_2000,
        Some(app),
        &[native(name_with_everything, "/srv/src/odd;file.cc", 3)],
    );
    let twin = maker.code(
        0x5555_0000_3000,
        Some(app),
        &[native("init", "/srv/src/a.c", 1)],
    );
    let other_twin = maker.code(
        0x5555_0000_4000,
        Some(app),
        &[native("init", "/srv/src/b.c", 2)],
    );
    let unknown = maker.code(0x5555_0000_5000, Some(app), &[]);
    let in_vain = maker.code(0x7f00_0000_2000, Some(libz), &[FrameKey::default()]);
    // So does naming for an unnamed function: its file is the module.
    let nameless_code = maker.code(
        0x7f00_0000_3000,
        Some(libz),
        &[native("", "/usr/lib/libz.so.1", 0)],
    );
    let nowhere = maker.code(0x1234, None, &[]);
    let tcp = maker.code(
        KERNEL + 0x500,
        Some(kernel),
        &[native("tcp_sendmsg", "", 0)],
    );
    let reason = LocationKind::Reason(Reason::Truncated);
    let truncated = maker.profile.locations.intern(reason, None);

    let one = (main, root);
    let two = (worker, fetch);
    let three = (server, nameless);
    let stacks: [Turn<'_>; 15] = [
        (
            &[start, eval, module, eval, work, eval, add],
            211,
            one,
            State::Running,
            Gil::Held,
        ),
        (
            &[start, eval, module, eval, work_later, eval],
            97,
            one,
            State::Running,
            Gil::Held,
        ),
        (
            &[start, eval, module, eval, work, deflate],
            140,
            one,
            State::Running,
            Gil::Released,
        ),
        (
            &[start, eval, module, eval, work, deflate],
            31,
            two,
            State::Running,
            Gil::Waiting,
        ),
        (
            &[start, eval, module, eval, other_module],
            17,
            one,
            State::Running,
            Gil::Held,
        ),
        (
            &[start, eval, module, work, eval],
            9,
            two,
            State::System,
            Gil::Released,
        ),
        // Nothing of it is shown by default.
        (&[start, eval], 13, one, State::Running, Gil::None),
        (&[start], 5, two, State::System, Gil::None),
        (
            &[inlined, inlined, inlined],
            61,
            three,
            State::Running,
            Gil::None,
        ),
        (&[inlined, odd_name], 43, three, State::Running, Gil::None),
        (&[twin], 19, three, State::Running, Gil::None),
        (&[other_twin, unknown], 23, three, State::Running, Gil::None),
        (
            &[twin, in_vain, nameless_code],
            7,
            three,
            State::Running,
            Gil::None,
        ),
        (&[nowhere, tcp], 11, three, State::Running, Gil::None),
        (
            &[truncated, odd_name, twin],
            3,
            three,
            State::Running,
            Gil::None,
        ),
    ];
    // In turns, as threads run.
    for turn in 0..3 {
        for (locations, times, owner, state, gil) in stacks {
            let stack = maker.profile.hand_made_stack(locations);
            let times = times / 3 + u64::from(turn < times % 3);
            maker.samples(times, owner, stack, state, gil);
        }
    }
    maker.profile
}

/// The odd profile on a wall clock.
pub fn odd_wall() -> Profile {
    let mut profile = odd();
    profile.meta.kind = SampleKind::Wall;
    profile.meta.engine = Engine::Wall;
    for (index, sample) in profile.samples.iter_mut().enumerate() {
        sample.state = if index % 3 == 0 {
            State::WallWaiting
        } else {
            State::WallRunning
        };
    }
    profile
}

/// Many stacks of many names, like a large program's.
pub fn large(samples: usize) -> Profile {
    let mut maker = Maker {
        profile: Profile::default(),
    };
    maker.profile.meta.period = Nanos(1_000_000);
    let app = maker.module("/usr/local/bin/service", 0x5555_0000_0000, &[7; 20]);
    let process = maker
        .profile
        .hand_made_process(77, "/usr/local/bin/service --config /etc/service.toml");
    let threads: Vec<_> = (1..=8)
        .map(|number| {
            let thread = maker.thread(process, number, &format!("worker-{number}"));
            (thread, maker.task(0xF0F0_0000_0000 + number, "", true))
        })
        .collect();
    let mut random = 0x9E37_79B9_7F4A_7C15_u64;
    let mut below = move |bound: u64| {
        random ^= random << 13;
        random ^= random >> 7;
        random ^= random << 17;
        random % bound
    };
    let locations: Vec<LocationId> = (0..3_000_u64)
        .map(|number| {
            let area = number % 40;
            let function = match number % 5 {
                0 => format!("<service::area_{area}::Handler<T, U> as tower::Service<http::Request<B>>>::call_{number}"),
                1 => format!("std_{number}"),
                _ => format!("service::area_{area}::Worker::step_{number}"),
            };
            let file = format!("/home/user/service/src/area_{area}.rs");
            if number % 7 == 3 {
                return maker.python(&format!("Handler.step_{number}"), "/srv/handlers.py", number as u32);
            }
            let frame = FrameKey {
                function: &function,
                file: &file,
                line: 10 + number as u32,
                language: if number % 11 == 0 { Language::Native } else { Language::Rust },
                ..FrameKey::default()
            };
            maker.code(0x5555_0000_0000 + number * 16, Some(app), &[frame])
        })
        .collect();
    let stacks: Vec<StackId> = (0..20_000)
        .map(|_| {
            let depth = 5 + below(45);
            let path: Vec<LocationId> = (0..depth)
                .map(|level| {
                    let choice = below((1 << level.min(9)) as u64);
                    locations[(level * 61 + choice) as usize % locations.len()]
                })
                .collect();
            maker.profile.hand_made_stack(&path)
        })
        .collect();
    for turn in 0..samples {
        // A product of uniform numbers prefers the hot ones.
        let hot = (0..6).fold(1 << 16, |hot, _| (hot * below(1 << 16)) >> 16);
        let stack = stacks[((hot * stacks.len() as u64) >> 16) as usize];
        let state = if below(12) == 0 {
            State::System
        } else {
            State::Running
        };
        maker.samples(1, threads[turn % 8], stack, state, Gil::None);
    }
    maker.profile
}

/// The odd profile with allocations: each stack a thousand bytes for each of its samples, in blocks
/// of a hundred, of which the first of ten is never freed.
pub fn odd_memory() -> Profile {
    let mut profile = odd();
    profile.heap.sampling = Sampling::All;
    for sample in profile.samples.clone() {
        for number in 0..10 {
            profile.heap.blocks.push(Block {
                time: sample.time,
                freed: (number > 0).then_some(sample.time),
                size: 100,
                thread: sample.thread,
                task: sample.task,
                stack: sample.stack,
                ..Block::default()
            });
        }
    }
    profile
}
