//! `track-allocation`: the bytes that each line of source allocates, in files beside the sources;
//! and the list that is made of such files.

mod code_lines;

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::io::{self, BufWriter, Write};
use std::os::unix::process::CommandExt;
use std::path::{Component, Path, PathBuf};
use std::process::{Command, ExitCode};
use std::time::{Duration, SystemTime};

use anyhow::{Context, Result, bail};
use profundo_analysis::{Ownership, Place, Tracked, allocated_by_source};
use profundo_console::output::{Kind, Text};
use profundo_console::stderr;
use profundo_formats::mem::{self, Count};
use profundo_launch::{Program, end_as};
use profundo_model::{FrameId, ProcessId, Profile};
use profundo_report::text;

use crate::open::Samples;
use crate::options::{Recording, Scope, TrackAllocation};
use crate::{open, record};

pub fn track(options: &TrackAllocation) -> Result<ExitCode> {
    if !options.analyze.is_empty() {
        return analyze(&options.analyze);
    }
    if options.scope == Scope::None {
        let program = Program::find(&options.words)?;
        let error = Command::new(&program.path)
            .args(&program.arguments[1..])
            .env_remove(profundo_launch::PYTHON)
            .exec();
        return Err(error).with_context(|| format!("cannot run {}", program.path.display()));
    }
    let scope = match &options.scope {
        // Files have absolute paths, so the folder needs one as well.
        Scope::Below(folder) => Scope::Below(
            fs::canonicalize(folder)
                .with_context(|| format!("cannot look into {}", folder.display()))?,
        ),
        other => other.clone(),
    };
    let name = format!("profundo-track.{}.profundo", std::process::id());
    let file = std::env::temp_dir().join(name);
    let recorded = record::with_options(
        &Recording::of_allocations(file.clone()),
        false,
        &options.own_code.rules(),
        &options.words,
        &|_| {},
    );
    let written = recorded.and_then(|recorded| {
        record::note_failure(&recorded);
        let profile = open::open_without_warnings(&file, Samples::Each, None)?;
        write_all(&profile, &scope, options.output.as_deref(), options.force)?;
        Ok(end_as(recorded.ended))
    });
    let _ = fs::remove_file(&file);
    written
}

/// Writes the files of all sources in the scope.
fn write_all(profile: &Profile, scope: &Scope, output: Option<&Path>, force: bool) -> Result<()> {
    let owners = Ownership::new(profile);
    let is_meant = |frame: FrameId| {
        let row = profile.frames.get(frame);
        let path = Path::new(profile.strings.get(profile.files.get(row.file).path));
        path.is_absolute()
            && match scope {
                Scope::None => false,
                Scope::User => !owners.is_library_frame(Place::Frame(frame)),
                Scope::All => true,
                Scope::Below(folder) => path.starts_with(folder),
            }
    };
    let tracked = allocated_by_source(profile, is_meant);
    let path = |tracked: &Tracked| profile.strings.get(profile.files.get(tracked.file).path);
    let of_python: BTreeSet<&str> = (tracked.iter().filter(|row| row.is_python))
        .map(path)
        .collect();
    let of_python: Vec<&str> = of_python.into_iter().collect();
    let mut code = code_lines::of_python(profile, &of_python);
    if tracked.iter().any(|row| !row.is_python) {
        for (file, lines) in code_lines::of_modules(profile) {
            code.entry(file).or_default().extend(lines);
        }
    }
    let began = SystemTime::UNIX_EPOCH + Duration::from_nanos(profile.meta.started_at_unix);
    let (mut written, mut missing, mut refused) = (0, 0, None);
    for tracked in &tracked {
        let source_path = path(tracked);
        let Some(source) = source(Path::new(source_path), began) else {
            missing += 1;
            continue;
        };
        let pid = profile.processes[tracked.process.index()].pid;
        let target = target(Path::new(source_path), pid, output);
        match write_one(
            &target,
            &source,
            tracked,
            code.get(source_path),
            Path::new(source_path),
            force,
        ) {
            Ok(()) => written += 1,
            Err(error) => refused = Some((target, error)),
        }
    }
    if let Some((target, error)) = refused {
        let io = error.root_cause().downcast_ref::<io::Error>();
        stderr::note(&match io {
            Some(io) => format!(
                "cannot write {} ({}); --output DIR writes elsewhere",
                target.display(),
                stderr::reason(io)
            ),
            None => stderr::chain(error.as_ref()),
        });
    }
    let unknown: BTreeMap<ProcessId, u64> = (tracked.iter())
        .map(|row| (row.process, row.unknown))
        .collect();
    let unknown: u64 = unknown.into_values().sum();
    if unknown > 0 {
        stderr::note(&format!(
            "it is not known which lines allocated {}: there was no room for all frames of their stacks. Numbers are too \
             low by that, and `?` stands where there is none",
            text::bytes(unknown)
        ));
    }
    let place = match output {
        Some(folder) => format!("below {}", folder.display()),
        None => "beside the sources".to_owned(),
    };
    let missing = match missing {
        0 => String::new(),
        some => format!("; {some} sources are not there, or have changed"),
    };
    let plural = if written == 1 { "" } else { "s" };
    stderr::note(&format!(
        "wrote {written} .mem file{plural} {place}{missing}"
    ));
    Ok(())
}

