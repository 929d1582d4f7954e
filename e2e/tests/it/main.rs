//! The targets as child processes: they must end as they would without a profiler. A target checks
//! its own profile, and panics if that is wrong.
//!
//! They run one at a time, because they measure CPU time on the same few processors.

mod capabilities;
mod debugger;
mod exits;
mod plugins;
mod run;

use run::{Target, on_each_engine};

#[test]
fn threads_that_start_and_end_all_the_time() {
    on_each_engine(|engine| {
        let storm = Target::new(env!("CARGO_BIN_EXE_storm"));
        storm
            .with(&["threads", engine])
            .assert_prints("the storm is over");
    });
}

#[test]
fn unwinding_all_the_time() {
    on_each_engine(|engine| {
        let storm = Target::new(env!("CARGO_BIN_EXE_storm"));
        storm
            .with(&["panics", engine])
            .assert_prints("the storm is over");
    });
}

#[test]
fn threads_on_the_wall_clock() {
    let storm = Target::new(env!("CARGO_BIN_EXE_storm"));
    storm.with(&["wall"]).assert_prints("the storm is over");
}

#[test]
fn an_allocator_that_the_handler_must_not_call() {
    on_each_engine(|engine| {
        let allocator = Target::new(env!("CARGO_BIN_EXE_allocator"));
        allocator
            .with(&[engine])
            .assert_prints("the handler never allocated");
    });
}

#[test]
fn errno_registers_and_waiting_calls_are_left_alone() {
    on_each_engine(|engine| {
        for what in ["errno", "floats", "calls", "calls-wall"] {
            let calm = Target::new(env!("CARGO_BIN_EXE_calm"));
            calm.with(&[what, engine])
                .assert_prints("nothing was noticed");
        }
    });
}

#[test]
fn children_are_free() {
    on_each_engine(|engine| {
        let children = || Target::new(env!("CARGO_BIN_EXE_children"));
        let fork = children().with(&["fork", engine]);
        fork.assert_prints("the parent is well");
        let spawn = children().with(&["spawn", engine]);
        spawn.assert_prints("the children ended as they should");
        for how in ["exec", "exec-after-stop"] {
            let exec = children().with(&[how, engine]);
            exec.assert_prints("the new program is well");
        }
    });
}

#[test]
fn signal_stacks_coroutines_deep_and_small_stacks() {
    on_each_engine(|engine| {
        for what in ["signal", "coroutine", "small", "deep"] {
            let stacks = Target::new(env!("CARGO_BIN_EXE_stacks"));
            stacks
                .with(&[what, engine])
                .assert_prints("all stacks are well");
        }
    });
}

#[test]
fn other_users_of_the_signals() {
    on_each_engine(|engine| {
        for what in ["chain", "urg", "blocked", "closed"] {
            let users = Target::new(env!("CARGO_BIN_EXE_users"));
            let users = users.with(&[what, engine]);
            users.assert_prints("all users got their signals");
        }
        let dies = Target::new(env!("CARGO_BIN_EXE_users"));
        dies.with(&["traps-die", engine])
            .assert_killed_by(libc::SIGTRAP);
    });
    let taken = Target::new(env!("CARGO_BIN_EXE_users"));
    taken
        .with(&["trap-before"])
        .assert_prints("all users got their signals");
}

#[test]
fn a_crowd_and_many_sessions() {
    on_each_engine(|engine| {
        let crowd = Target::new(env!("CARGO_BIN_EXE_crowd"));
        crowd
            .with(&[engine])
            .assert_prints("the crowd has gone home");
    });
}

#[test]
fn readers_while_samples_are_taken() {
    for what in ["keep", "ring"] {
        let readers = Target::new(env!("CARGO_BIN_EXE_readers"));
        readers.with(&[what]).assert_prints("no sample was torn");
    }
}
