//! The Python package as it is published: a wheel for every Linux since glibc 2.17, made by maturin
//! with zig as the linker, looked into and installed in each way that there is.
//!
//! It is run by hand (`cargo xtask wheel`), because it builds the command anew and takes its tools
//! from PyPI. All that it makes is in `target/wheel`.

mod contents;
mod install;
mod tools;

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result, bail, ensure};

use crate::metadata;
use crate::test::tally::Tally;
use tools::Tools;

/// The target that cargo builds for.
const TARGET: &str = "x86_64-unknown-linux-gnu";
/// The library that `import profundo` loads, as a member of the package.
const LIBRARY: &str = "python/src/profundo/_agent/libprofundo-agent.so";
/// The tag of the package: no version of Python, and this glibc or a newer one.
const COMPATIBILITY: &str = "manylinux2014";

/// The command line's request.
#[derive(Debug, Default, PartialEq, Eq)]
struct Wanted {
    /// A wheel that is there already.
    wheel: Option<PathBuf>,
    /// Whether the source distribution is built and installed, too.
    has_sources: bool,
}

impl Wanted {
    fn read(arguments: &[&str]) -> Result<Self> {
        let mut wanted = Self::default();
        for &argument in arguments {
            match argument {
                "--sdist" => wanted.has_sources = true,
                _ if argument.starts_with('-') => bail!("there is no option {argument}"),
                wheel => wanted.wheel = Some(wheel.into()),
            }
        }
        Ok(wanted)
    }
}

/// Builds and checks the package; true if nothing failed.
pub fn run(root: &Path, arguments: &[&str]) -> Result<bool> {
    let wanted = Wanted::read(arguments)?;
    let target = metadata::load(root)?.target;
    let folder = target.join("wheel");
    let tools = Tools::installed(&folder)?;
    let mut tally = Tally::default();
    let wheel = match &wanted.wheel {
        Some(wheel) => wheel.canonicalize().context("there is no such wheel")?,
        None => build(root, &folder, &tools)?,
    };
    println!("{}", wheel.display());
    let agent = target.join(TARGET).join("dist/deps/libprofundo_cli.so");
    contents::check(&wheel, &agent, &folder, &tools, &mut tally)?;
    install::check(&wheel, &folder, &tools, &mut tally)?;
    if wanted.has_sources {
        let sources = tools.distribution(root, &folder, "sdist", &[], ".tar.gz")?;
        println!("{}", sources.display());
        install::check_sources(&sources, &folder, &tools, &mut tally)?;
    }
    tally
        .failures
        .iter()
        .for_each(|name| println!("FAILED  {name}"));
    println!("{}", tally.closing_line());
    Ok(tally.failed == 0)
}

fn build(root: &Path, folder: &Path, tools: &Tools) -> Result<PathBuf> {
    let words = [
        "--locked",
        "--zig",
        "--target",
        TARGET,
        "--compatibility",
        COMPATIBILITY,
    ];
    let place = root.join(LIBRARY);
    let first = place.parent().context("a file has a folder")?;
    fs::create_dir_all(first)?;
    // The first build makes the command, which has the library; the second one adds the library.
    let _ = fs::remove_file(&place);
    tools.distribution(root, folder, "build", &words, ".whl")?;
    let command = metadata::load(root)?
        .target
        .join(TARGET)
        .join("dist/profundo");
    let path = tools::output(Command::new(command).args(["beside", "--library"]))?;
    fs::copy(path.trim_end(), &place).context("the command has no library")?;
    tools.distribution(root, folder, "build", &words, ".whl")
}

/// The only file of a folder with this ending.
fn only(folder: &Path, ending: &str) -> Result<PathBuf> {
    let mut found = Vec::new();
    for entry in fs::read_dir(folder)? {
        let path = entry?.path();
        if path.to_string_lossy().ends_with(ending) {
            found.push(path);
        }
    }
    ensure!(
        found.len() == 1,
        "{} has {} files that end in {ending}",
        folder.display(),
        found.len()
    );
    Ok(found.remove(0))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_command_line_is_read() {
        let wanted = Wanted::read(&["--sdist", "x.whl"]).unwrap();
        assert_eq!(wanted.wheel.as_deref(), Some(Path::new("x.whl")));
        assert!(wanted.has_sources);
        assert!(Wanted::read(&["--nothing"]).is_err());
    }
}
