//! `.jlprof` of Julia's FlameGraphs.jl. The files are built from its documented layout by `make.py`
//! beside them; Julia itself cannot be had where these tests were written. The file in the
//! documentation of FlameGraphs.jl was read, too.

use profundo_formats::export::{Format, Options as ExportOptions, write};
use profundo_import::Options;
use profundo_model::{
    Avma, CodeAddress, FrameKey, Language, LocationKind, Profile, Sample, SampleKind, StackId,
    State,
};
use proptest::prelude::*;

use crate::support::{functions_of_samples, read, stack};

/// A sample in words.
type Row = (String, u64, u64, u64, State);

fn rows(profile: &Profile) -> Vec<Row> {
    let row = |sample: &Sample| {
        let thread = profile.threads.get(sample.thread).number;
        let task = profile.tasks.get(sample.task).number;
        let stack = frames(profile, sample.stack);
        (stack, thread, task, sample.clock, sample.state)
    };
    profile.samples.iter().map(row).collect()
}

/// All that a frame has, the outermost first.
fn frames(profile: &Profile, stack: StackId) -> String {
    let mut frames = Vec::new();
    for location in profile.stacks.locations(stack) {
        for &id in &profile.locations.get(location).frames {
            let frame = profile.frames.get(id);
            let (name, file) = (profile.function_name(id), profile.file_path(id));
            let is_c = frame.is_c();
            let (line, is_inlined) = (frame.line, frame.inlined);
            frames.push(format!("{name}@{file}:{line}/{is_c}/{is_inlined}"));
        }
    }
    frames.reverse();
    frames.join(";")
}

#[test]
fn samples_have_threads_tasks_and_states() {
    for name in ["jlprof/new.jlprof", "jlprof/big-endian.jlprof"] {
        let imported = read(name);
        assert_eq!(imported.reader.name(), "jlprof");
        let profile = &imported.profile;
        assert_eq!(profile.meta.kind, SampleKind::Events);
        assert!(!profile.has_times());
        let found: Vec<_> = (profile.samples.iter().zip(rows(profile)))
            .map(|(sample, (_, thread, task, clock, state))| {
                (stack(profile, sample.stack), thread, task, clock, state)
            })
            .collect();
        let row = |stack: &str, thread, task, clock, state| {
            (stack.to_owned(), thread, task, clock, state)
        };
        let expected = [
            row("eval;main;work", 1, 0x7f11, 1000, State::Running),
            row("eval;main;work", 1, 0x7f11, 4000, State::Running),
            row("eval;main;work;add;+", 2, 0x7f22, 4100, State::Running),
            row("main;work;jl_gc_collect", 1, 0x7f11, 7000, State::Running),
            row("eval", 2, 0x7f33, 7100, State::Sleeping),
            row("main;work", 1, 0x7f11, 9000, State::Running),
            row("main;eval", 1 << 15, 0x7f44, 9100, State::WallWaiting),
            row("", u64::MAX, u64::MAX, 9200, State::WallRunning),
        ];
        assert_eq!(found, expected);
        let notes = profile.meta.notes.join("\n");
        assert!(notes.contains("interpreted"), "{notes}");
    }
}

#[test]
fn frames_have_languages_packages_and_inlined_calls() {
    let profile = read("jlprof/new.jlprof").profile;
    let frame = |name: &str| {
        let ids = (0..profile.frames.len()).map(profundo_model::FrameId::from_index);
        let id = ids
            .into_iter()
            .find(|&id| profile.function_name(id) == name);
        let frame = *profile.frames.get(id.expect(name));
        let file = profile.files.get(frame.file);
        let text = |id| profile.strings.get(id).to_owned();
        let inlined = frame.inlined;
        (
            frame.language,
            frame.line,
            inlined,
            text(file.prefix),
            text(file.rest),
        )
    };
    let julia = Language::Julia;
    assert_eq!(
        frame("+"),
        (julia, 87, true, "@Base".into(), "int.jl".into())
    );
    let path = "/home/me/app/work.jl";
    assert_eq!(
        frame("work"),
        (julia, 12, false, String::new(), path.into())
    );
    let path = "/build/src/gc.c";
    let native = Language::Native;
    assert_eq!(
        frame("jl_gc_collect"),
        (native, 3000, false, String::new(), path.into())
    );
}

