//! A small profile in which every field of every table has a value.

use profundo_model::{
    Avma, Bytes, Call, Callers, Clock, CodeAddress, Energy, EnergyZone, Engine, ExceptionEnd,
    Exceptions, Fingerprint, FrameId, FrameKey, Gauge, Gil, Language, Lengths, Line, LocationKind,
    Loss, Mark, Meta, Module, Nanos, Origin, OriginId, Process, ProcessEnd, ProcessId, Profile,
    Reason, Role, Sample, SampleKind, SourceFile, Span, SpanId, SpanLoss, SpanPath, SpanSum,
    StackId, State, StringId, SyscallCount, Task, Thread, ThreadId, Tracing, Traffic, Wait,
};

/// The small profile, for a machine that counts its energy.
pub fn with_energy() -> Profile {
    let mut profile = small();
    let zone = |name: &str, microjoules, is_counted| EnergyZone {
        name: name.into(),
        microjoules,
        is_counted,
    };
    profile.meta.energy = Some(Energy {
        zones: vec![
            zone("package-0", 41_200_000, true),
            zone("package-0/core", 30_000_001, false),
        ],
        duration: Nanos(4_999_000_000),
        machine_cpu: Nanos(6_000_000_000),
        program_cpu: Nanos(4_900_000_000),
    });
    profile
}

/// The small profile, with known source files.
pub fn with_source_files() -> Profile {
    let mut profile = small();
    let states = [
        SourceFile::Ran(Fingerprint::of(b"x = 1\n")),
        SourceFile::Rewritten,
        SourceFile::Apart,
    ];
    for (number, state) in states.into_iter().enumerate() {
        let file = profile.file(&format!("/srv/{number}.py"), "", "");
        profile.source_files.insert(file, state);
    }
    profile
}

/// The small profile, recorded from outside.
pub fn attached() -> Profile {
    let mut profile = small();
    profile.meta.recorder_cpu = Some(Nanos(7));
    profile
}

/// The small profile, with rules of own code.
pub fn with_own_code() -> Profile {
    let mut profile = small();
    profile.meta.mine = vec!["/home/ü/./src/**".into(), "!**/vendor".into()];
    profile
}

/// The small profile, as if all processes of the machine had been recorded.
pub fn of_machine() -> Profile {
    let mut profile = small();
    profile.meta.is_of_machine = true;
    let words = ["user", "unit", "nöde", "x.service"].map(|word| profile.strings.intern(word));
    let [user, unit, node, service] = words;
    profile.processes[0].labels = vec![(user, node), (unit, service)];
    profile.processes[1].labels = vec![(user, node)];
    profile
}

/// The small profile, as if it was merged from two recordings with labels.
pub fn merged() -> Profile {
    let mut profile = small();
    let words = ["run", "1", "host", "nöde", "second"].map(|word| profile.strings.intern(word));
    let [run, one, host, node, second] = words;
    profile.origins.push(Origin {
        labels: vec![(run, one), (host, node)],
        started_at_unix: u64::MAX,
        duration: Nanos(17),
        period: Nanos(1_000_000),
        ..Origin::default()
    });
    profile.origins.push(Origin {
        name: second,
        begins: Nanos(17),
        ..Origin::default()
    });
    for (number, process) in profile.processes.iter_mut().enumerate() {
        process.origin = Some(OriginId(1 - number as u32));
    }
    profile
}

/// The small profile, with threads that were sampled at the kernel's ticks.
pub fn with_ticks() -> Profile {
    let mut profile = small();
    profile.meta.by_ticks = Some(Nanos(9));
    profile
}

/// The small profile, with counted calls and lines.
pub fn traced() -> Profile {
    let mut profile = small();
    profile.meta.kind = SampleKind::Traced;
    profile.traced.clock = Clock::Cpu;
    let (first, last) = (StackId(0), StackId::from_index(profile.stacks.len() - 1));
    let repeated = |is_recursive, is_repeated| Callers::Last {
        is_recursive,
        is_repeated,
    };
    let rows = [
        (first, 1, 0, 900, 500, [40, 30], Callers::All),
        (last, 1_000_000, 7, 400, 400, [0, 0], Callers::All),
        (last, 0, 0, 0, 0, [0, 0], repeated(false, false)),
        (first, 3, 1, 10, 5, [2, 1], repeated(true, false)),
        (last, 4, 0, 20, 20, [1, 1], repeated(true, true)),
    ];
    for (at, (stack, calls, resumes, total, own, cost, callers)) in rows.into_iter().enumerate() {
        profile.traced.calls.push(Call {
            thread: ThreadId::from_index(at % profile.threads.len()),
            stack,
            calls,
            resumes,
            total: Nanos(total),
            own: Nanos(own),
            cost: cost.map(Nanos),
            callers,
        });
    }
    for (frame, first, hits, time) in [(2, 1, 3, 250), (0, 7, u64::MAX, 0)] {
        profile.traced.lines.push(Line {
            process: ProcessId(0),
            frame: FrameId(frame),
            first,
            hits,
            time: Nanos(time),
        });
    }
    profile
}

