//! The steps of each part of the agent as a process begins, forks, executes another program, is
//! left and ends.
//!
//! A new part gets a row in [`PARTS`]. The functions of this file go through the rows, for the
//! modules that notice the moment: [`start`](crate::start), [`hello`](crate::hello),
//! [`fork`](crate::fork) and [`child`](crate::child), [`exec`](crate::interpose::exec),
//! [`leave`](crate::leave) and [`ends`](crate::ends). They are called in signal handlers, in
//! children of forks, and in children that borrow their parent's memory (`vfork`): the table is
//! never written to.

use core::ffi::c_int;
use core::sync::atomic::Ordering;

use profundo_probe::python::Found;
use profundo_probe::shared::Control;
use profundo_probe::urgent;

use crate::calls::native_calls::compiler_counters;
use crate::home::Home;
use crate::inject::early;
use crate::interpose::memory::copies;
use crate::interpose::shell;
use crate::signals::pending::{self, Undo};
use crate::signals::{actions, claims, sent, timers, traps, waiting};
use crate::{
    calls, deferral, left, memory, python, session, spans, symbols, threads, usage, waits,
};

/// The step of a part at each moment. `None`: nothing.
struct Part {
    /// The program begins, and has a ring.
    begin: Option<fn(&Beginning)>,
    /// An interpreter was found, at the beginning or later.
    python_found: Option<fn(Found)>,
    /// In the child of any fork.
    forked: Option<fn()>,
    /// In the child of a fork that has a ring of its own. There is one thread.
    enter_child: Option<fn(Home)>,
    /// In such a child, after it has introduced itself to the command.
    child_introduced: Option<fn(Home)>,
    /// In the child of a fork that has no ring: the parent's files must not be written to.
    abandon: Option<fn()>,
    /// The command refuses to record the process, which has a ring. There is no probe any more.
    refused: Option<fn(Home)>,
    /// The process may become another program.
    before_exec: Option<fn(&mut Exec)>,
    /// The `exec` has failed.
    after_exec: Option<fn(&Exec)>,
    /// The agent is about to leave the process, and may still call the kernel.
    before_leaving: Option<fn(&mut Leaving)>,
    /// The agent leaves the process.
    leave: Option<fn(&Leaving)>,
    /// The calling thread ends. Without a home the agent has left the process, and nothing may call
    /// the kernel.
    end_thread: Option<fn(Option<Home>)>,
    /// The process ends, and the agent has not left it. It may have no ring.
    before_end: Option<fn()>,
    /// The process ends with this code. Without a home, as for `end_thread`.
    end: Option<fn(Option<Home>, c_int)>,
}

/// A program that begins.
struct Beginning {
    control: &'static Control,
    home: Home,
    /// True if the agent was loaded behind the runtime of a sanitizer: that is the allocator then,
    /// and its reports name its callers.
    is_behind: bool,
}

impl Beginning {
    /// True if allocations are recorded from the beginning, where they are wanted. An agent that
    /// comes late begins with them when the command has answered.
    fn records_allocations(&self) -> bool {
        !self.is_behind && !symbols::is_late()
    }
}

/// The changes to undo if the `exec` fails. It lies on the stack: a child that borrows its parent's
/// memory writes nothing else.
struct Exec {
    /// Ignored signals whose actions were changed.
    changed: u64,
    pending: Option<Undo>,
}

/// A process that is being left.
struct Leaving {
    home: Home,
    /// True if the processor's clock may still be read.
    has_clock: bool,
    /// True if no clock sends a signal any more, for certain.
    are_clocks_stopped: bool,
    /// The calling thread's mask.
    own_mask: u64,
    /// The signals of ours that wait for a thread which blocks them.
    pending: u64,
}

impl Part {
    const NOTHING: Self = Self {
        begin: None,
        python_found: None,
        forked: None,
        enter_child: None,
        child_introduced: None,
        abandon: None,
        refused: None,
        before_exec: None,
        after_exec: None,
        before_leaving: None,
        leave: None,
        end_thread: None,
        before_end: None,
        end: None,
    };
}

