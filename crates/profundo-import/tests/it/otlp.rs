//! Profiles of OpenTelemetry. The files are made with its own messages by `make.py` beside them.

use profundo_formats::export::{Format, Options as ExportOptions, write};
use profundo_import::Options;
use profundo_model::{
    Avma, CodeAddress, FrameKey, Gil, Language, LocationKind, Nanos, Profile, Sample, SampleKind,
    State,
};
use proptest::prelude::*;

use crate::support::{functions_of_samples, read, read_value, stack, stacks};

const PERIOD: u64 = 50_000_000;

/// The process, thread, stack, weight, time and state of each sample.
type Row = (u32, u32, String, u64, u64, State);

fn rows(profile: &Profile) -> Vec<Row> {
    let row = |sample: &Sample| {
        let thread = profile.threads.get(sample.thread);
        let pid = profile.processes[thread.process.index()].pid;
        let stack = stack(profile, sample.stack);
        (
            pid,
            thread.tid,
            stack,
            sample.weight.0,
            sample.time.0,
            sample.state,
        )
    };
    profile.samples.iter().map(row).collect()
}

#[test]
fn counted_samples_have_times_and_owners() {
    for name in ["otlp/cpu.otlp", "otlp/cpu.json"] {
        let imported = read(name);
        assert_eq!(imported.reader.name(), "otlp");
        let profile = &imported.profile;
        assert_eq!(profile.meta.kind, SampleKind::Cpu);
        assert_eq!(profile.meta.period.0, PERIOD);
        assert_eq!(profile.meta.started_at_unix, 1_790_000_000_000_000_000);
        assert_eq!(profile.meta.duration.0, 5_000_000_000);
        let row = |pid, tid, stack: &str, milliseconds: u64, state| {
            (
                pid,
                tid,
                stack.to_owned(),
                PERIOD,
                milliseconds * 1_000_000,
                state,
            )
        };
        let run = State::Running;
        // Times count from the first sample.
        let expected = [
            row(4001, 4001, "main", 0, run),
            row(4001, 4001, "main;work;leaf", 50, run),
            row(4100, 4100, "<module>;handle", 70, run),
            row(
                4001,
                4002,
                "main;work;leaf;do_syscall_64",
                100,
                State::System,
            ),
            row(
                4001,
                4002,
                "main;work;leaf;do_syscall_64",
                150,
                State::System,
            ),
            row(4001, 4001, "main;work;leaf", 250, run),
            row(4001, 4001, "main;work;leaf", 300, run),
        ];
        assert_eq!(rows(profile), expected);
        let commands: Vec<_> = (profile.processes.iter())
            .map(|process| profile.strings.get(process.command))
            .collect();
        assert_eq!(commands, ["app", "python3 app.py"]);
        let names: Vec<_> = (profile.threads.iter())
            .map(|(_, thread)| profile.strings.get(thread.name))
            .collect();
        assert_eq!(names, ["app", "worker", ""]);
        let frame = |name: &str| {
            let mut frames = profile.frames.iter();
            *frames
                .find(|frame| profile.strings.get(frame.function) == name)
                .expect(name)
        };
        assert!(frame("leaf").inlined && !frame("work").inlined);
        assert_eq!((frame("leaf").line, frame("work").line), (3, 20));
        assert_eq!(frame("handle").language, Language::Python);
        let module = profile
            .modules
            .iter()
            .map(|(_, module)| module.build_id.clone())
            .max();
        assert_eq!(module.unwrap(), [0xab, 0x12, 0xcd, 0x34]);
        // An address without a name waits for one.
        let is_nameless = |kind| {
            matches!(
                kind,
                LocationKind::Code(CodeAddress::Instruction(Avma(0x1300)))
            )
        };
        assert!(
            profile
                .locations
                .iter()
                .any(|(_, location)| is_nameless(location.kind))
        );
    }
}

