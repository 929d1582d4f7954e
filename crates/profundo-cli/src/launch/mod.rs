//! Starting a program so that it cannot tell the difference, and ending as it ended.
//!
//! Everything that the command needs of the system beside files is here, and so is its unsafe
//! code.

mod beginning;
mod child;
mod end;
mod interrupt;
mod local_time;
mod patience;
mod program;
mod recorded;
mod signals;
mod waited;

pub use child::{Child, Environment, Eve, Streams, pipe};
pub use end::{
    Ended, bury, end_as, end_by_broken_pipe, has_ended, pass_on, send, stop_too, was_stopped,
};
pub use interrupt::{Interrupt, Interrupted};
pub use local_time::LocalTime;
pub use patience::Patience;
pub use program::{Program, Unstarted, script};
pub use recorded::{fork_recorded, heed, mind};
pub use signals::{Got, Signals};
pub use waited::{Used, of_children, of_us, wait_for, wait_or_kill};
