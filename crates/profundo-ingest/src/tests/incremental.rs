//! The events of a recorder, by hand, and the profile they make.

use profundo_model::{
    Gil, Language, LocationKind, Nanos, Process, ProcessEnd, ProcessId, Profile, Role, Sample,
};
use profundo_wire::recording::{
    self, Event, Finish, HowEnded, Instant, LossCounts, ProcessInfo, Start, ThreadInfo,
};
use profundo_wire::{
    CodeHead, End, PythonEnd, PythonWord, SAMPLE_HEAD_WORDS, SampleHead, TaskNameHead, TextKind,
    ThreadNameHead, python_task,
};

use super::{head, module};
use crate::Ingest;

const PYTHON: &str = "/usr/lib/libpython3.12.so.1.0";

/// One cycle is one nanosecond, and the recording begins at cycle 1000.
fn at(cycles: u64) -> Instant {
    Instant {
        cycles,
        monotonic: cycles,
        unix: 0,
    }
}

pub(super) fn start() -> Start {
    Start {
        engine: recording::Engine::PerfSignal,
        is_wall: false,
        period: 1000,
        started: at(1000),
        ..Start::default()
    }
}

pub(super) fn process(key: u32, pid: u32, parent: u32) -> Event<'static> {
    Event::Process(ProcessInfo {
        key,
        pid,
        parent,
        command: format!("program {key}"),
        directory: String::new(),
        environment: vec!["PATH".into(), "HOME".into()],
        labels: Vec::new(),
        started: 1000 + u64::from(key),
    })
}

/// With the interpreter at 0x1000, the program at 0x3000, and an extension at 0x5000.
pub(super) fn begun() -> Ingest {
    let mut ingest = Ingest::new(start());
    ingest.event(process(1, 70, 0));
    let modules = vec![
        module(PYTHON, 0x1000, 0, u64::MAX),
        module("/bin/app", 0x3000, 0, u64::MAX),
        module("/ext.so", 0x5000, 0, u64::MAX),
    ];
    ingest.event(Event::Modules {
        process: 1,
        modules,
    });
    ingest
}

fn padded(bytes: &[u8]) -> Vec<u64> {
    bytes
        .chunks(8)
        .map(|part| {
            let mut word = [0; 8];
            word[..part.len()].copy_from_slice(part);
            u64::from_ne_bytes(word)
        })
        .collect()
}

/// A code object of CPython 3.12: eight bytes of instructions a line, columns from 4 (0-based).
fn code(number: u32, name: &str, first_line: i32) -> Vec<u64> {
    code_of(12, number, name, first_line)
}

/// A code object of another version, without a line table of that version.
pub(super) fn code_of(minor: u8, number: u32, name: &str, first_line: i32) -> Vec<u64> {
    // Entry: one line more (code 11), four units; columns 4 to 9.
    let lines = [0x80 | 10 << 3 | 3, 4, 9, 0x80 | 11 << 3 | 3, 4, 9];
    let head = CodeHead {
        minor,
        number,
        first_line,
        file: (TextKind::One, 9),
        name: (TextKind::One, name.len() as u32),
        lines: lines.len() as u32,
        lines_in_all: lines.len() as u32,
    };
    let mut words = head.to_words().to_vec();
    words.extend(padded(b"/app/a.py"));
    words.extend(padded(name.as_bytes()));
    words.extend(padded(&lines));
    words
}

fn frame(code: u32, offset: i32) -> u64 {
    PythonWord::Frame {
        code,
        offset,
        is_call: offset >= 8,
    }
    .to_word()
}

fn entry(native: u16) -> u64 {
    let native = Some(native);
    PythonWord::Entry { native }.to_word()
}

pub(super) fn sample(clock: u64, frames: &[u64], python: &[u64]) -> Vec<u64> {
    let head = SampleHead {
        frames: frames.len() as u16,
        python: python.len() as u16,
        gil: profundo_wire::Gil::Held,
        ..head(clock, 1, 0, End::Root, 0)
    };
    [&head.to_words()[..], frames, python].concat()
}

pub(super) fn feed(ingest: &mut Ingest, process: u32, words: &[Vec<u64>]) {
    let words = &words.concat();
    ingest.event(Event::Words { process, words });
}

