//! `recover`: ends a recording whose writer was killed. The file has what was written; the
//! session's memory, which outlives the writer, may have more.

use std::collections::BTreeSet;
use std::fs;
use std::process::ExitCode;

use anyhow::{Context, Result, bail};
use profundo_console::output::{self, Detour};
use profundo_console::stderr;
use profundo_formats::{Warning, read_file, write_file};
use profundo_ingest::Ingest;
use profundo_model::{ModuleId, Nanos, Profile, SampleKind};
use profundo_save::{naming, qualified_names, sources, stack_weights};
use profundo_session::{Remains, find_remains, salvage};
use profundo_wire::recording::{Engine, Event, Finish, Instant, ModuleInfo, Start};
use rustc_hash::FxHashMap;

use crate::open;
use crate::options::Recover;

pub fn recover(options: &Recover) -> Result<ExitCode> {
    let path = &options.file;
    let output = options.output.as_deref().unwrap_or(path);
    if options.output.is_some() {
        output::check(output, output::Kind::Recording, &[], options.force)?;
    }
    let (profile, warnings) = read_file(path).map_err(|error| open::why(path, error))?;
    let is_cut = warnings
        .iter()
        .any(|warning| matches!(warning, Warning::Cut { .. } | Warning::Damaged { .. }));
    let absolute =
        fs::canonicalize(path).with_context(|| format!("cannot find {}", path.display()))?;
    let remains = find_remains(&absolute);
    if !is_cut && remains.is_none() {
        stderr::note(&format!(
            "{} is whole; there is nothing to recover",
            path.display()
        ));
        return Ok(ExitCode::SUCCESS);
    }
    let detour = Detour::of(output, "recording")?;
    let before = profile.samples.len();
    let mut profile = finish(profile, remains.as_ref())?;
    let found = profile.samples.len() - before;
    profile.meta.notes.push(format!(
        "the recording was cut off and recovered: what came last may be missing; {found} of its \
         samples were not in the file"
    ));
    let samples = profile.samples.len();
    naming::complete(&mut profile, samples);
    let mut weights = Vec::new();
    stack_weights::add_samples(&mut weights, &profile);
    stack_weights::add_sums(&mut weights, &profile);
    sources::keep(&mut profile, &weights, &mut sources::InMemory::default());
    let place = detour.path();
    write_file(place, &profile).map_err(|error| output::why_not_written(place, error))?;
    print_outcome(&detour.shown(), samples, found);
    detour.arrive()?;
    Ok(ExitCode::SUCCESS)
}

fn print_outcome(output: &str, samples: usize, found: usize) {
    stderr::note(&format!(
        "{samples} samples in {output}, {found} of them from memory; `profundo report {output}` \
         shows them"
    ));
}

/// Adds what the session's memory has, if there is any.
fn finish(profile: Profile, remains: Option<&Remains>) -> Result<Profile> {
    let cpu = profile.meta.cpu;
    let cost = profile.meta.own_cost;
    let (recorder_cpu, by_ticks) = (profile.meta.recorder_cpu, profile.meta.by_ticks);
    let now = profundo_linux::sys::instant();
    // A clock that has begun anew since then cannot be compared.
    let start = remains
        .map(|remains| remains.start)
        .filter(|start| start.started.monotonic <= now.monotonic)
        .unwrap_or(Start {
            allocations: profundo_wire::recording::Allocations::None,
            copies: (0, profundo_wire::recording::Allocations::None),
            engine: Engine::None,
            period: profile.meta.period.0,
            is_wall: profile.meta.kind == SampleKind::Wall,
            started: Instant::default(),
        });
    let meta = profile.meta.clone();
    let before = profile.clone();
    let mut ingest = Ingest::resume(profile, start).qualified_names(qualified_names::by_source());
    // Twice, since samples wait until the time is known on both sides of them.
    ingest.event(Event::Clock(start.started));
    if let Some(remains) = remains {
        let modules = modules(&before);
        salvage(&remains.directory, &mut |event| {
            let started = match &event {
                Event::Process(info) => Some((info.key, info.pid)),
                _ => None,
            };
            ingest.event(event);
            // The memory has addresses only; the file knows what lay there.
            if let Some((process, pid)) = started
                && let Some(modules) = modules.get(&pid)
            {
                let modules = modules.clone();
                ingest.event(Event::Modules { process, modules });
            }
        })?;
    }
    ingest.event(Event::Clock(now));
    let mut profile = ingest.finish(Finish {
        ended: now,
        ..Finish::default()
    });
    let last = profile.samples.iter().map(|sample| sample.time.0).max();
    profile.meta.engine = meta.engine;
    profile.meta.kind = meta.kind;
    profile.meta.started_at_unix = meta.started_at_unix;
    profile.meta.duration = Nanos(meta.duration.0.max(last.unwrap_or(0)));
    // The CPU time that was to be sampled is unknown.
    profile.meta.cpu = cpu;
    profile.meta.own_cost = cost;
    profile.meta.recorder_cpu = recorder_cpu;
    profile.meta.by_ticks = by_ticks;
    profile.meta.mine = meta.mine;
    if profile.samples.is_empty() && profile.processes.is_empty() {
        bail!("nothing had been recorded yet; there is nothing to recover");
    }
    Ok(profile)
}

/// The modules in which each process was seen, by process id.
fn modules(profile: &Profile) -> FxHashMap<u32, Vec<ModuleInfo>> {
    let mut seen: FxHashMap<u32, BTreeSet<ModuleId>> = FxHashMap::default();
    for sample in &profile.samples {
        let thread = profile.threads.get(sample.thread);
        let Some(process) = profile.processes.get(thread.process.index()) else {
            continue;
        };
        let seen = seen.entry(process.pid).or_default();
        let locations = profile.stacks.locations(sample.stack);
        seen.extend(locations.filter_map(|id| profile.locations.get(id).module));
    }
    let info = |id: ModuleId| {
        let module = profile.modules.get(id);
        ModuleInfo {
            path: profile.strings.get(module.path).to_owned(),
            start: module.start.0,
            end: module.end.0,
            bias: module.bias,
            build_id: module.build_id.clone(),
            loaded: 0,
            unloaded: u64::MAX,
        }
    };
    seen.into_iter()
        .map(|(pid, modules)| (pid, modules.into_iter().map(info).collect()))
        .collect()
}
