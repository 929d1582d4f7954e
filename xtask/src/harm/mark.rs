//! A word in the environment of all processes of a round, by which those that are left are found.

use std::fs;
use std::process::Command;
use std::thread;
use std::time::{Duration, Instant};

/// The variable's name.
pub const MARK: &str = "XTASK_HARM";

/// The processes that have the mark of a round, without zombies.
fn marked(value: &str) -> Vec<u32> {
    let wanted = format!("{MARK}={value}");
    let Ok(entries) = fs::read_dir("/proc") else {
        return Vec::new();
    };
    let pids = entries.flatten();
    let pids = pids.filter_map(|entry| entry.file_name().to_str()?.parse().ok());
    let has = |pid: &u32| {
        fs::read(format!("/proc/{pid}/environ")).is_ok_and(|bytes| {
            let mut words = bytes.split(|&byte| byte == 0);
            words.any(|word| word == wanted.as_bytes())
        })
    };
    pids.filter(has).collect()
}

/// Waits until no process has the mark. Those that have it after this time are killed, and named.
pub fn wait_until_gone(value: &str, patience: Duration) -> Vec<String> {
    let began = Instant::now();
    loop {
        let left = marked(value);
        if left.is_empty() || began.elapsed() > patience {
            return left.into_iter().map(end).collect();
        }
        thread::sleep(Duration::from_millis(10));
    }
}

fn end(pid: u32) -> String {
    let name = fs::read_to_string(format!("/proc/{pid}/comm")).unwrap_or_default();
    kill(pid);
    format!("{} {pid}", name.trim_end())
}

/// Kills a process of ours.
pub fn kill(pid: u32) {
    let mut kill = Command::new("kill");
    kill.args(["-KILL", &pid.to_string()]);
    // It may have ended.
    let _ = kill.stderr(std::process::Stdio::null()).status();
}
