//! `doctor`, and the same sentences elsewhere: each gap is made, read, mended as it says, and gone.

use std::fs;
use std::process::Command;

use profundo_testing::{python, skip, wait_until};

use crate::machine::{Folder, Outcome, SPIN_PY, c_program};
use crate::refused::{Refusing, Running, has_perf, with_own_mounts};
use crate::users::Elsewhere;

/// The line of a list about a topic, and what follows up to the next one, in one line.
#[track_caller]
pub fn about(outcome: &Outcome, topic: &str) -> String {
    let is_head = |line: &&str| {
        // The sign takes one column.
        let rest = line
            .strip_prefix("  ")
            .filter(|rest| !rest.starts_with(' '));
        let rest = rest.and_then(|rest| rest.split_once(' '));
        rest.is_some_and(|(_, rest)| rest.starts_with(topic))
    };
    let mut lines = outcome.out.lines().skip_while(|line| !is_head(line));
    let head = lines
        .next()
        .unwrap_or_else(|| panic!("no {topic} in {outcome:#?}"));
    let rest = lines.take_while(|line| line.starts_with("   "));
    let all = std::iter::once(head).chain(rest);
    all.map(str::trim).collect::<Vec<_>>().join(" ")
}

/// The advice behind the arrow that follows a topic.
#[track_caller]
pub fn mend(outcome: &Outcome, topic: &str) -> String {
    let text = about(outcome, topic);
    let (_, mend) = text.split_once("→ ").unwrap_or_else(|| panic!("{text}"));
    mend.to_owned()
}

const FILTER: &str = "perf_event_open is refused (operation not permitted): a seccomp filter forbids it, \
                      as those of containers do";

#[test]
fn the_list_is_for_people_and_for_programs() {
    let folder = Folder::new();
    let outcome = folder.run(&["doctor", "--width", "80"]);
    for topic in [
        "recording",
        "clocks",
        "system time",
        "kernel time",
        "--wall",
        "--energy",
        "I/O",
        "--memory",
        "attach",
        "memory",
        "open files",
        "C library",
        "cycle counter",
        "rights",
        "names",
    ] {
        about(&outcome, topic);
    }
    let widest = outcome.out.lines().filter(|line| !line.contains('→'));
    assert!(
        widest.map(|line| line.chars().count()).max().unwrap() <= 80,
        "{outcome:#?}"
    );
    assert!(outcome.err.is_empty(), "{outcome:#?}");
    // The exit code says what the last line says.
    let works = outcome.out.ends_with("\nAll that is essential works.\n");
    assert_eq!(outcome.code, Some(i32::from(!works)), "{outcome:#?}");
    let json = folder.run(&["doctor", "--json"]);
    assert_eq!(json.code, outcome.code);
    assert!(
        json.out.contains(&format!("\"works\": {works}")),
        "{json:#?}"
    );
    assert!(json.out.contains("\"report\": \"doctor\""), "{json:#?}");
    assert!(folder.recordings().is_empty());
    assert_eq!(folder.run(&["doctor", "x"]).code, Some(2));
}

