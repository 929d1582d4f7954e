//! Names addresses of a file, to look at or to measure: `lookup FILE [ADDRESS…]`. Without addresses
//! it takes 2 000 at random from the file's functions and prints the time. With `--symbols` before
//! the file, debug information is skipped.

use std::error::Error;
use std::io::Write;
use std::time::Instant;

use object::{Object, ObjectSymbol, SymbolKind};
use profundo_symbols::Symbolizer;

fn main() -> Result<(), Box<dyn Error>> {
    let mut arguments = std::env::args().skip(1).peekable();
    let symbols_only = arguments.next_if(|word| word == "--symbols").is_some();
    let path = arguments.next().ok_or("which file?")?;
    let mut addresses = Vec::new();
    for text in arguments {
        addresses.push(u64::from_str_radix(text.trim_start_matches("0x"), 16)?);
    }
    let measure = addresses.is_empty();
    if measure {
        addresses = random_addresses(&path, 2_000)?;
    }
    // The peak counts from here.
    let _ = std::fs::write("/proc/self/clear_refs", "5");
    let before = peak_memory();
    let symbolizer = Symbolizer::new().with_symbols_only(symbols_only.then(|| path.clone()));
    let start = Instant::now();
    let found = symbolizer.resolve(&path, &[], &addresses);
    let first = start.elapsed();
    let start = Instant::now();
    symbolizer.resolve(&path, &[], &addresses);
    let second = start.elapsed();

    let mut out = std::io::stdout().lock();
    if !measure {
        for (address, frames) in addresses.iter().zip(&found) {
            writeln!(out, "{address:#x}")?;
            for frame in frames.iter() {
                writeln!(out, "  {frame:?}")?;
            }
        }
    }
    let named = found
        .iter()
        .filter(|frames| !frames[0].function.is_empty())
        .count();
    let lines = found.iter().filter(|frames| frames[0].line > 0).count();
    let frames: usize = found.iter().map(|frames| frames.len()).sum();
    writeln!(
        out,
        "{} addresses: {named} named, {lines} with a line, {frames} frames; {first:.1?}, again \
         {second:.1?}; peak memory {before} then {} KB",
        addresses.len(),
        peak_memory(),
    )?;
    Ok(())
}

/// Addresses inside functions, the same in each run.
fn random_addresses(path: &str, count: usize) -> Result<Vec<u64>, Box<dyn Error>> {
    let bytes = std::fs::read(path)?;
    let file = object::File::parse(&*bytes)?;
    let functions: Vec<(u64, u64)> = file
        .symbols()
        .chain(file.dynamic_symbols())
        .filter(|symbol| symbol.kind() == SymbolKind::Text && symbol.size() > 0)
        .map(|symbol| (symbol.address(), symbol.size()))
        .collect();
    if functions.is_empty() {
        return Err("the file has no functions".into());
    }
    let mut state = 0x9e37_79b9_7f4a_7c15u64;
    let mut random = || {
        state = state
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1);
        state >> 33
    };
    Ok((0..count)
        .map(|_| {
            let (start, size) = functions[random() as usize % functions.len()];
            start + random() % size
        })
        .collect())
}

/// The largest resident size since the count began, in KB, by the kernel's count.
fn peak_memory() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"));
    line.and_then(|rest| rest.split_whitespace().next()?.parse().ok())
        .unwrap_or(0)
}
