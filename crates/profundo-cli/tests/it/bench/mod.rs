//! `bench`: what it runs, how often and in which order, what it prints, and how it ends. Durations
//! are unpredictable on a shared machine; so tests count, or compare what differs by far.

mod commands;
mod fib;
mod later;
mod python;
