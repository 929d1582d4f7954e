//! Recordings of real programs, judged by what comes out.

mod agent;
mod fake;
mod launch;
mod outside;
mod sessions;