/// The small profile, with exceptions.
pub fn with_exceptions() -> Profile {
    let mut profile = small();
    profile.traced.tracing = Tracing::Exceptions;
    let of_type = profile.strings.intern("KeyError");
    let ends = [
        (2, ExceptionEnd::Caught(FrameId(1)), 7),
        (2, ExceptionEnd::Left, 1),
        (0, ExceptionEnd::Unseen, u64::MAX),
    ];
    for (raised, end, count) in ends {
        profile.traced.exceptions.push(Exceptions {
            process: ProcessId(0),
            of_type,
            raised: FrameId(raised),
            end,
            count,
        });
    }
    profile
}

pub fn small() -> Profile {
    let mut profile = Profile {
        meta: Meta {
            engine: Engine::PerfSignal,
            kind: SampleKind::Wall,
            event: String::new(),
            lacks_times: false,
            is_of_machine: false,
            question: None,
            period: Nanos(1_000_000),
            started_at_unix: 1_700_000_000_123_456_789,
            duration: Nanos(5_000_000_000),
            cpu: Some(Nanos(4_900_000_000)),
            own_cost: Some(Nanos(0)),
            recorder_cpu: None,
            by_ticks: None,
            machine: None,
            loss: Loss {
                buffer_full: 1,
                overwritten: 2,
                truncated: 3,
                broken: 4,
                reentrant: 5,
                thread_table_full: 600,
            },
            buffer_was_full: true,
            notes: vec!["system time is out of sight".into(), "größer".into()],
            mine: Vec::new(),
            energy: None,
            settled: None,
            weighed: None,
        },
        ..Profile::default()
    };
    let path = profile.strings.intern("/usr/bin/app");
    let module = profile.modules.push(Module {
        path,
        start: Avma(0x5555_5555_4000),
        end: Avma(0x5555_5556_0000),
        bias: 0x5555_5555_0000,
        build_id: vec![0xde, 0xad, 0xbe, 0xef],
        role: Role::Interpreter,
    });
    let frame = |profile: &mut Profile, function, line, language, inlined| {
        profile.frame(FrameKey {
            function,
            signature: "app::work<u8>",
            file: "/src/app/main.rs",
            prefix: "@app",
            rest: "main.rs",
            line,
            language,
            inlined,
        })
    };
    let inner = frame(&mut profile, "inlined", 7, Language::Rust, true);
    let outer = frame(&mut profile, "main", 70, Language::Rust, false);
    let python = frame(&mut profile, "python", 3, Language::Python, false);
    let native = frame(&mut profile, "native", 0, Language::Native, false);
    let runtime = frame(&mut profile, "_start", 0, Language::Runtime, false);
    let mut locations = Vec::new();
    for (kind, module, frames) in [
        (
            LocationKind::Code(CodeAddress::Return(Avma(0x5555_5555_4321))),
            Some(module),
            vec![outer],
        ),
        (
            LocationKind::Code(CodeAddress::Instruction(Avma(0x5555_5555_5000))),
            Some(module),
            vec![inner, outer],
        ),
        (LocationKind::Invented(u64::MAX), None, vec![python]),
        (
            LocationKind::Code(CodeAddress::Instruction(Avma(0x7fff_0000_0000))),
            None,
            vec![native],
        ),
        (
            LocationKind::Code(CodeAddress::Return(Avma(0x5555_5555_4000))),
            Some(module),
            vec![runtime],
        ),
        (
            LocationKind::Python {
                frame: python,
                column: 17,
                is_call: true,
            },
            None,
            vec![python],
        ),
        (
            LocationKind::Python {
                frame: python,
                column: u16::MAX,
                is_call: false,
            },
            None,
            vec![python],
        ),
    ] {
        let id = profile.locations.intern(kind, module);
        profile.locations.set_frames(id, &frames);
        locations.push(id);
    }
    for reason in Reason::ALL {
        locations.push(profile.locations.intern(LocationKind::Reason(reason), None));
    }
    for wait in Wait::ALL {
        let key = FrameKey {
            function: &wait.frame_name("/tmp/fifo"),
            language: Language::Synthetic,
            ..FrameKey::default()
        };
        let frame = profile.frame(key);
        let kind = LocationKind::Wait { frame, wait };
        let id = profile.locations.intern(kind, None);
        profile.locations.set_frames(id, &[frame]);
        locations.push(id);
    }
    let root = profile.stacks.intern(None, locations[0]);
    let mut stacks = vec![root];
    for &location in &locations[1..] {
        stacks.push(profile.stacks.intern(Some(root), location));
    }
    let deep = profile.stacks.intern(Some(stacks[1]), locations[2]);
    stacks.push(deep);

    let command = profile.strings.intern("app --serve");
    let runtime = profile.strings.intern("CPython 3.12.1");
    // The child came first.
    profile.processes.push(Process {
        pid: 4_000_000,
        command,
        parent: Some(ProcessId(1)),
        started: Some(Nanos(1_000)),
        ended: Some(Nanos(2_000_000)),
        end: ProcessEnd::Killed(9),
        user: Some(Nanos(0)),
        system: Some(Nanos(17)),
        runtime,
        environment: vec![path, command],
        labels: Vec::new(),
        origin: None,
    });
    profile.processes.push(Process {
        pid: 4242,
        command,
        parent: None,
        end: ProcessEnd::Exited(3),
        environment: vec![runtime],
        ..Process::default()
    });
    let name = profile.strings.intern("main");
    let threads = [
        profile.threads.push(Thread {
            number: 1,
            tid: 4242,
            name,
            process: ProcessId(1),
            alive: Some(Nanos(5_000_000_000)),
            cpu: None,
            gil_wait: Some(Nanos(123_456)),
        }),
        profile.threads.push(Thread {
            number: 2,
            tid: 4243,
            process: ProcessId(0),
            alive: None,
            cpu: Some(Nanos(u64::MAX)),
            ..Thread::default()
        }),
    ];
    let spawned_at = profile.strings.intern("src/main.rs:12");
    let tasks = [
        profile.tasks.push(Task {
            number: 0x7f00_0000_1000,
            is_root: true,
            ..Task::default()
        }),
        profile.tasks.push(Task {
            number: 0x10,
            name,
            spawned_at,
            is_root: false,
        }),
    ];
    let states = [
        State::Running,
        State::Sleeping,
        State::WallRunning,
        State::WallWaiting,
        State::System,
    ];
    let gils = [Gil::None, Gil::Held, Gil::Waiting, Gil::Released];
    for number in 0..20_u64 {
        profile.samples.push(Sample {
            time: Nanos(1_000_000 * number + number * number * 7_919 % 1_000),
            weight: Nanos(if number == 9 { 12_000_000 } else { 1_000_000 }),
            clock: 50_000_000_000 + 3_000_000 * number + number * 31 % 17,
            thread: threads[number as usize % 3 / 2],
            task: tasks[number as usize % 2],
            stack: stacks[number as usize % stacks.len()],
            state: states[number as usize % states.len()],
            gil: gils[number as usize / 2 % gils.len()],
            ..Sample::default()
        });
    }
    let file = profile.frames.get(inner).file;
    profile.sources.insert(file, 7, command);
    profile.sources.insert(file, 70, name);
    // No sample needs this one.
    profile.strings.intern("unused");
    profile
}

