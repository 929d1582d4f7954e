//! PyPy: its programs run as ever, and their native frames are read. Its Python frames are not.

use std::process::Command;

use profundo_testing::skip;

use crate::program::Program;
use crate::targets::source;

#[test]
fn pypy_is_sampled_by_its_native_frames() {
    let question = "import sys; print(sys.implementation.name)";
    let answer = Command::new("pypy3").args(["-c", question]).output();
    if !answer.is_ok_and(|answer| answer.stdout == b"pypy\n") {
        return skip("there is no pypy3");
    }
    let program = Program::new("pypy3").with(&[source("fixed_work.py")]);
    let recording = program.slack(4.0).run_both_ways();
    recording.assert_sampled(90.0);
    // No frame is taken for one of CPython's.
    assert_eq!(recording.share("burn"), 0.0);
    let runtimes: Vec<&str> = (recording.profile.processes.iter())
        .map(|process| recording.profile.strings.get(process.runtime))
        .collect();
    assert!(
        runtimes.iter().all(|runtime| !runtime.contains("CPython")),
        "{runtimes:?}"
    );
}
