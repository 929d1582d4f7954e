//! A root of Debian unstable, and commands in it.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use anyhow::{Context, Result, ensure};

const MIRROR: &str = "http://deb.debian.org/debian";
/// A file with the packages that the root has. It is written last.
const DONE: &str = "made-by-profundo";

/// A root with Debian's packages.
pub struct Root {
    folder: PathBuf,
    /// A folder of this machine, that is seen at the same place in the root.
    shared: PathBuf,
}

impl Root {
    /// The root in this folder, which is made if there is none. `shared` is seen in it, too.
    pub fn made(folder: &Path, shared: &Path, packages: &[&str]) -> Result<Self> {
        let root = Self {
            folder: folder.to_owned(),
            shared: shared.to_owned(),
        };
        let wanted = packages.join("\n");
        let has = fs::read_to_string(folder.join(DONE)).unwrap_or_default();
        if has == wanted {
            return Ok(root);
        }
        println!("making {} (some minutes)", folder.display());
        if has.is_empty() {
            root.begin()?;
        }
        let install = ["apt-get", "install", "-y", "-qq", "--no-install-recommends"];
        root.run(&[&install[..], packages].concat())?;
        fs::write(folder.join(DONE), wanted)?;
        Ok(root)
    }

    /// The smallest root, and what Debian has for it.
    fn begin(&self) -> Result<()> {
        let folder = &self.folder;
        let mut command = Command::new("debootstrap");
        command
            .args(["--variant=minbase", "sid"])
            .arg(folder)
            .arg(MIRROR);
        succeed(&mut command, "debootstrap")?;
        // A mirror may be older than its list of packages says that it should be.
        let settings = folder.join("etc/apt/apt.conf.d/99profundo");
        fs::write(settings, "Acquire::Check-Valid-Until \"false\";\n")?;
        let sources = format!("deb {MIRROR} sid main\ndeb-src {MIRROR} sid main\n");
        fs::write(folder.join("etc/apt/sources.list"), sources)?;
        self.run(&["apt-get", "update", "-qq"])
    }

    /// The place on this machine of a path in the root.
    pub fn outside(&self, path: &Path) -> PathBuf {
        self.folder.join(path.strip_prefix("/").unwrap_or(path))
    }

    /// A command in the root, to which its name and its arguments are added. It begins in a folder
    /// that is seen there. What it mounts ends with it.
    pub fn enter(&self, folder: &Path) -> Command {
        const SCRIPT: &str = "set -e
root=$1 shared=$2 folder=$3
shift 3
mkdir -p \"$root$shared\"
for each in /proc /sys /dev /tmp \"$shared\"; do
    mount --rbind \"$each\" \"$root$each\"
done
exec chroot \"$root\" /bin/sh -c 'cd \"$0\" && exec \"$@\"' \"$folder\" \"$@\"";
        let mut command = Command::new("unshare");
        command
            .args([
                "--mount",
                "--propagation",
                "private",
                "sh",
                "-c",
                SCRIPT,
                "sh",
            ])
            .args([&self.folder, &self.shared])
            .arg(folder)
            .env("PATH", "/usr/sbin:/usr/bin:/sbin:/bin")
            .env("DEBIAN_FRONTEND", "noninteractive")
            .env("HOME", "/root");
        command
    }

    /// Runs a command in the root.
    pub fn run(&self, words: &[&str]) -> Result<()> {
        let mut command = self.enter(Path::new("/"));
        succeed(
            command.args(words),
            words.first().copied().unwrap_or_default(),
        )
    }
}

fn succeed(command: &mut Command, name: &str) -> Result<()> {
    let status = command
        .stdin(Stdio::null())
        .status()
        .with_context(|| format!("cannot run {name}"))?;
    ensure!(status.success(), "{name} failed: {status}");
    Ok(())
}
