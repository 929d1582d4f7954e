//! Generated code, announced in all orders, and the names of its samples.

use profundo_model::{Kind, Kinds, Language, LocationId, LocationKind, Profile};
use profundo_wire::recording::{
    Event, Finish, GeneratedCode, GeneratedLine, Instant, ModuleInfo, ProcessInfo, Start,
};
use profundo_wire::{CodeHead, End, PythonWord, SampleHead, TextKind};

use super::{head, module};
use crate::Ingest;

const JIT: u64 = 0x10_0000;

fn at(cycles: u64) -> Instant {
    Instant {
        cycles,
        monotonic: cycles,
        unix: 0,
    }
}

fn jit() -> ModuleInfo {
    ModuleInfo {
        build_id: Vec::new(),
        bias: JIT,
        ..module("[JIT]", JIT, 0, u64::MAX)
    }
}

fn program(ingest: &mut Ingest, key: u32, parent: u32) {
    begin_process(ingest, key, parent);
    let modules = vec![jit(), module("/bin/app", 0x3000, 0, u64::MAX)];
    let process = key;
    ingest.event(Event::Modules { process, modules });
}

fn begin_process(ingest: &mut Ingest, key: u32, parent: u32) {
    ingest.event(Event::Process(ProcessInfo {
        key,
        pid: 70 + key,
        parent,
        started: 1000,
        ..ProcessInfo::default()
    }));
}

fn new() -> Ingest {
    Ingest::new(Start {
        period: 1000,
        started: at(1000),
        ..Start::default()
    })
}

fn begun() -> Ingest {
    let mut ingest = new();
    program(&mut ingest, 1, 0);
    ingest
}

fn sample(ingest: &mut Ingest, process: u32, clock: u64, frames: &[u64]) {
    let mut words = head(clock, 1, 0, End::Root, frames.len() as u16)
        .to_words()
        .to_vec();
    words.extend_from_slice(frames);
    let words = &words;
    ingest.event(Event::Words { process, words });
}

fn code(start: u64, size: u64, name: &str, loaded: u64) -> GeneratedCode {
    GeneratedCode {
        start,
        end: start + size,
        name: name.into(),
        loaded,
        unloaded: u64::MAX,
        lines: Vec::new(),
    }
}

fn announce(ingest: &mut Ingest, process: u32, codes: Vec<GeneratedCode>) {
    ingest.event(Event::Generated { process, codes });
}

fn finish(ingest: Ingest) -> Profile {
    ingest.finish(Finish {
        ended: at(9000),
        ..Finish::default()
    })
}

fn name(profile: &Profile, location: LocationId) -> String {
    match *profile.locations.get(location).frames {
        [] => "?".into(),
        [frame] => {
            let row = profile.frames.get(frame);
            let line = match row.line {
                0 => String::new(),
                line => format!(":{line}"),
            };
            format!("{}{line}", profile.function_name(frame))
        }
        _ => "several".into(),
    }
}

/// The names of each sample, root first.
fn shown(profile: &Profile) -> Vec<String> {
    let samples = profile.samples.iter();
    samples
        .map(|sample| {
            let locations = profile.stacks.locations(sample.stack);
            let mut names: Vec<String> = locations.map(|id| name(profile, id)).collect();
            names.reverse();
            names.join(";")
        })
        .collect()
}

#[test]
fn names_may_come_long_after_the_samples() {
    let mut ingest = begun();
    sample(&mut ingest, 1, 2000, &[JIT + 0x20, JIT + 0x10, 0x3010]);
    ingest.event(Event::Clock(at(3000)));
    ingest.event(Event::Clock(at(4000)));
    let lines = vec![
        GeneratedLine {
            offset: 0,
            file: "/x.js".into(),
            line: 4,
        },
        GeneratedLine {
            offset: 0xc,
            file: "".into(),
            line: 5,
        },
    ];
    let outer = GeneratedCode {
        lines,
        ..code(JIT, 0x10, "JS:*outer /y.js:3:7", 1500)
    };
    announce(
        &mut ingest,
        1,
        vec![outer, code(JIT + 0x18, 0x10, "JS:^inner /x.js:1:15", 1600)],
    );
    let profile = finish(ingest);
    // The call is the last instruction of `outer`, on a line whose file only the name has.
    assert_eq!(shown(&profile), ["?;outer:5;inner"]);
    let sample = profile.samples[0];
    let frames: Vec<_> = profile.stacks.locations(sample.stack).take(2).collect();
    let paths = frames.iter().map(|&id| {
        let frame = profile.locations.get(id).frames[0];
        (profile.file_path(frame), profile.frames.get(frame).language)
    });
    let js = Language::JavaScript;
    assert_eq!(paths.collect::<Vec<_>>(), [("/x.js", js), ("/y.js", js)]);
    assert_eq!(Kinds::of(&profile).kind(&sample), Kind::Native);
}

