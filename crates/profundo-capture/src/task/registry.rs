//! The living tasks, and the memory of ended ones.
//!
//! A server wraps one future for each request, for days. Its tasks have few names and park at few
//! places: each name and each stack is kept once. If there are still too many, the oldest are
//! forgotten, and less is kept of new names and stacks. So the memory grows only with the tasks
//! that live at one time, by some words for each.

use std::collections::{HashMap, HashSet, VecDeque};
use std::hash::{BuildHasher, Hash};
use std::panic::Location;
use std::sync::Arc;
use std::sync::atomic::Ordering;

use profundo_wire::End;
use profundo_wire::recording::TaskInfo;

use super::Running;

/// The number of ended tasks remembered by name, so that their samples can be distinguished.
const REMEMBERED: usize = 1 << 16;
/// The limit of kept task names. A task that is made when they are all in use has none.
const MOST_NAMES: usize = 1 << 13;
/// The bytes of a name that are kept.
const LONGEST_NAME: usize = 200;
/// The limit of words for the stacks of parked tasks; beyond it, only the innermost frame of a new
/// one is kept.
const MOST_WORDS: usize = 1 << 17;

#[derive(Debug, Default)]
pub(super) struct Registry {
    living: HashMap<u64, Living>,
    /// The numbers of the living tasks, so that one can be picked at random at no cost.
    numbers: Vec<u64>,
    ended: VecDeque<(u64, Arc<Name>)>,
    names: HashSet<Arc<Name>>,
    parks: HashSet<Arc<Park>>,
    /// The words of all kept stacks.
    words: usize,
}

#[derive(Debug)]
struct Living {
    name: Arc<Name>,
    running: Arc<Running>,
    /// Its last park; `None` if it has not parked during a session.
    park: Option<Arc<Park>>,
    /// The span in which it parked; 0 outside of spans.
    span: u32,
    /// The position of its number among those of the living tasks.
    position: usize,
}

/// The name of tasks, and the place where they were made.
#[derive(Debug, PartialEq, Eq, Hash)]
struct Name {
    text: Box<str>,
    place: &'static Location<'static>,
}

/// A stack, leaf first, from which tasks went to wait.
#[derive(Debug, PartialEq, Eq, Hash)]
pub(crate) struct Park {
    pub(crate) stack: Box<[u64]>,
    pub(crate) end: End,
}

/// A task as the wall-clock helper picks it.
#[derive(Debug)]
pub(crate) enum Picked {
    /// The task is parked, at a known or unknown place.
    Parked {
        number: u64,
        park: Option<Arc<Park>>,
        /// The span in which it parked; 0 outside of spans.
        span: u32,
    },
    /// A thread polls it.
    Running { tid: u32 },
}

impl Registry {
    pub(super) fn add(
        &mut self,
        number: u64,
        name: &str,
        place: &'static Location<'static>,
        running: Arc<Running>,
    ) {
        let name = self.name(name, place);
        let position = self.numbers.len();
        self.numbers.push(number);
        let living = Living {
            name,
            running,
            park: None,
            span: 0,
            position,
        };
        self.living.insert(number, living);
    }

    pub(super) fn end(&mut self, number: u64) {
        let Some(task) = self.living.remove(&number) else {
            return;
        };
        self.numbers.swap_remove(task.position);
        if let Some(moved) = self.numbers.get(task.position)
            && let Some(moved) = self.living.get_mut(moved)
        {
            moved.position = task.position;
        }
        self.forget_park(task.park);
        if self.ended.len() == REMEMBERED {
            self.forget_oldest();
        }
        self.ended.push_back((number, task.name));
        self.give_back();
    }

    /// The task waits: its waker was handed out from this stack, whose walk ended so.
    pub(super) fn park(&mut self, number: u64, stack: &[u64], end: End, span: u32) {
        if !self.living.contains_key(&number) {
            return;
        }
        let park = self.kept_park(stack, end);
        let Some(task) = self.living.get_mut(&number) else {
            return;
        };
        task.running
            .is_kept_park_old
            .store(false, Ordering::Relaxed);
        task.span = span;
        let before = task.park.replace(park);
        self.forget_park(before);
    }

    /// The number of living tasks.
    pub(super) fn living(&self) -> usize {
        self.numbers.len()
    }

