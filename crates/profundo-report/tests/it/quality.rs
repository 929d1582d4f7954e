//! The line on quality and the notes.

use expect_test::{Expect, expect};
use profundo_analysis::settle;
use profundo_model::{Engine, Loss, Meta, Nanos, Process, ProcessEnd, Profile, State, Thread};
use profundo_report::{Report, Summary, View};

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
fn a_recording_has_a_line_on_quality() {
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
fn reading_from_outside_has_two_costs() {
    let mut profile = recorded();
    profile.meta.notes.clear();
    profile.meta.recorder_cpu = Some(Nanos(198_000_000));
    check_end(
        &profile,
        report(),
        expect![[r#"
        Quality: 0.998 s of 1.000 s CPU time sampled (99.8 %); 998 samples, 0 lost, 2 truncated, 0 broken; perf-signal every 1.000 ms; own cost: the program was held for 0.6 % of its CPU time, profundo itself used 198 ms CPU; shares are ± 3.1 points (95 %)."#]],
    );
    profile.meta.own_cost = None;
    check_end(
        &profile,
        report(),
        expect![[r#"
        Quality: 0.998 s of 1.000 s CPU time sampled (99.8 %); 998 samples, 0 lost, 2 truncated, 0 broken; perf-signal every 1.000 ms; own cost: profundo itself used 198 ms CPU; shares are ± 3.1 points (95 %)."#]],
    );
}

/// A recording of processes with these times in the kernel's ticks, and no thread but the first
/// one's.
fn in_ticks(times: &[(u64, u64)]) -> Profile {
    let mut profile = recorded();
    profile.meta.notes.clear();
    profile.processes.clear();
    for (pid, &(user, system)) in (1..).zip(times) {
        profile.processes.push(Process {
            pid,
            user: Some(Nanos(user)),
            system: Some(Nanos(system)),
            ..Process::default()
        });
    }
    profile
}

#[test]
fn no_part_is_more_than_its_whole() {
    let mut profile = in_ticks(&[(900_000_000, 100_000_000)]);
    for sample in profile.samples.iter_mut().take(138) {
        sample.state = State::System;
    }
    let text = report().render(&profile).unwrap();
    let wanted = ", in the kernel 138.000 ms (about 100.000 ms by the kernel's ticks); 998 samples";
    assert!(text.contains(wanted), "{text}");
    let of_json = recording_in_json(&profile);
    assert_eq!(of_json["cpu_kernel_seconds"], 0.1);
    assert_eq!(of_json["cpu_kernel_sampled_seconds"], 0.138);
    assert_eq!(of_json["cpu_kernel_is_rough"], true);
    // As long as it is a part of that, there is no remark.
    for sample in &mut profile.samples {
        sample.state = State::Running;
    }
    assert_eq!(recording_in_json(&profile)["cpu_kernel_is_rough"], false);
}

#[test]
fn the_kernel_is_sampled_by_a_clock_of_its_own() {
    let mut profile = in_ticks(&[(900_000_000, 100_000_000)]);
    profile.meta.period = Nanos(50_000_000);
    let text = report().render(&profile).unwrap();
    assert!(text.contains("; perf-signal every 50.000 ms; "), "{text}");
    profile.samples[7].state = State::System;
    let text = report().render(&profile).unwrap();
    let wanted = "; perf-signal every 50.000 ms, in the kernel every few ms; ";
    assert!(text.contains(wanted), "{text}");
    // This one sees both.
    profile.meta.engine = Engine::CpuTimer;
    let text = report().render(&profile).unwrap();
    let wanted = "; cpu-timer every 50.000 ms, at the kernel's ticks (work that is timed by them may be over- or undercounted); ";
    assert!(text.contains(wanted), "{text}");
}

#[test]
fn threads_that_were_sampled_at_ticks_are_reported() {
    let mut profile = in_ticks(&[(900_000_000, 100_000_000)]);
    profile.meta.by_ticks = Some(Nanos(250_000_000));
    let text = report().render(&profile).unwrap();
    let wanted = ", 25 % at the kernel's ticks (threads that are short or switch often; work that is timed by them may be over- or \
                  undercounted); ";
    assert!(text.contains(wanted), "{text}");
    assert_eq!(recording_in_json(&profile)["by_ticks_seconds"], 0.25);
    // That threads of one program wait longer for each other is in no figure.
    profile.meta.own_cost = Some(Nanos(20_000_000));
    let text = report().render(&profile).unwrap();
    assert!(text.contains("; own cost 2.0 %; "), "{text}");
    for number in 2..4 {
        profile.threads.push(Thread {
            number,
            ..Thread::default()
        });
    }
    let text = report().render(&profile).unwrap();
    let wanted = "; own cost at least 2.0 % (not counted: threads that switch often may wait longer for each other); ";
    assert!(text.contains(wanted), "{text}");
    assert_eq!(recording_in_json(&profile)["own_cost_is_least"], true);
    // Each thread begins so: what that is of a long one is not worth a word.
    profile.meta.by_ticks = Some(Nanos(8_000_000));
    assert!(
        !report()
            .render(&profile)
            .unwrap()
            .contains("ticks (threads")
    );
    assert_eq!(recording_in_json(&profile)["by_ticks_seconds"], 0.008);
}

#[test]
fn the_own_cost_of_many_short_processes_is_a_lower_bound() {
    let mut profile = in_ticks(&[(1_000_000, 1_000_000); 30]);
    profile.meta.own_cost = Some(Nanos(18_000_000));
    let text = report().render(&profile).unwrap();
    let wanted = "own cost at least 30.0 % (not counted: processes start and end more slowly, and profundo's own process); ";
    assert!(text.contains(wanted), "{text}");
    assert_eq!(recording_in_json(&profile)["own_cost_is_least"], true);
    // One program of the same length is measured whole.
    let mut profile = in_ticks(&[(30_000_000, 30_000_000)]);
    profile.meta.own_cost = Some(Nanos(18_000_000));
    let text = report().render(&profile).unwrap();
    assert!(text.contains("; own cost 30.0 %; "), "{text}");
    assert_eq!(recording_in_json(&profile)["own_cost_is_least"], false);
}

fn recording_in_json(profile: &Profile) -> serde_json::Value {
    let json = Summary::new().json(profile).unwrap();
    let mut document: serde_json::Value = serde_json::from_str(&json).unwrap();
    document["recording"].take()
}

#[test]
fn unseen_threads_are_not_counted_silently() {
    let mut profile = in_ticks(&[(900_000_000, 0), (0, 0)]);
    profile.meta.engine = Engine::ProcPoll;
    let text = Summary::new().render(&profile).unwrap();
    assert!(text.contains("2 processes · 1 thread that ran"), "{text}");
    profile.processes.truncate(1);
    let text = Summary::new().render(&profile).unwrap();
    assert!(text.contains("1 process · 1 thread\n"), "{text}");
}

#[test]
fn rows_without_samples_come_with_the_reason() {
    let mut profile = in_ticks(&[(1_000_000, 0), (2_000_000, 0)]);
    profile.samples.clear();
    for process in &mut profile.processes {
        process.end = ProcessEnd::Exited(127);
    }
    settle(&mut profile);
    let text = Summary::new().render(&profile).unwrap();
    assert!(text.contains("[too short to be sampled]"), "{text}");
    let wanted = "Warning: no samples were taken: the program ended with exit code 127 ";
    assert!(text.contains(wanted), "{text}");
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
fn unknown_figures_are_left_out() {
    let mut profile = recorded();
    profile.meta = Meta {
        engine: Engine::CpuTimer,
        ..Meta::default()
    };
    check_end(
        &profile,
        report(),
        expect![
            "Quality: 998 samples, 0 lost, 0 truncated, 0 broken; cpu-timer, at the kernel's ticks (work that is timed by them may be over- or undercounted); shares are ± 3.1 points (95 %)."
        ],
    );
    check_end(&app(), report(), expect![[""]]);
    check_end(
        &app(),
        report().quality(true),
        expect!["Quality: 8 samples, 0 lost, 0 truncated, 0 broken; every 1.000 ms."],
    );
}

#[test]
fn samples_that_count_as_several_are_distinguished() {
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
            Quality: 0.004 s of 1.000 s CPU time sampled (0.4 %); 1 sample, 7 lost, 0 truncated, 1 broken; perf-signal every 1.000 ms; own cost 0.6 %."#]],
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
fn a_part_of_few_samples_has_no_margin() {
    check_end(
        &app(),
        report().quality(true).threads(2),
        expect!["Quality: 8 samples, 0 lost, 0 truncated, 0 broken; every 1.000 ms."],
    );
}

/// The line on quality of the first screen.
fn plainly(profile: &Profile) -> String {
    let text = Summary::new().render(profile).unwrap();
    let line = text.lines().find_map(|line| line.strip_prefix("Quality: "));
    line.unwrap_or_else(|| panic!("{text}")).to_owned()
}

#[test]
fn the_first_screen_has_the_quality_in_words() {
    let mut profile = in_ticks(&[(900_000_000, 100_000_000)]);
    assert_eq!(
        plainly(&profile),
        "good. 998 samples cover all of 1.00 s CPU time. Of the samples, 2 cut short (truncated). Own cost 0.6 %."
    );
    // More than a hundredth has no callers, then more than a twentieth.
    profile.meta.loss.broken = 30;
    assert!(plainly(&profile).starts_with("fair. 998 samples"));
    profile.meta.loss.broken = 60;
    assert!(plainly(&profile).starts_with("poor. 998 samples"));
    assert!(plainly(&profile).contains("60 without their callers (broken)"));
    // A tenth of the time was not sampled, then a half.
    profile.meta.loss = Loss::default();
    profile.processes[0].user = Some(Nanos(1_000_000_000));
    assert!(plainly(&profile).starts_with("fair. 998 samples cover 90.7 %"));
    profile.processes[0].user = Some(Nanos(1_900_000_000));
    assert!(plainly(&profile).starts_with("poor. 998 samples cover 49.9 %"));
    // Of unknown time nothing is called good.
    profile.processes[0].user = None;
    profile.processes[0].system = None;
    profile.meta.cpu = None;
    assert!(plainly(&profile).starts_with("998 samples."));
    // What a ring gave up for newer samples is no flaw.
    let mut profile = in_ticks(&[(900_000_000, 100_000_000)]);
    profile.meta.loss.overwritten = 500;
    let text = plainly(&profile);
    assert!(
        text.starts_with("good. ") && text.contains("500 overwritten by newer ones"),
        "{text}"
    );
}
