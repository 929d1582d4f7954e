//! The place of CPython's evaluation loop in a file: native frames inside it stand for Python
//! frames.

use super::elf::{Bytes, Elf, Section};

/// The number of ranges that a ring's header has room for.
pub const RANGES: usize = 4;

/// Parts of a function at most this far apart are joined.
const CLOSE: u64 = 256;

/// The ranges of the evaluation loop, as addresses in the file; none in other files. The compiler
/// may have split the function into a hot and cold parts, made clones of it, or one function for
/// each instruction.
pub fn evaluation<B: Bytes>(elf: &Elf<B>, sections: &[Section]) -> Vec<(u64, u64)> {
    let mut parts = Vec::new();
    elf.functions(sections, |symbol| {
        if is_part(symbol.name) && symbol.size > 0 {
            let end = symbol.address.saturating_add(symbol.size);
            parts.push((symbol.address, end));
        }
    });
    join(parts)
}

fn is_part(name: &[u8]) -> bool {
    const LOOP: &[u8] = b"_PyEval_EvalFrameDefault";
    const INSTRUCTION: &[u8] = b"_TAIL_CALL_";
    match name.strip_prefix(LOOP) {
        Some(rest) => rest.is_empty() || rest.starts_with(b"."),
        None => name.starts_with(INSTRUCTION),
    }
}

/// Joins adjacent ranges, and returns the largest if there are too many.
fn join(mut parts: Vec<(u64, u64)>) -> Vec<(u64, u64)> {
    parts.sort_unstable();
    let mut joined: Vec<(u64, u64)> = Vec::new();
    for (start, end) in parts {
        match joined.last_mut() {
            Some(last) if start <= last.1.saturating_add(CLOSE) => last.1 = last.1.max(end),
            _ => joined.push((start, end)),
        }
    }
    joined.sort_by_key(|&(start, end)| std::cmp::Reverse(end - start));
    joined.truncate(RANGES);
    joined
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parts_are_recognised_by_their_names() {
        assert!(is_part(b"_PyEval_EvalFrameDefault"));
        assert!(is_part(b"_PyEval_EvalFrameDefault.cold"));
        assert!(is_part(b"_PyEval_EvalFrameDefault.constprop.0"));
        assert!(is_part(b"_TAIL_CALL_BINARY_OP"));
        assert!(!is_part(b"_PyEval_EvalFrameDefaultish"));
        assert!(!is_part(b"_PyEval_EvalFrame"));
    }

    #[test]
    fn neighbours_are_joined_and_the_largest_kept() {
        let parts = vec![(100, 200), (200, 300), (5000, 5008), (10_000, 10_001)];
        let more = (0..4).map(|at| (20_000 + at * 1000, 20_100 + at * 1000));
        let joined = join(parts.into_iter().chain(more).collect());
        assert_eq!(joined.len(), RANGES);
        assert_eq!(joined[0], (100, 300));
    }
}