/// The small profile, with traffic of its threads.
pub fn reading() -> Profile {
    let mut profile = small();
    let file = profile.strings.intern("/srv/data");
    if let Some(sample) = profile.samples.last_mut() {
        sample.file = file;
    }
    let row = |number: u64| Traffic {
        thread: ThreadId(number as u32 % 2),
        from: Nanos(number * 10_000_000),
        to: Nanos(number * 11_000_000),
        waits: number as u32,
        bytes: Bytes {
            read: number * 4096,
            written: 7,
            fetched: u64::MAX >> number,
            stored: 0,
        },
    };
    profile.traffic = (0..4).map(row).collect();
    profile
}

/// The small profile, with counts of its threads' system calls.
pub fn with_syscalls() -> Profile {
    let mut profile = small();
    let read = profile.strings.intern("read");
    let row = |number: u64| SyscallCount {
        thread: ThreadId(number as u32 % 2),
        from: Nanos(number * 1_000_000_000),
        to: Nanos(number * 1_100_000_000),
        call: read,
        error: number as u32 % 3 * 11,
        count: u64::MAX >> (number * 9),
        ..SyscallCount::default()
    };
    profile.syscalls = (0..4).map(row).collect();
    let stack = profile.samples.last().map(|sample| sample.stack);
    profile.syscalls.push(SyscallCount {
        call: StringId::default(),
        stack,
        samples: 3,
        ..row(4)
    });
    profile
}

