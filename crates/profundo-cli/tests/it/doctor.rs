//! `doctor`, and the same sentences elsewhere: each gap is made, read, mended as it says, and gone.

use std::fs;
use std::process::Command;

use crate::machine::{Folder, SPIN_PY, Said, c_program, python, skip};
use crate::refused::{Refusing, Running, has_perf, with_own_mounts};
use crate::users::Elsewhere;

/// The line of a list about a topic, and what follows up to the next one, in one line.
#[track_caller]
pub fn about(said: &Said, topic: &str) -> String {
    let is_head = |line: &&str| {
        // The sign takes one column.
        let rest = line
            .strip_prefix("  ")
            .filter(|rest| !rest.starts_with(' '));
        let rest = rest.and_then(|rest| rest.split_once(' '));
        rest.is_some_and(|(_, rest)| rest.starts_with(topic))
    };
    let mut lines = said.out.lines().skip_while(|line| !is_head(line));
    let head = lines
        .next()
        .unwrap_or_else(|| panic!("no {topic} in {said:#?}"));
    let rest = lines.take_while(|line| line.starts_with("   "));
    let all = std::iter::once(head).chain(rest);
    all.map(str::trim).collect::<Vec<_>>().join(" ")
}

/// What an arrow says after a topic.
#[track_caller]
pub fn mend(said: &Said, topic: &str) -> String {
    let text = about(said, topic);
    let (_, mend) = text.split_once("→ ").unwrap_or_else(|| panic!("{text}"));
    mend.to_owned()
}

const FILTER: &str = "perf_event_open is refused (operation not permitted): a seccomp filter forbids it, \
                      as those of containers do";

#[test]
fn the_list_is_for_people_and_for_programs() {
    let folder = Folder::new();
    let said = folder.said(&["doctor", "--width", "80"]);
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
        about(&said, topic);
    }
    let widest = said.out.lines().filter(|line| !line.contains('→'));
    assert!(
        widest.map(|line| line.chars().count()).max().unwrap() <= 80,
        "{said:#?}"
    );
    assert!(said.err.is_empty(), "{said:#?}");
    // The exit code says what the last line says.
    let works = said.out.ends_with("\nAll that is essential works.\n");
    assert_eq!(said.code, Some(i32::from(!works)), "{said:#?}");
    let json = folder.said(&["doctor", "--json"]);
    assert_eq!(json.code, said.code);
    assert!(
        json.out.contains(&format!("\"works\": {works}")),
        "{json:#?}"
    );
    assert!(json.out.contains("\"report\": \"doctor\""), "{json:#?}");
    assert!(folder.recordings().is_empty());
    assert_eq!(folder.said(&["doctor", "x"]).code, Some(2));
}

