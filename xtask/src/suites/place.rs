//! The place of a suite: a virtual environment with the package, and the tests of its source
//! distribution, if they are not in the package itself. All is made once.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use anyhow::{Context, Result, bail, ensure};

use super::list::Suite;
use crate::cpython::pythons::Python;
use crate::tools::{done, output};

/// A suite that is installed.
#[derive(Debug)]
pub struct Place {
    pub suite: &'static Suite,
    folder: PathBuf,
}

impl Place {
    /// Installs a suite below the folder, if it is not there as the list wants it.
    pub fn made(folder: &Path, python: &Python, suite: &'static Suite) -> Result<Self> {
        let folder = folder.join(python.version()).join(suite.name);
        let place = Self { suite, folder };
        let wanted = format!("{} {}\n", suite.requirement(), suite.beside.join(" "));
        let mark = place.folder.join("installed");
        if fs::read_to_string(&mark).is_ok_and(|there| there == wanted) {
            return Ok(place);
        }
        // A half-made place is made again.
        if place.folder.exists() {
            fs::remove_dir_all(&place.folder)?;
        }
        fs::create_dir_all(&place.folder)?;
        let mut venv = Command::new(&python.path);
        done(venv.args(["-m", "venv"]).arg(place.folder.join("venv")))?;
        let mut install = place.pip("install");
        done(install.arg(suite.requirement()).args(suite.beside))?;
        if !suite.parts.is_empty() {
            place.unpack()?;
        }
        fs::write(&mark, wanted).context("cannot note what is installed")?;
        Ok(place)
    }

    /// The interpreter of the virtual environment.
    pub fn python(&self) -> PathBuf {
        self.bin().join("python")
    }

    pub fn bin(&self) -> PathBuf {
        self.folder.join("venv/bin")
    }

    fn pip(&self, what: &str) -> Command {
        let mut pip = Command::new(self.python());
        pip.args(["-m", "pip", what, "--quiet", "--disable-pip-version-check"]);
        pip
    }

    /// The folder of installed packages.
    pub fn packages(&self) -> Result<PathBuf> {
        let question = "import sysconfig; print(sysconfig.get_path('platlib'))";
        let answer = output(Command::new(self.python()).args(["-c", question]))?;
        Ok(answer.trim().into())
    }

    /// The unpacked source distribution.
    fn source(&self) -> PathBuf {
        self.folder.join("source")
    }

    fn unpack(&self) -> Result<()> {
        let fetched = self.folder.join("fetched");
        fs::create_dir_all(&fetched)?;
        let mut download = self.pip("download");
        download.args(["--no-deps", "--no-binary", self.suite.name, "--dest"]);
        done(download.arg(&fetched).arg(self.suite.requirement()))?;
        let mut files = fs::read_dir(&fetched)?;
        let Some(archive) = files.next().transpose()? else {
            bail!("{} has no source distribution", self.suite.requirement());
        };
        fs::create_dir_all(self.source())?;
        let mut tar = Command::new("tar");
        tar.args(["--strip-components=1", "-xf"])
            .arg(archive.path());
        done(tar.arg("-C").arg(self.source()))?;
        Ok(fs::remove_dir_all(&fetched)?)
    }

    /// Fills a folder with what the tests want around them. The rest of the sources stays away:
    /// there, a package without its compiled modules would be imported in place of the installed
    /// one.
    pub fn fill(&self, work: &Path) -> Result<()> {
        for part in self.suite.parts {
            let to = work.join(part);
            if let Some(above) = to.parent() {
                fs::create_dir_all(above)?;
            }
            let mut copy = Command::new("cp");
            done(copy.arg("-r").arg(self.source().join(part)).arg(&to))?;
        }
        if self.suite.prepare.is_empty() {
            return Ok(());
        }
        let mut shell = Command::new("sh");
        shell.args(["-ec", self.suite.prepare]).current_dir(work);
        shell.env("PYTHON", self.python());
        shell.env("PACKAGES", self.packages()?);
        let prepared = shell.stdin(Stdio::null()).output()?;
        let said = String::from_utf8_lossy(&prepared.stderr);
        ensure!(prepared.status.success(), "cannot prepare tests: {said}");
        Ok(())
    }
}
