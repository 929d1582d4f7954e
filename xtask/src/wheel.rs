//! The Python package as it is published: a wheel for every Linux since glibc 2.17, made by maturin
//! with zig as the linker, looked into and installed in each way that there is.
//!
//! `cargo xtask wheel` builds what is published, for a quarter of an hour. `cargo xtask test` and
//! `--quick` build the same without the optimisations that take the time. All that is made is in
//! `target/wheel`.

mod contents;
mod install;

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result, bail, ensure};

use crate::dist::{graph, notices};
use crate::metadata::{self, cargo};
use crate::processor::Processor;
use crate::test::tally::Tally;
use crate::tools::{self, Tools};

/// The packages of PyPI. maturin finds zig as the module `ziglang`.
pub const PACKAGES: &[&str] = &["maturin>=1.8,<2", "ziglang", "uv"];
/// The target of the package that is tested.
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
    /// Whether only what `cargo xtask test` does is done.
    is_quick: bool,
}

impl Wanted {
    fn read(arguments: &[&str]) -> Result<Self> {
        let mut wanted = Self::default();
        for &argument in arguments {
            match argument {
                "--sdist" => wanted.has_sources = true,
                "--quick" => wanted.is_quick = true,
                _ if argument.starts_with('-') => bail!("there is no option {argument}"),
                wheel => wanted.wheel = Some(wheel.into()),
            }
        }
        Ok(wanted)
    }
}

/// What a build is for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Purpose {
    /// Publishing: the profile `dist` as it is.
    Publishing,
    /// Looking into the wheel and using it. Its code is a superset of the published wheel's, so the
    /// glibc that it needs is enough for both.
    Testing,
}

impl Purpose {
    /// The settings of the profile `dist`, as cargo's variables.
    fn settings(self) -> &'static [(&'static str, &'static str)] {
        match self {
            Self::Publishing => &[],
            Self::Testing => &[
                ("CARGO_PROFILE_DIST_LTO", "off"),
                ("CARGO_PROFILE_DIST_CODEGEN_UNITS", "16"),
                ("CARGO_PROFILE_DIST_OPT_LEVEL", "1"),
            ],
        }
    }
}

/// Builds and checks the package; true if nothing failed.
pub fn run(root: &Path, arguments: &[&str]) -> Result<bool> {
    let wanted = Wanted::read(arguments)?;
    let target = metadata::load(root)?.target;
    let tally = match wanted.is_quick {
        true => quick(root, &target)?,
        false => published(root, target, &wanted)?,
    };
    tally.print();
    Ok(tally.failed == 0)
}

fn published(root: &Path, target: PathBuf, wanted: &Wanted) -> Result<Tally> {
    let folder = target.join("wheel");
    let tools = Tools::installed(&target, PACKAGES)?;
    let mut tally = Tally::default();
    let build = Build {
        root,
        triple: TARGET,
        folder: &folder,
        tools: &tools,
        purpose: Purpose::Publishing,
        target,
        prepare: &|_| (),
    };
    let wheel = match &wanted.wheel {
        Some(wheel) => wheel.canonicalize().context("there is no such wheel")?,
        None => build.wheel()?,
    };
    build.check(&wheel, &mut tally)?;
    if wanted.has_sources {
        build.check_sources(&mut tally)?;
    }
    Ok(tally)
}

/// The step of `cargo xtask test`, in minutes: the wheel, and whether the source distribution is
/// complete.
pub fn quick(root: &Path, target: &Path) -> Result<Tally> {
    let mut tally = Tally::default();
    let folder = target.join("wheel");
    let tools = match Tools::installed(target, PACKAGES) {
        Ok(tools) => tools,
        Err(error) => {
            tally.skip(&format!(
                "the Python package is not built: maturin, zig and uv cannot be installed from PyPI ({error:#})"
            ));
            return Ok(tally);
        }
    };
    let build = Build {
        root,
        triple: TARGET,
        folder: &folder,
        tools: &tools,
        purpose: Purpose::Testing,
        target: folder.join("testing"),
        prepare: &|_| (),
    };
    let wheel = build.wheel()?;
    build.check(&wheel, &mut tally)?;
    build.check_that_sources_compile(target, &mut tally)?;
    Ok(tally)
}

/// The wheels of some targets, and the source distribution, as they are published, with the checks
/// of the wheels. All is made in `folder`; `prepare` adds to how cargo builds.
pub fn distributions(
    root: &Path,
    triples: &[&str],
    (tools, folder): (&Tools, &Path),
    prepare: &dyn Fn(&mut Command),
    tally: &mut Tally,
) -> Result<Vec<PathBuf>> {
    let mut made = Vec::new();
    for triple in triples {
        let build = Build {
            root,
            triple,
            folder: &folder.join(triple),
            tools,
            purpose: Purpose::Publishing,
            target: folder.join("target"),
            prepare,
        };
        let wheel = build.wheel()?;
        build.check(&wheel, tally)?;
        made.push(wheel);
        if made.len() == triples.len() {
            made.push(build.sources()?);
        }
    }
    Ok(made)
}

