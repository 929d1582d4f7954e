//! Living interpreters of each version that this machine has: their stacks and their threads' names read from outside,
//! and their line tables, against what they say themselves.

mod interpreter;
mod lines;
mod opcodes;
mod stacks;
mod threads;
