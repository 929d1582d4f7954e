//! The line on quality and the notes.

use expect_test::{Expect, expect};
use profundo_model::{Engine, Loss, Meta, Nanos, Profile};
use profundo_report::Report;

use crate::fixture::{app, empty, report};

/// Checks what follows the footer.
fn check_end(profile: &Profile, report: Report, expected: Expect) {
    let text = report.render(profile).unwrap();
    let end: Vec<&str> = text
        .lines()
        .skip_while(|line| !line.starts_with("Total"))
        .skip(1)
        .collect();
    expected.assert_eq(&end.join("\n"));
}

fn recorded() -> Profile {
    let mut profile = Profile::from_folded("main;work 998").unwrap();
    profile.meta = Meta {
        engine: Engine::PerfSignal,
        cpu: Some(Nanos(1_000_000_000)),
        own_cost: Some(Nanos(6_000_000)),
        loss: Loss {
            truncated: 2,
            ..Loss::default()
        },
        notes: vec![
            "kernel frames are out of sight.".to_owned(),
            "so it is.".to_owned(),
        ],
        ..profile.meta
    };
    profile
}

#[test]
fn a_recording_says_how_good_it_is() {
    check_end(
        &recorded(),
        report(),
        expect![[r#"
        Quality: 0.998 s of 1.000 s CPU time sampled (99.8 %); 998 samples, 0 lost, 2 truncated, 0 broken; perf-signal every 1.000 ms; own cost 0.6 %; shares are ± 3.1 points (95 %).
        Note: kernel frames are out of sight.
        Note: so it is."#]],
    );
    check_end(&recorded(), report().quality(false), expect![[""]]);
}

#[test]
fn what_a_ring_gave_up_is_not_lost() {
    let mut profile = recorded();
    profile.meta.notes.clear();
    profile.meta.loss = Loss {
        buffer_full: 1,
        overwritten: 7000,
        reentrant: 2,
        ..Loss::default()
    };
    profile.meta.cpu = Some(Nanos(8_000_000_000));
    check_end(
        &profile,
        report(),
        expect![
            "Quality: 0.998 s of 8.000 s CPU time sampled (12.5 %); 998 samples, 7000 overwritten by newer ones, 3 lost, 0 truncated, 0 broken; perf-signal every 1.000 ms; own cost 0.1 %; shares are ± 3.1 points (95 %)."
        ],
    );
}

#[test]
fn what_is_not_known_is_not_said() {
    let mut profile = recorded();
    profile.meta = Meta {
        engine: Engine::CpuTimer,
        ..Meta::default()
    };
    check_end(
        &profile,
        report(),
        expect![
            "Quality: 998 samples, 0 lost, 0 truncated, 0 broken; cpu-timer; shares are ± 3.1 points (95 %)."
        ],
    );
    check_end(&app(), report(), expect![[""]]);
    check_end(
        &app(),
        report().quality(true),
        expect![
            "Quality: 8 samples, 0 lost, 0 truncated, 0 broken; every 1.000 ms; shares are ± 28.5 points (95 %)."
        ],
    );
}

#[test]
fn samples_that_count_as_several_are_told_apart() {
    let mut profile = recorded();
    profile.samples.truncate(1);
    profile.samples[0].weight = Nanos(4_000_000);
    profile.meta.loss = Loss {
        buffer_full: 7,
        broken: 1,
        ..Loss::default()
    };
    profile.meta.buffer_was_full = true;
    profile.meta.notes.clear();
    check_end(
        &profile,
        report(),
        expect![[r#"
            Warning: the profile data buffer is full; profiling probably ended before the program did. To profile for longer, call `profundo::init` with a larger buffer or delay.
            Quality: 0.004 s of 1.000 s CPU time sampled (0.4 %); 1 sample, 7 lost, 0 truncated, 1 broken; perf-signal every 1.000 ms; own cost 0.6 %; shares are ± 44.5 points (95 %)."#]],
    );
}

#[test]
fn nothing_sampled_has_a_quality_too() {
    let (mut profile, ..) = empty();
    profile.meta.engine = Engine::PerfSignal;
    profile.meta.cpu = Some(Nanos(0));
    let text = report().quality(true).render(&profile).unwrap();
    expect!["Quality: 0.000 ms of 0.000 ms CPU time sampled; 0 samples, 0 lost, 0 truncated, 0 broken; perf-signal every 1.000 ms."].assert_eq(text.lines().last().unwrap());
}

#[test]
fn a_part_is_less_sure_than_the_whole() {
    check_end(
        &app(),
        report().quality(true).threads(2),
        expect![
            "Quality: 8 samples, 0 lost, 0 truncated, 0 broken; every 1.000 ms; shares are ± 40.5 points (95 %)."
        ],
    );
}
