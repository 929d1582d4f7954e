//! Neither a program nor its parent process can notice that it is being recorded.

use std::fs;
use std::io::{Read, Write};
use std::os::unix::fs::PermissionsExt;
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::process::{Child, Command, Stdio};

use profundo_testing::{PATIENCE, python, wait_for_exit};

use crate::machine::{Folder, Outcome};

/// Runs a shell script without and with us and compares.
#[track_caller]
fn same(script: &str) -> (Outcome, Outcome) {
    let folder = Folder::new();
    let run = |mut command: Command| {
        let mut child = command
            .current_dir(folder.path())
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        let _ = child.stdin.take().unwrap().write_all(b"one\ntwo\n");
        Outcome::of(child.wait_with_output().unwrap())
    };
    let mut plain = Command::new("/bin/sh");
    plain.args(["-c", script]);
    let plain = run(plain);
    let ours = run(folder.profundo(&["record", "-o", "x.profundo", "/bin/sh", "-c", script]));
    assert_eq!(ours.out, plain.out, "{script}");
    assert_eq!(ours.code, plain.code, "{script} {ours:#?}");
    assert_eq!(ours.signal, plain.signal, "{script} {ours:#?}");
    let err: String = ours
        .err
        .split_inclusive('\n')
        .filter(|line| !line.starts_with("profundo: "))
        .collect();
    assert_eq!(err, plain.err, "{script}");
    (plain, ours)
}

#[test]
fn output_and_exit_codes_are_the_programs() {
    same("echo out; echo err >&2; exit 0");
    same("cat; exit 3");
    same("exit 255");
    same("printf 'no newline'; printf '\\000\\377' ");
    same("read line; echo \"[$line]\"; cat >/dev/null");
    same("exec sh -c 'echo deeper; exit 7'");
}

#[test]
fn a_program_dies_of_its_own_signal() {
    let signals = [
        ("TERM", libc::SIGTERM),
        ("KILL", libc::SIGKILL),
        ("SEGV", libc::SIGSEGV),
        ("ABRT", libc::SIGABRT),
        ("INT", libc::SIGINT),
        ("PIPE", libc::SIGPIPE),
        ("USR1", libc::SIGUSR1),
    ];
    for (signal, number) in signals {
        let (plain, _) = same(&format!("kill -{signal} $$"));
        assert_eq!(plain.signal, Some(number), "{signal}");
    }
}

#[test]
fn the_environment_is_as_before() {
    // The shell that runs the script changes `_` itself.
    same("env | grep -v '^_=' | sort");
    same("echo ${LD_PRELOAD-unset} ${PROFUNDO_SESSION-unset}");
    same("umask; ulimit -a; ulimit -Ha; pwd; nice");
}

#[test]
fn signals_and_descriptors_are_as_before() {
    same("ls -l /proc/self/fd | awk '{print $9, $10, $11}' | grep -v /proc/ | grep -v pipe:");
    same("grep -E '^Sig(Blk|Ign)' /proc/self/status");
    // A broken pipe ends its writer, as it does without us.
    same("yes | head -n 1");
}

#[test]
fn started_with_signals_ignored_the_program_ignores_them() {
    let folder = Folder::new();
    let status = |mut command: Command| {
        // SAFETY: only sets dispositions between fork and exec.
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
        String::from_utf8(output.stdout).unwrap()
    };
    let script = "grep -E '^Sig(Blk|Ign)' /proc/self/status; ls /proc/self/fd | tr '\\n' ' '";
    let mut plain = Command::new("/bin/sh");
    plain.args(["-c", script]);
    let ours = folder.profundo(&["record", "-o", "x.profundo", "/bin/sh", "-c", script]);
    assert_eq!(status(ours), status(plain));
}

#[test]
fn its_name_is_what_was_typed() {
    let Some(python) = python() else { return };
    let folder = Folder::new();
    let bin = folder.path().join("bin");
    fs::create_dir(&bin).unwrap();
    std::os::unix::fs::symlink("/bin/sh", bin.join("mysh")).unwrap();
    let path = format!("{}:{}", bin.display(), std::env::var("PATH").unwrap());
    let run = |words: &[&str]| {
        let mut command = folder.profundo(words);
        Outcome::of(command.env("PATH", &path).output().unwrap())
    };
    assert_eq!(run(&["record", "mysh", "-c", "echo $0"]).out, "mysh\n");
    // A file of Python's is run by python3, with its own arguments.
    folder.file("app.py", "import sys; print(sys.argv); sys.exit(5)");
    std::os::unix::fs::symlink(&python, bin.join("python3")).unwrap();
    let ours = run(&["record", "app.py", "-o", "--rate", "x"]);
    assert_eq!(ours.out, "['app.py', '-o', '--rate', 'x']\n", "{ours:#?}");
    assert_eq!(ours.code, Some(5));
    let names: Vec<String> = folder
        .recordings()
        .iter()
        .map(|path| path.file_name().unwrap().to_string_lossy().into_owned())
        .collect();
    assert!(names[0].starts_with("app-2"), "{names:?}");
    assert!(names[1].starts_with("mysh-2"), "{names:?}");
}

