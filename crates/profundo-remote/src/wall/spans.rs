//! The account of one thread's waits.

use std::sync::Arc;

/// What a thread waits in, as whoever reads threads has it.
pub(crate) type Place = Arc<[u64]>;

/// A wait goes on for so long before its time so far is told, at first and at most, in nanoseconds.
const FIRST_TOLD: u64 = 1_000_000_000;
const LAST_TOLD: u64 = 32_000_000_000;

/// A thread's change.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Change {
    /// It was given a CPU.
    In,
    /// It left the CPU by itself.
    Out,
    /// It was taken off the CPU.
    Preempted,
}

/// Time to be told.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Emission {
    /// So long it waited there, up to a time.
    At {
        place: Place,
        weight: u64,
        until: u64,
    },
    /// So long it waited, and nobody knows where.
    Unread { weight: u64, until: u64 },
    /// So long it waited for a CPU.
    Cpu { weight: u64, until: u64 },
}

#[derive(Debug, Clone, PartialEq, Eq)]
enum State {
    /// On a CPU, or not known.
    On,
    /// Off it by itself.
    Off {
        since: u64,
        /// Up to where its time was told.
        told: u64,
        /// When it is to be told next.
        next: u64,
        place: Option<Place>,
        /// Whether it was looked at in vain, and is not to be again.
        is_given_up: bool,
    },
    /// Off it because another one was given the CPU.
    Preempted { since: u64 },
}

/// The waits of one thread.
#[derive(Debug)]
pub(crate) struct Spans {
    state: State,
    tick: u64,
    /// Time in short waits, read or not, and in others that were not read.
    pot: u64,
    /// Where short waits were read since the pot was emptied.
    short: Vec<Place>,
    /// Where it waited the last time that it was read.
    last: Option<Place>,
    /// Time in which it waited for a CPU.
    for_cpu: u64,
}

impl Spans {
    pub(crate) fn new(tick: u64) -> Self {
        Self {
            state: State::On,
            tick,
            pot: 0,
            short: Vec::new(),
            last: None,
            for_cpu: 0,
        }
    }

    /// Takes in a change at a time.
    pub(crate) fn change(&mut self, change: Change, time: u64, out: &mut Vec<Emission>) {
        self.end(time, out);
        self.state = match change {
            Change::In => State::On,
            Change::Preempted => State::Preempted { since: time },
            Change::Out => State::Off {
                since: time,
                told: time,
                next: time + FIRST_TOLD,
                place: None,
                is_given_up: false,
            },
        };
    }

    /// Changes were lost: what it does now is not known, and what it did lately neither.
    pub(crate) fn lose_track(&mut self) {
        self.state = State::On;
    }

    /// Changes after this time were lost: a wait that was open then counts up to it.
    pub(crate) fn lose_track_since(&mut self, time: u64, out: &mut Vec<Emission>) {
        self.end(time, out);
    }

    /// Whether it is known to wait.
    pub(crate) fn is_off(&self) -> bool {
        matches!(self.state, State::Off { .. })
    }

    /// Whether it is known to have a CPU. Nobody tells of the last time that a thread leaves one.
    pub(crate) fn is_on(&self) -> bool {
        matches!(self.state, State::On)
    }

    /// Since when it waits and has not been read.
    pub(crate) fn unread_since(&self) -> Option<u64> {
        match self.state {
            State::Off {
                since,
                place: None,
                is_given_up: false,
                ..
            } => Some(since),
            _ => None,
        }
    }

    /// It was read while it waits.
    pub(crate) fn read(&mut self, found: Place) {
        if let State::Off { place, .. } = &mut self.state {
            self.last = Some(Arc::clone(&found));
            *place = Some(found);
        }
    }

    /// It could not be read in this wait.
    pub(crate) fn give_up(&mut self) {
        if let State::Off { is_given_up, .. } = &mut self.state {
            *is_given_up = true;
        }
    }

    /// Tells the time of a wait that goes on, if it is due.
    pub(crate) fn progress(&mut self, now: u64, out: &mut Vec<Emission>) {
        if let State::Off {
            since,
            told,
            next,
            place: Some(place),
            ..
        } = &mut self.state
            && now >= *next
        {
            out.push(Emission::At {
                place: Arc::clone(place),
                weight: now.saturating_sub(*told),
                until: now,
            });
            *told = now;
            *next = now + now.saturating_sub(*since).clamp(FIRST_TOLD, LAST_TOLD);
        }
    }

    /// Tells what the short waits add up to, if any of them was read; at the end all that is left.
    pub(crate) fn settle(&mut self, now: u64, is_last: bool, out: &mut Vec<Emission>) {
        if is_last {
            self.end(now, out);
            self.state = State::On;
        }
        if self.for_cpu > 0 {
            out.push(Emission::Cpu {
                weight: std::mem::take(&mut self.for_cpu),
                until: now,
            });
        }
        if self.short.is_empty() && is_last {
            self.short.extend(self.last.take());
        }
        if self.pot == 0 || self.short.is_empty() {
            if self.pot > 0 && is_last {
                out.push(Emission::Unread {
                    weight: std::mem::take(&mut self.pot),
                    until: now,
                });
            }
            return;
        }
        let count = self.short.len() as u64;
        let mut left = std::mem::take(&mut self.pot);
        for (at, place) in self.short.drain(..).enumerate() {
            let weight = left / (count - at as u64);
            left -= weight;
            out.push(Emission::At {
                place,
                weight,
                until: now,
            });
        }
    }

