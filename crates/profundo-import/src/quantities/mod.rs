//! What samples and sites weigh: the kinds of value in a file, sums without numbers of samples, and
//! memory that was sampled, values of places in a tree of calls.

pub(crate) mod call_values;
pub(crate) mod sampled_memory;
pub(crate) mod sums;
pub(crate) mod value;
