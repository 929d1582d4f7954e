//! The parts of a wheel: its tag, its size, its files, and what they want from glibc.

use std::fs;
use std::path::Path;
use std::process::Command;

use anyhow::{Context, Result};

use super::tools::{Tools, done, output};
use super::{Purpose, only};
use crate::test::tally::Tally;

/// The largest wheel that is published, in bytes: pip downloads it for each environment.
const LARGEST: u64 = 12_000_000;
/// The largest wheel of tests: without optimisation over all crates, the same code takes more room.
const LARGEST_TESTED: u64 = 14_000_000;
/// The oldest glibc that the tag promises.
const GLIBC: (u32, u32) = (2, 17);
/// Parts of the file's name, in whatever order: no version of Python is in the tags.
const TAGS: &[&str] = &[
    "-py3-none-",
    "manylinux_2_17_x86_64",
    "manylinux2014_x86_64",
];
/// Members that must be there, below the folders that have the version in their names.
const MEMBERS: &[&str] = &[
    ".data/scripts/profundo",
    ".data/scripts/cargo-profundo",
    "profundo/__init__.py",
    "profundo/__main__.py",
    "profundo/_agent/libprofundo-agent.so",
    "profundo/py.typed",
    ".dist-info/METADATA",
    "LICENSE-APACHE",
    "LICENSE-MIT",
];

/// Checks the wheel. `agent` is the library that the command carries.
pub fn check(
    wheel: &Path,
    agent: &Path,
    purpose: Purpose,
    (folder, tools): (&Path, &Tools),
    tally: &mut Tally,
) -> Result<()> {
    let largest = match purpose {
        Purpose::Publishing => LARGEST,
        Purpose::Testing | Purpose::TestingSources => LARGEST_TESTED,
    };
    let name = wheel.to_string_lossy();
    let has_tags = TAGS.iter().all(|tag| name.contains(tag));
    tally.check("the wheel's tags", has_tags);
    let size = fs::metadata(wheel)?.len();
    println!("{:.1} MB", size as f64 / 1e6);
    tally.check("the wheel's size", size <= largest);

    let unpacked = folder.join("unpacked");
    let _ = fs::remove_dir_all(&unpacked);
    let mut python = tools.command("python");
    python.args(["-m", "zipfile", "--extract"]);
    done(python.arg(wheel).arg(&unpacked))?;
    let mut python = tools.command("python");
    let list = output(python.args(["-m", "zipfile", "--list"]).arg(wheel))?;
    for member in MEMBERS {
        let is_there = list.lines().any(|line| {
            let name = line.split_whitespace().next();
            name.is_some_and(|name| name.ends_with(member))
        });
        tally.check(&format!("{member} in the wheel"), is_there);
    }

    let scripts = only(&unpacked, ".data")?.join("scripts");
    let command = scripts.join("profundo");
    let programs = [("profundo", &*command), ("agent", agent)];
    let cargo = scripts.join("cargo-profundo");
    for (name, file) in programs.into_iter().chain([("cargo-profundo", &*cargo)]) {
        let text = output(Command::new("objdump").arg("-T").arg(file));
        let text = text.with_context(|| format!("cannot look into {}", file.display()))?;
        let newest = newest(&text);
        println!("{name} wants glibc {newest:?}");
        tally.check(&format!("glibc of {name}"), newest <= GLIBC);
    }
    // The file that was looked into is the one that the command carries.
    let (command, agent) = (fs::read(&command)?, fs::read(agent)?);
    let mut parts = command.windows(agent.len().max(1));
    tally.check("the agent in the command", parts.any(|part| part == agent));
    Ok(())
}

/// The newest version of glibc among the symbols that a file wants; (0, 0) for none.
fn newest(symbols: &str) -> (u32, u32) {
    let words = symbols.split(|c: char| c.is_whitespace() || c == '(' || c == ')');
    let versions = words.filter_map(|word| {
        let (major, rest) = word.strip_prefix("GLIBC_")?.split_once('.')?;
        let minor = rest.split('.').next()?;
        Some((major.parse().ok()?, minor.parse().ok()?))
    });
    versions.max().unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_newest_version_is_found() {
        let text = "\
0000000000000000      DF *UND*  0000000000000000 (GLIBC_2.2.5) free
0000000000000000      DF *UND*  0000000000000000 (GLIBC_2.14) memcpy
0000000000000000      DF *UND*  0000000000000000  GLIBC_2.3.4 __xpg_basename
0000000000012340 g    DF .text  0000000000000010  Base        malloc
";
        assert_eq!(newest(text), (2, 14));
        assert_eq!(newest("free"), (0, 0));
    }
}