/// The parts. **Their order is that of the calls**; before an exec, at the end of the process and
/// when the command refuses the process it is the reverse. It matters where:
///
/// - What the process has used is written down last at its end, after all that the others use: it
///   comes first.
/// - The counters of compilers are read while the clocks still run; at an end, after the calls were
///   settled, so that the wait for the command is no part of them.
/// - The clocks stop sending signals before SIGTRAP is given up, or the command would open
///   clocks that send the other signal.
/// - SIGTRAP has its handler before the tables are there, by which the command takes it that it
///   has.
/// - Calls are settled before allocations are let go of.
/// - Spans are written down while the ring is still the process's.
/// - The interpreter's allocators are replaced before the way into the interpreter puts itself in
///   front of them.
/// - The interpreter is looked for when allocations are recorded, and before this process records.
/// - Signals are hidden when the process records, and come back when nothing does any more. Before
///   an exec their actions are set first, and set back last.
/// - A process that the command refuses stops recording before the allocations are let go of.
/// - The thread's slot goes last: the others find it by the thread's number.
/// - Deferred work is forgotten when the other parts have left the process.
///
/// In the child of a fork, [`fork`](crate::fork) forgets the deferred work of the parent by itself:
/// it needs the answer whether the parent's entry was deferred.
static PARTS: [Part; 19] = [
    // What the process has used.
    Part {
        before_exec: Some(|_| usage::note_exec()),
        end: Some(|home, code| {
            if let Some(home) = home {
                usage::note_end(home, code);
            }
        }),
        ..Part::NOTHING
    },
    // Counters that the compiler has put into the program.
    Part {
        child_introduced: Some(compiler_counters::show_forked),
        before_exec: Some(|_| compiler_counters::show_last()),
        before_leaving: Some(|_| compiler_counters::show_last()),
        end: Some(|_, _| compiler_counters::show_last()),
        ..Part::NOTHING
    },
    // Timers, and the command's clocks.
    Part {
        before_leaving: Some(|leaving| {
            leaving.are_clocks_stopped = claims::send_nothing(leaving.home);
            // A program that restricts its system calls is left at once.
            if symbols::is_late() {
                leaving.pending = waiting::await_arrival(leaving.own_mask);
            }
        }),
        refused: Some(|home| {
            sent::send_nothing();
            timers::end_all(home);
        }),
        end_thread: Some(|home| {
            if let Some(home) = home {
                timers::end_current(home);
            }
        }),
        ..Part::NOTHING
    },
    // SIGTRAP.
    Part {
        begin: Some(|_| traps::install()),
        before_leaving: Some(|leaving| traps::leave(leaving.pending)),
        ..Part::NOTHING
    },
    // Unwind tables.
    Part {
        begin: Some(|beginning| map_tables(beginning.home)),
        ..Part::NOTHING
    },
    // Handlers that are at work.
    Part {
        forked: Some(urgent::reset_after_fork),
        ..Part::NOTHING
    },
    // Shells.
    Part {
        forked: Some(shell::reset_after_fork),
        ..Part::NOTHING
    },
    // Waits for the interpreter's lock.
    Part {
        python_found: Some(|found| waits::watch(found.runtime)),
        ..Part::NOTHING
    },
    // Exact calls and lines of Python, and calls of native functions.
    Part {
        forked: Some(calls::forked),
        enter_child: Some(|home| calls::enter_child(home.ring_number().load(Ordering::Relaxed))),
        abandon: Some(calls::stop),
        before_exec: Some(|_| calls::before_exec()),
        after_exec: Some(|_| calls::after_exec()),
        leave: Some(|leaving| calls::leave(leaving.has_clock)),
        end_thread: Some(|_| calls::end_thread()),
        end: Some(|_, _| calls::end()),
        ..Part::NOTHING
    },
    // Spans and marks of Python programs.
    Part {
        begin: Some(|beginning| spans::begin(beginning.home)),
        forked: Some(spans::reset_after_fork),
        enter_child: Some(spans::enter_child),
        before_exec: Some(|_| spans::before_exec()),
        before_leaving: Some(|leaving| spans::end(leaving.home)),
        end: Some(|home, _| {
            if let Some(home) = home {
                spans::end(home);
            }
        }),
        ..Part::NOTHING
    },
    // Copies.
    Part {
        begin: Some(|beginning| {
            if beginning.records_allocations() && memory::is_wanted(beginning.control) {
                copies::resolve();
            }
        }),
        ..Part::NOTHING
    },
    // Allocations, sampled and exact.
    Part {
        begin: Some(|beginning| {
            if beginning.records_allocations() {
                memory::begin(beginning.control, beginning.home);
            }
            if memory::is_on() {
                memory::note_hidden_allocator(beginning.home);
            }
        }),
        python_found: Some(|_| memory::watch_python()),
        enter_child: Some(memory::enter_child),
        abandon: Some(memory::abandon),
        refused: Some(|_| memory::leave()),
        leave: Some(|_| memory::leave()),
        end_thread: Some(|home| match home {
            Some(_) => memory::end_thread(),
            None => memory::end_thread_of_before(),
        }),
        ..Part::NOTHING
    },
    // The way into the interpreter.
    Part {
        python_found: Some(|_| early::watch()),
        ..Part::NOTHING
    },
    // The interpreter.
    Part {
        begin: Some(|beginning| python::find(beginning.home, !symbols::is_late(), python_found)),
        enter_child: Some(python::set_up_in_child),
        leave: Some(|_| python::forget()),
        ..Part::NOTHING
    },
    // Whether this process records.
    Part {
        begin: Some(|beginning| beginning.home.set_records(true)),
        enter_child: Some(|home| home.set_records(true)),
        refused: Some(|home| home.set_records(false)),
        leave: Some(|leaving| leaving.home.set_records(false)),
        ..Part::NOTHING
    },
    // Signals of ours that are pending, and the mask.
    Part {
        before_exec: Some(|exec| exec.pending = Some(pending::before_exec())),
        after_exec: Some(|exec| {
            if let Some(undo) = exec.pending {
                pending::after_exec(undo);
            }
        }),
        ..Part::NOTHING
    },
    // Actions of our signals.
    Part {
        begin: Some(|_| actions::install()),
        before_exec: Some(|exec| exec.changed = actions::before_exec()),
        after_exec: Some(|exec| actions::after_exec(exec.changed)),
        leave: Some(|leaving| actions::withdraw(leaving.are_clocks_stopped, leaving.pending)),
        ..Part::NOTHING
    },
    // The thread's slot and its record.
    Part {
        end_thread: Some(|home| {
            if let Some(home) = home {
                threads::end(home);
            }
        }),
        ..Part::NOTHING
    },
    // Deferred work.
    Part {
        leave: Some(|_| _ = deferral::forget()),
        before_end: Some(deferral::end),
        ..Part::NOTHING
    },
];

