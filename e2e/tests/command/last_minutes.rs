//! `--last`: only the end of a recording is kept, with its own totals; it is written however the
//! program ends, and whenever it is wanted; and neither memory nor disk grows with the time.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};
use std::time::{Duration, Instant};

use profundo_testing::{profundo, wait_for};

use crate::program::{KilledOnDrop, empty_folder, wait, wait_for_number};
use crate::recording::Recording;
use crate::targets::c;

fn record(folder: &Path, last: &str, program: &[&str]) -> Child {
    let mut command = Command::new(profundo());
    command.args(["record", "--last", last, "-o", "kept.profundo", "--"]);
    command.args(program).current_dir(folder);
    command.stdin(Stdio::null()).stdout(Stdio::null());
    command.spawn().unwrap()
}

fn read(file: &Path) -> Recording {
    Recording::read(file, Duration::ZERO, Duration::ZERO)
}

fn ctl(pid: i32, words: &[&str], folder: &Path) -> Output {
    let mut command = Command::new(profundo());
    command.arg("ctl").arg(pid.to_string()).args(words);
    command.current_dir(folder).output().unwrap()
}

/// The files in a folder but the program's own, sorted.
fn recordings(folder: &Path) -> Vec<String> {
    let entries = fs::read_dir(folder).unwrap().flatten();
    let names = entries.map(|entry| entry.file_name().into_string().unwrap());
    let mut names: Vec<String> = names.filter(|name| name.contains("profundo")).collect();
    names.sort();
    names
}

/// The totals are those of the kept time.
#[track_caller]
fn assert_totals(recording: &Recording, least: f64) {
    let profile = &recording.profile;
    let duration = profile.meta.duration.0 as f64 / 1e9;
    // An eighth more is kept, and a busy machine is late.
    assert!(
        (least..least * 1.125 + 1.0).contains(&duration),
        "{duration}"
    );
    let [process] = &profile.processes[..] else {
        panic!("{:?}", profile.processes);
    };
    let (user, system) = (process.user.unwrap().0, process.system.unwrap().0);
    let used = (user + system) as f64 / 1e9;
    assert!(used <= duration * 1.05 + 0.05, "{used} of {duration}");
    let threads = profile.threads.iter();
    let threads: f64 = threads
        .map(|(_, thread)| thread.cpu.unwrap().0 as f64 / 1e9)
        .sum();
    assert!(
        (threads - used).abs() < 0.1 + used * 0.1,
        "{threads}, {used}"
    );
    let sampled = recording.seconds();
    assert!(
        (sampled - used).abs() < 0.1 + used * 0.3,
        "{sampled}, {used}"
    );
    let cpu = profile.meta.cpu.unwrap().0 as f64 / 1e9;
    assert!(cpu <= used + 0.05, "{cpu} of {used}");
    let last = profile.samples.iter().map(|sample| sample.time).max();
    assert!(last.unwrap() <= profile.meta.duration);
    let let_go = |note: &String| note.contains("was let go");
    assert!(
        profile.meta.notes.iter().any(let_go),
        "{:?}",
        profile.meta.notes
    );
}

#[test]
fn the_end_of_the_program_is_kept_however_it_ends() {
    let Some(target) = c("phases.c", &[]) else {
        return;
    };
    let target = target.to_str().unwrap();
    for (how, code) in [("ends", Some(0)), ("fails", Some(3)), ("aborts", None)] {
        let folder = empty_folder();
        let mut child = record(&folder, "1s", &[target, how, "0.9"]);
        let status = wait(&mut child, "profundo");
        assert_eq!(status.code(), code, "{how}");
        let recording = read(&folder.join("kept.profundo"));
        recording.assert_share("fourth", 90.0);
        for gone in ["first", "second"] {
            assert_eq!(recording.share(gone), 0.0, "{how}: {gone}");
        }
        assert_totals(&recording, 1.0);
        // Nothing else stays.
        assert_eq!(recordings(&folder), ["kept.profundo"], "{how}");
    }
}

#[test]
fn a_program_that_is_shorter_is_kept_as_a_whole() {
    let Some(target) = c("phases.c", &[]) else {
        return;
    };
    let folder = empty_folder();
    let mut child = record(&folder, "1h", &[target.to_str().unwrap(), "ends", "0.2"]);
    assert!(wait(&mut child, "profundo").success());
    let recording = read(&folder.join("kept.profundo"));
    for phase in ["first", "second", "third", "fourth"] {
        recording.assert_share(phase, 25.0);
    }
    let notes = &recording.profile.meta.notes;
    assert!(
        !notes.iter().any(|note| note.contains("let go")),
        "{notes:?}"
    );
}