/// A build of the package.
struct Build<'a> {
    root: &'a Path,
    /// The target that cargo builds for.
    triple: &'a str,
    /// The folder for all that is made but cargo's own.
    folder: &'a Path,
    tools: &'a Tools,
    purpose: Purpose,
    /// Cargo's target folder.
    target: PathBuf,
    /// What a release sets for cargo.
    prepare: &'a dyn Fn(&mut Command),
}

impl Build<'_> {
    fn wheel(&self) -> Result<PathBuf> {
        let words = [
            "--locked",
            "--zig",
            "--target",
            self.triple,
            "--compatibility",
            COMPATIBILITY,
            "--compression-level",
            "9",
        ];
        let place = self.root.join(LIBRARY);
        let beside = place.parent().context("a file has a folder")?;
        fs::create_dir_all(beside)?;
        // The first build makes the command, which has the library; the second one adds the
        // library.
        let _ = fs::remove_file(&place);
        self.distribution("build", &words, ".whl")?;
        let command = self.target.join(self.triple).join("dist/profundo");
        let mut command = self.processor()?.program(&command);
        let path = tools::output(command.args(["beside", "--library"]))?;
        fs::copy(path.trim_end(), &place).context("the command has no library")?;
        let parts = graph::parts(self.root, self.triple)?;
        notices::write(self.root, &parts, beside)?;
        let wheel = self.distribution("build", &words, ".whl");
        // The files are parts of this wheel, and would grow old in the tree.
        let _ = fs::remove_dir_all(beside);
        wheel
    }

    fn check(&self, wheel: &Path, tally: &mut Tally) -> Result<()> {
        println!("{}", wheel.display());
        let agent = self
            .target
            .join(self.triple)
            .join("dist/deps/libprofundo_cli.so");
        let processor = self.processor()?;
        contents::check(self, wheel, &agent, processor, tally)?;
        if !processor.is_here() {
            // No Python of this machine may install it.
            return Ok(());
        }
        install::check(wheel, self.folder, self.tools, tally)
    }

    fn processor(&self) -> Result<&'static Processor> {
        Processor::of(self.triple).context("the processor of the target is not known")
    }

    fn check_sources(&self, tally: &mut Tally) -> Result<()> {
        let sources = self.sources()?;
        println!("{}", sources.display());
        install::check_sources(&sources, self.folder, tally, |pip| self.prepare(pip))
    }

    /// Unpacks the source distribution and looks whether a file is missing that the compiler needs.
    /// `target` has the dependencies of other checks already.
    fn check_that_sources_compile(&self, target: &Path, tally: &mut Tally) -> Result<()> {
        let sources = self.sources()?;
        println!("{}", sources.display());
        let unpacked = self.folder.join("sdist/unpacked");
        let mut python = self.tools.command("python");
        python.args(["-m", "tarfile", "--extract"]).arg(&sources);
        tools::done(python.arg(&unpacked))?;
        let mut check = cargo();
        // The distribution has fewer crates than its lock file.
        check.args(["check", "--quiet", "--package", "profundo-cli"]);
        check.current_dir(only(&unpacked, "")?);
        let done = tools::done(check.env("CARGO_TARGET_DIR", target));
        if let Err(error) = &done {
            println!("{error:#}");
        }
        tally.check("the source distribution", done.is_ok());
        Ok(())
    }

    fn sources(&self) -> Result<PathBuf> {
        self.distribution("sdist", &[], ".tar.gz")
    }

    /// Makes a distribution by maturin, in a folder of its own.
    fn distribution(&self, verb: &str, words: &[&str], ending: &str) -> Result<PathBuf> {
        let output = self.folder.join(verb);
        // One of an earlier version would be taken for it.
        let _ = fs::remove_dir_all(&output);
        let mut maturin = self.tools.command("maturin");
        maturin.arg(verb).args(words).arg("--out").arg(&output);
        self.prepare(&mut maturin);
        tools::done(maturin.current_dir(self.root))?;
        only(&output, ending)
    }

    /// Tells a command, and the cargo that it runs, how to build and where.
    fn prepare(&self, command: &mut Command) {
        (self.prepare)(command);
        command.env("CARGO_TARGET_DIR", &self.target);
        command.envs(self.purpose.settings().iter().copied());
    }
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
        assert!(wanted.has_sources && !wanted.is_quick);
        assert!(Wanted::read(&["--quick"]).unwrap().is_quick);
        assert!(Wanted::read(&["--nothing"]).is_err());
    }
}
