//! The recording's file, and what happens where it cannot be one.

use std::collections::BTreeSet;
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{Command, Stdio};

use profundo_testing::{python, skip, wait_until};

use crate::machine::{Folder, Outcome, SPIN_PY, c_program};

fn is_root() -> bool {
    // SAFETY: asks for our user id, and cannot fail.
    unsafe { libc::geteuid() == 0 }
}

#[test]
fn a_recording_is_its_owners_alone() {
    let folder = Folder::new();
    let outcome = folder.run(&["record", "sh", "-c", "exit 0"]);
    outcome.succeeded();
    let [recording] = &folder.recordings()[..] else {
        panic!("one recording")
    };
    let mode = fs::metadata(recording).unwrap().permissions().mode();
    assert_eq!(mode & 0o777, 0o600);
    let name = recording
        .file_name()
        .unwrap()
        .to_string_lossy()
        .into_owned();
    assert!(name.starts_with("sh-2"), "{name}");
    assert!(outcome.err.contains(&name), "{outcome:#?}");
    let folder_mode = fs::metadata(recording.parent().unwrap())
        .unwrap()
        .permissions()
        .mode();
    assert_eq!(folder_mode & 0o777, 0o700);
    // Values of the environment are not recorded.
    let mut command = folder.profundo(&["record", "-o", "env.profundo", "sh", "-c", "exit 0"]);
    command.env("VERY_SECRET_NAME", "very-secret-value");
    Outcome::of(command.output().unwrap()).succeeded();
    let json = folder.run(&["report", "env.profundo", "--json"]).out;
    assert!(!json.contains("very-secret-value"));
}

#[test]
fn what_cannot_be_written_stops_us_before_the_program_runs() {
    let folder = Folder::new();
    let words = ["record", "-o", "/no/such/folder/x.profundo", "touch", "ran"];
    folder
        .run(&words)
        .refused(1, "cannot write /no/such/folder/x.profundo");
    assert!(!folder.path().join("ran").exists());
    if is_root() {
        skip("root may write everywhere");
        return;
    }
    fs::set_permissions(folder.path(), fs::Permissions::from_mode(0o555)).unwrap();
    let outcome = folder.run(&["record", "touch", "ran"]);
    fs::set_permissions(folder.path(), fs::Permissions::from_mode(0o755)).unwrap();
    outcome.refused(1, "permission denied");
}

#[test]
fn what_is_no_recording_is_said() {
    let folder = Folder::new();
    folder.file(
        "text.profundo",
        "this is text, and more than sixteen bytes of it",
    );
    folder.file("empty.profundo", "");
    for verb in [
        &["report"][..],
        &["flame", "-o", "x.svg"],
        &["export", "--to", "pprof", "-o", "x.pb.gz"],
        &["recover"],
    ] {
        let with = |file: &'static str| {
            let mut words = verb.to_vec();
            words.insert(1, file);
            folder.run(&words)
        };
        with("text.profundo").refused(1, "neither a recording");
        with("empty.profundo").refused(1, "empty.profundo is empty");
        with("missing.profundo").refused(1, "there is no recording");
        with("/").refused(1, "is a directory");
    }
    assert!(!folder.path().join("x.svg").exists());
}

#[test]
fn a_cut_or_damaged_recording_gives_what_it_has() {
    let Some(python) = python() else { return };
    let folder = Folder::new();
    folder.file("spin.py", SPIN_PY);
    let python = python.to_str().unwrap();
    folder
        .run(&["record", "-o", "x.profundo", python, "spin.py", "0.5"])
        .succeeded();
    let bytes = fs::read(folder.path().join("x.profundo")).unwrap();
    fs::write(
        folder.path().join("cut.profundo"),
        &bytes[..bytes.len() - 20],
    )
    .unwrap();
    let outcome = folder.run(&["report", "cut.profundo"]);
    outcome.succeeded();
    assert!(
        outcome.err.contains("profundo recover cut.profundo"),
        "{outcome:#?}"
    );
    assert!(outcome.out.contains("hot"), "{outcome:#?}");
    folder.run(&["recover", "cut.profundo"]).succeeded();
    let outcome = folder.run(&["report", "cut.profundo"]);
    assert_eq!(outcome.err, "", "{outcome:#?}");
    assert!(outcome.out.contains("recovered"), "{outcome:#?}");
    // Each byte may be wrong; none makes us fail in another way than by one sentence.
    for step in [7, 41] {
        let mut damaged = bytes.clone();
        for byte in damaged.iter_mut().skip(16).step_by(bytes.len() / step + 1) {
            *byte ^= 0x55;
        }
        fs::write(folder.path().join("bad.profundo"), &damaged).unwrap();
        let outcome = folder.run(&["report", "bad.profundo"]);
        assert!(matches!(outcome.code, Some(0 | 1)), "{outcome:#?}");
        assert!(outcome.err.starts_with("profundo: "), "{outcome:#?}");
    }
    let mut newer = bytes;
    newer[12] = 99;
    fs::write(folder.path().join("new.profundo"), &newer).unwrap();
    let outcome = folder.run(&["report", "new.profundo"]);
    assert_eq!(outcome.code, Some(1), "{outcome:#?}");
}

