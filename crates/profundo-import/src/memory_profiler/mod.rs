//! memory_profiler's files: the resident memory over time that `mprof run` writes, and the printed
//! report of lines.

mod plot;
mod report;

pub(crate) use plot::READER as PLOT;
pub(crate) use report::READER as REPORT;

/// Bytes of a number of MiB. A cast takes what is no number as 0, and what is negative too.
fn bytes(mebibytes: f64) -> u64 {
    (mebibytes * 1024.0 * 1024.0).round() as u64
}
