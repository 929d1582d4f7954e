//! The comparison of recordings whose difference is known.

use profundo_analysis::diff::{By, Comparison, Options, Per, compare};
use profundo_model::{Machine, Module, Nanos, Profile, Role};
use profundo_report::{Compared, Diff, Look, Ready, Shown};

/// A profile of so many samples of each stack, in an order that repeats.
fn recorded(stacks: &[(&str, u64)]) -> Profile {
    let text: String = (stacks.iter())
        .map(|(stack, count)| format!("{stack} {count}\n"))
        .collect();
    let mut profile = Profile::from_folded(&text).unwrap();
    // Spread evenly, as if they were taken at random.
    let length = profile.samples.len();
    let mixed = (0..length).map(|at| profile.samples[(at * 7919) % length]);
    let mixed: Vec<_> = mixed.collect();
    for (at, sample) in profile.samples.iter_mut().enumerate() {
        *sample = mixed[at];
        sample.time = Nanos(at as u64 * 1_000_000);
    }
    profile
}

const BEFORE: [(&str, u64); 4] = [
    ("main;parse", 3001),
    ("main;score", 4000),
    ("main;load", 2000),
    ("main;encode", 1000),
];
const SLOWER: [(&str, u64); 5] = [
    ("main;parse", 4503),
    ("main;score", 4000),
    ("main;load", 2000),
    ("main;encode", 1000),
    ("main;check", 404),
];

fn options() -> Options {
    Options {
        shown: Shown::COMMAND,
        ..Options::default()
    }
}

