//! The places of coverage counters in a file.

use profundo_process::modules::{Bytes, Elf};

/// The places of counters.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) struct Places {
    /// The address and size of LLVM's counters.
    pub(crate) llvm: Option<(u64, u64)>,
    /// The address of gcc's list of objects.
    pub(crate) gcc: Option<u64>,
    /// Whether they are cleared in children, by gcc's replacement of `fork`.
    pub(crate) is_cleared_in_children: bool,
}

impl Places {
    pub(crate) fn is_empty(self) -> bool {
        self.llvm.is_none() && self.gcc.is_none()
    }
}

/// More bytes of counters than any program has.
const MOST: u64 = 256 << 20;

/// Finds them. gcc's are not found in a file without symbols.
pub(super) fn find<B: Bytes>(elf: &Elf<B>) -> Places {
    let mut places = Places::default();
    let sections = elf.sections();
    let llvm = sections
        .iter()
        .find(|section| section.name == b"__llvm_prf_cnts");
    places.llvm = llvm
        .filter(|section| section.size > 0 && section.size <= MOST)
        .map(|section| (section.address, section.size));
    elf.functions_and_data(&sections, |symbol| match symbol.name {
        b"__gcov_root" => places.gcc = Some(symbol.address),
        b"__gcov_fork" => places.is_cleared_in_children = true,
        _ => {}
    });
    places
}
