//! The account of one thread's waits.

use std::sync::Arc;

use super::super::Change;

/// The place of a wait, as words of a sample.
pub(crate) type Place = Arc<[u64]>;

/// The length after which a continuing wait is first emitted, and the longest interval after that,
/// in nanoseconds.
const FIRST_EMISSION: u64 = 1_000_000_000;
const LAST_EMISSION: u64 = 32_000_000_000;

/// Time to be emitted.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Emission {
    /// A wait at a place, up to a time.
    At {
        place: Place,
        weight: u64,
        until: u64,
    },
    /// A wait whose place is not known.
    Unread { weight: u64, until: u64 },
    /// A wait for a CPU.
    Cpu { weight: u64, until: u64 },
}

#[derive(Debug, Clone, PartialEq, Eq)]
enum State {
    /// On a CPU, or unknown.
    On,
    /// Off the CPU voluntarily.
    Off {
        since: u64,
        /// The time up to which it was emitted.
        emitted: u64,
        /// The time at which it is emitted next.
        next: u64,
        place: Option<Place>,
        /// Whether its reading failed, and is not tried again.
        is_given_up: bool,
    },
    /// Off the CPU by preemption.
    Preempted { since: u64 },
}

/// The waits of one thread.
#[derive(Debug)]
pub(crate) struct Spans {
    state: State,
    tick: u64,
    /// The time of short waits, read or not, and of others that were not read.
    pot: Sum,
    /// The places and the ends of short waits that were read since the last settlement.
    short: Vec<(Place, u64)>,
    /// The place of the last wait that was read.
    last: Option<Place>,
    /// The time of short waits for a CPU.
    for_cpu: Sum,
}

/// The sum of several waits, and the end of the last one.
#[derive(Debug, Default)]
struct Sum {
    weight: u64,
    until: u64,
}

impl Sum {
    fn add(&mut self, weight: u64, until: u64) {
        self.weight += weight;
        self.until = until;
    }

    /// The sum, which begins anew.
    fn take(&mut self) -> (u64, u64) {
        (std::mem::take(&mut self.weight), self.until)
    }
}

impl Spans {
    pub(crate) fn new(tick: u64) -> Self {
        Self {
            state: State::On,
            tick,
            pot: Sum::default(),
            short: Vec::new(),
            last: None,
            for_cpu: Sum::default(),
        }
    }

    /// Takes in a change.
    pub(crate) fn change(&mut self, change: Change, time: u64, out: &mut Vec<Emission>) {
        self.end(time, out);
        self.state = match change {
            Change::In => State::On,
            Change::Preempted => State::Preempted { since: time },
            Change::Out => State::Off {
                since: time,
                emitted: time,
                next: time + FIRST_EMISSION,
                place: None,
                is_given_up: false,
            },
        };
    }

    /// Changes were lost: its present state is not known.
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

    /// Whether it is known to have a CPU. When a thread leaves one for the last time, there is no
    /// record.
    pub(crate) fn is_on(&self) -> bool {
        matches!(self.state, State::On)
    }

    /// The start of a wait that was not read.
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

    /// Takes in the place of the present wait.
    pub(crate) fn read(&mut self, found: Place) {
        if let State::Off { place, .. } = &mut self.state {
            self.last = Some(Arc::clone(&found));
            *place = Some(found);
        }
    }

    /// Notes that the present wait could not be read.
    pub(crate) fn give_up(&mut self) {
        if let State::Off { is_given_up, .. } = &mut self.state {
            *is_given_up = true;
        }
    }

    /// Emits the time of a continuing wait, if it is due.
    pub(crate) fn progress(&mut self, now: u64, out: &mut Vec<Emission>) {
        if let State::Off {
            since,
            emitted,
            next,
            place: Some(place),
            ..
        } = &mut self.state
            && now >= *next
        {
            out.push(Emission::At {
                place: Arc::clone(place),
                weight: now.saturating_sub(*emitted),
                until: now,
            });
            *emitted = now;
            *next = now
                + now
                    .saturating_sub(*since)
                    .clamp(FIRST_EMISSION, LAST_EMISSION);
        }
    }

    /// Emits the time of a continuing wait up to now, where its place is known.
    pub(crate) fn divide(&mut self, now: u64, out: &mut Vec<Emission>) {
        if let State::Off {
            emitted,
            place: Some(place),
            ..
        } = &mut self.state
            && now > *emitted
        {
            out.push(Emission::At {
                place: Arc::clone(place),
                weight: now - *emitted,
                until: now,
            });
            *emitted = now;
        }
    }

