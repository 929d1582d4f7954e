//! `read(write(p)) == p`, for profiles by hand, profiles at random, and profiles at size.

use proptest::collection::vec;
use proptest::prelude::*;

use profundo_model::{
    Avma, Bytes, Call, Callers, Clock, CodeAddress, Ends, Energy, EnergyZone, Engine, ExceptionEnd,
    Exceptions, File, FileId, Fingerprint, Frame, FrameId, Gauge, Gil, Kind, Language, Line,
    LocationId, LocationKind, Loss, Machine, Meta, Module, ModuleId, Nanos, Origin, OriginId,
    Process, ProcessEnd, ProcessId, Profile, Reason, Role, Sample, SampleKind, SourceFile, StackId,
    State, StringId, Task, TaskId, Thread, ThreadId, Tracing, Traffic, Wait, Weighed,
};

use crate::dump::dump;
use crate::made::{Weights, realistic};
use crate::{raw, small, write};

#[track_caller]
fn check(profile: &Profile) {
    let (again, warnings) = profundo_formats::read(&write(profile)).unwrap();
    assert_eq!(warnings, []);
    assert!(
        dump(&again) == dump(profile),
        "{}\n---\n{}",
        dump(&again),
        dump(profile)
    );
}

#[test]
fn every_field_comes_back() {
    check(&Profile::default());
    check(&small::small());
    check(&small::gauged());
    check(&small::with_syscalls());
    check(&small::with_spans());
    check(&small::traced());
    check(&small::with_exceptions());
    check(&Profile::from_folded("main;work 3\nmain;idle 1").unwrap());
}

#[test]
fn several_batches_come_back_and_are_small() {
    for (threads, weights) in [
        (1, Weights::Period),
        (8, Weights::Random),
        (40, Weights::Elapsed),
    ] {
        let profile = realistic(50_000, threads, weights);
        let file = write(&profile);
        let (again, warnings) = profundo_formats::read(&file).unwrap();
        assert_eq!(warnings, []);
        assert!(again.samples == profile.samples);
        assert!(again.stacks.iter().eq(profile.stacks.iter()));
        let mut tables = profile.clone();
        tables.samples.clear();
        let each = (file.len() - write(&tables).len()) as f64 / 50_000.0;
        assert!(
            each < 10.0,
            "{threads} threads, {weights:?}: {each} bytes a sample"
        );
    }
}

#[test]
fn rows_stand_before_the_first_samples_that_need_them() {
    // The second batch needs a stack that the first does not.
    let mut profile = Profile::from_folded("main;work 16384\nmain;later 1").unwrap();
    profile.strings.intern("unused");
    let file = write(&profile);
    let kinds: Vec<String> = raw::ends(&file).into_iter().map(|(kind, _)| kind).collect();
    assert_eq!(
        kinds.join(" "),
        "META STRS PROC THRD TASK STRS FRAM LOCA STAK SAMP STRS FRAM LOCA STAK SAMP STRS END."
    );
}

#[test]
fn long_tables_are_cut_into_chunks() {
    let mut profile = Profile::default();
    for number in 0..20_000 {
        profile.strings.intern(&format!("string {number}"));
    }
    profile.strings.intern(&"long ".repeat(1 << 20));
    profile.strings.intern("short");
    for number in 0..10_000 {
        profile.hand_made_task(number);
    }
    check(&profile);
    let strings = raw::ends(&write(&profile))
        .iter()
        .filter(|(kind, _)| kind == "STRS")
        .count();
    assert_eq!(strings, 5);
}

#[test]
fn a_profile_that_points_nowhere_is_not_written() {
    let mut profile = Profile::from_folded("main 1").unwrap();
    profile.samples[0].stack = StackId(9);
    let error = profundo_formats::write(&profile, &mut Vec::new()).unwrap_err();
    assert_eq!(
        error.to_string(),
        "row 9 of the profile's stacks is used, but there are 1"
    );
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::with_cases(200) })]

    #[test]
    fn random_profiles_come_back(profile in profiles()) {
        check(&profile);
    }
}

