//! Files of other tools, made by these tools, against what the tools themselves print of them.

mod austin;
mod chrome_trace;
mod collapsed;
mod counted_source;
mod damage;
mod firefox;
mod gperftools;
mod jemalloc;
mod jlprof;
mod lcov;
mod lprof;
mod memory_profiler;
mod memray;
mod oprofile;
mod oracle;
mod pprof;
mod pstats;
mod pyinstrument;
mod scalene;
mod speedscope;
mod support;
mod tachyon;
mod v8;
mod vtune;
