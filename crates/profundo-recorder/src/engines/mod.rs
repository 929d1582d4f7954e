//! The engines that sample programs without an agent: the kernel's clocks with rings of samples,
//! and polling where those are not permitted. (Threads of programs with an agent sample
//! themselves.)

mod outside;
mod polling;

pub(crate) use outside::{Begun, Opened, OutsideSampling, is_closed_to_agents};
