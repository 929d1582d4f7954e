//! Options that several commands share, and the values that they take. One name means one thing in every command, so
//! these are written once.

pub mod choices;
pub mod own_code;
mod paper;
pub mod values;
mod wrong_usage;

pub use own_code::OwnCode;
pub use paper::Paper;
pub use wrong_usage::WrongUsage;
