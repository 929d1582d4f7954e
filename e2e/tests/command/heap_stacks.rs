//! Allocations keep their lines, however many stacks a program has and whatever the recorder does
//! meanwhile.

use profundo_model::{LocationKind, Profile, Reason};

use crate::heap::{amount, lines, marked};
use crate::program::Program;
use crate::targets::{c, pythons_for, source, with_version};

/// The number of blocks whose stacks were not kept.
fn blocks_without_stack(profile: &Profile) -> u64 {
    let sites = profile.heap.sites.iter();
    let of = sites.filter(|site| {
        let mut locations = profile.stacks.locations(site.stack);
        locations.any(|location| {
            profile.locations.get(location).kind == LocationKind::Reason(Reason::NotKept)
        })
    });
    of.map(|site| site.allocated.count).sum()
}

#[test]
fn half_a_million_stacks_keep_their_lines() {
    let Some(target) = c("many_stacks.c", &["-O1", "-fno-builtin"]) else {
        return;
    };
    let program = Program::new(target).options(&["--memory=exact"]);
    let recording = program.slack(120.0).run_both_ways();
    let profile = &recording.profile;
    let found = lines(profile, "many_stacks.c", |_| true);
    let source = source("many_stacks.c");
    let line = |comment: &str| found[&marked(&source, comment)];
    let many = line("// many");
    assert_eq!(many.allocated, amount(1 << 19, 16 << 19));
    assert_eq!((many.live, many.temporary), (amount(0, 0), 1 << 19));
    let last = line("// last");
    assert_eq!(
        (last.allocated, last.live),
        (amount(100, 100_000_000), amount(100, 100_000_000))
    );
    let stacks = profile.heap.sites.len();
    assert!(stacks > 1 << 19, "{stacks}");
    assert_eq!(blocks_without_stack(profile), 0);
    // Most of the program's time is the cost of counting. That is measured by the cycle counter,
    // which goes on while the thread has lost its CPU.
    let (user, system) = profile.cpu_used().unwrap();
    let (counting, used) = (profile.meta.own_cost.unwrap().0, user.0 + system.0);
    assert!(
        counting > used / 4 && counting < used + used / 4,
        "{counting} of {used} ns"
    );
}

/// A stack is recognized by its registers and words, also where it leads through generated code
/// that is replaced.
#[test]
#[cfg(target_arch = "x86_64")]
fn blocks_of_generated_code_have_their_callers() {
    let Some(target) = c("generated_blocks.c", &["-O1", "-fno-builtin"]) else {
        return;
    };
    let program = Program::new(target).options(&["--memory=exact"]);
    let recording = program.slack(20.0).run_both_ways();
    let profile = &recording.profile;
    let block = marked(&source("generated_blocks.c"), "// block");
    let found = lines(profile, "generated_blocks.c", |_| true);
    assert_eq!(found[&block].allocated, amount(120_000, 48 * 120_000));
    assert_eq!(found[&block].live, amount(0, 0));
    let whole = profile.heap.sites.iter().filter(|site| {
        let locations = profile.stacks.locations(site.stack);
        let frames = locations.flat_map(|location| profile.locations.get(location).frames.iter());
        let names: Vec<&str> = frames.map(|&frame| profile.function_name(frame)).collect();
        ["block", "through", "main"]
            .iter()
            .all(|name| names.contains(name))
    });
    let blocks: u64 = whole.map(|site| site.allocated.count).sum();
    assert_eq!(blocks, 120_000);
}

/// The recorder does not run while the children do, as on a machine that has too much to do.
#[test]
fn children_of_forks_keep_their_lines_while_the_recorder_is_stopped() {
    let path = source("known_forks.py");
    for python in pythons_for("known_forks.py") {
        let program = Program::new(&python.path).with(&[&path]);
        let recording = program
            .options(&["--memory=exact"])
            .slack(120.0)
            .run_both_ways();
        let found = lines(&recording.profile, "known_forks.py", |_| true);
        for (comment, times) in [
            ("# child", 2),
            ("# grandchild", 1),
            ("# killed", 1),
            ("# executes", 1),
        ] {
            let line = found.get(&marked(&path, comment)).copied();
            let bytes = line.unwrap_or_default().allocated.bytes;
            let expected = times * 4_000_000;
            assert!(
                (expected..expected + 2000).contains(&bytes),
                "{python:?}: {comment}: {bytes}: {found:#?}"
            );
        }
        assert_eq!(blocks_without_stack(&recording.profile), 0, "{python:?}");
    }
}

/// The program can open no descriptor and no file. The agent has mapped what it needs before.
#[test]
fn a_program_that_can_open_nothing_keeps_its_lines() {
    let Some(target) = c("confined.c", &["-O1", "-fno-builtin", "-pthread"]) else {
        return;
    };
    let program = Program::new(target).options(&["--memory=exact"]);
    let recording = program.slack(120.0).run_both_ways();
    let profile = &recording.profile;
    let found = lines(profile, "confined.c", |_| true);
    let many = found[&marked(&source("confined.c"), "// many")];
    assert_eq!(many.allocated, amount(4 << 14, 64 << 14));
    assert_eq!(many.temporary, 4 << 14);
    assert_eq!(blocks_without_stack(profile), 0);
}

#[test]
fn children_of_every_kind_keep_their_lines() {
    let Some(target) = c("known_forks.c", &["-O1", "-fno-builtin", "-pthread"]) else {
        return;
    };
    let program = Program::new(target).options(&["--memory=exact"]);
    let recording = program.slack(120.0).run_both_ways();
    let profile = &recording.profile;
    let found = lines(profile, "known_forks.c", |_| true);
    let source = source("known_forks.c");
    for (comment, blocks) in [("// child", 24), ("// grandchild", 3), ("// program", 6)] {
        let line = found.get(&marked(&source, comment)).copied();
        let expected = amount(blocks, blocks * 1_000_000);
        assert_eq!(line.unwrap_or_default().allocated, expected, "{comment}");
    }
    assert_eq!(blocks_without_stack(profile), 0);
}

/// Threads without a share of their own use a common one, and none of them waits for a thread that
/// has lost its CPU.
#[test]
fn a_thousand_threads_at_once_keep_their_line() {
    let Some(target) = c("crowd.c", &["-O1", "-fno-builtin", "-pthread"]) else {
        return;
    };
    let program = Program::new(target).options(&["--memory=exact"]);
    let recording = program.slack(120.0).run_both_ways();
    let profile = &recording.profile;
    let found = lines(profile, "crowd.c", |_| true);
    let each = found[&marked(&source("crowd.c"), "// each")];
    assert_eq!(each.allocated, amount(200_000, 20_000_000));
    assert_eq!(each.live, amount(0, 0));
    assert_eq!(blocks_without_stack(profile), 0);
}

/// Calls a function that never comes back: what it calls leaves the interpreter from within.
const LEFT: &str = "
import ctypes, sys
library = ctypes.PyDLL(sys.argv[1])
call = ctypes.PYFUNCTYPE(None)(lambda: library.leave())
library.enter(call)
";

#[test]
fn an_interpreter_that_was_left_without_its_notice_is_no_obstacle() {
    let flags = ["-O1", "-fno-builtin", "-shared", "-fPIC"];
    let Some(library) = c("left_interpreter.c", &flags) else {
        return;
    };
    for python in with_version((3, 12), pythons_for("left_interpreter.c")) {
        for options in [&["--memory=exact"][..], &["--memory"]] {
            let program = Program::new(&python.path).with(&["-c", LEFT]);
            program.with(&[&library]).options(options).run_both_ways();
        }
    }
}
