//! Programs with the real agent inside.

use std::process::Command;

use profundo_recorder::{EngineChoice, Options};
use profundo_testing::skip;
use profundo_wire::End;
use profundo_wire::recording::{Engine, HowEnded, ProcessEnd};

use crate::launch::{Recorded, Sample, Scratch, agent, run};

/// Options for a recording with the agent, if there is one.
fn inside(scratch: &Scratch) -> Option<Options> {
    let agent = agent()?;
    Some(Options {
        agent: Some(agent),
        ..scratch.options()
    })
}

/// A Python that is not a shell script, as pyenv's are.
fn python() -> Option<String> {
    let out = Command::new("python3")
        .args([
            "-c",
            "import sys, os; print(os.path.realpath(sys.executable))",
        ])
        .output();
    let out = out.ok().filter(|out| out.status.success());
    let path = out.map(|out| String::from_utf8_lossy(&out.stdout).trim().to_owned());
    if path.is_none() {
        skip("no python3");
    }
    path
}

const SPIN: &str = r#"
#include <stdlib.h>
volatile unsigned long sink;
__attribute__((noinline)) void leaf(unsigned long n) { for (unsigned long i = 0; i < n; i++) sink += i; }
int main(int c, char **v) { leaf(c > 1 ? strtoul(v[1], 0, 10) : 1000000000ul); return 3; }
"#;

/// Checks that the samples add up to the CPU time, are whole, and lie in known code.
fn check(recorded: &Recorded) {
    let expected = recorded.finish.cpu as f64;
    let sampled = recorded.weight() as f64;
    let off = (sampled - expected).abs();
    assert!(
        off < 0.1 * expected + 40e6,
        "{sampled} of {expected}; {:?}",
        recorded.notes
    );
    assert!(recorded.share_whole() > 0.98, "{}", recorded.share_whole());
    assert!(
        recorded.share_in_modules() > 0.99,
        "{}",
        recorded.share_in_modules()
    );
}

#[test]
fn a_program_is_sampled_from_its_beginning_to_its_end() {
    let scratch = Scratch::new("inside");
    let (Some(options), Some(program)) = (inside(&scratch), scratch.compile("spin", SPIN, &[]))
    else {
        return;
    };
    let recorded = run(options, &[&program]);
    assert_eq!(recorded.processes.len(), 1, "{:?}", recorded.notes);
    assert_eq!(recorded.ends[0].how, HowEnded::Exited(3));
    if recorded.start.engine == Engine::PerfSignal {
        check(&recorded);
    }
    let recorder = recorded.recorder.as_secs_f64() / recorded.wall.as_secs_f64();
    // A bound that a busy loop would exceed; the benches measure the real cost.
    assert!(recorder < 0.3, "the recorder takes {recorder} of a core");
}

#[test]
fn python_with_threads_forks_and_execs() {
    let scratch = Scratch::new("python");
    let (Some(options), Some(python)) = (inside(&scratch), python()) else {
        return;
    };
    let script = r#"
import os, sys, subprocess, threading, zlib
def spin(n):
    x = 0
    for i in range(n): x += i * i
    return x
threads = [threading.Thread(target=spin, args=(1500000,)) for _ in range(3)]
[t.start() for t in threads]
[t.join() for t in threads]
pid = os.fork()
if pid == 0:
    spin(3000000)
    os._exit(5)
os.waitpid(pid, 0)
subprocess.run([sys.executable, '-c', 'x = 0\nfor i in range(3000000): x += i'])
spin(3000000)
os.execv('/bin/sh', ['sh', '-c', 'exit 7'])
"#;
    let recorded = run(options, &[&python, "-c", script]);
    let first = &recorded.processes[0];
    let ends: Vec<HowEnded> = recorded
        .processes
        .iter()
        .map(|one| recorded.end_of(one.key).how)
        .collect();
    assert!(
        ends.contains(&HowEnded::Exited(5)),
        "{ends:?} {:?}",
        recorded.processes
    );
    assert!(ends.contains(&HowEnded::Exited(7)), "{ends:?}");
    assert!(ends.contains(&HowEnded::Replaced), "{ends:?}");
    let children = recorded.processes.iter().filter(|one| one.pid != first.pid);
    assert!(children.clone().count() >= 2, "{:?}", recorded.processes);
    assert!(
        children.clone().all(|one| one.parent == first.key),
        "{:?}",
        recorded.processes
    );
    for process in children {
        assert!(recorded.samples_of(process.key).count() > 10, "{process:?}");
    }
    let threads = recorded.threads.keys().filter(|(key, _)| *key == first.key);
    assert_eq!(threads.count(), 4);
    assert!(
        recorded
            .runtimes
            .iter()
            .all(|runtime| runtime.starts_with("CPython 3."))
    );
    assert!(recorded.samples.iter().filter(|one| one.python > 0).count() > 50);
    assert!(recorded.codes > 5);
    if recorded.start.engine == Engine::PerfSignal {
        check(&recorded);
    }
}

