//! What runs every day: the modules that a profiler is most likely to break, on every interpreter.
//! Some of their tests only wait for long, or are very many of one kind; those run on the oldest and on the
//! newest interpreter alone, and the report says so.

use super::Module;
use super::pythons::Python;
use crate::test::tally::Tally;

/// The modules, those that take longest first, with patterns of the tests that are left out between
/// the oldest and the newest interpreter.
const MODULES: &[(&str, &[&str])] = &[
    // A thousand small ones, which take a third of the module's time.
    ("test_asyncio", &["test.test_asyncio.test_tasks.*"]),
    ("test_subprocess", &[]),
    // Half a minute of waiting.
    ("test_signal", &["*.test_siginterrupt_off"]),
    // Seconds of waiting each.
    ("test_faulthandler", &["*.test_dump_traceback_later*"]),
    ("test_threading", &[]),
    ("test_os", &[]),
    ("test_gc", &[]),
    ("test_sys", &[]),
    ("test_fork1", &[]),
    ("test_posix", &[]),
    ("test_thread", &[]),
    ("test_generators", &[]),
    ("test_eintr", &[]),
];

/// All of them, with nothing left out.
pub fn names() -> Vec<String> {
    let names = MODULES.iter().map(|(name, _)| (*name).to_owned());
    names.collect()
}

/// What there is time for. The interpreters come oldest first.
pub fn modules(pythons: &[Python], tally: &mut Tally) -> Vec<Module> {
    let mut modules = Vec::new();
    let last = pythons.len().saturating_sub(1);
    for &(name, left_out) in MODULES {
        for (at, python) in pythons.iter().enumerate() {
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
    fn every_version_has_every_module_and_both_ends_have_every_test() {
        let pythons: Vec<Python> = (8..12)
            .map(|minor| Python::new(minor, 1, Path::new("python3")))
            .collect();
        let mut tally = Tally::default();
        let modules = modules(&pythons, &mut tally);
        for python in &pythons {
            let of = modules.iter().filter(|module| module.python == *python);
            let (whole, cut): (Vec<_>, Vec<_>) = of.partition(|module| module.without.is_empty());
            assert_eq!(whole.len() + cut.len(), MODULES.len());
            let is_end = python.minor == 8 || python.minor == 11;
            assert_eq!(cut.is_empty(), is_end, "{python:?}");
        }
        assert_eq!(tally.skipped, 6);
    }
}