/// Bytes that are wrong, one at a time or from some place on, and what is cut anywhere: whatever
/// comes of it is said in sentences, by every verb.
#[test]
fn no_damage_is_too_much() {
    let folder = Folder::new();
    let made = folder.path().join("made.profundo");
    let profile = crate::options::profile(&folder.file("app.py", "main()\n"));
    profundo_formats::write_file(&made, &profile).unwrap();
    let whole = fs::read(&made).unwrap();
    let check = |bytes: &[u8], what: &str| {
        fs::write(folder.path().join("bad.profundo"), bytes).unwrap();
        for words in [
            &["report", "bad.profundo"][..],
            &["export", "bad.profundo", "--to", "collapsed", "-o", "out"],
            &["recover", "bad.profundo", "-o", "mended.profundo"],
        ] {
            let outcome = folder.run(words);
            assert!(
                matches!(outcome.code, Some(0 | 1)),
                "{what} {words:?} {outcome:#?}"
            );
            let is_sentence = |line: &str| line.starts_with("profundo: ");
            assert!(
                outcome.err.lines().all(is_sentence),
                "{what} {words:?} {outcome:#?}"
            );
            assert!(
                !outcome.err.contains("panicked"),
                "{what} {words:?} {outcome:#?}"
            );
            assert!(
                outcome.code == Some(0) || !outcome.err.is_empty(),
                "{what} {words:?}"
            );
        }
    };
    let step = whole.len() / 40 + 1;
    for at in (0..whole.len()).step_by(step) {
        check(&whole[..at], &format!("cut at {at}"));
        let mut wrong = whole.clone();
        wrong[at] ^= 0xff;
        check(&wrong, &format!("byte {at} is wrong"));
        wrong[at..].fill(0xa5);
        check(&wrong, &format!("all is wrong from {at} on"));
    }
}

#[test]
fn what_is_there_and_no_recording_is_not_replaced() {
    let folder = Folder::new();
    let source = folder.file("app.py", "print('precious')\n");
    folder
        .run(&["record", "-o", "app.py", "touch", "ran"])
        .refused(2, "app.py is there and is no recording");
    assert_eq!(fs::read_to_string(source).unwrap(), "print('precious')\n");
    folder
        .run(&["record", "-o", ".", "touch", "ran"])
        .refused(1, "it is a folder");
    // Opening a pipe waits for its other end, which may never come.
    let pipe = std::ffi::CString::new(folder.path().join("pipe").to_str().unwrap()).unwrap();
    // SAFETY: the path is a C string.
    assert_eq!(unsafe { libc::mkfifo(pipe.as_ptr(), 0o600) }, 0);
    folder
        .run(&["record", "-o", "pipe", "touch", "ran"])
        .refused(2, "has to be a file");
    assert!(!folder.path().join("ran").exists());
    // A recording gives way to the next one, and so does an empty file.
    folder.file("x.profundo", "");
    for _ in 0..2 {
        folder
            .run(&["record", "-o", "x.profundo", "true"])
            .succeeded();
    }
}

/// Each verb that writes, with the option before the file's name.
const WRITERS: [&[&str]; 9] = [
    &["flame", "made.profundo", "-o"],
    &["export", "made.profundo", "--to", "collapsed", "-o"],
    &["export", "made.profundo", "--to", "pprof", "-o"],
    &["export", "made.profundo", "--to", "speedscope", "-o"],
    &["report", "made.profundo", "--report-to"],
    &["report", "made.profundo", "--json", "--report-to"],
    &["recover", "cut.profundo", "-o"],
    &["time", "-o"],
    &["time", "-p", "-o"],
];