/// Root first: functions with lines of Python, addresses of the rest.
pub(super) fn shown(profile: &Profile, sample: &Sample) -> String {
    let mut levels: Vec<String> = profile
        .stacks
        .locations(sample.stack)
        .map(|id| {
            let location = profile.locations.get(id);
            match location.kind {
                LocationKind::Code(code) => format!("{:x}", code.address().0),
                LocationKind::Python {
                    frame,
                    column,
                    is_call,
                } => {
                    let name = profile.function_name(frame);
                    let line = profile.frames.get(frame).line;
                    let call = if is_call { "()" } else { "" };
                    format!("{name}:{line}:{column}{call}")
                }
                _ => profile.function_name(location.frames[0]).to_owned(),
            }
        })
        .collect();
    levels.reverse();
    levels.join(" ")
}

pub(super) fn finish(ingest: Ingest) -> Profile {
    ingest.finish(Finish {
        ended: at(9000),
        duration: 8000,
        cpu: 7000,
        own_cost: Some(3),
        recorder_cpu: Some(4),
        by_ticks: 5,
    })
}

#[test]
fn python_and_native_become_one_stack() {
    let mut ingest = begun();
    let mut words = vec![code(1, "<module>", 1), code(2, "C.method", 10)];
    // 3.8 to 3.10: each frame has its native one.
    words.push(sample(
        1500,
        &[0x5010, 0x1010, 0x1020, 0x3010],
        &[frame(2, 0), entry(1), frame(1, 8), entry(2)],
    ));
    // 3.11 and later: one run has many.
    words.push(sample(
        1600,
        &[0x1010, 0x3010],
        &[frame(2, 0), frame(1, 8), entry(0)],
    ));
    // A callback: Python, C, Python, C.
    words.push(sample(
        1700,
        &[0x1310, 0x1010, 0x5010, 0x1020, 0x3010],
        &[frame(2, 8), entry(1), frame(1, 8), entry(3)],
    ));
    feed(&mut ingest, 1, &words);
    let profile = finish(ingest);
    let stacks: Vec<_> = profile
        .samples
        .iter()
        .map(|sample| shown(&profile, sample))
        .collect();
    assert_eq!(
        stacks,
        [
            "3010 <module>:2:5() C.method:10:5 5010",
            "3010 <module>:2:5() C.method:10:5",
            "3010 <module>:2:5() 5010 C.method:11:5() 1310",
        ]
    );
    assert!(profile.samples.iter().all(|sample| sample.gil == Gil::Held));
    let frame = profile.frames.iter().next().unwrap();
    assert_eq!(frame.language, Language::Python);
    assert_eq!(
        profile.strings.get(profile.files.get(frame.file).path),
        "/app/a.py"
    );
    // One C function a sample: the leaf.
    assert_eq!(profile.meta.cpu, Some(Nanos(7000)));
    assert!(profile.growing.codes.is_empty());
}

#[test]
fn a_sample_waits_for_the_code_of_another_threads_records() {
    let mut ingest = begun();
    feed(&mut ingest, 1, &[sample(1500, &[], &[frame(1, 0)])]);
    assert_eq!(ingest.held_back(), 1);
    feed(&mut ingest, 1, &[code(1, "late", 1)]);
    for now in [2000, 3000, 4000] {
        ingest.event(Event::Clock(at(now)));
    }
    assert_eq!(ingest.held_back(), 0);
    let profile = ingest.profile();
    assert_eq!(shown(profile, &profile.samples[0]), "late:1:5");
    // A code object that never comes has no name, and its sample is there all the same.
    feed(
        &mut ingest,
        1,
        &[sample(4500, &[], &[frame(9, 0), frame(0, 0), frame(1, 0)])],
    );
    for now in [5000, 6000, 7000, 8000, 8500, 8600] {
        ingest.event(Event::Clock(at(now)));
    }
    let profile = ingest.profile();
    assert_eq!(
        shown(profile, &profile.samples[1]),
        "late:1:5 [unnamed Python code] [unnamed Python code]"
    );
}

#[test]
fn a_number_may_become_another_code_object() {
    let mut ingest = begun();
    let same = sample(1500, &[], &[frame(1, 0)]);
    let words = [
        code(1, "before", 1),
        same.clone(),
        code(1, "after", 7),
        same,
    ];
    feed(&mut ingest, 1, &words);
    let profile = finish(ingest);
    let stacks: Vec<_> = profile
        .samples
        .iter()
        .map(|sample| shown(&profile, sample))
        .collect();
    assert_eq!(stacks, ["before:1:5", "after:7:5"]);
}

