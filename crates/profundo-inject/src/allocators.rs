//! The code of allocators, in which no thread is borrowed: the loader allocates when it loads the
//! agent, and a thread that is in the middle of an allocation would be there twice.
//!
//! The loader calls the `malloc` that the program calls. That may be one of the program's own, in
//! its executable or in a library of any name.

use std::ops::Range;

/// The functions that allocators have, in C and C++.
const FUNCTIONS: [&[u8]; 12] = [
    b"malloc",
    b"free",
    b"calloc",
    b"realloc",
    b"memalign",
    b"aligned_alloc",
    b"posix_memalign",
    b"valloc",
    b"pvalloc",
    b"malloc_trim",
    b"malloc_usable_size",
    b"mallinfo",
];

/// The beginnings of names in allocators that are linked into programs: C++'s operators, jemalloc,
/// mimalloc, tcmalloc, snmalloc, rpmalloc and scudo.
const BEGINNINGS: [&[u8]; 16] = [
    b"_Znw",
    b"_Zna",
    b"_Zdl",
    b"_Zda",
    b"je_",
    b"_rjem_",
    b"mi_",
    b"_mi_",
    b"tc_",
    b"_ZN8tcmalloc",
    b"snmalloc",
    b"_ZN8snmalloc",
    b"_ZNK8snmalloc",
    b"rpmalloc",
    b"_rpmalloc",
    b"_ZN5scudo",
];

/// Longer than the code of any allocator between its first and its last function.
const MOST: u64 = 256 << 10;

/// Whether an allocator has a function of this name.
pub(super) fn is_function(name: &[u8]) -> bool {
    FUNCTIONS.contains(&name)
}

/// The code of one allocator, as its functions are found.
#[derive(Debug, Default)]
pub(super) struct Code {
    found: Vec<(u64, u64)>,
    whole: Option<Range<u64>>,
}

impl Code {
    /// Takes a function in, if it is the allocator's by its name.
    pub(super) fn take(&mut self, name: &[u8], start: u64, end: u64) {
        if is_function(name) {
            let whole = self.whole.get_or_insert(start..end);
            *whole = whole.start.min(start)..whole.end.max(end);
        }
        let begins = |beginning: &&[u8]| name.starts_with(beginning);
        if is_function(name) || BEGINNINGS.iter().any(begins) {
            self.found.push((start, end));
        }
    }

    /// The ranges of its code. What lies between its first and its last function is its own, too.
    pub(super) fn ranges(self) -> Vec<(u64, u64)> {
        let mut ranges = self.found;
        let whole = self.whole.filter(|whole| whole.end - whole.start < MOST);
        ranges.extend(whole.map(|whole| (whole.start, whole.end)));
        ranges
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_lies_between_its_functions_is_the_allocators() {
        let mut code = Code::default();
        code.take(b"main", 100, 200);
        code.take(b"malloc", 1000, 1100);
        code.take(b"free", 3000, 3100);
        code.take(b"_rjem_je_arena_ralloc", 90_000, 90_100);
        let ranges = code.ranges();
        let is_in = |address: u64| {
            ranges
                .iter()
                .any(|&(start, end)| (start..end).contains(&address))
        };
        assert!(is_in(1000) && is_in(2000) && is_in(3099) && is_in(90_050));
        assert!(!is_in(150) && !is_in(999) && !is_in(3100) && !is_in(89_999));
    }

    #[test]
    fn functions_that_lie_far_apart_are_taken_alone() {
        let mut code = Code::default();
        code.take(b"malloc", 1000, 1100);
        code.take(b"free", 1000 + MOST, 1100 + MOST);
        let ranges = code.ranges();
        assert_eq!(ranges, [(1000, 1100), (1000 + MOST, 1100 + MOST)]);
    }
}
