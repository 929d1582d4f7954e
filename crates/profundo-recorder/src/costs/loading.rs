//! The cost of loading the agent into a program and unmapping it at the end, measured once.
//!
//! The agent counts the cost of its own start. The loader's work comes before its first
//! instruction, so it is measured in a program that does nothing else, with the agent and without,
//! and added for each program that the agent was loaded into.

use std::path::Path;
use std::process::{Command, Stdio};

use profundo_process::modules::cache_folder;

use super::delivery::{OFTEN, keep_least, known};

/// A recording of fewer programs is not worth the milliseconds.
const FEW: u64 = 20;

/// The cost of loading the agent once, in nanoseconds, for a recording of this many programs: the
/// least measured since the machine started, now or by earlier recordings. `None` if it is not
/// known.
pub(crate) fn load_cost(programs: u64, agent: &Path, cache: Option<&Path>) -> Option<u64> {
    let kept = cache_folder(cache).map(|folder| folder.join("profundo/loading"));
    // Agents differ: one that records allocations has more symbols to bind, and one of a debug
    // build is larger.
    let name = agent.file_name().unwrap_or_default().to_string_lossy();
    let of = format!("/{}", name.replace(char::is_whitespace, "_"));
    let before = kept.as_deref().and_then(|path| known(path, &of));
    let before_cost = before.map(|(cost, _)| cost);
    let is_known = before.is_some_and(|(_, measured)| measured >= OFTEN);
    if is_known || programs < FEW {
        return before_cost;
    }
    let Some(now) = measured(agent) else {
        return before_cost;
    };
    Some(keep_least(kept.as_deref(), &of, before, now))
}

/// The difference between a program with the agent and without.
fn measured(agent: &Path) -> Option<u64> {
    const ROUNDS: usize = 5;
    let (mut without, mut with) = (u64::MAX, u64::MAX);
    for _ in 0..ROUNDS {
        without = without.min(cpu_time(None)?);
        with = with.min(cpu_time(Some(agent))?);
    }
    // The program may be a link to one that does more.
    with.checked_sub(without).filter(|cost| *cost < 20_000_000)
}

/// The CPU time of a program that does nothing.
fn cpu_time(preload: Option<&Path>) -> Option<u64> {
    let mut command = Command::new("/bin/true");
    command.env_clear().stdin(Stdio::null());
    command.stdout(Stdio::null()).stderr(Stdio::null());
    if let Some(agent) = preload {
        command.env("LD_PRELOAD", agent);
    }
    let child = command.spawn().ok()?;
    let pid = child.id() as libc::pid_t;
    let mut status = 0;
    // SAFETY: zeroed is a valid usage.
    let mut usage: libc::rusage = unsafe { std::mem::zeroed() };
    loop {
        // SAFETY: both places are ours, and the child is waited for nowhere else.
        let waited = unsafe { libc::wait4(pid, &raw mut status, 0, &raw mut usage) };
        if waited == pid {
            break;
        }
        if std::io::Error::last_os_error().kind() != std::io::ErrorKind::Interrupted {
            return None;
        }
    }
    let nanos =
        |time: libc::timeval| time.tv_sec as u64 * 1_000_000_000 + time.tv_usec as u64 * 1000;
    (status == 0).then(|| nanos(usage.ru_utime) + nanos(usage.ru_stime))
}

#[cfg(test)]
mod tests {
    use super::super::delivery::keep;
    use super::*;

    #[test]
    fn the_least_that_was_measured_counts() {
        let folder = profundo_testing::Folder::new("loading");
        std::fs::create_dir_all(folder.join("profundo")).unwrap();
        let path = folder.join("profundo/loading");
        let cache = Some(folder.path());
        let agent = Path::new("/no/such/library.so");
        if profundo_linux::sys::boot().is_none() || !Path::new("/bin/true").exists() {
            return;
        }
        // A recording of few programs is not worth the measurement.
        assert_eq!(load_cost(FEW - 1, agent, cache), None);
        // The loader ignores a missing library, which costs next to nothing.
        let measured = load_cost(FEW, agent, cache);
        assert!(measured.is_none_or(|cost| cost < 2_000_000), "{measured:?}");
        keep(&path, "/library.so", 300_000, OFTEN).unwrap();
        assert_eq!(load_cost(FEW, agent, cache), Some(300_000));
        // A measurement of one agent does not hold for another.
        let other = Path::new("/no/such/other.so");
        assert_eq!(load_cost(FEW - 1, other, cache), None);
    }
}
