//! Gives the command the path of the agent, which is this package's own library: it is built
//! before the command, and the command carries its bytes.
//!
//! A static command, which runs in any container, cannot have its agent built with it:
//! `PROFUNDO_AGENT` names one that was built before, by `cargo xtask static`.
//!
//! `cargo check` builds no library. So that it passes, an empty file stands in, which the next
//! real build replaces; the command says so when it finds itself without an agent.

use std::env;
use std::fs::{self, OpenOptions};
use std::path::PathBuf;

fn main() {
    // Not the library itself: it is newer than this script after each build, which would never
    // end. The command is built anew with it because it depends on it and includes it.
    println!("cargo::rerun-if-changed=build.rs");
    println!("cargo::rerun-if-env-changed={AGENT}");
    let agent = match env::var_os(AGENT).filter(|path| !path.is_empty()) {
        Some(path) => {
            let path = fs::canonicalize(path).expect("PROFUNDO_AGENT names a file that is there");
            println!("cargo::rerun-if-changed={}", path.display());
            path
        }
        None => own_library(),
    };
    println!("cargo::rustc-env={AGENT}={}", agent.display());
    // Its debug information would be most of the command's size, and of each session's.
    if env::var_os("PROFILE").is_some_and(|profile| profile == "release") {
        println!("cargo::rustc-link-arg-cdylib=-Wl,--strip-debug");
        // A program at a fixed place has no addresses to be put right at each start, which would be
        // a tenth of what a recording of a short program costs. One that is linked statically is
        // put together otherwise.
        if !is_static() {
            println!("cargo::rustc-link-arg-bins=-no-pie");
        }
    }
}

/// True if the command is linked statically, as is usual for musl.
fn is_static() -> bool {
    let features = env::var("CARGO_CFG_TARGET_FEATURE").unwrap_or_default();
    features.split(',').any(|feature| feature == "crt-static")
}

/// The variable that names an agent, and by which the command includes it.
const AGENT: &str = "PROFUNDO_AGENT";

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