#[test]
fn a_thousand_forks() {
    let scratch = Scratch::new("forks");
    let (Some(options), Some(python)) = (inside(&scratch), python()) else {
        return;
    };
    let script = r#"
import os
for _ in range(1000):
    pid = os.fork()
    if pid == 0: os._exit(0)
    os.waitpid(pid, 0)
"#;
    let recorded = run(options, &[&python, "-c", script]);
    let first = &recorded.processes[0];
    assert_eq!(
        recorded.ends[recorded.ends.len() - 1].how,
        HowEnded::Exited(0)
    );
    let children = recorded
        .processes
        .iter()
        .filter(|one| one.parent == first.key);
    let ends: Vec<_> = children.map(|one| recorded.end_of(one.key)).collect();
    if recorded.start.engine == Engine::PerfSignal {
        // Every process is recorded, with or without a ring, and has reported its end and its
        // times.
        assert_eq!(ends.len(), 1000, "{:?}", recorded.notes);
        let is_whole = |end: &&&ProcessEnd| end.how == HowEnded::Exited(0) && end.user.is_some();
        assert_eq!(ends.iter().filter(is_whole).count(), 1000, "{ends:?}");
    }
    // None is missed silently, and few are missed at all.
    let missed = missed(&recorded);
    assert!(missed < 100, "{missed}");
    assert!(ends.len() + missed >= 1000, "{} {missed}", ends.len());
}

/// The number of processes without a ring, by the notes.
fn missed(recorded: &Recorded) -> usize {
    let of_note = |note: &String| {
        let (count, rest) = note.split_once(' ')?;
        let is_this = rest.starts_with("process began") || rest.starts_with("processes began");
        count.parse::<usize>().ok().filter(|_| is_this)
    };
    recorded.notes.iter().filter_map(of_note).sum()
}

const STORM: &str = r#"
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>
#include <time.h>
static double now(void) { struct timespec t; clock_gettime(CLOCK_MONOTONIC, &t); return t.tv_sec + t.tv_nsec / 1e9; }
int main() {
    for (int started = 0, ended = 0; ended < 400;) {
        if (started < 400 && started - ended < 40) {
            if (started % 4 == 3) { if (vfork() == 0) _exit(9); }
            else if (fork() == 0) { double end = now() + 0.001; while (now() < end); _exit(started % 3); }
            started++;
        } else {
            int status;
            wait(&status);
            ended++;
        }
    }
    return 0;
}
"#;

#[test]
fn no_child_is_too_short_to_be_recorded() {
    let scratch = Scratch::new("storm");
    let (Some(options), Some(program)) = (inside(&scratch), scratch.compile("storm", STORM, &[]))
    else {
        return;
    };
    let recorded = run(options, &[&program]);
    if recorded.start.engine != Engine::PerfSignal {
        skip("no perf events");
        return;
    }
    let first = &recorded.processes[0];
    assert_eq!(recorded.processes.len(), 401, "{:?}", recorded.notes);
    let mut codes = [0; 10];
    for child in &recorded.processes[1..] {
        assert_eq!((child.parent, &child.command), (first.key, &first.command));
        let end = recorded.end_of(child.key);
        let HowEnded::Exited(code) = end.how else {
            panic!("{end:?}");
        };
        codes[usize::from(code)] += 1;
        assert!(end.user.is_some() && end.system.is_some(), "{end:?}");
        assert!(child.started > 0 && end.ended >= child.started, "{end:?}");
    }
    assert_eq!(codes, [100, 100, 100, 0, 0, 0, 0, 0, 0, 100]);
}