#[test]
fn the_last_minutes_are_written_whenever_they_are_wanted() {
    let Some(target) = c("phases.c", &[]) else {
        return;
    };
    let folder = empty_folder();
    let child = record(&folder, "1s", &[target.to_str().unwrap(), "waits", "0.3"]);
    let mut child = KilledOnDrop(child);
    let recorder = child.0.id() as i32;
    let pid = wait_for_number(&folder, "ready");
    // By the program's number, and by that of the recorder; with a name, and without.
    for (pid, words) in [(pid, &["keep"][..]), (recorder, &["keep", "mine.profundo"])] {
        let said = ctl(pid, words, &folder);
        assert!(said.status.success(), "{said:?}");
    }
    // SAFETY: the process is our child, and was not reaped.
    unsafe { libc::kill(recorder, libc::SIGURG) };
    wait_for("the third file", || {
        folder.join("kept-kept-2.profundo").exists().then_some(())
    });
    fs::write(folder.join("notes.txt"), "no recording").unwrap();
    let refused = ctl(pid, &["keep", "notes.txt"], &folder);
    assert!(!refused.status.success(), "{refused:?}");
    let refused = ctl(pid, &["stop", "mine.profundo"], &folder);
    assert!(!refused.status.success(), "{refused:?}");
    fs::write(folder.join("go"), "").unwrap();
    assert!(wait(&mut child.0, "profundo").success());
    let wanted = [
        "kept-kept-1.profundo",
        "kept-kept-2.profundo",
        "kept.profundo",
        "mine.profundo",
    ];
    assert_eq!(recordings(&folder), wanted);
    for name in wanted {
        read(&folder.join(name)).assert_share("fourth", 50.0);
    }
}

#[test]
fn a_process_that_runs_already_is_kept_too() {
    let Some(target) = c("phases.c", &[]) else {
        return;
    };
    let folder = empty_folder();
    let mut command = Command::new(&target);
    command.args(["waits", "0.1"]).current_dir(&folder);
    let mut program = KilledOnDrop(command.stdout(Stdio::null()).spawn().unwrap());
    let pid = wait_for_number(&folder, "ready");
    let mut command = Command::new(profundo());
    let last = [
        "attach",
        &pid.to_string(),
        "--last",
        "1s",
        "-o",
        "kept.profundo",
    ];
    command.args(last).current_dir(&folder);
    let recorder = command.stdout(Stdio::null()).stderr(Stdio::null()).spawn();
    let mut recorder = KilledOnDrop(recorder.unwrap());
    wait_for("a file", || {
        let said = ctl(recorder.0.id() as i32, &["keep", "mine.profundo"], &folder);
        said.status.success().then_some(())
    });
    // The time is what is tried.
    std::thread::sleep(Duration::from_secs(3));
    fs::write(folder.join("go"), "").unwrap();
    assert!(wait(&mut program.0, "the program").success());
    assert!(wait(&mut recorder.0, "profundo").success());
    let recording = read(&folder.join("kept.profundo"));
    recording.assert_share("fourth", 90.0);
    assert_totals(&recording, 1.0);
}

#[test]
fn what_is_of_a_whole_recording_is_refused() {
    let folder = empty_folder();
    for (options, why) in [
        (&["--memory=exact"][..], "exact counts"),
        (&["--energy"], "energy"),
        (&["-o", "-"], "-o -"),
        (&["--live"], "--live"),
    ] {
        let mut command = Command::new(profundo());
        command.args(["run", "--last", "5m"]).args(options);
        let output = command.args(["--", "true"]).current_dir(&folder).output();
        let output = output.unwrap();
        let said = String::from_utf8_lossy(&output.stderr).into_owned();
        assert_eq!(output.status.code(), Some(2), "{said}");
        assert!(said.contains(why), "{said}");
    }
    assert!(fs::read_dir(&folder).unwrap().next().is_none());
}