#[test]
fn each_sample_has_the_name_of_its_time() {
    let mut ingest = begun();
    for clock in [2000, 2400, 2600, 3500] {
        sample(&mut ingest, 1, clock, &[JIT + 4, 0x3010]);
    }
    sample(&mut ingest, 1, 2100, &[0x3020]);
    announce(&mut ingest, 1, vec![code(JIT, 0x10, "first", 2300)]);
    announce(
        &mut ingest,
        1,
        vec![
            code(JIT, 0x20, "second", 2500),
            code(JIT, 0x20, "third", 3000),
        ],
    );
    ingest.event(Event::Clock(at(4000)));
    ingest.event(Event::Clock(at(5000)));
    let profile = finish(ingest);
    // Code is noticed late; earlier samples are its own, too.
    let expected = ["?;first", "?", "?;first", "?;second", "?;third"];
    assert_eq!(shown(&profile), expected);
    // They are one address all the same.
    let leaf = |index: usize| {
        let stack = profile.stacks.get(profile.samples[index].stack);
        profile.locations.get(stack.location).kind
    };
    assert!(leaf(0) == leaf(3) && leaf(3) == leaf(4));
    assert!(matches!(leaf(0), LocationKind::Code(_)));
}

#[test]
fn one_meaning_at_a_time_needs_no_second_look() {
    let mut ingest = begun();
    sample(&mut ingest, 1, 2000, &[JIT + 4]);
    // Used again, but never sampled since.
    announce(
        &mut ingest,
        1,
        vec![code(JIT, 0x10, "same", 1500), code(JIT, 0x10, "same", 2500)],
    );
    announce(&mut ingest, 1, vec![code(JIT + 8, 0x10, "other", 1500)]);
    let (_, split) = ingest.finish_unsplit(Finish::default());
    assert!(!split.is_needed());
}

#[test]
fn what_is_gone_has_no_name() {
    let mut ingest = begun();
    for clock in [2000, 3000] {
        sample(&mut ingest, 1, clock, &[JIT + 4]);
    }
    announce(&mut ingest, 1, vec![code(JIT, 0x10, "f", 0)]);
    let gone = GeneratedCode {
        unloaded: 2500,
        ..code(JIT, 0, "", 0)
    };
    announce(&mut ingest, 1, vec![gone]);
    ingest.event(Event::Clock(at(4000)));
    assert_eq!(shown(&finish(ingest)), ["f", "?"]);
}

#[test]
fn programs_do_not_share_what_they_make() {
    let mut ingest = begun();
    program(&mut ingest, 2, 1);
    program(&mut ingest, 3, 0);
    for process in 1..=3 {
        sample(&mut ingest, process, 2000 + u64::from(process), &[JIT + 4]);
        sample(
            &mut ingest,
            process,
            2010 + u64::from(process),
            &[JIT + 0x104],
        );
    }
    announce(
        &mut ingest,
        1,
        vec![
            code(JIT, 0x10, "of the parent", 0),
            code(JIT + 0x100, 0x10, "too", 0),
        ],
    );
    announce(&mut ingest, 2, vec![code(JIT, 0x10, "of the child", 0)]);
    ingest.event(Event::Clock(at(4000)));
    let expected = ["of the parent", "of the child", "?", "too", "too", "?"];
    assert_eq!(shown(&finish(ingest)), expected);
}

#[test]
fn code_that_nobody_saw_mapped_is_named_all_the_same() {
    let mut ingest = begun();
    sample(&mut ingest, 1, 2000, &[0x77_0004]);
    announce(&mut ingest, 1, vec![code(0x77_0000, 0x10, "f", 0)]);
    ingest.event(Event::Clock(at(4000)));
    assert_eq!(shown(&finish(ingest)), ["f"]);
}

#[test]
fn files_keep_their_own_names() {
    let mut ingest = begun();
    sample(&mut ingest, 1, 2000, &[0x3010]);
    announce(&mut ingest, 1, vec![code(0x3000, 0x100, "Builtin:Add", 0)]);
    ingest.event(Event::Clock(at(4000)));
    assert_eq!(shown(&finish(ingest)), ["?"]);
}

