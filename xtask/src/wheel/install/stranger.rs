//! A user without rights, with a home of its own: neither root nor the builder of the wheel.

use std::env;
use std::ffi::OsStr;
use std::fs;
use std::io;
use std::os::unix::fs::{PermissionsExt, chown};
use std::path::{Path, PathBuf};
use std::process::{self, Command};

use anyhow::{Context, Result};

use super::trial::{self, Trial};
use super::{Tools, done, output};
use crate::test::tally::Tally;

/// A number that no user of a machine has. What needs only a home needs no name.
const USER: u32 = 61_234;

/// The Python of the system: others may be in a home that only its owner can read.
const PYTHON: &str = "/usr/bin/python3";

/// Installs the wheel as another user, with pip and with uv.
pub fn check(wheel: &Path, tools: &Tools, tally: &mut Tally) -> Result<()> {
    let Some(stranger) = Stranger::new(wheel, tools)? else {
        tally.skip("only root can become a user without rights, with `setpriv` of util-linux");
        return Ok(());
    };
    let trial = Trial {
        folder: &stranger.home,
    };
    let scripts = stranger.home.join(".local/bin");

    let mut pip = stranger.command(PYTHON);
    pip.args(["-m", "pip", "--version"]);
    if output(&mut pip).is_ok() {
        let mut pip = stranger.command(PYTHON);
        pip.args(["-m", "pip", "install", "--user", "--quiet", "--no-index"]);
        pip.args(["--disable-pip-version-check", "--break-system-packages"]);
        done(pip.arg(&stranger.wheel))?;
        let python = stranger.command(PYTHON);
        let expected = scripts.join("profundo");
        trial.try_out(tally, "--user of another user", python, Some(&expected));
        fs::remove_dir_all(stranger.home.join(".local"))?;
    } else {
        tally.skip(&format!("{PYTHON} has no pip for a user without rights"));
    }

    let mut uv = stranger.command(stranger.uv.as_os_str());
    uv.args(["tool", "install", "--quiet", "--no-python-downloads"]);
    uv.args(["--offline", "--python", PYTHON]);
    done(uv.arg(&stranger.wheel))?;
    let said = output(stranger.command(scripts.join("profundo")).arg("--version"));
    println!("uv tool install of another user: {said:?}");
    let is_there = said.is_ok_and(|said| said.starts_with("profundo "));
    tally.check("uv tool install of another user", is_there);
    let inside = stranger.home.join(".local/share/uv/tools/profundo/bin");
    let python = stranger.command(inside.join("python"));
    let expected = inside.join("profundo");
    trial.try_out(tally, "a tool of another user", python, Some(&expected));
    Ok(())
}

/// The user, with a home that goes at the end.
struct Stranger {
    home: PathBuf,
    wheel: PathBuf,
    uv: PathBuf,
}

impl Stranger {
    /// `None` where this process cannot change its user.
    fn new(wheel: &Path, tools: &Tools) -> Result<Option<Self>> {
        let home = env::temp_dir().join(format!("profundo-wheel-{}", process::id()));
        fs::create_dir(&home)?;
        let name = wheel.file_name().context("a wheel has a name")?;
        let stranger = Self {
            wheel: home.join(name),
            uv: home.join("uv"),
            home,
        };
        fs::set_permissions(&stranger.home, fs::Permissions::from_mode(0o700))?;
        fs::copy(wheel, &stranger.wheel)?;
        fs::set_permissions(&stranger.wheel, fs::Permissions::from_mode(0o644))?;
        fs::copy(tools.path("uv"), &stranger.uv)?;
        trial::write(&stranger.home)?;
        match chown(&stranger.home, Some(USER), Some(USER)) {
            Err(error) if error.kind() == io::ErrorKind::PermissionDenied => return Ok(None),
            other => other?,
        }
        let can_become = output(&mut stranger.command("true")).is_ok();
        Ok(can_become.then_some(stranger))
    }

    /// A command of this user, in its home, with nothing else of our environment.
    fn command(&self, program: impl AsRef<OsStr>) -> Command {
        let user = USER.to_string();
        let mut command = Command::new("setpriv");
        command.args(["--reuid", &user, "--regid", &user, "--clear-groups"]);
        command.arg(program).current_dir(&self.home).env_clear();
        command.env("HOME", &self.home).env("PATH", "/usr/bin:/bin");
        command
    }
}

impl Drop for Stranger {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.home);
    }
}