/// Calls each part at a moment, in the table's order or in reverse.
macro_rules! each {
    ($moment:ident($($argument:expr),*)) => { each!(PARTS.iter(), $moment($($argument),*)) };
    (reverse $moment:ident($($argument:expr),*)) => { each!(PARTS.iter().rev(), $moment($($argument),*)) };
    ($parts:expr, $moment:ident($($argument:expr),*)) => {
        for part in $parts {
            if let Some(act) = part.$moment {
                act($($argument),*);
            }
        }
    };
}

/// The program begins, and has a ring.
pub fn begin(control: &'static Control, home: Home, is_behind: bool) {
    let beginning = Beginning {
        control,
        home,
        is_behind,
    };
    each!(begin(&beginning));
}

/// An interpreter was found.
pub fn python_found(found: Found) {
    each!(python_found(found));
}

/// In the child of any fork.
pub fn forked() {
    each!(forked());
}

/// In the child of a fork that has a ring of its own.
pub fn enter_child(home: Home) {
    each!(enter_child(home));
}

/// In the child of a fork, after it has introduced itself to the command.
pub fn child_introduced(home: Home) {
    each!(child_introduced(home));
}

/// In the child of a fork that has no ring.
pub fn abandon() {
    each!(abandon());
}

/// The command refuses to record the process.
pub fn refused(home: Home) {
    each!(reverse refused(home));
}

/// Calls a function that makes the process another program.
pub fn exec<T>(exec: impl FnOnce() -> T) -> T {
    let mut undo = Exec {
        changed: 0,
        pending: None,
    };
    each!(reverse before_exec(&mut undo));
    let result = exec();
    each!(after_exec(&undo));
    result
}

/// The agent leaves the process. `has_clock`: the processor's clock may still be read. `own_mask`:
/// the calling thread's. Returns the signals whose handlers stay.
pub fn leave(home: Home, has_clock: bool, own_mask: u64) -> u64 {
    let mut leaving = Leaving {
        home,
        has_clock,
        are_clocks_stopped: false,
        own_mask,
        pending: 0,
    };
    each!(before_leaving(&mut leaving));
    left::set();
    each!(leave(&leaving));
    leaving.pending
}

/// The calling thread ends.
pub fn end_thread(home: Option<Home>) {
    each!(end_thread(home));
}

/// The process ends, and the agent has not left it.
pub fn before_end() {
    each!(before_end());
}

/// The process ends.
pub fn end(home: Option<Home>, code: c_int) {
    each!(reverse end(home, code));
}

/// Maps the unwind tables, and publishes their place.
fn map_tables(home: Home) {
    let header = &home.ring().header;
    let (tables, bytes) = session::map_tables().unwrap_or((0, 0));
    header.tables.store(tables, Ordering::Relaxed);
    header.table_bytes.store(bytes, Ordering::Relaxed);
}