fn with_recordings() -> Folder {
    let folder = Folder::new();
    let made = folder.path().join("made.profundo");
    let profile = crate::options::profile(&folder.file("app.py", "main()\n"));
    profundo_formats::write_file(&made, &profile).unwrap();
    let bytes = fs::read(&made).unwrap();
    fs::write(
        folder.path().join("cut.profundo"),
        &bytes[..bytes.len() - 20],
    )
    .unwrap();
    folder
}

#[test]
fn no_output_costs_a_file_of_another_kind() {
    let folder = with_recordings();
    let source = "int main() { return 0; }\n";
    for writer in WRITERS {
        let to = |name: &'static str| {
            let mut words = [writer, &[name]].concat();
            if writer[0] == "time" {
                words.extend(["--", "true"]);
            }
            words
        };
        folder.file("main.c", source);
        let outcome = folder.run(&to("main.c"));
        outcome.refused(2, "main.c is there and is no ");
        let text = fs::read_to_string(folder.path().join("main.c")).unwrap();
        assert_eq!(text, source, "{writer:?}");
        let mut forced = to("main.c");
        forced.insert(1, "--force");
        folder.run(&forced).succeeded();
        let text = fs::read(folder.path().join("main.c")).unwrap();
        assert_ne!(text, source.as_bytes(), "{writer:?}");
        // What was written so once is of its kind, and so is nothing at all.
        folder.run(&to("main.c")).succeeded();
        folder.file("empty", "");
        folder.run(&to("empty")).succeeded();
    }
    folder
        .run(&["bench", "--save", "app.py", "1"])
        .refused(2, "app.py is there and is no measurement");
}

#[test]
fn no_output_costs_its_input() {
    let folder = with_recordings();
    let made = folder.path().join("made.profundo");
    let before = fs::read(&made).unwrap();
    std::os::unix::fs::symlink("made.profundo", folder.path().join("soft")).unwrap();
    fs::hard_link(&made, folder.path().join("hard")).unwrap();
    let writers = WRITERS.iter().filter(|writer| writer[1] == "made.profundo");
    for writer in writers {
        for name in ["made.profundo", "soft", "hard", "./made.profundo"] {
            for force in [&[][..], &["--force"]] {
                let words = [*writer, &[name], force].concat();
                let outcome = folder.run(&words);
                outcome.refused(2, "is what is being read");
                assert_eq!(fs::read(&made).unwrap(), before, "{words:?}");
            }
        }
    }
}

#[test]
fn a_dash_is_the_standard_output() {
    let folder = with_recordings();
    for writer in WRITERS {
        let mut words = [writer, &["-"]].concat();
        if writer[0] == "time" {
            words.extend(["--", "true"]);
        }
        let mut command = folder.profundo(&words);
        let output = command.output().unwrap();
        assert!(output.status.success(), "{words:?} {output:?}");
        assert!(!output.stdout.is_empty(), "{words:?}");
        assert!(!folder.path().join("-").exists(), "{words:?}");
    }
    let output = folder
        .profundo(&["record", "-o", "-", "true"])
        .output()
        .unwrap();
    assert!(
        profundo_formats::is_profundo(&output.stdout),
        "{:?}",
        Outcome::of(output)
    );
    assert!(!folder.path().join("-").exists());
}

#[test]
fn pipes_and_devices_are_written_to() {
    let folder = with_recordings();
    for writer in WRITERS {
        let mut words = [writer, &["/dev/null"]].concat();
        if writer[0] == "recover" {
            continue;
        }
        if writer[0] == "time" {
            words.extend(["--", "true"]);
        }
        folder.run(&words).succeeded();
    }
    let words = [
        "export",
        "made.profundo",
        "--to",
        "collapsed",
        "-o",
        "/dev/stdout",
    ];
    let piped = folder.run(&words);
    piped.succeeded();
    assert_eq!(
        piped.out,
        folder
            .run(&["export", "made.profundo", "--to", "collapsed", "-o", "-"])
            .out
    );
}

/// A program that cannot be started must not cost the recording of the last one.
#[test]
fn an_older_recording_stays_until_there_is_a_newer_one() {
    let folder = with_recordings();
    let made = folder.path().join("made.profundo");
    let before = fs::read(&made).unwrap();
    let broken = folder.file("broken", "#!/no/such/interpreter\n");
    fs::set_permissions(&broken, fs::Permissions::from_mode(0o755)).unwrap();
    let outcome = folder.run(&["record", "-o", "made.profundo", "./broken"]);
    assert!(matches!(outcome.code, Some(126 | 127)), "{outcome:#?}");
    assert_eq!(fs::read(&made).unwrap(), before);
    let names = fs::read_dir(folder.path()).unwrap().flatten();
    let hidden: Vec<_> = names
        .map(|entry| entry.file_name())
        .filter(|name| name.to_string_lossy().starts_with('.'))
        .collect();
    assert!(hidden.is_empty(), "{hidden:?}");
    folder
        .run(&["record", "-o", "made.profundo", "true"])
        .succeeded();
    assert_ne!(fs::read(&made).unwrap(), before);
}

