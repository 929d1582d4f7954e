//! The costs of a recording that handlers cannot count: the delivery of signals, the switches of
//! threads with clocks, the loading of the agent. Each is measured here once and kept for later
//! recordings.

mod delivery;
mod loading;
mod switches;

pub(crate) use delivery::delivery_cost;
pub(crate) use loading::load_cost;
pub(crate) use switches::switch_cost;
