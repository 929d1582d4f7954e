//! The choice among the processes of a machine, as each begins.

use std::collections::HashSet;

use profundo_linux::cgroup::Place;
use profundo_linux::proc;

use crate::options::Chosen;

/// The choice, and the processes that are chosen by their numbers so far.
#[derive(Debug)]
pub(super) struct Choosing {
    chosen: Chosen,
    /// The chosen processes and their descendants.
    family: HashSet<u32>,
}

impl Choosing {
    /// The choice among all processes, which are pairs of child and parent.
    pub(super) fn new(chosen: &Chosen, all: &[(u32, u32)]) -> Self {
        let mut family: HashSet<u32> = chosen.pids.iter().copied().collect();
        // Parents may stand anywhere.
        let mut known = 0;
        while !family.is_empty() && known < family.len() {
            known = family.len();
            let children = all.iter().filter(|(_, parent)| family.contains(parent));
            let children: Vec<u32> = children.map(|&(child, _)| child).collect();
            family.extend(children);
        }
        Self {
            chosen: chosen.clone(),
            family,
        }
    }

    pub(super) fn takes_all(&self) -> bool {
        self.chosen.is_all()
    }

    /// Notes a fork.
    pub(super) fn forked(&mut self, pid: u32, parent: u32) {
        match self.family.contains(&parent) {
            true => self.family.insert(pid),
            // Another process had the number before.
            false => self.family.remove(&pid),
        };
    }

    /// Whether a process is chosen. `has_begun`: it began during the recording.
    pub(super) fn takes(&self, pid: u32, has_begun: bool, command: &str) -> bool {
        let chosen = &self.chosen;
        let is_of_family = || {
            self.family.contains(&pid)
                // Its parent's fork was lost.
                || has_begun
                    && proc::stat(pid).is_some_and(|stat| self.family.contains(&stat.parent))
        };
        let has_user =
            || proc::effective_user(pid).is_some_and(|user| chosen.users.contains(&user));
        let has_name = || {
            let names = [program_of(command).to_owned(), proc::thread_name(pid, pid)];
            let mut wanted = chosen.programs.iter();
            wanted.any(|wanted| names.iter().any(|name| fits(wanted, name)))
        };
        let is_in_group = || {
            let place = Place::of(pid).unwrap_or_default();
            chosen.cgroups.iter().any(|group| place.is_in(group))
        };
        (chosen.pids.is_empty() || is_of_family())
            && (chosen.users.is_empty() || has_user())
            && (chosen.programs.is_empty() || has_name())
            && (chosen.cgroups.is_empty() || is_in_group())
    }
}

/// The name of the program in a command line.
fn program_of(command: &str) -> &str {
    let first = command.split(' ').next().unwrap_or_default();
    let name = first.rsplit('/').next().unwrap_or_default();
    name.trim_matches(['[', ']'])
}

/// Whether a name fits a pattern, in which `*` is anything.
fn fits(pattern: &str, name: &str) -> bool {
    let mut parts = pattern.split('*');
    let first = parts.next().unwrap_or_default();
    let Some(mut rest) = name.strip_prefix(first) else {
        return false;
    };
    let Some(last) = parts.next_back() else {
        return rest.is_empty();
    };
    for part in parts {
        match rest.split_once(part) {
            Some((_, after)) => rest = after,
            None => return false,
        }
    }
    rest.ends_with(last)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_fit_patterns() {
        for pattern in ["python3", "py*", "*3", "*", "p*t*3", "*tho*"] {
            assert!(fits(pattern, "python3"), "{pattern}");
        }
        for pattern in ["python", "", "*2", "y*", "p*x*3", "python3*3"] {
            assert!(!fits(pattern, "python3"), "{pattern}");
        }
        assert_eq!(program_of("/usr/bin/python3 app.py"), "python3");
        assert_eq!(program_of("[kworker/0:1]"), "0:1");
    }

    #[test]
    fn descendants_of_chosen_processes_are_chosen() {
        let chosen = Chosen {
            pids: vec![10],
            ..Chosen::default()
        };
        let mut choosing = Choosing::new(&chosen, &[(12, 11), (11, 10), (13, 1)]);
        let takes = |choosing: &Choosing, pid| choosing.takes(pid, false, "");
        assert!([10, 11, 12].iter().all(|&pid| takes(&choosing, pid)));
        assert!(!takes(&choosing, 13));
        choosing.forked(20, 12);
        assert!(takes(&choosing, 20));
        choosing.forked(20, 13);
        assert!(!takes(&choosing, 20));
        assert!(!choosing.takes_all());
    }

    #[test]
    fn all_kinds_of_choices_have_to_fit() {
        let mut chosen = Chosen {
            programs: vec!["no such program".to_owned(), "mine".to_owned()],
            ..Chosen::default()
        };
        let takes = |chosen: &Chosen| {
            let choosing = Choosing::new(chosen, &[]);
            choosing.takes(std::process::id(), false, "/bin/mine -x")
        };
        assert!(takes(&chosen));
        chosen.users = vec![u32::MAX - 7];
        assert!(!takes(&chosen));
    }
}
