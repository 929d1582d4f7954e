//! The signal of a program's clocks: SIGTRAP unless the program or a debugger uses it, and then the
//! one that the agent asks for. The program's threads wait for these answers, so they come first.

use std::sync::Arc;
use std::sync::atomic::Ordering;

use profundo_linux::perf::{Signal, may_trap};
use profundo_linux::proc;
use profundo_linux::sys;
use profundo_probe::shared::{Header, trap_state};

use super::{Agent, ClockPlan};

impl Agent {
    /// Chooses SIGTRAP, if the agent permits it and no debugger is attached.
    pub(super) fn choose_signal(&mut self, mark: u64) {
        let trap = self.header().trap.load(Ordering::Acquire);
        let tables = self.header().tables.load(Ordering::Relaxed);
        let may_be_used = trap == trap_state::WELCOME
            && is_same_program(self.pid, tables, mark)
            && may_trap()
            && !proc::is_traced(self.pid)
            && is_changed(self.header(), trap_state::WELCOME, trap_state::USED);
        self.signal = match may_be_used {
            true => Signal::Trap,
            false => self.asked(),
        };
    }

    /// The signal that the agent asks for instead of SIGTRAP.
    pub(super) fn asked(&self) -> Signal {
        // Acquire pairs with the agent's release: its handler is installed.
        let number = self.header().signal.load(Ordering::Acquire);
        Signal::Asked(number as i32)
    }

    /// Changes the clocks' signal if the program uses it itself, and answers the agent.
    pub(crate) fn update_signal(&mut self) {
        let asked = self.asked();
        let number = asked.number();
        if self.signal != Signal::Trap {
            self.signal = asked;
        }
        // Without tables it is not known whether the process still runs the program with our
        // handler.
        let is_known = self.header().tables.load(Ordering::Relaxed) != 0;
        let harmless = if is_known || !asked.is_deadly() {
            number
        } else {
            0
        };
        for clock in self
            .threads
            .iter_mut()
            .filter_map(|thread| thread.clock.as_mut())
        {
            let is_other = clock.signal != Signal::Trap && clock.signal.number() != harmless;
            if let Some(Err(error)) = is_other.then(|| clock.send(harmless)) {
                self.refusal = Some(error);
            }
        }
        let heard = &self.header().signal_heard;
        if heard.swap(number as u32, Ordering::AcqRel) != number as u32 {
            profundo_probe::sys::futex_wake(heard);
        }
    }

    /// Calls [`Self::update_trap`] with `slow` if the program runs: a debugger that has attached
    /// may be about to resume it.
    pub(crate) fn check_for_debugger(&mut self, plan: ClockPlan) {
        let handled = self.header().counters.handled.load(Ordering::Relaxed);
        if std::mem::replace(&mut self.handled_before, handled) != handled {
            self.update_trap(plan, true);
        }
    }

    /// Changes to the other signal if the program uses SIGTRAP itself, and answers the agent. With
    /// `slow`, also if a debugger is attached, which is not announced.
    pub(crate) fn update_trap(&mut self, plan: ClockPlan, slow: bool) {
        if self.signal != Signal::Trap {
            // The agent may have asked before the first clock was opened.
            self.answer_trap();
            return;
        }
        let unwelcome = self.header().trap.load(Ordering::Acquire) == trap_state::UNWELCOME;
        let is_to_go = unwelcome || slow && proc::is_traced(self.pid);
        if !is_to_go {
            return;
        }
        // Comes before a clock with the other signal is opened.
        is_changed(self.header(), trap_state::USED, trap_state::WELCOME);
        self.signal = self.asked();
        let clocks = self.for_clocks(plan);
        let asked = self.signal;
        let map = Arc::clone(&self.map);
        let mut threads = std::mem::take(&mut self.threads);
        for thread in &mut threads {
            thread.calls.close();
            let Some(clock) = thread.clock.take() else {
                continue;
            };
            clock.disable();
            thread.is_blocking |= proc::blocks_signal(self.pid, thread.tid, clock.signal.number());
            drop(clock);
            if let Some(record) = map
                .record(thread.index)
                .filter(|record| !record.has_ended())
            {
                self.open_clock(thread, record, asked, clocks);
            }
        }
        self.threads = threads;
        self.answer_trap();
    }

    /// Stops the clocks while a thread that blocks their signals is about to execute another
    /// program, where a pending signal would arrive. Starts them again if the `exec` fails.
    pub(crate) fn update_silence(&mut self, plan: ClockPlan) {
        let map = Arc::clone(&self.map);
        let silence = &map.ring().header.silence;
        // Acquire pairs with the agent's release: the wish was written before the request.
        let asked = silence.asked.load(Ordering::Acquire);
        let is_wanted = silence.wanted.load(Ordering::Acquire) != 0;
        if is_wanted != self.is_silent {
            self.is_silent = is_wanted;
            for thread in &mut self.threads {
                if is_wanted {
                    thread.calls.close();
                }
                let Some(clock) = &thread.clock else { continue };
                if is_wanted {
                    clock.disable();
                    let signal = clock.signal.number();
                    thread.is_blocking |= proc::blocks_signal(self.pid, thread.tid, signal);
                } else if plan.running {
                    let _ = clock.enable();
                }
            }
        }
        if self.is_silent && silence.heard.load(Ordering::Relaxed) != asked {
            silence.heard.store(asked, Ordering::Release);
            profundo_probe::sys::futex_wake(&silence.heard);
        }
    }

    fn answer_trap(&self) {
        let state = &self.header().trap;
        if state.load(Ordering::Acquire) == trap_state::UNWELCOME {
            state.store(trap_state::NEVER, Ordering::Release);
            profundo_probe::sys::futex_wake(state);
        }
    }
}

/// Changes the state of SIGTRAP. Returns false if it was not `from`.
pub(super) fn is_changed(header: &Header, from: u32, to: u32) -> bool {
    // Release pairs with the acquire of an agent that finds out whether it has to wait for the
    // command.
    let order = (Ordering::AcqRel, Ordering::Relaxed);
    let changed = header.trap.compare_exchange(from, to, order.0, order.1);
    changed.is_ok()
}

/// Whether a process still runs the program that has mapped the tables at this address.
pub(super) fn is_same_program(pid: u32, tables: u64, mark: u64) -> bool {
    let mut bytes = [0; 8];
    let read = tables != 0 && sys::read_memory(pid, tables, &mut bytes) == bytes.len();
    read && u64::from_ne_bytes(bytes) == mark
}
