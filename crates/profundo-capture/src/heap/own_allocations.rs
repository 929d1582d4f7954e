//! What we allocate ourselves is nobody's business.

use std::marker::PhantomData;

use super::local;

/// While it lives, what the calling thread allocates is ours: it is neither recorded nor counted.
#[derive(Debug)]
pub struct Quiet {
    before: bool,
    /// It is the calling thread's alone.
    _here: PhantomData<*const ()>,
}

/// Says that the calling thread works for us, until the guard drops.
pub fn quietly() -> Quiet {
    Quiet {
        before: local::set_ours(true),
        _here: PhantomData,
    }
}

impl Drop for Quiet {
    fn drop(&mut self) {
        local::set_ours(self.before);
    }
}
