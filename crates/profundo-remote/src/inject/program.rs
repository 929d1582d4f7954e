//! Which program a process runs: it may begin another one at any time, in which nothing is where it was.

use super::Refused;
use crate::proc;

/// What is another with each program that a process begins.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Program {
    /// When the process began, and where its code and its stack lie.
    places: Vec<u64>,
    /// Random bytes that each program gets.
    random: Vec<u8>,
    state: u8,
}

impl Program {
    /// The one that a process runs now.
    pub(super) fn of(pid: u32) -> Option<Self> {
        /// Of the line's fields, the first of which is the state: when it began, and those places.
        const FIELDS: [usize; 3] = [19, 23, 25];
        let line = String::from_utf8(proc::read(pid, "stat")).ok()?;
        let (_, line) = line.rsplit_once(") ")?;
        let fields: Vec<&str> = line.split_whitespace().collect();
        let state = *fields.first()?.as_bytes().first()?;
        if matches!(state, b'Z' | b'X') {
            return None;
        }
        let number = |field: usize| fields.get(field)?.parse().ok();
        Some(Self {
            places: FIELDS.into_iter().map(number).collect::<Option<_>>()?,
            random: proc::read(pid, "auxv"),
            state,
        })
    }

    /// Whether it has been stopped by a signal.
    pub(super) fn is_stopped(&self) -> bool {
        self.state == b'T'
    }

    /// Why this is no more what the process runs, if it is not.
    pub(super) fn is_another(&self, pid: u32) -> Option<Refused> {
        match Self::of(pid) {
            None => Some(Refused::Gone),
            Some(now) if now.places != self.places || now.random != self.random => {
                // One that is ending has no memory any more.
                let is_same = now.places.first() == self.places.first();
                Some(match is_same && !now.random.is_empty() {
                    true => Refused::Another,
                    false => Refused::Gone,
                })
            }
            Some(_) => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::process::Command;

    #[test]
    fn a_program_is_itself_and_no_other() {
        let own = std::process::id();
        let program = Program::of(own).unwrap();
        assert!(program.is_another(own).is_none());
        let mut child = Command::new("sleep").arg("60").spawn().unwrap();
        let why = program.is_another(child.id());
        child.kill().unwrap();
        let other = Program::of(child.id());
        child.wait().unwrap();
        assert!(matches!(why, Some(Refused::Gone | Refused::Another)));
        assert!(Program::of(child.id()).is_none(), "{other:?}");
    }
}
