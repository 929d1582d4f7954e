//! Files of other tools, made by these tools, against what the tools themselves print of them.

mod austin;
mod collapsed;
mod damage;
mod lprof;
mod memory_profiler;
mod memray;
mod pstats;
mod pyinstrument;
mod scalene;
mod support;
mod tachyon;
