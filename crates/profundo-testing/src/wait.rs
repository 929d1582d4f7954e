//! Waiting for a condition. A test that sleeps for a fixed time is slow on a fast machine, and
//! wrong on a busy one; a test that polls is neither.

use std::process::{Child, ExitStatus};
use std::thread;
use std::time::{Duration, Instant};

/// The time that a test waits: enough for a busy machine, so that a test that takes longer hangs.
pub const PATIENCE: Duration = Duration::from_secs(90);

/// The pause between two checks of the condition.
const PAUSE: Duration = Duration::from_millis(3);

/// Waits until a condition holds; fails with `what` where it does not within [`PATIENCE`].
#[track_caller]
pub fn wait_until(what: &str, mut condition: impl FnMut() -> bool) {
    wait_for(what, || condition().then_some(()));
}

/// Like [`wait_until`], with a message that is made only on failure, such as the last state seen.
#[track_caller]
pub fn wait_until_or(mut condition: impl FnMut() -> bool, message: impl FnOnce() -> String) {
    let found = ask(PATIENCE, || condition().then_some(()));
    if found.is_none() {
        panic!("waited {PATIENCE:?} in vain: {}", message());
    }
}

/// Waits until `find` gives something; fails with `what` where it does not within [`PATIENCE`].
#[track_caller]
pub fn wait_for<T>(what: &str, find: impl FnMut() -> Option<T>) -> T {
    match ask(PATIENCE, find) {
        Some(found) => found,
        None => panic!("waited {PATIENCE:?} in vain for {what}"),
    }
}

/// Waits for the end of a child; one that does not end within the given time is killed, and the
/// test fails.
#[track_caller]
pub fn wait_for_exit(child: &mut Child, what: &str, patience: Duration) -> ExitStatus {
    match ask(patience, || child.try_wait().transpose()) {
        Some(status) => status.unwrap(),
        None => {
            let _ = child.kill();
            let _ = child.wait();
            panic!("{what} did not end in {patience:?}");
        }
    }
}

fn ask<T>(patience: Duration, mut find: impl FnMut() -> Option<T>) -> Option<T> {
    let began = Instant::now();
    loop {
        // Asked once more after the last pause, however long the machine has made that.
        let is_late = began.elapsed() > patience;
        if let Some(found) = find() {
            return Some(found);
        }
        if is_late {
            return None;
        }
        thread::sleep(PAUSE);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_comes_is_waited_for() {
        let mut asked = 0;
        let found = wait_for("the third question", || {
            asked += 1;
            (asked == 3).then_some("it")
        });
        assert_eq!((found, asked), ("it", 3));
    }

    #[test]
    fn what_does_not_come_is_asked_for_once_more_at_the_end() {
        let mut asked = 0;
        let found = ask(Duration::ZERO, || {
            asked += 1;
            None::<()>
        });
        assert_eq!(found, None);
        assert!(asked >= 1);
    }

    #[test]
    #[should_panic(expected = "a sleeper did not end in 20ms")]
    fn a_child_that_hangs_is_killed() {
        let mut child = std::process::Command::new("sleep")
            .arg("60")
            .spawn()
            .unwrap();
        wait_for_exit(&mut child, "a sleeper", Duration::from_millis(20));
    }
}
