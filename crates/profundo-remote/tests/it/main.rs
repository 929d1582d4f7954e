//! Recordings of real programs, judged by what comes out.

mod agent;
mod energy;
mod fake;
mod gauge;
mod launch;
mod outside;
mod sessions;
