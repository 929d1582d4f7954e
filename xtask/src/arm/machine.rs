//! A machine of aarch64: Debian's kernel in qemu, with the files of a few packages of Debian in
//! memory. It needs no disk, no network and no rights.

use std::fs;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use anyhow::{Context, Result, ensure};

use crate::tools::done;

const MIRROR: &str = "http://deb.debian.org/debian";
const RELEASE: &str = "trixie";

/// The packages whose files are in it, by the beginnings of their files' names.
const PACKAGES: &[&str] = &[
    "busybox-static_",
    "libc6_",
    "libgcc-s1_",
    "libstdc++6_",
    "libexpat1_",
    "zlib1g_",
    "libpython3.13-minimal_",
    "libpython3.13-stdlib_",
    "python3.13-minimal_",
];

/// Busybox under the names of programs.
const PROGRAMS: &[&str] = &[
    "cat", "cmp", "echo", "env", "grep", "head", "ls", "mkdir", "mount", "poweroff", "rm", "sed",
    "seq", "sh", "sleep", "tail", "tr", "uname", "wc",
];

/// The first process.
const INIT: &str = "#!/bin/sh
mount -t proc proc /proc
mount -t sysfs sys /sys
mount -t devtmpfs dev /dev
mkdir -p /dev/shm
mount -t tmpfs tmpfs /dev/shm
mount -t tmpfs tmpfs /tmp
export PATH=/usr/bin HOME=/tmp PROFUNDO_NO_CONFIG=1
uname -a
cd /work && sh ./guest.sh
poweroff -f
";

/// The files of a machine, and its kernel.
pub struct Machine {
    folder: PathBuf,
    files: PathBuf,
}

impl Machine {
    /// The machine in this folder, whose packages are fetched if they are not there.
    pub fn made(folder: &Path) -> Result<Self> {
        let files = folder.join("files");
        let machine = Self {
            folder: folder.to_owned(),
            files,
        };
        let mark = folder.join("made-by-profundo");
        let wanted = PACKAGES.join("\n");
        if fs::read_to_string(&mark).unwrap_or_default() != wanted {
            println!("fetching {} (some minutes)", folder.display());
            machine.make()?;
            fs::write(mark, wanted)?;
        }
        for program in PROGRAMS {
            let link = machine.files.join("usr/bin").join(program);
            if link.symlink_metadata().is_err() {
                symlink("busybox", link)?;
            }
        }
        Ok(machine)
    }

    fn make(&self) -> Result<()> {
        let packages = self.folder.join("packages");
        if packages.exists() {
            fs::remove_dir_all(&packages)?;
        }
        fs::create_dir_all(&packages)?;
        let mut fetch = Command::new("debootstrap");
        fetch.args(["--arch=arm64", "--foreign", "--variant=minbase"]);
        fetch.arg("--include=linux-image-arm64,busybox-static,python3,libstdc++6");
        done(fetch.arg(RELEASE).arg(&packages).arg(MIRROR))?;
        let archives = packages.join("var/cache/apt/archives");
        self.unpack(&archives, "linux-image-6", &self.folder.join("kernel"))?;
        for package in PACKAGES {
            self.unpack(&archives, package, &self.files)?;
        }
        for (link, target) in [("lib", "usr/lib"), ("bin", "usr/bin"), ("sbin", "usr/bin")] {
            symlink(target, self.files.join(link))?;
        }
        for folder in ["proc", "sys", "dev", "tmp", "work"] {
            fs::create_dir_all(self.files.join(folder))?;
        }
        fs::write(self.files.join("init"), INIT)?;
        done(
            Command::new("chmod")
                .arg("755")
                .arg(self.files.join("init")),
        )
    }

    fn unpack(&self, archives: &Path, beginning: &str, to: &Path) -> Result<()> {
        let found = file_of(archives, beginning)?;
        fs::create_dir_all(to)?;
        done(Command::new("dpkg-deb").arg("-x").arg(found).arg(to))
    }

    /// A file of the folder that its programs run in.
    pub fn file(&self, name: &str) -> PathBuf {
        self.files.join("work").join(name)
    }

    /// Starts it, and waits for its end. Returns what it has printed.
    pub fn run(&self) -> Result<String> {
        let memory = self.folder.join("files.gz");
        let mut pack = Command::new("sh");
        pack.args(["-c", "find . | cpio -o -H newc --quiet | gzip -1 > \"$0\""]);
        done(pack.arg(&memory).current_dir(&self.files))?;
        let kernel = file_of(&self.folder.join("kernel/boot"), "vmlinuz")?;
        let mut qemu = Command::new("timeout");
        qemu.args([
            "1800",
            "qemu-system-aarch64",
            "-machine",
            "virt",
            "-smp",
            "2",
        ]);
        qemu.args(["-cpu", "max,pauth-impdef=on", "-m", "2048", "-nographic"]);
        qemu.args(["-nic", "none", "-no-reboot", "-append"]);
        qemu.arg("console=ttyAMA0 quiet panic=-1");
        qemu.arg("-kernel").arg(kernel).arg("-initrd").arg(memory);
        let output = qemu.stdin(Stdio::null()).stderr(Stdio::inherit()).output();
        let output = output.context("cannot run qemu-system-aarch64")?;
        let text = String::from_utf8_lossy(&output.stdout).replace('\r', "");
        ensure!(output.status.success(), "{text}\nqemu: {}", output.status);
        Ok(text)
    }
}

/// The file of a folder whose name begins so.
fn file_of(folder: &Path, beginning: &str) -> Result<PathBuf> {
    let entries = fs::read_dir(folder).with_context(|| format!("there is no {folder:?}"))?;
    let mut paths = entries.flatten().map(|entry| entry.path());
    let found = paths.find(|path| {
        let name = path.file_name().unwrap_or_default().to_string_lossy();
        name.starts_with(beginning)
    });
    found.with_context(|| format!("{folder:?} has no {beginning}"))
}