/// The bytes of the pieces, and of the recorder's own memory.
fn sizes(folder: &Path, recorder: u32) -> Option<(u64, u64)> {
    let pieces = folder.join(format!(".kept.profundo.last-{recorder}"));
    let entries = fs::read_dir(pieces).ok()?.flatten();
    let disk = entries.filter_map(|entry| entry.metadata().ok());
    let disk = disk.map(|facts| facts.len()).sum();
    let status = fs::read_to_string(format!("/proc/{recorder}/status")).ok()?;
    let memory = status.lines().find(|line| line.starts_with("RssAnon:"))?;
    let memory: u64 = memory.split_whitespace().nth(1)?.parse().ok()?;
    Some((disk, memory << 10))
}

/// Threads, children and programs come and go; the sizes at the end are those of the beginning.
fn assert_flat(seconds: u32) {
    let Some(target) = c("comes_and_goes.c", &[]) else {
        return;
    };
    let folder = empty_folder();
    let duration = seconds.to_string();
    let child = record(&folder, "2s", &[target.to_str().unwrap(), &duration]);
    let mut child = KilledOnDrop(child);
    let began = Instant::now();
    let (mut first, mut second) = ([0, 0], [0, 0]);
    while began.elapsed() < Duration::from_secs(seconds.into()) {
        std::thread::sleep(Duration::from_millis(200));
        let elapsed = began.elapsed().as_secs_f64() / f64::from(seconds);
        let half = if elapsed < 0.5 {
            &mut first
        } else {
            &mut second
        };
        if let Some((disk, memory)) = sizes(&folder, child.0.id()) {
            *half = [half[0].max(disk), half[1].max(memory)];
        }
    }
    assert!(wait(&mut child.0, "profundo").success());
    let ([disk_before, memory_before], [disk, memory]) = (first, second);
    assert!(
        disk_before > 0 && disk <= disk_before * 2 + (64 << 10),
        "{first:?} {second:?}"
    );
    // A table may double once.
    assert!(
        memory <= memory_before * 3 / 2 + (6 << 20),
        "{first:?} {second:?}"
    );
    let recording = read(&folder.join("kept.profundo"));
    let profile = &recording.profile;
    let duration = profile.meta.duration.0 as f64 / 1e9;
    assert!((2.0..4.0).contains(&duration), "{duration}");
    // Those of two seconds: a thousand would be more than any machine starts.
    let (processes, threads) = (profile.processes.len(), profile.threads.len());
    assert!((2..1500).contains(&processes) && (2..6000).contains(&threads));
    let ended = |process: &&profundo_model::Process| process.ended.is_some();
    assert!(profile.processes.iter().filter(ended).count() > 0);
    recording.assert_share("in_child", 10.0);
    recording.assert_share("in_thread", 10.0);
}

#[test]
fn neither_memory_nor_disk_grows_with_the_time() {
    assert_flat(8);
}

#[test]
#[ignore = "long: half a minute of threads and children that come and go"]
fn neither_memory_nor_disk_grows_with_a_longer_time() {
    assert_flat(30);
}

/// Where a name of ours is given, the files are in the folder of recordings, and are found there.
#[test]
fn files_with_names_of_ours_are_found_like_others() {
    let Some(target) = c("phases.c", &[]) else {
        return;
    };
    let folder = empty_folder();
    let own = |words: &[&str]| {
        let mut command = Command::new(profundo());
        command.args(words).current_dir(&folder);
        command.env("PROFUNDO_DIR", folder.join("recordings"));
        command.stdin(Stdio::null()).stdout(Stdio::piped());
        command
    };
    let target = target.to_str().unwrap();
    let mut command = own(&["record", "--last", "1s", "--", target, "waits", "0.1"]);
    let mut child = KilledOnDrop(command.stderr(Stdio::null()).spawn().unwrap());
    let pid = wait_for_number(&folder, "ready");
    assert!(ctl(pid, &["keep"], &folder).status.success());
    fs::write(folder.join("go"), "").unwrap();
    assert!(wait(&mut child.0, "profundo").success());
    let kept: Vec<PathBuf> = fs::read_dir(folder.join("recordings"))
        .unwrap()
        .flatten()
        .map(|entry| entry.path())
        .filter(|path| path.extension().is_some_and(|ending| ending == "profundo"))
        .collect();
    assert_eq!(kept.len(), 2, "{kept:?}");
    let listed = own(&["list"]).output().unwrap();
    let listed = String::from_utf8_lossy(&listed.stdout).into_owned();
    for row in ["@1", "@2"] {
        assert!(listed.contains(row), "{row}: {listed}");
    }
    let report = own(&["report", "functions"]).output().unwrap();
    assert!(String::from_utf8_lossy(&report.stdout).contains("fourth"));
}
