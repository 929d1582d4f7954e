//! Gives the command the path of the agent, which is this package's own library: it is built
//! before the command, and the command carries its bytes.
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
    println!("cargo::rustc-env=PROFUNDO_AGENT={}", agent.display());
    // Its debug information would be most of the command's size, and of each session's.
    if env::var_os("PROFILE").is_some_and(|profile| profile == "release") {
        println!("cargo::rustc-link-arg-cdylib=-Wl,--strip-debug");
        // A program at a fixed place has no addresses to be put right at each start, which would be
        // a tenth of what a recording of a short program costs.
        println!("cargo::rustc-link-arg-bins=-no-pie");
    }
}
