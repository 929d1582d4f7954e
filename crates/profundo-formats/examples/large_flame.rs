//! Writes a flame graph of so many frames, for a look at how fast a browser is with it.
//!
//! `cargo run --release -p profundo-formats --example large_flame -- 100000 large.svg`, and with
//! `inverted` behind it for the functions that ran at the root.

use std::env;
use std::fs::File;
use std::io::BufWriter;

use profundo_formats::export::{Format, Options, write};
use profundo_model::Profile;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let mut arguments = env::args().skip(1);
    let frames: usize = arguments.next().ok_or("how many frames?")?.parse()?;
    let path = arguments.next().ok_or("which file?")?;
    let options = Options {
        bottom_up: arguments.next().as_deref() == Some("inverted"),
        ..Options::default()
    };
    let profile = Profile::from_folded(&folded(frames))?;
    let mut out = BufWriter::new(File::create(path)?);
    write(&profile, Format::FLAME, &options, &mut out)?;
    Ok(())
}

/// Stacks that share their beginnings, so that each adds some frames: about `frames` in all.
fn folded(frames: usize) -> String {
    let mut random = 0x9E37_79B9_7F4A_7C15_u64;
    let mut below = move |bound: u64| {
        random ^= random << 13;
        random ^= random >> 7;
        random ^= random << 17;
        random % bound
    };
    let mut text = String::new();
    let mut path: Vec<u64> = Vec::new();
    let mut made = 0;
    while made < frames {
        // Most stacks differ from the one before near the end, and few near the root.
        let depth = path.len() as u64;
        path.truncate(below(depth.max(1)).max(below(depth.max(1))) as usize);
        for _ in 0..=below(12) {
            if path.len() < 60 {
                path.push(below(5_000));
                made += 1;
            }
        }
        let names = path.iter().map(|number| {
            let area = number % 40;
            format!("service::area_{area}::Worker::step_{number}")
        });
        text += &names.collect::<Vec<String>>().join(";");
        text += &format!(" {}\n", 1 + below(50) * below(50));
    }
    text
}
