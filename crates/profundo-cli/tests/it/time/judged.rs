//! Figures, against what the program says that it has taken.

use profundo_testing::skip;

use super::{Figures, Tree};
use crate::refused::{Refusing, has_perf};

/// CPU time is the program's own, whatever the load of the machine; only the start of processes is
/// added.
#[track_caller]
fn has_taken(figures: &Figures, seconds: f64) {
    let cpu = figures.cpu();
    let few = seconds * 0.97..seconds * 1.25 + 0.1;
    assert!(
        few.contains(&cpu),
        "{cpu} in place of {seconds}: {figures:?}"
    );
}

#[test]
fn what_is_waited_for_is_counted_once() {
    let Some(tree) = Tree::new() else { return };
    for (way, processes, threads) in [
        ("alone", 1.0, 1.0),
        ("waited", 2.0, 2.0),
        ("threads", 1.0, 4.0),
        ("exec", 1.0, 1.0),
    ] {
        let figures = tree.figures(way, "40");
        has_taken(&figures, 0.4);
        if let Some(found) = figures.number("processes") {
            assert_eq!(
                (found, figures.known("threads")),
                (processes, threads),
                "{way}: {figures:?}"
            );
            assert_eq!(figures.known("still_running"), 0.0, "{way}: {figures:?}");
            // Both clocks are the kernel's, and differ by what interrupts and other machines take.
            let unwaited = figures.known("unwaited_seconds");
            assert!(unwaited < 0.1, "{way}: {figures:?}");
        }
        assert!(figures.known("real_seconds") > 0.1, "{way}: {figures:?}");
        assert_eq!(figures.known("exit_code"), 0.0);
    }
}

#[test]
fn unwaited_processes_are_counted_too() {
    if !has_perf() {
        return;
    }
    let Some(tree) = Tree::new() else { return };
    for (way, processes, running) in [
        ("double", 3.0, 0.0),
        ("ignored", 11.0, 0.0),
        ("left", 2.0, 1.0),
    ] {
        let figures = tree.figures(way, "40");
        has_taken(&figures, 0.4);
        assert!(
            figures.known("unwaited_seconds") > 0.3,
            "{way}: {figures:?}"
        );
        assert_eq!(figures.known("processes"), processes, "{way}: {figures:?}");
        assert_eq!(
            figures.known("still_running"),
            running,
            "{way}: {figures:?}"
        );
        // The work is all in the program.
        assert!(figures.known("user_seconds") > 0.25, "{way}: {figures:?}");
        assert!(
            figures.0.contains("of processes that nobody waited for"),
            "{figures:?}"
        );
        assert_eq!(
            figures.0.contains("still ran at its end"),
            running > 0.0,
            "{figures:?}"
        );
    }
}

#[test]
fn a_process_that_runs_on_is_counted_beside_many_that_end() {
    if !has_perf() {
        return;
    }
    let Some(tree) = Tree::new() else { return };
    // The counter has less of each process that ends than its parent's account.
    let figures = tree.figures("many", "40");
    // The kernel counts in ticks, user and sys apart.
    assert!(figures.known("unwaited_seconds") >= 0.37, "{figures:?}");
    assert!(figures.0.contains("still ran at its end"), "{figures:?}");
}

#[test]
fn where_perf_is_refused_it_is_said_what_is_missing() {
    let Some(refusing) = Refusing::new() else {
        return;
    };
    let Some(tree) = Tree::new() else { return };
    let program = tree.program.to_str().unwrap();
    let calls = [libc::SYS_perf_event_open];
    let words = ["time", "--json", "--", program, "double", "30"];
    let figures = Figures(refusing.run(libc::EPERM, &calls, &words).err);
    assert!(figures.cpu() < 0.2, "{figures:?}");
    for name in ["unwaited_seconds", "processes", "threads", "still_running"] {
        assert_eq!(figures.number(name), None, "{name}: {figures:?}");
    }
    let words = ["time", "--width", "200", "--", program, "waited", "30"];
    let outcome = refusing.run(libc::EPERM, &calls, &words);
    let why = "Note: processes that nobody waited for are missing in all figures: perf_event_open is refused \
               (operation not permitted): a seccomp filter forbids it";
    assert!(outcome.err.contains(why), "{outcome:#?}");
    // And the three lines are three lines all the same.
    let words = ["time", "-p", "--", program, "waited", "30"];
    let outcome = refusing.run(libc::EPERM, &calls, &words);
    assert_eq!(outcome.err.lines().count(), 3, "{outcome:#?}");
}

