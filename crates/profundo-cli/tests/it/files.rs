//! The recording's file, and what happens where it cannot be one.

use std::collections::BTreeSet;
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use crate::machine::{Folder, SPIN_PY, Said, c_program, python, skip};

fn is_root() -> bool {
    // SAFETY: asks who we are, and cannot fail.
    unsafe { libc::geteuid() == 0 }
}

#[test]
fn a_recording_is_its_owners_alone() {
    let folder = Folder::new();
    let said = folder.said(&["record", "sh", "-c", "exit 0"]);
    said.succeeded();
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
    assert!(said.err.contains(&name), "{said:#?}");
    let folder_mode = fs::metadata(recording.parent().unwrap())
        .unwrap()
        .permissions()
        .mode();
    assert_eq!(folder_mode & 0o777, 0o700);
    // Values of the environment are nobody's business.
    let mut command = folder.profundo(&["record", "-o", "env.profundo", "sh", "-c", "exit 0"]);
    command.env("VERY_SECRET_NAME", "very-secret-value");
    Said::of(command.output().unwrap()).succeeded();
    let json = folder.said(&["report", "env.profundo", "--json"]).out;
    assert!(!json.contains("very-secret-value"));
}

#[test]
fn what_cannot_be_written_stops_us_before_the_program_runs() {
    let folder = Folder::new();
    let words = ["record", "-o", "/no/such/folder/x.profundo", "touch", "ran"];
    folder
        .said(&words)
        .refused(1, "cannot write /no/such/folder/x.profundo");
    assert!(!folder.path().join("ran").exists());
    if is_root() {
        skip("root may write everywhere");
        return;
    }
    fs::set_permissions(folder.path(), fs::Permissions::from_mode(0o555)).unwrap();
    let said = folder.said(&["record", "touch", "ran"]);
    fs::set_permissions(folder.path(), fs::Permissions::from_mode(0o755)).unwrap();
    said.refused(1, "permission denied");
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
            folder.said(&words)
        };
        with("text.profundo").refused(1, "not a recording");
        with("empty.profundo").refused(1, "not a recording");
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
        .said(&["record", "-o", "x.profundo", python, "spin.py", "0.5"])
        .succeeded();
    let bytes = fs::read(folder.path().join("x.profundo")).unwrap();
    fs::write(
        folder.path().join("cut.profundo"),
        &bytes[..bytes.len() - 20],
    )
    .unwrap();
    let said = folder.said(&["report", "cut.profundo"]);
    said.succeeded();
    assert!(
        said.err.contains("profundo recover cut.profundo"),
        "{said:#?}"
    );
    assert!(said.out.contains("hot"), "{said:#?}");
    folder.said(&["recover", "cut.profundo"]).succeeded();
    let said = folder.said(&["report", "cut.profundo"]);
    assert_eq!(said.err, "", "{said:#?}");
    assert!(said.out.contains("recovered"), "{said:#?}");
    // Each byte may be wrong; none makes us fail in another way than by one sentence.
    for step in [7, 41] {
        let mut damaged = bytes.clone();
        for byte in damaged.iter_mut().skip(16).step_by(bytes.len() / step + 1) {
            *byte ^= 0x55;
        }
        fs::write(folder.path().join("bad.profundo"), &damaged).unwrap();
        let said = folder.said(&["report", "bad.profundo"]);
        assert!(matches!(said.code, Some(0 | 1)), "{said:#?}");
        assert!(said.err.starts_with("profundo: "), "{said:#?}");
    }
    let mut newer = bytes;
    newer[12] = 99;
    fs::write(folder.path().join("new.profundo"), &newer).unwrap();
    let said = folder.said(&["report", "new.profundo"]);
    assert_eq!(said.code, Some(1), "{said:#?}");
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
            let said = folder.said(words);
            assert!(
                matches!(said.code, Some(0 | 1)),
                "{what} {words:?} {said:#?}"
            );
            let is_sentence = |line: &str| line.starts_with("profundo: ");
            assert!(
                said.err.lines().all(is_sentence),
                "{what} {words:?} {said:#?}"
            );
            assert!(!said.err.contains("panicked"), "{what} {words:?} {said:#?}");
            assert!(
                said.code == Some(0) || !said.err.is_empty(),
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
        .said(&["record", "-o", "app.py", "touch", "ran"])
        .refused(2, "app.py is there and is no recording");
    assert_eq!(fs::read_to_string(source).unwrap(), "print('precious')\n");
    folder
        .said(&["record", "-o", ".", "touch", "ran"])
        .refused(1, "it is a folder");
    // Who opens a pipe waits for its other end, which may never come.
    let pipe = std::ffi::CString::new(folder.path().join("pipe").to_str().unwrap()).unwrap();
    // SAFETY: the path is a C string.
    assert_eq!(unsafe { libc::mkfifo(pipe.as_ptr(), 0o600) }, 0);
    folder
        .said(&["record", "-o", "pipe", "touch", "ran"])
        .refused(2, "has to be a file");
    assert!(!folder.path().join("ran").exists());
    // A recording gives way to the next one, and so does an empty file.
    folder.file("x.profundo", "");
    for _ in 0..2 {
        folder
            .said(&["record", "-o", "x.profundo", "true"])
            .succeeded();
    }
}

