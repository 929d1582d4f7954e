//! Living interpreters of each version that this machine has: their stacks and the names of their
//! threads and tasks read from outside, and their line tables, against what they say themselves.

mod interpreter;
mod lines;
mod opcodes;
mod stacks;
mod tasks;
mod threads;
