//! Children of forks: each has a ring of its own, or none, and does no harm.

use std::process::Command;

use profundo_testing::wait_until;

use crate::program;
use crate::recorder::{NO_SAMPLES, Options, SAMPLING, compare};

#[test]
fn children_of_all_kinds_are_entered() {
    if !crate::clock::is_permitted() {
        return;
    }
    let source = r#"
        #define _GNU_SOURCE
        #include <sched.h>
        #include <stdio.h>
        #include <stdlib.h>
        #include <sys/syscall.h>
        #include <sys/wait.h>
        #include <unistd.h>
        static void burn(int ms) {
            struct timespec t;
            volatile long x = 0;
            do { for (int i = 0; i < 200000; i++) x += i; clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t); }
            while (t.tv_sec * 1000 + t.tv_nsec / 1000000 < ms);
        }
        int main(void) {
            int status;
            pid_t child = fork();
            if (!child) { burn(30); exit(1); }
            waitpid(child, &status, 0);
            printf("%d\n", WEXITSTATUS(status));
            child = vfork();
            if (!child) _exit(2);
            waitpid(child, &status, 0);
            printf("%d\n", WEXITSTATUS(status));
            child = syscall(SYS_clone, SIGCHLD, 0, 0, 0, 0);
            if (!child) { burn(10); _exit(3); }
            waitpid(child, &status, 0);
            printf("%d\n", WEXITSTATUS(status));
            /* A daemon: the middle one ends at once. */
            int ends[2];
            pipe(ends);
            child = fork();
            if (!child) {
                if (fork()) _exit(4);
                setsid();
                write(ends[1], "d", 1);
                _exit(5);
            }
            waitpid(child, &status, 0);
            char c;
            read(ends[0], &c, 1);
            printf("%d %c\n", WEXITSTATUS(status), c);
            return 6;
        }"#;
    for options in [NO_SAMPLES, SAMPLING] {
        let mut command = program!(
            "children",
            &source.replace(
                "#include <sched.h>",
                "#include <sched.h>\n#include <signal.h>\n#include <time.h>"
            )
        );
        let run = compare(options, &mut command);
        // Only its own `_exit` reports the child of a bare clone.
        assert_eq!(run.kinds().0, 1);
        assert!((3..=4).contains(&run.kinds().1), "{:?}", run.seen);
        let first = run.first();
        assert!(run.seen.iter().all(|seen| {
            seen.kind == 1
                || seen.parent_ring == first.ring as u32
                || run
                    .seen
                    .iter()
                    .any(|other| other.ring as u32 == seen.parent_ring)
        }));
        let mut codes: Vec<i32> = run.seen.iter().map(|seen| seen.exit_code).collect();
        codes.sort_unstable();
        for code in [1, 4, 5, 6] {
            assert!(codes.contains(&code), "{codes:?}");
        }
        assert!(
            !codes.contains(&2),
            "a child that borrows memory has said something"
        );
        if options.period != 0 {
            let child = run.seen.iter().find(|seen| seen.exit_code == 1).unwrap();
            assert!(child.weight[&1] > 2_000_000, "{child:?}");
        }
    }
}

#[test]
fn a_storm_of_forks() {
    let source = r#"
        #include <stdio.h>
        #include <stdlib.h>
        #include <sys/wait.h>
        #include <unistd.h>
        int main(void) {
            int sum = 0, status;
            for (int round = 0; round < 40; round++) {
                for (int i = 0; i < 10; i++)
                    if (!fork()) { volatile long x = 0; for (int k = 0; k < 100000; k++) x += k; exit(i); }
                while (wait(&status) > 0) sum += WEXITSTATUS(status);
            }
            printf("%d\n", sum);
            return 0;
        }"#;
    let mut command = program!("storm", source);
    let run = compare(SAMPLING, &mut command);
    let entered = run.seen.len() + run.starved as usize;
    assert!(
        entered >= 390,
        "{} seen, {} starved",
        run.seen.len(),
        run.starved
    );
    // With no ring to spare it is the same program.
    let mut command = program!("storm", source);
    let run = compare(
        Options {
            rings: 1,
            ..SAMPLING
        },
        &mut command,
    );
    assert_eq!(run.seen.len(), 1);
    assert!(run.starved >= 400);
}

#[test]
fn forks_while_threads_run() {
    if !crate::clock::is_permitted() {
        return;
    }
    let source = r#"
        #include <pthread.h>
        #include <stdio.h>
        #include <stdlib.h>
        #include <sys/wait.h>
        #include <unistd.h>
        static volatile int stop;
        static void *spin(void *arg) { volatile long x = 0; while (!stop) x++; return 0; }
        static void *in_child(void *arg) { return arg; }
        static void *forks(void *arg) {
            long sum = 0;
            for (int i = 0; i < 20; i++) {
                int status;
                pid_t child = fork();
                if (!child) {
                    pthread_t thread;
                    void *result;
                    if (pthread_create(&thread, 0, in_child, (void *)7)) _exit(100);
                    pthread_join(thread, &result);
                    volatile long x = 0;
                    for (int k = 0; k < 20000000; k++) x += k;
                    exit((long)result);
                }
                waitpid(child, &status, 0);
                sum += WIFEXITED(status) ? WEXITSTATUS(status) : 1000;
            }
            return (void *)sum;
        }
        int main(void) {
            pthread_t spinners[2], forkers[2];
            long sum = 0;
            for (int i = 0; i < 2; i++) pthread_create(&spinners[i], 0, spin, 0);
            for (int i = 0; i < 2; i++) pthread_create(&forkers[i], 0, forks, 0);
            for (int i = 0; i < 2; i++) { void *r; pthread_join(forkers[i], &r); sum += (long)r; }
            stop = 1;
            for (int i = 0; i < 2; i++) pthread_join(spinners[i], 0);
            printf("%ld\n", sum);
            return 0;
        }"#;
    let mut command = program!("threaded_forks", source);
    let run = compare(SAMPLING, &mut command);
    assert_eq!(run.kinds(), (1, 40));
    // The thread that forked is the child's first, and the one that it makes is its second.
    for child in run.seen.iter().filter(|seen| seen.kind == 2) {
        assert_eq!(child.threads.len(), 2, "{child:?}");
    }
    let sampled = run
        .seen
        .iter()
        .filter(|seen| seen.kind == 2 && seen.samples > 0);
    assert!(sampled.count() > 20);
    assert!(run.seen.iter().all(|seen| seen.unreadable == 0));
}

#[test]
fn a_child_may_outlive_the_recorder() {
    let mut command = Command::new("bash");
    command.args(["-c", "(sleep 0.3; for i in 1 2 3; do ls / >/dev/null; done; echo $? > \"$MARK\") >/dev/null 2>&1 & echo started"]);
    let mark = std::path::Path::new(env!("CARGO_TARGET_TMPDIR")).join("outlived");
    let _ = std::fs::remove_file(&mark);
    command.env("MARK", &mark);
    let run = crate::recorder::run(SAMPLING, &mut command);
    assert_eq!(run.text(), "started\n");
    wait_until("the child to come to its end", || {
        std::fs::read_to_string(&mark).is_ok_and(|text| !text.is_empty())
    });
    assert_eq!(std::fs::read_to_string(&mark).unwrap(), "0\n");
}