#[test]
fn a_script_without_a_first_line_is_run_by_the_shell() {
    let folder = Folder::new();
    let script = folder.file("script", "echo \"run by a shell: $1\"\n");
    fs::set_permissions(&script, fs::Permissions::from_mode(0o755)).unwrap();
    let outcome = folder.run(&["record", "./script", "yes"]);
    assert_eq!(outcome.out, "run by a shell: yes\n", "{outcome:#?}");
}

#[test]
fn what_cannot_start_is_one_sentence() {
    let folder = Folder::new();
    folder.file("text", "not a program");
    folder.file("broken", "\x7fELF and no more");
    let broken = folder.path().join("broken");
    fs::set_permissions(&broken, fs::Permissions::from_mode(0o755)).unwrap();
    folder
        .run(&["run", "no-such-program"])
        .refused(127, "no program `no-such-program` is in PATH");
    folder
        .run(&["run", "./nothing"])
        .refused(127, "there is no program `./nothing`");
    folder
        .run(&["run", "./text"])
        .refused(126, "not executable");
    folder.run(&["run", "text"]).refused(127, "write ./text");
    folder.run(&["run", "/"]).refused(126, "it is a folder");
    folder
        .run(&["run", "missing.py"])
        .refused(127, "there is no file `missing.py`");
    // Nothing was recorded, and nothing is left behind.
    assert!(folder.recordings().is_empty());
}

fn wait(child: &mut Child) -> std::process::ExitStatus {
    wait_for_exit(child, "the command", PATIENCE)
}

/// Starts a shell script under us and returns when it has said that it is ready.
fn started(folder: &Folder, script: &str) -> Child {
    let mut child = folder
        .profundo(&["record", "-o", "x.profundo", "/bin/sh", "-c", script])
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
    assert_eq!(&ready, b"ready\n");
    child
}

#[test]
fn signals_sent_to_us_alone_reach_the_program() {
    for (signal, name) in [
        (libc::SIGTERM, "TERM"),
        (libc::SIGHUP, "HUP"),
        (libc::SIGUSR1, "USR1"),
        (libc::SIGINT, "INT"),
    ] {
        let folder = Folder::new();
        let script = format!(
            "trap 'echo got {name}; exit 9' {name}; echo ready; while :; do sleep 0.05; done"
        );
        let mut child = started(&folder, &script);
        // SAFETY: our own child, which has not been waited for.
        unsafe { libc::kill(child.id() as i32, signal) };
        assert_eq!(wait(&mut child).code(), Some(9), "{name}");
        let mut rest = String::new();
        child.stdout.unwrap().read_to_string(&mut rest).unwrap();
        assert_eq!(rest, format!("got {name}\n"));
    }
}

#[test]
fn a_signal_to_the_whole_group_comes_once() {
    let folder = Folder::new();
    let script = "trap 'echo got it' USR1; sh -c \"trap '' USR1; sleep 0.1; kill -USR1 0; sleep 0.3\"; echo end";
    let command = folder.profundo(&["record", "-o", "x.profundo", "/bin/sh", "-c", script]);
    let mut command = command;
    command.process_group(0);
    let outcome = Outcome::of(command.output().unwrap());
    assert_eq!(outcome.out.matches("got it").count(), 1, "{outcome:#?}");
}

#[test]
fn a_signal_that_kills_the_program_kills_us() {
    let folder = Folder::new();
    let mut child = started(&folder, "echo ready; while :; do sleep 0.05; done");
    // SAFETY: our own child, which has not been waited for.
    unsafe { libc::kill(child.id() as i32, libc::SIGTERM) };
    let status = wait(&mut child);
    assert_eq!(status.signal(), Some(libc::SIGTERM), "{status:?}");
    // And what was recorded until then is whole.
    folder.run(&["report", "x.profundo"]).succeeded();
}

#[test]
fn killed_at_once_we_leave_a_recording() {
    let folder = Folder::new();
    let mut child = started(&folder, "echo ready; sleep 0.2");
    child.kill().unwrap();
    wait(&mut child);
    folder.run(&["recover", "x.profundo"]).succeeded();
    folder.run(&["report", "x.profundo"]).succeeded();
}

#[test]
fn another_users_program_hears_nothing_of_us() {
    // SAFETY: asks for our user id, and cannot fail.
    if unsafe { libc::geteuid() } != 0 {
        return profundo_testing::skip("only root can become somebody else");
    }
    if Command::new("setpriv").arg("--version").output().is_err() {
        return profundo_testing::skip("there is no setpriv");
    }
    // The agent lies in root's own folder, which the others may not enter.
    same("setpriv --reuid 65534 --regid 65534 --clear-groups sh -c 'id -u; echo err >&2; exit 5'");
}