fn with<T>(
    before: &Profile,
    after: &Profile,
    options: &Options,
    report: impl FnOnce(Diff<'_>, &Comparison) -> T,
) -> T {
    let comparison = compare(&[before], &[after], options).unwrap();
    let side = |name, profile| {
        [Compared {
            name,
            made: "2026-11-24 15:19",
            profile,
            of: "runs",
        }]
    };
    let (old, new) = (side("app-1", before), side("app-2", after));
    let diff = Diff::new(&comparison, &old, &new).look(Look::new().width(100));
    report(diff, &comparison)
}

fn text(before: &Profile, after: &Profile) -> String {
    with(before, after, &options(), |diff, _| diff.render().unwrap())
}

#[test]
fn the_verdict_names_what_is_slower() {
    let text = text(&recorded(&BEFORE), &recorded(&SLOWER));
    let verdict = text.lines().next().unwrap();
    assert!(verdict.starts_with("After is 19 % (±"), "{text}");
    assert!(
        verdict.contains("slower: 1.91 s more, of which 1.50 s in `parse`; one other"),
        "{text}"
    );
    let row = |name: &str| {
        text.lines()
            .find(|line| {
                line.contains(name) && line.contains('×') || line.contains(&format!("{name} ["))
            })
            .unwrap_or_default()
    };
    assert!(row("parse").contains("3.00 s   4.50 s   +1.50 s"), "{text}");
    assert!(row("check").contains("[new]"), "{text}");
    assert!(!text.contains("load"), "{text}");
    assert!(
        text.contains("others differ")
            || text.contains("other functions differ by no more than chance."),
        "{text}"
    );
    assert!(text.contains("before: app-1 (2026-11-24 15:19)"), "{text}");
    assert!(text.contains("Amounts are those of one run."), "{text}");
    assert!(
        text.contains("One run of each cannot show how much runs differ"),
        "{text}"
    );
}

#[test]
fn the_same_has_no_difference_and_says_what_would_have_been_seen() {
    let text = text(&recorded(&BEFORE), &recorded(&BEFORE));
    assert!(
        text.starts_with("No difference beyond chance: 10.0 s before and 10.0 s after"),
        "{text}"
    );
    assert!(
        text.contains("of the whole, would have been seen."),
        "{text}"
    );
    assert!(!text.contains('×'), "{text}");
}

#[test]
fn a_growth_fails_only_above_its_limit_and_beyond_chance() {
    let (before, after) = (recorded(&BEFORE), recorded(&SLOWER));
    let fails = |before: &Profile, after: &Profile, limit: f64| {
        with(before, after, &options(), |diff, _| {
            let diff = diff.fail_above(Some(limit));
            let text = diff.render().unwrap();
            assert_eq!(text.contains("Failed:"), diff.fails(), "{text}");
            assert_eq!(text.contains("Passed:"), !diff.fails(), "{text}");
            diff.fails()
        })
    };
    assert!(fails(&before, &after, 0.05));
    assert!(!fails(&before, &after, 0.25));
    // It got faster.
    assert!(!fails(&after, &before, 0.0));
    assert!(!fails(&before, &before, 0.0));
    // No limit, no failure.
    with(&before, &after, &options(), |diff, _| {
        assert!(!diff.fails())
    });
}

#[test]
fn recordings_that_differ_otherwise_are_warned_about() {
    let mut before = recorded(&BEFORE);
    let mut after = recorded(&BEFORE);
    let warning = |before: &Profile, after: &Profile| {
        let text = text(before, after);
        let mut lines = text
            .lines()
            .skip_while(|line| !line.starts_with("Warning: more"));
        // A long one is broken at the width of the page.
        let lines = lines.by_ref().take_while(|line| !line.is_empty());
        lines.map(str::trim).collect::<Vec<_>>().join(" ")
    };
    assert_eq!(warning(&before, &after), "");
    after.meta.period = Nanos(2_000_000);
    assert_eq!(
        warning(&before, &after),
        "Warning: more than the code differs: sampling (every 1.00 ms before, every 2.00 ms after)."
    );
    after.meta.period = before.meta.period;
    let machine = |cpu: &str, cpus, kernel: &str, others| Machine {
        cpu: cpu.into(),
        cpus,
        kernel: kernel.into(),
        others,
    };
    before.meta.machine = Some(machine("Xeon", 2, "6.1", Some(Nanos(1_000_000_000))));
    // What is not known is no difference.
    assert_eq!(warning(&before, &after), "");
    after.meta.machine = Some(machine("", 2, "6.1", None));
    assert_eq!(warning(&before, &after), "");
    after.meta.machine = Some(machine("EPYC", 8, "6.18", Some(Nanos(25_000_000_000))));
    for profile in [&mut before, &mut after] {
        profile.meta.duration = Nanos(10_000_000_000);
    }
    for (profile, runtime, byte) in [
        (&mut before, "CPython 3.11.4", 0xAB),
        (&mut after, "CPython 3.12.1", 0x01),
    ] {
        let command = profile.strings.intern("python3 app.py");
        profile.processes[0].command = command;
        profile.processes[0].runtime = profile.strings.intern(runtime);
        let path = profile.strings.intern("/usr/bin/python3.1");
        profile.modules.push(Module {
            path,
            build_id: vec![byte; 20],
            role: Role::Interpreter,
            ..Module::default()
        });
    }
    assert_eq!(
        warning(&before, &after),
        "Warning: more than the code differs: executable (build abababab before, build 01010101 \
         after); interpreter (CPython 3.11.4 before, CPython 3.12.1 after); processor (Xeon before, \
         EPYC after); CPUs (2 before, 8 after); kernel (6.1 before, 6.18 after); load (other \
         programs had 0.1 CPUs before, 2.5 after)."
    );
}

/// Documents of all shapes, for the test of the schema.
pub fn documents() -> Vec<String> {
    let (before, after) = (recorded(&BEFORE), recorded(&SLOWER));
    let empty = Profile::default();
    let rows = |by: &[By], per: Per| Options {
        by: by.to_vec(),
        per,
        ..options()
    };
    let json = |before: &Profile, after: &Profile, options: &Options, limit: Option<f64>| {
        with(before, after, options, |diff, _| {
            diff.fail_above(limit).json().unwrap()
        })
    };
    vec![
        json(&before, &after, &rows(&[], Per::Automatic), Some(0.05)),
        json(
            &before,
            &after,
            &rows(&[By::Stack, By::Kind, By::Thread], Per::Run),
            None,
        ),
        json(
            &before,
            &after,
            &rows(&[By::Process, By::Task], Per::Function("load".into())),
            None,
        ),
        json(&empty, &empty, &rows(&[], Per::Automatic), None),
        with(&before, &after, &options(), |diff, _| {
            diff.filter(Some("thread 1".into())).json().unwrap()
        }),
    ]
}