#[test]
fn what_cannot_be_written_is_one_sentence() {
    let folder = Folder::new();
    let made = folder.path().join("made.profundo");
    let profile = crate::options::profile(&folder.file("app.py", "main()\n"));
    profundo_formats::write_file(&made, &profile).unwrap();
    let full = "no space left on device";
    for (words, part) in [
        (
            &["report", "made.profundo", "--report-to", "/dev/full"][..],
            full,
        ),
        (
            &["report", "made.profundo", "--report-to", "/no/folder/x"],
            "no such file",
        ),
        (
            &["report", "made.profundo", "--report-to", "."],
            "is a directory",
        ),
        (&["flame", "made.profundo", "-o", "/dev/full"], full),
        (
            &["flame", "made.profundo", "-o", "/no/folder/x"],
            "no such file",
        ),
        (
            &["export", "made.profundo", "--to", "pprof", "-o", "."],
            "is a directory",
        ),
    ] {
        let outcome = folder.run(words);
        outcome.refused(1, part);
        assert_eq!(
            outcome.err.to_lowercase().matches(part).count(),
            1,
            "{outcome:#?}"
        );
    }
    for words in [
        &["report", "made.profundo"][..],
        &["report", "made.profundo", "lines", "--json"],
        &["export", "made.profundo", "--to", "speedscope", "-o", "-"],
        &["completions", "bash"],
        &["help", "run"],
    ] {
        let full_disk = fs::OpenOptions::new()
            .write(true)
            .open("/dev/full")
            .unwrap();
        let mut command = folder.profundo(words);
        let outcome = Outcome::of(command.stdout(full_disk).output().unwrap());
        outcome.refused(1, full);
    }
}

#[test]
fn a_killed_recorder_loses_little() {
    let Some(python) = python() else { return };
    let folder = Folder::new();
    folder.file("spin.py", SPIN_PY);
    let mut child = folder
        .profundo(&["record", "-o", "x.profundo"])
        .arg(python)
        .args(["spin.py", "1.5"])
        .stdout(Stdio::null())
        .process_group(0)
        .spawn()
        .unwrap();
    let path = folder.path().join("x.profundo");
    wait_until("something to be written", || {
        fs::metadata(&path).map_or(0, |file| file.len()) >= 1000
    });
    child.kill().unwrap();
    child.wait().unwrap();
    let outcome = folder.run(&["recover", "x.profundo"]);
    outcome.succeeded();
    assert!(outcome.err.contains("from memory"), "{outcome:#?}");
    let outcome = folder.run(&["report", "x.profundo"]);
    assert!(outcome.out.contains("hot"), "{outcome:#?}");
    // A second time there is nothing to do.
    let outcome = folder.run(&["recover", "x.profundo"]);
    assert!(outcome.err.contains("is whole"), "{outcome:#?}");
}

#[test]
fn a_full_disk_ends_the_recording_and_not_the_program() {
    let Some(python) = python() else { return };
    if !is_root() {
        skip("only root can make a small file system");
        return;
    }
    let folder = Folder::new();
    folder.file("spin.py", SPIN_PY);
    let small = folder.path().join("small");
    fs::create_dir(&small).unwrap();
    let mounted = Command::new("mount")
        .args(["-t", "tmpfs", "-o", "size=8k", "tmpfs"])
        .arg(&small)
        .stderr(Stdio::null())
        .status();
    if !mounted.is_ok_and(|status| status.success()) {
        skip("no file system can be mounted here");
        return;
    }
    let script = "python=$1; $python spin.py 1; echo still here; exit 3";
    let outcome = folder.run(&[
        "run".as_ref(),
        "-o".as_ref(),
        "small/x.profundo".as_ref(),
        "/bin/sh".as_ref(),
        "-c".as_ref(),
        script.as_ref(),
        "sh".as_ref(),
        python.as_os_str(),
    ]);
    let report = folder.run(&["report", "small/x.profundo"]);
    let unmounted = Command::new("umount").arg(&small).status().unwrap();
    assert!(unmounted.success());
    assert_eq!(outcome.code, Some(3), "{outcome:#?}");
    assert_eq!(outcome.out, "still here\n");
    assert_eq!(
        outcome.err.matches("no space left on device").count(),
        1,
        "{outcome:#?}"
    );
    assert_eq!(report.code, Some(0), "{report:#?}");
}

