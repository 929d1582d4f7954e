//! Real programs, each run without and with the profiler: servers under load, sanitizers, programs
//! of other loaders, emulators. Output and exit code must be the same, and the recording must have
//! the entry's shape.
//!
//! The list is run by hand (`cargo xtask field [NAME…] [--load N]`), because it takes long and
//! needs many tools. An entry without its tools is skipped with the reason.
//!
//! To add a program, write an [`Entry`] into the list of a fitting module, or of a new one that
//! [`entries`] names. [`entry`] describes its parts.

mod attached;
mod containers;
mod entry;
mod forks;
mod load;
mod loaders;
mod python;
mod sanitizers;
mod servers;
mod shape;
mod side;

use std::fs;
use std::path::Path;
use std::time::Instant;

use anyhow::{Context, Result, bail, ensure};

use crate::metadata;
use crate::test::tally::Tally;
use entry::Entry;
use load::Load;
use side::{Failure, Field};

/// All programs, in the order of their runs.
fn entries() -> Vec<Entry> {
    [
        sanitizers::entries(),
        loaders::entries(),
        servers::entries(),
        attached::entries(),
        python::entries(),
        forks::entries(),
        containers::entries(),
    ]
    .concat()
}

/// The command line's request.
#[derive(Debug, Default)]
struct Wanted {
    /// Parts of names; all entries if there are none.
    names: Vec<String>,
    /// The number of busy processes beside.
    load: usize,
    lists: bool,
}

impl Wanted {
    fn read(arguments: &[&str]) -> Result<Self> {
        let mut wanted = Self::default();
        let mut rest = arguments.iter();
        while let Some(&argument) = rest.next() {
            match argument {
                "--load" => {
                    let number = rest.next().context("--load needs a number")?;
                    wanted.load = number.parse().context("--load needs a number")?;
                }
                "--list" => wanted.lists = true,
                _ if argument.starts_with('-') => bail!("there is no option {argument}"),
                name => wanted.names.push(name.to_owned()),
            }
        }
        Ok(wanted)
    }

    fn has(&self, entry: &Entry) -> bool {
        self.names.is_empty() || self.names.iter().any(|name| entry.name.contains(name))
    }
}

/// Runs the named programs; true if none failed.
pub fn run(root: &Path, arguments: &[&str]) -> Result<bool> {
    let wanted = Wanted::read(arguments)?;
    let chosen: Vec<Entry> = entries()
        .into_iter()
        .filter(|entry| wanted.has(entry))
        .collect();
    ensure!(!chosen.is_empty(), "no entry has such a name (try --list)");
    if wanted.lists {
        chosen.iter().for_each(|entry| println!("{}", entry.name));
        return Ok(true);
    }
    let field = Field::new(&metadata::profundo(root)?, root)?;
    let _load = Load::start(wanted.load)?;
    let mut tally = Tally::default();
    for entry in &chosen {
        try_entry(&field, entry, &mut tally)?;
    }
    println!("{}", tally.closing_line());
    Ok(tally.failed == 0)
}

/// Runs an entry once for each of its modes, and prints a line per mode.
fn try_entry(field: &Field, entry: &Entry, tally: &mut Tally) -> Result<()> {
    let mut skip = |why: &str| {
        println!("skipped {}: {why}", entry.name);
        tally.skip(&format!("{}: {why}", entry.name));
    };
    if let Some(missing) = entry.missing() {
        skip(&format!("{missing} is not here"));
        return Ok(());
    }
    let place = field.place(entry)?;
    match field.prepare(entry, &place) {
        Ok(()) => {
            for mode in &entry.modes {
                let began = Instant::now();
                let outcome = field.compare(entry, mode, &place);
                let seconds = began.elapsed().as_secs_f64();
                let name = format!("{} {mode}", entry.name);
                let name = name.trim_end();
                match &outcome {
                    Ok(()) => println!("passed  {name} ({seconds:.1} s)"),
                    Err(Failure(why)) => println!("FAILED  {name} ({seconds:.1} s): {why}"),
                }
                tally.check(name, outcome.is_ok());
            }
        }
        Err(Failure(why)) => skip(&why),
    }
    // Files that a program made unreadable stay.
    let _ = fs::remove_dir_all(&place);
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;

    #[test]
    fn entries_have_names_of_their_own_and_say_where_the_profiler_comes() {
        let entries = entries();
        let names: BTreeSet<&str> = entries.iter().map(|entry| entry.name.as_str()).collect();
        assert_eq!(names.len(), entries.len());
        for entry in &entries {
            assert_eq!(entry.script.matches("$P ").count(), 1, "{}", entry.name);
            assert!(!entry.modes.is_empty(), "{}", entry.name);
        }
    }

    #[test]
    fn the_command_line_is_read() {
        let wanted = Wanted::read(&["--load", "3", "asan", "redis"]).unwrap();
        assert_eq!((wanted.load, wanted.names.len()), (3, 2));
        let why = |words: &[&str]| Wanted::read(words).unwrap_err().to_string();
        assert_eq!(why(&["--load"]), "--load needs a number");
        assert_eq!(why(&["--nothing"]), "there is no option --nothing");
    }
}
