//! Archives in the Open Trace Format 2, as Score-P and others write them.
//!
//! The given file is the anchor, `traces.otf2`. Beside it lie the definitions, `traces.def`, and in
//! the folder `traces` the events of each location. A rank is a process, a location a thread; the
//! regions that a location enters and leaves make its tree of calls.

mod definitions;
mod events;
mod records;

use std::path::Path;

use profundo_model::{Call, Clock, FrameId, Nanos, StackId, ThreadId};
use rustc_hash::FxHashMap;

use crate::reader::{Reader, Table};
use crate::{Builder, Error, Named, Source, Warning, source};
use definitions::{Definitions, Region};
use events::Visit;
use records::{Anchor, Damage};

pub(crate) const READER: Reader = Reader(&Table {
    name: NAME,
    writers: "Score-P, TAU, HPX, the OTF2 library",
    is_start: records::is_anchor,
    fill,
});

const NAME: &str = "otf2";

fn fill(source: &Source<'_>, builder: &mut Builder) -> Result<(), Error> {
    let malformed = |what: &str| Error::Malformed {
        format: NAME,
        what: what.to_owned(),
    };
    let anchor = Anchor::read(source.bytes).map_err(malformed)?;
    let path = source.path;
    let path = path.ok_or_else(|| malformed("its events lie in other files, beside it"))?;
    let bytes = source::load_beside(&path.with_extension("def"))?;
    let (definitions, damage) = Definitions::read(&bytes, anchor.definition_chunk);
    warn(builder, "the definitions", damage);
    let ticks = definitions.ticks_per_second;
    let ticks = (ticks > 0).then_some(ticks);
    let ticks = ticks.ok_or_else(|| malformed("the definitions have no clock"))?;
    builder.begin_calls(Clock::Wall);
    let mut frames = FxHashMap::default();
    let mut span = (u64::MAX, 0);
    for location in &definitions.locations {
        let folder = path.with_extension("");
        let Some(tree) = location_tree(builder, &folder, location.id, anchor)? else {
            continue;
        };
        span = (span.0.min(tree.first), span.1.max(tree.last));
        let pid = u32::try_from(location.group).unwrap_or(0);
        builder.process(pid, definitions.group(location.group));
        let name = definitions.string(location.name);
        let thread = builder.thread(pid, location.id, name);
        add(
            builder,
            &definitions,
            &mut frames,
            (thread, &tree.visits, ticks),
        );
    }
    if definitions.start_unix > 0 {
        builder.profile.meta.started_at_unix = definitions.start_unix;
    }
    builder
        .note("events other than entering and leaving, such as messages and metrics, are not read");
    builder.profile.meta.duration = Nanos(length(span.1.saturating_sub(span.0), ticks));
    Ok(())
}

/// Reads a file beside the anchor as both that it may be.
pub(crate) fn read_member(bytes: &[u8]) {
    /// The library's own size.
    const CHUNK: usize = 1 << 20;
    let (definitions, _) = Definitions::read(bytes, CHUNK);
    let map = definitions::regions_of(bytes, CHUNK);
    let (tree, _) = events::tree(bytes, CHUNK, &map);
    for visit in &tree.visits {
        let _ = length(visit.total, definitions.ticks_per_second);
    }
}

/// The tree of calls of a location. `None`: it has no events.
fn location_tree(
    builder: &mut Builder,
    folder: &Path,
    id: u64,
    anchor: Anchor,
) -> Result<Option<events::Tree>, Error> {
    let events = folder.join(format!("{id}.evt"));
    if !events.exists() {
        builder.leave_out("locations", || format!("location {id}, which has no file"));
        return Ok(None);
    }
    // Numbers of regions are a location's own, where it has a table of them.
    let map = folder.join(format!("{id}.def"));
    let map = match map.exists() {
        true => definitions::regions_of(&source::load_beside(&map)?, anchor.definition_chunk),
        false => FxHashMap::default(),
    };
    let bytes = source::load_beside(&events)?;
    let (tree, damage) = events::tree(&bytes, anchor.event_chunk, &map);
    warn(builder, "the events of a location", damage);
    if tree.is_unfinished {
        builder.note("some regions were not left before the trace ended: they end with it");
    }
    Ok(Some(tree))
}

fn warn(builder: &mut Builder, file: &str, damage: Option<Damage>) {
    if let Some(Damage { at }) = damage {
        builder.warn(Warning::Damaged {
            offset: at as u64,
            what: format!("{file} are cut"),
        });
    }
}

fn length(ticks: u64, per_second: u64) -> u64 {
    let nanoseconds = u128::from(ticks) * 1_000_000_000 / u128::from(per_second.max(1));
    u64::try_from(nanoseconds).unwrap_or(u64::MAX)
}

/// Adds the tree of a thread.
fn add(
    builder: &mut Builder,
    definitions: &Definitions,
    frames: &mut FxHashMap<u64, FrameId>,
    (thread, tree, ticks): (ThreadId, &[Visit], u64),
) {
    let mut stacks: Vec<StackId> = Vec::with_capacity(tree.len());
    for visit in tree {
        let frame = *frames.entry(visit.region).or_insert_with(|| {
            let region = definitions.regions.get(&visit.region);
            frame(builder, definitions, visit.region, region)
        });
        let location = builder.location_of(frame, None);
        let parent = visit.parent.and_then(|row| stacks.get(row).copied());
        let stack = builder.stack(parent, location);
        stacks.push(stack);
        let call = Call {
            thread,
            stack,
            calls: visit.calls,
            total: Nanos(length(visit.total, ticks)),
            own: Nanos(length(visit.total.saturating_sub(visit.inner), ticks)),
            ..Call::default()
        };
        builder.call(call);
    }
}

fn frame(
    builder: &mut Builder,
    definitions: &Definitions,
    id: u64,
    region: Option<&Region>,
) -> FrameId {
    let Some(region) = region else {
        return builder.frame(Named {
            function: &format!("region {id}"),
            ..Named::default()
        });
    };
    // The file of a function of a library is its name alone, as `MPI`.
    let file = definitions.string(region.file);
    builder.frame(Named {
        function: definitions.string(region.name),
        file: if file.contains(['.', '/']) { file } else { "" },
        line: region.line,
        ..Named::default()
    })
}