#[test]
fn samples_are_appended_in_order_after_two_clock_events() {
    let mut ingest = begun();
    ingest.event(Event::Clock(at(1400)));
    feed(&mut ingest, 1, &[sample(1700, &[0x3010], &[])]);
    ingest.event(Event::Clock(at(2000)));
    assert_eq!(ingest.profile().samples.len(), 0);
    // Another thread's chunk, emptied later.
    feed(
        &mut ingest,
        1,
        &[sample(1600, &[0x3010], &[]), sample(2100, &[0x3010], &[])],
    );
    ingest.event(Event::Clock(at(3000)));
    let times: Vec<u64> = ingest
        .profile()
        .samples
        .iter()
        .map(|sample| sample.time.0)
        .collect();
    assert_eq!(times, [600, 700]);
    assert_eq!(ingest.profile().meta.duration, Nanos(2000));
    ingest.profile_mut().samples.clear();
    let profile = finish(ingest);
    assert_eq!(profile.samples[0].time, Nanos(1100));
}

#[test]
fn programs_have_their_own_threads_modules_and_code() {
    let mut ingest = begun();
    ingest.event(process(2, 71, 1));
    // The second process maps the same file elsewhere, and another one at the old address.
    let modules = vec![
        module("/other", 0x3000, 0, u64::MAX),
        module("/bin/app", 0x7000, 0, u64::MAX),
    ];
    ingest.event(Event::Modules {
        process: 2,
        modules,
    });
    feed(
        &mut ingest,
        2,
        &[
            code(1, "child", 1),
            sample(1500, &[0x7010], &[frame(1, 0)]),
            sample(1501, &[0x3010], &[]),
        ],
    );
    feed(
        &mut ingest,
        1,
        &[
            code(1, "parent", 1),
            sample(1600, &[0x3010], &[frame(1, 0)]),
        ],
    );
    ingest.event(Event::Thread {
        process: 1,
        thread: ThreadInfo {
            number: 1,
            tid: 71,
            name: "main".into(),
            alive: 5,
            cpu: 4,
        },
        gil_wait: 3,
    });
    let profile = finish(ingest);
    let [child, other, parent] = &profile.samples[..] else {
        panic!("three samples")
    };
    // The file is one module, and its code one place.
    assert_eq!(
        shown(&profile, child),
        "3010 [native and Python do not fit] child:1:5"
    );
    assert_eq!(
        shown(&profile, parent),
        "3010 [native and Python do not fit] parent:1:5"
    );
    let module = |sample: &Sample| {
        let root = profile.stacks.locations(sample.stack).last().unwrap();
        let module = profile.locations.get(root).module.unwrap();
        profile.strings.get(profile.modules.get(module).path)
    };
    assert_eq!(
        (module(child), module(other), module(parent)),
        ("/bin/app", "/other", "/bin/app")
    );
    let threads = [child, parent].map(|sample| profile.threads.get(sample.thread));
    assert_eq!(threads.map(|thread| thread.number), [2, 1]);
    assert_eq!(
        threads.map(|thread| thread.process),
        [ProcessId(1), ProcessId(0)]
    );
    assert_eq!(threads[1].gil_wait, Some(Nanos(3)));
    assert_ne!(child.task, parent.task);
    let main = profile.tasks.get(parent.task);
    assert_eq!(
        (profile.strings.get(main.name), main.is_root),
        ("main", true)
    );
    assert_eq!(profile.processes[1].parent, Some(ProcessId(0)));
    assert_eq!(profile.processes[0].environment.len(), 2);
}