fn write_one(
    target: &Path,
    source: &[u8],
    tracked: &Tracked,
    code: Option<&BTreeSet<u32>>,
    source_path: &Path,
    force: bool,
) -> Result<()> {
    if let Some(folder) = target.parent() {
        fs::create_dir_all(folder)?;
    }
    let has_code = |line: u32| code.is_some_and(|code| code.contains(&line));
    let count_of = |line: u32| match tracked.lines.get(&line) {
        Some(&bytes) => Count::Bytes(bytes),
        // Bytes of an unknown line may have been allocated here.
        None if tracked.unknown > 0 && has_code(line) => Count::Unknown,
        None if has_code(line) => Count::Bytes(0),
        None => Count::NoCode,
    };
    let text = Text::create(target, Kind::Mem, &[source_path], force)?;
    text.write(|out| Ok(mem::write(source, count_of, &mut &mut *out)?))
}

/// The text of a source file, if it is the one that ran.
fn source(path: &Path, began: SystemTime) -> Option<Vec<u8>> {
    let metadata = fs::metadata(path).ok()?;
    let is_older = metadata.modified().is_ok_and(|modified| modified <= began);
    (metadata.is_file() && is_older)
        .then(|| fs::read(path).ok())
        .flatten()
}

/// `FILE.PID.mem`, beside the source or at the same place below a folder.
fn target(source: &Path, pid: u32, output: Option<&Path>) -> PathBuf {
    let mut name = source.as_os_str().to_owned();
    name.push(format!(".{pid}.mem"));
    let path = PathBuf::from(name);
    let Some(folder) = output else { return path };
    let here = std::env::current_dir().ok();
    let inside = here.and_then(|here| Some(path.strip_prefix(here).ok()?.to_owned()));
    let inside = inside.unwrap_or_else(|| {
        let parts = path.components();
        parts
            .filter(|part| matches!(part, Component::Normal(_)))
            .collect()
    });
    folder.join(inside)
}

/// Lists the lines of `.mem` files, the largest number last, as Julia's Coverage does.
fn analyze(paths: &[PathBuf]) -> Result<ExitCode> {
    let mut files = Vec::new();
    for path in paths {
        find(path, &mut files).with_context(|| format!("cannot read {}", path.display()))?;
    }
    if files.is_empty() {
        bail!("there are no .mem files; `profundo track-allocation -- CMD` makes them");
    }
    files.sort();
    files.dedup();
    let mut rows: Vec<(u64, usize, u32)> = Vec::new();
    for (number, file) in files.iter().enumerate() {
        let text = fs::read(file).with_context(|| format!("cannot read {}", file.display()))?;
        rows.extend((mem::read(&text).into_iter()).map(|(line, bytes)| (bytes, number, line)));
    }
    rows.sort_unstable();
    let mut out = BufWriter::new(io::stdout().lock());
    for (bytes, number, line) in rows {
        let file = files[number].display();
        writeln!(out, "{bytes:>12}  {file}:{line}")?;
    }
    out.flush()?;
    Ok(ExitCode::SUCCESS)
}

fn find(path: &Path, files: &mut Vec<PathBuf>) -> io::Result<()> {
    if !fs::metadata(path)?.is_dir() {
        files.push(path.to_owned());
        return Ok(());
    }
    for entry in fs::read_dir(path)? {
        let entry = entry?;
        let inside = entry.path();
        // Links may lead in circles.
        if entry.file_type()?.is_dir() {
            find(&inside, files)?;
        } else if inside
            .extension()
            .is_some_and(|extension| extension == "mem")
        {
            files.push(inside);
        }
    }
    Ok(())
}
