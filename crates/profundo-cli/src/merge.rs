//! `merge`: several recordings become one. Samples go to the file input by input, so the memory
//! grows with the distinct stacks, and not with the number of recordings.

use std::collections::HashSet;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use anyhow::{Result, bail};
use profundo_analysis::{InputLabels, Merging};
use profundo_console::progress::Progress;
use profundo_console::{output, stderr};
use profundo_formats::{StreamWriter, overview_file};
use profundo_model::{Alignment, Meta};
use profundo_save::raw;

use crate::fleet;
use crate::foreign;
use crate::open;
use crate::options::{self, Merge};
use crate::recordings::meant;

/// A recording to be merged.
struct Input {
    path: PathBuf,
    labels: InputLabels,
}

pub fn merge(options: &Merge) -> Result<ExitCode> {
    let labelled = (options.labelled()).unwrap_or_else(|why| options::refuse(&why));
    let inputs: Vec<Input> = (labelled.into_iter())
        .map(|input| {
            let path = meant(Some(input.file))?;
            let stem = path.file_stem().unwrap_or(path.as_os_str());
            let name = fleet::name(&path);
            let labels = InputLabels {
                name: name.unwrap_or_else(|| stem.to_string_lossy().into_owned()),
                labels: input.labels.0,
            };
            Ok(Input { path, labels })
        })
        .collect::<Result<_>>()?;
    if inputs.len() < 2 {
        options::refuse("one recording cannot be merged: name two or more");
    }
    if let Some(twice) = named_twice(&inputs) {
        let path = twice.display();
        options::refuse(&format!(
            "{path} is named twice, and its samples would count twice"
        ));
    }
    let paths: Vec<&Path> = inputs.iter().map(|input| input.path.as_path()).collect();
    let kind = output::Kind::Recording;
    let text = output::Text::create(&options.output, kind, &paths, options.force)?;
    let first_start = first_start(&paths)?;
    let alignment = Alignment::from(options.align);
    let value = options.reading.value.as_deref();
    let mut samples = 0;
    text.write(|out| {
        samples = write(&inputs, value, (alignment, first_start), out)?;
        Ok(())
    })?;
    if !output::is_stdout(&options.output) {
        let shown = options.output.display();
        stderr::note(&format!(
            "merged {} recordings with {samples} samples into {shown}",
            inputs.len()
        ));
    }
    Ok(ExitCode::SUCCESS)
}

/// A recording that is among the inputs more than once.
fn named_twice(inputs: &[Input]) -> Option<&Path> {
    let mut files = HashSet::new();
    let is_again = |input: &&Input| {
        let file = input.path.canonicalize();
        !files.insert(file.unwrap_or_else(|_| input.path.clone()))
    };
    let again = inputs.iter().find(is_again);
    again.map(|input| input.path.as_path())
}

/// The earliest start of any input, in nanoseconds since 1970; 0 where none is known.
fn first_start(paths: &[&Path]) -> Result<u64> {
    let mut first = u64::MAX;
    for path in paths {
        if let Some(query) = fleet::query(path) {
            first = first.min(fleet::read(query)?.meta.started_at_unix);
            continue;
        }
        let meta = match (raw::is_raw(path), foreign::reader(path)) {
            (true, _) => raw::read_file(path)?.meta,
            (_, Some(reader)) => foreign::read(path, reader, None)?.0.meta,
            _ => {
                let overview = overview_file(path);
                overview.map_err(|error| open::why(path, error))?.meta
            }
        };
        let started = meta.started_at_unix;
        if started > 0 {
            first = first.min(started);
        }
    }
    Ok(if first == u64::MAX { 0 } else { first })
}

/// Writes the merged recording, and returns its number of samples.
fn write(
    inputs: &[Input],
    value: Option<&str>,
    (alignment, first_start): (Alignment, u64),
    out: &mut dyn std::io::Write,
) -> Result<u64> {
    // The list of recordings reads when one began from its first chunk.
    let begun = Meta {
        started_at_unix: first_start,
        ..Meta::default()
    };
    let mut file = StreamWriter::new(out, &begun)?;
    let mut merging = Merging::new(alignment, first_start);
    let mut samples = 0;
    for (number, input) in inputs.iter().enumerate() {
        let _progress = Progress::start(format!("merging {} of {}", number + 1, inputs.len()));
        let profile = open::open_unsettled(&input.path, value)?;
        if let Err(why) = merging.add(&profile, &input.labels) {
            bail!("{why}; nothing was written");
        }
        samples += profile.sample_count();
        file.flush(merging.profile_mut())?;
    }
    let mut merged = merging.finish();
    file.finish(&mut merged)?;
    Ok(samples)
}
