//! Programs and recorders that are harmed on purpose, by hand because it takes long: `kills` ends
//! either side at random moments, `faults` makes their system calls fail.
//!
//! Both run short programs in many rounds, several at a time, and write a line for each into a
//! list in `target/harm`. A run that is repeated goes on where the list ends. `/dev/shm` is the
//! run's own, so that what is left there is known, and others' sessions stay.

pub mod faults;
pub mod kills;
mod list;
mod mark;
mod place;
mod random;
mod runs;

use std::env;
use std::os::unix::process::CommandExt;
use std::process::Command;
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;

use anyhow::{Context, Result, bail};

/// The variable that says that `/dev/shm` is our own.
const SECLUDED: &str = "XTASK_SECLUDED";

/// The options of both tasks.
#[derive(Debug)]
struct Wanted {
    seed: u64,
    jobs: usize,
    /// The number of rounds of `kills`.
    rounds: u64,
    /// Parts of names; all if there are none.
    names: Vec<String>,
}

impl Wanted {
    fn read(arguments: &[&str]) -> Result<Self> {
        let mut wanted = Self {
            seed: 1,
            jobs: 4,
            rounds: 10_000,
            names: Vec::new(),
        };
        let mut rest = arguments.iter();
        while let Some(&argument) = rest.next() {
            let mut number = || -> Result<u64> {
                let number = rest.next().context("a number is missing")?;
                Ok(number.parse()?)
            };
            match argument {
                "--seed" => wanted.seed = number()?,
                "--jobs" => wanted.jobs = number()?.max(1) as usize,
                "--rounds" => wanted.rounds = number()?,
                _ if argument.starts_with('-') => bail!("there is no option {argument}"),
                name => wanted.names.push(name.to_owned()),
            }
        }
        Ok(wanted)
    }

    fn has(&self, name: &str) -> bool {
        self.names.is_empty() || self.names.iter().any(|wanted| name.contains(wanted))
    }
}

/// Starts this task anew with a `/dev/shm` of its own. Returns in the task that has one.
fn seclude() -> Result<()> {
    if env::var_os(SECLUDED).is_some() {
        return Ok(());
    }
    let script = "mount -t tmpfs -o mode=1777 tmpfs /dev/shm && exec \"$0\" \"$@\"";
    let mut command = Command::new("unshare");
    command.args(["--mount", "--", "sh", "-c", script]);
    command
        .arg(env::current_exe()?)
        .args(env::args_os().skip(1));
    let why = command.env(SECLUDED, "1").exec();
    Err(why).context("a /dev/shm of our own needs unshare and root")
}

/// Calls a function with each number below `count`, on several threads. The first error ends all.
fn in_turn(count: usize, jobs: usize, does: impl Fn(usize) -> Result<()> + Sync) -> Result<()> {
    let next = AtomicUsize::new(0);
    let failed = Mutex::new(None);
    thread::scope(|scope| {
        for _ in 0..jobs {
            scope.spawn(|| {
                // Relaxed: each number comes once, and no other memory depends on it.
                while let number = next.fetch_add(1, Ordering::Relaxed)
                    && number < count
                {
                    if let Err(error) = does(number) {
                        next.store(count, Ordering::Relaxed);
                        let mut failed = failed.lock().unwrap_or_else(|lock| lock.into_inner());
                        failed.get_or_insert(error);
                    }
                }
            });
        }
    });
    let failed = failed.into_inner().unwrap_or_else(|lock| lock.into_inner());
    failed.map_or(Ok(()), Err)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_command_line_is_read() {
        let wanted = Wanted::read(&["--seed", "3", "--jobs", "0", "wall"]).unwrap();
        assert_eq!((wanted.seed, wanted.jobs), (3, 1));
        assert!(wanted.has("wall: python") && !wanted.has("memory"));
        let why = |words: &[&str]| Wanted::read(words).unwrap_err().to_string();
        assert_eq!(why(&["--seed"]), "a number is missing");
        assert_eq!(why(&["--nothing"]), "there is no option --nothing");
    }

    #[test]
    fn each_number_comes_once_and_an_error_ends_all() {
        let seen = Mutex::new(Vec::new());
        in_turn(100, 3, |number| {
            seen.lock().unwrap().push(number);
            Ok(())
        })
        .unwrap();
        let mut seen = seen.into_inner().unwrap();
        seen.sort_unstable();
        assert!(seen.into_iter().eq(0..100));
        let failed = in_turn(100, 3, |number| match number {
            7 => bail!("seven"),
            _ => Ok(()),
        });
        assert_eq!(failed.unwrap_err().to_string(), "seven");
    }
}
