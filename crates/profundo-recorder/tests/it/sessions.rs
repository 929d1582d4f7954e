//! Sessions as other commands see them.

use std::process::{Command, Stdio};
use std::time::Duration;

use profundo_recorder::{Options, Recorder};
use profundo_session::{find_session, salvage};
use profundo_testing::skip;
use profundo_wire::recording::Event;

use crate::launch::{Child, Scratch};

#[test]
fn a_session_is_found_by_its_command_and_paused_from_outside() {
    let scratch = Scratch::new("found");
    let mut recorder = Recorder::create(scratch.options()).unwrap();
    let found = |recorder: &Recorder| {
        let session = find_session(std::process::id())?;
        // Other tests of this process have sessions of their own.
        (session.path() == recorder.directory()).then_some(session)
    };
    let session = (0..50).find_map(|_| found(&recorder));
    let Some(session) = session else {
        return;
    };
    assert!(!session.is_paused());
    session.set_paused(true);
    recorder.turn(&mut |_| {});
    assert!(recorder.is_paused());
    session.set_paused(false);
    recorder.turn(&mut |_| {});
    assert!(!recorder.is_paused());
    assert!(find_session(1).is_none());
    let path = session.path().to_owned();
    assert!(matches!(
        salvage(&path, &mut |_| {}),
        Err(profundo_session::Error::StillRecording(_))
    ));
    recorder.finish(&mut |_| {});
    session.set_paused(true);
    assert!(matches!(
        salvage(&path, &mut |_| {}),
        Err(profundo_session::Error::NoSession(_))
    ));
}

const VICTIM: &str = "PROFUNDO_VICTIM";

/// Not a test, but a recorder that is killed below.
#[test]
fn victim() {
    let Some(place) = std::env::var_os(VICTIM) else {
        return;
    };
    let options = Options {
        agent: Some("libm.so.6".into()),
        place: Some(place.into()),
        ..Options::default()
    };
    let mut recorder = Recorder::create(options).unwrap();
    let exe = std::env::current_exe().unwrap();
    let mut environment = recorder.environment(&exe);
    environment.push(("PROFUNDO_FAKE".into(), "killed".into()));
    let waited = recorder.directory().join("../waited");
    environment.push(("PROFUNDO_FAKE_WAITED".into(), waited.into()));
    let command = [exe.to_str().unwrap(), "fake::target", "--exact", "-q"];
    let child = Child::fork(&command, &environment);
    recorder.watch(child.pid).unwrap();
    child.go();
    // It answers the target, and drains nothing after that.
    let mut greeted = false;
    while !greeted {
        recorder.turn(&mut |event| greeted |= matches!(event, Event::Process(_)));
    }
    // What the target leaves undrained meanwhile is the subject.
    std::thread::sleep(Duration::from_millis(400));
    // SAFETY: our own end.
    unsafe { libc::kill(libc::getpid(), libc::SIGKILL) };
}

#[test]
fn what_a_killed_recorder_left_is_recovered() {
    let scratch = Scratch::new("victim");
    let exe = std::env::current_exe().unwrap();
    let status = Command::new(exe)
        .args(["sessions::victim", "--exact", "-q"])
        .env(VICTIM, scratch.path())
        .stdout(Stdio::null())
        .status()
        .unwrap();
    assert!(!status.success());
    let left: Vec<_> = std::fs::read_dir(scratch.path())
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .filter(|path| path.is_dir() && path.to_string_lossy().contains("profundo-"))
        .filter(|path| path.join("control").exists())
        .collect();
    assert_eq!(left.len(), 1, "{left:?}");
    let mut samples = 0;
    let mut ends = 0;
    salvage(&left[0], &mut |event| match event {
        Event::Words { process, words } => {
            assert_eq!(process, 1);
            samples += words.len() / 6;
        }
        Event::Ended(end) => {
            assert_eq!(end.process, 1);
            ends += 1;
        }
        _ => {}
    })
    .unwrap();
    assert!(samples > 900, "{samples}");
    assert_eq!(ends, 1);
    assert!(!left[0].exists());
}

#[test]
fn a_place_without_room_is_reported_at_once() {
    let scratch = Scratch::new("full");
    let place = scratch.path().join("small");
    std::fs::create_dir(&place).unwrap();
    let mount = |size: &str| {
        Command::new("mount")
            .args(["-t", "tmpfs", "-o", &format!("size={size}"), "tmpfs"])
            .arg(&place)
            .status()
            .is_ok_and(|status| status.success())
    };
    if !mount("4m") {
        skip("only root may mount a small file system");
        return;
    }
    let options = Options {
        place: Some(place.clone()),
        ..scratch.options()
    };
    let small = Recorder::create(options);
    let _ = Command::new("umount").arg(&place).status();
    let error = small.unwrap_err().to_string();
    assert!(
        error.contains("no room") && error.contains("TMPDIR"),
        "{error}"
    );
}
