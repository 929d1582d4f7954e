//! Reads a file of another tool's and prints what it holds: the heaviest functions, calls, lines
//! and sites, its notes and warnings. For comparing a reader with the tool's own output.
//!
//! `cargo run --release --example read -- FILE [VALUE]`

#![expect(clippy::print_stdout, reason = "an example prints")]

use std::collections::HashMap;
use std::path::Path;
use std::time::Instant;

use profundo_import::{Options, read_file};
use profundo_model::{Profile, StackId};

fn main() {
    let mut words = std::env::args().skip(1);
    let path = words.next().expect("a file");
    let options = Options {
        value: words.next(),
    };
    let start = Instant::now();
    let imported = match read_file(Path::new(&path), &options) {
        Ok(imported) => imported,
        Err(error) => {
            println!("error: {error}");
            std::process::exit(1);
        }
    };
    let took = start.elapsed();
    let profile = &imported.profile;
    println!(
        "{} in {took:.3?}: {:?} {:?}, {} rows, {} stacks, {} sites, {} calls, {} lines, {} threads, {} processes",
        imported.reader.name(),
        profile.meta.kind,
        profile.meta.event,
        profile.samples.len(),
        profile.stacks.len(),
        profile.heap.sites.len(),
        profile.traced.calls.len(),
        profile.traced.lines.len(),
        profile.threads.len(),
        profile.processes.len(),
    );
    println!("{:?}", profile.meta);
    let samples = (profile.samples.iter()).map(|sample| (sample.stack, sample.weight.0));
    functions(profile, "weight", samples);
    let sites = &profile.heap.sites;
    functions(
        profile,
        "allocated",
        sites.iter().map(|site| (site.stack, site.allocated.bytes)),
    );
    functions(
        profile,
        "live",
        sites.iter().map(|site| (site.stack, site.live().bytes)),
    );
    functions(
        profile,
        "peak",
        sites.iter().map(|site| (site.stack, site.at_peak.bytes)),
    );
    for call in profile.traced.calls.iter().take(20) {
        let name = leaf(profile, call.stack);
        println!(
            "call {name}: {} times, {:?}, own {:?}",
            call.calls, call.total, call.own
        );
    }
    for line in profile.traced.lines.iter().take(20) {
        let name = profile.function_name(line.frame);
        println!(
            "line {name}:{}: {} hits, {:?}",
            profile.frames.get(line.frame).line,
            line.hits,
            line.time
        );
    }
    for warning in &imported.warnings {
        println!("warning: {warning}");
    }
}

/// The functions with the most weight, of their own and with what they call.
fn functions(profile: &Profile, what: &str, rows: impl Iterator<Item = (StackId, u64)>) {
    // Many rows share a stack, whose names are the same.
    let mut stacks: HashMap<StackId, u64> = HashMap::default();
    for (stack, weight) in rows {
        *stacks.entry(stack).or_default() += weight;
    }
    let mut sums: HashMap<String, (u64, u64)> = HashMap::default();
    let mut all = 0;
    for (stack, weight) in stacks {
        all += weight;
        let mut names: Vec<String> = (profile.stacks.locations(stack))
            .flat_map(|location| profile.locations.get(location).frames.iter())
            .map(|&frame| profile.function_name(frame).to_owned())
            .collect();
        if let Some(leaf) = names.first() {
            sums.entry(leaf.clone()).or_default().0 += weight;
        }
        names.sort();
        names.dedup();
        for name in names {
            sums.entry(name).or_default().1 += weight;
        }
    }
    if all == 0 {
        return;
    }
    println!("{what}: {all}");
    let mut sums: Vec<_> = sums.into_iter().collect();
    sums.sort_by_key(|(_, (own, total))| std::cmp::Reverse((*own, *total)));
    for (name, (own, total)) in sums.iter().take(25) {
        println!("  {own:>14} {total:>14}  {name}");
    }
}

fn leaf(profile: &Profile, stack: StackId) -> &str {
    let location = profile.stacks.locations(stack).next();
    let frame = location.and_then(|location| profile.locations.get(location).frames.first());
    frame.map_or("", |&frame| profile.function_name(frame))
}
