//! Programs without an agent.

use profundo_recorder::{EngineChoice, Options};
use profundo_wire::State;
use profundo_wire::recording::{Engine, HowEnded};

use crate::launch::{Scratch, run, run_with};

const SPIN: &str = r#"
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
volatile unsigned long sink;
__attribute__((noinline)) void leaf(unsigned long n) { for (unsigned long i = 0; i < n; i++) sink += i; }
__attribute__((noinline)) void deep(int d, unsigned long n) { if (d) deep(d - 1, n); else leaf(n); sink++; }
int main(int c, char **v) {
    for (long i = 0; i < (c > 1 ? atol(v[1]) : 100); i++) deep(20, 10000000);
    return 3;
}
"#;

fn outside(scratch: &Scratch) -> Options {
    Options {
        engine: EngineChoice::PerfRing,
        ..scratch.options()
    }
}

#[test]
fn a_static_program_is_walked_to_its_root() {
    let scratch = Scratch::new("static");
    let Some(program) = scratch.compile("spin", SPIN, &["-static", "-s", "-Wl,--no-eh-frame-hdr"])
    else {
        return;
    };
    let recorded = run(outside(&scratch), &[&program, "100"]);
    assert_eq!(recorded.start.engine, Engine::PerfRing);
    let found = recorded.programs(&program);
    assert_eq!(found.len(), 1, "{:?}", recorded.processes);
    let end = recorded.end_of(found[0].key);
    assert_eq!(end.how, HowEnded::Exited(3));
    // The samples add up to the CPU time.
    let user = end.user.unwrap() as f64;
    let running = recorded
        .samples
        .iter()
        .filter(|one| one.state == State::Running);
    let sampled: u64 = running.map(|sample| sample.weight).sum();
    assert!(
        (sampled as f64 - user).abs() < 0.1 * user + 30e6,
        "{sampled} of {user}: {recorded:?}"
    );
    assert!(recorded.share_whole() > 0.99, "{}", recorded.share_whole());
    let deep = recorded
        .samples
        .iter()
        .filter(|one| one.frames.len() > 20)
        .count();
    assert!(
        deep as f64 > 0.95 * recorded.samples.len() as f64,
        "{deep} of {}",
        recorded.samples.len()
    );
    assert!(recorded.share_in_modules() > 0.999);
    assert_eq!(recorded.threads.len(), 1);
    assert!((recorded.finish.cpu as f64 - user).abs() < 0.1 * user + 60e6);
}

#[test]
fn frame_pointers_do_where_there_are_no_tables() {
    let scratch = Scratch::new("pointers");
    let flags = [
        "-static",
        "-fno-asynchronous-unwind-tables",
        "-fno-omit-frame-pointer",
    ];
    let Some(program) = scratch.compile("spin", SPIN, &flags) else {
        return;
    };
    let recorded = run(outside(&scratch), &[&program, "60"]);
    let deep = recorded
        .samples
        .iter()
        .filter(|one| one.frames.len() > 20)
        .count();
    assert!(
        deep as f64 > 0.9 * recorded.samples.len() as f64,
        "{deep} of {}",
        recorded.samples.len()
    );
}

const THREADS: &str = r#"
#include <pthread.h>
#include <stdlib.h>
#include <unistd.h>
#include <sys/wait.h>
volatile unsigned long sink;
static void *work(void *n) { for (unsigned long i = 0; i < (unsigned long) n; i++) sink += i; return 0; }
int main(int c, char **v) {
    pthread_t t[3];
    for (int i = 0; i < 3; i++) pthread_create(&t[i], 0, work, (void *) 150000000ul);
    for (int i = 0; i < 3; i++) pthread_join(t[i], 0);
    if (fork() == 0) { work((void *) 150000000ul); _exit(9); }
    wait(0);
    if (c > 1) execl(v[1], v[1], "30", (char *) 0);
    return 0;
}
"#;

#[test]
fn threads_children_and_what_is_executed_are_followed() {
    let scratch = Scratch::new("threads");
    let (Some(threads), Some(spin)) = (
        scratch.compile("threads", THREADS, &["-static", "-pthread"]),
        scratch.compile("spin", SPIN, &["-static"]),
    ) else {
        return;
    };
    let recorded = run(outside(&scratch), &[&threads, &spin]);
    // The process, its child, and the program that it executed last.
    assert_eq!(recorded.processes.len(), 3, "{:?}", recorded.processes);
    let first = &recorded.processes[0];
    let child = recorded
        .processes
        .iter()
        .find(|one| one.pid != first.pid)
        .unwrap();
    assert_eq!(child.parent, first.key);
    let last = recorded
        .processes
        .iter()
        .rfind(|one| one.pid == first.pid)
        .unwrap();
    assert_eq!(
        (last.parent, last.command.ends_with("30")),
        (first.key, true)
    );
    assert_eq!(recorded.end_of(first.key).how, HowEnded::Replaced);
    assert_eq!(recorded.end_of(last.key).how, HowEnded::Exited(3));
    for key in [first.key, child.key, last.key] {
        assert!(
            recorded.samples_of(key).count() > 20,
            "{key}: {:?}",
            recorded.processes
        );
    }
    let threads = recorded.threads.keys().filter(|(key, _)| *key == first.key);
    assert!(threads.count() >= 3);
    assert!(recorded.share_whole() > 0.98);
}

#[test]
fn pauses_are_not_sampled() {
    let scratch = Scratch::new("pauses");
    let Some(program) = scratch.compile("spin", SPIN, &["-static"]) else {
        return;
    };
    let mut turns = 0;
    let options = Options {
        paused: true,
        ..outside(&scratch)
    };
    let mut resumed = 0;
    let recorded = run_with(options, &[&program, "150"], &[], |recorder, _| {
        turns += 1;
        if turns == 10 {
            recorder.set_paused(false);
            resumed = profundo_probe::clock::now();
        }
    });
    assert!(recorded.samples.len() > 20);
    assert!(
        recorded
            .samples
            .iter()
            .all(|sample| sample.clock >= resumed)
    );
    let duration = u128::from(recorded.finish.duration);
    assert!(
        duration < recorded.wall.as_nanos(),
        "{duration} of {:?}",
        recorded.wall
    );
    assert!(
        (recorded.weight() as f64 - recorded.finish.cpu as f64).abs()
            < 0.15 * recorded.weight() as f64 + 40e6
    );
}
