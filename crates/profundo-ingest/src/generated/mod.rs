//! Code that programs have generated: the meaning of an address at a time.
//!
//! It is announced later than its samples, so its stacks are interned by address like all others,
//! and named at the end. Where an address had several meanings while it was sampled, the samples
//! are [split](Split) then.

mod map;
mod naming;
mod split;

use profundo_model::{ProcessId, Profile, StackId};
use profundo_wire::recording::GeneratedCode;

use crate::modules::Registry;
use naming::{Extents, Owners};
pub use split::Split;

/// The generated code of all programs, and the times of stacks that may be in it.
#[derive(Debug, Default)]
pub(crate) struct Generated {
    owners: Owners,
    extents: Extents,
}

impl Generated {
    /// Takes in pieces of code of a program, or of the kernel.
    pub(crate) fn add(&mut self, process: ProcessId, codes: Vec<GeneratedCode>) {
        let map = self.owners.maps.entry(process).or_default();
        for code in codes {
            match is_kernels(code.start) {
                true => self.owners.kernel.add(code),
                false => map.add(code),
            }
        }
    }

    /// A stack of a program that generates code was sampled, by the cycle counter.
    pub(crate) fn sampled(&mut self, stack: StackId, clock: u64) {
        let (first, last) = self.extents.entry(stack).or_insert((clock, clock));
        (*first, *last) = (clock.min(*first), clock.max(*last));
    }

    /// We have walked frames of this program's interpreter.
    pub(crate) fn walked(&mut self, process: ProcessId) {
        self.owners.walked.insert(process);
    }

    /// Names unnamed locations by their current meanings: for a look while the recording goes on.
    pub(crate) fn name_unnamed(&mut self, profile: &mut Profile, registry: &Registry) {
        self.find_owners(registry);
        naming::name_unnamed(profile, &mut self.owners);
    }

    /// Names all locations, and returns the samples to split: those of a location that had another
    /// meaning when they were taken.
    pub(crate) fn name_all(&mut self, profile: &mut Profile, registry: &Registry) -> Split {
        self.find_owners(registry);
        naming::name_all(profile, &mut self.owners, &self.extents)
    }

    fn find_owners(&mut self, registry: &Registry) {
        self.owners.modules = registry.generated().clone().into_iter().collect();
    }
}

/// Whether code at this address is the kernel's, the same in all processes.
fn is_kernels(address: u64) -> bool {
    address >= 1 << 63
}
