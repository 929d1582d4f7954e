//! Gives the command the path of the agent, which is this package's own library: it is built
//! before the command, and the command carries its bytes.
//!
//! A static command, which runs in any container, cannot have its agent built with it, and a
//! command that is published has one without symbols: `PROFUNDO_AGENT` names one that was built
//! before, by `cargo xtask static` or `cargo xtask dist`. A command that is optimised carries that
//! one packed.
//!
//! `cargo check` builds no library. So that it passes, an empty file stands in, which the next
//! real build replaces; the command says so when it finds itself without an agent.

use std::env;
use std::fs::{self, File, OpenOptions};
use std::io::Write;
use std::path::{Path, PathBuf};

use flate2::Compression;
use flate2::write::GzEncoder;

fn main() {
    // Not the library itself: it is newer than this script after each build, which would never
    // end. The command is built anew with it because it depends on it and includes it.
    println!("cargo::rerun-if-changed=build.rs");
    println!("cargo::rerun-if-env-changed={AGENT}");
    let agent = match env::var_os(AGENT).filter(|path| !path.is_empty()) {
        Some(path) => {
            let path = fs::canonicalize(path).expect("PROFUNDO_AGENT names a file that is there");
            println!("cargo::rerun-if-changed={}", path.display());
            // In a debug build it has so much debug information that packing would take a minute.
            if is_release() { packed(&path) } else { path }
        }
        None => own_library(),
    };
    println!("cargo::rustc-env={AGENT}={}", agent.display());
    // Its debug information would be most of the command's size, and of each session's.
    if is_release() {
        println!("cargo::rerun-if-env-changed={WHOLE}");
        if env::var_os(WHOLE).is_none() {
            println!("cargo::rustc-link-arg-cdylib=-Wl,--strip-debug");
        }
        // A program at a fixed place has no addresses to be put right at each start, which would be
        // a tenth of what a recording of a short program costs. One that is linked statically is
        // put together otherwise.
        if !is_static() {
            println!("cargo::rustc-link-arg-bins=-no-pie");
        }
    }
}

/// True for the profiles that optimise.
fn is_release() -> bool {
    env::var_os("PROFILE").is_some_and(|profile| profile == "release")
}

/// True if the command is linked statically, as is usual for musl.
fn is_static() -> bool {
    let features = env::var("CARGO_CFG_TARGET_FEATURE").unwrap_or_default();
    features.split(',').any(|feature| feature == "crt-static")
}

/// Packs an agent. Returns the path of the packed one.
fn packed(agent: &Path) -> PathBuf {
    let bytes = fs::read(agent).expect("PROFUNDO_AGENT can be read");
    let place = PathBuf::from(env::var_os("OUT_DIR").expect("Cargo sets OUT_DIR")).join("agent.gz");
    let file = File::create(&place).expect("Cargo's own folder can be written");
    let mut packed = GzEncoder::new(file, Compression::best());
    packed
        .write_all(&bytes)
        .and_then(|()| packed.finish().map(drop))
        .expect("Cargo's own folder can be written");
    place
}

/// The variable that names an agent, and by which the command includes it.
const AGENT: &str = "PROFUNDO_AGENT";

/// The variable that leaves the agent its debug information, which `cargo xtask dist` keeps beside
/// it.
const WHOLE: &str = "PROFUNDO_WHOLE_AGENT";

/// The place of this package's own library. Where it is not built, there is an empty file.
fn own_library() -> PathBuf {
    let out = PathBuf::from(env::var_os("OUT_DIR").expect("Cargo sets OUT_DIR"));
    // …/<profile>/build/<package>-<hash>/out
    let profile = out
        .ancestors()
        .nth(3)
        .expect("OUT_DIR lies in the profile's folder");
    let folder = profile.join("deps");
    let agent = folder.join("libprofundo_cli.so");
    fs::create_dir_all(&folder).expect("Cargo's own folder can be made");
    OpenOptions::new()
        .create(true)
        .append(true)
        .open(&agent)
        .expect("a file can be made beside the libraries");
    agent
}
