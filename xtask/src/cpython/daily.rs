//! What runs every day: the modules that a profiler is most likely to break, on every interpreter; a few
//! that hardly differ from version to version on the oldest, the newest and one between them.
//! Some of their tests only wait for long, or are very many of one kind; those run on the oldest and on the
//! newest interpreter alone. The report says what is left out.

use super::Module;
use super::pythons::Python;
use crate::test::tally::Tally;

/// On which interpreters a module runs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum On {
    All,
    /// The oldest, the newest and one between them.
    Three,
}

/// The modules, those that take longest first, with patterns of the tests that are left out between
/// the oldest and the newest interpreter.
const MODULES: &[(&str, On, &[&str])] = &[
    // A thousand small ones, which take a third of the module's time, and a third of that more for what
    // encrypts.
    (
        "test_asyncio",
        On::All,
        &[
            "test.test_asyncio.test_tasks.*",
            "test.test_asyncio.test_ssl.*",
            "test.test_asyncio.test_sslproto.*",
        ],
    ),
    ("test_subprocess", On::All, &[]),
    // Half a minute of waiting.
    ("test_signal", On::All, &["*.test_siginterrupt_off"]),
    // Seconds of waiting each.
    (
        "test_faulthandler",
        On::Three,
        &["*.test_dump_traceback_later*"],
    ),
    ("test_threading", On::All, &[]),
    ("test_os", On::All, &[]),
    ("test_gc", On::All, &[]),
    ("test_sys", On::All, &[]),
    ("test_fork1", On::Three, &[]),
    ("test_posix", On::Three, &[]),
    ("test_thread", On::Three, &[]),
    ("test_generators", On::All, &[]),
    ("test_eintr", On::Three, &[]),
];

/// All of them, with nothing left out.
pub fn names() -> Vec<String> {
    let names = MODULES.iter().map(|(name, ..)| (*name).to_owned());
    names.collect()
}

/// What there is time for. The interpreters come oldest first.
pub fn modules(pythons: &[Python], tally: &mut Tally) -> Vec<Module> {
    let mut modules = Vec::new();
    let last = pythons.len().saturating_sub(1);
    for &(name, on, left_out) in MODULES {
        for (at, python) in pythons.iter().enumerate() {
            if on == On::Three && ![0, last / 2, last].contains(&at) {
                let version = python.version();
                tally.skip(&format!(
                    "CPython's {name}: for want of time not on {version}, but on its oldest and newest version and one between"
                ));
                continue;
            }
            let mut module = Module::whole(python, name);
            if at != 0 && at != last {
                module.without = left_out.iter().map(|&it| it.to_owned()).collect();
                for pattern in left_out {
                    tally.skip(&format!(
                        "CPython's {pattern}: for want of time on its oldest and newest version only"
                    ));
                }
            }
            modules.push(module);
        }
    }
    modules
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::*;

    #[test]
    fn every_version_has_what_matters_and_both_ends_have_every_test() {
        let pythons: Vec<Python> = (8..13)
            .map(|minor| Python::new(minor, 1, Path::new("python3")))
            .collect();
        let mut tally = Tally::default();
        let modules = modules(&pythons, &mut tally);
        let mut left_out = 0;
        for python in &pythons {
            let of = modules.iter().filter(|module| module.python == *python);
            let (whole, cut): (Vec<_>, Vec<_>) = of.partition(|module| module.without.is_empty());
            left_out += MODULES.len() - whole.len() - cut.len();
            left_out += cut.iter().map(|module| module.without.len()).sum::<usize>();
            let is_end = python.minor == 8 || python.minor == 12;
            assert_eq!(cut.is_empty(), is_end, "{python:?}");
            assert!(!is_end || whole.len() == MODULES.len(), "{python:?}");
            for name in [
                "asyncio",
                "subprocess",
                "signal",
                "threading",
                "os",
                "gc",
                "sys",
                "generators",
            ] {
                let mut both = whole.iter().chain(&cut);
                let name = format!("test_{name}");
                assert!(both.any(|module| module.name == name), "{name}");
            }
        }
        // What is not run is said.
        assert_eq!(tally.skipped, left_out as u64);
        assert_eq!(left_out, 10 + 3 * 4 + 1);
    }
}
