//! The answers on small profiles written by hand, and properties of any profile.

mod annotate;
mod callers;
mod calls;
mod coverage;
mod cutting;
mod filters;
mod garbage;
mod groups;
mod lines;
mod merging;
mod properties;
mod settle;
mod spans;
mod sums;
mod traced;
mod transforms;
mod tree;
mod whose;

use profundo_model::{
    Avma, CodeAddress, FrameKey, Language, LocationId, LocationKind, Nanos, Profile, Sample,
    StackId, State,
};

use crate::{Filter, Selection};

/// A location with one Rust frame.
fn location(profile: &mut Profile, number: u64, function: &str, line: u32) -> LocationId {
    let key = FrameKey {
        function,
        file: "f.rs",
        line,
        language: Language::Rust,
        ..FrameKey::default()
    };
    profile.hand_made_location(LocationKind::Invented(number), None, &[key])
}

/// A stack from its root.
fn stack(profile: &mut Profile, locations: &[LocationId]) -> StackId {
    profile.hand_made_stack(locations)
}

fn all(profile: &Profile) -> Selection {
    Selection::new(profile, &Filter::default())
}

fn push(profile: &mut Profile, stack: StackId, count: u64, state: State) {
    let thread = profile.threads.find_number(1).unwrap();
    let task = profile.tasks.find_number(1).unwrap();
    let time = Nanos(profile.samples.len() as u64);
    let weight = Nanos(profile.meta.period.0 * count);
    profile.samples.push(Sample {
        time,
        weight,
        clock: 0,
        thread,
        task,
        stack,
        state,
        ..Sample::default()
    });
}

/// Ten samples of a Python program, with native code and libraries below it, and one in a system
/// call without program code on its stack, which weighs ten times as much.
fn mixed() -> Profile {
    let mut profile = Profile::from_folded("").unwrap();
    let mut next = 0;
    let mut native = |profile: &mut Profile, function, path: &str, language| {
        let module = profile.hand_made_module(path);
        next += 16;
        let kind = LocationKind::Code(CodeAddress::Instruction(Avma(next)));
        let key = FrameKey {
            function,
            language,
            ..FrameKey::default()
        };
        profile.hand_made_location(kind, Some(module), &[key])
    };
    let python = |profile: &mut Profile, function, file, line| {
        profile.hand_made_python(file, function, line, false)
    };
    let it = &mut profile;
    let start = native(it, "start", "/usr/bin/x", Language::Runtime);
    let sum = native(it, "sum_c", "/usr/lib/libsum.so", Language::Native);
    let parse = native(it, "parse_c", "/v/site-packages/p.so", Language::Native);
    let idle = native(it, "idle", "/usr/lib/libidle.so", Language::Native);
    let [five, six, seven] = [5, 6, 7].map(|line| python(it, "main", "/home/me/app.py", line));
    let json = "/usr/lib/python3.12/json/decoder.py";
    let loads = python(it, "json.loads", json, 30);
    let dumps = python(it, "json.dumps", json, 40);
    let rows: [(&[LocationId], u64); 7] = [
        (&[start, five], 2),
        (&[start, six], 1),
        (&[start, five, sum], 3),
        (&[start, seven, loads], 1),
        (&[start, seven, loads, parse], 1),
        (&[start, seven, dumps, parse], 1),
        (&[idle], 1),
    ];
    for (path, samples) in rows {
        let stack = stack(it, path);
        for _ in 0..samples {
            match path.len() {
                1 => push(it, stack, 10, State::System),
                _ => push(it, stack, 1, State::Running),
            }
        }
    }
    for (at, sample) in it.samples.iter_mut().enumerate() {
        sample.time = Nanos(at as u64 * 1_000_000);
    }
    profile
}
