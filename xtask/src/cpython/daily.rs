//! The daily run: the modules that a profiler is most likely to break. Those that are quick run on
//! every interpreter, others on the oldest, the newest and one between them, and the longest on the
//! oldest and the newest. Tests that only wait for long, or are very many of one kind, run in the
//! long list alone. The report lists what is left out.

use super::Module;
use super::pythons::Python;
use crate::test::tally::Tally;

/// The interpreters on which a module runs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum On {
    All,
    /// The oldest, the newest and one between them.
    Three,
    /// The oldest and the newest.
    Two,
}

impl On {
    /// True if the interpreter at this place, of those up to the last, is one of them.
    fn has(self, at: usize, last: usize) -> bool {
        match self {
            On::All => true,
            On::Three => [0, last / 2, last].contains(&at),
            On::Two => [0, last].contains(&at),
        }
    }

    fn description(self) -> &'static str {
        match self {
            On::All => "every version",
            On::Three => "its oldest and newest version and one between",
            On::Two => "its oldest and newest version",
        }
    }
}

/// The modules, longest first, with patterns of the tests that are left out.
const MODULES: &[(&str, On, &[&str])] = &[
    // A thousand small ones, which take a third of the module's time, and a third of that more for
    // encryption.
    (
        "test_asyncio",
        On::Two,
        &[
            "test.test_asyncio.test_tasks.*",
            "test.test_asyncio.test_ssl.*",
            "test.test_asyncio.test_sslproto.*",
        ],
    ),
    ("test_subprocess", On::Three, &[]),
    // Half a minute of waiting.
    ("test_signal", On::Three, &["*.test_siginterrupt_off"]),
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

/// The names of all modules, with nothing left out.
pub fn names() -> Vec<String> {
    let names = MODULES.iter().map(|(name, ..)| (*name).to_owned());
    names.collect()
}

/// All modules on all interpreters, with nothing left out.
pub fn whole_modules(pythons: &[Python]) -> Vec<Module> {
    let of_each = |name: &String| {
        let modules = pythons.iter().map(|python| Module::whole(python, name));
        modules.collect::<Vec<_>>()
    };
    names().iter().flat_map(of_each).collect()
}

/// The daily modules. The interpreters come oldest first.
pub fn modules(pythons: &[Python], tally: &mut Tally) -> Vec<Module> {
    let mut modules = Vec::new();
    let last = pythons.len().saturating_sub(1);
    for &(name, on, left_out) in MODULES {
        for (at, python) in pythons.iter().enumerate() {
            if !on.has(at, last) {
                let (version, others) = (python.version(), on.description());
                tally.skip(&format!(
                    "CPython's {name}: for want of time not on {version}, but on {others}"
                ));
                continue;
            }
            let mut module = Module::whole(python, name);
            module.without = left_out.iter().map(|&pattern| pattern.to_owned()).collect();
            modules.push(module);
        }
        for pattern in left_out {
            tally.skip(&format!(
                "CPython's {pattern}: for want of time in the long list only"
            ));
        }
    }
    modules
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::*;

    fn five_pythons() -> Vec<Python> {
        let minors = 8..13;
        minors
            .map(|minor| Python::new(minor, 1, Path::new("python3")))
            .collect()
    }

    #[test]
    fn both_ends_have_every_module_and_the_others_what_matters() {
        let pythons = five_pythons();
        let mut tally = Tally::default();
        let modules = modules(&pythons, &mut tally);
        for python in &pythons {
            let of = modules.iter().filter(|module| module.python == *python);
            let names: Vec<&str> = of.map(|module| &*module.name).collect();
            let is_end = python.minor == 8 || python.minor == 12;
            assert_eq!(names.len() == MODULES.len(), is_end, "{python:?}");
            for name in ["threading", "os", "gc", "sys", "generators"] {
                assert!(names.contains(&&*format!("test_{name}")), "{name}");
            }
        }
        // What is left out is reported: 3 of one module, 2 of each of 7, and 5 patterns.
        assert_eq!(modules.len(), 5 * 13 - 3 - 2 * 7);
        assert_eq!(tally.skipped, 3 + 2 * 7 + 5);
    }

    #[test]
    fn the_long_list_leaves_nothing_out() {
        let modules = whole_modules(&five_pythons());
        assert_eq!(modules.len(), 5 * MODULES.len());
        assert!(modules.iter().all(|module| module.without.is_empty()));
    }
}
