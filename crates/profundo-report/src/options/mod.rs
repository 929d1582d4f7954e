//! The options that reports share: which samples, how much of their stacks, and in which order.

mod choices;
pub(crate) mod values;

pub use choices::Choices;
pub use values::{Format, SortBy, Unit, When};