#[test]
fn exec_goes_on_as_another_row() {
    let mut ingest = begun();
    feed(&mut ingest, 1, &[sample(1200, &[0x3010], &[])]);
    ingest.event(process(2, 70, 1));
    ingest.event(Event::Runtime {
        process: 2,
        runtime: "CPython 3.12.1".into(),
        module: "/odd/name".into(),
    });
    let modules = vec![module("/odd/name", 0x9000, 0, u64::MAX)];
    ingest.event(Event::Modules {
        process: 2,
        modules,
    });
    feed(&mut ingest, 2, &[sample(1300, &[0x9010], &[])]);
    ingest.event(Event::Ended(recording::ProcessEnd {
        process: 2,
        ended: 8000,
        user: Some(5),
        system: None,
        how: HowEnded::Killed(11),
    }));
    let profile = finish(ingest);
    let [first, second] = &profile.processes[..] else {
        panic!("two programs")
    };
    let Process {
        pid, end, ended, ..
    } = *first;
    assert_eq!(
        (pid, end, ended),
        (70, ProcessEnd::Replaced, Some(Nanos(2)))
    );
    assert_eq!((second.pid, second.parent), (70, Some(ProcessId(0))));
    assert_eq!(
        (second.end, second.started),
        (ProcessEnd::Killed(11), Some(Nanos(2)))
    );
    assert_eq!(
        (second.ended, second.user),
        (Some(Nanos(7000)), Some(Nanos(5)))
    );
    assert_eq!(profile.strings.get(second.runtime), "CPython 3.12.1");
    let roles: Vec<Role> = profile
        .modules
        .iter()
        .map(|(_, module)| module.role)
        .collect();
    assert_eq!(
        roles,
        [
            Role::Interpreter,
            Role::Ordinary,
            Role::Ordinary,
            Role::Interpreter
        ]
    );
    let [a, b] = &profile.samples[..] else {
        panic!("two samples")
    };
    assert_ne!(a.thread, b.thread);
}

#[test]
fn a_module_that_is_gone_leaves_its_place_to_another() {
    let mut ingest = begun();
    let old = sample(1500, &[0x5010], &[]);
    let new = sample(2500, &[0x5010], &[]);
    feed(&mut ingest, 1, std::slice::from_ref(&old));
    let modules = vec![
        module("/ext.so", 0x5000, 0, 2000),
        module("/new.so", 0x5000, 2000, u64::MAX),
    ];
    ingest.event(Event::Modules {
        process: 1,
        modules,
    });
    // A chunk that was emptied late still holds a sample of before.
    feed(&mut ingest, 1, &[new.clone(), old, new]);
    let profile = finish(ingest);
    let paths: Vec<&str> = profile
        .samples
        .iter()
        .map(|sample| profile.stacks.get(sample.stack).location)
        .map(|location| profile.locations.get(location).module.unwrap())
        .map(|module| profile.strings.get(profile.modules.get(module).path))
        .collect();
    assert_eq!(paths, ["/ext.so", "/ext.so", "/new.so", "/new.so"]);
}

#[test]
fn a_greenlet_ends_where_it_was_started() {
    let mut ingest = begun();
    let modules = vec![module(
        "/site/_greenlet.cpython-312.so",
        0x7000,
        0,
        u64::MAX,
    )];
    ingest.event(Event::Modules {
        process: 1,
        modules,
    });
    feed(&mut ingest, 1, &[code(1, "inner", 1), code(2, "outer", 5)]);
    let python = [frame(1, 0), frame(2, 0), entry(1)];
    let stacks: [(&[u64], End); 5] = [
        // Its first function, its starter, and frames left over below.
        (
            &[0x5010, 0x1010, 0x1020, 0x7010, 0x7020, 0x3010, 0x7030],
            End::Broken,
        ),
        (
            &[0x5010, 0x1010, 0x1020, 0x7010, 0x7020, 0x7040, 0x3010],
            End::Root,
        ),
        // The switch itself, on the stack of the program.
        (&[0x7010, 0x1010, 0x1020, 0x3010], End::Root),
        (&[0x5010, 0x1010, 0x1020], End::Broken),
        // The places of the interpreter's frames are unknown.
        (&[0x7010], End::Broken),
    ];
    let records: Vec<Vec<u64>> = (stacks.iter().zip(1100..))
        .map(|(&(frames, end), clock)| {
            let mut words = sample(clock, frames, &python);
            let head = SampleHead {
                frames: frames.len() as u16,
                python: python.len() as u16,
                ..head(clock, 1, 0, end, 0)
            };
            words[..SAMPLE_HEAD_WORDS].copy_from_slice(&head.to_words());
            words
        })
        .collect();
    feed(&mut ingest, 1, &records);
    let profile = finish(ingest);
    let depths: Vec<usize> = (profile.samples.iter())
        .map(|sample| profile.stacks.locations(sample.stack).count())
        .collect();
    // Two frames of the interpreter's stand for one native frame; a reason is a level, too.
    assert_eq!(depths, [5, 5, 5, 5, 4]);
    // The code that switched to a greenlet first is no part of its stack.
    assert_eq!(profile.samples[0].stack, profile.samples[1].stack);
    assert_eq!(profile.meta.loss.broken, 2);
}

