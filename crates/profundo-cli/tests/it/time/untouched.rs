//! The program notices nothing, and ends as it ends.

use std::io::Read;
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::process::{Command, Stdio};

use crate::machine::{Folder, Outcome};

/// Runs a script as it is, and under `time`: all that comes out is the same. The report goes to a
/// file.
#[track_caller]
fn same(script: &str) -> Outcome {
    let folder = Folder::new();
    let run = |command: &mut Command| {
        command.current_dir(folder.path()).stdin(Stdio::null());
        Outcome::of(command.output().unwrap())
    };
    let plain = run(Command::new("/bin/sh").args(["-c", script]));
    let ours = run(&mut folder.profundo(&["time", "-o", "report", "--", "/bin/sh", "-c", script]));
    assert_eq!(
        (&ours.out, &ours.err, ours.code, ours.signal),
        (&plain.out, &plain.err, plain.code, plain.signal),
        "{script}"
    );
    let report = std::fs::read_to_string(folder.path().join("report")).unwrap();
    assert!(report.contains("\nreal "), "{report}");
    ours
}

#[test]
fn output_and_end_are_as_before() {
    same("echo out; echo err >&2; exit 0");
    same("cat; exit 3");
    same("exit 255");
    same("env | grep -v '^_=' | sort; umask; ulimit -a; pwd; nice");
    same("ls -l /proc/self/fd | awk '{print $9, $10, $11}' | grep -v /proc/ | grep -v pipe:");
    same("grep -E '^Sig(Blk|Ign)' /proc/self/status");
    same("yes | head -n 1");
    for (signal, number) in [
        ("TERM", 15),
        ("KILL", 9),
        ("SEGV", 11),
        ("INT", 2),
        ("PIPE", 13),
    ] {
        assert_eq!(same(&format!("kill -{signal} $$")).signal, Some(number));
    }
}

#[test]
fn ignored_signals_and_closed_descriptors_stay_so() {
    let folder = Folder::new();
    let of = |mut command: Command| {
        // SAFETY: only sets dispositions and closes a descriptor between fork and exec.
        unsafe {
            command.pre_exec(|| {
                let mut ignored: libc::sigaction = std::mem::zeroed();
                ignored.sa_sigaction = libc::SIG_IGN;
                for signal in [libc::SIGHUP, libc::SIGPIPE, libc::SIGCHLD] {
                    libc::sigaction(signal, &ignored, std::ptr::null_mut());
                }
                libc::close(2);
                Ok(())
            });
        }
        let output = command.current_dir(folder.path()).output().unwrap();
        (
            String::from_utf8(output.stdout).unwrap(),
            output.status.code(),
        )
    };
    let script =
        "grep -E '^Sig(Blk|Ign)' /proc/self/status; ls /proc/self/fd | tr '\\n' ' '; exit 5";
    let mut plain = Command::new("/bin/sh");
    plain.args(["-c", script]);
    let ours = folder.profundo(&["time", "--", "/bin/sh", "-c", script]);
    assert_eq!(of(ours), of(plain));
}

#[test]
fn the_standard_input_is_the_programs() {
    let folder = Folder::new();
    let file = folder.file("input", "one\ntwo\n");
    let run = |words: &[&str], input: Stdio| {
        let mut command = folder.profundo(words);
        Outcome::of(command.stdin(input).output().unwrap())
    };
    let script = "read line; echo $line";
    let opened = || Stdio::from(std::fs::File::open(&file).unwrap());
    let once = run(&["time", "--", "sh", "-c", script], opened());
    assert_eq!(once.out, "one\n");
    // Each of several runs reads it anew, those that warm up as well.
    let words = [
        "time", "--runs", "2", "--warmup", "1", "--", "sh", "-c", script,
    ];
    assert_eq!(run(&words, opened()).out, "one\none\none\n");
}

#[test]
fn what_cannot_start_is_one_sentence() {
    let folder = Folder::new();
    folder.file("text", "not a program");
    folder
        .run(&["time", "no-such-program"])
        .refused(127, "no program `no-such-program` is in PATH");
    folder
        .run(&["time", "./text"])
        .refused(126, "not executable");
    folder
        .run(&["time", "-o", "none/report", "echo", "it runs"])
        .refused(1, "nothing was run");
    folder.run(&["time", "--runs", "0", "true"]).refused_usage();
    folder
        .run(&["time", "-p", "--json", "true"])
        .refused_usage();
    folder
        .run(&["time", "-p", "--runs", "2", "true"])
        .refused_usage();
    folder.run(&["time", "--append", "true"]).refused_usage();
    folder.run::<&str>(&["time"]).refused_usage();
}

impl Outcome {
    #[track_caller]
    fn refused_usage(&self) {
        assert_eq!(self.code, Some(2), "{self:#?}");
        assert!(self.err.starts_with("profundo: "), "{self:#?}");
        assert_eq!(self.out, "");
    }
}

#[test]
fn signals_sent_to_us_alone_reach_the_program() {
    let folder = Folder::new();
    let script = "trap 'echo got it; exit 9' TERM; echo ready; while :; do sleep 0.05; done";
    let mut child = folder
        .profundo(&["time", "--", "/bin/sh", "-c", script])
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let mut out = child.stdout.take().unwrap();
    let mut ready = [0; 6];
    out.read_exact(&mut ready).unwrap();
    // SAFETY: our own child, which has not been waited for.
    unsafe { libc::kill(child.id() as i32, libc::SIGTERM) };
    let mut rest = String::new();
    out.read_to_string(&mut rest).unwrap();
    let outcome = Outcome::of(child.wait_with_output().unwrap());
    assert_eq!(
        (rest.as_str(), outcome.code),
        ("got it\n", Some(9)),
        "{outcome:#?}"
    );
    assert!(outcome.err.contains("exit code 9"), "{outcome:#?}");
}

#[test]
fn an_interrupt_ends_a_series() {
    let folder = Folder::new();
    let script = "echo ready; exec sleep 20";
    let mut child = folder
        .profundo(&["time", "--runs", "5", "--", "/bin/sh", "-c", script])
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let mut ready = [0; 6];
    child
        .stdout
        .as_mut()
        .unwrap()
        .read_exact(&mut ready)
        .unwrap();
    // SAFETY: our own child, which has not been waited for.
    unsafe { libc::kill(child.id() as i32, libc::SIGINT) };
    let output = child.wait_with_output().unwrap();
    assert_eq!(output.status.signal(), Some(libc::SIGINT), "{output:?}");
    let outcome = String::from_utf8(output.stderr).unwrap();
    assert!(outcome.contains("no run was measured"), "{outcome}");
}
