//! Profiles of other tools: each verb that reads recordings takes them as well.

use std::fs::File;
use std::io::Read;
use std::path::Path;

use anyhow::{Result, anyhow};
use profundo_console::progress::Progress;
use profundo_console::stderr;
use profundo_formats::is_profundo;
use profundo_import::{Error, Options, Reader};
use profundo_model::{Profile, StringId, folders_of_copies};
use profundo_save::naming;

/// The reader of a file that is another tool's.
pub fn reader(path: &Path) -> Option<Reader> {
    // A pipe is not read a second time.
    if !path.is_file() {
        return None;
    }
    let mut start = Vec::new();
    let file = File::open(path).ok()?;
    file.take(64 << 10).read_to_end(&mut start).ok()?;
    match is_profundo(&start) {
        true => None,
        false => profundo_import::reader_of(&start),
    }
}

/// The name of a format that is known and not read, and the way around it.
pub fn refusal(path: &Path) -> Option<String> {
    let mut start = Vec::new();
    let file = File::open(path).ok().filter(|_| path.is_file())?;
    file.take(64 << 10).read_to_end(&mut start).ok()?;
    profundo_import::refusal(&start)
}

/// Reads another tool's file, and gives it the names that it lacks. Returns warnings with it.
pub fn read(path: &Path, reader: Reader, value: Option<&str>) -> Result<(Profile, Vec<String>)> {
    let shown = path.display();
    let options = Options {
        value: value.map(str::to_owned),
    };
    let progress = Progress::start(format!("reading {shown} ({})", reader.name()));
    let imported = profundo_import::read_file(path, &options).map_err(|error| match error {
        Error::File { source, .. } => anyhow!("cannot read {shown}: {}", stderr::reason(&source)),
        other => anyhow::Error::new(other).context(format!("cannot read {shown}")),
    });
    drop(progress);
    let imported = imported?;
    let mut profile = imported.profile;
    name_programs(&mut profile, path);
    let samples = profile.samples.len();
    let copies = folders_of_copies(path).into();
    naming::complete_with_copies(&mut profile, samples, copies);
    let warnings = (imported.warnings.iter()).map(|warning| format!("{shown}: {warning}"));
    Ok((profile, warnings.collect()))
}

/// Names programs that are not known after the file.
fn name_programs(profile: &mut Profile, path: &Path) {
    let file = path
        .file_name()
        .unwrap_or(path.as_os_str())
        .to_string_lossy();
    let are_several = profile.processes.len() > 1;
    for process in &mut profile.processes {
        if process.command == StringId(0) {
            let name = match are_several {
                true => format!("process {} of {file}", process.pid),
                false => file.to_string(),
            };
            process.command = profile.strings.intern(&name);
        }
    }
}
