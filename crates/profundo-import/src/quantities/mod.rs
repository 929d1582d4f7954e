//! What samples and sites weigh: the kinds of value in a file, sums without numbers of samples, and
//! memory that was sampled.

pub(crate) mod sampled_memory;
pub(crate) mod sums;
pub(crate) mod value;