#[test]
fn the_kernels_functions_are_those_of_all() {
    let mut ingest = begun();
    program(&mut ingest, 2, 0);
    let address = 0xffff_ffff_8100_0010;
    for process in 1..=2 {
        let kernel = ModuleInfo {
            start: 0xffff_8000_0000_0000,
            end: u64::MAX,
            bias: 0,
            build_id: Vec::new(),
            ..module("[kernel]", 0, 0, u64::MAX)
        };
        ingest.event(Event::Modules {
            process,
            modules: vec![kernel],
        });
        sample(
            &mut ingest,
            process,
            2000,
            &[address + 0x100, address + 0x10, 0x3010],
        );
    }
    announce(
        &mut ingest,
        1,
        vec![
            code(address, 0x10, "entry", 0),
            code(address + 0x100, 8, "do_work", 0),
        ],
    );
    ingest.event(Event::Clock(at(4000)));
    let profile = finish(ingest);
    assert_eq!(shown(&profile), ["?;[kernel] entry;[kernel] do_work"; 2]);
    assert_eq!(profile.samples[0].stack, profile.samples[1].stack);
}

/// A sample with these native frames, in a Python function.
fn python_sample(ingest: &mut Ingest, clock: u64, frames: &[u64]) {
    let text = u64::from_ne_bytes(*b"f.py\0\0\0\0");
    let code = CodeHead {
        minor: 12,
        number: 1,
        first_line: 1,
        file: (TextKind::One, 4),
        name: (TextKind::One, 4),
        ..CodeHead::default()
    };
    let frame = PythonWord::Frame {
        code: 1,
        offset: 0,
        is_call: false,
    };
    let python = [frame, PythonWord::Entry { native: Some(0) }].map(|word| word.to_word());
    let head = SampleHead {
        python: python.len() as u16,
        ..head(clock, 1, 0, End::Root, frames.len() as u16)
    };
    let words = [
        &code.to_words()[..],
        &[text, text],
        &head.to_words()[..],
        frames,
        &python,
    ];
    ingest.event(Event::Words {
        process: 1,
        words: &words.concat(),
    });
}

/// The name and the language of the outermost frame of the last sample.
fn outermost(profile: &Profile) -> (String, Language) {
    let stack = profile.samples.iter().last().unwrap().stack;
    let root = profile.stacks.locations(stack).last().unwrap();
    let frame = profile.locations.get(root).frames[0];
    let name = profile.function_name(frame).to_owned();
    (name, profile.frames.get(frame).language)
}

#[test]
fn a_trampoline_is_shown_where_it_is_all_there_is() {
    let stack = [0x3010, JIT + 4];
    let trampoline = || vec![code(JIT, 0x10, "py::f:/x/f.py", 0)];
    let mut alone = begun();
    sample(&mut alone, 1, 2000, &stack);
    announce(&mut alone, 1, trampoline());
    alone.event(Event::Clock(at(4000)));
    assert_eq!(outermost(&finish(alone)), ("f".into(), Language::Python));
    let mut walked = begun();
    python_sample(&mut walked, 2000, &stack);
    announce(&mut walked, 1, trampoline());
    walked.event(Event::Clock(at(4000)));
    assert_eq!(outermost(&finish(walked)), ("f".into(), Language::Runtime));
}

/// On a busy machine, samples come before the address of the program's code.
#[test]
fn a_trampoline_is_known_as_one_before_its_module_is() {
    let mut ingest = new();
    begin_process(&mut ingest, 1, 0);
    python_sample(&mut ingest, 2000, &[0x3010, JIT + 4]);
    let modules = vec![jit(), module("/bin/app", 0x3000, 0, u64::MAX)];
    ingest.event(Event::Modules {
        process: 1,
        modules,
    });
    announce(&mut ingest, 1, vec![code(JIT, 0x10, "py::f:/x/f.py", 0)]);
    ingest.name_generated();
    ingest.event(Event::Clock(at(4000)));
    let profile = finish(ingest);
    assert_eq!(outermost(&profile), ("f".into(), Language::Runtime));
    let mut frames = profile.frames.iter();
    assert!(!frames.any(|frame| frame.language == Language::Python && frame.line == 0));
}

#[test]
fn a_look_meanwhile_names_what_is_known() {
    let mut ingest = begun();
    sample(&mut ingest, 1, 2000, &[JIT + 4]);
    ingest.name_generated();
    // No file has a name for it.
    let profile = ingest.profile_mut();
    let nameless = profile.frame(profundo_model::FrameKey::default());
    let all = profile.locations.iter().map(|(id, _)| id);
    for id in all.collect::<Vec<_>>() {
        profile.locations.set_frames(id, &[nameless]);
    }
    announce(&mut ingest, 1, vec![code(JIT, 0x10, "f", 0)]);
    ingest.name_generated();
    let names = |ingest: &Ingest| {
        let rows = ingest.profile().locations.iter();
        rows.map(|(id, _)| name(ingest.profile(), id))
            .collect::<Vec<_>>()
    };
    assert_eq!(names(&ingest), ["f"]);
    assert_eq!(shown(&finish(ingest)), ["f"]);
}
