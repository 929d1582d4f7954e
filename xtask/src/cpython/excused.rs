//! Tests of CPython that differ with the profiler and may: each has its reason.

use crate::sides::mode::Mode;

/// An exception: the end of the test's name, the modes in which it holds, and the reason.
type Excused = (&'static str, &'static [Mode], &'static str);

const EXCUSED: &[Excused] = &[(
    ".CmdLineTest.test_pythonmalloc",
    &[Mode::Memory, Mode::Exact],
    "it asks the interpreter for the names of its allocators, and those that record stand before them",
)];

/// The reason why a test may differ in a mode.
pub fn reason(test: &str, mode: Mode) -> Option<&'static str> {
    let mut rows = EXCUSED.iter();
    let found = rows.find(|(name, modes, _)| test.ends_with(name) && modes.contains(&mode));
    found.map(|(.., reason)| *reason)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_exception_holds_in_its_modes_only() {
        let test = "test.test_cmd_line.CmdLineTest.test_pythonmalloc";
        assert!(reason(test, Mode::Exact).is_some());
        assert_eq!(reason(test, Mode::Run), None);
        assert_eq!(
            reason("test.test_cmd_line.CmdLineTest.test_x", Mode::Exact),
            None
        );
    }
}
