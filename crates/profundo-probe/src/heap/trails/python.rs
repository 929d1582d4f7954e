//! The interpreter's frames.

pub(crate) use profundo_cpython::Arrival;

use core::cell::Cell;

use super::{Number, Part, Read, ReadLog, Trails, place_of};

/// The walk's result for a frame.
#[derive(Debug, Clone, Copy, Default)]
#[repr(C)]
pub(crate) struct Met {
    /// The frame and its code object.
    pub(crate) address: u64,
    pub(crate) code: u64,
    /// The flags of the code object.
    pub(crate) flags: u32,
    has_word: bool,
    has_entry: bool,
    word: u64,
    entry: u64,
}

impl Met {
    /// The words for it, without the places of native frames.
    pub(crate) fn words(&self) -> impl Iterator<Item = u64> {
        let word = self.has_word.then_some(self.word);
        word.into_iter().chain(self.has_entry.then_some(self.entry))
    }

    /// The word of a frame, if it is the program's.
    pub(crate) fn frame(&self) -> Option<u64> {
        self.has_word.then_some(self.word)
    }
}

/// A frame, in the state in which a walk has reached it.
#[derive(Debug, Clone, Copy)]
#[repr(C)]
pub(super) struct PythonNode {
    record: u64,
    met: Met,
    begins_run: bool,
}

/// The links of a frame.
#[derive(Debug, Clone, Copy)]
#[repr(C)]
pub(super) struct PythonLink {
    /// The walk's reads of it.
    first: u32,
    count: u32,
    /// Its code object: a number of [`super::Checks`].
    check: u32,
    /// The next one; 0: none, the walk is at its end.
    parent: Number,
}

/// A frame of the present walk.
#[derive(Debug, Clone, Copy)]
#[repr(C)]
pub(super) struct PythonStep {
    arrival: Arrival,
    met: Met,
    check: u32,
    reads_from: u32,
}

impl Trails {
    /// Numbers of code objects are given anew in each epoch.
    pub(crate) fn begin_python(&self, epoch: u64) {
        self.python.clear();
        self.checks.begin();
        if self.epoch.replace(epoch) != epoch {
            self.python.forget_places();
        }
    }

    /// The walk of the interpreter's frames is over. `is_whole`: it has come to the last one.
    pub(crate) fn end_python(&self, is_whole: bool, log: &ReadLog) {
        self.end_step(log);
        self.python.is_whole.set(is_whole);
        if !is_whole {
            // There will be no nodes for the reads of code objects. All frames come before.
            let steps = (0..self.python.count.get()).map_while(|at| self.python.step(at));
            for read in steps.flat_map(|step| self.checks.reads(step.check)) {
                log.note(read.address, read.word);
            }
        }
        self.python_end.set(log.count());
    }

    /// Notes a word of a code object.
    #[inline]
    pub(crate) fn note_code(&self, address: u64, word: u64, log: &ReadLog) {
        // For a frame that becomes no node, the log has everything.
        let step = self.python.count.get().wrapping_sub(1);
        let is_node = self.python.steps.get(step);
        if !is_node.is_some_and(|step| step.get().arrival.is_whole) {
            log.note(address, word);
        } else if !log.is_implied() && !self.checks.note(Read { address, word }) {
            log.lose();
        }
    }

    /// The walk goes on from the last frame.
    fn end_step(&self, log: &ReadLog) {
        match self.checks.number() {
            Some(0) => {}
            Some(check) => self.python.change_step(|step| step.check = check),
            None => log.lose(),
        }
    }

    /// The number of reads of the walk of the interpreter's frames.
    pub(super) fn python_reads(&self) -> usize {
        self.python_end.get()
    }

    /// The walk reaches a frame. Returns whether it and all frames after it are known.
    ///
    /// # Safety
    /// The frame is the calling thread's, which is at a call.
    #[inline]
    pub(crate) unsafe fn arrive_python(&self, arrival: Arrival, log: &ReadLog) -> bool {
        self.end_step(log);
        let address = arrival.address;
        let passed = self.python.passed.get();
        if passed == address {
            self.python.passed.set(0);
        } else if passed == 0 && arrival.is_whole {
            let number = self.python.places.get(place_of(address, arrival.record));
            let number = number.map_or(0, |number| number.get());
            // SAFETY: the caller vouches.
            if number != 0 && unsafe { self.is_python_rest(number, &arrival) } {
                self.python.rest.set(number);
                return true;
            }
        }
        self.python.begin_step(PythonStep {
            arrival,
            met: Met {
                address,
                ..Met::default()
            },
            check: 0,
            reads_from: log.count() as u32,
        });
        false
    }

