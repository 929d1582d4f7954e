//! Recordings of real programs, judged by what comes out.

mod agent;
mod energy;
mod fake;
mod launch;
mod outside;
mod sessions;