#[test]
fn the_kernels_part_is_reported_apart() {
    let Some(tree) = Tree::new() else { return };
    let figures = tree.figures("kernel", "60");
    let system = figures.known("system_seconds");
    assert!(system > figures.cpu() * 0.5, "{figures:?}");
    assert!(
        figures.0.contains("% of the CPU time is sys"),
        "{figures:?}"
    );
    let figures = tree.figures("alone", "60");
    let system = figures.known("system_seconds");
    assert!(system < figures.cpu() * 0.3, "{figures:?}");
}

#[test]
fn memory_and_bytes_are_the_programs() {
    let Some(tree) = Tree::new() else { return };
    let figures = tree.figures("memory", "100");
    let peak = figures.known("peak_resident_bytes");
    let bytes = f64::from(100 << 20);
    assert!((bytes..bytes * 1.1).contains(&peak), "{figures:?}");
    let faults = figures.known("minor_faults");
    assert!((25_600.0..26_600.0).contains(&faults), "{figures:?}");
    let figures = tree.figures("bytes", "30");
    let bytes = f64::from(30 << 20);
    for name in ["read_bytes", "written_bytes"] {
        // The loader reads libraries, too.
        assert!(
            (bytes..bytes + 2e6).contains(&figures.known(name)),
            "{name}: {figures:?}"
        );
    }
}

#[test]
fn a_small_program_is_small() {
    let Some(tree) = Tree::new() else { return };
    let figures = tree.figures("alone", "0");
    // It has no more than that, or too little to be measured: not our own size.
    assert!(figures.known("peak_resident_bytes") < 6e6, "{figures:?}");
    assert!(figures.known("minor_faults") < 1000.0, "{figures:?}");
}

#[test]
fn waiting_is_no_work() {
    let Some(tree) = Tree::new() else { return };
    let program = tree.program.to_str().unwrap();
    let script = format!("sleep 0.4; {program} alone 5; sleep 0.3");
    let outcome = tree
        .folder
        .run(&["time", "--json", "--", "sh", "-c", &script]);
    let figures = Figures(outcome.err);
    assert!(figures.known("real_seconds") >= 0.75, "{figures:?}");
    assert!(figures.cpu() < 0.4, "{figures:?}");
    assert!(
        figures.0.contains("`profundo run --wall` shows where"),
        "{figures:?}"
    );
}

#[test]
fn a_program_that_dies_of_a_signal_has_its_figures() {
    let Some(tree) = Tree::new() else { return };
    let outcome = tree.run(&["--json"], "killed", "30");
    assert_eq!(outcome.signal, Some(libc::SIGKILL), "{outcome:#?}");
    let figures = Figures(outcome.err);
    has_taken(&figures, 0.3);
    assert_eq!(figures.number("exit_code"), None);
    assert_eq!(figures.known("signal"), 9.0);
}

#[test]
fn a_program_with_anothers_rights_is_counted_as_far_as_may_be() {
    use std::os::unix::fs::PermissionsExt;
    let Some(there) = crate::users::Elsewhere::new("time") else {
        return;
    };
    let Some(tree) = Tree::new() else { return };
    let program = there.path().join("tree");
    std::fs::copy(&tree.program, &program).unwrap();
    std::fs::set_permissions(&program, std::fs::Permissions::from_mode(0o4755)).unwrap();
    let path = program.to_str().unwrap();
    let plain = there.run(&["time", "--json", "--", path, "waited", "30"]);
    let figures = Figures(plain.err);
    if figures.0.is_empty() {
        return skip("nobody may not run it");
    }
    has_taken(&figures, 0.3);
    // No user's program becomes root's: the kernel stops counting for users who may not examine it.
    for name in ["unwaited_seconds", "processes", "still_running"] {
        assert_eq!(figures.number(name), None, "{name}: {figures:?}");
    }
    // Its reads are added to our own account when it is reaped.
    assert!(figures.number("read_bytes") > Some(0.0), "{figures:?}");
}
