//! Files of other tools, made by these tools, against what the tools themselves print of them.

mod collapsed;
mod damage;
mod perf;
mod support;
