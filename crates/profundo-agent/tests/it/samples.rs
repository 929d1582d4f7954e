//! Samples arrive, and their weights match the CPU time.

use std::os::unix::process::ExitStatusExt;
use std::process::Command;

use crate::program;
use crate::recorder::{Options, Run, SAMPLING, compare, run};

const BURN: &str = r#"
    #define _GNU_SOURCE
    #include <fcntl.h>
    #include <pthread.h>
    #include <signal.h>
    #include <stdio.h>
    #include <stdlib.h>
    #include <string.h>
    #include <time.h>
    #include <unistd.h>
    static int ms;
    static long used(void) {
        struct timespec t;
        clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
        return t.tv_sec * 1000 + t.tv_nsec / 1000000;
    }
    static void *user(void *arg) { volatile long x = 0; while (used() < ms) for (int i = 0; i < 100000; i++) x += i; return 0; }
    static void *kernel(void *arg) {
        char *buffer = malloc(1 << 20);
        int file = open("/dev/zero", O_RDONLY);
        while (used() < ms) read(file, buffer, 1 << 20);
        return 0;
    }
    int main(int argc, char **argv) {
        ms = atoi(argv[2]);
        if (!strcmp(argv[1], "user")) user(0);
        if (!strcmp(argv[1], "kernel")) kernel(0);
        if (!strcmp(argv[1], "killed")) { ms = 100; user(0); kill(getpid(), SIGKILL); }
        if (!strcmp(argv[1], "left")) { user(0); _exit(9); }
        if (!strcmp(argv[1], "threads")) {
            pthread_t threads[4];
            for (int i = 0; i < 4; i++) pthread_create(&threads[i], 0, user, 0);
            for (int i = 0; i < 4; i++) pthread_join(threads[i], 0);
        }
        return 0;
    }"#;

fn total(run: &Run) -> f64 {
    run.first().weight.values().sum::<u64>() as f64 / 1e6
}

#[test]
fn the_weight_of_all_samples_is_the_time() {
    if !crate::clock::is_permitted() {
        return;
    }
    let timers = Options {
        timers: true,
        ..SAMPLING
    };
    for (options, tolerance) in [(SAMPLING, 0.3), (timers, 0.3)] {
        let mut command = program!("burn", BURN);
        let run = compare(options, command.args(["user", "600"]));
        let total = total(&run);
        assert!((total / 600.0 - 1.0).abs() < tolerance, "{total} ms of 600");
        assert_eq!(run.first().unreadable, 0);
    }
}

#[test]
fn system_time_is_seen() {
    if !crate::clock::is_permitted() {
        return;
    }
    for options in [
        SAMPLING,
        Options {
            timers: true,
            ..SAMPLING
        },
    ] {
        let mut command = program!("burn", BURN);
        let run = compare(options, command.args(["kernel", "800"]));
        let first = run.first();
        let total = total(&run);
        assert!((total / 800.0 - 1.0).abs() < 0.5, "{total} ms of 800");
        assert!(first.system_samples > 15, "{first:?}");
    }
}

#[test]
fn each_thread_has_its_own() {
    if !crate::clock::is_permitted() {
        return;
    }
    let options = Options {
        reuse: false,
        ..SAMPLING
    };
    let mut command = program!("burn", BURN);
    let run = compare(options, command.args(["threads", "200"]));
    let weights = &run.first().weight;
    assert_eq!(weights.len(), 5 - usize::from(!weights.contains_key(&1)));
    for (thread, weight) in weights.iter().filter(|(thread, _)| **thread != 1) {
        let ms = *weight as f64 / 1e6;
        assert!((100.0..300.0).contains(&ms), "thread {thread}: {ms} ms");
    }
}

#[test]
fn what_was_written_outlives_the_program() {
    if !crate::clock::is_permitted() {
        return;
    }
    let mut command = program!("burn", BURN);
    let killed = run(SAMPLING, command.args(["killed", "0"]));
    assert_eq!(killed.output.status.signal(), Some(libc::SIGKILL));
    assert!(killed.first().samples > 20, "{:?}", killed.first());
    assert_eq!(killed.first().ends, None);
    let mut command = program!("burn", BURN);
    let left = compare(SAMPLING, command.args(["left", "100"]));
    let (user, _) = left.first().ends.unwrap();
    assert!(user > 20_000_000);
    assert_eq!(left.first().exit_code, 9);
}

#[test]
fn nothing_is_sampled_that_should_not_be() {
    // Clocks run, but samples are not wanted: nothing is written.
    let mut command = Command::new("true");
    let run = compare(crate::recorder::NO_SAMPLES, &mut command);
    assert_eq!(run.first().samples, 0);
}