#[test]
fn a_task_has_the_name_of_its_outermost_coroutine() {
    let mut ingest = begun();
    let number = python_task(2, 0x7f00_0000_1238, 0);
    let other = python_task(2, 0x7f00_0000_2238, 0);
    let of = |task: u64, clock: u64| {
        let mut words = sample(clock, &[], &[frame(1, 0), frame(2, 0)]);
        words[3] = task;
        words
    };
    let codes = [code(1, "inner", 1), code(2, "fetch", 5)];
    feed(&mut ingest, 1, &codes);
    feed(
        &mut ingest,
        1,
        &[
            of(number, 1100),
            of(other, 1200),
            of(number, 1300),
            of(0, 1400),
        ],
    );
    let profile = finish(ingest);
    let tasks: Vec<_> = profile.samples.iter().map(|sample| sample.task).collect();
    assert_eq!(tasks[0], tasks[2]);
    assert_ne!(tasks[0], tasks[1]);
    let names: Vec<_> = tasks
        .iter()
        .map(|&task| profile.strings.get(profile.tasks.get(task).name))
        .collect();
    assert_eq!(names, ["fetch", "fetch", "fetch", ""]);
    assert!(profile.tasks.get(tasks[3]).is_root);
}

#[test]
fn a_task_that_has_a_name_is_shown_with_both() {
    let mut ingest = begun();
    let called = |task: u64, name: &str| {
        let name_is = (TextKind::One, name.len() as u32);
        let head = TaskNameHead {
            task,
            name: name_is,
        };
        [&head.to_words()[..], &padded(name.as_bytes())].concat()
    };
    let number = |name: u64| python_task(2, 0x7f00_0000_1238, name);
    let of = |task: u64, clock: u64| {
        let mut words = sample(clock, &[], &[frame(1, 0), frame(2, 0)]);
        words[3] = task;
        words
    };
    feed(&mut ingest, 1, &[code(1, "inner", 1), code(2, "fetch", 5)]);
    // One frame's memory, used by one task after the other: before its name is known, with it,
    // named twice, and one named like its coroutine.
    let records = [
        of(number(1), 1100),
        called(number(1), "red"),
        called(number(1), "red"),
        called(number(2), "Task-12"),
        of(number(2), 1200),
        called(number(3), "fetch"),
        of(number(3), 1300),
        of(number(1), 1400),
    ];
    feed(&mut ingest, 1, &records);
    let profile = finish(ingest);
    let names: Vec<_> = profile
        .samples
        .iter()
        .map(|sample| profile.strings.get(profile.tasks.get(sample.task).name))
        .collect();
    assert_eq!(
        names,
        ["red (fetch)", "Task-12 (fetch)", "fetch", "red (fetch)"]
    );
    assert_eq!(profile.samples[0].task, profile.samples[3].task);
}

#[test]
fn the_interpreters_name_of_a_thread_counts() {
    let called = |thread: u32, name: &str| {
        let head = ThreadNameHead {
            thread,
            tid: 70 + thread,
            name: (TextKind::One, name.len() as u32),
        };
        [&head.to_words()[..], &padded(name.as_bytes())].concat()
    };
    let kernel = |number: u32| Event::Thread {
        process: 1,
        thread: ThreadInfo {
            number,
            tid: 70 + number,
            name: "python".into(),
            alive: 1,
            cpu: 1,
        },
        gil_wait: 0,
    };
    let names = |profile: &Profile| {
        let name = |id| profile.strings.get(id).to_owned();
        let threads = profile.threads.iter().map(|(_, row)| name(row.name));
        let tasks = profile.tasks.iter().map(|(_, row)| name(row.name));
        (threads.collect::<Vec<_>>(), tasks.collect::<Vec<_>>())
    };
    let mut ingest = begun();
    ingest.event(kernel(1));
    ingest.event(kernel(2));
    feed(
        &mut ingest,
        1,
        &[
            called(2, "Thread-1 (run)"),
            sample(1500, &[0x3010], &[]),
            called(2, "worker-1"),
            called(3, ""),
            called(4, "early"),
        ],
    );
    for number in 1..=4 {
        ingest.event(kernel(number));
    }
    let before = ingest.profile().clone();
    let expected = ["python", "worker-1", "early", "python"];
    assert_eq!(names(&before).0, expected);

    // A continued recording does not take the names back.
    let mut ingest = Ingest::resume(before, start());
    for number in 1..=4 {
        ingest.event(kernel(number));
    }
    assert_eq!(names(&finish(ingest)).0, expected);
}

