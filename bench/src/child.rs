//! A run in a process of its own: this very program, started with a part to play. Its cost is the
//! kernel's account when it is reaped, so it is complete.

use std::collections::BTreeMap;
use std::io::{self, Read};
use std::mem;
use std::process::{Command, Stdio};

use crate::process::Cpu;

/// The first argument of a process that plays a part.
const MARK: &str = "--play";

/// The part of this process, with its number, if it was started by [`run`].
pub fn part() -> Option<(String, f64)> {
    let mut arguments = std::env::args().skip(1);
    if arguments.next()? != MARK {
        return None;
    }
    let part = arguments.next()?;
    let number = arguments.next()?.parse().ok()?;
    Some((part, number))
}

/// Reports a figure to the parent process.
pub fn print_figure(name: &str, value: f64) {
    println!("{name}={value}");
}

/// A child's cost and output.
#[derive(Debug, Clone, Default)]
pub struct Outcome {
    /// Its CPU time as a whole.
    pub cpu: Cpu,
    said: BTreeMap<String, f64>,
}

impl Outcome {
    /// A figure that the child reported.
    pub fn get(&self, name: &str) -> f64 {
        self.said.get(name).copied().unwrap_or(f64::NAN)
    }
}

/// Starts this program to play a part, and waits for it.
pub fn run(part: &str, number: f64) -> io::Result<Outcome> {
    let mut child = Command::new(std::env::current_exe()?)
        .args([MARK, part, &number.to_string()])
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .spawn()?;
    let mut text = String::new();
    if let Some(mut output) = child.stdout.take() {
        output.read_to_string(&mut text)?;
    }
    let mut status = 0;
    // SAFETY: zeroed is a valid rusage, both pointers are ours, and only this code waits for the
    // child: `child` is dropped without.
    let usage = unsafe {
        let mut usage: libc::rusage = mem::zeroed();
        let pid = libc::pid_t::try_from(child.id()).unwrap_or(-1);
        while libc::wait4(pid, &mut status, 0, &mut usage) < 0 {
            let error = io::Error::last_os_error();
            if error.kind() != io::ErrorKind::Interrupted {
                return Err(error);
            }
        }
        usage
    };
    if !libc::WIFEXITED(status) || libc::WEXITSTATUS(status) != 0 {
        return Err(io::Error::other(format!("the part {part} ended badly")));
    }
    Ok(Outcome {
        cpu: Cpu::of(&usage),
        said: parse(&text),
    })
}

fn parse(text: &str) -> BTreeMap<String, f64> {
    let pair = |line: &str| {
        let (name, value) = line.split_once('=')?;
        Some((name.to_owned(), value.parse().ok()?))
    };
    text.lines().filter_map(pair).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn figures_are_read_and_the_rest_is_not() {
        let said = parse("samples=12\nhello\nuser=0.5\nodd=one\n");
        assert_eq!(said.len(), 2);
        assert_eq!((said["samples"], said["user"]), (12.0, 0.5));
    }
}
