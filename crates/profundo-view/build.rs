//! Packs the page, which is a third as long so: the command carries it, and shows it seldom.

use std::env;
use std::fs::{self, File};
use std::io::Write;
use std::path::PathBuf;

use flate2::Compression;
use flate2::write::DeflateEncoder;

/// The page that `ui/` builds.
const PAGE: &str = "page.html";

fn main() {
    println!("cargo::rerun-if-changed=build.rs");
    println!("cargo::rerun-if-changed={PAGE}");
    let page = fs::read(PAGE).expect("the page is beside the manifest");
    let out = PathBuf::from(env::var_os("OUT_DIR").expect("Cargo sets OUT_DIR"));
    let file = File::create(out.join("page.deflate")).expect("Cargo's own folder can be written");
    let mut packed = DeflateEncoder::new(file, Compression::best());
    packed
        .write_all(&page)
        .and_then(|()| packed.finish().map(drop))
        .expect("Cargo's own folder can be written");
}
