//! Files of other tools, made by these tools, against what the tools themselves print of them.

mod callgrind;
mod collapsed;
mod damage;
mod gprof;
mod native_memory;
mod support;
