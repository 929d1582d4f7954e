//! The version of an interpreter: the only place where versions are compared.
//!
//! Facts that depend on a version are in an interpreter's [`Layout`](crate::Layout). Questions
//! without an interpreter at hand (a saved file, a line of text, a file on disk) are answered here.

use core::fmt;

/// The version of an interpreter.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Version {
    /// The 3 of 3.12.1.
    pub major: u8,
    /// The 12 of 3.12.1.
    pub minor: u8,
    /// The 1 of 3.12.1.
    pub micro: u8,
}

/// Minor versions of Python 3, from one to another.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Versions {
    /// The oldest of them.
    pub oldest: u8,
    /// The newest of them.
    pub newest: u8,
}

/// The oldest minor version that is known.
pub const OLDEST: u8 = 8;
/// The newest minor version that is known.
pub const NEWEST: u8 = 15;

/// The versions whose stacks are read.
pub const STACKS: Versions = Versions {
    oldest: OLDEST,
    newest: NEWEST,
};

/// The versions whose collector is known, so that objects and collections are recorded.
pub const COLLECTOR: Versions = Versions {
    oldest: OLDEST,
    newest: NEWEST,
};

impl Versions {
    /// Whether a minor version is in the range.
    pub const fn holds(self, minor: u8) -> bool {
        self.oldest <= minor && minor <= self.newest
    }
}

/// `3.8 to 3.15`.
impl fmt::Display for Versions {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "3.{} to 3.{}", self.oldest, self.newest)
    }
}

/// `3.12.1`.
impl fmt::Display for Version {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self {
            major,
            minor,
            micro,
        } = self;
        write!(f, "{major}.{minor}.{micro}")
    }
}

impl Version {
    /// From the number `Py_Version`, which is `PY_VERSION_HEX`.
    pub const fn of_hex(number: u32) -> Self {
        let [major, minor, micro, _] = number.to_be_bytes();
        Self {
            major,
            minor,
            micro,
        }
    }

    /// From the numbers at the start of a text such as `3.8.18 (default, …`.
    pub fn of_text(text: &[u8]) -> Option<Self> {
        let mut numbers = [0_u8; 3];
        let mut at = 0;
        for &byte in text {
            match byte {
                b'0'..=b'9' => {
                    let number = numbers.get_mut(at)?;
                    *number = number.checked_mul(10)?.checked_add(byte - b'0')?;
                }
                b'.' if at < 2 => at += 1,
                _ => break,
            }
        }
        let [major, minor, micro] = numbers;
        (major != 0).then_some(Self {
            major,
            minor,
            micro,
        })
    }

    /// From `major << 16 | minor << 8 | micro`. `None` for 0.
    pub const fn of_packed(number: u32) -> Option<Self> {
        let [_, major, minor, micro] = number.to_be_bytes();
        match number {
            0 => None,
            _ => Some(Self {
                major,
                minor,
                micro,
            }),
        }
    }

    /// `major << 16 | minor << 8 | micro`.
    pub const fn packed(self) -> u32 {
        u32::from_be_bytes([0, self.major, self.minor, self.micro])
    }

    /// The minor version, if it is one of Python 3.
    pub const fn of_python_3(self) -> Option<u8> {
        match self.major {
            3 => Some(self.minor),
            _ => None,
        }
    }

    /// Whether this is version 3.`minor`.
    pub const fn is_3(self, minor: u8) -> bool {
        self.major == 3 && self.minor == minor
    }

    /// Whether it is older than all known versions.
    pub const fn is_too_old(self) -> bool {
        self.major < 3 || self.major == 3 && is_too_old(self.minor)
    }
}

/// The minor version in the description of an interpreter in recordings: the 12 of `CPython
/// 3.12.1`.
pub fn minor_of_runtime(runtime: &str) -> Option<u8> {
    let numbers = runtime.strip_prefix("CPython 3.")?;
    numbers.split('.').next()?.parse().ok()
}

/// Whether a minor version is older than all known ones.
pub const fn is_too_old(minor: u8) -> bool {
    minor < OLDEST
}

/// Whether there is a constant `Py_Version`, as from 3.11 on.
pub const fn has_version_constant(minor: u8) -> bool {
    minor >= 11
}

/// Whether `_PyRuntime` begins with a list of offsets, as from 3.13 on.
pub const fn has_debug_offsets(minor: u8) -> bool {
    minor >= 13
}

/// Whether code objects have their qualified names (`co_qualname`), as from 3.11 on.
pub const fn has_qualified_names(minor: u8) -> bool {
    minor >= 11
}

/// The first version that can write a perf map (`PYTHONPERFSUPPORT`).
pub const FIRST_WITH_PERF_MAP: u8 = 12;

/// Whether the interpreter can write a perf map.
pub const fn has_perf_map(minor: u8) -> bool {
    minor >= FIRST_WITH_PERF_MAP
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::string::ToString;

    #[test]
    fn a_version_is_read_from_the_text() {
        let text =
            |text: &str| Version::of_text(text.as_bytes()).map(|version| version.to_string());
        assert_eq!(text("3.8.18 (default, Oct").unwrap(), "3.8.18");
        assert_eq!(text("3.14.0rc1+ (main").unwrap(), "3.14.0");
        assert_eq!(text("2.7.18").unwrap(), "2.7.18");
        assert_eq!(text("PyPy"), None);
    }

    #[test]
    fn a_version_is_a_number_too() {
        let version = Version::of_hex(0x030c_01f0);
        assert_eq!(version.to_string(), "3.12.1");
        assert_eq!(version.packed(), 0x03_0c_01);
        assert_eq!(Version::of_packed(0x03_0c_01), Some(version));
        assert_eq!(Version::of_packed(0), None);
        assert_eq!(version.of_python_3(), Some(12));
        assert_eq!(Version::of_hex(0x0207_12f0).of_python_3(), None);
    }

    #[test]
    fn versions_are_too_old_by_two_numbers() {
        let is_too_old = |major, minor| {
            Version::is_too_old(Version::of_hex(u32::from_be_bytes([major, minor, 0, 0])))
        };
        assert!(is_too_old(2, 7) && is_too_old(3, 7));
        assert!(!is_too_old(3, OLDEST) && !is_too_old(3, 14) && !is_too_old(4, 0));
    }

    #[test]
    fn a_runtime_has_a_minor_version() {
        assert_eq!(minor_of_runtime("CPython 3.8.18"), Some(8));
        assert_eq!(minor_of_runtime("CPython 3.14.0a1"), Some(14));
        assert_eq!(minor_of_runtime("CPython 3.11"), Some(11));
        assert_eq!(minor_of_runtime("CPython 4.0"), None);
        assert_eq!(minor_of_runtime(""), None);
    }

    #[test]
    fn a_range_is_written_from_one_to_another() {
        assert_eq!(STACKS.to_string(), "3.8 to 3.15");
        assert!(COLLECTOR.holds(8) && COLLECTOR.holds(15) && !COLLECTOR.holds(16));
    }
}