#[test]
fn where_a_filter_refuses_perf_events_all_say_so_and_much_works() {
    let (Some(refusing), true) = (Refusing::new(), has_perf()) else {
        return;
    };
    let calls = [libc::SYS_perf_event_open];
    let said = refusing.said(libc::EPERM, &calls, &["doctor", "--width", "500"]);
    said.succeeded();
    let mut reasons = 0;
    for (topic, sign) in [
        ("clocks", "~"),
        ("attach", "~"),
        ("--wall", "✗"),
        ("kernel time", "~"),
    ] {
        let text = about(&said, topic);
        assert!(text.starts_with(sign), "{text}");
        let is_given = text.contains(FILTER) && text.contains("--cap-add PERFMON");
        reasons += usize::from(is_given);
        let is_same = text.contains("for the same reason as clocks");
        assert!(is_given || is_same, "{text}");
    }
    assert_eq!(reasons, 1, "{said:#?}");
    assert!(about(&said, "recording").contains("cpu-timer"), "{said:#?}");
    // The same words where it matters.
    let words = [
        "record",
        "-o",
        "x.profundo",
        "--engine",
        "perf-signal",
        "true",
    ];
    let said = refusing.said(libc::EPERM, &calls, &words);
    said.refused(1, FILTER);
    let said = refusing.said(
        libc::EPERM,
        &calls,
        &["record", "--wall", "-o", "x.profundo", "true"],
    );
    assert_eq!(said.err.matches(FILTER).count(), 2, "{said:#?}");
    // Some filters have it that there is no such call.
    let said = refusing.said(libc::ENOSYS, &calls, &["doctor", "--width", "500"]);
    assert!(
        about(&said, "clocks").contains("a seccomp filter forbids it"),
        "{said:#?}"
    );
    // Without the filter, which is what the remedy is about.
    let said = refusing.folder.said(&["doctor"]);
    assert!(
        !said.succeeded().out.contains("seccomp filter forbids"),
        "{said:#?}"
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
    // It is attached to again and again, and goes on. A machine that is very busy may leave no time for
    // stacks, but what the program had is counted.
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
        let said = refusing.said(libc::EPERM, &calls, &words);
        said.succeeded();
        let note = format!(
            "Note: the engine is proc-poll, which looks at each tick of its own which threads have run, \
             and reads those: {FILTER}; "
        );
        assert_eq!(said.out.matches(&note).count(), 1, "{said:#?}");
        assert!(!running.has_ended());
        found += usize::from(said.out.contains("hot  spin.py"));
        if found == 2 {
            break;
        }
        assert!(round < TRIES, "{said:#?}");
    }
    // The live page does without, too.
    let said = refusing.said(libc::EPERM, &calls, &["top", "--once", "-i", "1", &pid]);
    assert!(said.succeeded().out.contains(&pid), "{said:#?}");
    let json = refusing.folder.said(&["report", "x.profundo", "--json"]);
    let json = json.succeeded().out.clone();
    assert!(json.contains("\"engine\": \"proc-poll\""), "{json}");
    // What the samples weigh is what the kernel has counted.
    let number = |key: &str| {
        let (_, after) = json.split_once(&format!("\"{key}\": ")).unwrap();
        let number: String = after
            .chars()
            .take_while(|it| !",}\n".contains(*it))
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
    let said = refusing.said(libc::EPERM, &calls, &["attach", &pid, "-d", "1"]);
    said.refused(1, &sentence);
    assert!(said.err.contains("--cap-add SYS_PTRACE"), "{said:#?}");
    let said = refusing.said(libc::EPERM, &calls, &["doctor", &pid, "--width", "500"]);
    assert_eq!(said.code, Some(1), "{said:#?}");
    assert!(said.out.contains(&sentence), "{said:#?}");
    assert!(said.out.contains("✗ attach"), "{said:#?}");
    assert!(
        said.out.ends_with("2 essential things do not work.\n"),
        "{said:#?}"
    );
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
    let pid = sleeper.pid();
    let began = std::time::Instant::now();
    while fs::read_to_string(format!("/proc/{pid}/comm")).unwrap() != "sleep\n" {
        assert!(began.elapsed() < std::time::Duration::from_secs(60));
        std::thread::sleep(std::time::Duration::from_millis(5));
    }
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
    let Some(said) = with_own_mounts(&refusing.folder, &script) else {
        return;
    };
    let (before, after) = said
        .out
        .split_once("mended\n")
        .unwrap_or_else(|| panic!("{said:#?}"));
    let closed = "perf_event_open is refused (permission denied): kernel.perf_event_paranoid is 4, and 2 or less is wanted";
    assert!(before.contains(closed), "{said:#?}");
    assert!(
        before.contains("→ sudo sysctl kernel.perf_event_paranoid=2"),
        "{said:#?}"
    );
    let scope = format!(
        "profundo: process {pid} may be looked into by the processes that started it only: \
         kernel.yama.ptrace_scope is 1; mend it with `sudo sysctl kernel.yama.ptrace_scope=0"
    );
    assert!(before.contains(&scope), "{said:#?}");
    assert!(
        !after.contains("paranoid is 4") && !after.contains("ptrace_scope is"),
        "{said:#?}"
    );
    assert!(
        after.contains(&format!("Process {pid}: sleep 1000")),
        "{said:#?}"
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
    let said = there.said(&["attach", &pid]);
    said.refused(
        1,
        &format!("{sentence}; mend it with `sudo profundo attach {pid}"),
    );
    let said = there.said(&["doctor", &pid, "--width", "500"]);
    assert_eq!(said.code, Some(1), "{said:#?}");
    let part = said.out.split("\nProcess ").nth(1).unwrap();
    assert!(part.contains(&sentence), "{said:#?}");
    // Root, that is we, may.
    let said = Folder::new().said(&["attach", &pid, "--dump"]);
    assert!(said.succeeded().out.contains("sleep 1000"), "{said:#?}");
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
        Said::of(command.output().unwrap())
    };
    let few = "ulimit -n 40;";
    let said = within(few, "doctor --width 500");
    let text = about(&said, "open files");
    assert!(text.starts_with('~') || text.starts_with('✗'), "{text}");
    let remedy = mend(&said, "open files");
    let attach = format!("attach {pid} -d 0.3 -o x.profundo --width 1000");
    let said = within(few, &attach);
    said.succeeded();
    let sentence =
        "too many open files: each thread wants one on each CPU, and the limit is 40; mend it with";
    assert!(said.out.contains("the engine is proc-poll"), "{said:#?}");
    assert!(
        said.out.contains(&format!("{sentence} `{remedy}`")),
        "{said:#?}"
    );
    if remedy.starts_with("ulimit") {
        let said = within(&format!("{few} {remedy};"), &attach);
        assert!(!said.succeeded().out.contains("proc-poll"), "{said:#?}");
    }
    let said = within("", &attach);
    assert!(!said.succeeded().out.contains("proc-poll"), "{said:#?}");
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
    let Some(said) = with_own_mounts(&folder, &script) else {
        return;
    };
    let sentence = "no room for the session's shared memory in /dev/shm or ";
    assert_eq!(said.out.matches(sentence).count(), 2, "{said:#?}");
    assert_eq!(said.out.matches("code 1\n").count(), 2, "{said:#?}");
    assert!(about(&said, "memory").ends_with("for the same reason as recording"));
    let remedy = mend(&said, "recording");
    assert!(remedy.starts_with("export TMPDIR=/"), "{remedy}");
    assert!(
        said.out.contains(&format!("mend it with `{remedy}`")),
        "{said:#?}"
    );
    let script = format!("{script}; {remedy}; {profundo} record -o x.profundo true 2>&1");
    let said = with_own_mounts(&folder, &script).unwrap();
    said.succeeded();
    assert!(said.out.contains("samples in x.profundo"), "{said:#?}");
}

#[test]
fn what_is_no_process_to_attach_to_is_said() {
    let folder = Folder::new();
    let nobody = folder.said(&["attach", "4194304"]);
    nobody.refused(1, "there is no process 4194304");
    let profundo = env!("CARGO_BIN_EXE_profundo");
    let own = Command::new("sh")
        .args(["-c", &format!("echo $$; exec {profundo} attach $$")])
        .output();
    let own = Said::of(own.unwrap());
    let pid = own.out.trim();
    assert_eq!(
        own.err,
        format!("profundo: process {pid} is this very profundo\n")
    );
    // A child that nobody has asked for.
    let mut zombie = Command::new("true").spawn().unwrap();
    let pid = zombie.id();
    let stat = || fs::read_to_string(format!("/proc/{pid}/stat")).unwrap();
    let began = std::time::Instant::now();
    while !stat().contains(") Z ") {
        assert!(began.elapsed() < std::time::Duration::from_secs(60));
        std::thread::sleep(std::time::Duration::from_millis(5));
    }
    let said = folder.said(&["attach", &pid.to_string()]);
    said.refused(1, &format!("process {pid} has ended already"));
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
        let said = folder.said(&["attach", &thread]);
        said.refused(
            1,
            &format!(
                "{thread} is a thread of process {leader}; mend it with `profundo attach {leader}`"
            ),
        );
    }
    if fs::read_to_string("/proc/2/comm").is_ok_and(|name| name == "kthreadd\n") {
        folder
            .said(&["attach", "2"])
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
    let began = std::time::Instant::now();
    while fs::read_to_string(format!("/proc/{pid}/comm")).unwrap() != "sleep\n" {
        assert!(began.elapsed() < std::time::Duration::from_secs(60));
        std::thread::sleep(std::time::Duration::from_millis(5));
    }
    let none = std::ptr::null_mut::<libc::c_void>();
    // SAFETY: it is our child, which goes on.
    let seized = unsafe { libc::ptrace(libc::PTRACE_SEIZE, pid as i32, none, none) };
    if seized != 0 {
        return skip("ptrace is not permitted");
    }
    let said = Folder::new().said(&["doctor", &pid.to_string(), "--width", "500"]);
    let text = about(&said, "debugger");
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
    let said = loop {
        let said = folder.said(&["doctor", &pid, "--width", "500"]);
        if said.out.contains("whose stacks are read") {
            break said;
        }
        assert!(
            began.elapsed() < std::time::Duration::from_secs(60),
            "{said:#?}"
        );
    };
    let (_, process) = said.out.split_once("\nProcess ").unwrap();
    assert!(
        process.contains("spin.py 100000") && process.contains("· 1 thread\n"),
        "{said:#?}"
    );
    assert!(
        process.contains("linked dynamically, with glibc"),
        "{said:#?}"
    );
    assert!(process.contains("names"), "{said:#?}");
}