/// Numbers small, large and at the limits.
fn number() -> impl Strategy<Value = u64> {
    prop_oneof![
        0..300_u64,
        any::<u64>(),
        Just(u64::MAX),
        (0..64_u32).prop_map(|bit| 1 << bit)
    ]
}

fn known() -> impl Strategy<Value = Option<Nanos>> {
    proptest::option::of(number().prop_map(Nanos))
}

fn meta() -> impl Strategy<Value = Meta> {
    let engines = prop::sample::select(vec![
        Engine::PerfSignal,
        Engine::CpuTimer,
        Engine::Wall,
        Engine::PerfRing,
        Engine::ProcPoll,
        Engine::Unknown,
    ]);
    let kinds = prop::sample::select(vec![
        SampleKind::Cpu,
        SampleKind::Wall,
        SampleKind::Traced,
        SampleKind::Events,
    ]);
    let loss = [number(), number(), number(), number(), number(), number()];
    let times = (
        number(),
        number(),
        number(),
        known(),
        known(),
        known(),
        known(),
    );
    let energy = proptest::option::of(energy());
    let texts = || vec(".*", 0..4);
    let texts = (texts(), texts(), ".*", any::<[bool; 2]>());
    let machine = proptest::option::of((".*", any::<u32>(), ".*", known()));
    let weighed = proptest::option::of((number(), number()));
    let energy = (energy, machine, weighed);
    (engines, kinds, times, loss, any::<bool>(), texts, energy).prop_map(
        |(
            engine,
            kind,
            times,
            loss,
            buffer_was_full,
            (notes, mine, event, [lacks_times, is_of_machine]),
            (energy, machine, weighed),
        )| Meta {
            engine,
            kind,
            event,
            lacks_times,
            is_of_machine,
            question: None,
            period: Nanos(times.0),
            started_at_unix: times.1,
            duration: Nanos(times.2),
            cpu: times.3,
            own_cost: times.4,
            recorder_cpu: times.5,
            by_ticks: times.6,
            machine: machine.map(|(cpu, cpus, kernel, others)| Machine {
                cpu,
                cpus,
                kernel,
                others,
            }),
            energy,
            settled: None,
            weighed: weighed.map(|(sampled, in_kernel)| Weighed {
                sampled: Nanos(sampled),
                sampled_in_kernel: Nanos(in_kernel),
            }),
            loss: Loss {
                buffer_full: loss[0],
                overwritten: loss[1],
                truncated: loss[2],
                broken: loss[3],
                reentrant: loss[4],
                thread_table_full: loss[5],
            },
            buffer_was_full,
            notes,
            mine,
        },
    )
}

fn energy() -> impl Strategy<Value = Energy> {
    let zone = (".*", number(), any::<bool>());
    let zone = zone.prop_map(|(name, microjoules, is_counted)| EnergyZone {
        name,
        microjoules,
        is_counted,
    });
    (vec(zone, 0..4), [number(), number(), number()]).prop_map(|(zones, times)| Energy {
        zones,
        duration: Nanos(times[0]),
        machine_cpu: Nanos(times[1]),
        program_cpu: Nanos(times[2]),
    })
}

type Row = [u64; 8];

fn rows(most: usize) -> impl Strategy<Value = Vec<Row>> {
    vec(
        [
            number(),
            number(),
            number(),
            number(),
            number(),
            number(),
            number(),
            number(),
        ],
        0..most,
    )
}

/// Rows of numbers become rows of tables: an id is a number modulo the number of rows.
fn profiles() -> impl Strategy<Value = Profile> {
    let names = (vec(".*", 0..20), rows(10), rows(20));
    let places = (rows(5), rows(20), rows(30));
    let owners = (rows(5), rows(6), rows(6));
    (meta(), names, places, owners, rows(60)).prop_map(
        |(meta, (strings, files, frames), (modules, locations, stacks), owners, samples)| {
            let mut profile = Profile {
                meta,
                ..Profile::default()
            };
            for string in strings {
                profile.strings.intern(&string);
            }
            names_from(&mut profile, &files, &frames);
            places_from(&mut profile, &modules, &locations, &stacks);
            owners_from(&mut profile, &owners.0, &owners.1, &owners.2);
            samples_from(&mut profile, &samples);
            traced_from(&mut profile, &samples, &frames);
            for row in &files {
                let file = FileId(pick(row[4], profile.files.len()));
                let text = string(&profile, row[6]);
                profile.sources.insert(file, row[5] as u32, text);
                let (size, hash) = (row[0], row[1]);
                let state = match row[5] % 3 {
                    0 => SourceFile::Ran(Fingerprint { size, hash }),
                    1 => SourceFile::Rewritten,
                    _ => SourceFile::Apart,
                };
                profile.source_files.insert(file, state);
            }
            profile
        },
    )
}

