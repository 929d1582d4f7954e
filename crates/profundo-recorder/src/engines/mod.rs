//! The engines that sample programs without an agent: the kernel's clocks with rings of samples,
//! for some processes or for the whole machine, and polling where those are not permitted.
//! (Threads of programs with an agent sample themselves.)

mod machine;
mod outside;
mod polling;

pub(crate) use machine::Over;
pub(crate) use outside::{Begun, Opened, OutsideSampling, is_closed_to_agents};
