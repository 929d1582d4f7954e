//! The readers on artificial files and memory, whole and broken.

mod gdb;
mod jitdump;
mod watch;