fn pick(number: u64, rows: usize) -> u32 {
    (number % rows as u64) as u32
}

fn string(profile: &Profile, number: u64) -> StringId {
    StringId(pick(number, profile.strings.len()))
}

fn names_from(profile: &mut Profile, files: &[Row], frames: &[Row]) {
    for row in files {
        let path = string(profile, row[0]);
        let (prefix, rest) = (string(profile, row[1]), string(profile, row[2]));
        profile.files.intern(File { path, prefix, rest });
    }
    let languages = [
        Language::Rust,
        Language::Native,
        Language::Python,
        Language::Synthetic,
        Language::Runtime,
    ];
    for row in frames {
        let frame = Frame {
            function: string(profile, row[0]),
            signature: string(profile, row[1]),
            file: FileId(pick(row[2], profile.files.len())),
            line: row[3] as u32,
            language: languages[pick(row[4], 5) as usize],
            inlined: row[5] % 2 == 1,
        };
        profile.frames.intern(frame);
    }
}

/// A part of an earlier location that is no part itself.
fn part(profile: &Profile, row: &Row) -> Option<LocationKind> {
    let locations = profile.locations.len();
    let of = (locations > 0).then(|| LocationId(pick(row[1], locations)))?;
    if let LocationKind::Part { .. } = profile.locations.get(of).kind {
        return None;
    }
    let modules = profile.modules.len();
    let ends = (!row[5].is_multiple_of(3)).then(|| Ends {
        kind: Kind::ALL[pick(row[6], Kind::ALL.len()) as usize],
        library: (modules > 0 && row[5] % 3 == 1).then(|| ModuleId(pick(row[3], modules))),
    });
    Some(LocationKind::Part {
        of,
        frame: row[4] as u16,
        ends,
    })
}

fn places_from(profile: &mut Profile, modules: &[Row], locations: &[Row], stacks: &[Row]) {
    let roles = [
        Role::Ordinary,
        Role::Interpreter,
        Role::System,
        Role::Profiler,
    ];
    for row in modules {
        let path = string(profile, row[0]);
        let (start, end) = (Avma(row[1]), Avma(row[2]));
        let build_id = row[4].to_le_bytes()[..pick(row[5], 9) as usize].to_vec();
        profile.modules.push(Module {
            path,
            start,
            end,
            bias: row[3],
            build_id,
            role: roles[pick(row[6], 4) as usize],
        });
    }
    for row in locations {
        let frames = profile.frames.len();
        let kind = match row[0] % 6 {
            5 if frames > 0 => LocationKind::Wait {
                frame: FrameId(pick(row[5], frames)),
                wait: Wait::ALL[pick(row[1], Wait::ALL.len()) as usize],
            },
            0 if frames > 0 => LocationKind::Python {
                frame: FrameId(pick(row[5], frames)),
                column: row[1] as u16,
                is_call: row[6] % 2 == 1,
            },
            0 | 1 => LocationKind::Code(CodeAddress::Instruction(Avma(row[1]))),
            4 => LocationKind::Code(CodeAddress::Return(Avma(row[1]))),
            2 => LocationKind::Reason(Reason::ALL[pick(row[1], Reason::ALL.len()) as usize]),
            // With the first bit it would be a part.
            kind => (kind == 3)
                .then(|| part(profile, row))
                .flatten()
                .unwrap_or(LocationKind::Invented(row[1] >> 1)),
        };
        let modules = profile.modules.len();
        let module = (modules > 0 && row[2] % 2 == 1).then(|| ModuleId(pick(row[3], modules)));
        let id = profile.locations.intern(kind, module);
        if !profile.frames.is_empty() {
            let has_own = matches!(
                kind,
                LocationKind::Python { .. } | LocationKind::Wait { .. }
            );
            let count = if has_own { 1 } else { row[4] % 4 };
            let frame = |n| FrameId(pick(row[5].wrapping_add(n * n), profile.frames.len()));
            let frames: Vec<FrameId> = (0..count).map(frame).collect();
            profile.locations.set_frames(id, &frames);
        }
    }
    for row in stacks {
        if profile.locations.is_empty() {
            return;
        }
        let rows = profile.stacks.len();
        let parent = (rows > 0 && row[0] % 5 > 0).then(|| StackId(pick(row[1], rows)));
        profile
            .stacks
            .intern(parent, LocationId(pick(row[2], profile.locations.len())));
    }
}

