//! Installations: in a virtual environment, below a target and a prefix, for a user, by uv, as an
//! archive, and by a user without rights. In each of them the command runs, and the package finds
//! it.

mod stranger;
mod trial;

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result};

use crate::test::tally::Tally;
use crate::tools::{Tools, done, output};
use trial::Trial;

/// The longest `import profundo`, in milliseconds: the median of many interpreters.
const LONGEST_IMPORT: f64 = 10.0;

/// Prints the milliseconds of an import.
const IMPORT: &str = "\
from time import perf_counter as now
began = now()
import profundo
print((now() - began) * 1000)
";

/// Installs the wheel in each way.
pub fn check(wheel: &Path, folder: &Path, tools: &Tools, tally: &mut Tally) -> Result<()> {
    let place = Place::new(folder)?;
    let venv = place.venv("venv")?;
    let python = || Command::new(venv.join("bin/python"));
    let pip = || {
        let mut pip = Command::new(venv.join("bin/pip"));
        pip.args(["install", "--quiet", "--disable-pip-version-check"]);
        pip.arg("--no-index");
        pip
    };

    let target = place.path.join("target");
    done(pip().arg("--target").arg(&target).arg(wheel))?;
    let mut program = python();
    program.env("PYTHONPATH", &target);
    place.try_out(tally, "--target", program, &target.join("bin/profundo"));

    let prefix = place.path.join("prefix");
    done(pip().arg("--prefix").arg(&prefix).arg(wheel))?;
    let mut program = python();
    let packages = super::only(&prefix.join("lib"), "")?.join("site-packages");
    program.env("PYTHONPATH", packages);
    place.try_out(tally, "--prefix", program, &prefix.join("bin/profundo"));

    // Python makes the archive out of what `--target` has.
    let (archive, home) = (place.path.join("app.pyz"), place.path.join("archive-home"));
    fs::create_dir_all(&home)?;
    let mut zipapp = python();
    zipapp.args(["-m", "zipapp", "--main", "profundo.__main__:main"]);
    done(zipapp.arg("--output").arg(&archive).arg(&target))?;
    let mut program = python();
    program.env("PYTHONPATH", &archive).env("HOME", &home);
    program.env_remove("XDG_CACHE_HOME");
    place.try_out(tally, "zipapp", program, &home.join(".cache/profundo"));

    done(pip().arg(wheel))?;
    let expected = venv.join("bin/profundo");
    place.try_out(tally, "a virtual environment", python(), &expected);
    let median = median_import(python)?;
    println!("import profundo: {median:.1} ms, the median of {IMPORTS}");
    tally.check("the time of an import", median <= LONGEST_IMPORT);

    let home = place.path.join("home");
    fs::create_dir_all(&home)?;
    let mut install = Command::new("python3");
    install.args(["-m", "pip", "install", "--user", "--quiet", "--no-index"]);
    install.args(["--disable-pip-version-check", "--break-system-packages"]);
    done(install.arg(wheel).env("HOME", &home))?;
    let mut program = Command::new("python3");
    program.env("HOME", &home);
    place.try_out(tally, "--user", program, &home.join(".local/bin/profundo"));

    with_uv(wheel, &place, tools, tally)?;
    stranger::check(wheel, tools, tally)
}

/// The ways of uv: once, as a tool, and over another environment.
fn with_uv(wheel: &Path, place: &Place, tools: &Tools, tally: &mut Tally) -> Result<()> {
    let mut uvx = tools.command("uvx");
    uvx.arg("--from").arg(wheel).args(["profundo", "--version"]);
    let said = output(&mut uvx);
    println!("uvx: {said:?}");
    tally.check("uvx", said.is_ok_and(|said| said.starts_with("profundo ")));

    let (inside, scripts) = (place.path.join("tools"), place.path.join("tools-bin"));
    let mut tool = tools.command("uv");
    tool.args(["tool", "install", "--quiet", "--force"])
        .arg(wheel);
    tool.env("UV_TOOL_DIR", &inside)
        .env("UV_TOOL_BIN_DIR", &scripts);
    done(&mut tool)?;
    let said = output(Command::new(scripts.join("profundo")).arg("--version"));
    println!("uv tool install: {said:?}");
    let is_there = said.is_ok_and(|said| said.starts_with("profundo "));
    tally.check("uv tool install", is_there);
    let program = Command::new(inside.join("profundo/bin/python"));
    let expected = inside.join("profundo/bin/profundo");
    place.try_out(tally, "the environment of a tool of uv", program, &expected);

    let mut uv = tools.command("uv");
    uv.args(["run", "--no-project", "--with"]).arg(wheel);
    uv.arg("python");
    place.trial().try_out(tally, "uv run --with", uv, None);
    Ok(())
}

/// Builds and installs the source distribution; `prepare` tells pip how it is built.
pub fn check_sources(
    sources: &Path,
    folder: &Path,
    tally: &mut Tally,
    prepare: impl FnOnce(&mut Command),
) -> Result<()> {
    let place = Place::new(folder)?;
    let venv = place.venv("from-sources")?;
    let mut pip = Command::new(venv.join("bin/pip"));
    pip.args(["install", "--quiet", "--disable-pip-version-check"]);
    prepare(&mut pip);
    done(pip.arg(sources))?;
    let python = Command::new(venv.join("bin/python"));
    let expected = venv.join("bin/profundo");
    place.try_out(tally, "the source distribution", python, &expected);
    Ok(())
}

const IMPORTS: usize = 20;

fn median_import(python: impl Fn() -> Command) -> Result<f64> {
    let mut times = Vec::new();
    for _ in 0..IMPORTS {
        let said = output(python().args(["-c", IMPORT]))?;
        times.push(said.trim().parse::<f64>().context("no time was printed")?);
    }
    times.sort_by(f64::total_cmp);
    Ok(times[IMPORTS / 2])
}

/// The folder of the trials, with a program.
struct Place {
    path: PathBuf,
}

impl Place {
    fn new(folder: &Path) -> Result<Self> {
        let path = folder.join("trials");
        let _ = fs::remove_dir_all(&path);
        fs::create_dir_all(&path)?;
        trial::write(&path)?;
        Ok(Self { path })
    }

    fn venv(&self, name: &str) -> Result<PathBuf> {
        let path = self.path.join(name);
        done(Command::new("python3").args(["-m", "venv"]).arg(&path))?;
        Ok(path)
    }

    fn trial(&self) -> Trial<'_> {
        Trial { folder: &self.path }
    }

    fn try_out(&self, tally: &mut Tally, name: &str, python: Command, expected: &Path) {
        self.trial().try_out(tally, name, python, Some(expected));
    }
}
