//! A CPython that can run without the global lock, built from Debian's source.

use std::path::{Path, PathBuf};

use anyhow::{Context, Result};

use super::root::Root;

/// The newest one first: an archive may not have the sources of all its packages.
const VERSIONS: &[&str] = &["3.15", "3.14", "3.13"];

/// The path of the interpreter in the root. It is built if there is none.
pub fn made(root: &Root) -> Result<PathBuf> {
    if let Some(found) = found(root) {
        return Ok(found);
    }
    for version in VERSIONS {
        println!("building a free-threaded CPython {version} (some minutes)");
        let script = format!(
            "set -e
mkdir -p /usr/src/python && cd /usr/src/python
for release in $(apt-cache madison python{version} | awk '/Sources/ {{print $3}}'); do
    apt-get source -qq --download-only \"python{version}=$release\" && break
done
mkdir -p {version} && tar xf python{version}_*.orig.tar.xz -C {version} --strip-components=1
cd {version} && ./configure -q --disable-gil --prefix=/opt/python{version}t CFLAGS=-O2
make -s -j2 && make -s install"
        );
        if root.run(&["sh", "-c", &script]).is_ok() {
            break;
        }
    }
    found(root).context("no source of a free-threaded CPython could be fetched and built")
}

fn found(root: &Root) -> Option<PathBuf> {
    let paths = VERSIONS.iter().map(|version| {
        let path = format!("/opt/python{version}t/bin/python{version}t");
        Path::new(&path).to_owned()
    });
    paths.into_iter().find(|path| root.outside(path).exists())
}