fn owners_from(profile: &mut Profile, processes: &[Row], threads: &[Row], tasks: &[Row]) {
    for row in processes.iter().take(3) {
        let name = string(profile, row[2]);
        let mut origin = Origin {
            name,
            started_at_unix: row[3],
            begins: Nanos(row[4]),
            duration: Nanos(row[5]),
            period: Nanos(row[6]),
            ..Origin::default()
        };
        for number in 0..row[7] % 3 {
            origin.set_label(
                string(profile, row[1].wrapping_add(number)),
                string(profile, row[0]),
            );
        }
        profile.origins.push(origin);
    }
    for (id, row) in processes.iter().enumerate() {
        let command = string(profile, row[1]);
        // Parents come later in one half of the cases and earlier in the other, never both ways,
        // which could be a circle.
        let other = pick(row[3], processes.len());
        let sound = if processes.len().is_multiple_of(2) {
            other < id as u32
        } else {
            other > id as u32
        };
        let parent = sound.then_some(ProcessId(other));
        let mut keys = std::collections::HashSet::new();
        profile.processes.push(Process {
            pid: row[0] as u32,
            command,
            parent,
            started: (row[4] % 2 == 1).then_some(Nanos(row[2])),
            ended: (row[4] % 3 == 1).then_some(Nanos(row[5])),
            end: match row[6] % 4 {
                0 => ProcessEnd::Unknown,
                1 => ProcessEnd::Exited(row[7] as u8),
                2 => ProcessEnd::Killed(row[7] as u8),
                _ => ProcessEnd::Replaced,
            },
            user: (row[4] % 5 == 1).then_some(Nanos(row[6])),
            system: (row[4] % 7 == 1).then_some(Nanos(row[7])),
            runtime: string(profile, row[2]),
            environment: (0..row[5] % 3)
                .map(|name| string(profile, row[7].wrapping_add(name)))
                .collect(),
            labels: (0..row[6] % 3)
                .map(|at| {
                    (
                        string(profile, at),
                        string(profile, row[2].wrapping_add(at)),
                    )
                })
                .filter(|(key, _)| keys.insert(*key))
                .collect(),
            origin: (row[5] % 2 == 1).then(|| OriginId(pick(row[7], profile.origins.len()))),
        });
    }
    for row in threads {
        if processes.is_empty() {
            return;
        }
        let name = string(profile, row[2]);
        profile.threads.push(Thread {
            number: row[0],
            tid: row[1] as u32,
            name,
            process: ProcessId(pick(row[3], processes.len())),
            alive: (row[4] % 2 == 1).then_some(Nanos(row[5])),
            cpu: (row[6] % 2 == 1).then_some(Nanos(row[7])),
            gil_wait: (row[5] % 2 == 1).then_some(Nanos(row[4])),
        });
    }
    for row in tasks {
        let (name, spawned_at) = (string(profile, row[1]), string(profile, row[2]));
        profile.tasks.push(Task {
            number: row[0],
            name,
            spawned_at,
            is_root: row[3] % 2 == 1,
        });
    }
}

