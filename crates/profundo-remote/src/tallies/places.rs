//! Where in a file's addresses a compiler has put counters.

use crate::modules::{Bytes, Elf};

/// Where there are counters.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) struct Places {
    /// All of LLVM's: where they begin, and how many bytes they have.
    pub(crate) llvm: Option<(u64, u64)>,
    /// What leads to gcc's.
    pub(crate) gcc: Option<u64>,
    /// Whether they are cleared in children: where gcc has put a function of its own in the place of `fork`.
    pub(crate) is_cleared_in_children: bool,
}

impl Places {
    pub(crate) fn is_empty(self) -> bool {
        self.llvm.is_none() && self.gcc.is_none()
    }
}

/// No program has more bytes of counters.
const MOST: u64 = 256 << 20;

/// Looks for them. A file without symbols does not tell of gcc's.
pub(super) fn find<B: Bytes>(elf: &Elf<B>) -> Places {
    let mut places = Places::default();
    let sections = elf.sections();
    let llvm = sections.iter().find(|it| it.name == b"__llvm_prf_cnts");
    places.llvm = llvm
        .filter(|it| it.size > 0 && it.size <= MOST)
        .map(|it| (it.address, it.size));
    elf.functions_and_data(&sections, |symbol| match symbol.name {
        b"__gcov_root" => places.gcc = Some(symbol.address),
        b"__gcov_fork" => places.is_cleared_in_children = true,
        _ => {}
    });
    places
}
