//! A store as its writers, joiners and readers use it.

mod concurrent;
mod foreign;
mod given;
mod hostile;
mod interrupted;
mod joining;
mod retention;
mod round_trip;
#[cfg(feature = "s3")]
mod s3;
mod size;
mod spool;
mod summing;