#[test]
fn a_file_that_may_not_grow_is_no_harm() {
    let Some(python) = python() else { return };
    let folder = Folder::new();
    folder.file("spin.py", SPIN_PY);
    let mut command = folder.profundo(&["record", "-o", "x.profundo"]);
    command.arg(python).args(["spin.py", "0.6"]);
    // SAFETY: only sets a limit between fork and exec.
    unsafe {
        command.pre_exec(|| {
            let limit = libc::rlimit {
                rlim_cur: 4096,
                rlim_max: 4096,
            };
            libc::setrlimit(libc::RLIMIT_FSIZE, &limit);
            Ok(())
        });
    }
    let outcome = Outcome::of(command.output().unwrap());
    // Not even the session has room then; the program was not begun, or it ran to its end.
    assert!(matches!(outcome.code, Some(0 | 1)), "{outcome:#?}");
    assert!(outcome.err.starts_with("profundo: "), "{outcome:#?}");
}

#[test]
fn nothing_is_left_in_memory() {
    let folder = Folder::new();
    let place = folder.path().join("tmp");
    fs::create_dir(&place).unwrap();
    let names = || {
        let entries = fs::read_dir("/dev/shm").into_iter().flatten().flatten();
        let names = entries.map(|entry| entry.file_name().to_string_lossy().into_owned());
        names.collect::<BTreeSet<String>>()
    };
    // What a killed recorder of another test has left may have this number.
    let before = names();
    let ours = |pid: u32| {
        let name = format!("-{pid}-");
        names()
            .difference(&before)
            .any(|session| session.contains(&name))
    };
    for words in [
        &["record", "true"][..],
        &["record", "/no/such/program"],
        &["record", "-o", "/no/folder/x", "true"],
    ] {
        let mut child = folder
            .profundo(words)
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        let pid = child.id();
        child.wait().unwrap();
        assert!(!ours(pid), "{words:?}");
    }
}

#[test]
fn a_file_grows_no_further_than_it_may() {
    let folder = Folder::new();
    let source = crate::machine::SPIN_C;
    let Some(program) = c_program(&folder, "spin", source) else {
        return;
    };
    let program = program.to_str().unwrap();
    let words = [
        "record",
        "-r",
        "5000",
        "--max-size",
        "16K",
        "-o",
        "x.profundo",
        program,
        "1.5",
    ];
    folder.run(&words).succeeded();
    let size = fs::metadata(folder.path().join("x.profundo"))
        .unwrap()
        .len();
    assert!(size <= 20_000, "{size}");
    let outcome = folder.run(&["report", "x.profundo", "functions"]);
    assert!(outcome.out.contains("hot"), "{outcome:#?}");
    let _ = Path::new(program);
}

/// A program of forty functions that call each other at random.
const NEVER_TWICE: &str = "\
import random, time
source = '''def work_%d(depth):
    x = 0
    for _ in range(40): x += depth
    return random.choice(functions)(depth - 1) if depth else x
functions.append(work_%d)'''
functions = []
for number in range(40): exec(source % (number, number))
end = time.process_time() + 2
while time.process_time() < end: functions[0](random.randrange(60))
";

#[test]
fn nor_does_that_of_a_program_whose_stacks_never_repeat() {
    let Some(python) = profundo_testing::python() else {
        return;
    };
    let folder = Folder::new();
    folder.file("never.py", NEVER_TWICE);
    let python = python.to_str().unwrap();
    let record = ["record", "-r", "4000", "--max-size", "300K", "-o"];
    let words = [&record[..], &["x.profundo", python, "never.py"]].concat();
    folder.run(&words).succeeded();
    let size = fs::metadata(folder.path().join("x.profundo"))
        .unwrap()
        .len();
    assert!(size <= 320_000, "{size}");
    let outcome = folder.run(&["report", "x.profundo", "functions"]);
    assert!(outcome.out.contains("[callers not kept]"), "{outcome:#?}");
    // Whose time it is does not depend on what was not kept.
    assert!(outcome.out.contains("work_7"), "{outcome:#?}");
}
