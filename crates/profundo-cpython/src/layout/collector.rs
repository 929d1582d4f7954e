//! The collector's records, `struct _gc_runtime_state`, up to 3.13: three generations and a
//! permanent one, each a ring of the heads of objects.

/// `enabled`: whether collections begin by themselves.
pub const ENABLED: u64 = 12;
/// `generations`: the first one.
pub const GENERATIONS: u64 = 24;
/// The number of generations.
pub const GENERATION_COUNT: u64 = 3;
/// The size of a generation. It begins with the head of its ring.
pub const GENERATION_BYTES: u64 = 24;
/// `generation0`: a pointer to the first one.
pub const GENERATION_0: u64 = GENERATIONS + GENERATION_COUNT * GENERATION_BYTES;
/// `permanent_generation`: the ring of the objects that are never collected.
pub const PERMANENT: u64 = GENERATION_0 + 8;
/// `collecting`: whether a collection is under way.
pub const COLLECTING: u64 = 200;

/// `PyGC_Head`, the head of an object and of a ring.
pub mod head {
    /// `_gc_prev`, behind `_gc_next`.
    pub const PREVIOUS: u64 = 8;
    /// The bits of both that are no part of the address.
    pub const TAGS: u64 = 3;
}