#[test]
fn other_types_are_chosen_by_name() {
    let off_cpu = read_value("otlp/cpu.otlp", Some("off_cpu")).profile;
    assert_eq!(off_cpu.meta.kind, SampleKind::Wall);
    assert_eq!(off_cpu.samples.len(), 1);
    assert_eq!(off_cpu.samples[0].weight, Nanos(7_000_000));
    assert_eq!(off_cpu.samples[0].state, State::WallWaiting);
    let options = Options {
        value: Some("nothing".into()),
    };
    let path = crate::support::testdata("otlp/cpu.otlp");
    let error = profundo_import::read_file(&path, &options).unwrap_err();
    assert!(error.to_string().contains("samples and off_cpu"), "{error}");
}

#[test]
fn messages_of_a_collector_add_up() {
    let framed = read("otlp/framed.otlp").profile;
    let one = functions_of_samples(&read("otlp/cpu.otlp").profile);
    for (name, (own, total)) in functions_of_samples(&framed) {
        assert_eq!((own / 2, total / 2), one[&name], "{name}");
    }
    let json = std::fs::read(crate::support::testdata("otlp/cpu.json")).unwrap();
    let lines = [&json[..], &json[..]].concat();
    let lines = profundo_import::read(&lines, &Options::default()).unwrap();
    assert_eq!(stacks(&lines.profile), stacks(&framed));
}

#[test]
fn memory_has_sites() {
    let profile = read("otlp/heap.otlp").profile;
    assert!(profile.samples.is_empty());
    let sites: Vec<_> = (profile.heap.sites.iter())
        .map(|site| {
            let (all, live) = (site.allocated, site.live());
            let amounts = (all.count, all.bytes, live.count, live.bytes);
            (stack(&profile, site.stack), amounts)
        })
        .collect();
    assert_eq!(
        sites,
        [
            ("main;fill".to_owned(), (12, 1200, 2, 200)),
            ("main".to_owned(), (3, 4096, 3, 4096)),
        ]
    );
}

#[test]
fn a_cut_file_has_what_stands_before_the_cut() {
    let whole = std::fs::read(crate::support::testdata("otlp/cpu.otlp")).unwrap();
    // Samples come first, then the names.
    let read = profundo_import::read(&whole[..whole.len() - 200], &Options::default()).unwrap();
    assert_eq!(read.profile.samples.len(), 7);
    assert!(read.warnings.iter().any(|warning| warning.is_damage()));
}

#[test]
fn traces_and_other_messages_are_none_of_its() {
    // A span of a trace: its number has sixteen bytes.
    let resource = b"\x0a\x16\x0a\x14\x0a\x0cservice.name\x12\x04\x0a\x02ab";
    let span = [
        &b"\x0a\x10"[..],
        &[7; 16],
        b"\x12\x08",
        &[9; 8],
        b"\x2a\x01a",
    ]
    .concat();
    let spans = [&[0x12, span.len() as u8][..], &span].concat();
    let scope = [&[0x12, spans.len() as u8][..], &spans].concat();
    let inside = [&resource[..], &scope].concat();
    let trace = [&[0x0a, inside.len() as u8][..], &inside].concat();
    assert_eq!(profundo_import::reader_of(&trace), None);
    assert_eq!(profundo_import::reader_of(b"{\"resourceSpans\":[]}"), None);
    // A type of value alone may well be the start of a pprof.
    let reader = profundo_import::reader_of(b"\x0a\x04\x08\x01\x10\x02");
    assert_eq!(reader.map(|reader| reader.name()), Some("pprof"));
}