/// Children of forks: one sleeps, one sleeps and then works, one starts a thread at once, one fails
/// to execute a program, and one has a small signal stack with a guard below it.
const SLOW_CHILDREN: &str = r#"
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>
static double now(int clock) { struct timespec t; clock_gettime(clock, &t); return t.tv_sec + t.tv_nsec / 1e9; }
__attribute__((noinline)) void burn(double s) { double end = now(CLOCK_THREAD_CPUTIME_ID) + s; while (now(CLOCK_THREAD_CPUTIME_ID) < end); }
static void *work(void *p) { burn(0.2); return p; }
int main() {
    if (fork() == 0) { usleep(600000); _exit(5); }
    if (fork() == 0) { usleep(300000); burn(0.2); _exit(6); }
    if (fork() == 0) { pthread_t t; pthread_create(&t, 0, work, 0); pthread_join(t, 0); _exit(7); }
    if (fork() == 0) { execl("/nowhere", "nowhere", (char *)0); burn(0.2); _exit(8); }
    if (fork() == 0) {
        char *memory = mmap(0, 3 * 4096, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
        stack_t stack = {memory + 4096, 0, 2 * 4096};
        mprotect(stack.ss_sp, stack.ss_size, PROT_READ | PROT_WRITE);
        sigaltstack(&stack, 0);
        burn(0.2);
        _exit(9);
    }
    for (int i = 0, status; i < 5; i++) wait(&status);
    return 0;
}
"#;

#[test]
fn children_that_put_off_their_entry_lose_nothing() {
    let scratch = Scratch::new("slow-children");
    let (Some(options), Some(program)) = (
        inside(&scratch),
        scratch.compile("slow", SLOW_CHILDREN, &["-pthread"]),
    ) else {
        return;
    };
    let recorded = run(options, &[&program]);
    if recorded.start.engine != Engine::PerfSignal {
        skip("no perf events");
        return;
    }
    if missed(&recorded) > 0 {
        skip("the machine is too busy for rings");
        return;
    }
    assert!(recorded.notes.is_empty(), "{:?}", recorded.notes);
    assert_eq!(recorded.processes.len(), 6);
    let first = &recorded.processes[0];
    let (began, ended) = (&recorded.start.started, &recorded.finish.ended);
    let seconds_per_cycle =
        (ended.monotonic - began.monotonic) as f64 / 1e9 / (ended.cycles - began.cycles) as f64;
    for (code, worked, lived) in [
        (5, 0.0, 0.6),
        (6, 0.2, 0.5),
        (7, 0.2, 0.2),
        (8, 0.2, 0.2),
        (9, 0.2, 0.2),
    ] {
        let has_code = |end: &&ProcessEnd| end.how == HowEnded::Exited(code);
        let end = recorded.ends.iter().find(has_code).unwrap();
        let mut all = recorded.processes.iter();
        let child = all.find(|one| one.key == end.process).unwrap();
        assert_eq!((child.parent, &child.command), (first.key, &first.command));
        let weight: u64 = recorded
            .samples_of(child.key)
            .map(|sample| sample.weight)
            .sum();
        let sampled = weight as f64 / 1e9;
        assert!((sampled - worked).abs() < 0.06, "{code}: {sampled}");
        let alive = (end.ended - child.started) as f64 * seconds_per_cycle;
        assert!(alive > 0.95 * lived, "{code}: {alive}");
        // Children that entered themselves know when they began.
        for (_, thread) in recorded
            .threads
            .iter()
            .filter(|((key, _), _)| *key == child.key)
        {
            assert!(
                code == 7 || thread.alive as f64 > 0.95e9 * lived,
                "{thread:?}"
            );
        }
    }
}

#[test]
fn short_programs_are_recorded_with_their_arguments() {
    let scratch = Scratch::new("arguments");
    let Some(options) = inside(&scratch) else {
        return;
    };
    let line = "i=0; while [ $i -lt 200 ]; do /bin/false number $i; i=$((i+1)); done";
    let recorded = run(options, &["/bin/sh", "-c", line]);
    let missing = (0..200).filter(|number| {
        let command = format!("/bin/false number {number}");
        let mut found = recorded
            .processes
            .iter()
            .filter(|one| one.command == command);
        let Some(one) = found.next() else {
            return true;
        };
        assert!(found.next().is_none(), "{command}");
        assert_eq!(recorded.end_of(one.key).how, HowEnded::Exited(1));
        false
    });
    // On a busy machine some get no ring, which is noted.
    assert_eq!(missing.count(), missed(&recorded), "{:?}", recorded.notes);
}

const SHORT: &str = r#"
int main() { return 6; }
"#;

#[test]
fn a_short_program_without_an_agent_is_recorded() {
    let scratch = Scratch::new("short");
    let (Some(options), Some(program)) = (
        inside(&scratch),
        scratch.compile("brief", SHORT, &["-static"]),
    ) else {
        return;
    };
    let line = format!("for i in 1 2 3 4 5; do {program}; done; exit 4");
    let recorded = run(options, &["/bin/sh", "-c", &line]);
    if recorded.start.engine != Engine::PerfSignal {
        skip("no perf events");
        return;
    }
    let shell = &recorded.processes[0];
    let brief = recorded.processes[1..]
        .iter()
        .filter(|one| one.command.ends_with("brief"));
    let brief: Vec<_> = brief.collect();
    assert_eq!(brief.len(), 5, "{:?}", recorded.processes);
    assert!(brief.iter().all(|one| one.parent == shell.key));
}

#[test]
fn timers_where_perf_is_not_wanted() {
    let scratch = Scratch::new("timers");
    let (Some(options), Some(program)) = (inside(&scratch), scratch.compile("spin", SPIN, &[]))
    else {
        return;
    };
    let options = Options {
        engine: EngineChoice::CpuTimer,
        ..options
    };
    let recorded = run(options, &[&program]);
    assert_eq!(recorded.start.engine, Engine::CpuTimer);
    check(&recorded);
}

#[test]
fn a_shell_script_and_a_static_child_of_it() {
    let scratch = Scratch::new("mixed");
    let (Some(options), Some(program)) = (
        inside(&scratch),
        scratch.compile("spin", SPIN, &["-static"]),
    ) else {
        return;
    };
    let recorded = run(
        options,
        &["/bin/sh", "-c", &format!("{program} 300000000; exit 4")],
    );
    let shell = &recorded.processes[0];
    assert_eq!(recorded.end_of(shell.key).how, HowEnded::Exited(4));
    let found = recorded.programs(&program);
    let child = found.iter().find(|one| one.pid != shell.pid);
    let child = child.unwrap_or_else(|| panic!("{:?}", recorded.processes));
    assert_eq!(child.parent, shell.key);
    assert!(recorded.samples_of(child.key).count() > 10);
}

const DEAF: &str = r#"
#include <pthread.h>
#include <signal.h>
#include <sys/syscall.h>
#include <unistd.h>
volatile unsigned long sink;
static void *work(void *deaf) {
    unsigned long all = ~0ul;
    long number = SYS_rt_sigprocmask;
    register long bytes __asm__("r10") = 8;
    if (deaf)
        __asm__ volatile("syscall" : "+a"(number) : "D"((long) SIG_BLOCK), "S"(&all), "d"(0l), "r"(bytes)
                         : "rcx", "r11", "memory");
    for (unsigned long i = 0; i < 2000000000ul; i++) sink += i;
    return 0;
}
int main() {
    pthread_t one, other;
    pthread_create(&one, 0, work, (void *) 1);
    pthread_create(&other, 0, work, 0);
    pthread_join(one, 0);
    pthread_join(other, 0);
    return 0;
}
"#;

#[test]
fn the_time_of_a_thread_that_blocks_all_signals_is_recorded() {
    let scratch = Scratch::new("deaf");
    let (Some(options), Some(program)) = (
        inside(&scratch),
        scratch.compile("deaf", DEAF, &["-pthread"]),
    ) else {
        return;
    };
    let recorded = run(options, &[&program]);
    if recorded.start.engine != Engine::PerfSignal {
        skip("no perf events");
        return;
    }
    let of = |thread: u32, end: End| -> u64 {
        let is = |one: &&Sample| one.thread == thread && one.end == end;
        recorded
            .samples
            .iter()
            .filter(is)
            .map(|one| one.weight)
            .sum()
    };
    let cpu = |thread: u32| recorded.threads[&(1, thread)].cpu as f64;
    // They are numbered in the order in which they begin to run, which varies.
    let (blocking_one, other) = match of(2, End::SignalsBlocked) {
        0 => (3, 2),
        _ => (2, 3),
    };
    let blocking = of(blocking_one, End::SignalsBlocked) as f64;
    assert!(
        (blocking - cpu(blocking_one)).abs() < 0.05 * cpu(blocking_one) + 60e6,
        "{blocking} of {}",
        cpu(blocking_one)
    );
    let heard = of(other, End::Root) as f64;
    assert!(
        (heard - cpu(other)).abs() < 0.1 * cpu(other) + 30e6,
        "{heard} of {}",
        cpu(other)
    );
    assert_eq!(of(other, End::SignalsBlocked), 0);
}

const MANY: &str = r#"
#include <pthread.h>
#include <unistd.h>
volatile unsigned long sink;
static void *work(void *busy) {
    if (busy) for (unsigned long i = 0; i < 600000000ul; i++) sink += i;
    else usleep(700000);
    return 0;
}
int main() {
    pthread_t threads[200];
    for (long i = 0; i < 200; i++) pthread_create(&threads[i], 0, work, (void *) (i % 50 == 0 ? 1l : 0l));
    for (int i = 0; i < 200; i++) pthread_join(threads[i], 0);
    return 0;
}
"#;

#[test]
fn two_hundred_threads_of_which_four_run() {
    let scratch = Scratch::new("many");
    let (Some(options), Some(program)) = (
        inside(&scratch),
        scratch.compile("many", MANY, &["-pthread"]),
    ) else {
        return;
    };
    let recorded = run(options, &[&program]);
    assert!(recorded.threads.len() >= 201, "{}", recorded.threads.len());
    if recorded.start.engine == Engine::PerfSignal {
        check(&recorded);
        let busy = recorded
            .threads
            .values()
            .filter(|thread| thread.cpu > 50_000_000);
        assert_eq!(busy.count(), 4);
    }
}

#[test]
fn another_users_program_is_sampled_from_outside_or_left_alone() {
    let scratch = Scratch::new("foreign");
    let (Some(options), Some(program)) = (inside(&scratch), scratch.compile("spin", SPIN, &[]))
    else {
        return;
    };
    let may = Command::new("setpriv")
        .args(["--reuid", "65534", "--clear-groups", "true"])
        .status();
    if !may.is_ok_and(|status| status.success()) {
        skip("only root may become another user");
        return;
    }
    use std::os::unix::fs::PermissionsExt;
    let open = std::fs::Permissions::from_mode(0o755);
    std::fs::set_permissions(scratch.path(), open).unwrap();
    let command = ["setpriv", "--reuid", "65534", "--clear-groups", &program];
    let recorded = run(options, &command);
    let last = recorded.processes.last().unwrap();
    assert_eq!(recorded.end_of(last.key).how, HowEnded::Exited(3));
    assert_eq!(last.command, program);
    let user = recorded.end_of(last.key).user.unwrap() as f64;
    let sampled: u64 = recorded.samples_of(last.key).map(|one| one.weight).sum();
    // It takes a tenth of a second until it is clear that no agent will say hello.
    assert!(
        sampled as f64 > 0.7 * user - 150e6,
        "{sampled} of {user}: {:?}",
        recorded.notes
    );
}

#[test]
fn two_sessions_at_once_do_not_meet() {
    let scratch = Scratch::new("two");
    let (Some(options), Some(program)) = (inside(&scratch), scratch.compile("spin", SPIN, &[]))
    else {
        return;
    };
    let other = options.clone();
    let copy = program.clone();
    let second = std::thread::spawn(move || run(other, &[&copy, "700000000"]));
    let recorded = [
        run(options, &[&program, "700000000"]),
        second.join().unwrap(),
    ];
    for recorded in recorded {
        assert_eq!(recorded.processes.len(), 1);
        if recorded.start.engine == Engine::PerfSignal {
            check(&recorded);
        }
    }
}

#[test]
fn a_child_that_is_killed_and_reaped_is_recorded_as_such() {
    let scratch = Scratch::new("child");
    let (Some(options), Some(python)) = (inside(&scratch), python()) else {
        return;
    };
    let script = r#"
import os, signal, time
pid = os.fork()
if pid == 0:
    while True: pass
time.sleep(0.4)
os.kill(pid, signal.SIGKILL)
os.waitpid(pid, 0)
"#;
    let recorded = run(options, &[&python, "-c", script]);
    let child = &recorded.processes[1];
    let end = recorded.end_of(child.key);
    let how = [HowEnded::Killed(9), HowEnded::Unknown];
    assert!(how.contains(&end.how), "{end:?}");
    if recorded.start.engine == Engine::PerfSignal {
        let sampled: u64 = recorded.samples_of(child.key).map(|one| one.weight).sum();
        let user = end.user.unwrap() as f64;
        assert!(
            (sampled as f64 - user).abs() < 0.1 * user + 20e6,
            "{sampled} of {user}"
        );
    }
}
