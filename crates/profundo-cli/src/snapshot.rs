//! `snapshot`: the objects of a process that runs, as a heap snapshot.

mod pages;

use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::time::Instant;

use anyhow::{Context, Result, anyhow};
use profundo_formats::heapsnapshot::{self, Parts};
use profundo_ingest::Objects;
use profundo_model::graph::Sink;
use profundo_remote::door::{CopiedMemory, Door, Refused, Told};

use crate::assemble::may_replace;
use crate::attach::is_over;
use crate::launch::Signals;
use crate::options::{Snapshot, Through};
use crate::progress::Progress;
use crate::{carried, say};

pub fn snapshot(options: &Snapshot) -> Result<ExitCode> {
    if options.pages {
        return pages::pages(options);
    }
    let began = Instant::now();
    let out = match &options.output {
        Some(path) => path.clone(),
        None => default_path(options.pid, options.streaming),
    };
    let what = heapsnapshot::Options {
        redact: !options.no_redact,
        all_one: options.all_one,
    };
    let prefix = match options.streaming {
        true => out.clone(),
        false => {
            may_replace(&out)?;
            beside(&out)
        }
    };
    // No half file is left, whenever somebody wants it to end.
    let signals = Signals::take_also(&[], false)?;
    let unwritten = || format!("cannot write the snapshot of process {}", options.pid);
    let mut parts = Parts::create(&prefix, what).with_context(unwritten)?;
    let told = tell(
        options.pid,
        !options.no_redact,
        &options.through,
        &mut parts,
        &mut |_| {},
    )?;
    parts.finish().with_context(unwritten)?;
    if !options.streaming {
        let progress = Progress::start("writing the snapshot");
        let done = heapsnapshot::assemble_and_remove(&prefix, &out);
        drop(progress);
        if let Err(error) = done {
            let _ = heapsnapshot::remove_parts(&prefix);
            return Err(anyhow!(error).context(unwritten()));
        }
    }
    signals.release();
    let seconds = began.elapsed().as_secs_f64();
    let milliseconds = (told.pause + told.borrowed).as_secs_f64() * 1e3;
    say::note(&format!(
        "{} objects, {} references; the program was held up for {milliseconds:.1} ms, and all took {seconds:.1} s",
        told.end.nodes, told.end.edges,
    ));
    say::note(&match options.streaming {
        true => format!(
            "wrote {0}.nodes, .edges, .strings and .metadata.json; make one file of them with `profundo assemble {0}`",
            out.display()
        ),
        false => format!(
            "wrote {0}; look at it with `profundo heap {0}`, or in Chrome's DevTools (Memory, Load profile)",
            out.display()
        ),
    });
    Ok(ExitCode::SUCCESS)
}

/// Has a process tell of its objects. `look` may then look at the memory that they lie in.
pub fn tell<S>(
    pid: u32,
    redact: bool,
    through: &Through,
    sink: &mut S,
    look: &mut dyn FnMut(CopiedMemory),
) -> Result<Told>
where
    S: Sink,
    S::Error: std::error::Error + Send + Sync + 'static,
{
    let why = |refused: Refused| {
        let refused = match refused {
            Refused::Machine(gap) => Refused::Machine(gap.of_verb("snapshot")),
            other => other,
        };
        anyhow!(refused).context(format!("cannot take a snapshot of process {pid}"))
    };
    let library = carried::library()?;
    let signals = Signals::take_also(&[], false)?;
    let progress = Progress::start("looking where the program can be asked");
    let mut door = Door::of(pid, &library, through.filtered).map_err(why)?;
    door.until(|| is_over(&signals));
    drop(progress);
    let progress = Progress::start("going through its objects");
    let mut objects = Objects::new(sink)?;
    let options = profundo_remote::door::Objects {
        redact,
        patience: through.timeout,
        filtered: through.filtered,
    };
    let told = door.objects(options, &mut |item| objects.item(item), look);
    drop(progress);
    drop(door);
    signals.release();
    let told = told.map_err(why)?;
    match objects.finish()? {
        true => Ok(told),
        false => Err(why(Refused::CopyDamaged)),
    }
}

/// Where the parts lie while they are no snapshot yet.
fn beside(out: &Path) -> PathBuf {
    let mut name = OsString::from(".");
    name.push(out.file_name().unwrap_or_default());
    name.push(format!(".{}", std::process::id()));
    out.with_file_name(name)
}

fn default_path(pid: u32, streaming: bool) -> PathBuf {
    let ending = if streaming { "" } else { ".heapsnapshot" };
    let name = crate::attach::name_of(pid);
    PathBuf::from(format!("profundo.{name}.{pid}{ending}"))
}
