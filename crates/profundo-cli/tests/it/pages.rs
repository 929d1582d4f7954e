//! Pages that the command shows by itself: that of a process that runs, and that of a recording.

use std::fs;
use std::io::{BufRead, BufReader};
use std::process::{Child, Command, Stdio};

use profundo_testing::{skip, wait_until};

use crate::machine::Folder;

/// A process that works until it is dropped.
struct Busy(Child);

impl Drop for Busy {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// True while a process is there and has not ended.
fn is_alive(pid: &str) -> bool {
    let stat = fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
    stat.rsplit_once(") ")
        .is_some_and(|(_, rest)| !rest.starts_with('Z'))
}

/// The children of a process; `None` where the kernel does not list them.
fn children(pid: u32) -> Option<Vec<String>> {
    let path = format!("/proc/{pid}/task/{pid}/children");
    let text = fs::read_to_string(path).ok()?;
    Some(text.split_whitespace().map(str::to_owned).collect())
}

#[test]
fn a_killed_page_of_a_process_leaves_a_whole_recording_and_no_recorder() {
    let folder = Folder::new();
    let mut busy = Command::new("sh");
    let busy = busy
        .args(["-c", "while :; do :; done"])
        .stdin(Stdio::null());
    let busy = Busy(busy.spawn().unwrap());
    let pid = busy.0.id().to_string();
    let mut page = folder.profundo(&["view", "--no-open", &pid]);
    page.env("XDG_RUNTIME_DIR", folder.path());
    page.stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut page = Busy(page.spawn().unwrap());
    let mut url = String::new();
    let stdout = page.0.stdout.take().unwrap();
    BufReader::new(stdout).read_line(&mut url).unwrap();
    if !url.starts_with("http://127.0.0.1:") {
        let _ = page.0.wait();
        let mut said = String::new();
        let stderr = page.0.stderr.take().unwrap();
        for line in BufReader::new(stderr).lines().map_while(Result::ok) {
            said.push_str(&line);
        }
        assert!(said.contains("ptrace") || said.contains("permi"), "{said}");
        skip(&format!("no process can be attached to: {said}"));
        return;
    }
    let Some(recorders) = children(page.0.id()) else {
        skip("the kernel does not list the children of a process");
        return;
    };
    assert_eq!(recorders.len(), 1, "one process records");
    // SIGKILL: nothing of its own can run any more.
    page.0.kill().unwrap();
    page.0.wait().unwrap();
    wait_until("the recorder has ended", || !is_alive(&recorders[0]));
    let [recording] = &folder.recordings()[..] else {
        panic!("one recording: {:?}", folder.recordings());
    };
    let report = folder.run(&["report", recording.to_str().unwrap()]);
    report.succeeded();
    // A recording that ends early says so.
    assert!(!report.err.contains("recover"), "{report:#?}");
    assert!(is_alive(&pid), "the process goes on");
}

#[test]
fn record_shows_its_page_as_run_does() {
    let folder = Folder::new();
    for option in ["--view", "--live"] {
        for verb in ["record", "run"] {
            let mut command = folder.profundo(&[verb, option, "-o", "x.profundo", "--"]);
            command.args(["sh", "-c", "echo out; sleep 0.2; exit 3"]);
            command.env("XDG_RUNTIME_DIR", folder.path());
            let outcome = crate::machine::Outcome::of(command.output().unwrap());
            assert_eq!((outcome.out.as_str(), outcome.code), ("out\n", Some(3)));
            let said = outcome
                .err
                .lines()
                .find_map(|line| line.strip_prefix("profundo: the page: "));
            assert!(
                said.is_some_and(|url| url.starts_with("http://127.0.0.1:")),
                "{outcome:#?}"
            );
            // The server goes on by itself.
            let entries: Vec<_> = fs::read_dir(folder.join("profundo"))
                .unwrap()
                .flatten()
                .collect();
            assert_eq!(entries.len(), 1, "one server: {entries:?}");
            let entry = entries[0].path();
            let server = entry.file_stem().unwrap().to_str().unwrap().to_owned();
            // SAFETY: a signal to a process of this test.
            unsafe { libc::kill(server.parse().unwrap(), libc::SIGTERM) };
            wait_until("the server has ended", || !is_alive(&server));
            assert!(!entry.exists(), "its entry goes with it");
        }
        let elsewhere = folder.run(&["record", option, "-o", "-", "--", "true"]);
        elsewhere.refused(2, "a page shows a recording in a file");
    }
    let both = folder.run(&["record", "--view", "--live", "--", "true"]);
    both.refused_with_usage("cannot be used with");
}

#[test]
fn sets_of_recordings_have_a_mark_between_them() {
    let folder = Folder::new();
    let made = folder.run(&["record", "-o", "a.profundo", "--", "sh", "-c", ":"]);
    made.succeeded();
    for name in ["b", "c", "d"] {
        fs::copy(
            folder.join("a.profundo"),
            folder.join(format!("{name}.profundo")),
        )
        .unwrap();
    }
    let names = ["a.profundo", "b.profundo", "c.profundo", "d.profundo"];
    let view = |words: &[&str]| folder.run(&[&["view", "-o", "page.html"], words].concat());
    view(&names).refused(
        2,
        "4 recordings are named: those before and those after have `--`",
    );
    view(&["a.profundo", "b.profundo", "--", "c.profundo", "d.profundo"]).succeeded();
    let size = |name: &str| fs::metadata(folder.join(name)).unwrap().len();
    let of_four = size("page.html");
    view(&["--", "a.profundo"]).succeeded();
    assert!(
        of_four > size("page.html"),
        "one recording is less than four"
    );
}