    /// # Safety
    /// As for [`Self::arrive_python`].
    unsafe fn is_python_rest(&self, number: Number, arrival: &Arrival) -> bool {
        let Some(node) = self.python.get(number) else {
            return false;
        };
        let is_same_state = node.met.address == arrival.address
            && node.record == arrival.record
            && node.begins_run == arrival.begins_run;
        if !is_same_state {
            return false;
        }
        // SAFETY: the walk would read the first word of this frame now.
        match unsafe { self.python_holds(number) } {
            Ok(()) => true,
            Err(address) => {
                if address != arrival.address {
                    self.python.passed.set(address);
                }
                false
            }
        }
    }

    /// Whether all frames from this one on are unchanged; if not, the first changed one.
    ///
    /// # Safety
    /// The walk would reach it now.
    #[inline]
    pub(in super::super) unsafe fn python_holds(&self, mut number: Number) -> Result<(), u64> {
        while let Some(index) = (number as usize).checked_sub(1)
            && let Some(link) = self.links.get(index).map(|link| link.get())
        {
            // In the order of the walk: if the words before are unchanged, the walk would read this
            // one at the same address. SAFETY: the caller vouches for the first one; the rest
            // follow.
            if !unsafe { self.are_same(link.first, link.count) && self.checks.holds(link.check) } {
                return Err(self.python.get(number).map_or(0, |node| node.met.address));
            }
            number = link.parent;
        }
        Ok(())
    }

    /// All words read of the frames from this one on, which are unchanged: of each code object
    /// once.
    pub(super) fn python_words(&self, number: Number) -> impl Iterator<Item = Read> {
        let mut next = number;
        self.checks.begin_lookup();
        let links = core::iter::from_fn(move || {
            let link = self.links.get((next as usize).checked_sub(1)?)?.get();
            next = link.parent;
            Some(link)
        });
        links.flat_map(|link| {
            let reads = self.reads(link.first, link.count).unwrap_or_default();
            let check = match self.checks.see(link.check) {
                true => 0,
                false => link.check,
            };
            reads.iter().map(Cell::get).chain(self.checks.reads(check))
        })
    }

    /// The program's code at the last frame of the walk.
    pub(crate) fn meet_frame(&self, word: u64, code: u64, flags: u32) {
        self.python.change_step(|step| {
            (step.met.word, step.met.has_word) = (word, true);
            (step.met.code, step.met.flags) = (code, flags);
        });
    }

    /// A run of the loop ends there.
    pub(crate) fn meet_entry(&self, word: u64) {
        self.python
            .change_step(|step| (step.met.entry, step.met.has_entry) = (word, true));
    }

    /// The frames found to be known.
    pub(crate) fn python_rest(&self) -> impl Iterator<Item = Met> {
        let mut next = self.python.rest.get();
        core::iter::from_fn(move || {
            let node = self.python.get(next)?;
            next = self.links.get(next as usize - 1)?.get().parent;
            Some(node.met)
        })
    }

    /// The part of the interpreter's frames to be kept, given the number of their reads.
    pub(super) fn python_part(&self, end: usize) -> Part {
        let steps = &self.python;
        let none = Part {
            from: 0,
            to: end,
            ..Part::default()
        };
        if !steps.is_whole.get() {
            return none;
        }
        let all = steps.count.get();
        let are_nodes = |at: &usize| steps.step(*at).is_some_and(|step| step.arrival.is_whole);
        let nodes = (0..all).rev().take_while(are_nodes).count();
        if nodes == 0 && steps.rest.get() == 0 {
            return none;
        }
        let first = steps.step(all - nodes);
        Part {
            from: 0,
            to: first.map_or(end, |step| step.reads_from as usize).min(end),
            nodes,
            has_nodes: true,
        }
    }

    /// Keeps the last frames of the walk. Returns the innermost.
    pub(super) fn keep_python(&self, count: usize, log: &ReadLog) -> Option<Number> {
        let mut number = self.python.rest.get();
        let mut end = self.python_end.get();
        let all = self.python.count.get();
        for index in (all.checked_sub(count)?..all).rev() {
            let PythonStep {
                arrival,
                met,
                check,
                reads_from,
            } = self.python.step(index)?;
            let first = self.reads_used.get();
            let count = self.keep_reads(log.some(reads_from as usize, end))?;
            let node = PythonNode {
                record: arrival.record,
                met,
                begins_run: arrival.begins_run,
            };
            let link = PythonLink {
                first: first as u32,
                count: count as u32,
                check,
                parent: number,
            };
            self.links.get(self.python.used.get())?.set(link);
            number = self
                .python
                .keep(node, place_of(arrival.address, arrival.record))?;
            end = reads_from as usize;
        }
        Some(number)
    }
}
