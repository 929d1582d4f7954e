//! Warnings that a reader must not miss.

use expect_test::expect;
use profundo_model::{LocationKind, Nanos, Profile};
use profundo_report::{Format, GroupBy, Unit};

use crate::fixture::{app, check, empty, report, samples};

#[test]
fn no_samples_at_all() {
    let profile = Profile::default();
    check(
        &profile,
        report().c(true),
        expect![[r#"
        Overhead ╎ [+additional indent] Count File:Line  Function
        =========================================================
        Warning: no samples were collected. Please run the program longer (perhaps by running it several times), or adjust the delay between samples with `profundo::init`.
    "#]],
    );
    check(
        &profile,
        report().c(true).format(Format::Flat),
        expect![[r#"
            Warning: no samples were collected. Please run the program longer (perhaps by running it several times), or adjust the delay between samples with `profundo::init`.
        "#]],
    );
    check(
        &profile,
        report().group_by(GroupBy::Thread),
        expect![[r#"
        Overhead ╎ [+additional indent] Count File:Line  Function
        =========================================================
        Warning: no samples were collected. Please run the program longer (perhaps by running it several times), or adjust the delay between samples with `profundo::init`.
    "#]],
    );
}

#[test]
fn one_sample_without_a_name() {
    let (mut profile, thread, task) = empty();
    let unknown = profile.locations.intern(LocationKind::Invented(1), None);
    samples(&mut profile, 1, &[unknown], thread, task);
    check(
        &profile,
        report(),
        expect![[r#"
        Overhead ╎ [+additional indent] Count File:Line  Function
        =========================================================
        Warning: no samples were collected outside C frames. Show these with `c(true)`, run the program longer (perhaps by running it several times), or adjust the delay between samples with `profundo::init`.
    "#]],
    );
    check(
        &profile,
        report().format(Format::Flat),
        expect![[r#"
        Warning: no samples were collected outside C frames. Show these with `c(true)`, run the program longer (perhaps by running it several times), or adjust the delay between samples with `profundo::init`.
    "#]],
    );
    check(
        &profile,
        report().format(Format::Functions),
        expect![[r#"
            Warning: no samples were collected outside C frames. Show these with `c(true)`, run the program longer (perhaps by running it several times), or adjust the delay between samples with `profundo::init`.
            Note: 1 sample is too few for shares: a longer run or a shorter `delay` gives more.
        "#]],
    );
}

#[test]
fn no_such_thread() {
    check(
        &app(),
        report().threads(7).format(Format::Flat),
        expect![[r#"
            Warning: no samples were collected in the threads and tasks asked for. Ask for more of them, run the program longer (perhaps by running it several times), or adjust the delay between samples with `profundo::init`.
        "#]],
    );
    check(
        &app(),
        report().threads(7).group_by(GroupBy::ThreadTask),
        expect![[r#"
            Overhead ╎ [+additional indent] Count File:Line  Function
            =========================================================
            Warning: no samples were collected in the threads and tasks asked for. Ask for more of them, run the program longer (perhaps by running it several times), or adjust the delay between samples with `profundo::init`.
        "#]],
    );
}

#[test]
fn no_allocations() {
    check(
        &Profile::default(),
        report().unit(Unit::Bytes),
        expect![[r#"
            Overhead ╎ [+additional indent] Count File:Line  Function
            =========================================================
            Warning: no samples were collected. Please run the program longer (perhaps by running it several times), or record every allocation with a sample rate of 1.0.
        "#]],
    );
}

#[test]
fn a_buffer_that_filled_up() {
    let mut profile = app();
    profile.meta.buffer_was_full = true;
    check(
        &profile,
        report().maxdepth(0),
        expect![[r#"
        Overhead ╎ [+additional indent] Count File:Line  Function
        =========================================================
         ╎8 @App/app.jl:10  main()
        Total snapshots: 8. Utilization: 100% across all threads and tasks. Use `group_by` to break down by thread and/or task.
        Warning: the profile data buffer is full; profiling probably ended before the program did. To profile for longer, call `profundo::init` with a larger buffer or delay.
    "#]],
    );
}

#[test]
fn a_command_gets_no_advice_on_rust() {
    use profundo_report::{Choices, Filter, GroupBy, Hidden};
    let last = |profile: &profundo_model::Profile, choices: Choices| {
        let report = report().choices(choices).group_by(GroupBy::None);
        let text = report.render(profile).unwrap();
        text.lines().last().unwrap().to_owned()
    };
    let command = Choices::command;
    let (empty, ..) = crate::fixture::empty();
    let rows = [
        last(&crate::fixture::app(), command()),
        last(&empty, command()),
        last(
            &crate::fixture::app(),
            command().filter(Filter::default().thread("9")),
        ),
        last(
            &crate::fixture::one_stack(&[profundo_model::FrameKey {
                function: "c",
                ..profundo_model::FrameKey::default()
            }]),
            command().hidden(Hidden::C),
        ),
    ];
    expect![[r#"
        Total snapshots: 8. Utilization: 100% across all threads and tasks.
        Warning: no samples were taken: the program used too little CPU time to be seen. Run it for longer, or sample it more often.
        Warning: no samples pass the filter.
        Warning: all that was sampled is hidden: plumbing of an interpreter, or code that is not your own."#]].assert_eq(&rows.join("\n"));
}

#[test]
fn a_process_that_sleeps_on_was_not_too_short() {
    use profundo_model::ProcessEnd;
    use profundo_report::{Choices, GroupBy};
    let said = |end, processes, ended| {
        let mut profile = crate::mixed::Maker::new().profile;
        profile.meta.duration = Nanos(50_000_000);
        profile.processes.truncate(1);
        profile.processes[0].end = end;
        (profile.processes[0].user, profile.processes[0].system) = (None, None);
        profile.processes[0].ended = ended;
        let child = profundo_model::Process {
            pid: profile.processes[0].pid + 1,
            ..profile.processes[0].clone()
        };
        profile.processes.resize(processes, child);
        let report = report().choices(Choices::command());
        let text = report.group_by(GroupBy::None).render(&profile).unwrap();
        text.lines()
            .find(|line| line.starts_with("Warning"))
            .unwrap()
            .to_owned()
    };
    let rows = [
        said(ProcessEnd::Unknown, 1, Some(Nanos(50_000_000))),
        said(ProcessEnd::Unknown, 2, Some(Nanos(50_000_000))),
        // Its end was not seen, so it is unknown whether it has left the other.
        said(ProcessEnd::Unknown, 2, None),
        said(ProcessEnd::Exited(0), 1, Some(Nanos(50_000_000))),
    ];
    expect![[r#"
        Warning: no samples were taken: the program waited nearly all the time (0 s of 50.0 ms on a CPU): `--wall` records where. With `--no-children`, what its children do is left out.
        Warning: no samples were taken: the program waited nearly all the time (0 s of 50.0 ms on a CPU): `--wall` records where.
        Warning: no samples were taken: the program waited nearly all the time (0 s of 50.0 ms on a CPU): `--wall` records where.
        Warning: no samples were taken: the program ended after less than 10 ms of CPU time, which is short for a sample every 1.00 ms: `-r` samples more often, and `profundo time` measures what is short."#]].assert_eq(&rows.join("\n"));
}
