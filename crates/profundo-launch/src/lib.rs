//! Starting a program so that it runs as without us, and ending as it ended.
//!
//! A program is found as a shell finds it ([`Program`]), forked and executed ([`Child`],
//! [`fork_recorded`]), and waited for while signals are passed on to it ([`Signals`],
//! [`handle_signals`]). [`end_as`] ends the command as the program has ended. Most of the unsafe
//! code that commands need is here.
//!
//! It is not for sampling, which is the recorder's in `profundo-recorder`.

mod child;
mod end;
mod inherited;
mod interrupt;
mod local_time;
mod pipe;
mod poll;
mod process_name;
mod program;
mod recorded;
mod shortened;
mod signals;
mod waited;

pub use child::{BeforeExec, Child, Environment, Streams};
pub use end::{
    Ended, end_as, end_by_broken_pipe, has_ended, pass_on, reap, send, stop_too, was_stopped,
};
pub use interrupt::{Interrupt, Interrupted};
pub use local_time::LocalTime;
pub use pipe::pipe;
pub use poll::Poll;
pub use process_name::{process_name, process_program};
pub use program::{PYTHON, Program, Unstarted, python, script};
pub use recorded::{SIGNAL_INTERVAL, fork_recorded, handle_signals, handle_signals_and_end};
pub use shortened::outlive_shortened_files;
pub use signals::{KEEPING, Received, Signals};
pub use waited::{Used, of_children, of_us, wait_for, wait_or_kill};
