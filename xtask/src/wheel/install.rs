//! Installations: in a virtual environment, below a target and a prefix, for a user, and by uv. In
//! each of them the command runs, and the package finds it.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::Result;

use super::tools::{Tools, done, output};
use crate::test::tally::Tally;

/// Records a program, and reads the recording.
const TRIAL: &str = "\
import os, subprocess, sys
import profundo
words = [sys.executable, '-m', 'profundo', 'record', '--no-config', '-o', 'trial.profundo', 'trial.py']
subprocess.run(words, check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
profile = profundo.load('trial.profundo')
assert profile.lines[0].line == 1, profile.lines
profile.save('trial.svg')
with profundo.profile() as region:
    sum(number * number for number in range(4000000))
assert region.functions, region
from profundo._binary import find
print(profundo.__version__, find())
";

const PROGRAM: &str = "print(sum(number * number for number in range(4000000)))\n";

/// Installs the wheel in each way.
pub fn check(wheel: &Path, folder: &Path, tools: &Tools, tally: &mut Tally) -> Result<()> {
    let place = Place::new(folder)?;
    let venv = place.venv("venv")?;
    let pip = || {
        let mut pip = Command::new(venv.join("bin/pip"));
        pip.args([
            "install",
            "--quiet",
            "--disable-pip-version-check",
            "--no-index",
        ]);
        pip
    };
    place.try_out(tally, "--target", {
        let target = place.path.join("target");
        done(pip().arg("--target").arg(&target).arg(wheel))?;
        let mut python = Command::new(venv.join("bin/python"));
        python.env("PYTHONPATH", &target);
        (python, target.join("bin/profundo"))
    });
    place.try_out(tally, "--prefix", {
        let prefix = place.path.join("prefix");
        done(pip().arg("--prefix").arg(&prefix).arg(wheel))?;
        let mut python = Command::new(venv.join("bin/python"));
        let packages = super::only(&prefix.join("lib"), "")?.join("site-packages");
        python.env("PYTHONPATH", packages);
        (python, prefix.join("bin/profundo"))
    });
    place.try_out(tally, "a virtual environment", {
        done(pip().arg(wheel))?;
        (
            Command::new(venv.join("bin/python")),
            venv.join("bin/profundo"),
        )
    });
    place.try_out(tally, "--user", {
        let home = place.path.join("home");
        fs::create_dir_all(&home)?;
        let mut install = Command::new("python3");
        install.args(["-m", "pip", "install", "--user", "--quiet", "--no-index"]);
        install.args(["--disable-pip-version-check", "--break-system-packages"]);
        done(install.arg(wheel).env("HOME", &home))?;
        let mut python = Command::new("python3");
        python.env("HOME", &home);
        (python, home.join(".local/bin/profundo"))
    });
    let mut uvx = tools.command("uvx");
    uvx.arg("--from").arg(wheel).args(["profundo", "--version"]);
    let said = output(&mut uvx);
    println!("uvx: {said:?}");
    tally.check("uvx", said.is_ok_and(|said| said.starts_with("profundo ")));
    let mut uv = tools.command("uv");
    uv.args(["run", "--no-project", "--with"]).arg(wheel);
    uv.args(["python", "-c", TRIAL]).current_dir(&place.path);
    let said = output(&mut uv);
    println!("uv run --with: {said:?}");
    tally.check("uv run --with", said.is_ok());
    Ok(())
}

/// Builds and installs the source distribution.
pub fn check_sources(
    sources: &Path,
    folder: &Path,
    _tools: &Tools,
    tally: &mut Tally,
) -> Result<()> {
    let place = Place::new(folder)?;
    let venv = place.venv("from-sources")?;
    let mut pip = Command::new(venv.join("bin/pip"));
    pip.args(["install", "--quiet", "--disable-pip-version-check"]);
    done(pip.arg(sources))?;
    let python = Command::new(venv.join("bin/python"));
    let expected = venv.join("bin/profundo");
    place.try_out(tally, "the source distribution", (python, expected));
    Ok(())
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
        fs::write(path.join("trial.py"), PROGRAM)?;
        Ok(Self { path })
    }

    fn venv(&self, name: &str) -> Result<PathBuf> {
        let path = self.path.join(name);
        done(Command::new("python3").args(["-m", "venv"]).arg(&path))?;
        Ok(path)
    }

    /// Runs the trial; the package has to find the command at the expected place.
    fn try_out(&self, tally: &mut Tally, name: &str, (mut python, expected): (Command, PathBuf)) {
        let python = python.args(["-c", TRIAL]).current_dir(&self.path);
        let said = output(python.env_remove("PROFUNDO_BINARY"));
        println!("{name}: {said:?}");
        let expected = expected.to_string_lossy().into_owned();
        tally.check(
            name,
            said.is_ok_and(|said| said.trim().ends_with(&expected)),
        );
    }
}