    /// The living task at a position, in no particular order.
    pub(super) fn pick(&self, position: usize) -> Option<Picked> {
        let &number = self.numbers.get(position)?;
        let task = self.living.get(&number)?;
        Some(match task.running.thread.load(Ordering::Relaxed) {
            0 => {
                let is_old = task.running.is_kept_park_old.load(Ordering::Relaxed);
                let park = task.park.clone().filter(|_| !is_old);
                let span = task.span;
                Picked::Parked { number, park, span }
            }
            tid => Picked::Running { tid },
        })
    }

    /// All tasks that live or ended not long ago.
    pub(super) fn infos(&self) -> Vec<TaskInfo> {
        let ended = self.ended.iter().map(|(number, name)| (*number, name));
        let living = self
            .living
            .iter()
            .map(|(number, task)| (*number, &task.name));
        let mut infos: Vec<_> = (ended.chain(living))
            .map(|(number, name)| TaskInfo {
                number,
                name: name.text.to_string(),
                spawned_at: format!("{}:{}", name.place.file(), name.place.line()),
            })
            .collect();
        infos.sort_by_key(|task| task.number);
        infos
    }

    fn name(&mut self, text: &str, place: &'static Location<'static>) -> Arc<Name> {
        let text = shortened(text);
        let name = Name { text, place };
        if let Some(known) = self.names.get(&name) {
            return known.clone();
        }
        while self.names.len() >= MOST_NAMES && !self.ended.is_empty() {
            self.forget_oldest();
        }
        if self.names.len() >= MOST_NAMES {
            // There are as many without a name as there are places in the program.
            let text = Box::default();
            return kept(&mut self.names, Name { text, place }).0;
        }
        kept(&mut self.names, name).0
    }

    fn forget_oldest(&mut self) {
        if let Some((_, name)) = self.ended.pop_front() {
            forget(&mut self.names, name);
        }
    }

    fn kept_park(&mut self, stack: &[u64], end: End) -> Arc<Park> {
        let whole = Park {
            stack: stack.into(),
            end,
        };
        let is_full = self.words + stack.len() > MOST_WORDS;
        let park = if is_full && stack.len() > 1 && !self.parks.contains(&whole) {
            // There are as many of these as there are places that clone a waker.
            Park {
                stack: stack[..1].into(),
                end: End::Truncated,
            }
        } else {
            whole
        };
        let words = park.stack.len();
        let (park, is_new) = kept(&mut self.parks, park);
        if is_new {
            self.words += words;
        }
        park
    }

    fn forget_park(&mut self, park: Option<Arc<Park>>) {
        let Some(park) = park else { return };
        let words = park.stack.len();
        if forget(&mut self.parks, park) {
            self.words -= words;
        }
    }

    /// Returns the room of a former crowd.
    fn give_back(&mut self) {
        const LEAST: usize = 1024;
        let living = self.living.len();
        if self.living.capacity() > LEAST.max(8 * living) {
            self.living.shrink_to(LEAST.max(2 * living));
            self.numbers.shrink_to(LEAST.max(2 * living));
        }
    }
}

/// The equal value in the set, and whether it is new.
fn kept<T: Eq + Hash, S: BuildHasher>(all: &mut HashSet<Arc<T>, S>, one: T) -> (Arc<T>, bool) {
    if let Some(known) = all.get(&one) {
        return (known.clone(), false);
    }
    let one = Arc::new(one);
    all.insert(one.clone());
    (one, true)
}

/// Releases a value; removes it from the set if it has no other user, and returns whether that was
/// so.
fn forget<T: Eq + Hash, S: BuildHasher>(all: &mut HashSet<Arc<T>, S>, one: Arc<T>) -> bool {
    /// `one`, and the set's own.
    const LAST: usize = 2;
    // No other reference can be taken meanwhile: all of them are here, and we hold the only way to
    // them.
    Arc::strong_count(&one) <= LAST && all.remove(&one)
}

/// The kept part of a name.
fn shortened(name: &str) -> Box<str> {
    const MARK: &str = "…";
    if name.len() <= LONGEST_NAME {
        return name.into();
    }
    let room = LONGEST_NAME - MARK.len();
    let end = (0..=room).rev().find(|&at| name.is_char_boundary(at));
    format!("{}{MARK}", &name[..end.unwrap_or(0)]).into()
}

#[cfg(test)]
mod tests;
