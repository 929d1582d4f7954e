//! The collector's records, `struct _gc_runtime_state`: three generations and a permanent one, each
//! a ring of the heads of objects.
//!
//! 3.14.0 to 3.14.4 collect in steps, and have a young generation and two spaces for old objects.
//! These lie where the three generations of other versions lie.

/// The places of what is read in the records.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Collector {
    /// The way to the records.
    pub records: Records,
    /// `enabled`: whether collections begin by themselves.
    pub enabled: u16,
    /// `generations`: the first one.
    pub generations: u16,
    /// `permanent_generation`: the ring of the objects that are never collected.
    pub permanent: u16,
    /// `collecting`: whether a collection is under way.
    pub collecting: u16,
}

/// The way to the records.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Records {
    /// Up to 3.13: this place in the records points to the first generation (`generation0`), by
    /// which they are recognised from any object in a ring.
    Pointer(u16),
    /// 3.14 and later: they lie in the interpreter state at the place that the list of offsets has.
    Interpreter(u16),
}

/// The number of generations.
pub const GENERATION_COUNT: u64 = 3;
/// The size of a generation. It begins with the head of its ring.
pub const GENERATION_BYTES: u64 = 24;

pub(super) const PYTHON_3_8: Collector = Collector {
    records: Records::Pointer(96),
    enabled: 12,
    generations: 24,
    permanent: 104,
    collecting: 200,
};

/// The pointer to the first generation lies at the end of the records, or is not there.
pub(super) const PYTHON_3_14: Collector = Collector {
    records: Records::Interpreter(7408),
    permanent: 96,
    collecting: 192,
    ..PYTHON_3_8
};

/// Two fields before the flag went, and the figures of each generation lie elsewhere.
pub(super) const PYTHON_3_15: Collector = Collector {
    records: Records::Interpreter(7400),
    enabled: 0,
    generations: 8,
    permanent: 80,
    collecting: 112,
};

/// `PyGC_Head`, the head of an object and of a ring.
pub mod head {
    /// `_gc_prev`, behind `_gc_next`.
    pub const PREVIOUS: u64 = 8;
    /// The bits of both that are no part of the address.
    pub const TAGS: u64 = 3;
}
