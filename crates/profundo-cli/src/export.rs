//! `export` and `flame`: a recording in a form for others.

use std::ffi::OsStr;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use anyhow::Result;
use profundo_analysis::Filter;
use profundo_formats::export::{Format, Options, to_path};

use crate::options::{Export, ExportFormat, Flame};
use crate::{reading, say};

pub fn export(options: &Export) -> Result<ExitCode> {
    let filter = options.filters.filter(options.until.until);
    let format = match options.format {
        ExportFormat::Pprof => Format::Pprof,
        ExportFormat::Collapsed => Format::Collapsed,
        ExportFormat::Speedscope => Format::Speedscope,
    };
    write(
        format,
        &options.recording,
        options.output.as_deref(),
        &filter,
        options.c,
    )
}

pub fn flame(options: &Flame) -> Result<ExitCode> {
    let filter = options.filters.filter(options.until.to);
    write(
        Format::Flame,
        &options.recording,
        options.output.as_deref(),
        &filter,
        options.c,
    )
}

fn write(
    format: Format,
    file: &Path,
    output: Option<&Path>,
    filter: &Filter,
    c: bool,
) -> Result<ExitCode> {
    let mut profile = reading::open(file)?;
    reading::keep_only(&mut profile, filter);
    let beside = beside(file, format);
    let output = output.unwrap_or(&beside);
    let options = Options {
        include_runtime: c,
        ..Options::default()
    };
    to_path(&profile, Some(format), &options, output)?;
    if output != Path::new("-") {
        say::note(&format!("wrote {}", output.display()));
    }
    Ok(ExitCode::SUCCESS)
}

/// The recording's name with the format's ending, in the current folder.
fn beside(file: &Path, format: Format) -> PathBuf {
    let stem = file.file_stem().unwrap_or(OsStr::new("profundo"));
    let mut name = stem.to_owned();
    name.push(".");
    name.push(format.extension());
    name.into()
}
