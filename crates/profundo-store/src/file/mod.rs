//! Parquet files of one table, written at once and read by row group and column.

mod chunk;
mod column;
mod read;
mod write;

pub use column::Column;
pub use read::{Group, Opened};
pub use write::{Put, encode};