#[test]
fn older_samples_have_no_owners() {
    let imported = read("jlprof/old.jlprof");
    let functions = functions_of_samples(&imported.profile);
    assert_eq!(imported.profile.samples.len(), 4);
    assert_eq!(functions["work"], (2, 4));
    assert_eq!(functions["+"], (1, 1));
    assert_eq!(functions["eval"], (0, 2));
    assert_eq!(imported.profile.threads.len(), 1);
}

#[test]
fn a_cut_file_has_what_stands_before_the_cut() {
    let whole = std::fs::read(crate::support::testdata("jlprof/new.jlprof")).unwrap();
    // In the words, and in the names.
    for (end, samples) in [(21 + 8 * 20, 2), (whole.len() - 40, 8)] {
        let read = profundo_import::read(&whole[..end], &Options::default()).unwrap();
        assert_eq!(read.profile.samples.len(), samples, "{end}");
        assert!(read.warnings.iter().any(|warning| warning.is_damage()));
    }
}

/// The functions that stacks are made of: name, file, line, language, inlined.
fn frame(number: u64) -> FrameKey<'static> {
    let (function, file, language) = [
        ("main", "/home/me/main.jl", Language::Julia),
        ("eval", "./boot.jl", Language::Julia),
        ("jl_apply", "/src/julia.h", Language::Native),
        ("Käse!", "REPL[1]", Language::Julia),
        ("serve", "/srv/app.py", Language::Python),
    ][number as usize % 5];
    FrameKey {
        function,
        file,
        line: number as u32 % 7,
        language,
        ..FrameKey::default()
    }
}

/// Makes a profile of samples: addresses of the stack, thread, task, clock, state.
fn made(samples: &[(Vec<u64>, u64, u64, u64, u8)]) -> Profile {
    let mut profile = Profile::default();
    profile.meta.kind = SampleKind::Events;
    for (addresses, thread, task, clock, state) in samples {
        let mut stack = None;
        for &address in addresses {
            let frames = [
                FrameKey {
                    inlined: true,
                    ..frame(address + 1)
                },
                frame(address),
            ];
            // Some have a call inlined.
            let frames = &frames[(address % 3 != 0) as usize..];
            let kind = LocationKind::Code(CodeAddress::Instruction(Avma(0x1000 + address)));
            let location = profile.hand_made_location(kind, None, frames);
            stack = Some(profile.stacks.intern(stack, location));
        }
        let thread = match profile.threads.find_number(*thread) {
            Some(thread) => thread,
            None => profile.hand_made_thread(*thread, ""),
        };
        let task = match profile.tasks.find_number(*task) {
            Some(task) => task,
            None => profile.hand_made_task(*task),
        };
        profile.samples.push(Sample {
            weight: profundo_model::Nanos(1),
            thread,
            task,
            clock: *clock,
            stack: stack.expect("a stack has a location"),
            state: [State::Running, State::Sleeping, State::WallRunning][*state as usize],
            ..Sample::default()
        });
    }
    profile
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn what_is_written_is_read(samples in proptest::collection::vec(
        (
            proptest::collection::vec(0_u64..40, 1..9),
            1_u64..5,
            1_u64..9,
            1_u64..1 << 60,
            0_u8..3,
        ),
        1..40,
    )) {
        let profile = made(&samples);
        let mut file = Vec::new();
        write(&profile, Format::JLPROF, &ExportOptions::default(), &mut file).unwrap();
        prop_assert!(Format::JLPROF.is_start_of(&file));
        let imported = profundo_import::read(&file, &Options::default()).unwrap();
        prop_assert_eq!(imported.warnings, []);
        prop_assert_eq!(rows(&imported.profile), rows(&profile));
        let addresses = |profile: &Profile| -> Vec<LocationKind> {
            let stacks = profile.samples.iter();
            let locations = stacks.flat_map(|sample| profile.stacks.locations(sample.stack));
            locations.map(|id| profile.locations.get(id).kind).collect()
        };
        prop_assert_eq!(addresses(&imported.profile), addresses(&profile));
    }
}