    /// Emits the sum of the short waits, if any of them was read; with `is_last`, all that is left.
    pub(crate) fn settle(&mut self, now: u64, is_last: bool, out: &mut Vec<Emission>) {
        if is_last {
            self.end(now, out);
            self.state = State::On;
        }
        let (weight, until) = self.for_cpu.take();
        if weight > 0 {
            out.push(Emission::Cpu { weight, until });
        }
        if self.short.is_empty() && is_last {
            let until = self.pot.until;
            self.short
                .extend(self.last.take().map(|last| (last, until)));
        }
        if self.pot.weight == 0 || (self.short.is_empty() && !is_last) {
            return;
        }
        let (mut left, until) = self.pot.take();
        if self.short.is_empty() {
            out.push(Emission::Unread {
                weight: left,
                until,
            });
            return;
        }
        let count = self.short.len() as u64;
        for (at, (place, until)) in self.short.drain(..).enumerate() {
            let weight = left / (count - at as u64);
            left -= weight;
            out.push(Emission::At {
                place,
                weight,
                until,
            });
        }
    }

    fn end(&mut self, time: u64, out: &mut Vec<Emission>) {
        match std::mem::replace(&mut self.state, State::On) {
            State::On => {}
            State::Preempted { since } => {
                let weight = time.saturating_sub(since);
                if weight >= self.tick {
                    let until = time;
                    out.push(Emission::Cpu { weight, until });
                } else {
                    self.for_cpu.add(weight, time);
                }
            }
            State::Off {
                since,
                emitted,
                place: Some(place),
                ..
            } if emitted > since || time.saturating_sub(since) >= self.tick => {
                out.push(Emission::At {
                    place,
                    weight: time.saturating_sub(emitted),
                    until: time,
                });
            }
            State::Off { since, place, .. } => {
                self.pot.add(time.saturating_sub(since), time);
                self.short.extend(place.map(|place| (place, time)));
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

    /// The places, and where they end, in milliseconds.
    fn ends(out: &[Emission]) -> Vec<(u64, u64)> {
        out.iter()
            .map(|emission| match emission {
                Emission::At { place, until, .. } => (place[0], until / MS),
                Emission::Unread { until, .. } => (0, until / MS),
                Emission::Cpu { until, .. } => (99, until / MS),
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
    fn a_long_wait_is_emitted_ever_more_rarely() {
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
        let weights = weights(&out);
        assert_eq!(weights.len(), 10);
        assert!(weights.iter().all(|&(_, weight)| weight == 20 * MS));
        out.clear();
        spans.settle(300 * MS, true, &mut out);
        assert!(out.is_empty());
    }

    #[test]
    fn short_waits_end_where_they_ended() {
        let mut spans = Spans::new(10 * MS);
        let mut out = Vec::new();
        for start in [100, 200, 300] {
            spans.change(Change::Out, start * MS, &mut out);
            spans.read(place(start));
            spans.change(Change::In, (start + 4) * MS, &mut out);
            spans.change(Change::Preempted, (start + 5) * MS, &mut out);
            spans.change(Change::In, (start + 7) * MS, &mut out);
        }
        // A long wait for a CPU stands alone, at its own end.
        spans.change(Change::Preempted, 400 * MS, &mut out);
        spans.change(Change::In, 430 * MS, &mut out);
        // The thread has ended long before its process has.
        spans.settle(900 * MS, true, &mut out);
        assert_eq!(
            ends(&out),
            [(99, 430), (99, 307), (100, 104), (200, 204), (300, 304)]
        );
        assert_eq!(weights(&out)[..2], [(99, 30 * MS), (99, 6 * MS)]);
    }

    #[test]
    fn what_was_not_read_ends_with_the_last_of_it() {
        let mut spans = Spans::new(10 * MS);
        let mut out = Vec::new();
        spans.change(Change::Out, 20 * MS, &mut out);
        spans.change(Change::In, 50 * MS, &mut out);
        spans.settle(900 * MS, true, &mut out);
        assert_eq!(
            (weights(&out), ends(&out)),
            (vec![(0, 30 * MS)], vec![(0, 50)])
        );
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
        // An earlier place is the best guess.
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