    fn end(&mut self, time: u64, out: &mut Vec<Emission>) {
        match std::mem::replace(&mut self.state, State::On) {
            State::On => {}
            State::Preempted { since } => self.for_cpu += time.saturating_sub(since),
            State::Off {
                since,
                told,
                place: Some(place),
                ..
            } if told > since || time.saturating_sub(since) >= self.tick => {
                out.push(Emission::At {
                    place,
                    weight: time.saturating_sub(told),
                    until: time,
                });
            }
            State::Off { since, place, .. } => {
                self.pot += time.saturating_sub(since);
                self.short.extend(place);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MS: u64 = 1_000_000;

    fn place(name: u64) -> Place {
        Arc::from([name])
    }

    fn weights(out: &[Emission]) -> Vec<(u64, u64)> {
        out.iter()
            .map(|emission| match emission {
                Emission::At { place, weight, .. } => (place[0], *weight),
                Emission::Unread { weight, .. } => (0, *weight),
                Emission::Cpu { weight, .. } => (99, *weight),
            })
            .collect()
    }

    #[test]
    fn a_long_wait_stands_for_its_own_length() {
        let mut spans = Spans::new(10 * MS);
        let mut out = Vec::new();
        spans.change(Change::Out, 5 * MS, &mut out);
        assert_eq!(spans.unread_since(), Some(5 * MS));
        spans.read(place(1));
        assert_eq!(spans.unread_since(), None);
        spans.change(Change::In, 505 * MS, &mut out);
        assert_eq!(weights(&out), [(1, 500 * MS)]);
    }

    #[test]
    fn one_that_goes_on_is_told_more_and_more_seldom() {
        let mut spans = Spans::new(10 * MS);
        let mut out = Vec::new();
        spans.change(Change::Out, 0, &mut out);
        spans.read(place(1));
        for now in 1..=100 {
            spans.progress(now * 1000 * MS, &mut out);
        }
        assert!(out.len() < 10, "{}", out.len());
        spans.settle(100_500 * MS, true, &mut out);
        let sum: u64 = weights(&out).iter().map(|(_, weight)| weight).sum();
        assert_eq!(sum, 100_500 * MS);
    }

    #[test]
    fn short_waits_that_were_read_share_the_time_of_all() {
        let mut spans = Spans::new(10 * MS);
        let mut out = Vec::new();
        for at in 0..100 {
            let start = at * 3 * MS;
            spans.change(Change::Out, start, &mut out);
            if at % 10 == 0 {
                spans.read(place(1 + at / 10 % 2));
            }
            spans.change(Change::In, start + 2 * MS, &mut out);
        }
        assert!(out.is_empty());
        spans.settle(300 * MS, false, &mut out);
        let told = weights(&out);
        assert_eq!(told.len(), 10);
        assert!(told.iter().all(|&(_, weight)| weight == 20 * MS));
        out.clear();
        spans.settle(300 * MS, true, &mut out);
        assert!(out.is_empty());
    }

    #[test]
    fn nothing_is_lost_that_was_not_read() {
        let mut spans = Spans::new(10 * MS);
        let mut out = Vec::new();
        spans.change(Change::Out, 0, &mut out);
        spans.change(Change::Preempted, 30 * MS, &mut out);
        spans.change(Change::In, 35 * MS, &mut out);
        spans.settle(40 * MS, false, &mut out);
        assert_eq!(weights(&out), [(99, 5 * MS)]);
        out.clear();
        spans.settle(40 * MS, true, &mut out);
        assert_eq!(weights(&out), [(0, 30 * MS)]);
        // What is known from before is the best guess.
        spans.change(Change::Out, 50 * MS, &mut out);
        spans.read(place(7));
        spans.change(Change::In, 90 * MS, &mut out);
        spans.change(Change::Out, 91 * MS, &mut out);
        out.clear();
        spans.settle(92 * MS, true, &mut out);
        assert_eq!(weights(&out), [(7, MS)]);
    }

    #[test]
    fn lost_changes_add_no_time() {
        let mut spans = Spans::new(10 * MS);
        let mut out = Vec::new();
        spans.change(Change::Out, 0, &mut out);
        spans.lose_track();
        spans.change(Change::In, 50 * MS, &mut out);
        spans.settle(60 * MS, true, &mut out);
        assert!(out.is_empty());
        spans.change(Change::Out, 70 * MS, &mut out);
        spans.give_up();
        assert_eq!(spans.unread_since(), None);
    }

    #[test]
    fn a_wait_counts_up_to_where_changes_are_lost() {
        let mut spans = Spans::new(10 * MS);
        let mut out = Vec::new();
        spans.change(Change::Out, 0, &mut out);
        spans.read(place(3));
        spans.lose_track_since(400 * MS, &mut out);
        assert!(!spans.is_off());
        // It was found again.
        spans.change(Change::Out, 900 * MS, &mut out);
        spans.read(place(3));
        spans.settle(1000 * MS, true, &mut out);
        assert_eq!(weights(&out), [(3, 400 * MS), (3, 100 * MS)]);
    }
}
