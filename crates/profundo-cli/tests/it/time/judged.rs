//! Figures, against what the program says that it has taken.

use super::{Told, Tree};
use crate::machine::skip;
use crate::refused::{Refusing, has_perf};

/// CPU time is the program's own, whoever else wants the CPUs; what comes on top is the start of processes.
#[track_caller]
fn has_taken(told: &Told, seconds: f64) {
    let cpu = told.cpu();
    let few = seconds * 0.97..seconds * 1.25 + 0.1;
    assert!(few.contains(&cpu), "{cpu} in place of {seconds}: {told:?}");
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
        let told = tree.told(way, "40");
        has_taken(&told, 0.4);
        if let Some(found) = told.number("processes") {
            assert_eq!(
                (found, told.known("threads")),
                (processes, threads),
                "{way}: {told:?}"
            );
            assert_eq!(told.known("still_running"), 0.0, "{way}: {told:?}");
            // Both clocks are the kernel's, and differ by what interrupts and other machines take.
            let unwaited = told.known("unwaited_seconds");
            assert!(unwaited < 0.1, "{way}: {told:?}");
        }
        assert!(told.known("real_seconds") > 0.1, "{way}: {told:?}");
        assert_eq!(told.known("exit_code"), 0.0);
    }
}

#[test]
fn what_nobody_waits_for_is_counted_too() {
    if !has_perf() {
        return;
    }
    let Some(tree) = Tree::new() else { return };
    for (way, processes, running) in [
        ("double", 3.0, 0.0),
        ("ignored", 11.0, 0.0),
        ("left", 2.0, 1.0),
    ] {
        let told = tree.told(way, "40");
        has_taken(&told, 0.4);
        assert!(told.known("unwaited_seconds") > 0.3, "{way}: {told:?}");
        assert_eq!(told.known("processes"), processes, "{way}: {told:?}");
        assert_eq!(told.known("still_running"), running, "{way}: {told:?}");
        // The work is all in the program.
        assert!(told.known("user_seconds") > 0.25, "{way}: {told:?}");
        assert!(
            told.0.contains("of processes that nobody waited for"),
            "{told:?}"
        );
        assert_eq!(
            told.0.contains("still ran at its end"),
            running > 0.0,
            "{told:?}"
        );
    }
}

#[test]
fn who_runs_on_is_counted_beside_many_that_end() {
    if !has_perf() {
        return;
    }
    let Some(tree) = Tree::new() else { return };
    // The counter has less of each process that ends than its parent's account.
    let told = tree.told("many", "40");
    // Which the kernel tells in ticks, of user and sys each.
    assert!(told.known("unwaited_seconds") >= 0.37, "{told:?}");
    assert!(told.0.contains("still ran at its end"), "{told:?}");
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
    let told = Told(refusing.said(libc::EPERM, &calls, &words).err);
    assert!(told.cpu() < 0.2, "{told:?}");
    for name in ["unwaited_seconds", "processes", "threads", "still_running"] {
        assert_eq!(told.number(name), None, "{name}: {told:?}");
    }
    let words = ["time", "--width", "200", "--", program, "waited", "30"];
    let said = refusing.said(libc::EPERM, &calls, &words);
    let why = "Note: processes that nobody waited for are missing in all figures: perf_event_open is refused \
               (operation not permitted): a seccomp filter forbids it";
    assert!(said.err.contains(why), "{said:#?}");
    // And the three lines are three lines all the same.
    let words = ["time", "-p", "--", program, "waited", "30"];
    let said = refusing.said(libc::EPERM, &calls, &words);
    assert_eq!(said.err.lines().count(), 3, "{said:#?}");
}

#[test]
fn the_kernels_part_is_told_apart() {
    let Some(tree) = Tree::new() else { return };
    let told = tree.told("kernel", "60");
    let system = told.known("system_seconds");
    assert!(system > told.cpu() * 0.5, "{told:?}");
    assert!(told.0.contains("% of the CPU time is sys"), "{told:?}");
    let told = tree.told("alone", "60");
    let system = told.known("system_seconds");
    assert!(system < told.cpu() * 0.3, "{told:?}");
}

#[test]
fn memory_and_bytes_are_the_programs() {
    let Some(tree) = Tree::new() else { return };
    let told = tree.told("memory", "100");
    let peak = told.known("peak_resident_bytes");
    let bytes = f64::from(100 << 20);
    assert!((bytes..bytes * 1.1).contains(&peak), "{told:?}");
    let faults = told.known("minor_faults");
    assert!((25_600.0..26_600.0).contains(&faults), "{told:?}");
    let told = tree.told("bytes", "30");
    let bytes = f64::from(30 << 20);
    for name in ["read_bytes", "written_bytes"] {
        // The loader reads libraries, too.
        assert!(
            (bytes..bytes + 2e6).contains(&told.known(name)),
            "{name}: {told:?}"
        );
    }
}

#[test]
fn a_small_program_is_small() {
    let Some(tree) = Tree::new() else { return };
    let told = tree.told("alone", "0");
    // It has no more than that, or less than can be told: not our own size.
    assert!(told.known("peak_resident_bytes") < 6e6, "{told:?}");
    assert!(told.known("minor_faults") < 1000.0, "{told:?}");
}

#[test]
fn waiting_is_no_work() {
    let Some(tree) = Tree::new() else { return };
    let program = tree.program.to_str().unwrap();
    let script = format!("sleep 0.4; {program} alone 5; sleep 0.3");
    let said = tree
        .folder
        .said(&["time", "--json", "--", "sh", "-c", &script]);
    let told = Told(said.err);
    assert!(told.known("real_seconds") >= 0.75, "{told:?}");
    assert!(told.cpu() < 0.4, "{told:?}");
    assert!(
        told.0.contains("`profundo run --wall` shows where"),
        "{told:?}"
    );
}

#[test]
fn who_dies_of_a_signal_has_taken_what_it_has_taken() {
    let Some(tree) = Tree::new() else { return };
    let said = tree.said(&["--json"], "killed", "30");
    assert_eq!(said.signal, Some(libc::SIGKILL), "{said:#?}");
    let told = Told(said.err);
    has_taken(&told, 0.3);
    assert_eq!(told.number("exit_code"), None);
    assert_eq!(told.known("signal"), 9.0);
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
    let plain = there.said(&["time", "--json", "--", path, "waited", "30"]);
    let told = Told(plain.err);
    if told.0.is_empty() {
        return skip("nobody may not run it");
    }
    has_taken(&told, 0.3);
    // Nobody's program becomes root's: the kernel stops counting for who may not look into it.
    for name in ["unwaited_seconds", "processes", "still_running"] {
        assert_eq!(told.number(name), None, "{name}: {told:?}");
    }
    // What it has read is added to our own account when it is waited for.
    assert!(told.number("read_bytes") > Some(0.0), "{told:?}");
}