/// Makes a profile of samples: addresses, thread, task, time, state.
fn made(samples: &[(Vec<u64>, u64, u64, u64, u8)]) -> Profile {
    const NAMES: [(&str, &str, Language); 4] = [
        ("main", "/srv/main.rs", Language::Rust),
        ("<module>", "/srv/app.py", Language::Python),
        ("käse; \"<x>\"", "/srv/käse.c", Language::Native),
        ("memcpy", "", Language::Native),
    ];
    let mut profile = Profile::default();
    profile.meta.kind = SampleKind::Cpu;
    profile.meta.period = Nanos(1_000_000);
    profile.meta.started_at_unix = 1_790_000_000_000_000_000;
    let process = profile.hand_made_process(77, "/srv/app --fast");
    let module = profile.hand_made_module("/srv/app");
    profile.modules.get_mut(module).build_id = vec![1, 2, 3];
    for (addresses, tid, task, time, state) in samples {
        let mut stack = None;
        for &address in addresses {
            let key = |number: u64| {
                let (function, file, language) = NAMES[number as usize % NAMES.len()];
                FrameKey {
                    function,
                    file,
                    line: number as u32 % 5,
                    language,
                    ..FrameKey::default()
                }
            };
            let inlined = FrameKey {
                inlined: true,
                ..key(address + 4)
            };
            let frames = [inlined, key(address)];
            let frames = &frames[(address % 3 != 0) as usize..];
            let kind = LocationKind::Code(CodeAddress::Instruction(Avma(0x1000 + address)));
            let location = profile.hand_made_location(kind, Some(module), frames);
            stack = Some(profile.stacks.intern(stack, location));
        }
        let thread = match profile.threads.find_number(*tid) {
            Some(thread) => thread,
            None => {
                let thread = profile.hand_made_thread(*tid, "worker");
                let row = profile.threads.get_mut(thread);
                (row.tid, row.process) = (4000 + *tid as u32, process);
                thread
            }
        };
        let task = match profile.tasks.find_number(*task) {
            Some(task) => task,
            None => profile.hand_made_task(*task),
        };
        let states = [State::Running, State::System, State::Sleeping];
        profile.samples.push(Sample {
            time: Nanos(*time),
            weight: Nanos(1_000_000 + time % 1000),
            thread,
            task,
            stack: stack.expect("a stack has a location"),
            state: states[*state as usize],
            gil: [Gil::None, Gil::Held, Gil::Waiting][*time as usize % 3],
            ..Sample::default()
        });
    }
    profile.samples.sort_by_key(|sample| sample.time);
    if let Some(first) = profile.samples.first().map(|sample| sample.time.0) {
        profile
            .samples
            .iter_mut()
            .for_each(|sample| sample.time.0 -= first);
    }
    profile
}

/// All that a sample has. Those of one time have no order.
fn whole(profile: &Profile) -> Vec<String> {
    let row = |sample: &Sample| {
        let thread = profile.threads.get(sample.thread);
        let process = &profile.processes[thread.process.index()];
        let text = |id| profile.strings.get(id);
        let task = profile.tasks.get(sample.task).number;
        let mut row = format!(
            "{} {} {} {} {task} {:?} {:?} {:?} {:?}",
            process.pid,
            text(process.command),
            thread.tid,
            text(thread.name),
            sample.time,
            sample.weight,
            sample.state,
            sample.gil,
        );
        for location in profile.stacks.locations(sample.stack) {
            let location = profile.locations.get(location);
            let module = profile.modules.get(location.module.expect("a module"));
            row += &format!(
                "\n  {:?} {} {:?}",
                location.kind,
                text(module.path),
                module.build_id
            );
            for &id in &location.frames {
                let frame = profile.frames.get(id);
                row += &format!(
                    " {} {}:{} {:?} {}",
                    profile.function_name(id),
                    profile.file_path(id),
                    frame.line,
                    frame.language,
                    frame.inlined
                );
            }
        }
        row
    };
    let mut rows: Vec<String> = profile.samples.iter().map(row).collect();
    rows.sort();
    rows
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn what_is_written_is_read(samples in proptest::collection::vec(
        (
            proptest::collection::vec(0_u64..40, 1..9),
            1_u64..5,
            1_u64..9,
            0_u64..1 << 40,
            0_u8..3,
        ),
        1..40,
    )) {
        let profile = made(&samples);
        let mut file = Vec::new();
        write(&profile, Format::OTLP, &ExportOptions::default(), &mut file).unwrap();
        let imported = profundo_import::read(&file, &Options::default()).unwrap();
        prop_assert_eq!(imported.reader.name(), "otlp");
        prop_assert_eq!(imported.warnings, []);
        let meta = &imported.profile.meta;
        prop_assert_eq!((meta.kind, meta.period), (profile.meta.kind, profile.meta.period));
        prop_assert_eq!(meta.started_at_unix, profile.meta.started_at_unix);
        prop_assert_eq!(whole(&imported.profile), whole(&profile));
    }
}