/// The small profile, with spans and marks.
pub fn with_spans() -> Profile {
    let mut profile = small();
    let words = ["request", "route", "/p/ä", "query", "epoch 3"];
    let [request, route, place, query, epoch] = words.map(|word| profile.strings.intern(word));
    let spans = &mut profile.spans;
    let outer = spans.paths.intern(SpanPath {
        parent: None,
        name: request,
        attributes: [(route, place), (query, place)].into(),
    });
    let inner = spans.paths.intern(SpanPath {
        parent: Some(outer),
        name: query,
        attributes: [].into(),
    });
    let again = spans.paths.intern(SpanPath {
        parent: Some(inner),
        name: request,
        attributes: [].into(),
    });
    let span = |number, path, to| Span {
        path,
        thread: ThreadId(1),
        number,
        parent: number - 1,
        from: Nanos(number * 1_000),
        to,
        ..Span::default()
    };
    spans.each = vec![
        span(1, outer, None),
        span(2, inner, Some(Nanos(2_000))),
        span(3, again, Some(Nanos(u64::MAX))),
    ];
    let mut lengths = Lengths::default();
    let each = [0, 7, 7, 1_000_000, u64::MAX];
    each.into_iter().for_each(|length| lengths.add(length));
    for (path, thread) in [(inner, Some(ThreadId(0))), (outer, None)] {
        spans.sums.push(SpanSum {
            path,
            process: ProcessId(1),
            thread,
            lengths: lengths.clone(),
        });
    }
    let mark = |time, span| Mark {
        name: epoch,
        time: Nanos(time),
        thread: ThreadId(1),
        span,
        ..Mark::default()
    };
    spans.marks = vec![mark(5, outer), mark(3, SpanId(0))];
    spans.loss = SpanLoss {
        marks: 1,
        attributes: u64::MAX,
        names: 3,
    };
    let rows = profile.samples.iter_mut().zip([inner, outer, again]);
    for (sample, span) in rows {
        sample.span = span;
    }
    profile
}

/// The small profile, with memory of its processes.
pub fn gauged() -> Profile {
    let mut profile = small();
    let row = |number: u64| Gauge {
        process: ProcessId(number as u32 % 2),
        time: Nanos(number * 100_000_000),
        resident: (20 + number % 5) << 20,
        peak_resident: (20 + number.min(4)) << 20,
        proportional: (number % 3 == 1).then_some(19 << 20),
        anonymous: (number * 5000) << 3,
        swapped: u64::from(number == 5) << 12,
        minor_faults: number * number,
        major_faults: u64::MAX >> number,
        in_use: Some(number << 16),
        mapped: (number > 3).then_some(number << 12),
        elsewhere: (number % 3 == 1).then_some(5 << 12),
        arenas: (number / 2) << 20,
    };
    profile.heap.gauges = (0..8).map(row).collect();
    profile
}

#[test]
fn rows_of_several_samples_stay_what_they_are() {
    let mut profile = Profile::from_folded("main;work 3").unwrap();
    profile.meta.kind = profundo_model::SampleKind::Events;
    profile.meta.event = "cycles".into();
    profile.meta.lacks_times = true;
    let many = |samples, squares| profundo_model::Many {
        samples,
        count: samples * 7,
        squares,
        ..profundo_model::Many::default()
    };
    profile.gathered.rows = vec![many(5, 0.5), many(1, 3e30), many(9, 2.0)];
    let mut file = Vec::new();
    profundo_formats::write(&profile, &mut file).unwrap();
    let (again, warnings) = profundo_formats::read(&file).unwrap();
    assert_eq!(warnings, []);
    assert_eq!(again.meta, profile.meta);
    assert_eq!(again.gathered, profile.gathered);

    // The same while it grows, behind samples that are one each.
    let mut growing = Profile::from_folded("main;work 2").unwrap();
    let mut out = profundo_formats::StreamWriter::new(Vec::new(), &growing.meta).unwrap();
    out.flush(&mut growing).unwrap();
    growing.samples.extend(&profile.samples);
    growing.gathered = profile.gathered.clone();
    let file = out.finish(&mut growing).unwrap();
    let (again, warnings) = profundo_formats::read(&file).unwrap();
    assert_eq!(warnings, []);
    assert_eq!(again.gathered.rows.len(), 5);
    assert_eq!(again.samples_of_row(1), 1);
    assert_eq!(again.gathered.rows[2..], profile.gathered.rows);
}
