//! The code inside of `malloc`: the choice of sampled allocations, and the blocks that are followed
//! until they are freed.
//!
//! Nothing in here allocates or calls the C library. A signal handler that interrupts it must not
//! reenter: the caller keeps a mark for its thread.

mod codes;
pub mod counts;
pub mod followed;
pub mod gaps;
pub mod here;
pub mod known;
mod log;
pub mod pace;
mod pens;
mod recall;
mod record;
mod rooms;
pub mod rows;
pub mod seen;
pub mod shadow;
pub mod sites;
mod spin;
pub mod switch;
mod texts;
pub mod traces;
mod trails;
mod walk_buffer;
pub mod watch;

pub use counts::{CountSlot, Counts};
pub use followed::{Few, Followed, Full};
pub use gaps::Gaps;
pub use known::{Known, KnownRoom};
pub use log::ReadLog;
pub use pace::Pace;
pub use recall::Recall;
pub use record::{Caller, NotRecorded, Numbers};
pub use rooms::{ROOMS, Room, Rooms};
pub use rows::{Row, Rows};
pub use shadow::{Shade, Shadow};
pub use sites::{Means, Sites};
pub use spin::Spin;
pub use switch::{SWITCH, Switch};
pub use traces::{Trace, Traces};
pub(crate) use trails::{Arrival, Sharing, Trails};
pub use watch::{Tables, Watch};
