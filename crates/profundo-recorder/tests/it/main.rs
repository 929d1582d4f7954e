//! Recordings of real programs, judged by their events.

mod agent;
mod energy;
mod fake;
mod gauge;
mod launch;
mod outside;
mod sessions;
