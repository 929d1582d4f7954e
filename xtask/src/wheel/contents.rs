//! The parts of a wheel: its tag, its size, its files, and what they want from glibc.

use std::fs::{self, Permissions};
use std::os::unix::fs::PermissionsExt;
use std::path::Path;

use anyhow::Result;

use super::{Build, Purpose, only};
use crate::glibc;
use crate::processor::Processor;
use crate::test::tally::Tally;
use crate::tools::{done, output};

/// The largest wheel that is published, in bytes: pip downloads it for each environment.
const LARGEST: u64 = 12_000_000;
/// The largest wheel of tests: without optimisation over all crates, the same code takes more room.
const LARGEST_TESTED: u64 = 17_000_000;
/// The oldest glibc that the tag promises.
const GLIBC: (u32, u32) = (2, 17);
/// Parts of the file's name, in whatever order: no version of Python is in the tags. The last two
/// end with the processor's name.
const TAGS: &[&str] = &["-py3-none-", "manylinux_2_17_", "manylinux2014_"];
/// Members that must be there, below the folders that have the version in their names.
const MEMBERS: &[&str] = &[
    ".data/scripts/profundo",
    ".data/scripts/cargo-profundo",
    "profundo/__init__.py",
    "profundo/__main__.py",
    "profundo/_agent/libprofundo-agent.so",
    "profundo/_agent/THIRD-PARTY.txt",
    "profundo/py.typed",
    ".dist-info/METADATA",
    "LICENSE-APACHE",
    "LICENSE-MIT",
];

/// Checks the wheel. `agent` is the library that the command carries.
pub fn check(
    build: &Build<'_>,
    wheel: &Path,
    agent: &Path,
    processor: &Processor,
    tally: &mut Tally,
) -> Result<()> {
    let largest = match build.purpose {
        Purpose::Publishing => LARGEST,
        Purpose::Testing => LARGEST_TESTED,
    };
    let name = wheel.to_string_lossy();
    let has_tags = TAGS.iter().all(|tag| match tag.ends_with('_') {
        true => name.contains(&format!("{tag}{}", processor.name)),
        false => name.contains(tag),
    });
    tally.check("the wheel's tags", has_tags);
    let size = fs::metadata(wheel)?.len();
    println!("{:.1} MB", size as f64 / 1e6);
    tally.check("the wheel's size", size <= largest);

    let unpacked = build.folder.join("unpacked");
    let _ = fs::remove_dir_all(&unpacked);
    let mut python = build.tools.command("python");
    python.args(["-m", "zipfile", "--extract"]);
    done(python.arg(wheel).arg(&unpacked))?;
    let mut python = build.tools.command("python");
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
        let newest = glibc::newest(file)?;
        println!("{name} wants glibc {newest:?}");
        tally.check(&format!("glibc of {name}"), newest <= GLIBC);
    }
    // Python's module unpacks it as a file that may not be run.
    fs::set_permissions(&command, Permissions::from_mode(0o755))?;
    let said = output(processor.program(&command).arg("--version"))?;
    let is_ours = said.starts_with("profundo ");
    tally.check("the command of the wheel", is_ours);
    // The file that was looked into is the one that the command carries.
    let (command, agent) = (fs::read(&command)?, fs::read(agent)?);
    let mut parts = command.windows(agent.len().max(1));
    tally.check("the agent in the command", parts.any(|part| part == agent));
    Ok(())
}
