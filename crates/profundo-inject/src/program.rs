//! The program that a process runs. It may execute another at any time, in which all addresses
//! differ.

use profundo_linux::proc;

use super::Refused;

/// Properties that differ for each program that a process executes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Program {
    /// The start time of the process, and the addresses of its code and stack.
    places: Vec<u64>,
    /// The random bytes that the kernel gives each program.
    random: Vec<u8>,
    state: u8,
}

impl Program {
    /// The program that a process runs now. `None`: it has ended, or is just about to.
    pub(super) fn of(pid: u32) -> Option<Self> {
        /// The fields of `stat`, counted from the state on: the start time, and the addresses.
        const FIELDS: [usize; 3] = [19, 23, 25];
        let line = String::from_utf8(proc::read(pid, "stat")).ok()?;
        let (_, line) = line.rsplit_once(") ")?;
        let fields: Vec<&str> = line.split_whitespace().collect();
        let state = *fields.first()?.as_bytes().first()?;
        // An ending program has no memory any more.
        let random = proc::read(pid, "auxv");
        if matches!(state, b'Z' | b'X') || random.is_empty() {
            return None;
        }
        let number = |field: usize| fields.get(field)?.parse().ok();
        Some(Self {
            places: FIELDS.into_iter().map(number).collect::<Option<_>>()?,
            random,
            state,
        })
    }

    /// Whether it was stopped by a signal.
    pub(super) fn is_stopped(&self) -> bool {
        self.state == b'T'
    }

    /// The reason why the process does not run this program any more, if it does not.
    pub(super) fn is_another(&self, pid: u32) -> Option<Refused> {
        match Self::of(pid) {
            None => Some(Refused::Gone),
            Some(now) if now.places != self.places || now.random != self.random => {
                Some(match now.places.first() == self.places.first() {
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
        let this_process = std::process::id();
        let program = Program::of(this_process).unwrap();
        assert!(program.is_another(this_process).is_none());
        let mut child = Command::new("sleep").arg("60").spawn().unwrap();
        let why = program.is_another(child.id());
        child.kill().unwrap();
        let other = Program::of(child.id());
        child.wait().unwrap();
        assert!(matches!(why, Some(Refused::Gone | Refused::Another)));
        assert!(Program::of(child.id()).is_none(), "{other:?}");
    }
}