#[test]
fn where_a_filter_refuses_perf_events_all_say_so_and_much_works() {
    let (Some(refusing), true) = (Refusing::new(), has_perf()) else {
        return;
    };
    let calls = [libc::SYS_perf_event_open];
    let outcome = refusing.run(libc::EPERM, &calls, &["doctor", "--width", "500"]);
    outcome.succeeded();
    let mut reasons = 0;
    for (topic, sign) in [
        ("clocks", "~"),
        ("attach", "~"),
        ("--wall", "✗"),
        ("kernel time", "~"),
    ] {
        let text = about(&outcome, topic);
        assert!(text.starts_with(sign), "{text}");
        let is_given = text.contains(FILTER) && text.contains("--cap-add PERFMON");
        reasons += usize::from(is_given);
        let is_same = text.contains("for the same reason as clocks");
        assert!(is_given || is_same, "{text}");
    }
    assert_eq!(reasons, 1, "{outcome:#?}");
    assert!(
        about(&outcome, "recording").contains("cpu-timer"),
        "{outcome:#?}"
    );
    // The same words where it matters.
    let words = [
        "record",
        "-o",
        "x.profundo",
        "--engine",
        "perf-signal",
        "true",
    ];
    let outcome = refusing.run(libc::EPERM, &calls, &words);
    outcome.refused(1, FILTER);
    let outcome = refusing.run(
        libc::EPERM,
        &calls,
        &["record", "--wall", "-o", "x.profundo", "true"],
    );
    assert_eq!(outcome.err.matches(FILTER).count(), 2, "{outcome:#?}");
    // Some filters have it that there is no such call.
    let outcome = refusing.run(libc::ENOSYS, &calls, &["doctor", "--width", "500"]);
    assert!(
        about(&outcome, "clocks").contains("a seccomp filter forbids it"),
        "{outcome:#?}"
    );
    // Without the filter, which is what the remedy is about.
    let outcome = refusing.folder.run(&["doctor"]);
    assert!(
        !outcome.succeeded().out.contains("seccomp filter forbids"),
        "{outcome:#?}"
    );
}

#[test]
fn where_threads_cannot_be_counted_they_are_looked_at() {
    let (Some(refusing), Some(python), true) = (Refusing::new(), python(), has_perf()) else {
        return;
    };
    let script = refusing.folder.file("spin.py", SPIN_PY);
    let mut running = Running::of(python, &[script.as_os_str(), "100000".as_ref()]);
    running.until_threads(1);
    let pid = running.pid();
    let calls = [libc::SYS_perf_event_open];
    // It is attached to again and again, and goes on. A machine that is very busy may leave no time
    // for stacks, but what the program had is counted.
    const TRIES: usize = 12;
    let mut found = 0;
    for round in 1..=TRIES {
        let words = [
            "attach",
            &pid,
            "-d",
            "2",
            "-o",
            "x.profundo",
            "--width",
            "400",
        ];
        let outcome = refusing.run(libc::EPERM, &calls, &words);
        outcome.succeeded();
        let note = format!(
            "Note: the engine is proc-poll, which looks at each tick of its own which threads have run, \
             and reads those: {FILTER}; "
        );
        assert_eq!(outcome.out.matches(&note).count(), 1, "{outcome:#?}");
        assert!(!running.has_ended());
        found += usize::from(outcome.out.contains("hot  spin.py"));
        if found == 2 {
            break;
        }
        assert!(round < TRIES, "{outcome:#?}");
    }
    // The live page does without, too.
    let outcome = refusing.run(libc::EPERM, &calls, &["top", "--once", "-i", "1", &pid]);
    assert!(outcome.succeeded().out.contains(&pid), "{outcome:#?}");
    let json = refusing.folder.run(&["report", "x.profundo", "--json"]);
    let json = json.succeeded().out.clone();
    assert!(json.contains("\"engine\": \"proc-poll\""), "{json}");
    // What the samples weigh is what the kernel has counted.
    let number = |key: &str| {
        let (_, after) = json.split_once(&format!("\"{key}\": ")).unwrap();
        let number: String = after
            .chars()
            .take_while(|character| !",}\n".contains(*character))
            .collect();
        number.parse::<f64>().unwrap()
    };
    let (cpu, sampled) = (number("cpu_seconds"), number("cpu_sampled_seconds"));
    assert!(
        (sampled - cpu).abs() < 0.15 * cpu + 0.1,
        "{sampled} of {cpu}"
    );
}

#[test]
fn where_a_filter_refuses_looking_into_processes() {
    let Some(refusing) = Refusing::new() else {
        return;
    };
    let sleeper = Running::of("sleep", &["1000"]);
    let pid = sleeper.pid();
    let calls = [libc::SYS_process_vm_readv];
    let sentence = format!(
        "process {pid} cannot be read (operation not permitted): a seccomp filter forbids it, as those of \
         containers do"
    );
    let outcome = refusing.run(libc::EPERM, &calls, &["attach", &pid, "-d", "1"]);
    outcome.refused(1, &sentence);
    assert!(outcome.err.contains("--cap-add SYS_PTRACE"), "{outcome:#?}");
    let outcome = refusing.run(libc::EPERM, &calls, &["doctor", &pid, "--width", "500"]);
    assert_eq!(outcome.code, Some(1), "{outcome:#?}");
    assert!(outcome.out.contains(&sentence), "{outcome:#?}");
    assert!(outcome.out.contains("✗ attach"), "{outcome:#?}");
    assert!(
        outcome.out.ends_with("2 essential things do not work.\n"),
        "{outcome:#?}"
    );
}

