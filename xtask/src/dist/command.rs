//! The command of a target: built by zig's linker, so that it runs with an old glibc, and without
//! what only a debugger reads. That is in a file beside it, which debuggers find by its name and
//! its checksum, or by the build's number (`.build-id`).

use std::fs;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result, ensure};

use super::Release;
use super::targets::{TARGETS, Target};
use crate::glibc;
use crate::processor::Processor;
use crate::test::tally::Tally;
use crate::tools::{done, output};

/// The programs of the package.
pub const PROGRAMS: &[&str] = &["profundo", "cargo-profundo"];

/// The agent, which is built as the package's library.
const AGENT: &str = "libprofundo_cli.so";

/// The largest command, in bytes: its pages are read at each start, and each archive has it.
const LARGEST: u64 = 17_000_000;

/// Settings of the profile `dist`: what names a line of the command goes into a file of its own.
const SETTINGS: &[(&str, &str)] = &[
    ("CARGO_PROFILE_DIST_DEBUG", "line-tables-only"),
    ("CARGO_PROFILE_DIST_STRIP", "none"),
];

/// What was built for a target.
pub struct Built {
    /// The programs, without debug information.
    pub programs: Vec<PathBuf>,
    /// The debug information of each, and of the agent.
    pub debug: Vec<PathBuf>,
}

/// Builds the programs, and parts them from their debug information, into `folder`.
pub fn build(release: &Release<'_>, target: &Target, folder: &Path) -> Result<Built> {
    // The command carries an agent without symbols, which is packed, so it is built before: see the
    // build script of `profundo-cli`.
    let of = target.agent_of;
    let of = TARGETS.iter().find(|target| target.triple == of);
    let agent = agent(release, of.context("the target of the agent is not known")?)?;
    let mut build = cargo_for(release, target);
    build.arg("--bins").env("PROFUNDO_AGENT", &agent.program);
    done(&mut build)?;
    let place = release.building.join(target.triple).join("dist");
    let mut built = Built {
        programs: Vec::new(),
        debug: Vec::new(),
    };
    for name in PROGRAMS {
        let parted = Parted::in_folder(folder, name);
        parted.part(&place.join(name), target.processor()?)?;
        built.programs.push(parted.program);
        built.debug.push(parted.debug);
    }
    let debug_of_agent = folder.join(agent.debug.file_name().context("a file has a name")?);
    fs::copy(&agent.debug, &debug_of_agent)?;
    built.debug.push(debug_of_agent);
    Ok(built)
}

/// The agent of a target, which is built once for each release.
fn agent(release: &Release<'_>, of: &Target) -> Result<Parted> {
    let folder = release.agents().join(of.triple);
    let parted = Parted::in_folder(&folder, "libprofundo-agent.so");
    if !parted.program.exists() {
        let mut build = cargo_for(release, of);
        done(build.arg("--lib").env("PROFUNDO_WHOLE_AGENT", "1"))?;
        fs::create_dir_all(&folder)?;
        let built = release.building.join(of.triple).join("dist").join(AGENT);
        parted.part(&built, of.processor()?)?;
    }
    Ok(parted)
}

/// A build of the package for a target.
fn cargo_for(release: &Release<'_>, target: &Target) -> Command {
    let mut build = release.tools.command("cargo-zigbuild");
    build.args(["zigbuild", "--locked", "--profile", "dist"]);
    build.args(["--package", "profundo-cli", "--target"]);
    build.arg(target.for_zig());
    build
        .current_dir(&release.sources.root)
        .env_remove("PROFUNDO_AGENT")
        .envs(SETTINGS.iter().copied());
    release.prepare(&mut build);
    build
}

/// A program or a library without its debug information, and that information by itself.
struct Parted {
    program: PathBuf,
    debug: PathBuf,
}

impl Parted {
    fn in_folder(folder: &Path, name: &str) -> Self {
        Self {
            program: folder.join(name),
            debug: folder.join(format!("{name}.debug")),
        }
    }

