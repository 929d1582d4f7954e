//! Files of other tools, made by these tools, against what the tools themselves print of them.

mod chrome_trace;
mod collapsed;
mod damage;
mod firefox;
mod gperftools;
mod jemalloc;
mod oracle;
mod pprof;
mod speedscope;
mod support;
mod v8;
