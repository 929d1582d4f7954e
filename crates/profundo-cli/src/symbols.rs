//! `symbols`: the symbols of programs in a store, for profiles that have addresses only.

use std::io::{self, Write};
use std::process::ExitCode;

use anyhow::{Context, Result};
use profundo_console::stderr;
use profundo_push::Destination;
use profundo_store::Store;
use profundo_symbol_store as symbol_store;

use crate::options::{self, AddSymbols, ListSymbols, Symbols, SymbolsVerb};

pub fn symbols(options: &Symbols) -> Result<ExitCode> {
    match &options.verb {
        SymbolsVerb::Add(options) => add(options),
        SymbolsVerb::List(options) => list(options),
    }
}

fn add(options: &AddSymbols) -> Result<ExitCode> {
    let store = open(&options.to)?;
    let mut failed = 0;
    for path in &options.files {
        match symbol_store::add(&*store, path) {
            Ok(added) => {
                let file = &added.file;
                let lines = match added.has_lines {
                    true => "",
                    false => ", without lines: it has no debug information",
                };
                let done = match added.was_there {
                    true => "was there already",
                    false => "is added",
                };
                stderr::note(&format!("{} ({}) {done}{lines}", file.name, file.build_id));
            }
            Err(error) => {
                failed += 1;
                stderr::error(&error.into());
            }
        }
    }
    Ok(ExitCode::from(u8::from(failed > 0)))
}

fn list(options: &ListSymbols) -> Result<ExitCode> {
    let store = open(&options.store)?;
    let files = symbol_store::list(&*store)?;
    let mut out = io::stdout().lock();
    let widest = files.iter().map(|file| file.name.len()).max().unwrap_or(0);
    for file in &files {
        let megabytes = file.size as f64 / 1e6;
        writeln!(
            out,
            "{:widest$}  {megabytes:8.1} MB  {}",
            file.name, file.build_id
        )?;
    }
    if files.is_empty() {
        stderr::note(&format!("{} has no symbols", options.store));
    }
    Ok(ExitCode::SUCCESS)
}

fn open(place: &str) -> Result<Box<dyn Store>> {
    if Destination::is_remote(place) {
        options::refuse("symbols lie in a store: name a folder or s3://BUCKET/PREFIX");
    }
    profundo_store::open(place).with_context(|| format!("cannot open {place}"))
}
