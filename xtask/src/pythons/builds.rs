//! Builds of CPython that Debian does not have, made from its source, or from Ubuntu's.

use std::path::{Path, PathBuf};

use super::root::Root;

/// A way to build CPython.
pub struct Build {
    /// Behind the version in the name of its folder: the `t` of `/opt/python3.13t`.
    pub suffix: &'static str,
    /// Behind the version in the name of its executable.
    abi: &'static str,
    /// The versions that can be built so, the newest first: an archive may not have the sources of
    /// all its packages.
    versions: &'static [&'static str],
    /// The options of `configure`, as a shell has them.
    options: &'static str,
    /// Packages that only this build needs.
    packages: &'static [&'static str],
}

pub const BUILDS: &[Build] = &[
    Build {
        suffix: "t",
        abi: "t",
        versions: &["3.15", "3.14", "3.13"],
        options: "--disable-gil CFLAGS=-O2",
        packages: &[],
    },
    Build {
        suffix: "td",
        abi: "td",
        versions: &["3.15", "3.14", "3.13"],
        options: "--disable-gil --with-pydebug",
        packages: &[],
    },
    Build {
        suffix: "-tail-calls",
        abi: "",
        versions: &["3.15", "3.14"],
        options: "--with-tail-call-interp CC=clang-19 CFLAGS=-O2",
        packages: &["clang-19"],
    },
];

/// Fetches the source of a version. An archive lists sources that it no longer has, so each is
/// tried. Ubuntu's archive has some that Debian's lacks, signed by its own keys.
const SOURCES: &str = "mkdir -p /usr/src/python && cd /usr/src/python
have() { ls python${version}_*.orig.tar.xz 2> /dev/null | tail -n 1; }
fetch() {
    for release in $(apt-cache madison python$version | awk '/Sources/ {print $3}'); do
        [ -n \"$(have)\" ] || apt-get source -qq --download-only python$version=$release || true
    done
}
[ -n \"$(have)\" ] || fetch
if [ -z \"$(have)\" ] && [ ! -e /etc/apt/sources.list.d/ubuntu.list ]; then
    apt-get install -y -qq --no-install-recommends ubuntu-keyring
    for suite in resolute resolute-updates questing questing-updates; do
        echo \"deb-src [signed-by=/usr/share/keyrings/ubuntu-archive-keyring.gpg]\" \\
            \"http://archive.ubuntu.com/ubuntu $suite main universe\"
    done > /etc/apt/sources.list.d/ubuntu.list
    apt-get update -qq
    fetch
fi
[ -n \"$(have)\" ]";

impl Build {
    /// The path of the interpreter in the root. It is built if there is none. `None`: the archive
    /// does not have the source, or it cannot be built.
    pub fn made(&self, root: &Root) -> Option<PathBuf> {
        self.found(root).or_else(|| {
            let packages = self.packages;
            let install = ["apt-get", "install", "-y", "-qq", "--no-install-recommends"];
            if !packages.is_empty() && root.run(&[&install[..], packages].concat()).is_err() {
                return None;
            }
            let mut versions = self.versions.iter();
            versions.find(|version| self.build(root, version))?;
            self.found(root)
        })
    }

    /// Whether it could be built.
    fn build(&self, root: &Root, version: &str) -> bool {
        let Self {
            suffix, options, ..
        } = self;
        println!("building CPython {version}{suffix} (some minutes)");
        let script = format!(
            "set -e
version={version} name={version}{suffix}
{SOURCES}
rm -rf $name && mkdir $name
tar xf $(have) -C $name --strip-components=1
cd $name && ./configure -q --prefix=/opt/python$name {options}
make -s -j2 && make -s install
cd .. && rm -rf $name"
        );
        root.run(&["sh", "-c", &script]).is_ok()
    }

    fn found(&self, root: &Root) -> Option<PathBuf> {
        let Self { suffix, abi, .. } = self;
        let paths = self.versions.iter().map(|version| {
            let path = format!("/opt/python{version}{suffix}/bin/python{version}{abi}");
            Path::new(&path).to_owned()
        });
        paths.into_iter().find(|path| root.outside(path).exists())
    }
}
