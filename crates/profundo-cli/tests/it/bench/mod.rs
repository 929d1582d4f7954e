//! `bench`: what it runs, how often and in which order, what it prints, and how it ends. How long things take is nobody's
//! to know on a machine that others use; so tests count, or compare what differs by far.

mod commands;
mod fib;
mod later;
mod python;