/// `sleep 1000`, run by the user `nobody`.
fn nobodys_sleeper() -> Running {
    let sleeper = Running::of(
        "setpriv",
        &[
            "--reuid",
            "65534",
            "--regid",
            "65534",
            "--clear-groups",
            "sleep",
            "1000",
        ],
    );
    wait_until("the program to be executed", || {
        fs::read_to_string(format!("/proc/{}/comm", sleeper.pid())).unwrap() == "sleep\n"
    });
    sleeper
}

#[test]
fn the_kernels_settings_are_named_and_set() {
    let Some(refusing) = Refusing::new() else {
        return;
    };
    let Some(there) = Elsewhere::new("settings") else {
        return;
    };
    // Files of ours in the place of the kernel's, and filters that do what they say.
    let copy = there.path().join("refuse");
    fs::copy(&refusing.refuse, &copy).unwrap();
    let sleeper = nobodys_sleeper();
    let pid = sleeper.pid();
    let (perf, read) = (libc::SYS_perf_event_open, libc::SYS_process_vm_readv);
    let home = there.path().display();
    let script = format!(
        "mkdir -p sys/yama; cat /proc/sys/kernel/osrelease > sys/osrelease
         echo 4 > sys/perf_event_paranoid; echo 1 > sys/yama/ptrace_scope
         mount --bind sys /proc/sys/kernel
         nobody() {{ setpriv --reuid 65534 --regid 65534 --clear-groups env HOME={home} \"$@\" || true; }}
         cd {home}
         nobody ./refuse 13 {perf} ./profundo doctor --width 500
         nobody ./refuse 1 {read} ./profundo attach {pid} -d 1 2>&1
         echo 2 > /proc/sys/kernel/perf_event_paranoid; echo 0 > /proc/sys/kernel/yama/ptrace_scope
         echo mended
         nobody ./profundo doctor --width 500
         nobody ./profundo attach {pid} --dump 2>&1"
    );
    let Some(outcome) = with_own_mounts(&refusing.folder, &script) else {
        return;
    };
    let (before, after) = outcome
        .out
        .split_once("mended\n")
        .unwrap_or_else(|| panic!("{outcome:#?}"));
    let closed = "perf_event_open is refused (permission denied): kernel.perf_event_paranoid is 4, and 2 or less is wanted";
    assert!(before.contains(closed), "{outcome:#?}");
    assert!(
        before.contains("→ sudo sysctl kernel.perf_event_paranoid=2"),
        "{outcome:#?}"
    );
    let scope = format!(
        "profundo: process {pid} may be looked into by the processes that started it only: \
         kernel.yama.ptrace_scope is 1; mend it with `sudo sysctl kernel.yama.ptrace_scope=0"
    );
    assert!(before.contains(&scope), "{outcome:#?}");
    assert!(
        !after.contains("paranoid is 4") && !after.contains("ptrace_scope is"),
        "{outcome:#?}"
    );
    assert!(
        after.contains(&format!("Process {pid}: sleep 1000")),
        "{outcome:#?}"
    );
}

#[test]
fn another_users_process_is_roots_to_read() {
    let Some(there) = Elsewhere::new("attach") else {
        return;
    };
    let sleeper = Running::of("sleep", &["1000"]);
    let pid = sleeper.pid();
    let sentence = format!("process {pid} is another user's (root)");
    let outcome = there.run(&["attach", &pid]);
    outcome.refused(
        1,
        &format!("{sentence}; mend it with `sudo profundo attach {pid}"),
    );
    let outcome = there.run(&["doctor", &pid, "--width", "500"]);
    assert_eq!(outcome.code, Some(1), "{outcome:#?}");
    let part = outcome.out.split("\nProcess ").nth(1).unwrap();
    assert!(part.contains(&sentence), "{outcome:#?}");
    // Root, that is we, may.
    let outcome = Folder::new().run(&["attach", &pid, "--dump"]);
    assert!(
        outcome.succeeded().out.contains("sleep 1000"),
        "{outcome:#?}"
    );
}

const CROWD_C: &str = r#"
#include <pthread.h>
#include <unistd.h>
static void *nap(void *x) { for (;;) sleep(1000); return x; }
int main(void) {
    pthread_t thread;
    for (int i = 0; i < 60; i++) pthread_create(&thread, 0, nap, 0);
    nap(0);
}
"#;

#[test]
fn where_files_are_few_more_are_asked_for() {
    let folder = Folder::new();
    let (Some(crowd), true) = (c_program(&folder, "crowd", CROWD_C), has_perf()) else {
        return;
    };
    let crowd = Running::of(crowd, &[""; 0]);
    crowd.until_threads(61);
    let pid = crowd.pid();
    let profundo = env!("CARGO_BIN_EXE_profundo");
    let within = |limits: &str, rest: &str| {
        let mut command = Command::new("sh");
        command
            .args(["-c", &format!("{limits} exec {profundo} {rest}")])
            .current_dir(folder.path());
        Outcome::of(command.output().unwrap())
    };
    let few = "ulimit -n 40;";
    let outcome = within(few, "doctor --width 500");
    let text = about(&outcome, "open files");
    assert!(text.starts_with('~') || text.starts_with('✗'), "{text}");
    let remedy = mend(&outcome, "open files");
    let attach = format!("attach {pid} -d 0.3 -o x.profundo --width 1000");
    let outcome = within(few, &attach);
    outcome.succeeded();
    let sentence =
        "too many open files: each thread wants one on each CPU, and the limit is 40; mend it with";
    assert!(
        outcome.out.contains("the engine is proc-poll"),
        "{outcome:#?}"
    );
    assert!(
        outcome.out.contains(&format!("{sentence} `{remedy}`")),
        "{outcome:#?}"
    );
    if remedy.starts_with("ulimit") {
        let outcome = within(&format!("{few} {remedy};"), &attach);
        assert!(
            !outcome.succeeded().out.contains("proc-poll"),
            "{outcome:#?}"
        );
    }
    let outcome = within("", &attach);
    assert!(
        !outcome.succeeded().out.contains("proc-poll"),
        "{outcome:#?}"
    );
}

#[test]
fn where_memory_is_full_another_place_is_named() {
    let folder = Folder::new();
    let profundo = env!("CARGO_BIN_EXE_profundo");
    let script = format!(
        "mkdir -p small; mount -t tmpfs -o size=64k small /dev/shm; mount -t tmpfs -o size=64k small small
         TMPDIR=$PWD/small; export TMPDIR
         {profundo} record -o x.profundo true 2>&1 || echo \"code $?\"
         {profundo} doctor --width 500 || echo \"code $?\""
    );
    let Some(outcome) = with_own_mounts(&folder, &script) else {
        return;
    };
    let sentence = "no room for the session's shared memory in /dev/shm or ";
    assert_eq!(outcome.out.matches(sentence).count(), 2, "{outcome:#?}");
    assert_eq!(outcome.out.matches("code 1\n").count(), 2, "{outcome:#?}");
    assert!(about(&outcome, "memory").ends_with("for the same reason as recording"));
    let remedy = mend(&outcome, "recording");
    assert!(remedy.starts_with("export TMPDIR=/"), "{remedy}");
    assert!(
        outcome.out.contains(&format!("mend it with `{remedy}`")),
        "{outcome:#?}"
    );
    let script = format!("{script}; {remedy}; {profundo} record -o x.profundo true 2>&1");
    let outcome = with_own_mounts(&folder, &script).unwrap();
    outcome.succeeded();
    assert!(
        outcome.out.contains("samples in x.profundo"),
        "{outcome:#?}"
    );
}

#[test]
fn what_is_no_process_to_attach_to_is_said() {
    let folder = Folder::new();
    let missing = folder.run(&["attach", "4194304"]);
    missing.refused(1, "there is no process 4194304");
    let profundo = env!("CARGO_BIN_EXE_profundo");
    let own = Command::new("sh")
        .args(["-c", &format!("echo $$; exec {profundo} attach $$")])
        .output();
    let own = Outcome::of(own.unwrap());
    let pid = own.out.trim();
    assert_eq!(
        own.err,
        format!("profundo: process {pid} is this very profundo\n")
    );
    // An unreaped child.
    let mut zombie = Command::new("true").spawn().unwrap();
    let pid = zombie.id();
    let stat = || fs::read_to_string(format!("/proc/{pid}/stat")).unwrap();
    wait_until("its end", || stat().contains(") Z "));
    let outcome = folder.run(&["attach", &pid.to_string()]);
    outcome.refused(1, &format!("process {pid} has ended already"));
    zombie.wait().unwrap();
    // A thread, whose number is not its process's.
    let crowd = c_program(&folder, "crowd", CROWD_C);
    if let Some(crowd) = crowd {
        let crowd = Running::of(crowd, &[""; 0]);
        crowd.until_threads(61);
        let leader = crowd.number();
        let tasks = fs::read_dir(format!("/proc/{leader}/task")).unwrap();
        let mut tasks = tasks.map(|entry| entry.unwrap().file_name().into_string().unwrap());
        let thread = tasks.find(|tid| *tid != leader.to_string()).unwrap();
        let outcome = folder.run(&["attach", &thread]);
        outcome.refused(
            1,
            &format!(
                "{thread} is a thread of process {leader}; mend it with `profundo attach {leader}`"
            ),
        );
    }
    if fs::read_to_string("/proc/2/comm").is_ok_and(|name| name == "kthreadd\n") {
        folder
            .run(&["attach", "2"])
            .refused(1, "process 2 is a thread of the kernel's");
    } else {
        skip("the kernel's threads are not to be seen");
    }
    assert!(folder.recordings().is_empty());
}

#[test]
fn a_debugger_is_named() {
    let sleeper = Running::of("sleep", &["1000"]);
    let pid = sleeper.number();
    wait_until("the program to be executed", || {
        fs::read_to_string(format!("/proc/{pid}/comm")).unwrap() == "sleep\n"
    });
    let none = std::ptr::null_mut::<libc::c_void>();
    // SAFETY: it is our child, which goes on.
    let seized = unsafe { libc::ptrace(libc::PTRACE_SEIZE, pid as i32, none, none) };
    if seized != 0 {
        return skip("ptrace is not permitted");
    }
    let outcome = Folder::new().run(&["doctor", &pid.to_string(), "--width", "500"]);
    let text = about(&outcome, "debugger");
    let own = std::process::id();
    assert!(
        text.starts_with('~') && text.contains(&format!("(process {own}) traces it")),
        "{text}"
    );
    assert!(text.contains("let it go (`detach`)"), "{text}");
}

#[test]
fn a_process_is_described() {
    let Some(python) = python() else { return };
    let folder = Folder::new();
    let script = folder.file("spin.py", SPIN_PY);
    let running = Running::of(python, &[script.as_os_str(), "100000".as_ref()]);
    let pid = running.pid();
    // Until the interpreter is there.
    let began = std::time::Instant::now();
    let outcome = loop {
        let outcome = folder.run(&["doctor", &pid, "--width", "500"]);
        if outcome.out.contains("whose stacks are read") {
            break outcome;
        }
        assert!(
            began.elapsed() < std::time::Duration::from_secs(60),
            "{outcome:#?}"
        );
    };
    let (_, process) = outcome.out.split_once("\nProcess ").unwrap();
    assert!(
        process.contains("spin.py 100000") && process.contains("· 1 thread\n"),
        "{outcome:#?}"
    );
    assert!(
        process.contains("linked dynamically, with glibc"),
        "{outcome:#?}"
    );
    assert!(process.contains("names"), "{outcome:#?}");
}