    /// Writes both.
    fn part(&self, whole: &Path, processor: &Processor) -> Result<()> {
        let mut objcopy = processor.tool("objcopy");
        objcopy.args(["--only-keep-debug", "--compress-debug-sections=zlib"]);
        done(objcopy.arg(whole).arg(&self.debug))?;
        let mut objcopy = processor.tool("objcopy");
        objcopy.arg("--strip-all").arg("--add-gnu-debuglink");
        // Only its last part is kept, so the folder does not matter.
        done(objcopy.arg(&self.debug).arg(whole).arg(&self.program))
    }
}

/// Moves files of debug information into a folder, where debuggers find them by name, and by the
/// build's number if the folder is their `debug-file-directory`.
pub fn move_debug(files: &[PathBuf], folder: &Path) -> Result<()> {
    for file in files {
        let name = file.file_name().context("a file has a name")?;
        let notes = output(Command::new("readelf").arg("--notes").arg(file))?;
        let build = number_of_build(&notes).context("a program has no number of its build")?;
        let (first, rest) = build.split_at(2);
        let place = folder.join(".build-id").join(first);
        fs::create_dir_all(&place)?;
        symlink(
            Path::new("../..").join(name),
            place.join(format!("{rest}.debug")),
        )?;
        fs::rename(file, folder.join(name))?;
    }
    Ok(())
}

/// The number of the build among the notes that `readelf` prints.
fn number_of_build(notes: &str) -> Option<&str> {
    let number = notes.split_once("Build ID: ")?.1.lines().next()?.trim();
    (number.len() > 2 && number.is_ascii()).then_some(number)
}

/// Checks the programs: their size, what they want from glibc, and their debug information.
pub fn check(built: &Built, target: &Target, tally: &mut Tally) -> Result<()> {
    for (program, debug) in built.programs.iter().zip(&built.debug) {
        let name = program.file_name().unwrap_or_default().to_string_lossy();
        let name = format!("{name} for {}", target.triple);
        let (size, debug_size) = (fs::metadata(program)?.len(), fs::metadata(debug)?.len());
        println!(
            "{name}: {:.1} MB, and {:.1} MB of debug information",
            size as f64 / 1e6,
            debug_size as f64 / 1e6
        );
        tally.check(&format!("the size of {name}"), size <= LARGEST);
        if let Some(oldest) = target.glibc {
            let wants = glibc::newest(program)?;
            println!("{name} wants glibc {wants:?}");
            tally.check(&format!("the glibc of {name}"), wants <= oldest);
        }
        let line = line_of_main(program, debug, target.processor()?)?;
        println!("{name}: its first function is in {line}");
        let is_ours = line.contains("profundo") && line.contains(".rs:");
        tally.check(&format!("the lines of {name}"), is_ours);
    }
    Ok(())
}

/// The line of the function `main` of Rust, found as a debugger finds it: the program is asked, and
/// its debug information is beside it.
fn line_of_main(program: &Path, debug: &Path, processor: &Processor) -> Result<String> {
    let symbols = output(processor.tool("nm").arg(debug))?;
    let address =
        address_of_main(&symbols).context("the program has no function `main` of Rust")?;
    let said = output(
        processor
            .tool("addr2line")
            .arg("-e")
            .arg(program)
            .arg(address),
    )?;
    ensure!(!said.trim().is_empty(), "addr2line says nothing");
    Ok(said.trim().to_owned())
}

/// The address of a function `main` in a crate of ours.
fn address_of_main(symbols: &str) -> Option<&str> {
    let line = symbols.lines().find(|line| {
        let name = line.rsplit(' ').next().unwrap_or_default();
        name.contains("profundo") && name.contains("4main")
    })?;
    line.split(' ').next()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_number_of_a_build_is_found() {
        let notes = "  GNU  0x00000014\tNT_GNU_BUILD_ID\n    Build ID: 48cafe00\n";
        assert_eq!(number_of_build(notes), Some("48cafe00"));
        assert_eq!(number_of_build("Build ID: 4"), None);
    }

    #[test]
    fn the_function_of_a_crate_of_ours_is_found() {
        let symbols = "\
0000000000001000 T main
0000000000002000 t _ZN3std2rt10lang_start17h00E
0000000000003000 t _ZN8profundo4main17h5bd0c3e4d1e6e6b0E
";
        assert_eq!(address_of_main(symbols), Some("0000000000003000"));
    }
}
