//! Files of other tools, made by these tools, against what the tools themselves print of them.

mod collapsed;
mod counted_source;
mod damage;
mod jlprof;
mod lcov;
mod oprofile;
mod otlp;
mod support;
mod vtune;