/// Each verb that writes, and how it is told where.
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
        let said = folder.said(&to("main.c"));
        said.refused(2, "main.c is there and is no ");
        let text = fs::read_to_string(folder.path().join("main.c")).unwrap();
        assert_eq!(text, source, "{writer:?}");
        let mut forced = to("main.c");
        forced.insert(1, "--force");
        folder.said(&forced).succeeded();
        let text = fs::read(folder.path().join("main.c")).unwrap();
        assert_ne!(text, source.as_bytes(), "{writer:?}");
        // What was written so once is of its kind, and so is nothing at all.
        folder.said(&to("main.c")).succeeded();
        folder.file("empty", "");
        folder.said(&to("empty")).succeeded();
    }
    folder
        .said(&["bench", "--save", "app.py", "1"])
        .refused(2, "app.py is there and is no measurement");
}

#[test]
fn no_output_costs_its_input() {
    let folder = with_recordings();
    let made = folder.path().join("made.profundo");
    let before = fs::read(&made).unwrap();
    std::os::unix::fs::symlink("made.profundo", folder.path().join("soft")).unwrap();
    fs::hard_link(&made, folder.path().join("hard")).unwrap();
    let writers = WRITERS.iter().filter(|it| it[1] == "made.profundo");
    for writer in writers {
        for name in ["made.profundo", "soft", "hard", "./made.profundo"] {
            for force in [&[][..], &["--force"]] {
                let words = [*writer, &[name], force].concat();
                let said = folder.said(&words);
                said.refused(2, "is what is being read");
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
        Said::of(output)
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
        folder.said(&words).succeeded();
    }
    let words = [
        "export",
        "made.profundo",
        "--to",
        "collapsed",
        "-o",
        "/dev/stdout",
    ];
    let piped = folder.said(&words);
    piped.succeeded();
    assert_eq!(
        piped.out,
        folder
            .said(&["export", "made.profundo", "--to", "collapsed", "-o", "-"])
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
    let said = folder.said(&["record", "-o", "made.profundo", "./broken"]);
    assert!(matches!(said.code, Some(126 | 127)), "{said:#?}");
    assert_eq!(fs::read(&made).unwrap(), before);
    let names = fs::read_dir(folder.path()).unwrap().flatten();
    let hidden: Vec<_> = names
        .map(|it| it.file_name())
        .filter(|it| it.to_string_lossy().starts_with('.'))
        .collect();
    assert!(hidden.is_empty(), "{hidden:?}");
    folder
        .said(&["record", "-o", "made.profundo", "true"])
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
        let said = folder.said(words);
        said.refused(1, part);
        assert_eq!(
            said.err.to_lowercase().matches(part).count(),
            1,
            "{said:#?}"
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
        let said = Said::of(command.stdout(full_disk).output().unwrap());
        said.refused(1, full);
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
    let began = Instant::now();
    while fs::metadata(&path).map_or(0, |file| file.len()) < 1000 {
        assert!(
            began.elapsed() < Duration::from_secs(60),
            "nothing is written"
        );
        std::thread::sleep(Duration::from_millis(10));
    }
    child.kill().unwrap();
    child.wait().unwrap();
    let said = folder.said(&["recover", "x.profundo"]);
    said.succeeded();
    assert!(said.err.contains("from memory"), "{said:#?}");
    let said = folder.said(&["report", "x.profundo"]);
    assert!(said.out.contains("hot"), "{said:#?}");
    // A second time there is nothing to do.
    let said = folder.said(&["recover", "x.profundo"]);
    assert!(said.err.contains("is whole"), "{said:#?}");
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
    let said = folder.said(&[
        "run".as_ref(),
        "-o".as_ref(),
        "small/x.profundo".as_ref(),
        "/bin/sh".as_ref(),
        "-c".as_ref(),
        script.as_ref(),
        "sh".as_ref(),
        python.as_os_str(),
    ]);
    let report = folder.said(&["report", "small/x.profundo"]);
    let unmounted = Command::new("umount").arg(&small).status().unwrap();
    assert!(unmounted.success());
    assert_eq!(said.code, Some(3), "{said:#?}");
    assert_eq!(said.out, "still here\n");
    assert_eq!(
        said.err.matches("no space left on device").count(),
        1,
        "{said:#?}"
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
    let said = Said::of(command.output().unwrap());
    // Not even the session has room then; the program was not begun, or it ran to its end.
    assert!(matches!(said.code, Some(0 | 1)), "{said:#?}");
    assert!(said.err.starts_with("profundo: "), "{said:#?}");
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
        names().difference(&before).any(|it| it.contains(&name))
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
fn source_lines_are_kept_unless_they_are_not_wanted() {
    let Some(python) = python() else { return };
    let folder = Folder::new();
    let python = python.to_str().unwrap();
    for (options, kept) in [(&[][..], true), (&["--no-source"], false)] {
        let script = folder.file("spin.py", SPIN_PY);
        // A file that changed in the same second as the recording began is doubtful.
        std::thread::sleep(Duration::from_millis(20));
        let words: Vec<&str> = ["record", "-o", "x.profundo"]
            .iter()
            .chain(options)
            .chain(&[python, "spin.py"])
            .copied()
            .collect();
        folder.said(&words).succeeded();
        fs::remove_file(script).unwrap();
        let lines = folder.said(&["report", "x.profundo", "lines"]).out;
        assert_eq!(lines.contains("total += i * i"), kept, "{lines}");
    }
}

#[test]
fn the_program_of_an_option_has_its_text() {
    let Some(python) = python() else { return };
    let folder = Folder::new();
    let python = python.to_str().unwrap();
    let program = "def hot():
    total = 0
    for i in range(3000000):
        total += i * i
hot()
";
    // The text that `exec` runs has the same file and the same functions, and is another one.
    let other = "\n".repeat(10) + program;
    let text = format!("{program}{}exec({other:?})\n", "x = 1\n".repeat(20));
    let words = ["record", "-o", "x.profundo", python, "-u", "-c", &text];
    folder.said(&words).succeeded();
    let lines = folder.said(&["report", "x.profundo", "--json"]).out;
    let lines: serde_json::Value = serde_json::from_str(&lines).unwrap();
    let lines = lines["lines"].as_array().unwrap();
    let hot = |line: &&serde_json::Value| line["file"] == "<string>" && line["function"] == "hot";
    let (mut given, mut other) = (0, 0);
    for line in lines.iter().filter(hot) {
        let number = line["line"].as_u64().unwrap() as usize;
        // `hot` of the option ends on line 4, that of `exec` begins on line 11.
        if number > 4 {
            other += 1;
            assert!(line["text"].is_null(), "{line}");
        } else {
            given += 1;
            assert_eq!(
                line["text"].as_str(),
                text.lines().nth(number - 1),
                "{line}"
            );
        }
    }
    assert!(given > 0 && other > 0, "{lines:#?}");
}

#[test]
fn a_module_in_a_zip_file_has_its_text() {
    let Some(python) = python() else { return };
    let folder = Folder::new();
    let python = python.to_str().unwrap();
    folder.file("spinning.py", SPIN_PY);
    folder.file(
        "pack.py",
        "import sys, zipfile
with open('app.pyz', 'wb') as out:
    out.write(b'#!/usr/bin/env python3\\n')
with zipfile.ZipFile('app.pyz', 'a', int(sys.argv[1])) as archive:
    archive.writestr('__main__.py', 'import package.spinning')
    archive.writestr('package/__init__.py', '')
    archive.write('spinning.py', 'package/spinning.py')
",
    );
    for method in ["0", "8"] {
        let packed = Command::new(python)
            .args(["pack.py", method])
            .current_dir(folder.path())
            .status();
        assert!(packed.unwrap().success());
        // A file that changed in the same second as the recording began is doubtful.
        std::thread::sleep(Duration::from_millis(20));
        let words = ["record", "-o", "x.profundo", python, "app.pyz"];
        folder.said(&words).succeeded();
        let lines = folder.said(&["report", "x.profundo", "lines"]).out;
        assert!(lines.contains("total += i * i"), "{lines}");
        let _ = fs::remove_file(folder.path().join("x.profundo"));
    }
}

/// Runs texts as IPython and its kernel run cells: each is a file that only `linecache` knows.
const CELLS_PY: &str = r#"
import linecache, time
In = ['']
def run(text, name):
    In.append(text)
    lines = [line + '\n' for line in text.splitlines()]
    linecache.cache[name] = (len(text), None, lines, name)
    exec(compile(text, name, 'exec'), globals())
run('x = 1', '/tmp/ipykernel_7/1.py')
run("""def hot(until):
    while time.process_time() < until:
        total = 0
        for i in range(2000):
            total += i * i  # ἕν, in the kernel's cell
""", '/tmp/ipykernel_7/22.py')
In.append('3')
run("""def warm(until):
    while time.process_time() < until:
        total = 0
        for i in range(2000):
            total += i * i  # in the cell of IPython
""", '<ipython-input-4-0123456789ab>')
run('hot(0.4); warm(0.8)', '/tmp/ipykernel_7/5.py')
# A name that is in no cache has no text.
exec(compile("""def bare(until):
    while time.process_time() < until:
        total = 0
        for i in range(2000):
            total += i * i
""", '/tmp/ipykernel_7/66.py', 'exec'))
bare(1.0)
"#;

#[test]
fn cells_of_a_notebook_have_their_text_and_their_number() {
    let Some(python) = python() else { return };
    let folder = Folder::new();
    folder.file("cells.py", CELLS_PY);
    let python = python.to_str().unwrap();
    let words = ["record", "-o", "x.profundo", python, "cells.py"];
    folder.said(&words).succeeded();
    let lines = folder.said(&["report", "x.profundo", "--json"]).out;
    let lines: serde_json::Value = serde_json::from_str(&lines).unwrap();
    let lines = lines["lines"].as_array().unwrap();
    let text_of = |function: &str| {
        let mut rows = lines
            .iter()
            .filter(|line| line["function"] == function && line["line"] == 5);
        let row = rows.next().unwrap_or_else(|| panic!("{lines:#?}"));
        row["text"].as_str().map(|text| text.trim().to_owned())
    };
    let hot = "total += i * i  # ἕν, in the kernel's cell";
    assert_eq!(text_of("hot").as_deref(), Some(hot));
    let warm = "total += i * i  # in the cell of IPython";
    assert_eq!(text_of("warm").as_deref(), Some(warm));
    assert_eq!(text_of("bare"), None);
    let shown = folder.said(&["report", "x.profundo", "lines"]).out;
    for place in ["In [2]  ", "In [4]  ", "66.py  "] {
        assert!(shown.contains(place), "{place} in {shown}");
    }
    // The line is cut to the width of the page.
    let begins = "total += i * i  # ἕν";
    assert!(
        shown.contains(begins) && !shown.contains("22.py"),
        "{shown}"
    );
    // Without source nothing of it is kept.
    let words = [
        "record",
        "--no-source",
        "-o",
        "y.profundo",
        python,
        "cells.py",
    ];
    folder.said(&words).succeeded();
    let shown = folder.said(&["report", "y.profundo", "lines"]).out;
    assert!(
        shown.contains("In [2]  ") && !shown.contains(begins),
        "{shown}"
    );
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
    folder.said(&words).succeeded();
    let size = fs::metadata(folder.path().join("x.profundo"))
        .unwrap()
        .len();
    assert!(size <= 20_000, "{size}");
    let said = folder.said(&["report", "x.profundo", "functions"]);
    assert!(said.out.contains("hot"), "{said:#?}");
    let _ = Path::new(program);
}

/// Which of forty functions calls which is drawn anew at each call.
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
    let Some(python) = crate::machine::python() else {
        return;
    };
    let folder = Folder::new();
    folder.file("never.py", NEVER_TWICE);
    let python = python.to_str().unwrap();
    let record = ["record", "-r", "4000", "--max-size", "300K", "-o"];
    let words = [&record[..], &["x.profundo", python, "never.py"]].concat();
    folder.said(&words).succeeded();
    let size = fs::metadata(folder.path().join("x.profundo"))
        .unwrap()
        .len();
    assert!(size <= 320_000, "{size}");
    let said = folder.said(&["report", "x.profundo", "functions"]);
    assert!(said.out.contains("[callers not kept]"), "{said:#?}");
    // Whose time it is does not depend on what was not kept.
    assert!(said.out.contains("work_7"), "{said:#?}");
}