#[test]
fn losses_of_all_programs_add_up() {
    let mut ingest = begun();
    ingest.event(process(2, 71, 1));
    for (process, full) in [(1, 3), (2, 4), (1, 5)] {
        let loss = LossCounts {
            buffer_full: full,
            ..LossCounts::default()
        };
        ingest.event(Event::Loss { process, loss });
    }
    let mut cut = sample(1500, &[], &[frame(0, 0)]);
    cut[0] |= (PythonEnd::Truncated as u64) << 34;
    feed(&mut ingest, 1, &[cut]);
    ingest.event(Event::Note("twice".into()));
    ingest.event(Event::Note("twice".into()));
    let profile = finish(ingest);
    assert_eq!(profile.meta.loss.buffer_full, 9);
    assert_eq!(profile.meta.loss.truncated, 1);
    assert_eq!(profile.meta.notes, ["twice"]);
    assert_eq!(
        shown(&profile, &profile.samples[0]),
        "[truncated Python stack] [unnamed Python code]"
    );
}

#[test]
fn a_recording_that_was_cut_goes_on() {
    let mut ingest = begun();
    feed(
        &mut ingest,
        1,
        &[code(1, "f", 1), sample(1500, &[0x3010], &[])],
    );
    let loss = LossCounts {
        buffer_full: 2,
        ..LossCounts::default()
    };
    ingest.event(Event::Loss { process: 1, loss });
    for now in [2000, 3000, 3500] {
        ingest.event(Event::Clock(at(now)));
    }
    // As it would have been read from its file.
    let before = ingest.profile().clone();
    assert_eq!((before.samples.len(), before.growing.codes.len()), (1, 1));
    let mut ingest = Ingest::resume(before, start());
    feed(
        &mut ingest,
        1,
        &[
            sample(4000, &[0x3010], &[]),
            sample(4100, &[], &[frame(1, 0)]),
        ],
    );
    let profile = finish(ingest);
    let [first, second, third] = &profile.samples[..] else {
        panic!("three samples")
    };
    assert_eq!(
        (first.thread, first.task, first.stack),
        (second.thread, second.task, second.stack)
    );
    assert_eq!(second.time, Nanos(3000));
    assert_eq!(shown(&profile, third), "f:1:5");
    assert_eq!((profile.processes.len(), profile.modules.len()), (1, 3));
    assert_eq!(profile.meta.loss.buffer_full, 2);
}

#[test]
fn records_of_an_unannounced_process_are_kept() {
    let mut ingest = Ingest::new(start());
    feed(&mut ingest, 1, &[sample(1500, &[0x3010], &[])]);
    ingest.event(Event::Ended(recording::ProcessEnd {
        process: 2,
        ..recording::ProcessEnd::default()
    }));
    let profile = finish(ingest);
    assert_eq!(profile.samples.len(), 1);
    assert_eq!(profile.processes.len(), 2);
}

#[test]
fn a_process_has_the_labels_that_it_is_announced_with() {
    let mut ingest = Ingest::new(start());
    let Event::Process(info) = process(1, 10, 0) else {
        panic!("a process is announced")
    };
    let label = ("unit".to_owned(), "x.service".to_owned());
    ingest.event(Event::Process(ProcessInfo {
        labels: vec![label],
        ..info
    }));
    ingest.event(process(2, 11, 1));
    let profile = ingest.finish(Finish::default());
    let text = |id| profile.strings.get(id);
    let labels: Vec<Vec<(&str, &str)>> = (profile.processes.iter())
        .map(|process| {
            let labels = process.labels.iter();
            labels
                .map(|&(key, value)| (text(key), text(value)))
                .collect()
        })
        .collect();
    assert_eq!(labels, [vec![("unit", "x.service")], vec![]]);
}