fn traced_from(profile: &mut Profile, calls: &[Row], lines: &[Row]) {
    let (threads, stacks) = (profile.threads.len(), profile.stacks.len());
    for row in calls.iter().filter(|_| threads > 0 && stacks > 0) {
        profile.traced.calls.push(Call {
            thread: ThreadId(pick(row[5], threads)),
            stack: StackId(pick(row[3], stacks)),
            calls: row[0],
            resumes: row[1],
            total: Nanos(row[2]),
            own: Nanos(row[4]),
            cost: [Nanos(row[6]), Nanos(row[7])],
            callers: match row[7] % 5 {
                0 => Callers::All,
                bits => Callers::Last {
                    is_recursive: bits & 1 != 0,
                    is_repeated: bits & 2 != 0,
                },
            },
        });
    }
    let (processes, frames) = (profile.processes.len(), profile.frames.len());
    for row in lines.iter().filter(|_| processes > 0 && frames > 0) {
        profile.traced.lines.push(Line {
            process: ProcessId(pick(row[3], processes)),
            frame: FrameId(pick(row[5], frames)),
            first: row[0] as u32,
            hits: row[1],
            time: Nanos(row[2]),
        });
    }
    let strings = profile.strings.len();
    for row in lines.iter().filter(|_| processes > 0 && frames > 0) {
        profile.traced.exceptions.push(Exceptions {
            process: ProcessId(pick(row[2], processes)),
            of_type: StringId(pick(row[1], strings)),
            raised: FrameId(pick(row[0], frames)),
            end: match row[4] % 3 {
                0 => ExceptionEnd::Caught(FrameId(pick(row[6], frames))),
                1 => ExceptionEnd::Left,
                _ => ExceptionEnd::Unseen,
            },
            count: row[7],
        });
    }
    // Without traced calls, the clock is not kept.
    if !profile.traced.is_empty() {
        profile.traced.tracing = [
            Tracing::Unknown,
            Tracing::Calls,
            Tracing::Lines,
            Tracing::SampledLines,
            Tracing::LinesOnce,
            Tracing::Exceptions,
        ][lines.len() % 6];
        profile.traced.clock = [Clock::Wall, Clock::Cpu, Clock::None][lines.len() % 3];
    }
}

fn samples_from(profile: &mut Profile, samples: &[Row]) {
    let states = [
        State::Running,
        State::Sleeping,
        State::WallRunning,
        State::WallWaiting,
        State::System,
    ];
    let gils = [Gil::None, Gil::Held, Gil::Waiting, Gil::Released];
    let (threads, tasks) = (profile.threads.len(), profile.tasks.len());
    let stacks = profile.stacks.len();
    if threads == 0 || tasks == 0 || stacks == 0 {
        return;
    }
    for row in samples {
        profile.samples.push(Sample {
            time: Nanos(row[0]),
            weight: Nanos(row[1]),
            clock: row[2],
            thread: ThreadId(pick(row[3], threads)),
            task: TaskId(pick(row[4], tasks)),
            stack: StackId(pick(row[5], stacks)),
            state: states[pick(row[6], 5) as usize],
            gil: gils[pick(row[7], 4) as usize],
            file: string(profile, row[2]),
            span: Default::default(),
        });
        let processes = profile.processes.len();
        profile.heap.gauges.push(Gauge {
            process: ProcessId(pick(row[2], processes)),
            time: Nanos(row[0]),
            resident: row[1],
            peak_resident: row[3],
            proportional: (row[7] % 2 == 0).then_some(row[4]),
            anonymous: row[5],
            swapped: row[6],
            minor_faults: row[7],
            major_faults: row[2],
            in_use: row[1].checked_sub(1),
            mapped: (row[3] % 3 == 0).then_some(row[6] / 2),
            elsewhere: (row[7] % 2 == 0).then_some(row[5] / 2),
            arenas: row[4],
        });
        let [from, to, waits, ..] = *row;
        profile.traffic.push(Traffic {
            thread: ThreadId(pick(row[3], threads)),
            from: Nanos(from),
            to: Nanos(to),
            waits: waits as u32,
            bytes: Bytes {
                read: row[4],
                written: row[5],
                fetched: row[6],
                stored: row[7],
            },
        });
    }
}
