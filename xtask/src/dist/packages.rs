//! Packages for distributions: `.deb` and `.rpm`, of the same files as the archive. Their metadata
//! is in the manifest of `profundo-cli`.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use anyhow::{Context, Result};

use super::graph::COMMAND;
use super::targets::Target;
use super::{Release, checksums};
use crate::test::tally::Tally;
use crate::tools::{done, output};

/// The tools, which are not on PyPI in versions that read this workspace.
pub const TOOLS: &[&str] = &["cargo-deb@3.8.0", "cargo-generate-rpm@0.21.1"];

/// Files that each package has to have.
const MEMBERS: &[&str] = &[
    "/usr/bin/profundo",
    "/usr/bin/cargo-profundo",
    "/usr/share/man/man1/profundo.1",
    "/usr/share/man/man1/profundo-run.1",
    "/usr/share/bash-completion/completions/profundo",
    "/usr/share/doc/profundo/THIRD-PARTY.txt",
];

/// Makes both packages out of what is staged, under the names that their distributions want.
pub fn make(release: &Release<'_>, target: &Target) -> Result<Vec<PathBuf>> {
    release.tools.install_crates(TOOLS)?;
    let place = release.building.join(target.triple).join("dist/packages");
    let _ = fs::remove_dir_all(&place);
    fs::create_dir_all(&place)?;
    let mut make = release.tools.command("cargo-deb");
    make.args([
        "deb",
        "--no-build",
        "--no-strip",
        "--locked",
        "--profile",
        "dist",
    ]);
    make.args(["--package", COMMAND, "--target", target.triple]);
    run(release, &mut make, &place)?;
    let mut make = release.tools.command("cargo-generate-rpm");
    make.args([
        "generate-rpm",
        "--profile",
        "dist",
        "--auto-req",
        "disabled",
    ]);
    make.args([
        "--package",
        "crates/profundo-cli",
        "--target",
        target.triple,
    ]);
    make.arg("--target-dir").arg(&release.building);
    run(release, &mut make, &place)?;
    let mut packages = Vec::new();
    for name in checksums::names(&place)? {
        let package = release.published.join(&name);
        fs::copy(place.join(name), &package)?;
        packages.push(package);
    }
    Ok(packages)
}

fn run(release: &Release<'_>, make: &mut Command, place: &Path) -> Result<()> {
    release.prepare(make);
    // A folder is known by its last character.
    let place = place.join("");
    done(
        make.arg("--output")
            .arg(place)
            .current_dir(&release.sources.root),
    )
}

/// Looks into the packages with the tools of their distributions, and runs the command in each.
pub fn check(
    packages: &[PathBuf],
    target: &Target,
    folder: &Path,
    tally: &mut Tally,
) -> Result<()> {
    for package in packages {
        let name = package.file_name().unwrap_or_default().to_string_lossy();
        let is_deb = name.ends_with(".deb");
        let tools: &[&str] = match is_deb {
            true => &["dpkg-deb"],
            false => &["rpm", "rpm2cpio", "cpio"],
        };
        if let Some(tool) = tools.iter().find(|tool| !is_there(tool)) {
            tally.skip(&format!("{name} is not looked into: there is no {tool}"));
            continue;
        }
        let list = match is_deb {
            true => output(Command::new("dpkg-deb").arg("--contents").arg(package))?,
            false => output(
                Command::new("rpm")
                    .args(["-qpl", "--nosignature"])
                    .arg(package),
            )?,
        };
        for member in MEMBERS {
            // A page of the manual is packed.
            let is_in = list.lines().any(|line| {
                let path = line.trim_end_matches(".gz");
                path.ends_with(member)
            });
            tally.check(&format!("{member} in {name}"), is_in);
        }
        let place = folder.join("unpacked");
        let _ = fs::remove_dir_all(&place);
        fs::create_dir_all(&place)?;
        unpack(package, is_deb, &place)?;
        let command = place.join("usr/bin/profundo");
        let said = output(target.processor()?.program(&command).arg("--version"))?;
        println!("{name}: {}", said.trim());
        tally.check(
            &format!("the command of {name}"),
            said.starts_with("profundo "),
        );
    }
    Ok(())
}

fn unpack(package: &Path, is_deb: bool, place: &Path) -> Result<()> {
    if is_deb {
        let mut unpack = Command::new("dpkg-deb");
        return done(unpack.arg("--extract").arg(package).arg(place));
    }
    let archive = place.join("archive");
    let mut convert = Command::new("rpm2cpio");
    convert.arg(package).stdout(fs::File::create(&archive)?);
    // Debian's ends with 1 whatever it has written. What is missing is missed below.
    let _ = convert.status().context("cannot run rpm2cpio")?;
    let mut unpack = Command::new("cpio");
    unpack.args(["--extract", "--make-directories", "--quiet"]);
    let archive = fs::File::open(archive)?;
    done(unpack.stdin(archive).current_dir(place))
}

fn is_there(tool: &str) -> bool {
    let mut tool = Command::new(tool);
    tool.arg("--version")
        .stdout(Stdio::null())
        .stderr(Stdio::null());
    tool.status().is_ok()
}
